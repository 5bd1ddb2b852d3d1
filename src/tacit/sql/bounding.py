"""How much of one unit counts, and how far that lets it move each measurement."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from tacit.core import sqrt_above
from tacit.errors import QueryRefused
from tacit.policy import Bounding, TablePolicy
from tacit.sql.bind import BoundQuery
from tacit.sql.measures import Additive, Counted, Histogram, Measure, Mode, Quantile
from tacit.sql.plan import Caps
from tacit.sql.rules import Spread

WEIGHT = 1 << 10  # what a full contribution counts when heavy units are weighed
MOST_GROUPS = 100  # times max_groups: a unit in more groups than that is left out where keys are private
_SUM_LIMIT = 1 << 126  # 128-bit sums, with 2^40 contributions


@dataclass(frozen=True, slots=True)
class Reach:
    """How far one unit moves a measurement, in steps: in one group, and over all of them."""

    in_group: int
    l1: int
    l2: Fraction


def caps_of(bound: BoundQuery, *, l2: bool) -> Caps:
    """The caps that hold for this question. `l2`: whether Gaussian noise, which wants L2 norms, is planned."""
    table = bound.table
    max_values = table.max_distinct or table.max_rows or 1
    if table.unit_column is None:
        return Caps(max_rows=1, max_groups=1, max_values=1, spread=Spread.NONE, sampled_rows=False)
    max_rows = bound.query.caps.max_rows or table.max_rows or _missing(table, "max_rows", bound)
    spread, groups = Spread.NONE, 1
    if bound.keys:
        groups = bound.query.caps.max_groups or table.max_groups or _missing(table, "max_groups", bound)
        groups = min(groups, _public_count(bound) or groups)
        spread = _spread(bound, l2=l2) if _public_count(bound) != groups else Spread.NONE
    sums = any(isinstance(m, Additive) and m.counted is Counted.VALUES for m in bound.measures)
    sampled = sums and (spread is Spread.SAMPLE or (spread is Spread.NONE and table.bounding is Bounding.SAMPLE))
    return Caps(max_rows, groups, max_values, spread, sampled_rows=sampled)


def _missing(table: TablePolicy, cap: str, bound: BoundQuery) -> int:
    counts_rows = any(
        not (isinstance(m, Additive) and m.counted in {Counted.UNITS, Counted.DISTINCT}) for m in bound.measures
    )
    if cap == "max_rows" and not counts_rows:
        return 1
    what = "rows of one unit count in a group" if cap == "max_rows" else "groups one unit may touch"
    raise QueryRefused(
        f"{cap} is not declared for {table.name}: nobody said how many {what}",
        hint=f"add {cap} = … to [tables.{table.name}], or run tacit calibrate",
    )


def _public_count(bound: BoundQuery) -> int | None:
    """How many groups there are, where that is known beforehand."""
    total = 1
    for key in bound.keys:
        if not isinstance(key.values, tuple):
            return None
        total *= max(1, len(key.values))
    return total


def _spread(bound: BoundQuery, *, l2: bool) -> Spread:
    """Private keys are sampled: weighing them costs a higher threshold. Public ones are weighed: nothing is lost."""
    wanted = bound.table.bounding
    only_sums = all(isinstance(m, Additive) and m.counted is not Counted.DISTINCT for m in bound.measures)
    private = any(not key.is_public for key in bound.keys)
    if not only_sums or wanted is Bounding.SAMPLE or (wanted is Bounding.AUTO and private):
        return Spread.SAMPLE
    return Spread.WEIGH_L2 if l2 else Spread.WEIGH_L1


def weight_of(caps: Caps) -> int:
    """How finely contributions are counted."""
    return WEIGHT if caps.spread in {Spread.WEIGH_L1, Spread.WEIGH_L2} else 1


def reach(measure: Measure, caps: Caps, *, total: tuple[int, int] | None) -> Reach:
    """How far one unit moves `measure` under these caps, between neighbours that differ by adding or removing it."""
    in_group = _in_group(measure, caps, total) * weight_of(caps)
    if in_group * caps.max_groups * (1 << 40) >= _SUM_LIMIT:
        raise QueryRefused(
            "a sum could overflow: bounds and caps allow too much", hint="tighten the bounds or coarsen the step"
        )
    return Reach(in_group, in_group * caps.max_groups, in_group * sqrt_above(Fraction(caps.max_groups)))


def _in_group(measure: Measure, caps: Caps, total: tuple[int, int] | None) -> int:
    if isinstance(measure, (Quantile, Mode, Histogram)):
        return caps.max_rows
    if measure.counted is Counted.UNITS:
        return 1
    if measure.counted is Counted.DISTINCT:
        return caps.max_values
    if total is not None:
        return max(1, abs(total[0]), abs(total[1]))
    return caps.max_rows * max(1, measure.magnitude)
