"""Estimates with their standard errors and confidence intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from tacit.core import Number, probability
from tacit.errors import InvalidParameter

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Estimate:
    """Estimated shares of the people (or, of a numeric protocol, their mean), with two kinds of standard error.

    `errors` are about the people who answered: what their coins add. `sampled_errors` are about a population that they
    are a random sample of: they hold the luck of the draw as well. Unbiased unless `biased` says otherwise.
    """

    values: Floats
    errors: Floats
    sampled_errors: Floats
    reports: int
    dropped: int = 0
    biased: bool = False

    def interval(
        self, confidence: Number, *, population: bool = False, together: bool = False
    ) -> tuple[Floats, Floats]:
        """The ends of a normal confidence interval for each value; with `together` all of them hold at once."""
        if self.biased:
            raise InvalidParameter(
                "there is no interval for a biased estimate: its error is not centred on the truth",
                hint="take the interval of the unbiased estimate it was made from",
            )
        wanted = float(probability(confidence, "the confidence"))
        failing = (1 - wanted) / (self.values.size if together else 1)  # the union bound
        reach = NormalDist().inv_cdf(1 - failing / 2) * (self.sampled_errors if population else self.errors)
        return self.values - reach, self.values + reach

    def counts(self) -> tuple[Floats, Floats]:
        """Shares as numbers of people, and their standard errors."""
        return self.values * self.reports, self.errors * self.reports

    def on_simplex(self) -> Estimate:
        """The nearest shares that are not negative and add up to one. Biased: small shares are pulled up, large down.

        Post-processing, so free; often closer to the truth as a whole, but its single values have no honest interval.
        """
        return replace(self, values=nearest_on_simplex(self.values), biased=True)


def nearest_on_simplex(values: Floats) -> Floats:
    """The point of the probability simplex nearest to `values` (Duchi et al., ICML 2008)."""
    down = np.sort(values)[::-1]
    over = np.cumsum(down) - 1
    kept = int(np.flatnonzero(down - over / np.arange(1, down.size + 1) > 0)[-1])
    nearest: Floats = np.maximum(values - over[kept] / (kept + 1), 0.0)
    return nearest


def nothing_to_estimate() -> InvalidParameter:
    """The error to raise where no report could be counted."""
    return InvalidParameter("there is nothing to estimate: no report could be counted", hint="collect reports first")


def root(value: float) -> float:
    """A standard error from a variance that rounding may have pushed below zero."""
    return math.sqrt(max(0.0, value))
