"""How far behind the best the largest noisy score may be, in the worst case, rounded outward.

Let g be a gap. A candidate at least g behind is likeliest to win where one leads and all others lie exactly g behind:
raising a score that is further behind only helps those behind, and so does moving one that is nearer to g. With
noise z on the leader, w = z + g, F(w) = P(noise ≤ w), b = P(noise = w) and M others, the leader wins with probability
((F(w)^(M+1) − (F(w) − b)^(M+1)) / ((M + 1) b), ties being broken evenly. So it loses with the average of
1 − (1 − s)^M over s from 1 − F(w) to 1 − F(w) + b, and that falls as z rises.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_BLOCKS = 1 << 14  # of z; within one the chance of losing counts as that of its least number
_FAR = 45  # scales beyond the gap and above zero: what lies there weighs less than e^−45 of the rest
_PARTS = 32  # of s; the function is concave, so its average over a part is at most its value in the middle
_SMOOTH = 0.01  # 1 / scale from which one part does: s varies by that little
_SHARPEST = 1e-3  # a smaller scale is taken for this one, at which noise is a number below once in e^1000 draws
_UP = 1 + 1e-9


def losing(scale: Fraction, gap: int, *, others: int) -> float:
    """At most this often a candidate of `gap` ≥ 1 behind wins against the leader, with `others` of them; rounded up."""
    rate = 1 / max(float(scale), _SHARPEST)
    low, high = -gap - math.ceil(_FAR / rate) - 1, math.ceil(_FAR / rate) + 1
    width = max(1, -(-(high - low) // _BLOCKS))
    left = np.arange(-(-low // width), 0, dtype=np.float64)[::-1] * -width  # left: how far below zero blocks begin
    right = np.arange(0, -(-high // width), dtype=np.float64) * width  # right: where blocks above zero begin
    below = _mass(rate, left - width + 1, width) * _lost(rate, gap - left, others=others)
    above = _mass(rate, right, width) * _lost(rate, gap + right, others=others)
    outside = math.exp(rate * low) + _lost(rate, np.array([gap + high * 1.0]), others=others)[0] * math.exp(
        -rate * high
    )
    return min(1.0, float(below.sum() + above.sum() + outside) * _UP)


def _mass(rate: float, nearest: Floats, width: int) -> Floats:
    """P(noise in a block of so many whole numbers on one side), the nearest of which is that far from zero."""
    mass: Floats = np.exp(-rate * nearest) * (-math.expm1(-rate * width) / (1 + math.exp(-rate)))
    return mass


def _lost(rate: float, w: Floats, *, others: int) -> Floats:
    """The average of 1 − (1 − s)^others over s from P(noise > w) to P(noise ≥ w), rounded up."""
    both = 1 + math.exp(-rate)
    at = np.exp(-rate * np.abs(w)) * (-math.expm1(-rate) / both)  # P(noise = w)
    beyond = np.exp(-rate * (np.abs(w) + 1)) / both  # P(noise > w) for w ≥ 0
    lost, parts = np.zeros(w.size), _PARTS if rate > _SMOOTH else 1
    for part in range(parts):
        step = at * ((part + 0.5) / parts)
        with np.errstate(divide="ignore"):  # s = 1: ln 0, and the leader has lost
            lost -= np.expm1(others * np.where(w >= 0, np.log1p(-beyond - step), np.log(beyond + at - step)))
    return lost / parts
