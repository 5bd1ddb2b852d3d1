"""Which caps a question must fit: the policy's words turned into the ledger's."""

from __future__ import annotations

import math
from fractions import Fraction

from tacit.accounting import best_limits, epsilon_within, rho_for, zcdp_to_dp
from tacit.core import Budget, Limit
from tacit.ledger import AccountLine, Balance, BudgetLimits, Cap, Grains, Zcdp
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
    """Under zCDP half of delta converts the sum; the other half pays for deltas of the questions."""
    half, grain = limit.delta / 2, policy.budget.grain
    if policy.budget.accounting is Accounting.PLD and grain is not None:
        return best_limits(limit, grain)
    if policy.budget.accounting is not Accounting.ZCDP:
        return limit
    return Zcdp(rho_for(Budget(limit.epsilon, half)), half)


def least_left(balance: Balance, policy: Policy) -> Budget | None:
    """What can still be spent: the least of every cap that binds; None where there is none."""
    lines = (balance.total, balance.analyst, *(line for _, line in balance.groups))
    budgets = [left for line in lines if (left := most_left(line, policy)) is not None]
    if not budgets:
        return None
    return Budget(min(b.epsilon for b in budgets), min(b.delta for b in budgets))


def most_left(line: AccountLine, policy: Policy) -> Budget | None:
    """What one more question may cost, in epsilon and delta; None where nothing caps the account."""
    return max((as_budget(left, policy) for left in line.lefts), key=lambda left: left.epsilon, default=None)


def as_budget(limit: Limit, policy: Policy) -> Budget:
    """What is left, in epsilon and delta: of a concentrated budget, what one question that took it all would cost."""
    if isinstance(limit, Budget):
        return limit
    if isinstance(limit, Grains):
        return Budget(epsilon_within(limit), limit.delta)
    if limit.rho == 0:
        return Budget(0, limit.delta)
    if policy.budget.accounting is Accounting.PLD:  # where questions are priced by their epsilon: ρ = ε²/2
        return Budget(Fraction(math.isqrt(math.floor(2 * limit.rho * 10**6)), 10**3), limit.delta)
    return Budget(zcdp_to_dp(limit.rho, policy.budget.delta / 2).epsilon, limit.delta)
