"""A filter that refuses only what several accountants refuse: plain sums, zCDP and grains, each where it is best.

Theorem. Let filter j, by itself, keep (epsilon, delta_j)-DP against whoever chooses every event in view of all answers.
Charge each event to all of them, and admit it while at least one stays within its limits. What is seen is
(epsilon, Σ delta_j)-DP.

Proof. Totals only grow, so a filter that is exceeded once stays so, and at the end some filter has never been: sort the
transcripts by one that has not. Those of filter j are transcripts of the process that stops where filter j does, whose
events are the same up to there, and refusals depend on public prices. With L the privacy loss, what they add to
E[(1 − e^(epsilon − L))⁺] is at most delta_j; for neighbours in either order. ∎

Plain sums and grains may share the delta D that they allow for events of their own. An event that is (epsilon_i,
delta_i)-DP can be made, by who sees it, of a pair C_i that confesses with probability delta_i and of a randomised
response of epsilon_i (Kairouz, Oh & Viswanath 2015). Let the adversary see those instead. Some pair confesses with
probability at most Σ delta_i ≤ D, whichever of the two filters is left. Where none does, the transcript is one of the
process without the pairs, likelier there, and of the same loss: under plain sums that is at most epsilon and adds
nothing, under grains it adds at most what so many grains have. So both together keep (epsilon, D + delta_N).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from tacit.accounting.filters.grains import GrainFilter
from tacit.accounting.filters.sums import ApproximateFilter, ZcdpFilter
from tacit.accounting.grains import grains_within
from tacit.accounting.zcdp_conversion import rho_for
from tacit.core import AnyOf, Budget, Event, Grains, Number, Zcdp, positive
from tacit.errors import InvalidParameter

Filter = GrainFilter | ZcdpFilter | ApproximateFilter

GRAINS_SHARE = Fraction(13, 20)  # of delta, for the composition of grains: 1.7 % more epsilon than with all of it
ZCDP_SHARE = Fraction(3, 20)  # for the conversion of rho
OWN_SHARE = Fraction(1, 10)  # for the events' own: once for grains and plain sums, once for zCDP


def best_limits(limit: Budget, grain: Number) -> AnyOf:
    """The limits, one of which is to be kept, that promise `limit` together: their shares of delta add up to it."""
    size = positive(grain, "the grain")
    if not limit.delta:
        raise InvalidParameter(
            "a budget in grains needs a delta: there is none", hint="give the limit a delta, such as 1e-9"
        )
    own = limit.delta * OWN_SHARE
    return AnyOf(
        (
            Grains(size, grains_within(Budget(limit.epsilon, limit.delta * GRAINS_SHARE), size), own),
            Zcdp(rho_for(Budget(limit.epsilon, limit.delta * ZCDP_SHARE)), own),
            Budget(limit.epsilon, own),
        )
    )


@dataclass(frozen=True, slots=True)
class AnyFilter:
    """The filters that are not exceeded yet; at first all of them."""

    filters: tuple[Filter, ...]

    @classmethod
    def within(cls, limit: Budget, grain: Number) -> AnyFilter:
        """The filter that keeps `limit`, by plain sums, by zCDP and by grains of this size."""
        return cls(tuple(_filter(each) for each in best_limits(limit, grain).limits))

    def admits(self, event: Event) -> bool:
        """Whether `charge` would accept the event."""
        return any(_admits(each, event) for each in self.filters)

    def charge(self, event: Event) -> AnyFilter:
        """The filter after the event; `BudgetExceeded` if it fits none."""
        left = tuple(each.charge(event) for each in self.filters if _admits(each, event))
        return AnyFilter(left or (self.filters[-1].charge(event),))  # which refuses, in its own words


def _filter(limit: Budget | Zcdp | Grains) -> Filter:
    if isinstance(limit, Grains):
        return GrainFilter(limit)
    return ZcdpFilter(limit) if isinstance(limit, Zcdp) else ApproximateFilter(limit)


def _admits(one: Filter, event: Event) -> bool:
    """Whether a filter admits an event; never, where the event has no price in its currency."""
    try:
        return one.admits(event)
    except InvalidParameter:
        return False
