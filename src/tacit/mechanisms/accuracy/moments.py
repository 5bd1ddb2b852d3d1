"""What sums of independent noises are bounded with: the two generating functions of each law, and its tails."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_FARTHEST = 12  # σ that a discrete Gaussian is added up to; what lies beyond weighs less than exp(−70)
_SMOOTH = 4  # the σ from which Poisson's formula has one term, but for what weighs less than exp(−78)
_SLOPES = 1 - np.geomspace(0.001, 1 - 1e-5, 300)[::-1]  # where Chernoff's bound is tried, as parts of the steepest
_SLOPES = np.concatenate([np.geomspace(1e-5, 0.5, 200), _SLOPES[_SLOPES > 0.5]])  # small ones for many draws
_UP = 1 + 1e-9  # above what its few operations lose
_SHARPEST = 1e-3  # a smaller size is taken for this one, at which noise is a number below once in e^1000 draws


class NoiseMoments(Hashable, Protocol):
    """A law on the whole numbers, the same on both sides of 0."""

    @property
    def steepest(self) -> float:
        """The θ from which E[exp(θ · noise)] is infinite."""
        ...

    @property
    def smooth(self) -> Smooth:
        """The continuous law that it comes near to."""
        ...

    def log_moment(self, theta: Floats) -> Floats:
        """The logarithm of E[exp(θ · noise)], or more, for θ below the steepest."""
        ...

    def characteristic(self, turns: Floats) -> Floats:
        """E[cos(turn · noise)]."""
        ...

    def cells(self, width: int, half: int) -> Floats:
        """P(noise in cell k) for k = −half … half, of cells of odd width about the multiples of it."""
        ...


@dataclass(frozen=True, slots=True)
class Smooth:
    """Laplace's law of a scale (`peaked`), or the normal one of a σ.

    A draw of noise can be drawn together with one of this law so that the two are never further than `apart` from each
    other.
    """

    size: float
    peaked: bool
    apart: float

    def characteristic(self, turns: Floats) -> Floats:
        """E[cos(turn · draw)]."""
        square = (self.size * turns) ** 2
        values: Floats = 1 / (1 + square) if self.peaked else np.exp(-square / 2)
        return values

    def deviations(self, beyond: float) -> float:
        """How many standard deviations a weighted sum of such draws strays with this chance.

        A weighted sum of Laplace's is a mixture of normal laws. Of all with one variance, its quantile is largest for a
        single summand or for very many, whichever is larger at this chance (found numerically; the tests repeat it).
        """
        normal = -NormalDist().inv_cdf(beyond / 2)
        return max(normal, math.log(1 / beyond) / math.sqrt(2)) if self.peaked else normal


@dataclass(frozen=True, slots=True)
class GeometricMoments:
    """Two-sided geometric noise: P(k) is proportional to q^|k|, q = exp(−1/scale)."""

    scale: Fraction

    @property
    def steepest(self) -> float:
        """1 / scale, where E[exp(θ · noise)] ends."""
        return 1 / max(float(self.scale), _SHARPEST)

    def log_moment(self, theta: Floats) -> Floats:
        """M(θ) = (1 − q)² / ((1 − q e^θ)(1 − q e^−θ))."""
        rate = self.steepest
        logs: Floats = (
            2 * math.log(-math.expm1(-rate)) - np.log(-np.expm1(theta - rate)) - np.log(-np.expm1(-theta - rate))
        )
        return logs

    def characteristic(self, turns: Floats) -> Floats:
        """(1 − q)² / ((1 − q)² + 4q sin²(turn / 2))."""
        rate = self.steepest
        square = math.expm1(-rate) ** 2
        values: Floats = square / (square + 4 * math.exp(-rate) * np.sin(turns / 2) ** 2)
        return values

    def cells(self, width: int, half: int) -> Floats:
        """Closed sums of powers of q."""
        side, rate = width // 2, self.steepest
        both = 1 + math.exp(-rate)
        near = np.arange(1, half + 1, dtype=np.float64) * width - side  # the least number of each cell
        right = np.exp(-rate * near) * -np.expm1(-rate * width) / both
        centre = 1 - 2 * math.exp(-rate * (side + 1)) / both
        return np.concatenate([right[::-1], [centre], right])

    @property
    def smooth(self) -> Smooth:
        """Laplace's law of the same scale: P(|x| ≥ t) = q^t, and 2 q^k / (1 + q) of this one.

        Draw both from one uniform number, and of one sign: |k| = ⌊|x| + c⌋ with c = ln((1 + q) / 2) / ln q, which lies
        between 1/2 − 1/(8 scale) and 1/2. So they are at most 1 − c apart.
        """
        return Smooth(float(self.scale), peaked=True, apart=min(1.0, 0.5 + self.steepest / 8) * _UP)


@dataclass(frozen=True, slots=True)
class GaussianMoments:
    """Discrete Gaussian noise: P(k) is proportional to exp(−k² / 2σ²)."""

    sigma: Fraction

    @property
    def steepest(self) -> float:
        """Infinity: E[exp(θ · noise)] is finite for every θ."""
        return math.inf

    def log_moment(self, theta: Floats) -> Floats:
        """M(θ) ≤ exp(σ²θ²/2) (Canonne, Kamath & Steinke, NeurIPS 2020, lemma 11)."""
        logs: Floats = (float(self.sigma) * theta) ** 2 / 2
        return logs

    def characteristic(self, turns: Floats) -> Floats:
        """Summed where σ is small; else by Poisson's formula."""
        sigma = float(self.sigma)
        if sigma >= _SMOOTH:
            nearest = turns - 2 * math.pi * np.rint(turns / (2 * math.pi))
            smooth: Floats = np.exp(-((sigma * nearest) ** 2) / 2)
            return smooth
        weights = self.cells(1, math.ceil(_FARTHEST * sigma) + 1)
        half = weights.size // 2
        values = np.full(np.shape(turns), weights[half])
        for number in range(1, half + 1):
            values += 2 * weights[half + number] * np.cos(number * turns)
        return values

    def cells(self, width: int, half: int) -> Floats:
        """The sum of the weights in each cell."""
        side = width // 2
        numbers = np.arange(-half * width - side, half * width + side + 1, dtype=np.float64)
        weights: Floats = np.exp(-(numbers**2) / (2 * max(float(self.sigma), _SHARPEST) ** 2))
        summed: Floats = weights.reshape(2 * half + 1, width).sum(axis=1) / weights.sum()
        return summed

    @property
    def smooth(self) -> Smooth:
        """The normal law of the same σ; together with it where that is at least 4.

        A sum of a falling function lies between its integrals from one step earlier and from here, and all the weights
        add up to σ √(2π) but for a factor closer to 1 than doubles tell apart: P(k or more) lies between the normal
        law's beyond k and beyond k − 1. Drawn from one uniform number, they are at most 1 apart.
        """
        return Smooth(float(self.sigma), peaked=False, apart=_UP if self.sigma >= _SMOOTH else math.inf)


def chernoff(parts: Sequence[tuple[float, float, NoiseMoments]], beyond: float) -> float:
    """What |Σ weight · draw| exceeds with probability `beyond` at most, for parts of (weight ≥ 0, draws, their law).

    P(|sum| > t) ≤ 2 exp(−θt) Π M(θ · weight)^draws for every θ, so t = (ln(2 / beyond) + Σ draws · ln M) / θ; the least
    of those that are tried. Weights are taken in a power of two near the largest, whose squares a double holds.
    """
    largest = max((weight for weight, _, _ in parts), default=0.0)
    if not largest > 0:
        return 0.0
    unit = math.ldexp(0.5, math.frexp(largest)[1])
    some = [(weight / unit, count, law) for weight, count, law in parts if weight / unit > 0]
    needed = math.log(2 / beyond)
    steepest = min(law.steepest / weight for weight, _, law in some)
    if math.isinf(steepest):  # all are Gaussian: θ² · a constant, whose best θ is half of this
        rising = sum(count * float(law.log_moment(np.array(weight))) for weight, count, law in some)
        steepest = 2 * math.sqrt(needed / rising)
    theta = _SLOPES * steepest
    logs = np.sum([count * law.log_moment(theta * weight) for weight, count, law in some], axis=0)
    return float(np.min((needed + logs) / theta)) * unit * _UP
