"""The exact laws of the mechanisms' outcomes, worked out from their definitions alone."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
from numpy.typing import NDArray

Chances = NDArray[np.float64]
REACH = 400  # beyond it noise of the scales audited here weighs nothing
NUMBERS = np.arange(-REACH, REACH + 1)


def laplace(scale: Fraction) -> Chances:
    """P(noise = k) for k in NUMBERS."""
    q = math.exp(-1 / scale)
    return (1 - q) / (1 + q) * q ** np.abs(NUMBERS).astype(float)


def gaussian(sigma: Fraction) -> Chances:
    weights = np.exp(-(NUMBERS.astype(float) ** 2) / float(2 * sigma * sigma))
    return weights / weights.sum()


def below(noise: Chances, bound: NDArray[np.int64] | int) -> NDArray[np.float64]:
    """P(noise < bound)."""
    reached = np.concatenate(([0.0], np.cumsum(noise)))
    return reached[np.clip(np.asarray(bound) + REACH, 0, noise.size)]


def folded(values: NDArray[np.int64], reach: int) -> NDArray[np.int64]:
    """Outcomes coded as 0 … 2·reach, everything further out held at the ends."""
    return np.clip(values, -reach, reach) + reach


def fold(noise: Chances, centre: int, reach: int) -> Chances:
    """The law of `folded` for centre + noise."""
    return np.bincount(folded(NUMBERS + centre, reach), weights=noise, minlength=2 * reach + 1)


def exponential(scores: NDArray[np.int64], rate: Fraction) -> Chances:
    weights = np.exp(float(rate) * (scores - scores.max()))
    return weights / weights.sum()


def permute_and_flip(scores: NDArray[np.int64], rate: Fraction) -> Chances:
    """Every subset of candidates that may be kept, and an even choice from each."""
    kept = np.exp(float(rate) * (scores - scores.max()))
    chances = np.zeros(scores.size)
    for subset in product((False, True), repeat=scores.size):
        mask = np.array(subset)
        if mask.any():
            chances += np.where(mask, kept, 1 - kept).prod() * mask / mask.sum()
    return chances


def noisy_max(scores: NDArray[np.int64], scale: Fraction) -> Chances:
    """Sum over the winner's noisy score and over which others tie with it."""
    noise = laplace(scale)
    equal = [np.roll(noise, int(score)) for score in scores]  # P(score + noise = k)
    less = [below(noise, NUMBERS - int(score)) for score in scores]
    chances = np.zeros(scores.size)
    for winner in range(scores.size):
        others = [other for other in range(scores.size) if other != winner]
        for ties in product((False, True), repeat=len(others)):
            part = equal[winner].copy()
            for other, tied in zip(others, ties, strict=True):
                part *= equal[other] if tied else less[other]
            chances[winner] += part.sum() / (1 + sum(ties))
    return chances


def first_hit(values: tuple[int, ...], threshold_scale: Fraction, query_scale: Fraction) -> Chances:
    """P(the first value found above threshold 0 is the j-th); the last entry is that none is."""
    at, noise = laplace(threshold_scale), laplace(query_scale)
    open_so_far, chances = at.copy(), []
    for value in values:
        under = below(noise, NUMBERS - value)  # of each noisy threshold
        chances.append(float((open_so_far * (1 - under)).sum()))
        open_so_far *= under
    return np.array([*chances, float(open_so_far.sum())])


def hits(values: tuple[int, ...], most: int, *, threshold_scale: Fraction, query_scale: Fraction) -> Chances:
    """P(which values are found above threshold 0), as a number in binary, the first value its lowest digit.

    One noisy threshold for all, and after `most` hits nothing is found any more.
    """
    at, noise = laplace(threshold_scale), laplace(query_scale)
    found: dict[int, Chances] = {0: at.copy()}
    for place, value in enumerate(values):
        under = below(noise, NUMBERS - value)
        after: dict[int, Chances] = {}
        for code, weight in found.items():
            over = code.bit_count() < most
            after[code] = weight * under if over else weight
            if over:
                after[code | 1 << place] = weight * (1 - under)
        found = after
    return np.array([float(found[code].sum()) if code in found else 0.0 for code in range(1 << len(values))])


def gap_after_misses(
    values: tuple[int, ...], *, threshold_scale: Fraction, query_scale: Fraction, most: int
) -> Chances:
    """P(early hit), P(no hit at all), then P(the last value alone is above, by 0, 1, … `most` or more)."""
    at, noise = laplace(threshold_scale), laplace(query_scale)
    missed = at.copy()
    for value in values[:-1]:
        missed *= below(noise, NUMBERS - value)
    last = NUMBERS - values[-1]  # what noise must reach, for each noisy threshold
    reached = [float((missed * (1 - below(noise, last + gap))).sum()) for gap in range(most + 1)]
    exact = [here - further for here, further in zip(reached, [*reached[1:], 0.0], strict=True)]
    return np.array([1 - missed.sum(), missed.sum() - reached[0], *exact])


def coarsened(fine: Fraction, coarse: Fraction, *, reach: int) -> Chances:
    """The joint law of (coarse telling, fine telling) of zero, both folded: by the mixture that links them."""
    q1, q2 = math.exp(-1 / coarse), math.exp(-1 / fine)
    stays = ((1 - q1) / (1 - q2)) ** 2 * q2 / q1
    width = 2 * reach + 1
    joint = np.zeros((width, width))
    for number, chance in zip(NUMBERS, laplace(fine), strict=True):
        added = (1 - stays) * fold(laplace(coarse), int(number), reach)
        place = int(folded(np.array([number]), reach)[0])
        joint[:, place] += chance * added
        joint[place, place] += chance * stays
    return joint.ravel()
