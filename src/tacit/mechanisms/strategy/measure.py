"""Exact histograms in, noised ones out, and from those the best estimate of every cell."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.core import ComposedEvent, Number, positive, sqrt_above
from tacit.mechanisms.gaussian import Gaussian
from tacit.mechanisms.laplace import Laplace
from tacit.mechanisms.strategy.chain import Chain
from tacit.mechanisms.strategy.picks import Floats
from tacit.mechanisms.strategy.plan import Strategy, bars, inverse, precision
from tacit.noise import SYSTEM, IntArray, Source, WideArray, is_wide, whole_numbers, wide_numbers

_LOWER = 0xFFFFFFFF
_RAREST = 1e-300  # a chance that a double still holds
_LATTICE = 0.25  # in steps²: what a half-width needs on top where noise is a whole number


@dataclass(frozen=True, slots=True)
class StrategyNoise:
    """Measure histograms of the same cells, coarse and fine, each with noise of its own.

    Guarantee:    pure ε-DP with Laplace noise, rho-zCDP with Gaussian: the parts compose, and each costs its share.
    Sensitivity:  L1 of the cells, in steps. A part adds cells up, each into one bar, so v moves it by at most ‖v‖₁ in
                  L1, and therefore in L2.
    Error:        least squares over all parts: rowᵀ (AᵀΣ⁻¹A)⁺ row for each answer (`row_variances`).
    Exactness:    whole numbers are added up, and noised by the exact mechanisms; floats come after the noise.
    Reference:    McKenna, Miklau, Hay & Machanavajjhala, VLDB 2018; Hay, Rastogi, Miklau & Suciu, VLDB 2010.
    """

    strategy: Strategy
    noises: tuple[Laplace | Gaussian, ...]

    @classmethod
    def laplace(cls, strategy: Strategy, scale: Fraction) -> StrategyNoise:
        """`scale` is what a single part would have with all of the budget."""
        return cls(strategy, tuple(Laplace(scale / part.share) for part in strategy.parts))

    @classmethod
    def concentrated(cls, strategy: Strategy, rho: Number, *, sensitivity: int, delta: Fraction) -> StrategyNoise:
        """Gaussian noise that is rho-zCDP in all."""
        whole = positive(rho, "rho")
        return cls(
            strategy,
            tuple(
                Gaussian(sqrt_above(Fraction(sensitivity**2) / (2 * whole * part.share)), delta)
                for part in strategy.parts
            ),
        )

    def event(self, sensitivity: int) -> ComposedEvent:
        """What an accountant needs to know of one release, for cells that move by this much in L1."""
        return ComposedEvent(tuple((noise.event(sensitivity), 1) for noise in self.noises))

    @property
    def variances(self) -> list[float]:
        """Of one bar of each part, never too small: of the continuous law, and with room for the lattice.

        Least squares weighs with these as well, so that what they say of an answer bounds its true variance.
        """
        return [_continuous(noise) + _LATTICE for noise in self.noises]

    def release(self, histogram: IntArray | WideArray, source: Source = SYSTEM) -> tuple[IntArray | WideArray, ...]:
        """The parts' bars with noise, each in the shape of its levels."""
        whole = wide_numbers(histogram) if is_wide(histogram) else whole_numbers(histogram)
        exact = padded(whole, self.strategy.chains)
        return tuple(
            noise.release(_added_up(exact, bars(self.strategy.chains, part.levels)), source)
            for noise, part in zip(self.noises, self.strategy.parts, strict=True)
        )

    def cells(self, noised: Sequence[IntArray | WideArray]) -> Floats:
        """The least-squares estimate of every cell; post-processing, so it costs nothing."""
        chains = self.strategy.chains
        shape = tuple(chain.size for chain in chains)
        known = precision(self.strategy, self.variances)
        if len(noised) == 1 and noised[0].shape == shape:
            found = noised[0].astype(np.float64)
        else:
            weighed = np.zeros(shape)
            for values, variance in zip(noised, self.variances, strict=True):
                weighed += _expanded(values.astype(np.float64) / variance, shape)
            found = _scaled(weighed, chains, by=inverse(known), axis=0)
        return found[tuple(slice(chain.values) for chain in chains)]


def half_width(variance: Floats, *, noise: Laplace | Gaussian, confidence: Number) -> Floats:
    """How far an answer may stray, with this confidence, given its variance.

    A weighted sum of Laplace noises is a mixture of normal laws. Of all with one variance, its quantile is largest for
    a single summand or for very many, whichever is larger at this confidence (found numerically; the tests repeat it).
    """
    beyond = max(float(1 - Fraction(confidence)), _RAREST)
    normal = -NormalDist().inv_cdf(beyond / 2)
    reach = max(normal, math.log(1 / beyond) / math.sqrt(2)) if isinstance(noise, Laplace) else normal
    return np.asarray(reach * np.sqrt(variance))


def _continuous(noise: Laplace | Gaussian) -> float:
    return 2 * float(noise.scale) ** 2 if isinstance(noise, Laplace) else float(noise.sigma) ** 2


def padded(histogram: IntArray | WideArray, chains: Sequence[Chain]) -> IntArray | WideArray:
    """With empty cells where a chain has blocks for values that do not exist."""
    margins = [(0, chain.size - chain.values) for chain in chains]
    found: NDArray[Any] = np.pad(histogram.reshape(tuple(chain.values for chain in chains)), margins)
    return found


def _added_up(cells: IntArray | WideArray, shape: tuple[int, ...]) -> IntArray | WideArray:
    """Sums over blocks, held at the ends of 64 bits: one that wrapped round would move by 2^64 for a single unit.

    Those of Python's own whole numbers have no end.
    """
    if is_wide(cells):
        return _block_sums(cells, shape)
    upper, lower = _block_sums(cells >> 32, shape), _block_sums(cells & _LOWER, shape)  # neither can overflow
    upper, lower = upper + (lower >> 32), lower & _LOWER
    held = np.clip(upper, -(1 << 31), (1 << 31) - 1)
    total: IntArray = (held << 32) + np.where(upper > held, _LOWER, np.where(upper < held, 0, lower))
    return total


def _block_sums(cells: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    for axis, blocks in enumerate(shape):
        split = (*cells.shape[:axis], blocks, cells.shape[axis] // blocks, *cells.shape[axis + 1 :])
        cells = cells.reshape(split).sum(axis=axis + 1)
    return cells


def _expanded(values: Floats, shape: tuple[int, ...]) -> Floats:
    for axis, size in enumerate(shape):
        values = np.repeat(values, size // values.shape[axis], axis=axis)
    return values


def _scaled(cells: Floats, chains: Sequence[Chain], *, by: Floats, axis: int) -> Floats:
    """Σ_T by[T] · Π_T cells: along one axis after another, each level's block means less those of the level above."""
    if axis == len(chains):
        scaled: Floats = cells * by
        return scaled
    chain = chains[axis]
    result, above = np.zeros(()), np.zeros(())
    for level, (blocks, width) in enumerate(zip(chain.blocks, chain.widths, strict=True)):
        split = (*cells.shape[:axis], blocks, width, *cells.shape[axis + 1 :])
        means = cells.reshape(split).mean(axis=axis + 1)
        if level:
            factor = chain.branching[level - 1]
            above, result = np.repeat(above, factor, axis=axis), np.repeat(result, factor, axis=axis)
        if np.any(by[level]):
            result = result + _scaled(means - above, chains, by=by[level], axis=axis + 1)
        elif not level:
            result = np.zeros_like(means)
        above = means
    return result
