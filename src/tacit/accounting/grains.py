"""Prices in grains: how many copies of one small randomised response tell at least as much as a mechanism does.

Write A for randomised response of epsilon = grain, the *atom*, A^n for n independent ones, and P ≼ R for "R dominates
P": the delta of P is at most that of R at every epsilon, in both directions. For a loss (epsilon, 0) the price is the
least n for which randomised response of epsilon, which dominates every epsilon-DP mechanism, is itself ≼ A^n: the atom
costs 1, and so does whatever costs less than it.

Theorem. Let an adversary choose mechanisms one after another, each in view of all answers so far, each with a price of
n_i grains and a delta_i of its own, and be stopped before Σ n_i > N or Σ delta_i > D. What they see is
(epsilon, D + delta_N(epsilon))-DP for every epsilon, where delta_N is the profile of A^N.

Proof. Let C_d be the pair that confesses with probability d and else says nothing. A mechanism that is
(epsilon, d)-DP is ≼ C_d × (randomised response of epsilon) (Kairouz, Oh & Viswanath 2015), so ≼ C_d × A^n. We show by
induction that whoever has n grains and d of delta left sees something ≼ C_d × A^n. With nothing left, or asking nothing
more, they see nothing. Else they ask something of price (k, e), k ≤ n and e ≤ d, and whatever the answer is, they then
have (n − k, d − e) left, and see something ≼ C_(d−e) × A^(n−k). If one mechanism is ≼ R, and another, whatever the
first said, ≼ S, both together are ≼ R × S (Zhu, Dong & Wang, AISTATS 2022, Theorem 10, which is of adaptive choices).
So all is ≼ C_e × A^k × C_(d−e) × A^(n−k) ≼ C_d × A^n, for 1 − (1 − e)(1 − (d − e)) ≤ d. What was chosen does not
matter: k cancels. At the start (n, d) = (N, D), and the delta of C_D × A^N is D + (1 − D) delta_N. ∎

So the sum of whole numbers is a true filter, although each price, and N, is a numerical composition. To stop where a
*composed total* crosses a line would not be one (arXiv 2602.06756 and 2602.15815): there what was chosen does matter.

Sums are of doubles, all positive, so that their relative errors add up: a binomial law made by products of ratios is
off by at most 4 n 2⁻⁵³, which `SLACK` covers for n up to `MOST`, with as much again for everything else.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tacit.core import Budget, Grains, Loss, positive
from tacit.errors import InvalidParameter

MOST = 10**6  # grains of a budget, or of a price
SLACK = 1e-9
_BEYOND = 1e-290  # above what is lost where probabilities underflow


def grains_for(loss: Loss, grain: Fraction) -> Grains:
    """The price of a loss: the least number of grains, found by halving, and its own delta."""
    return Grains(grain, _count(loss.epsilon, positive(grain, "the grain")), loss.delta)


@lru_cache(maxsize=4096)
def _count(epsilon: Fraction, grain: Fraction) -> int:
    if epsilon == 0:
        return 0
    low, high = 0, 1
    while not dominates(grain, high, epsilon):
        low, high = high, 2 * high
        if low > MOST:
            return high  # more than any budget holds
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if dominates(grain, middle, epsilon) else (middle, high)
    return high


def dominates(grain: Fraction, count: int, epsilon: Fraction) -> bool:
    """Whether `count` atoms are known to tell no less than randomised response of `epsilon` at every epsilon.

    Over e^t both profiles are made of straight lines. That of one response has none but its ends at ±epsilon, beyond
    which it is the least there is; so the difference is convex between them, and least where a line of the atoms ends:
    at t = (count − 2 j) grain. Both profiles are those of pairs that a reflection swaps, delta(−t) = 1 − e^−t +
    e^−t delta(t), so that t ≥ 0 is enough.
    """
    if count > MOST:
        return False
    far = -(-epsilon.numerator * grain.denominator // (epsilon.denominator * grain.numerator)) - 1  # (count − 2j) ≤ far
    first = max(0, -(-(count - far) // 2))  # the first j with t below epsilon
    last = count // 2  # and the last with t ≥ 0
    if first > last:
        return True
    size, lies = float(grain), _lies(float(grain), count)
    told = _told(lies, size, first)
    shrink, total = math.exp(-2 * size), float(lies[:first].sum())
    for j in range(first, last + 1):  # told: delta of the atoms at t_j, and that of the next from it
        single = -math.expm1((count - 2 * j) * size - float(epsilon)) / (1 + math.exp(-float(epsilon)))
        if told * (1 - SLACK) < single * (1 + SLACK):
            return False
        total += float(lies[j])
        told = shrink * told - math.expm1(-2 * size) * total
    return True


@lru_cache(maxsize=256)
def grains_within(limit: Budget, grain: Fraction) -> int:
    """The largest number of atoms that are known to be (epsilon, delta)-DP together: at least epsilon / grain."""
    size = positive(grain, "the grain")
    low = math.floor(limit.epsilon / size)  # by plain sums
    if low > MOST:
        raise InvalidParameter(
            f"the grain is too fine for this budget: it holds more than {MOST:,} of them",
            hint="choose the epsilon of an everyday question for the grain",
        )
    high = max(1, 2 * low)
    while high <= MOST and delta_above(size, high, epsilon=limit.epsilon) <= limit.delta:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        fits = middle <= MOST and delta_above(size, middle, epsilon=limit.epsilon) <= limit.delta
        low, high = (middle, high) if fits else (low, middle)
    return low


def delta_above(grain: Fraction, count: int, *, epsilon: Fraction) -> Fraction:
    """The delta of so many atoms at this epsilon, rounded up; none where plain sums need none."""
    if count * grain <= epsilon:
        return Fraction(0)
    above = min(count + 1, math.ceil((count - epsilon / grain) / 2))  # how many of the losses exceed epsilon
    size, lies = float(grain), _lies(float(grain), count)[:above]
    gaps = (count - 2 * np.arange(above, dtype=np.float64)) * size - float(epsilon)
    found = float((lies * -np.expm1(-np.maximum(gaps, 0.0))).sum())
    # where a gap is all but nothing its own rounding counts: at most 2⁻⁵⁰ of the largest loss
    return Fraction(found * (1 + SLACK) + count * size * 2.0**-50 * float(lies[-1]) + _BEYOND)


def epsilon_within(grains: Grains) -> Fraction:
    """The largest epsilon, in six digits, that so many grains pay for at once."""
    if grains.count == 0:
        return Fraction(0)
    low, high = grains.grain, grains.count * grains.grain
    while high - low > low / 10**6:
        middle = (low + high) / 2
        low, high = (middle, high) if dominates(grains.grain, grains.count, middle) else (low, middle)
    digits = 6 - math.floor(math.log10(float(low))) - 1
    return Fraction(math.floor(low * Fraction(10) ** digits)) / Fraction(10) ** digits if low > grains.grain else low


@lru_cache(maxsize=64)
def _lies(grain: float, count: int) -> NDArray[np.float64]:
    """The chance that 0, 1, 2, … of so many atoms lie: products of ratios, outward from the likeliest."""
    odds = math.exp(-grain)
    peak = min(count, math.floor((count + 1) * odds / (1 + odds)))
    up = np.arange(peak, count, dtype=np.float64)
    down = np.arange(peak, 0, -1, dtype=np.float64)
    law = np.empty(count + 1)
    law[peak] = 1.0
    with np.errstate(under="ignore"):
        law[peak + 1 :] = np.cumprod((count - up) / (up + 1) * odds)
        law[:peak] = np.cumprod(down / (count - down + 1) / odds)[::-1]
    law /= law.sum()
    law.flags.writeable = False
    return law


def _told(lies: NDArray[np.float64], grain: float, j: int) -> float:
    """The delta of the atoms at their j-th loss, largest first: what those with larger losses tell beyond it."""
    steps = np.arange(j, 0, -1, dtype=np.float64)
    return float((lies[:j] * -np.expm1(-2 * grain * steps)).sum())
