"""What a question costs: what was typed, else what the session or the policy says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from tacit.accounting import zcdp_of
from tacit.core import Event, Loss, Zcdp, decimal_text
from tacit.core.running_sum import bounded
from tacit.curator.jobs.caps import caps
from tacit.errors import BudgetExceeded, QueryRefused
from tacit.policy import Policy
from tacit.sql import AtEpsilon, BoundQuery, DefaultPrice, Query

__all__ = ["Session", "caps", "check_limit", "concentrated", "price", "row_price"]


@dataclass(frozen=True, slots=True)
class Session:
    """Who asks, and what a plain SELECT costs them."""

    analyst: str
    epsilon: Fraction | None = None
    delta: Fraction | None = None


def price(bounds: Sequence[BoundQuery], policy: Policy, session: Session) -> Loss:
    """The loss a statement asks for: what was typed, else what the session says, else what the policy says."""
    budget = policy.budget
    asked = bounds[0].query.price
    epsilon = asked.epsilon if isinstance(asked, AtEpsilon) else (session.epsilon or budget.default_epsilon)
    if epsilon is None:
        raise QueryRefused(
            "the query has no price: neither it nor the session nor the policy names an epsilon",
            hint="write DP-SELECT 0.5 …, or set default_epsilon in [budget]",
        )
    check_limit(epsilon, policy)
    delta = bounds[0].query.delta
    if delta is None and any(needs_delta(bound) for bound in bounds):
        delta = session.delta or budget.default_delta
    return Loss(epsilon, delta or 0)


def needs_delta(bound: BoundQuery) -> bool:
    """Whether a question cannot be answered without one: its keys are private, or its rows have two owners."""
    return bound.relation.pairs is not None or any(not key.is_public for key in bound.keys)


def row_price(query: Query, policy: Policy, session: Session, *, what: str) -> Fraction:
    """The epsilon that a question for rows names, else what the session says, else what the policy says."""
    if isinstance(query.price, AtEpsilon):
        return query.price.epsilon
    epsilon = session.epsilon or policy.budget.default_epsilon if isinstance(query.price, DefaultPrice) else None
    if epsilon is None:
        raise QueryRefused(f"{what} have no price: none is named", hint="write DP-SELECT 1 * FROM …")
    return epsilon


def check_limit(epsilon: Fraction, policy: Policy) -> None:
    """Refuse what no single question may cost."""
    most = policy.budget.max_epsilon
    if most is not None and epsilon > most:
        raise BudgetExceeded(
            f"one question may cost at most ε = {decimal_text(most)}: it asks for {decimal_text(epsilon)}",
            hint="ask with a smaller epsilon",
        )


def concentrated(event: Event) -> Zcdp:
    """The price in concentrated privacy of what happens: what the accountant says, kept exactly or rounded up."""
    cost = zcdp_of(event)
    return Zcdp(bounded(cost.rho), bounded(cost.delta))
