"""How far the sum of several independent noises strays, rounded outward."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tacit.core import Number, sqrt_above
from tacit.mechanisms.accuracy.geometric import share
from tacit.mechanisms.gaussian import Gaussian
from tacit.mechanisms.laplace import Laplace
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
    if isinstance(noise, (Laplace, Gaussian)):
        return _sum_reach(noise, count, share(confidence))
    return count * noise.error(confidence, count=count)


@lru_cache(maxsize=256)
def _sum_reach(noise: Laplace | Gaussian, count: int, chance: Fraction) -> int:
    bound = _by_moments(noise, count, float(chance) / _UP)
    quantile = _by_law(noise, count, float(chance) / _UP)
    return math.ceil(bound) if quantile is None else min(math.ceil(bound), quantile)


def _by_moments(noise: Laplace | Gaussian, count: int, chance: float) -> float:
    """Chernoff's: P(|sum| > t) ≤ 2 exp(−θt) M(θ)^count for every θ, so t = (ln(2 / chance) + count · ln M(θ)) / θ.

    Two-sided geometric noise has M(θ) = (1 − q)² / ((1 − q e^θ)(1 − q e^−θ)); the discrete Gaussian M(θ) ≤ exp(σ²θ²/2)
    (Canonne, Kamath & Steinke, NeurIPS 2020, lemma 11), whose best θ gives σ √(2 · count · ln(2 / chance)).
    """
    needed = math.log(2 / chance)
    if isinstance(noise, Gaussian):
        return float(noise.sigma) * math.sqrt(2 * count * needed) * _UP
    rate = 1 / float(noise.scale)
    theta = rate * np.linspace(0.001, 0.999, 999)
    logs = 2 * np.log(-np.expm1(-rate)) - np.log(-np.expm1(theta - rate)) - np.log(-np.expm1(-theta - rate))
    return float(np.min((needed + count * logs) / theta)) * _UP


def _by_law(noise: Laplace | Gaussian, count: int, chance: float) -> int | None:
    """The quantile of the convolved law, on a lattice of odd width h: a draw is at most (h − 1) / 2 from its cell."""
    far = _by_moments(noise, count, _BEYOND)
    spread = float(noise.law.size)
    width = max(1, int(spread / (_FINENESS * math.sqrt(count)))) | 1
    half = int(far / width) + 1
    size = 1 << (2 * half + 1).bit_length()
    if count > _MOST or size > _WIDEST:
        return None
    cells = _cells(noise, width, half)  # cells: P(draw in cell k) for k = −half … half
    ring = np.zeros(size)
    ring[: half + 1], ring[-half:] = cells[half:], cells[:half]
    law = np.fft.irfft(np.fft.rfft(ring) ** count, size)
    both = law[1 : size // 2] + law[: size // 2 : -1]  # both: P(|sum| = k), k = 1 …
    slack = (1 + 2 * count) * _BEYOND + size * count * math.log2(size) * _ROUNDING
    beyond = np.append(np.cumsum(both[::-1])[::-1], 0.0) + abs(law[size // 2]) + slack  # beyond: P(|sum| > k), k = 0 …
    kept = np.flatnonzero(beyond <= chance)
    return None if kept.size == 0 else int(kept[0]) * width + count * (width // 2)


def _cells(noise: Laplace | Gaussian, width: int, half: int) -> NDArray[np.float64]:
    """The probability of each cell of the lattice. Where σ < 4 a cell is one number."""
    side = width // 2
    if isinstance(noise, Laplace):
        rate = 1 / float(noise.scale)
        both = 1 + math.exp(-rate)
        near = np.arange(1, half + 1, dtype=np.float64) * width - side  # the least number of each cell
        right = np.exp(-rate * near) * -np.expm1(-rate * width) / both
        centre = 1 - 2 * math.exp(-rate * (side + 1)) / both
        return np.concatenate([right[::-1], [centre], right])
    weights: NDArray[np.float64] = np.exp(-(np.arange(-half, half + 1) ** 2) / (2 * float(noise.sigma) ** 2))
    weights /= weights.sum()
    return weights
