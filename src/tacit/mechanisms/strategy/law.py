"""How the variance of a noisy bar falls as its share of the budget grows: the discrete laws, not their limits."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from tacit.mechanisms.protocol import AddedNoise
from tacit.mechanisms.strategy.picks import Floats

LAPLACE, GAUSSIAN = 2, 1  # the power of the share that a bar's precision grows with, while it is small
LEAST = 1e-150  # the least variance that is told from none: its square is still a double
_SMOOTH = {LAPLACE: 8.0, GAUSSIAN: 4.0}  # sizes from which the continuous law is as good to a thousandth
_MOST = {LAPLACE: 340.0, GAUSSIAN: 680.0}  # precisions beyond which the variance, next to none, is said to fall less
_FIRST = 1e-18  # the least precision in the table
_POINTS = 8192
_NUMBERS = np.arange(1.0, 90.0)  # beyond, a discrete Gaussian of σ < 2 weighs less than exp(−1000)
_HALVINGS = 40


@dataclass(frozen=True, slots=True)
class Law:
    """One family of noise. At the share s a bar has the scale size / s, if Laplace, or σ² = size / s, if Gaussian."""

    power: int
    size: float

    @classmethod
    def of(cls, noise: AddedNoise) -> Law:
        """That of a bar which has `noise` at the full budget."""
        law = noise.law
        return cls(law.power, float(law.size) ** law.norm)

    @property
    def is_smooth(self) -> bool:
        """Whether the continuous law does as well, whatever the share."""
        return self.size >= _SMOOTH[self.power]

    def variance(self, shares: Floats) -> Floats:
        """The variance of a bar at each of these shares; infinite at none."""
        precisions = np.asarray(shares, dtype=np.float64) / self.size
        variances = np.full(precisions.shape, np.inf)
        some = precisions > 0
        variances[some] = _variance(precisions[some], self.power)
        return variances


def least_split(pulls: Floats, sizes: Floats, *, power: int) -> Floats:
    """The shares s, one in all, with the least Σ pull · variance(s / size).

    Each variance is convex and falls, so at the least sum all have the same slope, which is found by halving. While
    variances are powers of the share, s ∝ (pull · size^power)^(1 / (1 + power)).
    """
    some = pulls > 0
    shares = np.zeros_like(pulls)
    pull, size = pulls[some] / pulls[some].max(), np.broadcast_to(sizes, pulls.shape)[some]
    first = (pull * (size / size.max()) ** power) ** (1 / (1 + power))
    first = first / first.sum()
    if not np.all(size >= _SMOOTH[power]):
        first = _same_slope(pull, size, first, power=power)
    shares[some] = first
    return shares


def _same_slope(pull: Floats, size: Floats, first: Floats, *, power: int) -> Floats:
    points, slopes = _table(power)  # points: log precision, rising; slopes: log of how fast the variance falls there
    offset = np.log(pull) - np.log(size)
    ends = offset + np.interp(np.log(np.maximum(first / size, _FIRST)), points, slopes)
    low, high = float(ends.min()), float(ends.max())  # some share is not above its first, and another not below
    for _ in range(_HALVINGS):
        level = (low + high) / 2
        shares = size * np.exp(np.interp(offset - level, -slopes, points))
        low, high = (level, high) if shares.sum() > 1 else (low, level)
    shares = size * np.exp(np.interp(offset - high, -slopes, points))
    normalised: Floats = shares / shares.sum()
    return normalised


def _variance(precisions: Floats, power: int) -> Floats:
    most = _MOST[power]
    within = np.minimum(precisions, most)
    if power == LAPLACE:  # 2q / (1 − q)² with q = exp(−precision)
        variances = 0.5 / np.sinh(within / 2) ** 2
    else:
        variances = 1 / within  # σ², to sixteen digits from σ = 2 on
        rough = within > 1 / 4
        variances[rough] = _moments(within[rough])[0]
    beyond: Floats = variances * (within / precisions) ** power
    return beyond


def _moments(precisions: Floats) -> tuple[Floats, Floats]:
    """The second and the fourth moment of discrete Gaussians with σ² = 1 / precision."""
    weights = np.exp(-np.multiply.outer(precisions, _NUMBERS**2 / 2))
    total = 1 + 2 * weights.sum(axis=-1)
    return 2 * weights @ _NUMBERS**2 / total, 2 * weights @ _NUMBERS**4 / total


@lru_cache(maxsize=2)
def _table(power: int) -> tuple[Floats, Floats]:
    """Logarithms of precisions, and of −d variance / d precision, which falls all the way: variances are convex."""
    points = np.linspace(np.log(_FIRST), np.log(_MOST[power]), _POINTS)
    precisions = np.exp(points)
    if power == LAPLACE:
        half = precisions / 2
        slopes = np.log(0.5) + np.log(np.cosh(half)) - 3 * np.log(np.sinh(half))
    else:
        rough = precisions > 1 / 4
        second, fourth = _moments(precisions[rough])
        slopes = -2 * points
        slopes[rough] = np.log((fourth - second**2) / 2)
    return points, slopes
