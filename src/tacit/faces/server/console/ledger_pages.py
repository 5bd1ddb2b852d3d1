"""Budget and Log: what is spent and left, and every entry with its receipt, as far as the visitor may see them."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction

from starlette.responses import Response

from tacit.errors import Overloaded
from tacit.faces.budget_status import Account, BudgetStatus
from tacit.faces.entries import entry_row
from tacit.faces.owner import ledger_admin
from tacit.faces.server.console.burn_down import BurnDown, burn_down
from tacit.faces.server.console.figures import placed_bars
from tacit.faces.server.console.guard import Console, Visit
from tacit.ledger import Entry, Verdict
from tacit.ledger.amounts import amount, shown

DRAWN = 5_000  # entries that the pictures are made of
PAGE = 50
_DAYS = 14
_examining = threading.Lock()


@dataclass(frozen=True, slots=True)
class AccountBar:
    """One account, and what share of it is spent."""

    whose: str
    spent: str
    left: str
    cap: str
    share: float | None

    @classmethod
    def of(cls, account: Account) -> AccountBar:
        """The bar of an account, and how much of its cap is spent."""
        whose, spent, left, cap = account.row()
        share = None
        if account.cap is not None and amount(account.cap):
            share = float(amount(account.spent) / amount(account.cap))
        return cls(whose, spent, left, cap, share)


@dataclass(frozen=True, slots=True)
class LogLine:
    """A charge as the log shows it, with the hash of the entry that ended it."""

    entry: Entry
    number: str
    when: str
    act: str
    who: str
    price: str
    ended: str
    question: str
    settled: str


async def budget(console: Console, visit: Visit) -> Response:
    """What is spent and left: for an analyst their own accounts, for the curator everybody's."""
    status, entries = await asyncio.to_thread(_accounts, console, visit)
    drawn = None
    own = status.total if visit.visitor.is_curator else status.analysts[0]
    if not _renews(console, visit):
        drawn = burn_down(entries, own, now=time.time())
    return console.page(
        "budget.html",
        visitor=visit.visitor,
        accounts=[AccountBar.of(account) for account in status.accounts],
        left=status.left,
        burn_down=drawn if isinstance(drawn, BurnDown) else None,
        days=placed_bars("ε charged", _by_day(entries)),
        charges=sum(entry.act == "charge" and entry.kind != "kept" for entry in entries),
        here="/budget",
    )


async def log(console: Console, visit: Visit) -> Response:
    """The newest entries: an analyst's own, or for the curator all."""
    return await _log(console, visit, verdict=None)


async def verify(console: Console, visit: Visit) -> Response:
    """Examine the whole chain. An analyst is told whether it is whole; how much others asked is not theirs to know."""
    verdict = await asyncio.to_thread(_examined, console)
    return await _log(console, visit, verdict=verdict)


async def _log(console: Console, visit: Visit, *, verdict: Verdict | None) -> Response:
    said = visit.request.query_params.get("limit", "")
    limit = min(int(said), DRAWN) if said.isascii() and said.isdigit() and 0 < len(said) < 6 else PAGE
    entries = await asyncio.to_thread(_entries, console, visit, limit=4 * max(limit, 1))
    lines = log_lines(entries)
    return console.page(
        "log.html",
        visitor=visit.visitor,
        lines=lines[:limit],
        more=min(2 * limit, DRAWN) if len(lines) > limit else None,
        verdict=verdict,
        here="/log",
    )


def log_lines(entries: Sequence[Entry]) -> list[LogLine]:
    """The charges and the acts of the curator, each in one line; what ended a charge stands beside it."""
    ends = {entry.charge: entry.hash for entry in entries if entry.act == "settle"}
    lines = []
    for entry in entries:
        if entry.act in {"settle", "fail"}:
            continue
        number, when, act, who, price, ended, _, question = entry_row(entry)
        settled = ends.get(entry.seq, "") if entry.is_question else ""
        lines.append(LogLine(entry, number, when, act, who, price, ended, question, settled))
    return lines


def _examined(console: Console) -> Verdict:
    if not _examining.acquire(blocking=False):
        raise Overloaded("the ledger is being examined already", hint="wait a little")
    try:
        return ledger_admin.verdict(console.hub.policy)
    finally:
        _examining.release()


def _accounts(console: Console, visit: Visit) -> tuple[BudgetStatus, tuple[Entry, ...]]:
    entries = _entries(console, visit, limit=DRAWN)
    if visit.visitor.is_curator:
        return ledger_admin.budget_of(console.hub.policy, None), entries
    return console.hub.balance(visit.visitor.name), entries


def _entries(console: Console, visit: Visit, *, limit: int) -> tuple[Entry, ...]:
    if visit.visitor.is_curator:
        return ledger_admin.entries(console.hub.policy, None, limit=limit)
    return console.hub.log(visit.visitor.name, limit=limit)


def _renews(console: Console, visit: Visit) -> bool:
    """Whether what is spent comes back after a while: then nothing burns down."""
    return not visit.visitor.is_curator and console.hub.policy.analyst(visit.visitor.name).window is not None


def _by_day(entries: Sequence[Entry]) -> list[tuple[str, float, str]]:
    """What was charged on each of the last days on which something was, the newest last."""
    days: defaultdict[str, Fraction] = defaultdict(Fraction)
    for entry in entries:
        if entry.act == "charge" and entry.epsilon:
            days[datetime.fromtimestamp(entry.at, UTC).strftime("%Y-%m-%d")] += entry.epsilon
    newest = sorted(days.items())[-_DAYS:]
    return [(day, float(spent), f"ε = {shown(spent)}") for day, spent in newest]
