"""Public grids for calibration: the cells that a cap or a bound is looked for in, chosen before any row is seen."""

from __future__ import annotations

from datetime import date, datetime
from fractions import Fraction

from tacit.core import rational
from tacit.curator.calibrate import Edge
from tacit.errors import InvalidParameter
from tacit.policy import ColumnType

SERIES = (Fraction(1), Fraction(3, 2), Fraction(2), Fraction(3), Fraction(5), Fraction(7))  # of each power of ten
YEARS = range(1900, 2101)
MOST_CELLS = 1_000
_FINEST, _COARSEST = -6, 12  # powers of ten
_LONGEST_CAP = 5
_CELLS_IN_BOUNDS = 1_000


def cap_edges() -> tuple[Edge, ...]:
    """1, 2, 3, 5, 7, 10, 15, … a million: no cap is more than two thirds too large."""
    sizes = (number * 10**power for power in range(_LONGEST_CAP + 1) for number in SERIES)
    return (*(int(size) for size in sizes if size.denominator == 1), 10 ** (_LONGEST_CAP + 1))


def bound_edges(kind: ColumnType, *, upper: bool) -> tuple[Edge, ...]:
    """For numbers a logarithmic grid around zero; for dates the first or last day of each year."""
    if kind is ColumnType.DATE:
        return tuple(date(year, 12, 31) if upper else date(year, 1, 1) for year in YEARS)
    if kind is ColumnType.TIMESTAMP:  # without a zone, as columns of the policy are
        ends = (datetime(year, 12, 31, 23, 59, 59) if upper else datetime(year, 1, 1) for year in YEARS)  # noqa: DTZ001
        return tuple(ends)
    finest = 0 if kind is ColumnType.INTEGER else _FINEST
    sizes = [number * Fraction(10) ** power for power in range(finest, _COARSEST) for number in SERIES]
    if kind is ColumnType.INTEGER:
        sizes = [size for size in sizes if size.denominator == 1]
    return (*(-size for size in reversed(sizes)), Fraction(0), *sizes)


def typed_edges(text: str) -> tuple[Edge, ...]:
    """`0:1000:10` as its edges: 0, 10, 20, … 1000."""
    parts = text.split(":")
    if len(parts) != 3:
        raise InvalidParameter(f"a grid is lower:upper:step: got {text[:60]!r}", hint="--grid visits.amount=0:1000:10")
    lower, upper, step = (rational(part, "an end of the grid") for part in parts)
    if step <= 0 or lower >= upper or (upper - lower) / step > MOST_CELLS:
        raise InvalidParameter(
            f"a grid needs lower < upper and at most {MOST_CELLS} steps: got {text[:60]!r}", hint="choose a larger step"
        )
    if ((upper - lower) / step).denominator != 1:
        raise InvalidParameter(f"the step does not divide the grid: {text[:60]!r}")
    return tuple(lower + index * step for index in range(int((upper - lower) / step) + 1))


def rounded_outward(lower: Fraction, upper: Fraction, *, step: Fraction | None) -> tuple[Fraction, Fraction, Fraction]:
    """Bounds as whole multiples of a step, no narrower. Without a step: the power of ten that makes ≥ 1000 cells."""
    if step is None:
        step = Fraction(1)
        while (upper - lower) / step < _CELLS_IN_BOUNDS:
            step /= 10
        while (upper - lower) / step >= 10 * _CELLS_IN_BOUNDS:
            step *= 10
    return lower // step * step, -(-upper // step) * step, step
