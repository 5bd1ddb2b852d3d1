"""How estimates err, written down beside them and read again."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from tacit.core import decimal_text
from tacit.mechanisms.kept import kept_noise
from tacit.mechanisms.strategy import EstimateSpread
from tacit.mechanisms.weighted import Term, WeightedNoise


def plain_spread(spread: EstimateSpread) -> dict[str, object]:
    """As plain values: the variances and, where they are known, the lattice or the laws."""
    plain: dict[str, object] = {"variances": spread.variances.tolist()}
    if spread.lattice is not None:
        plain["lattice"] = decimal_text(spread.lattice)
    if spread.indices is not None:
        plain["laws"] = [[_plain_term(term) for term in law.terms] for law in spread.laws]
        plain["law"] = spread.indices.tolist()
    return plain


def read_spread(plain: Mapping[str, Any]) -> EstimateSpread | None:
    """From plain values; None where the numbers are no estimates, and no laws where those are of a noise unknown here.

    An answer that was kept before laws were has variances alone.
    """
    if "variances" not in plain:
        return None
    variances = np.array(plain["variances"], dtype=np.float64)
    lattice = Fraction(plain["lattice"]) if "lattice" in plain else None
    terms = [[_term(*each) for each in law] for law in plain.get("laws", ())]
    known = [[term for term in law if term is not None] for law in terms]
    if "law" not in plain or known != terms:
        return EstimateSpread(variances, lattice)
    laws = tuple(WeightedNoise(tuple(law)) for law in known)
    return EstimateSpread(variances, lattice, laws, np.array(plain["law"], dtype=np.int64))


def _plain_term(term: Term) -> list[object]:
    law = term.noise.law
    return [term.weight, term.count, law.name, decimal_text(law.size), decimal_text(law.delta)]


def _term(weight: float, count: int, name: str, size: str, delta: str) -> Term | None:
    noise = kept_noise(name, Fraction(size), delta=Fraction(delta))
    return None if noise is None else Term(weight, noise, count)
