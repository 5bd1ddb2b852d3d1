"""Noisy marginals: exact counts in, discrete Gaussian noise on whole numbers, and never more of rho than was paid.

Sensitivity. Every marginal counts the same rows, each with the weight that its unit's rows have everywhere; the weights
of one unit add up to at most `sensitivity`. So a unit moves a marginal, and whatever cells of it are put together, by
no more than that in L1, and so in L2. Each marginal is a release of its own, and rho adds up over them, also where a
later one is chosen by looking at earlier ones (Bun & Steinke, TCC 2016, Lemma 1.7).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from tacit.accounting import zcdp_of
from tacit.core import Adjacency, Event, Loss
from tacit.errors import EngineError
from tacit.mechanisms import Exponential, Gaussian
from tacit.noise import SYSTEM, IntArray, Source
from tacit.release.synthesise.fitting.arrays import FloatArray
from tacit.release.synthesise.fitting.compression import Compression

Axes = tuple[int, ...]
_GRAIN = 1 << 40  # shares of rho are whole multiples of 1/2^40 of it, rounded down


@dataclass(frozen=True, slots=True, eq=False)
class NoisyMarginal:
    """The counts of a marginal with noise, in rows, and the standard deviation of that noise in each cell."""

    axes: Axes
    counts: FloatArray
    sigma: float


@dataclass(slots=True)
class Meter:
    """Gives out noisy marginals until rho is spent. `exact` counts one, in whole numbers of 1/`weight` rows."""

    exact: Callable[[Axes], IntArray]
    sensitivity: int  # L1, and so L2, of any one marginal, however its cells are put together
    rho: Fraction
    weight: int = 1
    delta: Fraction = Fraction(1, 10**9)  # at which the noise would state a price of its own; it is charged in rho
    source: Source = SYSTEM
    l2: Fraction | None = None  # of any one marginal, where it is known to be less than L1
    spent: list[Event] = field(default_factory=list)
    _bins: Sequence[Compression] | None = field(default=None, repr=False)
    _kept: dict[Axes, IntArray] = field(default_factory=dict, repr=False)

    def measure(self, axes: Axes, share: Fraction, bins: Sequence[Compression] | None = None) -> NoisyMarginal:
        """One marginal at this share of all rho, over the cells of its columns or over bins of them."""
        noise = self._noise(share)
        self._charge(noise.event(self.sensitivity if self.l2 is None else self.l2))
        counts = self.exact(axes) if bins is None else self._merged(axes, bins)
        noisy = noise.release(counts.ravel(), self.source).reshape(counts.shape)
        return NoisyMarginal(axes, noisy / self.weight, float(noise.sigma) / self.weight)

    def sigma(self, share: Fraction) -> float:
        """The standard deviation of the noise at a share of rho, in rows."""
        return float(self._noise(share).sigma) / self.weight

    def _noise(self, share: Fraction) -> Gaussian:
        moved = self.sensitivity if self.l2 is None else self.l2
        return Gaussian.concentrated(self.rho * share, moved, delta=self.delta)

    def choose(
        self,
        candidates: Sequence[Axes],
        guesses: Sequence[FloatArray],
        share: Fraction,
        bins: Sequence[Compression],
        *,
        less: Sequence[float] | None = None,
    ) -> int:
        """The index of a marginal that is far from its guess, by the exponential mechanism.

        The score is Σ |count − guess| over whole numbers, less something public: one unit moves it by no more than it
        moves the marginal in L1. Rho of a choice of bounded range ε is ε²/8.
        """
        epsilon = sqrt_below(8 * self.rho * share)
        mechanism = Exponential.costing(Loss(epsilon), self.sensitivity, adjacency=Adjacency.ADD_REMOVE)
        self._charge(mechanism.event(self.sensitivity))
        scores = []
        for index, (axes, guess) in enumerate(zip(candidates, guesses, strict=True)):
            wanted = np.rint(guess * self.weight).astype(np.int64)
            public = 0 if less is None else round(less[index] * self.weight)
            scores.append(int(np.abs(self._merged(axes, bins) - wanted).sum()) - public)
        return mechanism.release(np.array(scores, dtype=np.int64), self.source)

    def _merged(self, axes: Axes, bins: Sequence[Compression]) -> IntArray:
        """The exact counts over bins; of a pair that is looked at again and again, they are added up once."""
        if self._bins is not bins:
            self._bins, self._kept = bins, {}
        if axes not in self._kept:
            counts = self.exact(axes)
            for index, axis in enumerate(axes):
                counts = merged(counts, bins[axis].bins, axis=index)
            self._kept[axes] = counts
        return self._kept[axes]

    def _charge(self, event: Event) -> None:
        self.spent.append(event)
        if sum((zcdp_of(each).rho for each in self.spent), Fraction(0)) > self.rho:
            raise EngineError("a marginal was asked for beyond what was paid")


def averaged(one: NoisyMarginal, other: NoisyMarginal) -> NoisyMarginal:
    """Both measurements of one marginal, each by its precision."""
    first, second = one.sigma**-2, other.sigma**-2
    counts = (one.counts * first + other.counts * second) / (first + second)
    return NoisyMarginal(one.axes, counts, float((first + second) ** -0.5))


def merged(counts: IntArray, bins: IntArray, *, axis: int) -> IntArray:
    """The sums of a table's cells over the bins of one of its columns: whole numbers still."""
    shape = (*counts.shape[:axis], int(bins.max()) + 1, *counts.shape[axis + 1 :])
    out: IntArray = np.zeros(shape, dtype=counts.dtype)
    np.add.at(np.moveaxis(out, axis, 0), bins, np.moveaxis(counts, axis, 0))
    return out


def shares_of(weights: Sequence[float], whole: Fraction) -> list[Fraction]:
    """Parts of a whole in these proportions: exact, and together no more than it."""
    total = sum(weights)
    return [whole * Fraction(int(weight / total * _GRAIN * (1 - 1e-12)), _GRAIN) for weight in weights]


def sqrt_below(value: Fraction) -> Fraction:
    """A square root, rounded down."""
    return Fraction(math.isqrt(int(value * _GRAIN**4)), _GRAIN**2)
