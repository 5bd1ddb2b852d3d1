"""Between rho and (epsilon, delta), by way of the best Rényi order: the one conversion, always on the private side.

Canonne, Kamath & Steinke, "The discrete Gaussian for differential privacy", NeurIPS 2020, Proposition 12: a mechanism
of order-a divergence r is (epsilon, delta)-DP for

    epsilon = r + ln(1 − 1/a) − (ln delta + ln a) / (a − 1),

and rho-zCDP says that r = a rho for every a > 1. Every order gives a true bound, so the search for the best one may be
in doubles; what is computed at the order it finds is enclosed, and rounded to the private side.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from tacit.core.enclosure import Enclosure

_GOLDEN = (math.sqrt(5) - 1) / 2
_TINY, _HUGE = 1e-300, 1e300


def epsilon_of_rho(rho: Fraction, delta: Fraction) -> Fraction:
    """The least epsilon, in 17 digits, at which noise of `rho` is known to be (epsilon, delta)-DP."""
    if rho <= 2 * delta**2:  # Pinsker: the two laws differ by at most sqrt(rho / 2)
        return Fraction(0)
    size, log_delta = _as_float(rho), log(delta)
    start = 0.5 * math.log(max(-log_delta, 1e-6) / size)
    order = _order(_least(lambda t: (1 + math.exp(t)) * size + _cost(t, log_delta), start))
    return max(Fraction(0), epsilon_at(order, order * rho, delta).above())


def delta_of_rho(rho: Fraction, epsilon: Fraction) -> Fraction:
    """The least delta, in 17 digits, at which noise of `rho` is known to be (epsilon, delta)-DP."""
    size, wanted = _as_float(rho), _as_float(epsilon)
    starts = math.log(max((wanted - size) / (2 * size), 1e-6)), -0.5 * math.log(size)
    order = _order(_least(lambda t: _log_delta(t, size, wanted), *starts))
    return min(Fraction(1), Enclosure.of(rho / 2).sqrt().above(), delta_at(order, order * rho, epsilon))


def rho_within(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The largest rho, in 17 digits, whose noise `epsilon_of_rho` knows to be (epsilon, delta)-DP.

    At one order that is (epsilon − what the order costs) / order, and the order at which it is most is where the
    epsilon of that rho is least: the two agree but for rounding, which is taken off until they do.
    """
    least = Enclosure.of(2 * delta**2).below()
    log_delta, spent = log(delta), _as_float(epsilon)
    start = 0.5 * math.log(max(-log_delta, 1e-6) / max(_roughly(spent, log_delta), _TINY))
    order = _order(_least(lambda t: (_cost(t, log_delta) - spent) / (1 + math.exp(t)), start, math.log(4 / spent)))
    best = ((-conversion_cost(order, delta) + epsilon) / order).below()
    slack = Fraction(1, 10**16)
    while best > least and epsilon_of_rho(best, delta) > epsilon:
        best, slack = Enclosure.of(best * (1 - slack)).below(), 4 * slack
    return max(least, best)


def epsilon_at(order: Fraction, divergence: Fraction, delta: Fraction) -> Enclosure:
    """The epsilon that a divergence of this order gives."""
    return conversion_cost(order, delta) + divergence


def conversion_cost(order: Fraction, delta: Fraction) -> Enclosure:
    """What the step from a divergence of this order to an epsilon at this delta adds."""
    return Enclosure.of(1 - 1 / order).log() - Enclosure.of(delta * order).log() / (order - 1)


def delta_at(order: Fraction, divergence: Fraction, epsilon: Fraction) -> Fraction:
    """The delta that a divergence of this order gives at this epsilon, rounded up."""
    exponent = (Enclosure.of(1 - 1 / order).log() + divergence - epsilon) * (order - 1)
    power = exponent - Enclosure.of(order).log()
    return Fraction(1) if power.high >= 0 else power.exp().above()


def log(value: Fraction) -> float:
    """The natural logarithm, for searches: of numbers that a double does not hold too."""
    return math.log(value.numerator) - math.log(value.denominator)


def _roughly(epsilon: float, log_delta: float) -> float:
    """About the rho with rho + 2 sqrt(rho ln(1/delta)) = epsilon."""
    root = math.sqrt(max(-log_delta, 1e-6))
    return (epsilon / (math.sqrt(max(-log_delta, 1e-6) + epsilon) + root)) ** 2


def _order(t: float) -> Fraction:
    return 1 + Fraction(math.exp(t))


def _cost(t: float, log_delta: float) -> float:
    """`conversion_cost` at order 1 + e^t."""
    return -math.log1p(math.exp(-t)) - (log_delta + math.log1p(math.exp(t))) / math.exp(t)


def _log_delta(t: float, rho: float, epsilon: float) -> float:
    rest = math.exp(t)
    return rest * ((1 + rest) * rho - epsilon - math.log1p(math.exp(-t))) - math.log1p(rest)


def _least(value: Callable[[float], float], *starts: float) -> float:
    """Where `value` is about least, looking around the starts first coarsely and then by golden section."""
    grid = [min(max(start + step / 4, -340.0), 340.0) for start in starts for step in range(-40, 41)]
    best = min(grid, key=value)
    low, high = best - 0.25, best + 0.25
    for _ in range(40):
        left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
        low, high = (low, right) if value(left) < value(right) else (left, high)
    return (low + high) / 2


def _as_float(value: Fraction) -> float:
    """Near enough for a search: the bound itself is computed exactly."""
    return float(min(max(value, Fraction(_TINY)), Fraction(_HUGE)))
