"""Amplification by shuffling, added up numerically: several times sharper than the closed form."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tacit.accounting.shuffle import checked, shuffle
from tacit.core import Loss, Number

Floats = NDArray[np.float64]
_SPREAD = 9.0  # standard deviations looked at; what lies beyond is bounded, not ignored
_BLOCKS = 100
_WIDER = 1 + Fraction(1, 10**12)  # far above the rounding of doubles
_WORTH_IT = Fraction(99, 100)  # a delta is not spent for less than one per cent
_MARGIN = 1 + 1e-6  # far above the rounding of the sums below
_STEPS = 40


def shuffle_numerically(epsilon: Number, *, reports: int, delta: Number) -> Loss:
    """As `shuffle`, with the divergence of the two worst laws added up instead of bounded in one formula.

    Among n − 1 other reports a random number C of clones, binomial with chance e^−ε₀, look like either value; the two
    laws are then binomials of C fair coins, shifted by one with chance e^ε₀ / (1 + e^ε₀) or its complement. With fewer
    clones the laws are further apart, so blocks of C are taken at their smallest. Sums of doubles, widened by 1e-6.
    Feldman, McMillan & Talwar, FOCS 2021, the reduction to clones.
    """
    local, n, slack = checked(epsilon, reports, delta)
    alone = Loss(local)
    target = float(slack) / _MARGIN
    if local == 0 or n == 1 or local > 700:
        return alone
    blocks, beyond = _clones(math.exp(-float(local)), n - 1)
    laws = [(weight, _laws(clones, float(local))) for clones, weight in blocks]
    low, high = 0.0, float(local)
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if beyond + sum(weight * _apart(law, middle) for weight, law in laws) <= target:
            high = middle
        else:
            low = middle
    numerical = Fraction(high) * _WIDER
    closed = shuffle(epsilon, reports=n, delta=slack)
    if numerical > _WORTH_IT * local:
        return closed
    return Loss(min(numerical, closed.epsilon), slack)


def _clones(chance: float, others: int) -> tuple[list[tuple[int, float]], float]:
    """Blocks of numbers of clones, as (fewest, probability), and the probability of fewer than any of them."""
    spread = math.sqrt(others * chance * (1 - chance))
    middle = others * chance
    reach = _SPREAD * spread + _SPREAD**2
    first, last = max(0, math.floor(middle - reach)), min(others, math.ceil(middle + reach))
    chances = _binomial(others, chance, first, last)
    step = max(1, -(-chances.size // _BLOCKS))
    blocks = [(first + at, float(chances[at : at + step].sum())) for at in range(0, chances.size, step)]
    # Bernstein: beyond `reach` on either side; more clones than the last block has hide at least as well
    outside = math.exp(-(reach**2) / (2 * (spread**2 + reach / 3)))
    return blocks, outside if first > 0 else 0.0


def _binomial(trials: int, chance: float, first: int, last: int) -> Floats:
    """P(k successes) for k from first to last, as shares of what lies between: a little too large, never too small."""
    k = np.arange(first, last, dtype=np.float64)
    ratios = np.log(trials - k) - np.log(k + 1) + (math.log(chance) - math.log1p(-chance))
    logs = np.concatenate(([0.0], np.cumsum(ratios)))
    weights = np.exp(logs - logs.max())
    shares: Floats = weights / weights.sum()
    return shares


@dataclass(frozen=True, slots=True)
class _Laws:
    """Two laws on a row of outcomes whose likelihood ratio only rises: it, the tails of both, and what lies outside."""

    ratios: Floats  # logarithms
    first: Floats
    second: Floats
    outside: float


def _laws(clones: int, local: float) -> _Laws:
    """The two laws of how many look like one of the values, given so many clones."""
    reach = _SPREAD * math.sqrt(clones) / 2 + _SPREAD**2
    first, last = max(0, math.floor(clones / 2 - reach)), min(clones, math.ceil(clones / 2 + reach))
    coins = _binomial(clones, 0.5, first, last)
    still, moved = np.concatenate((coins, [0.0])), np.concatenate(([0.0], coins))
    own = 1 / (1 + math.exp(-local))
    one, two = own * moved + (1 - own) * still, (1 - own) * moved + own * still
    tails = [np.concatenate((np.cumsum(law[::-1])[::-1], [0.0])) for law in (one, two)]
    outside = 2 * math.exp(-2 * reach**2 / clones) if clones and first > 0 else 0.0  # Hoeffding
    return _Laws(np.maximum.accumulate(np.log(one / two)), tails[0], tails[1], outside)


def _apart(laws: _Laws, epsilon: float) -> float:
    """The hockey-stick divergence at e^epsilon: over the outcomes where the first law is so much likelier."""
    cut = int(np.searchsorted(laws.ratios, epsilon))
    apart = laws.first[cut] - math.exp(epsilon) * laws.second[cut]
    return min(1.0, max(0.0, float(apart)) + laws.outside)
