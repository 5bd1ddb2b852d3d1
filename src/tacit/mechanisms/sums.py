"""How far the sum of several independent noises strays, rounded outward."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np

from tacit.core import Number, sqrt_above
from tacit.mechanisms.accuracy.geometric import share
from tacit.mechanisms.accuracy.moments import NoiseMoments, chernoff
from tacit.mechanisms.gaussian import Gaussian
from tacit.mechanisms.limits import at_least
from tacit.mechanisms.protocol import AddedNoise

_BEYOND = 1e-12  # the chance of a sum outside the lattice; it is added to the tail
_FINENESS = 32  # cells of the lattice to one deviation of the mean: rounding to them costs half a per cent
_ROUNDING = 2.0**-50  # a fast Fourier transform's error for each of its log₂ N stages (Higham 2002, theorem 24.2)
_MOST = 1 << 12  # summands beyond which the exponential bound alone is used
_WIDEST = 1 << 22  # and the longest lattice
_SMOOTH = 4  # the σ from which a sum of discrete Gaussians is one, but for a factor closer to 1 than the next line
_NEARLY = 1 - Fraction(1, 10**12)
_UP = 1 + 1e-9  # above what the few float operations of a closed form can lose


def sum_reach(noise: AddedNoise, *, count: int, confidence: Number) -> int:
    """A t that, with this confidence, the sum of `count` independent draws of `noise` does not stray beyond.

    The smaller of two bounds: one by the moment generating function, for any count, and one by the law itself, of which
    every error (of rounding to a lattice, of cutting it off, of the transform) is bounded and counted against us.
    A sum of discrete Gaussians of σ ≥ 4 is a discrete Gaussian of σ √count but for a factor 1 + 10 · count · exp(−π²σ²)
    (Kairouz, Liu & Steinke, ICML 2021). These are theorems about two laws: of any other it is known that no sum strays
    further than all its summands together.
    """
    if at_least(count, 1, what="the count") == 1:
        return noise.error(confidence)
    if isinstance(noise, Gaussian) and noise.sigma >= _SMOOTH:
        wider = Gaussian(noise.sigma * sqrt_above(Fraction(count)), noise.delta)
        return wider.error(1 - share(confidence) * _NEARLY)
    moments = noise.law.moments
    if moments is None:
        return count * noise.error(confidence, count=count)
    return _sum_reach(moments, count, share(confidence), spread=float(noise.law.size))


@lru_cache(maxsize=256)
def _sum_reach(moments: NoiseMoments, count: int, chance: Fraction, *, spread: float) -> int:
    bound = chernoff([(1.0, count, moments)], float(chance) / _UP)
    quantile = _by_law(moments, count, float(chance) / _UP, spread=spread)
    return math.ceil(bound) if quantile is None else min(math.ceil(bound), quantile)


def _by_law(moments: NoiseMoments, count: int, chance: float, *, spread: float) -> int | None:
    """The quantile of the convolved law, on a lattice of odd width h: a draw is at most (h − 1) / 2 from its cell."""
    far = chernoff([(1.0, count, moments)], _BEYOND)
    width = max(1, int(spread / (_FINENESS * math.sqrt(count)))) | 1
    half = int(far / width) + 1
    size = 1 << (2 * half + 1).bit_length()
    if count > _MOST or size > _WIDEST:
        return None
    cells = moments.cells(width, half)  # cells: P(draw in cell k) for k = −half … half
    ring = np.zeros(size)
    ring[: half + 1], ring[-half:] = cells[half:], cells[:half]
    law = np.fft.irfft(np.fft.rfft(ring) ** count, size)
    both = law[1 : size // 2] + law[: size // 2 : -1]  # both: P(|sum| = k), k = 1 …
    slack = (1 + 2 * count) * _BEYOND + size * count * math.log2(size) * _ROUNDING
    beyond = np.append(np.cumsum(both[::-1])[::-1], 0.0) + abs(law[size // 2]) + slack  # beyond: P(|sum| > k), k = 0 …
    kept = np.flatnonzero(beyond <= chance)
    return None if kept.size == 0 else int(kept[0]) * width + count * (width // 2)
