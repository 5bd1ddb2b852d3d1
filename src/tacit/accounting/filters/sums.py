"""Filters: budgets that refuse the event which would exceed them, whoever chooses it and however.

A filter is a value: `charge` gives the next one. Each holds against an adversary who picks every event, and its price,
after seeing all earlier answers:
(epsilon, delta) by plain sums: Rogers, Roth, Ullman & Vadhan, NeurIPS 2016;
zCDP, approximate too: Whitehouse, Ramdas, Rogers & Wu, ICML 2023; Rényi: Feldman & Zrnic, NeurIPS 2021.
They also hold for interactive mechanisms that run at the same time: Haney et al., CCS 2023.
A refusal depends on public prices alone, so it may be seen.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from tacit.accounting.event_loss import loss_of
from tacit.accounting.zcdp import FREE, zcdp_of
from tacit.accounting.zcdp_conversion import rho_for, zcdp_to_dp
from tacit.core import NOTHING, Budget, Event, Loss, Number, Zcdp
from tacit.core.rational import decimal_text
from tacit.core.running_sum import added
from tacit.errors import BudgetExceeded, InvalidParameter

_HINT = "ask for less, or ask the curator for a larger budget; nothing was charged"


@dataclass(frozen=True, slots=True)
class PureFilter:
    """A limit on the sum of epsilons, exact: ten tenths fit into one, the eleventh does not."""

    budget: Budget
    spent: Loss = NOTHING

    def __post_init__(self) -> None:
        if self.budget.delta != 0 or not self.spent.is_pure:
            raise InvalidParameter(
                f"a pure filter has no delta: its budget is {self.budget}",
                hint="use an ApproximateFilter, a ZcdpFilter or a RenyiFilter",
            )

    @property
    def left(self) -> Budget:
        """What may still be spent."""
        return self.budget.minus(self.spent)

    def admits(self, event: Event) -> bool:
        """Whether `charge` would accept the event."""
        return self.budget.covers(summed(self.spent, loss_of(event)))

    def charge(self, event: Event) -> PureFilter:
        """The filter after the event; `BudgetExceeded` if it does not fit."""
        return replace(self, spent=_charged(self.budget, self.spent, loss_of(event)))


@dataclass(frozen=True, slots=True)
class ApproximateFilter:
    """Limits on the sum of epsilons and on the sum of deltas, both exact."""

    budget: Budget
    spent: Loss = NOTHING

    @property
    def left(self) -> Budget:
        """What may still be spent."""
        return self.budget.minus(self.spent)

    def admits(self, event: Event) -> bool:
        """Whether `charge` would accept the event."""
        return self.budget.covers(summed(self.spent, loss_of(event)))

    def charge(self, event: Event) -> ApproximateFilter:
        """The filter after the event; `BudgetExceeded` if it does not fit."""
        return replace(self, spent=_charged(self.budget, self.spent, loss_of(event)))


@dataclass(frozen=True, slots=True)
class ZcdpFilter:
    """A limit on the sum of rhos, and on the sum of the deltas of events that are only approximately zCDP."""

    budget: Zcdp
    spent: Zcdp = FREE

    def __post_init__(self) -> None:
        if self.budget.delta == 1:
            raise InvalidParameter("a delta of 1 promises nothing: it must be below 1")

    @classmethod
    def within(cls, limit: Budget) -> ZcdpFilter:
        """The filter that keeps (epsilon, delta): all of delta goes into the conversion, so events must have none."""
        return cls(Zcdp(rho_for(limit)))

    @property
    def left(self) -> Zcdp:
        """What may still be spent."""
        rho, delta = self.budget.rho - self.spent.rho, self.budget.delta - self.spent.delta
        return Zcdp(max(Fraction(0), rho), max(Fraction(0), delta))

    def promise(self, delta: Number) -> Loss:
        """What the whole budget is worth as (epsilon, delta): true from the first charge to the last."""
        return zcdp_to_dp(self.budget, delta)

    def admits(self, event: Event) -> bool:
        """Whether `charge` would accept the event."""
        return (self.spent + zcdp_of(event)).within(self.budget)

    def charge(self, event: Event) -> ZcdpFilter:
        """The filter after the event; `BudgetExceeded` if it does not fit."""
        cost = zcdp_of(event)
        total = self.spent + cost
        if not total.within(self.budget):
            left = self.left
            raise refusal(_priced("ρ", cost.rho, cost.delta), _priced("ρ", left.rho, left.delta))
        return replace(self, spent=total)


def summed(spent: Loss, cost: Loss) -> Loss:
    """The sum of two losses, exact and of bounded size."""
    return Loss(added(spent.epsilon, cost.epsilon), min(Fraction(1), added(spent.delta, cost.delta)))


def refusal(asked: str, left: str) -> BudgetExceeded:
    """The error of a filter that says no."""
    return BudgetExceeded(f"the budget does not cover this: it costs {asked}, and {left} is left", hint=_HINT)


def shown(number: Fraction) -> str:
    """The exact number where that is short, else a decimal close to it."""
    text = decimal_text(number)
    return text if len(text) <= 40 else f"about {float(number):.12g}"


def _charged(budget: Budget, spent: Loss, cost: Loss) -> Loss:
    total = summed(spent, cost)
    if budget.covers(total):
        return total
    left = budget.minus(spent)
    with_delta = bool(cost.delta or left.delta)
    raise refusal(
        _priced("ε", cost.epsilon, cost.delta, with_delta=with_delta),
        _priced("ε", left.epsilon, left.delta, with_delta=with_delta),
    )


def _priced(symbol: str, main: Fraction, delta: Fraction, *, with_delta: bool = False) -> str:
    text = f"{symbol} = {shown(main)}"
    return f"{text}, δ = {shown(delta)}" if delta or with_delta else text
