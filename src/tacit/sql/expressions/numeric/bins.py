"""Public bins for a quantile whose grid is too fine to be looked at step by step.

A quantile is chosen by one exponential mechanism over bins that are made from the column's bounds alone. A row is in
one bin, so that it moves the counts of all bins up to any place by at most one, as it does on the grid itself: scores
have the same sensitivity, and the choice costs the same. Nothing of ε is split between levels. Two levels, wide bins
first and the steps of the chosen one then, would each have half of it, and so twice the error in ranks; of bins there
may be a million, whose number counts by its logarithm only (14 for a million, 25 for 10^11 steps).

Bins are one step wide near zero, and their width doubles with the distance: a value is found within a fixed part of
itself, whether the bounds are tight or reach far beyond the data. Where bounds keep away from zero (a moment in time),
bins of one width are the finer ones.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import accumulate

from sqlglot import exp

from tacit.core import decimal_text
from tacit.sql.expressions.names.printing import copied
from tacit.sql.expressions.numeric import arithmetic
from tacit.sql.expressions.numeric.arithmetic import Whole, Width

MAX_CELLS = 2_000_000  # of a histogram behind a quantile


@dataclass(frozen=True, slots=True)
class Bins:
    """Bins of the whole numbers from low to high, by their distance from `anchor`, which lies between.

    `starts` are the distances from which bins have the next of `widths`; each is a multiple of its width. A bin is
    named by the end that is nearer to the anchor, as so many steps from it.
    """

    low: int
    high: int
    anchor: int
    starts: tuple[int, ...]
    widths: tuple[int, ...]
    begun: tuple[int, ...] = field(init=False, repr=False, compare=False)  # bins nearer than each of `starts`

    def __post_init__(self) -> None:
        lengths = [(b - a) // w for a, b, w in zip(self.starts, self.starts[1:], self.widths, strict=False)]
        object.__setattr__(self, "begun", (0, *accumulate(lengths)))

    @property
    def cells(self) -> int:
        """How many bins there are."""
        return self.before + self._count(self.high - self.anchor) + 1

    @property
    def before(self) -> int:
        """How many lie before the one that holds the anchor."""
        return self._count(self.anchor - self.low)

    def place(self, name: int) -> int:
        """The place of a bin among all, by its name."""
        return self.before + (self._count(name) if name >= 0 else -self._count(-name))

    def middle(self, cell: int) -> int:
        """The number halfway into a bin, by the index of its cell."""
        index = cell - self.before
        distance = self._distance(abs(index))
        width = self.widths[bisect_right(self.starts, distance) - 1]
        last = (self.high - self.anchor) if index >= 0 else (self.anchor - self.low)
        halfway = min(distance + width - 1, last) + distance
        return self.anchor + (halfway // 2 if index >= 0 else -(halfway // 2))

    def _count(self, distance: int) -> int:
        """How many bins on one side begin nearer to the anchor than the one of this distance."""
        rung = bisect_right(self.starts, distance) - 1
        return self.begun[rung] + (distance - self.starts[rung]) // self.widths[rung]

    def _distance(self, index: int) -> int:
        """Where the bin begins that so many bins of its side are nearer than."""
        rung = bisect_right(self.begun, index) - 1
        return self.starts[rung] + (index - self.begun[rung]) * self.widths[rung]

    def named(self, column: exp.Expression, width: Width) -> exp.Expression:
        """The name of the bin that a number is in, in 64 bits; `column` is written out for each width."""
        steps = arithmetic.shift(Whole(column, self.low, self.high, width), -self.anchor)
        if self.widths == (1,):
            return arithmetic.narrowed(steps, Width.BIGINT)
        ifs = [
            exp.If(this=self._nearer(column, after), true=arithmetic.integer(wide))
            for after, wide in zip(self.starts[1:], self.widths, strict=False)
        ]
        last = arithmetic.integer(self.widths[-1])
        wide = exp.Case(ifs=ifs, default=last) if ifs else last
        of_width = Whole(wide, min(self.widths), max(self.widths), arithmetic.width_of(max(self.widths)))
        return arithmetic.narrowed(arithmetic.down_to(steps, of_width), Width.BIGINT)

    def _nearer(self, column: exp.Expression, distance: int) -> exp.Expression:
        """Whether a number is nearer to the anchor than this."""
        above = exp.LT(this=copied(column), expression=arithmetic.integer(self.anchor + distance))
        if self.anchor - distance < self.low:
            return above
        return exp.And(
            this=exp.GT(this=copied(column), expression=arithmetic.integer(self.anchor - distance)), expression=above
        )


def bins_of(low: int, high: int) -> Bins:
    """The bins of the numbers from low to high: those that find every value within the smaller part of itself."""
    nearest = max(low, -high, 0)
    anchor = low if low > 0 else min(high, 0)
    bits = _bits(high - anchor, anchor - low)
    width = _round_width(high - low + 1)
    if width << bits <= 2 * nearest:  # half a bin of one width is the smaller part even of the value nearest to zero
        return Bins(low, high, low, (0,), (width,))
    farthest = max(high - anchor, anchor - low)
    starts, widths = [0], [1]
    while starts[-1] <= farthest and (1 << bits << (len(starts) - 1)) <= farthest:
        starts.append(1 << bits << (len(starts) - 1))
        widths.append(1 << len(widths))
    return Bins(low, high, anchor, tuple(starts), tuple(widths))


def part_of(bins: Bins) -> tuple[Fraction | None, Fraction]:
    """How far a value may lie from the middle of its bin: as a part of its distance from the anchor, or in steps."""
    if len(bins.starts) == 1:
        return None, Fraction(bins.widths[0], 2)
    return Fraction(1, bins.starts[1]), Fraction(bins.widths[-1], 2)


def _bits(*sides: int) -> int:
    """The most binary digits that a value can be told by, for bins on these sides to be few enough."""
    bits = max(side.bit_length() for side in sides)
    while sum(_cells(side, bits) for side in sides) > MAX_CELLS:
        bits -= 1
    return bits


def _cells(side: int, bits: int) -> int:
    """At least as many as there are: so many plain steps, and half as many for each doubling beyond."""
    return min(side, 1 << bits) + max(0, side.bit_length() - bits) * (1 << bits >> 1)


def _round_width(count: int) -> int:
    """The least of 1, 2, 5, 10, 20, 50, … that makes few enough bins of one width."""
    size = 1
    while True:
        for digit in (1, 2, 5):
            if count <= digit * size * MAX_CELLS:
                return digit * size
        size *= 10


def found_within(bins: Bins, step: Fraction) -> str:
    """How near the middle of a bin is to what is in it."""
    part, steps = part_of(bins)
    if part is None:
        return decimal_text(steps * step)
    of = "its value" if bins.anchor == 0 else f"its distance from {decimal_text(bins.anchor * step)}"
    return f"{float(part * 100):.2g}% of {of}"
