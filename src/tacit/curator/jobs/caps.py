"""Which caps a question must fit: the policy's words turned into the ledger's."""

from __future__ import annotations

from tacit.accounting import epsilon_within, grains_within, rho_for, zcdp_to_dp
from tacit.core import Budget
from tacit.ledger import BudgetLimits, Cap, Grains, Zcdp
from tacit.policy import Accounting, AnalystPolicy, Policy


def caps(policy: Policy, analyst: AnalystPolicy) -> BudgetLimits:
    """Every cap that binds this analyst."""
    groups = tuple((name, _cap(policy, policy.limit_of(policy.group(name)))) for name in analyst.groups)
    return BudgetLimits(
        total=_cap(policy, policy.budget.limit),
        analyst=None if analyst.epsilon is None else _cap(policy, policy.limit_of(analyst)),
        window=None if analyst.window is None else int(analyst.window.total_seconds()),
        groups=groups,
    )


def _cap(policy: Policy, limit: Budget) -> Cap:
    """Under zCDP, and in grains, half of delta converts the sum; the other half pays for deltas of the questions."""
    half, grain = limit.delta / 2, policy.budget.grain
    if policy.budget.accounting is Accounting.PLD and grain is not None:
        return Grains(grain, grains_within(Budget(limit.epsilon, half), grain), half)
    if policy.budget.accounting is not Accounting.ZCDP:
        return limit
    return Zcdp(rho_for(Budget(limit.epsilon, half)), half)


def as_budget(limit: Cap, policy: Policy) -> Budget:
    """What is left, in epsilon and delta: of a concentrated budget, what one question that took it all would cost."""
    if isinstance(limit, Budget):
        return limit
    if isinstance(limit, Grains):
        return Budget(epsilon_within(limit), limit.delta)
    if limit.rho == 0:
        return Budget(0, limit.delta)
    return Budget(zcdp_to_dp(limit.rho, policy.budget.delta / 2).epsilon, limit.delta)
