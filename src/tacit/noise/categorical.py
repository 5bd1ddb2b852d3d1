"""A choice among weights exp(rate · score), without floating-point error in the law."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tacit.core import Number, positive
from tacit.core.enclosure import Interval, down, exp_interval, up
from tacit.errors import InvalidParameter
from tacit.noise.coins import Coins, LazyUniform, flip_exp
from tacit.noise.geometric import IntArray
from tacit.noise.probability import Enclosed, Probability, Ratio
from tacit.noise.saturating import whole_numbers
from tacit.noise.source import SYSTEM, Source
from tacit.noise.uniform import uniform_integer

_FLOAT_MARGIN = 2.0**-40
_CEILING = Fraction(10**280)  # times 2^64 still a finite double


def gaps_below_best(scores: IntArray) -> NDArray[np.uint64]:
    """How far each score lies below the best, without overflow at the ends of 64 bits."""
    values = whole_numbers(scores)
    if values.ndim != 1 or values.size == 0:
        raise InvalidParameter("there is nothing to choose from: give at least one score")
    gaps: NDArray[np.uint64] = np.subtract(values.max(), values).view(np.uint64)  # wraps, and so is right unsigned
    return gaps


def _rates(rate: Fraction, gaps: NDArray[np.uint64]) -> NDArray[np.float64]:
    """The products rate · gap in doubles. Beyond the ceiling exp(−rate · gap) is 0 to a double at every gap but 0."""
    return float(min(rate, _CEILING)) * gaps.astype(np.float64)


def categorical(scores: IntArray, rate: Number, *, source: Source = SYSTEM, margin: float = _FLOAT_MARGIN) -> int:
    """The index i with probability exp(rate · scores[i]) / Σ exp(rate · scores[j]), exactly.

    Doubles decide, unless the uniform lies so near a boundary that they might be wrong; then exact digits do.
    """
    exact = positive(rate, "the rate")
    gaps = gaps_below_best(scores)
    reach = np.cumsum(np.exp(-_rates(exact, gaps)))
    word = int(source.draw(8).view(np.uint64)[0])
    point = word * 2.0**-64 * reach[-1]
    slack = (margin + gaps.size * 2.0**-50) * reach[-1]
    low = int(np.searchsorted(reach, point - slack, side="right"))
    high = int(np.searchsorted(reach, point + slack, side="right"))
    if low >= high:
        return low
    uniform = LazyUniform(word, 64, source)
    high = min(high, gaps.size - 1)
    while low < high:  # the first index whose boundary lies above the uniform
        middle = (low + high) // 2
        if uniform.below(_boundary(gaps, middle, exact)):
            high = middle
        else:
            low = middle + 1
    return low


def _boundary(gaps: NDArray[np.uint64], last: int, rate: Fraction) -> Probability:
    """The probability of an index up to and including `last`."""
    values, index = np.unique(gaps, return_inverse=True)
    whole = np.bincount(index, minlength=values.size)
    part = np.bincount(index[: last + 1], minlength=values.size)
    share = Fraction(int(part[0]), int(whole[0]))
    if all(int(p) == share * int(w) for p, w in zip(part, whole, strict=True)):
        return Ratio(share)  # by Lindemann and Weierstrass the only way for it to be rational
    powers = [-rate * int(value) for value in values]

    def enclose(precision: int) -> Interval:
        part_low, part_high = _weighted(powers, part, precision)
        whole_low, whole_high = _weighted(powers, whole, precision)
        return down(precision).divide(part_low, whole_high), up(precision).divide(part_high, whole_low)

    return Enclosed(enclose)


def _weighted(powers: list[Fraction], counts: NDArray[np.int64], precision: int) -> Interval:
    low = high = Decimal(0)
    for power, count in zip(powers, counts.tolist(), strict=True):
        below, above = exp_interval(power, precision) if power else (Decimal(1), Decimal(1))
        low = down(precision).fma(below, count, low)
        high = up(precision).fma(above, count, high)
    return low, high


def keep_each(scores: IntArray, rate: Number, *, source: Source = SYSTEM) -> Coins:
    """For each score an independent coin that is True with probability exp(−rate · (best − score)), exactly."""
    exact = positive(rate, "the rate")
    gaps = gaps_below_best(scores)

    def exact_rate(index: int) -> Fraction:
        return exact * int(gaps[index])

    return flip_exp(_rates(exact, gaps), exact_rate, source=source)


def one_of(chosen: Coins, *, source: Source = SYSTEM) -> int:
    """The index of one True entry, each as likely as the next."""
    indices = np.flatnonzero(chosen)
    if indices.size == 0:
        raise InvalidParameter("there is nothing to choose from: no entry is marked")
    return int(indices[uniform_integer(indices.size, source=source)])
