"""A filter on Rényi divergences at several orders, for Gaussian noise on samples and mixtures of all kinds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

from tacit.accounting.filters.sums import refusal, shown
from tacit.accounting.renyi import FILTER_ORDERS, RenyiCurve, curve_of, flat_curve
from tacit.core import Budget, Event
from tacit.core.concentrated import conversion_cost
from tacit.core.rational import decimal_text
from tacit.errors import BudgetExceeded, InvalidParameter


@dataclass(frozen=True, slots=True)
class RenyiFilter:
    """Keeps (epsilon, delta) while at least one order still has room.

    At one fixed order the sum of divergences may be capped even when events are chosen adaptively (Feldman & Zrnic,
    NeurIPS 2021). With several orders the one that is left at the end depends on what happened, so each gets an equal
    share of delta: sort the transcripts by an order that survived; those of order a are transcripts of the process
    stopped at a's own cap, which is (epsilon, delta / n)-DP, and the n shares add up to delta. So orders that a budget
    will hardly use are left out.
    """

    budget: Budget
    orders: tuple[Fraction, ...]
    spent: RenyiCurve

    def __init__(
        self, budget: Budget, orders: tuple[Fraction, ...] = FILTER_ORDERS, *, spent: RenyiCurve | None = None
    ) -> None:
        object.__setattr__(self, "budget", budget)
        object.__setattr__(self, "orders", orders)
        object.__setattr__(self, "spent", spent or flat_curve(orders))
        if budget.delta == 0:
            raise InvalidParameter(
                "a Rényi filter needs a delta: divergences promise no pure privacy",
                hint="give the budget a delta such as 1e-9, or use a PureFilter",
            )
        if not orders or len(set(orders)) < len(orders) or self.spent.orders != orders:
            raise InvalidParameter("a Rényi filter needs orders, each of them once, and what was spent at each")

    @property
    def caps(self) -> tuple[Fraction, ...]:
        """The most divergence each order allows; at a negative one the order has no use for this budget."""
        return _caps(self.budget, self.orders)

    @property
    def left(self) -> RenyiCurve:
        """What may still be spent at each order: zero where an order is used up."""
        room = (max(Fraction(0), cap - spent) for cap, spent in zip(self.caps, self.spent.values, strict=True))
        return RenyiCurve(self.orders, tuple(room))

    def admits(self, event: Event) -> bool:
        """Whether `charge` would accept the event."""
        return self._fits(self.spent + curve_of(event, self.orders))

    def charge(self, event: Event) -> RenyiFilter:
        """The filter after the event; `BudgetExceeded` if no order has room for it."""
        cost = curve_of(event, self.orders)
        total = self.spent + cost
        if not self._fits(total):
            raise self._refusal(cost, total)
        return replace(self, spent=total)

    def _fits(self, total: RenyiCurve) -> bool:
        return any(value <= cap for value, cap in zip(total.values, self.caps, strict=True))

    def _refusal(self, cost: RenyiCurve, total: RenyiCurve) -> BudgetExceeded:
        over = [value - cap for value, cap in zip(total.values, self.caps, strict=True)]
        nearest = over.index(min(over))
        order = decimal_text(self.orders[nearest])
        return refusal(
            f"a Rényi divergence of {shown(cost.values[nearest])} at order {order}", shown(self.left.values[nearest])
        )


@lru_cache(maxsize=64)
def _caps(budget: Budget, orders: tuple[Fraction, ...]) -> tuple[Fraction, ...]:
    share = budget.delta / len(orders)
    return tuple((-conversion_cost(order, share) + budget.epsilon).below() for order in orders)
