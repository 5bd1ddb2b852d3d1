"""What a question costs, and which caps it must fit: the policy's words turned into the ledger's."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from tacit.accounting import group_rho, pure_rho, rho_for, zcdp_to_dp
from tacit.core import Adjacency, Budget, Loss, decimal_text
from tacit.errors import BudgetExceeded, QueryRefused
from tacit.ledger import Cap, Caps, Zcdp
from tacit.policy import Accounting, AnalystPolicy, Policy
from tacit.sql import AtEpsilon, BoundQuery, Plan


@dataclass(frozen=True, slots=True)
class Session:
    """Who asks, and what a plain SELECT costs them."""

    analyst: str
    epsilon: Fraction | None = None
    delta: Fraction | None = None


def price(bound: BoundQuery, policy: Policy, session: Session) -> Loss:
    """The loss a question asks for: what was typed, else what the session says, else what the policy says."""
    budget = policy.budget
    asked = bound.query.price
    epsilon = asked.epsilon if isinstance(asked, AtEpsilon) else (session.epsilon or budget.default_epsilon)
    if epsilon is None:
        raise QueryRefused(
            "the query has no price: neither it nor the session nor the policy names an epsilon",
            hint="write DP-SELECT 0.5 …, or set default_epsilon in [budget]",
        )
    check_limit(epsilon, policy)
    delta = bound.query.delta
    if delta is None and any(not key.is_public for key in bound.keys):
        delta = session.delta or budget.default_delta
    return Loss(epsilon, delta or 0)


def check_limit(epsilon: Fraction, policy: Policy) -> None:
    """Refuse what no single question may cost."""
    most = policy.budget.max_epsilon
    if most is not None and epsilon > most:
        raise BudgetExceeded(
            f"one question may cost at most ε = {decimal_text(most)}: it asks for {decimal_text(epsilon)}",
            hint="ask with a smaller epsilon",
        )


def caps(policy: Policy, analyst: AnalystPolicy) -> Caps:
    """Every cap that binds this analyst."""
    groups = tuple((name, _cap(policy, policy.limit_of(policy.group(name)))) for name in analyst.groups)
    return Caps(
        total=_cap(policy, policy.budget.limit),
        analyst=None if analyst.epsilon is None else _cap(policy, policy.limit_of(analyst)),
        window=None if analyst.window is None else int(analyst.window.total_seconds()),
        groups=groups,
    )


def _cap(policy: Policy, limit: Budget) -> Cap:
    """Under zCDP half of delta converts rho, the other half pays for private keys."""
    if policy.budget.accounting is not Accounting.ZCDP:
        return limit
    half = limit.delta / 2
    return Zcdp(rho_for(Budget(limit.epsilon, half)), half)


def as_budget(limit: Cap, policy: Policy) -> Budget:
    """What is left, in epsilon and delta: of a concentrated budget, what one question that took it all would cost."""
    if isinstance(limit, Budget):
        return limit
    if limit.rho == 0:
        return Budget(0, limit.delta)
    return Budget(zcdp_to_dp(limit.rho, policy.budget.delta / 2).epsilon, limit.delta)


def concentrated(plan: Plan, adjacency: Adjacency) -> Zcdp:
    """The price of a plan in concentrated privacy: rho, and the delta of its private keys.

    An (ε, δ)-DP answer is δ-approximately ε²/2-zCDP. Gaussian noise has its own, smaller rho, but what private keys
    add is only known for one step, so a replacement (two steps) of those falls back on the first.
    """
    selection = plan.selection.delta if plan.selection is not None else Fraction(0)
    two_steps = adjacency is Adjacency.REPLACE
    if plan.rho is None or (two_steps and selection):
        return Zcdp(pure_rho(plan.loss.epsilon), plan.loss.delta)
    return Zcdp(group_rho(plan.rho, adjacency.steps), selection)
