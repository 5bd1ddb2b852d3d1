"""What it costs to trust nobody: the same mean, with a curator and without."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tacit.collect.numbers.local_laplace import LocalLaplace
from tacit.core import Adjacency, Bounds, Loss
from tacit.mechanisms import Laplace
from tacit.mechanisms.limits import at_least


@dataclass(frozen=True, slots=True)
class TrustGap:
    """Standard deviations of the noise in a mean: everybody's own, or one curator's."""

    people: int
    local: float
    central: float

    @property
    def factor(self) -> float:
        """How much noisier the local model is: the root of the number of people."""
        return self.local / self.central

    def __str__(self) -> str:
        return (
            f"{self.people:,} people: sd {self.local:,.6g} if nobody is trusted, {self.central:,.6g} with a curator, "
            f"{self.factor:,.4g} times less"
        )


def trust_gap(bounds: Bounds, loss: Loss, *, people: int) -> TrustGap:
    """Laplace noise in the mean of numbers within bounds, for neighbours that replace one person's number."""
    n = at_least(people, 1, what="the number of people")
    step = float(bounds.step)
    own = Laplace(LocalLaplace.costing(loss, bounds=bounds).noise).variance
    curators = Laplace.costing(loss, bounds.row_sensitivity(Adjacency.REPLACE)).variance
    return TrustGap(n, step * math.sqrt(own / n), step * math.sqrt(curators) / n)
