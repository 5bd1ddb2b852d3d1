"""Exact sums of rationals whose size stays bounded whatever is added: the one way in which spending is added up."""

from __future__ import annotations

from fractions import Fraction

GRID = 10**400  # finer than anything that can be typed: no decimal that can be typed is ever rounded


def bounded(value: Fraction) -> Fraction:
    """`value` itself while its denominator is at most GRID, else the next multiple of 1/GRID above it."""
    if value.denominator <= GRID:
        return value
    return Fraction(-(-value.numerator * GRID // value.denominator), GRID)


def added(total: Fraction, cost: Fraction) -> Fraction:
    """`total` + `cost`, exactly while that is of bounded size, else rounded up: never less than the sum.

    Ten tenths are one, and a thousand and nine times 1/1009 too. But an adversary who picks a new prime denominator
    for each query would make every later charge slower than the last: from some point on they pay 1e-400 more.
    """
    return bounded(total + cost if total and cost else total or cost)
