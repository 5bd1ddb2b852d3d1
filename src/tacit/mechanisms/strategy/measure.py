"""Exact histograms in, noisy ones out, and from those the best estimate of every cell."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tacit.core import ComposedEvent, Event, GaussianEvent, Number, positive, sqrt_above
from tacit.mechanisms.gaussian import Gaussian
from tacit.mechanisms.laplace import Laplace
from tacit.mechanisms.protocol import L1
from tacit.mechanisms.strategy.blocks import added_up, expanded, less_parents, padded, residuals, scaled
from tacit.mechanisms.strategy.law import LEAST
from tacit.mechanisms.strategy.picks import Floats
from tacit.mechanisms.strategy.plan import Part, Strategy, bars, inverse, precision
from tacit.noise import SYSTEM, IntArray, Source, WideArray, is_wide, whole_numbers, wide_numbers


@dataclass(frozen=True, slots=True)
class StrategyNoise:
    """Measure histograms of the same cells, coarse and fine, each with noise of its own.

    Guarantee:    pure ε-DP with Laplace noise, rho-zCDP with Gaussian: the parts compose, and each costs its share.
    Sensitivity:  L1 of the cells, in steps. A histogram adds cells up, each into one bar, so v moves it by at most ‖v‖₁
                  in L1, and therefore in L2. What adds up whole multiples of cells moves, in either norm, by at most
                  ‖v‖₁ times the longest column of multiples: a whole number in L1 (`Strategy.absolute_norm`), the root
                  of one in L2 (`Strategy.squared_norm`).
    Error:        least squares over all parts: rowᵀ (AᵀΣ⁻¹A)⁺ row for each answer (`row_variances`).
    Exactness:    whole numbers are added up, and given noise by the exact mechanisms; floats come after the noise.
    Reference:    McKenna, Miklau, Hay & Machanavajjhala, VLDB 2018; Hay, Rastogi, Miklau & Suciu, VLDB 2010; Xiao, He,
                  Zhang & Kifer, NeurIPS 2023 (residuals).
    """

    strategy: Strategy
    noises: tuple[Laplace | Gaussian, ...]

    @classmethod
    def laplace(cls, strategy: Strategy, scale: Fraction) -> StrategyNoise:
        """`scale` is what a single histogram would have with all of the budget."""
        return cls(
            strategy, tuple(Laplace(scale * strategy.absolute_norm(part) / part.share) for part in strategy.parts)
        )

    @classmethod
    def concentrated(cls, strategy: Strategy, rho: Number, *, sensitivity: int, delta: Fraction) -> StrategyNoise:
        """Gaussian noise that is rho-zCDP in all."""
        whole = positive(rho, "rho")
        squares = [sensitivity**2 * strategy.squared_norm(part) for part in strategy.parts]
        return cls(
            strategy,
            tuple(
                Gaussian(sqrt_above(Fraction(square) / (2 * whole * part.share)), delta)
                for square, part in zip(squares, strategy.parts, strict=True)
            ),
        )

    def event(self, sensitivity: int) -> ComposedEvent:
        """What an accountant needs to know of one release, for cells that move by this much in L1."""
        parts = zip(self.noises, self.strategy.parts, strict=True)
        return ComposedEvent(tuple((self._event(noise, part, sensitivity), 1) for noise, part in parts))

    def _event(self, noise: Laplace | Gaussian, part: Part, sensitivity: int) -> Event:
        if isinstance(noise, Laplace):
            return noise.event(sensitivity * self.strategy.absolute_norm(part))
        # rho is exact where the length of a column, a square root, would have to be rounded: only this law has one
        return GaussianEvent(noise.rho(sensitivity) * self.strategy.squared_norm(part))

    @property
    def norms(self) -> list[float]:
        """How far one row moves the numbers of each part, in the norm of their noise: 1, for a plain histogram."""
        return [
            float(self.strategy.absolute_norm(part))
            if noise.law.norm == L1
            else math.sqrt(self.strategy.squared_norm(part))
            for noise, part in zip(self.noises, self.strategy.parts, strict=True)
        ]

    @property
    def variances(self) -> list[float]:
        """The variance of a number of each part: of the discrete law, and never 0, for least squares divides by it."""
        return [max(noise.variance, LEAST) for noise in self.noises]

    def exact(self, histogram: IntArray | WideArray) -> tuple[IntArray | WideArray, ...]:
        """The numbers of every part before their noise, each in the shape of its levels; weighted sums in a row."""
        chains = self.strategy.chains
        cells = padded(histogram, chains)
        if self.strategy.matrix is not None:
            return (self.strategy.matrix.sums(cells),)
        return tuple(
            residuals(cells, chains, part.levels) if part.residual else added_up(cells, bars(chains, part.levels))
            for part in self.strategy.parts
        )

    def release(self, histogram: IntArray | WideArray, source: Source = SYSTEM) -> tuple[IntArray | WideArray, ...]:
        """The parts' numbers with noise, each in the shape of its levels."""
        whole = wide_numbers(histogram) if is_wide(histogram) else whole_numbers(histogram)
        return tuple(
            noise.release(values, source) for noise, values in zip(self.noises, self.exact(whole), strict=True)
        )

    def cells(self, noisy: Sequence[IntArray | WideArray]) -> Floats:
        """The least-squares estimate of every cell; post-processing, so it costs nothing."""
        chains = self.strategy.chains
        numbers = [values.astype(np.float64) for values in noisy]
        if self.strategy.matrix is not None:
            return self.strategy.matrix.cells(numbers[0]).reshape(_shape(self.strategy))
        if len(numbers) == 1 and numbers[0].shape == _shape(self.strategy) and self.strategy.only_bars:
            estimate = numbers[0]
        else:
            estimate = scaled(self._weighed(numbers), chains, by=inverse(precision(self.strategy, self.variances)))
        return estimate[tuple(slice(chain.values) for chain in chains)]

    def _weighed(self, numbers: Sequence[Floats]) -> Floats:
        """Aᵀ Σ⁻¹ of the parts' numbers."""
        shape = _shape(self.strategy)
        total = np.zeros(shape)
        for values, variance, part in zip(numbers, self.variances, self.strategy.parts, strict=True):
            back = less_parents(values, branchings(self.strategy, part)) if part.residual else values
            total += expanded(back / variance, shape)
        return total

    @property
    def is_drawn(self) -> bool:
        """Whether every answer is a sum of bars, and so of independent draws of one noise."""
        return len(self.noises) == 1 and self.strategy.only_bars


def branchings(strategy: Strategy, part: Part) -> list[int]:
    """Into how many blocks a part cuts each one of the level above, attribute by attribute; 0 where it does not cut."""
    return [
        chain.branching[level - 1] if level else 0 for chain, level in zip(strategy.chains, part.levels, strict=True)
    ]


def _shape(strategy: Strategy) -> tuple[int, ...]:
    return tuple(chain.size for chain in strategy.chains)
