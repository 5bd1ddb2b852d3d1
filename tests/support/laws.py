"""Exact laws of the samplers, and the tests that tell a right one from a wrong one.

A law is compared on cells: cut points and the exact probability of each cell between them. Every comparison has a
nominal false-alarm rate of `FALSE_ALARM`. Cells expect at least `LEAST_EXPECTED` draws, so that the chi-square tail
is right to within a small factor even that far out; where that leaves a single cell, the exact binomial decides.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import mpmath
import numpy as np
from numpy.typing import NDArray
from scipy import stats

FALSE_ALARM = 1e-9
LEAST_EXPECTED = 1000
DRAWS = 400_000


@dataclass(frozen=True)
class Cells:
    """Cell i holds the whole numbers from cuts[i − 1] up to, not including, cuts[i]."""

    cuts: tuple[int, ...]
    chances: tuple[float, ...]

    def counts(self, draws: NDArray[np.int64]) -> NDArray[np.int64]:
        place = np.searchsorted(np.array(self.cuts, dtype=np.int64), draws, side="right")
        return np.bincount(place, minlength=len(self.chances))


def p_value(draws: NDArray[np.int64], cells: Cells) -> float:
    """How probable a disagreement at least this large would be, were the law that of `cells`."""
    return p_value_of_counts(cells.counts(draws), cells.chances)


def p_value_of_counts(counts: Sequence[int] | NDArray[np.int64], chances: Sequence[float]) -> float:
    observed, expected = _pooled(np.asarray(counts, dtype=float), np.asarray(chances) * np.sum(counts))
    if len(observed) > 1:
        statistic = float(np.sum((observed - expected) ** 2 / expected))
        return float(stats.chi2.sf(statistic, len(observed) - 1))
    likeliest = int(np.argmax(chances))
    return p_value_of_successes(int(counts[likeliest]), int(np.sum(counts)), float(chances[likeliest]))


def p_value_of_successes(successes: int, trials: int, chance: float) -> float:
    """The exact two-sided binomial test."""
    if chance in (0.0, 1.0):
        return float(successes == trials * chance)
    return float(stats.binomtest(successes, trials, chance).pvalue)


def _pooled(counts: NDArray[np.float64], expected: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
    observed_cells, expected_cells = [0.0], [0.0]
    for count, share in zip(counts, expected, strict=True):
        if expected_cells[-1] >= LEAST_EXPECTED:
            observed_cells.append(0.0)
            expected_cells.append(0.0)
        observed_cells[-1] += float(count)
        expected_cells[-1] += float(share)
    if len(expected_cells) > 1 and expected_cells[-1] < LEAST_EXPECTED:
        last_observed, last_expected = observed_cells.pop(), expected_cells.pop()
        observed_cells[-1] += last_observed
        expected_cells[-1] += last_expected
    return np.array(observed_cells), np.array(expected_cells)


def geometric_cells(scale: Fraction, *, cells: int = 64) -> Cells:
    """P(k) = (1 − q) q^k on k ≥ 0."""
    cuts = sorted({int(mpmath.ceil(-_mp(scale) * mpmath.log(1 - mpmath.mpf(i) / cells))) for i in range(1, cells)})
    return _cells(cuts, lambda cut: mpmath.exp(-cut / _mp(scale)) if cut > 0 else mpmath.mpf(1))


def two_sided_cells(scale: Fraction, *, cells: int = 64) -> Cells:
    """P(k) = (1 − q) / (1 + q) · q^|k|."""
    half = [int(mpmath.ceil(-_mp(scale) * mpmath.log(1 - mpmath.mpf(i) / cells))) for i in range(1, cells)]
    cuts = sorted({cut + 1 for cut in half} | {-cut for cut in half} | {0, 1})

    def at_least(cut: int) -> mpmath.mpf:
        q = mpmath.exp(-1 / _mp(scale))
        tail = q ** (cut if cut > 0 else 1 - cut) / (1 + q)
        return tail if cut > 0 else 1 - tail

    return _cells(cuts, at_least)


def gaussian_cells(sigma: Fraction, *, cells: int = 64) -> Cells:
    """P(k) proportional to exp(−k² / 2 sigma²)."""
    if sigma > 200:  # the sum over a cell is the integral over it, to within 1 / (24 sigma²)
        cuts = sorted({round(float(sigma) * stats.norm.ppf(i / cells)) for i in range(1, cells)})
        return _cells(cuts, lambda cut: mpmath.mpf(stats.norm.sf((cut - 0.5) / float(sigma))))
    reach = int(12 * sigma) + 3
    weight = {k: mpmath.exp(-(mpmath.mpf(k) ** 2) / (2 * _mp(sigma) ** 2)) for k in range(-reach, reach + 1)}
    whole = mpmath.fsum(weight.values())
    chances = tuple(float(weight[k] / whole) for k in range(-reach, reach + 1))
    return Cells(tuple(range(-reach + 1, reach + 1)), chances)


def _cells(cuts: list[int], at_least: Callable[[int], mpmath.mpf]) -> Cells:
    with mpmath.workprec(200):  # neighbouring tails are subtracted
        tails = [mpmath.mpf(1), *(at_least(cut) for cut in cuts), mpmath.mpf(0)]
        return Cells(tuple(cuts), tuple(float(above - below) for above, below in pairwise(tails)))


def _mp(value: Fraction) -> mpmath.mpf:
    return mpmath.mpf(value.numerator) / value.denominator
