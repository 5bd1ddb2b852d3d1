"""Gaussian noise on whole numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import overload

import numpy as np

from tacit.core import FineGaussianEvent, GaussianEvent, Loss, Number, positive, probability, sqrt_above
from tacit.core.enclosure import log_above, rounded_up
from tacit.errors import InvalidParameter
from tacit.mechanisms.accuracy.geometric import share
from tacit.mechanisms.accuracy.moments import GaussianMoments
from tacit.mechanisms.additive import noisy
from tacit.mechanisms.calibration.gaussian_cost import ANY_DIMENSION, epsilon_of, sigma_for
from tacit.mechanisms.calibration.gaussian_discrete import reach_of, variance_of
from tacit.mechanisms.calibration.gaussian_job import rho_of_job
from tacit.mechanisms.limits import at_least, movement, narrow, spendable
from tacit.mechanisms.protocol import L2, NoiseLaw
from tacit.noise import (
    MAX_SIGMA,
    SYSTEM,
    IntArray,
    Source,
    WideArray,
    discrete_gaussian,
    whole_numbers,
    wide_discrete_gaussian,
)
from tacit.noise.scales import fitting_scale


@dataclass(frozen=True, slots=True)
class Gaussian:
    """Add discrete Gaussian noise to a number or to each of several.

    Values are counted in steps of a public grid; what leaves is in the same steps (`on_grid` shows it as numbers).
    `delta` is the delta at which the price is stated, `dimension` the most values one release may hold (None: any).

    Guarantee:    rho-zCDP with rho = sensitivity² / (2 sigma²), and (ε, delta)-DP with the least ε that one of three
                  proofs gives (`gaussian_calibration`): concentrated, exact for a single value, or continuous and
                  rounded, which is Balle & Wang's analytic calibration but for a variance of one or two steps².
    Sensitivity:  L2 over all the values of one release, in steps; round a square root up (`sqrt_above`).
    Error:        P(|noise| > t), summed, or bounded by the normal tail beyond t/sigma; variance at most sigma².
    Exactness:    rational sigma, exact law; prices rounded up in the ninth digit. Sums of 64-bit numbers are held at
                  the ends of 64 bits; those of Python's own whole numbers (an array of objects) have no end.
    Reference:    Canonne, Kamath & Steinke, NeurIPS 2020; Balle & Wang, ICML 2018; Peikert, CRYPTO 2010 (rounding).
    """

    sigma: Fraction
    delta: Fraction
    dimension: int | None = None

    def __init__(self, sigma: Number, delta: Number, *, dimension: int | None = None) -> None:
        object.__setattr__(self, "sigma", fitting_scale(sigma, "sigma"))
        object.__setattr__(self, "delta", probability(delta, "delta"))
        object.__setattr__(self, "dimension", dimension)
        _most_values(dimension)

    @classmethod
    def costing(cls, loss: Loss, sensitivity: Number, *, dimension: int | None = None) -> Gaussian:
        """The least noise that costs no more than `loss`. Naming the dimension, above all 1, saves some."""
        delta = probability(loss.delta, "delta")
        spent, moved = spendable(loss), movement(sensitivity)
        return cls(sigma_for(spent, delta, moved, dimension=_most_values(dimension)), delta, dimension=dimension)

    @classmethod
    def concentrated(cls, rho: Number, sensitivity: Number, *, delta: Number, dimension: int | None = None) -> Gaussian:
        """The least noise that is rho-zCDP: sigma = sensitivity / √(2 rho), rounded up."""
        moved = movement(sensitivity)
        sigma = sqrt_above(moved * moved / (2 * positive(rho, "rho")))
        return cls(rounded_up(sigma), delta, dimension=dimension)

    @classmethod
    def jointly(cls, loss: Loss, parts: Sequence[tuple[Number, Fraction]]) -> tuple[Gaussian, ...]:
        """The least noise of several releases that cost no more than `loss` together (`gaussian_job`).

        Each part is a sensitivity and the share of rho that its release has.
        """
        if len(parts) == 1:
            return (cls.costing(loss, parts[0][0]),)
        rho = rho_of_job(loss, parts)
        return tuple(cls(sqrt_above(movement(moved) ** 2 / (2 * rho * share)), loss.delta) for moved, share in parts)

    @classmethod
    def classic(cls, loss: Loss, sensitivity: Number, *, dimension: int | None = None) -> Gaussian:
        """The textbook's noise, sigma = √(2 ln(1.25/delta)) · sensitivity / epsilon: proved for epsilon < 1 only.

        That proof is of the continuous law; where ours needs more, it gets it.
        """
        if spendable(loss) >= 1:
            raise InvalidParameter(
                "the classic calibration is not proved for epsilon ≥ 1: its true delta may exceed the one claimed",
                hint="use costing(), which needs less noise as well",
            )
        sigma = classic_sigma(loss, sensitivity)
        needed = cls.costing(loss, sensitivity, dimension=dimension).sigma
        return cls(max(sigma, needed), loss.delta, dimension=dimension)

    def rho(self, sensitivity: Number) -> Fraction:
        """What one release costs in concentrated privacy."""
        moved = movement(sensitivity)
        return moved * moved / (2 * self.sigma * self.sigma)

    def loss(self, sensitivity: Number) -> Loss:
        """What one release costs at this mechanism's delta."""
        moved = movement(sensitivity)
        dimension = _most_values(self.dimension)
        return Loss(epsilon_of(self.sigma, moved, delta=self.delta, dimension=dimension), self.delta)

    def event(self, sensitivity: Number) -> GaussianEvent:
        """What an accountant needs to know of one release."""
        return GaussianEvent(self.rho(sensitivity))

    def fine_event(self, sensitivity: Number) -> FineGaussianEvent:
        """The same, and how fine the grid is: for an accountant of continuous noise."""
        return FineGaussianEvent(self.rho(sensitivity), self.sigma * self.sigma)

    def error(self, confidence: Number, *, count: int = 1) -> int:
        """A t that, with this confidence, none of `count` released values strays beyond, in steps."""
        return reach_of(self.sigma, share(confidence, count=count))

    @property
    def law(self) -> NoiseLaw:
        """Which noise it is."""
        moments = GaussianMoments(self.sigma)
        return NoiseLaw("Gaussian", "Gaussian of sigma", self.sigma, L2, delta=self.delta, moments=moments)

    @property
    def variance(self) -> float:
        """The variance of the noise on each value."""
        return variance_of(self.sigma)

    @overload
    def release(self, values: WideArray, source: Source = SYSTEM) -> WideArray: ...
    @overload
    def release(self, values: int | Sequence[int] | IntArray, source: Source = SYSTEM) -> IntArray: ...
    def release(
        self, values: int | Sequence[int] | IntArray | WideArray, source: Source = SYSTEM
    ) -> IntArray | WideArray:
        """The values with independent noise added to each."""
        self._within_dimension(np.size(values))
        return noisy(
            values,
            lambda size: discrete_gaussian(narrow(self.sigma, "sigma", most=MAX_SIGMA), size=size, source=source),
            draw_wide=lambda size: wide_discrete_gaussian(self.sigma, size, source=source),
        )

    def simulate(self, values: int | Sequence[int] | IntArray, times: int, *, source: Source = SYSTEM) -> IntArray:
        """Independent repetitions, for audits and simulations: each of them costs the loss again."""
        exact = whole_numbers(values)
        self._within_dimension(exact.size)
        repeated = np.broadcast_to(exact, (times, *exact.shape))
        return Gaussian(self.sigma, self.delta).release(repeated, source)

    def _within_dimension(self, count: int) -> None:
        if count > _most_values(self.dimension):
            raise InvalidParameter(
                f"too many values for one release: {count}, and its price holds for {self.dimension}",
                hint="name the dimension when calibrating",
            )


def _most_values(dimension: int | None) -> int:
    """How many values one release may hold: 2^40 where no one said, as a price must hold for something."""
    return ANY_DIMENSION if dimension is None else at_least(dimension, 1, what="the dimension")


def classic_sigma(loss: Loss, sensitivity: Number) -> Fraction:
    """√(2 ln(1.25/delta)) · sensitivity / epsilon, rounded up: the formula alone, whether or not it is proved."""
    delta = probability(loss.delta, "delta")
    ratio = movement(sensitivity) / spendable(loss)
    return rounded_up(sqrt_above(2 * Fraction(log_above(Fraction(5, 4) / delta)) * ratio * ratio))
