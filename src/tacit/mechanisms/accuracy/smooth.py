"""How far a sum with a smooth draw in it strays, by its Fourier series, rounded outward.

Wrapped around a circle of length 2T, a sum S with characteristic function φ lies within t of 0 with probability

    W(t) = t / T + Σ over k ≥ 1 of 2 / (πk) · φ(πk / T) · sin(πk t / T).

What of S lies beyond T is wrapped onto the rest, so P(|S| > t) ≤ 1 − W(t) + P(|S| > T). A Laplace or normal draw has
|φ(x)| ≤ 1 / x² for x in units of its size, and every other draw of the sum |φ| ≤ 1, so what the series has beyond K
terms is at most 2/π Σ k^−3 · (T / (π a))² for a smooth draw's weight times its size, a.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from tacit.mechanisms.accuracy.moments import Floats

_TERMS = 2048, 8192
_SLACK = 5e-3  # of the chance: where more is lost beyond the last term, more terms are added up
_HALVINGS = 30
_ROUNDING = 1e-12  # above what doubles lose of the series


def smooth_reach(law: Callable[[Floats], Floats], size: float, beyond: float, *, far: float) -> float | None:
    """A t that |S| exceeds with probability `beyond` at most, not counting P(|S| > far); None where none is found.

    `law` is its characteristic function, `size` the weight times the size of a smooth draw in it.
    """
    for count in _TERMS:
        slack = (far / (math.pi * size)) ** 2 / (math.pi * count**2) + _ROUNDING  # Σ k^−3 ≤ 1 / (2 K²)
        if slack <= _SLACK * beyond:
            break
    else:
        return None
    numbers = np.arange(1, count + 1, dtype=np.float64)
    turns = numbers * (math.pi / far)
    series = law(turns) * (2 / (math.pi * numbers))
    low, high = 0.0, far
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        straying = 1 - middle / far - float(np.sum(series * np.sin(turns * middle))) + slack
        low, high = (low, middle) if straying <= beyond else (middle, high)
    return high
