"""Coarser grids for numbers whose squares or cubes would not add up within 128 bits."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from tacit.core import decimal_text
from tacit.sql.expressions.numeric.grid import Grid, add, constant, divide, floor, multiply, negate

MAX_SQUARED = 1 << 31  # steps from the midpoint: with their squares, those of a trillion rows fit 128 bits by far
MAX_CUBED = 1 << 24
MAX_FOURTH = 1 << 18


def coarse(grid: Grid, *, most: int, note: Callable[[str], None], label: str, why: str = "finer squares") -> Grid:
    """The values on a grid of at most so many steps: each the next power of two times theirs, where that is too fine.

    Of mean and squares alike: so the deviation is that of the rounded values, within half of the coarser step.
    """
    factor = 1
    while grid.high - grid.low > factor * most or grid.magnitude > factor * most << 61:
        factor *= 2
    if factor == 1:
        return grid
    step = constant(grid.step * factor)
    note(f"{label} is of values rounded to {decimal_text(step.value)}: {why} would overflow")
    return multiply(floor(add(divide(grid, step), constant(Fraction(1, 2)))), step)


def centred(grid: Grid) -> tuple[Grid, Fraction]:
    """Grid − midpoint, and the midpoint: half the sensitivity of the raw values."""
    middle = Fraction(grid.low + grid.high, 2) * grid.step
    return add(grid, negate(constant(middle))) if middle else grid, middle
