"""What continuous Gaussian noise costs, and how much of it a cost allows: never optimistic.

With mu = sensitivity / sigma, the least delta at which N(0, sigma²) noise is (epsilon, delta)-DP is

    delta(epsilon) = Q(epsilon/mu − mu/2) − exp(epsilon) · Q(epsilon/mu + mu/2),    Q the normal tail

(Balle & Wang, ICML 2018), growing with mu and falling with epsilon. Doubles search for an answer; enclosures then check
it, and move it to the safe side until it holds. So rounding can cost a little noise and never privacy.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

from tacit.core.enclosure import down, exp_below, rounded_up, up
from tacit.errors import InvalidParameter
from tacit.mechanisms.calibration.normal import DIGITS, tail

LEAST_DELTA = Fraction(1, 10**280)  # below, doubles could no longer search
_SLACK = Fraction(1, 10**9)  # relative; the first step to the safe side
_HUGE = 10**9  # beyond, the second term is left out: exp(epsilon) could overflow even a decimal
_TINY = Decimal("1e-300")  # as a fraction, exp(−10¹²) would have as many digits
_FAR = 1e300
_ROOT_2 = math.sqrt(2)


def delta_above(epsilon: Fraction, mu: Fraction) -> Fraction:
    """An upper bound on the delta of Gaussian noise: to 20 digits, but never below 1e-300."""
    _, first = tail(epsilon / mu - mu / 2)
    if epsilon > _HUGE:
        return Fraction(max(_TINY, first))
    second, _ = tail(epsilon / mu + mu / 2)
    paid = down(DIGITS).multiply(exp_below(epsilon, DIGITS), second)
    return Fraction(max(_TINY, up(DIGITS).subtract(first, paid)))


def mu_within(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The largest mu, less about one part in 10⁹, whose noise is (epsilon, delta)-DP."""
    _check(delta)
    goal, eps = float(delta), float(epsilon)
    guess = Fraction(largest(lambda mu: _delta(eps, mu) <= goal))
    return _until(lambda slack: guess / (1 + slack), lambda mu: delta_above(epsilon, mu) <= delta)


def epsilon_above(mu: Fraction, delta: Fraction) -> Fraction:
    """The least epsilon, plus about one part in 10⁹, at which noise of this mu is (epsilon, delta)-DP."""
    _check(delta)
    goal, width = float(delta), float(mu)
    if delta_above(Fraction(0), mu) <= delta:
        return Fraction(0)
    start = 1 / Fraction(largest(lambda inverse: _delta(1 / inverse, width) <= goal))
    return _until(lambda slack: rounded_up(start * (1 + slack), 15), lambda eps: delta_above(eps, mu) <= delta)


def _check(delta: Fraction) -> None:
    if not LEAST_DELTA <= delta < 1:
        raise InvalidParameter(
            "delta is too small for Gaussian noise, or not below 1",
            hint="choose 1e-280 ≤ delta < 1, or Laplace noise, which needs no delta",
        )


def _delta(epsilon: float, mu: float) -> float:
    """The same in doubles: Q = density · Mills' ratio, and exp(epsilon) · density(b) = density(a)."""
    a, b = epsilon / mu - mu / 2, epsilon / mu + mu / 2
    density = math.exp(-a * a / 2) / math.sqrt(2 * math.pi) if abs(a) < 40 else 0.0
    first = density * _mills(a) if a > 0 else math.erfc(a / _ROOT_2) / 2
    return first - density * _mills(b)


def _mills(x: float) -> float:
    if x < 25:
        return math.exp(x * x / 2) * math.sqrt(math.pi / 2) * math.erfc(x / _ROOT_2)
    square = 1 / (x * x)
    return (1 - square * (1 - 3 * square * (1 - 5 * square * (1 - 7 * square)))) / x


def largest(holds: Callable[[float], bool]) -> float:
    """The largest positive double, to one part in 10¹³, for which it holds, where it holds for all smaller ones."""
    low = 1.0
    while not holds(low):
        low /= 2
    high = 2 * low
    while holds(high) and high < _FAR:
        low, high = high, high * 2
    while high - low > 1e-13 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def _until(moved: Callable[[Fraction], Fraction], holds: Callable[[Fraction], bool]) -> Fraction:
    """The first candidate, ever further to the safe side, for which exact enclosures agree."""
    slack = _SLACK
    while not holds(candidate := moved(slack)):
        slack *= 4
    return candidate
