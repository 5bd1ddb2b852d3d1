"""Numbers on a device: clamped into public bounds and counted in steps of a public grid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tacit.collect.estimates import Estimate, Floats, nothing_to_estimate, root
from tacit.core import Bounds, positive, rational
from tacit.errors import InvalidParameter
from tacit.mechanisms.limits import at_least
from tacit.noise import IntArray

Numbers = float | Sequence[float] | NDArray[np.float64] | IntArray
MOST_STEPS = 1 << 20


@dataclass(frozen=True, slots=True)
class Scale:
    """`steps` equal steps from `lower` upwards."""

    lower: Fraction
    step: Fraction
    steps: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "lower", rational(self.lower, "the lower bound"))
        object.__setattr__(self, "step", positive(self.step, "the step"))
        if at_least(self.steps, 1, what="the number of steps") > MOST_STEPS:
            raise InvalidParameter(
                f"the grid is too fine: {self.steps} steps, of at most {MOST_STEPS}", hint="choose a larger step"
            )

    @classmethod
    def of(cls, bounds: Bounds) -> Scale:
        """The grid of public bounds."""
        return cls(bounds.lower, bounds.step, bounds.cells - 1)

    def places(self, numbers: Numbers) -> IntArray:
        """The nearest grid place of each number. What is no number, or infinite, goes to the nearer end, NaN to 0."""
        values = np.asarray(numbers, dtype=np.float64).ravel()
        steps = (np.where(np.isnan(values), float(self.lower), values) - float(self.lower)) / float(self.step)
        return np.rint(np.clip(steps, 0, self.steps)).astype(np.int64)

    def shown(self, place: float) -> float:
        """The number at a place, which may lie between two or beyond the ends."""
        return float(self.lower) + float(self.step) * place


def mean_of(scale: Scale, guesses: Floats, counts: IntArray, *, dropped: int) -> Estimate:
    """The mean of unbiased guesses, `counts` of each, with the standard error that their own spread shows.

    The spread of the people is part of it, so it is about a population; for the people themselves it is on the safe
    side.
    """
    n = int(counts.sum())
    if n < 1:
        raise nothing_to_estimate()
    mean = float(counts @ guesses) / n
    spread = float(counts @ (guesses - mean) ** 2) / max(1, n - 1)
    error = np.array([float(scale.step) * root(spread / n)])
    return Estimate(np.array([scale.shown(mean)]), error, error, n, dropped=dropped)
