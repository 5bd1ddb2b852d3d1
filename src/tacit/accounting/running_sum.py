"""Exact running sums of rationals whose size stays bounded whatever is added."""

from __future__ import annotations

from fractions import Fraction

MAX_BITS = 4096  # of a denominator; every decimal that can be typed divides the grid below, so decimals never meet this
GRID = 10**400


def added(total: Fraction, cost: Fraction) -> Fraction:
    """`total` + `cost`, exactly; beyond `MAX_BITS` of denominator the cost is first rounded up onto a public grid.

    Ten tenths are one, and a thousand and nine times 1/1009 too. But an adversary who picks a new prime denominator
    for each query would make every later charge slower than the last: from some point on they pay 1e-400 more.
    """
    exact = total + cost
    if exact.denominator.bit_length() <= MAX_BITS:
        return exact
    return total + Fraction(-(-cost.numerator * GRID // cost.denominator), GRID)
