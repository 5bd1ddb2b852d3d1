"""Counts that get Gaussian noise: how far a unit moves them, and the rho that all measurements of them share out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from tacit.accounting import rho_for
from tacit.core import Budget, Loss, sqrt_above
from tacit.mechanisms import Gaussian
from tacit.mechanisms.limits import narrow
from tacit.noise import MAX_SIGMA, IntArray, Source
from tacit.policy import Policy
from tacit.release.synthesise.counting import Axes, TablePlan
from tacit.release.synthesise.fitting.measuring import Meter


@dataclass(frozen=True, slots=True)
class NoisyCounts:
    """What is counted of a table and what that costs. `l2` is how far neighbours are apart in any one measurement.

    Under replacement, of two contributions one is taken away and one added, neither with negative cells: what was at
    most `sensitivity` in L1 is then at most √2 · `sensitivity` in L2.
    """

    counted: TablePlan
    loss: Loss
    rho: Fraction
    l2: Fraction

    def meter(self, exact: Callable[[Axes], IntArray], source: Source) -> Meter:
        """What gives noise to these exact counts, until rho is spent."""
        counted = self.counted
        return Meter(
            exact, counted.sensitivity, self.rho, weight=counted.weight, delta=self.loss.delta, source=source,
            l2=self.l2,
        )  # fmt: skip


def noisy_counts(counted: TablePlan, policy: Policy, loss: Loss, *, least: Fraction) -> NoisyCounts:
    """Counts at a price. Refused where `least`, the smallest share of rho, would mean more noise than can be drawn."""
    rho = rho_for(Budget(loss.epsilon, loss.delta))
    l2 = counted.sensitivity * sqrt_above(Fraction(policy.adjacency.steps))
    narrow(Gaussian.concentrated(rho * least, l2, delta=loss.delta).sigma, most=MAX_SIGMA)
    return NoisyCounts(counted, loss, rho, l2)
