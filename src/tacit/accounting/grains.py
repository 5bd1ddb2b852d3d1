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
off by at most 4 n 2⁻⁵³, which `SLACK` covers for n up to `MOST`, with as much again for everything else. An epsilon of
more than three digits is first rounded up to three, so that there are few prices to find, and none takes long to find.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist

from tacit.core import Budget, Grains, Loss, positive, sqrt_above
from tacit.core.concentrated import log
from tacit.core.enclosure import rounded_up
from tacit.core.running_sum import bounded
from tacit.errors import InvalidParameter

MOST = 200_000  # grains of a budget, or of a price
SLACK = 1e-9
DIGITS = 3  # of an epsilon above the grain
_BEYOND = 1e-290  # above what is lost where probabilities underflow


def grains_for(loss: Loss, grain: Fraction, *, rho: Fraction | None = None) -> Grains:
    """The price of a loss: the least number of grains that dominates it, and its own delta.

    A pure loss that is charged with more `rho` than ε²/2 is what a finer telling adds to a plain sum, and less than it
    costs by itself (`refined_charge`): then it counts as the pure loss of that rho.
    """
    size = positive(grain, "the grain")
    epsilon = loss.epsilon
    if rho is not None and loss.is_pure and rho > bounded(epsilon**2 / 2):
        epsilon = sqrt_above(2 * rho)
    if epsilon <= size:
        return Grains(size, 0 if epsilon == 0 else 1, loss.delta)
    return Grains(size, _count(rounded_up(epsilon, DIGITS), size), loss.delta)


@lru_cache(maxsize=1 << 14)
def _count(epsilon: Fraction, grain: Fraction) -> int:
    """The least number of atoms that `dominates` knows to do; more than `MOST` where it knows of none."""
    apart = 2 * NormalDist().inv_cdf(1 / (1 + math.exp(-min(float(epsilon), 30.0))))  # in total variation
    high = max(1, int(min(float(MOST), (apart / max(float(grain), 1e-100)) ** 2)))
    step = 1
    while not dominates(grain, high, epsilon):
        if high >= MOST:
            return MOST + 1
        high, step = min(MOST, high + step), 2 * step
    low, step = high - 1, 1
    while low > 0 and dominates(grain, low, epsilon):
        low, high, step = max(0, low - step), low, 2 * step
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
    if count > MOST or count * grain < epsilon:  # the largest loss of the atoms is count · grain
        return False
    below = math.ceil(epsilon / grain) - 1  # t < epsilon where count − 2 j ≤ below
    first, last = max(0, -(-(count - below) // 2)), count // 2
    if first > last:
        return True
    size, lies = float(grain), _lies(float(grain), count)
    low = _bulk(size, count, first)  # what is left out before it can only make the atoms tell less
    told = math.fsum(lies[i] * -math.expm1(-2 * size * (first - i)) for i in range(low, first))
    shrink, total = math.exp(-2 * size), math.fsum(lies[low:first])
    for j in range(first, last + 1):  # told: the delta of the atoms at t_j, and from it that at the next
        single = -math.expm1((count - 2 * j) * size - float(epsilon)) / (1 + math.exp(-float(epsilon)))
        if told * (1 - SLACK) < single * (1 + SLACK):
            return False
        total += lies[j]
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
    return _most(lambda count: delta_above(size, count, epsilon=limit.epsilon), limit.delta, low=low)


def _most(delta_of: Callable[[int], Fraction], limit: Fraction, *, low: int) -> int:
    """The largest count, from `low` on, whose delta is within the limit: by interpolation, for few deltas take long."""
    goal, under, over = log(limit) if limit else -math.inf, -math.inf, 0.0
    high, tries = max(1, 2 * low), 0
    while high <= MOST and (delta := delta_of(high)) <= limit:
        low, high, under = high, 2 * high, log(delta) if delta else -math.inf
    if high > MOST:
        high, over = MOST + 1, 0.0
    while high - low > 1:
        tries += 1
        middle = (low + high) // 2
        if (
            tries % 3 and math.isfinite(under) and under < goal < over
        ):  # and every third time halve, to be sure of an end
            middle = low + int((high - low) * (goal - under) / (over - under)) + tries % 2
        middle = min(max(middle, low + 1), high - 1)
        delta = delta_of(middle)
        if delta <= limit:
            low, under = middle, log(delta) if delta else -math.inf
        else:
            high, over = middle, log(delta)
    return low


def delta_above(grain: Fraction, count: int, *, epsilon: Fraction) -> Fraction:
    """The delta of so many atoms at this epsilon, rounded up; none where plain sums need none."""
    if count * grain <= epsilon:
        return Fraction(0)
    above = min(count + 1, math.ceil((count - epsilon / grain) / 2))  # how many of the losses exceed epsilon
    size, target, lies = float(grain), float(epsilon), _lies(float(grain), count)
    low = _bulk(size, count, above)  # before it everything counts as lost
    total = math.fsum(lies[:low])
    total += math.fsum(lies[j] * -math.expm1(-max(0.0, (count - 2 * j) * size - target)) for j in range(low, above))
    # where a gap is all but nothing its own rounding counts: at most 2⁻⁵⁰ of the largest loss
    return Fraction(total * (1 + SLACK) + count * size * 2.0**-50 * lies[above - 1] + _BEYOND)


def epsilon_within(grains: Grains) -> Fraction:
    """The largest epsilon, in three digits, that so many grains pay for at once."""
    if grains.count == 0:
        return Fraction(0)
    low, high = grains.grain, grains.count * grains.grain
    half = min(math.sqrt(grains.count) * float(grains.grain) / 2, 8.0)  # about as far apart as normal laws are
    beyond = NormalDist().cdf(-half)
    for near in (Fraction(97, 100), Fraction(103, 100)):  # a good guess; neither end is believed unseen
        guess = rounded_up(Fraction(math.log1p(-beyond) - math.log(beyond)) * near, 9)
        if low < guess < high:
            low, high = (guess, high) if dominates(grains.grain, grains.count, guess) else (low, guess)
    while high - low > low / 10**4:
        middle = rounded_up((low + high) / 2, 9)
        low, high = (middle, high) if dominates(grains.grain, grains.count, middle) else (low, middle)
    if low == grains.grain:
        return low
    digits = DIGITS - 1 - math.floor(math.log10(float(low)))
    return max(grains.grain, Fraction(math.floor(low * Fraction(10) ** digits)) / Fraction(10) ** digits)


def _bulk(grain: float, count: int, end: int) -> int:
    """Where, up to `end`, the numbers of lies begin that are not all but impossible: twelve deviations down."""
    odds = math.exp(-grain)
    likeliest = int(count * odds / (1 + odds))
    return max(0, min(end, likeliest) - 6 * math.isqrt(count) - 8)


@lru_cache(maxsize=16)
def _lies(grain: float, count: int) -> list[float]:
    """The chance that 0, 1, 2, … of so many atoms lie: products of ratios, outward from the likeliest."""
    odds = math.exp(-grain)
    peak = min(count, math.floor((count + 1) * odds / (1 + odds)))
    law = [0.0] * (count + 1)
    law[peak] = 1.0
    for number in range(peak, count):
        law[number + 1] = law[number] * ((count - number) / (number + 1) * odds)
    for number in range(peak, 0, -1):
        law[number - 1] = law[number] * (number / (count - number + 1) / odds)
    whole = math.fsum(law)
    return [chance / whole for chance in law]
