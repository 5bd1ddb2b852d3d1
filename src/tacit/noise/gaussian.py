"""Discrete Gaussian whole numbers."""

from __future__ import annotations

from fractions import Fraction
from typing import overload

import numpy as np

from tacit.core import Number
from tacit.noise.coins import flip_exp
from tacit.noise.geometric import IntArray, geometric_array
from tacit.noise.scales import MAX_SIGMA, fitting_scale
from tacit.noise.size import how_many
from tacit.noise.source import SYSTEM, Source

_BLOCK = 1 << 14
_LEAST_SPREAD = 1e-120  # below it every chance is 0 or 1 to a double, and squares would overflow
_SCALAR_CANDIDATES = 8  # all of them fail once in 10^5 draws


@overload
def discrete_gaussian(sigma: Number, size: None = None, *, source: Source = SYSTEM) -> int: ...
@overload
def discrete_gaussian(sigma: Number, size: int, *, source: Source = SYSTEM) -> IntArray: ...
def discrete_gaussian(sigma: Number, size: int | None = None, *, source: Source = SYSTEM) -> int | IntArray:
    """Draw k with probability proportional to exp(−k² / (2 sigma²)), exactly.

    Two-sided geometric candidates are accepted with the exact chance that turns one law into the other (Canonne,
    Kamath & Steinke 2020). How many are rejected says nothing about the one that is kept.
    """
    exact = fitting_scale(sigma, "sigma", most=MAX_SIGMA)
    numbers = _fill(exact, how_many(size), source=source)
    return int(numbers[0]) if size is None else numbers


def _fill(sigma: Fraction, size: int, *, source: Source) -> IntArray:
    numbers = np.empty(size, dtype=np.int64)
    filled = 0
    while filled < size:
        wanted = min(size - filled, _BLOCK)
        kept = _accepted(sigma, int(1.4 * wanted) + _SCALAR_CANDIDATES, source=source)[:wanted]
        numbers[filled : filled + kept.size] = kept
        filled += kept.size
    return numbers


def _accepted(sigma: Fraction, candidates: int, *, source: Source) -> IntArray:
    scale = int(sigma) + 1
    variance = sigma * sigma
    centre = variance / scale
    numbers = geometric_array(scale, candidates, source=source, two_sided=True)
    distance = (np.abs(numbers) - float(centre)) / max(float(sigma), _LEAST_SPREAD)

    def exact_rate(index: int) -> Fraction:
        return (abs(int(numbers[index])) - centre) ** 2 / (2 * variance)

    return numbers[flip_exp(distance * distance / 2, exact_rate, source=source)]
