"""How much of one unit counts, and how far that lets it move each measurement."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from tacit.core import sqrt_above
from tacit.errors import QueryRefused
from tacit.mechanisms.protocol import Noise
from tacit.policy import Bounding, TablePolicy
from tacit.sql.binding.bind import BoundQuery
from tacit.sql.expressions.listed_keys import groups_of
from tacit.sql.expressions.measures import Additive, Counted, Histogram, Measure, Mode, Quantile
from tacit.sql.expressions.numeric.arithmetic import MOST_ROWS
from tacit.sql.planning.plan import NOMINAL_ROWS, ContributionBounds
from tacit.sql.rules import Spread

WEIGHT = 1 << 10  # what a full contribution counts when heavy units are weighed
MOST_GROUPS = 100  # times max_groups: a unit in more groups than that is left out where keys are private
_LEAST_ROWS = 10  # of a group for which errors are stated: of fewer, an average is noise alone
_SUM_LIMIT = 1 << 126  # what a 128-bit sum holds, of 127 binary digits or of 38 decimal ones
_NARROW_LIMIT = 1 << 62  # what a 64-bit sum holds, with as much room again for its noise
NARROW_NOISE = 1 << 40  # noise of such a scale leaves that room once in exp(2^22) times


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """How far one unit moves a measurement, in steps: in one group, and over all of them."""

    in_group: int
    l1: int
    l2: Fraction


def caps_of(bound: BoundQuery, *, l2: bool) -> ContributionBounds:
    """The caps that hold for this question. `l2`: whether Gaussian noise, which wants L2 norms, is planned."""
    table = bound.table
    max_values = table.max_distinct or table.max_rows or 1
    if bound.relation.pairs is not None:  # so many rows of a pair, over all groups; how many partners, the price says
        return ContributionBounds(bound.relation.pairs.max_rows, 1, 1, Spread.NONE, sampled_rows=True)
    if table.unit_column is None:
        return ContributionBounds(max_rows=1, max_groups=1, max_values=1, spread=Spread.NONE, sampled_rows=False)
    if bound.total_rows is not None:
        spread = Spread.NONE if public_count(bound) == 1 else Spread.WEIGH_ROWS
        return ContributionBounds(bound.total_rows, 1, max_values, spread, sampled_rows=False)
    max_rows = bound.query.caps.max_rows or table.max_rows or _missing(table, "max_rows", bound)
    spread, groups = Spread.NONE, 1
    if bound.keys:
        groups = bound.query.caps.max_groups or table.max_groups or _missing(table, "max_groups", bound)
        groups = min(groups, public_count(bound) or groups)
        spread = _spread(bound, l2=l2) if public_count(bound) != groups else Spread.NONE
    sums = any(isinstance(m, Additive) and m.counted is Counted.VALUES for m in bound.measures)
    sampled = sums and (spread is Spread.SAMPLE or (spread is Spread.NONE and table.bounding is Bounding.SAMPLE))
    return ContributionBounds(max_rows, groups, max_values, spread, sampled_rows=sampled)


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


def public_count(bound: BoundQuery) -> int | None:
    """How many groups there are, where that is known beforehand."""
    return groups_of(bound.keys, bound.counted)


def nominal_size(bound: BoundQuery) -> int:
    """About how many rows a group has, from public numbers alone; where nobody said, a thousand."""
    rows, groups = bound.table.rows, public_count(bound)
    if rows is None:
        return NOMINAL_ROWS
    return max(_LEAST_ROWS, min(rows, NOMINAL_ROWS) if groups is None else rows // groups)


def _spread(bound: BoundQuery, *, l2: bool) -> Spread:
    """Private keys are sampled: weighing them costs a higher threshold. Public ones are weighed: nothing is lost."""
    wanted = bound.table.bounding
    only_sums = all(isinstance(m, Additive) and m.counted is not Counted.DISTINCT for m in bound.measures)
    private = any(not key.is_public for key in bound.keys)
    if not only_sums or wanted is Bounding.SAMPLE or (wanted is Bounding.AUTO and private):
        return Spread.SAMPLE
    return Spread.WEIGH_L2 if l2 else Spread.WEIGH_L1


def weight_of(caps: ContributionBounds) -> int:
    """How finely contributions are counted."""
    return WEIGHT if caps.spread in {Spread.WEIGH_L1, Spread.WEIGH_L2, Spread.WEIGH_ROWS} else 1


def is_wide(measure: Measure, caps: ContributionBounds) -> bool:
    """Whether the sum of a trillion rows could leave 64 bits. Public: from bounds and caps alone."""
    if not isinstance(measure, Additive) or measure.counted is not Counted.VALUES:
        return False
    return measure.magnitude * weight_of(caps) * MOST_ROWS >= _NARROW_LIMIT


def is_wide_noise(noise: Noise) -> bool:
    """Whether noise could leave 64 bits: that of a tiny price, or of large contributions."""
    return noise.law.is_added and noise.law.size > NARROW_NOISE


def sensitivity_of(measure: Measure, caps: ContributionBounds, *, total: tuple[int, int] | None) -> Sensitivity:
    """How far one unit moves `measure` under these caps, between neighbours that differ by adding or removing it."""
    if _widest_sum(measure, caps) >= _SUM_LIMIT:
        raise QueryRefused(
            "a sum could overflow: bounds and caps allow too much", hint="tighten the bounds or coarsen the step"
        )
    in_group = _in_group(measure, caps, total) * weight_of(caps)
    return Sensitivity(in_group, in_group * caps.max_groups, in_group * sqrt_above(Fraction(caps.max_groups)))


def _widest_sum(measure: Measure, caps: ContributionBounds) -> int:
    """The largest number on the way to a sum of a trillion rows.

    All of them may be one unit's, whose sum is multiplied by max_rows before it is divided by its rows; or everybody's,
    each at the full weight.
    """
    if not isinstance(measure, Additive) or measure.counted is not Counted.VALUES:
        return 0
    return measure.magnitude * MOST_ROWS * max(caps.max_rows, weight_of(caps))


def _in_group(measure: Measure, caps: ContributionBounds, total: tuple[int, int] | None) -> int:
    if isinstance(measure, (Quantile, Mode, Histogram)):
        return caps.max_rows
    if measure.counted is Counted.UNITS:
        return 1
    if measure.counted is Counted.DISTINCT:
        return caps.max_values
    if total is not None:
        return max(1, abs(total[0]), abs(total[1]))
    return caps.max_rows * max(1, measure.magnitude)


def unit_total(measure: Measure, bound: BoundQuery) -> tuple[int, int] | None:
    """The bounds of a unit's own sum in a group, where the policy gives them for this column."""
    if not isinstance(measure, Additive) or measure.column is None or bound.table.unit_column is None:
        return None
    total = bound.table.column(measure.column).unit_total
    if total is None:
        return None
    low, high = (int(end / measure.step) for end in (total.lower, total.upper))
    return min(low, 0), max(high, 0)
