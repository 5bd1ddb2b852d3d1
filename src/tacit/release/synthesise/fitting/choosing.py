"""Which method, and how: chosen from the price, the columns and the declared number of rows, never from the data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from tacit.errors import InvalidParameter
from tacit.release.synthesise.fitting.adaptive import fitted_aim, fitted_mst
from tacit.release.synthesise.fitting.chance import Chance
from tacit.release.synthesise.fitting.hybrid import Fitted, ModelSettings, fitted
from tacit.release.synthesise.fitting.measuring import Meter

AUTO = "auto"
METHODS = (AUTO, "hybrid", "tree", "aim", "mst")
NOMINAL_ROWS = 50_000  # of a table, where the policy says nothing of its size

# A count of all rows stands so many standard deviations of its noise, at the whole price, above nothing.
_FAINT, _CLEAR = 2_000.0, 20_000.0
_TREE = ModelSettings(
    singles=Fraction(1, 2), first=Fraction(1, 2), bins=8, rare=2.0, mixtures=0, sweeps=0
)  # fmt: skip
_HYBRID = ModelSettings()
_FINE = ModelSettings(bins=50, mixtures=3, components=140, steps=1500, cells=200_000, sweeps=12)
_MOST_MIXED = 40  # columns: beyond, mixtures have fewer components


def clarity(rho: Fraction, sensitivity: int, *, weight: int, rows: int | None) -> float:
    """How clearly a table of so many rows is seen at a price: rows · √(2ρ) / sensitivity in rows."""
    return (rows or NOMINAL_ROWS) * math.sqrt(2 * rho) * weight / sensitivity


def settled(method: str, *, clear: float, columns: int) -> tuple[str, ModelSettings]:
    """The method behind a name, and how it is run.

    Where a table is seen faintly, mixtures would take up noise: then the junction tree alone ("tree"). Else all pairs,
    mixtures and the tree ("hybrid"); where it is seen clearly, with finer bins and larger models.
    """
    if method not in METHODS:
        raise InvalidParameter(f"no method {method[:40]!r}", hint=f"choose {', '.join(METHODS)}")
    name = ("tree" if clear < _FAINT else "hybrid") if method == AUTO else method
    if name == "tree":
        return name, _TREE
    chosen = _FINE if clear > _CLEAR else _HYBRID
    if name in {"aim", "mst"}:
        return name, replace(_HYBRID, mixtures=0, sweeps=0)
    if columns > _MOST_MIXED:
        chosen = replace(chosen, components=40, bins=20, mixtures=2)
    return name, chosen


def fit(
    method: str, meter: Meter, sizes: Sequence[int], ordered: Sequence[bool], *, settings: ModelSettings, chance: Chance
) -> Fitted:
    """The law that a method makes of what it measures."""
    if method == "mst":
        return fitted_mst(meter, sizes, ordered, settings=settings)
    if method == "aim":
        return fitted_aim(meter, sizes, ordered, settings=settings, chance=chance)
    return fitted(meter, sizes, ordered, settings=settings, chance=chance)
