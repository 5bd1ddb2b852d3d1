"""Risk: what has been answered means for the person most exposed, what a question would, and what attacks found."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from starlette.responses import Response

from tacit.attack.odds import risk_in_words
from tacit.core import Budget, Loss
from tacit.errors import PolicyError, TacitError
from tacit.faces.attack.kept import KeptRisk, kept_risk
from tacit.faces.budget_status import Account
from tacit.faces.owner import ledger_admin
from tacit.faces.server.console.guard import Console, Visit


@dataclass(frozen=True, slots=True)
class SpentRisk:
    """An account, and what all its answers together mean for the person most exposed."""

    whose: str
    spent: str
    sentence: str


async def show(console: Console, visit: Visit) -> Response:
    """What was given away so far, and what attacks and audits found last."""
    return await _page(console, visit)


async def price(console: Console, visit: Visit) -> Response:
    """The page of risks, with what the answer to a question would mean. Free: it is not asked."""
    sql = visit.text("sql")
    try:
        analysts = console.hub.policy.analysts
        if not analysts:
            raise PolicyError("the policy names no analyst: nobody can ask", hint="add one under [analysts]")
        explained = await console.hub.explain(console.hub.session(analysts[0].name), sql)
    except TacitError as error:
        return await _page(console, visit, sql=sql, error=error)
    return await _page(console, visit, sql=sql, priced=explained.loss)


async def _page(
    console: Console, visit: Visit, *, sql: str = "", priced: Loss | None = None, error: TacitError | None = None
) -> Response:
    policy = console.hub.policy
    accounts = await asyncio.to_thread(lambda: ledger_admin.budget_of(policy, None).accounts)
    kept, trouble = KeptRisk(), ""
    try:
        path = console.hub.path
        kept = await asyncio.to_thread(kept_risk, policy.dataset.base if path is None else path.parent)
    except TacitError as unread:
        trouble = unread.message
    return console.page(
        "risk.html",
        visitor=visit.visitor,
        accounts=[spent for account in accounts if (spent := _spent(account)) is not None],
        kept=kept,
        trouble=trouble,
        sql=sql,
        sentence=None if priced is None else risk_in_words(priced),
        error=error,
        here="/risk",
    )


def _spent(account: Account) -> SpentRisk | None:
    """In words, where something was spent and it is an epsilon."""
    whose, spent, _, _ = account.row()
    total = account.spent
    if not isinstance(total, Budget) or not total.epsilon:
        return None
    return SpentRisk(whose, spent, risk_in_words(Loss(total.epsilon, total.delta)))
