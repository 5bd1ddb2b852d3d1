"""How far a weighted sum of Laplace and normal draws strays, by its Fourier series, rounded outward.

Wrapped around a circle of length 2T, a sum S with characteristic function φ lies within t of 0 with probability

    W(t) = t / T + Σ over k ≥ 1 of 2 / (πk) · φ(πk / T) · sin(πk t / T).

What of S lies beyond T is wrapped onto the rest, so P(|S| > t) ≤ 1 − W(t) + P(|S| > T). Every draw has |φ(x)| ≤ 1 / x²
for x in units of its size, so what the series has beyond K terms is at most 2/π Σ k^−3 · (T / (π a))² for any draw's
weight times size a, and 2/π Σ k^−5 · (T / π)⁴ / (a a′)² for any two.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tacit.mechanisms.accuracy.moments import Smooth

_TERMS = 2048
_HALVINGS = 30
_ROUNDING = 1e-12  # above what doubles lose of the series


def smooth_reach(parts: Sequence[tuple[float, float, Smooth]], beyond: float, *, far: float) -> float | None:
    """A t that |S| exceeds with probability `beyond` at most, not counting P(|S| > far); None where none is found.

    `parts` have a weight, how many independent draws have it, and their law.
    """
    numbers = np.arange(1, _TERMS + 1, dtype=np.float64)
    turns = numbers * (math.pi / far)
    series = 2 / (math.pi * numbers)
    for weight, count, law in parts:
        series *= law.characteristic(weight * turns) ** count
    slack = _remainder([(weight * law.size, count) for weight, count, law in parts], far) + _ROUNDING
    low, high = 0.0, far
    if slack > beyond:
        return None
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        beyond_middle = 1 - middle / far - float(series @ np.sin(turns * middle)) + slack
        low, high = (low, middle) if beyond_middle <= beyond else (middle, high)
    return high


def _remainder(sizes: Sequence[tuple[float, float]], far: float) -> float:
    """What the terms beyond the last add up to, at most."""
    largest = sorted((size for size, count in sizes for _ in range(min(2, int(count)))), reverse=True)[:2]
    one = (far / (math.pi * largest[0])) ** 2 / (math.pi * _TERMS**2)  # Σ k^−3 ≤ 1 / (2 K²)
    if len(largest) < 2 or largest[1] <= 0:
        return one
    two = one * (far / (math.pi * largest[1])) ** 2 / (2 * _TERMS**2)  # Σ k^−5 ≤ 1 / (4 K⁴)
    return min(one, two)
