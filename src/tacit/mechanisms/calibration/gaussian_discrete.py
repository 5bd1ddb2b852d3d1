"""The discrete Gaussian on the line: its exact privacy profile, and how far it strays.

For whole numbers moved by at most `shift`, noise Y of parameter sigma is (epsilon, delta)-DP with

    delta = P(Y > epsilon·sigma²/shift − shift/2) − exp(epsilon) · P(Y > epsilon·sigma²/shift + shift/2),

and no less (Canonne, Kamath & Steinke, NeurIPS 2020). A smaller shift costs no more: the law is log-concave,
so the worst set of outputs is a half-line, and shifting the neighbour further from it only lowers what it has there.

Sums are of doubles, each within 1e-11 of what it stands for; `_SLACK` rounds them outward by ten times that.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tacit.core.enclosure import rounded_up
from tacit.mechanisms.calibration.gaussian_profile import largest
from tacit.mechanisms.calibration.normal import tail

MAX_SUMMED = 256  # beyond, the continuous law is as good to six digits
_REACH = 40  # sigmas summed; what lies beyond weighs less than exp(−800)
_SLACK = 1e-10
_BEYOND = 1e-300


@dataclass(frozen=True, slots=True)
class SummedWeights:
    """The weights exp(−k²/2sigma²) summed from the far end: `tails[k + reach]` holds those of all numbers from k on."""

    sigma: Fraction
    reach: int
    tails: NDArray[np.float64]

    @classmethod
    def of(cls, sigma: Fraction) -> SummedWeights:
        """For sigma up to `MAX_SUMMED`."""
        reach = math.ceil(_REACH * sigma) + 2
        numbers = np.arange(-reach, reach + 1, dtype=np.float64)
        weights = np.exp(-(numbers * numbers) / float(2 * sigma * sigma)) if sigma > 1e-3 else (numbers == 0) * 1.0
        return cls(sigma, reach, np.cumsum(weights[::-1])[::-1])

    def at_least(self, number: int) -> float:
        """P(Y ≥ number), to within the slack."""
        if number > self.reach:
            return 0.0
        return float(self.tails[max(0, number + self.reach)] / self.tails[0])

    def delta_above(self, epsilon: float, shift: int) -> float:
        """An upper bound on the delta at which this noise, for numbers moved by `shift`, is (epsilon, delta)-DP."""
        centre = Fraction(epsilon) * self.sigma * self.sigma / shift
        first = self.at_least(math.floor(centre - Fraction(shift, 2)) + 1)
        second = self.at_least(math.floor(centre + Fraction(shift, 2)) + 1)
        paid = math.exp(min(epsilon, 700.0)) * second
        return first * (1 + _SLACK) - paid * (1 - _SLACK) + _BEYOND


def epsilon_on_line(sigma: Fraction, shift: int, *, delta: Fraction) -> Fraction:
    """The least epsilon, plus about one part in 10⁹, at which this noise is (epsilon, delta)-DP."""
    line, goal = SummedWeights.of(sigma), float(delta) * (1 - 1e-15)
    if line.delta_above(0.0, shift) <= goal:
        return Fraction(0)
    least = 1 / largest(lambda inverse: line.delta_above(1 / inverse, shift) <= goal)
    return rounded_up(Fraction(least) * (1 + Fraction(1, 10**9)), 15)


def sigma_on_line(epsilon: Fraction, delta: Fraction, *, shift: int, enough: Fraction) -> Fraction:
    """The least sigma that halving finds, at most `enough`, whose noise is (epsilon, delta)-DP by the exact profile."""
    spent, goal = float(epsilon) * (1 - 1e-15), float(delta) * (1 - 1e-15)
    if enough > MAX_SUMMED or SummedWeights.of(enough).delta_above(spent, shift) > goal:
        return enough
    low, high = Fraction(0), enough
    while high - low > high / 10**9:
        middle = rounded_up((low + high) / 2, 12)
        if not low < middle < high:
            break
        low, high = (low, middle) if SummedWeights.of(middle).delta_above(spent, shift) <= goal else (middle, high)
    return high


def reach_of(sigma: Fraction, chance: Fraction) -> int:
    """The least whole t with P(|Y| > t) ≤ chance; for large sigma possibly one more.

    There P(Y ≥ m) ≤ Q((m − 1)/sigma): the sum of a falling function is below its integral from one step earlier, and
    the sum of all weights is not below sigma √(2π), by Poisson's summation formula.
    """
    if sigma <= MAX_SUMMED and chance > _BEYOND * 2:
        line, goal = SummedWeights.of(sigma), float(chance) * (1 - _SLACK) / 2
        low, high = -1, line.reach
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if line.at_least(middle + 1) <= goal else (middle, high)
        return high
    return math.ceil(sigma * _normal_quantile(chance / 2))


@lru_cache(maxsize=1024)  # the grouping sets of one statement ask for the same, hundreds of times
def _normal_quantile(chance: Fraction) -> Fraction:
    """A point that a standard normal passes with probability at most `chance`, found by halving."""
    low, high = Fraction(0), Fraction(1)
    while Fraction(tail(high)[1]) > chance:
        low, high = high, 2 * high
    while high - low > high / 10**9:
        middle = rounded_up((low + high) / 2, 12)
        low, high = (low, middle) if Fraction(tail(middle)[1]) <= chance else (middle, high)
    return high


def variance_of(sigma: Fraction) -> float:
    """Σ k² P(Y = k): sigma² to sixteen digits from sigma = 2 on, less below."""
    if sigma >= 2:
        return float(sigma * sigma)
    line = SummedWeights.of(sigma)
    numbers = np.arange(-line.reach, line.reach, dtype=np.float64)
    return float(np.dot(numbers * numbers, -np.diff(line.tails)) / line.tails[0])
