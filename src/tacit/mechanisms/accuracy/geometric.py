"""How far two-sided geometric noise strays, rounded outward."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

from tacit.core import Number, probability
from tacit.core.enclosure import (
    DIGITS,
    above,
    below,
    ceiling,
    down,
    exp_above,
    exp_below,
    log_above,
    up,
)
from tacit.mechanisms.limits import at_least

_FINE = 2 * DIGITS  # shares of one in 10^30 are differences between numbers near one


def share(confidence: Number, *, count: int = 1) -> Fraction:
    """The chance of failing that each of `count` independent draws may have if all are to hold with `confidence`.

    1 − confidence^(1/count), rounded down; never below what the union bound allows.
    """
    wanted = probability(confidence, "the confidence")
    each = at_least(count, 1, what="the count")
    union = (1 - wanted) / each
    if each == 1:
        return union
    root = up(_FINE).divide(log_above(wanted, _FINE), each)
    held = up(_FINE).next_plus(up(_FINE).exp(root))
    return max(union, 1 - Fraction(held))


def geometric_reach(scale: Fraction, chance: Fraction) -> int:
    """The least whole t with P(|noise| > t) = 2 q^(t+1) / (1 + q) ≤ chance, for q = exp(−1/scale).

    So t + 1 ≥ scale · ln(2 / ((1 + q) · chance)), every part of which is rounded up.
    """
    denominator = Fraction(down(DIGITS).add(1, exp_below(-1 / scale))) * chance
    steps = up(DIGITS).multiply(above(scale), log_above(2 / denominator))
    return max(0, ceiling(steps) - 1)


def difference_reach(scale: Fraction, chance: Fraction) -> int:
    """The least whole t with P(noise − noise′ > t) ≤ chance for two independent draws, searched by halving."""
    low, high = -1, 2 * geometric_reach(scale, chance / 2) + 1  # both stay within half of it: t = high holds
    while high - low > 1:
        middle = (low + high) // 2
        if _difference_tail(scale, middle + 1) <= below(chance):
            high = middle
        else:
            low = middle
    return high


def _difference_tail(scale: Fraction, least: int) -> Decimal:
    """P(noise − noise′ ≥ least) rounded up, for least ≥ 0.

    The difference is k with probability ((1 − q)/(1 + q))² q^|k| (|k| + (1 + q²)/(1 − q²)); the tail is its sum,
    ((1 − q)/(1 + q)²) q^least (least + (1 + q²)/(1 − q²) + q/(1 − q)).
    """
    low, high = exp_below(-1 / scale), exp_above(-1 / scale)
    floor, roof = down(DIGITS), up(DIGITS)
    centre = roof.divide(roof.fma(high, high, 1), floor.subtract(1, roof.multiply(high, high)))
    spread = roof.divide(high, floor.subtract(1, high))
    factor = roof.divide(roof.subtract(1, low), floor.multiply(floor.add(1, low), floor.add(1, low)))
    inner = roof.add(roof.add(least, centre), spread)
    return roof.multiply(roof.multiply(factor, exp_above(-least / scale)), inner)


def selection_reach(rate: Fraction, odds: Fraction) -> int:
    """The least whole t ≥ 0 with odds · exp(−rate · (t + 1)) ≤ 1, rounded outward."""
    if odds <= 1:
        return 0
    steps = up(DIGITS).divide(log_above(odds), below(rate))
    return max(0, ceiling(steps) - 1)
