"""The best possible composition of equal losses: Kairouz, Oh & Viswanath, ICML 2015, Theorem 3.3."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction

from tacit.accounting.composition import repetitions
from tacit.core import Loss, Number, probability, rational
from tacit.core.enclosure import DOWN, UP, Enclosure, fraction_above
from tacit.core.rational import decimal_text
from tacit.errors import InvalidParameter

_ZERO = Decimal(0)


def compose_optimal(loss: Loss, times: int, *, slack: Number) -> Loss:
    """The least epsilon on the ladder k epsilon, (k - 2) epsilon, (k - 4) epsilon ... that `slack` pays for.

    No analysis that knows only the (epsilon, delta) of each answer can do better: the bound is met by randomised
    response. The rung's epsilon is exact; its delta, 1 - (1 - delta)^k (1 - delta_i), is rounded up. `slack` bounds
    delta_i, the part that composition itself adds.
    """
    k = repetitions(times)
    extra = probability(slack, "the slack")
    rung, paid = 0, _ZERO
    if loss.epsilon == 0:
        return Loss(0, _with_own_delta(loss.delta, k, paid))
    for i, cost in enumerate(_ladder(loss.epsilon, k), start=1):
        if cost > 0 and fraction_above(cost) > extra:
            break
        rung, paid = i, cost
    return Loss(loss.epsilon * (k - 2 * rung), _with_own_delta(loss.delta, k, paid))


def optimal_delta(loss: Loss, times: int, *, epsilon: Number) -> Fraction:
    """The least delta at which `times` answers of this loss are (epsilon, delta)-DP together, rounded up."""
    k = repetitions(times)
    target = rational(epsilon, "epsilon")
    if target < 0:
        raise InvalidParameter(f"epsilon must not be negative: got {decimal_text(target)}")
    return _with_own_delta(loss.delta, k, _hockey_stick(loss.epsilon, k, target))


def _ladder(epsilon: Fraction, k: int) -> Iterator[Decimal]:
    """delta_1, delta_2, ... of the rungs, each no less than its true value.

    delta_i = sum over l < i of a_l (1 - e^(-2 (i - l) epsilon)), where a_l is the chance that l of k randomised
    responses lie. With R_i = sum of a_l e^(-2 (i - l) epsilon) that is A_i - R_i, and R_(i+1) = (R_i + a_i) e^(-2 eps).
    """
    shrink = Enclosure.of(-2 * epsilon).exp().low
    total, repaid = _ZERO, _ZERO
    lies = _lies(epsilon, k)
    for _ in range(k // 2):
        low, high = next(lies)
        total = UP.add(total, high)
        repaid = DOWN.multiply(DOWN.add(repaid, low), shrink)
        yield max(_ZERO, UP.subtract(total, repaid))


def _hockey_stick(epsilon: Fraction, k: int, target: Fraction) -> Decimal:
    """An upper bound on the sum over l of a_l (1 - e^(target - (k - 2 l) epsilon)), where that is positive."""
    total, repaid = _ZERO, _ZERO
    gap = target - k * epsilon
    growth = Enclosure.of(2 * epsilon).exp().low
    factor = Enclosure.of(gap).exp().low
    for low, high in _lies(epsilon, k):
        if gap >= 0:
            break
        total = UP.add(total, high)
        repaid = DOWN.add(repaid, DOWN.multiply(low, factor))
        factor, gap = DOWN.multiply(factor, growth), gap + 2 * epsilon
    return max(_ZERO, UP.subtract(total, repaid))


def _lies(epsilon: Fraction, k: int) -> Iterator[tuple[Decimal, Decimal]]:
    """Bounds on the chance that 0, 1, 2, ... of k answers lie, each lying with probability 1 / (1 + e^epsilon)."""
    odds = Enclosure.of(-epsilon).exp()
    none = (-((odds + 1).log() * k)).exp()
    low, high = none.low, none.high
    for count in range(k + 1):
        yield low, high
        top, bottom = Decimal(k - count), Decimal(count + 1)
        low = DOWN.divide(DOWN.multiply(DOWN.multiply(low, odds.low), top), bottom)
        high = UP.divide(UP.multiply(UP.multiply(high, odds.high), top), bottom)


def _with_own_delta(delta: Fraction, k: int, extra: Decimal) -> Fraction:
    """1 - (1 - delta)^k (1 - extra), rounded up; never more than the union bound k delta + extra."""
    added = fraction_above(extra)
    if delta == 0:
        return min(Fraction(1), added)
    if delta == 1 or added >= 1:
        return Fraction(1)
    spared = (Enclosure.of(1 - delta).log() * k).exp() * (1 - added)
    return min(Fraction(1), delta * k + added, max(Fraction(0), (-spared + 1).above()))
