"""From concentrated privacy to (epsilon, delta): never optimistic.

Noise of `rho` is (epsilon, delta)-DP if, for some alpha > 1,

    epsilon ≥ alpha · rho + (ln(1/delta) − ln(alpha − 1)) / (alpha − 1) + alpha / (alpha − 1) · ln(1 − 1/alpha)

(Canonne, Kamath & Steinke, NeurIPS 2020). Every alpha gives a valid bound: doubles look for a good one,
decimals rounded outward evaluate the bound there.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

from tacit.mechanisms.enclosure import DIGITS, above, below, log_above, log_below, rounded_up
from tacit.noise.probability import down, up

_GOLDEN = (math.sqrt(5) - 1) / 2


def epsilon_of_rho(rho: Fraction, delta: Fraction) -> Fraction:
    """An epsilon at which noise of `rho` is (epsilon, delta)-DP: the least that this proof gives."""
    log_delta, concentrated = _log(delta), float(rho)
    order = _best(lambda excess: (1 + excess) * concentrated + _rest(excess, log_delta))
    least = up(DIGITS).fma(above(rho), above(1 + order), _rest_above(order, delta))
    return rounded_up(max(Decimal(0), least), 15)  # below zero where delta alone pays for it


def rho_within(epsilon: Fraction, delta: Fraction) -> Fraction:
    """A rho whose noise is (epsilon, delta)-DP: the largest that this proof gives, or zero where it gives none."""
    log_delta, spent = _log(delta), float(epsilon)
    order = _best(lambda excess: (_rest(excess, log_delta) - spent) / (1 + excess))
    left = down(DIGITS).subtract(below(epsilon), _rest_above(order, delta))
    return max(Fraction(0), Fraction(down(DIGITS).divide(left, above(1 + order))))


def _rest(excess: float, log_delta: float) -> float:
    """Everything but alpha · rho, for alpha = 1 + excess."""
    return (-log_delta - math.log(excess)) / excess + (1 + 1 / excess) * (math.log(excess) - math.log1p(excess))


def _rest_above(excess: Fraction, delta: Fraction) -> Decimal:
    """The same, rounded up."""
    roof = up(DIGITS)
    gathered = roof.minus(down(DIGITS).add(log_below(delta), log_below(excess)))
    first = roof.divide(gathered, (below if gathered > 0 else above)(excess))
    kept = log_above(excess / (1 + excess))  # ln(1 − 1/alpha), negative
    return roof.fma(below(1 + 1 / excess), kept, first)


def _best(cost: Callable[[float], float]) -> Fraction:
    """The alpha − 1 that costs least, by golden section on its logarithm."""
    low, high = -16.0, 45.0
    while high - low > 1e-6:
        left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
        if cost(math.exp(left)) < cost(math.exp(right)):
            high = right
        else:
            low = left
    return Fraction(math.exp((low + high) / 2))


def _log(value: Fraction) -> float:
    return math.log(value.numerator) - math.log(value.denominator)
