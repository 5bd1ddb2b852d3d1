"""From rho to (epsilon, delta) by way of the best Rényi order, always on the private side.

Canonne, Kamath & Steinke, "The discrete Gaussian for differential privacy", NeurIPS 2020, Proposition 12: a mechanism
of order-a divergence r is (epsilon, delta)-DP for delta = exp((a - 1)(r - epsilon)) (1 - 1/a)^a / (a - 1). Every order
gives a true bound, so the search for the best one may be approximate; what is computed at the order it finds is
enclosed, and rounded up.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from tacit.accounting.enclosure import Enclosure
from tacit.accounting.zcdp import Zcdp
from tacit.core import NOTHING, Budget, Loss, Number, probability
from tacit.core.rational import decimal_text
from tacit.errors import InvalidParameter

_GOLDEN = (math.sqrt(5) - 1) / 2
_TINY, _HUGE = 1e-300, 1e300


def zcdp_to_dp(cost: Number | Zcdp, delta: Number) -> Loss:
    """The least epsilon at this delta, rounded up. An approximate zCDP's own delta is paid out of it first."""
    zcdp = cost if isinstance(cost, Zcdp) else Zcdp(cost)
    asked = probability(delta, "delta")
    if zcdp == Zcdp(0):
        return NOTHING
    if zcdp.delta >= asked:
        raise InvalidParameter(
            f"a delta of {decimal_text(asked)} is not enough: the events themselves have {decimal_text(zcdp.delta)}",
            hint="ask at a larger delta",
        )
    left = (asked - zcdp.delta) / (1 - zcdp.delta)
    if zcdp.rho <= 2 * left**2:  # Pinsker: the two laws differ by at most sqrt(rho / 2)
        return Loss(0, asked)
    rho, log_delta = _as_float(zcdp.rho), math.log(left.numerator) - math.log(left.denominator)
    start = 0.5 * math.log(max(-log_delta, 1e-6) / rho)
    order = _order(_least(lambda t: _epsilon_roughly(t, rho, log_delta), start))
    return Loss(max(Fraction(0), epsilon_at(order, order * zcdp.rho, left).above()), asked)


def zcdp_delta(cost: Number | Zcdp, epsilon: Number) -> Fraction:
    """The least delta at this epsilon, rounded up."""
    zcdp = cost if isinstance(cost, Zcdp) else Zcdp(cost)
    target = Loss(epsilon).epsilon
    if zcdp.rho == 0:
        return zcdp.delta
    rho, wanted = _as_float(zcdp.rho), _as_float(target)
    starts = math.log(max((wanted - rho) / (2 * rho), 1e-6)), -0.5 * math.log(rho)
    order = _order(_least(lambda t: _log_delta_roughly(t, rho, wanted), *starts))
    pinsker = Enclosure.of(zcdp.rho / 2).sqrt().above()
    raw = min(Fraction(1), pinsker, delta_at(order, order * zcdp.rho, target))
    return min(Fraction(1), zcdp.delta + (1 - zcdp.delta) * raw)


def rho_for(limit: Loss | Budget) -> Fraction:
    """The largest rho, to twelve digits, whose conversion fits within `limit`."""
    if limit.delta == 0:
        raise InvalidParameter(
            "a limit without delta covers no zCDP: Gaussian noise is never purely private",
            hint="give the limit a delta, such as 1e-9",
        )
    if limit.epsilon == 0:
        return Fraction(0)

    def fits(rho: Fraction) -> bool:
        return rho == 0 or zcdp_to_dp(rho, limit.delta).epsilon <= limit.epsilon

    low, high = Fraction(0), Fraction(1)
    while fits(high) and high < Fraction(10) ** 30:
        low, high = high, high * 10
    while low == 0 and high > Fraction(1, 10**200):
        high /= 10
        low = high if fits(high) else low
    high = low * 10
    while high - low > low / 10**13:
        middle = (low + high) / 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    short = Enclosure.of(low).below()
    return short if fits(short) else low


def epsilon_at(order: Fraction, divergence: Fraction, delta: Fraction) -> Enclosure:
    """The epsilon that a divergence of this order gives: r + ln(1 - 1/a) - (ln delta + ln a) / (a - 1)."""
    return conversion_cost(order, delta) + divergence


def conversion_cost(order: Fraction, delta: Fraction) -> Enclosure:
    """What the step from a divergence of this order to an epsilon at this delta adds."""
    return Enclosure.of(1 - 1 / order).log() - Enclosure.of(delta * order).log() / (order - 1)


def delta_at(order: Fraction, divergence: Fraction, epsilon: Fraction) -> Fraction:
    """The delta that a divergence of this order gives at this epsilon, rounded up."""
    exponent = (Enclosure.of(1 - 1 / order).log() + divergence - epsilon) * (order - 1)
    power = exponent - Enclosure.of(order).log()
    return Fraction(1) if power.high >= 0 else power.exp().above()


def _order(t: float) -> Fraction:
    return 1 + Fraction(math.exp(t))


def _epsilon_roughly(t: float, rho: float, log_delta: float) -> float:
    rest = math.exp(t)
    return (1 + rest) * rho - math.log1p(math.exp(-t)) - (log_delta + math.log1p(rest)) / rest


def _log_delta_roughly(t: float, rho: float, epsilon: float) -> float:
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
