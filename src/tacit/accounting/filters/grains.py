"""A filter that counts grains: numerical composition's reach, stopped as soundly as a plain sum."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tacit.accounting.event_loss import has_loss, loss_of
from tacit.accounting.filters.sums import refusal
from tacit.accounting.grains import grains_for, grains_within
from tacit.core import Budget, Event, Grains, Loss, Number, positive
from tacit.errors import InvalidParameter


@dataclass(frozen=True, slots=True)
class GrainFilter:
    """A limit on the sum of whole grains, and on the sum of the deltas of events; see `grains` for the theorem.

    An event's price depends on its own (epsilon, delta) alone. Gaussian noise has none by itself: charge it as an
    `ApproximateEvent` of the loss it was calibrated to.
    """

    budget: Grains
    spent: Grains

    def __init__(self, budget: Grains, spent: Grains | None = None) -> None:
        object.__setattr__(self, "budget", budget)
        object.__setattr__(self, "spent", Grains(budget.grain, 0) if spent is None else spent)
        if budget.delta == 1:
            raise InvalidParameter("a delta of 1 promises nothing: it must be below 1")

    @classmethod
    def within(cls, limit: Budget, grain: Number, *, own: Number = 0) -> GrainFilter:
        """The filter that keeps `limit`: `own` of its delta for the events' own, the rest for their composition."""
        size, kept = positive(grain, "the grain"), Loss(0, own).delta
        if kept >= limit.delta:
            raise InvalidParameter(
                "a budget in grains needs a delta beside that of the events: there is none",
                hint="give the limit a delta, such as 1e-9",
            )
        return cls(Grains(size, grains_within(Budget(limit.epsilon, limit.delta - kept), size), kept))

    @property
    def left(self) -> Grains:
        """What may still be spent."""
        return self.budget.minus(self.spent)

    def admits(self, event: Event) -> bool:
        """Whether `charge` would accept the event."""
        return (self.spent + self._price(event)).within(self.budget)

    def charge(self, event: Event) -> GrainFilter:
        """The filter after the event; `BudgetExceeded` if it does not fit."""
        cost = self._price(event)
        total = self.spent + cost
        if not total.within(self.budget):
            raise refusal(str(cost), str(self.left))
        return replace(self, spent=total)

    def _price(self, event: Event) -> Grains:
        """Part by part, or as a whole, whichever is less: a composition of dominated parts is dominated."""
        whole = grains_for(loss_of(event), self.budget.grain)
        parts = getattr(event, "parts", ())
        if not parts or not has_loss(event):
            return whole
        each = Grains(self.budget.grain, 0)
        for part, times in parts:
            one = self._price(part)
            each += Grains(one.grain, one.count * times, min(1, one.delta * times))
        return min(whole, each, key=lambda grains: grains.count)
