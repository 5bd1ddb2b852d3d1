"""The ledger as the owner sees it: what it says of everyone, and its care. Closed to analysts; needs no engine."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TypeVar

from tacit.curator.jobs.caps import caps
from tacit.errors import InvalidParameter, LedgerError
from tacit.faces.budget_status import BudgetStatus, budget_status
from tacit.ledger import (
    AccountLine,
    Balance,
    Entry,
    KeptState,
    Ledger,
    Spent,
    Verdict,
    adopt,
    has_ledger,
    open_books,
    verify_ledger,
)
from tacit.ledger import accept as accept_books
from tacit.ledger.owner import back_up as copy_books
from tacit.policy import AnalystPolicy, Policy

_OWNER = "curator"
T = TypeVar("T")


def budget_of(policy: Policy, analyst: str | None) -> BudgetStatus:
    """What is spent and left: of one analyst, or of all. Makes no ledger where there is none yet."""
    chosen = [policy.analyst(analyst)] if analyst else list(policy.analysts)
    who = chosen or [AnalystPolicy(_OWNER, policy.budget.epsilon)]
    balances = _in_ledger(policy, lambda ledger: {one.name: _balance(policy, one, ledger) for one in who})
    status = budget_status(policy.dataset.name, balances)
    return status if chosen else BudgetStatus(status.dataset, status.total, (), ())


def _balance(policy: Policy, analyst: AnalystPolicy, ledger: Ledger | None) -> Balance:
    limits = caps(policy, analyst)
    if ledger is not None:
        return ledger.balance(policy.dataset.name, limits, analyst=analyst.name)
    groups = tuple((name, AccountLine(Spent(), cap)) for name, cap in limits.groups)
    return Balance(
        total=AccountLine(Spent(), limits.total), analyst=AccountLine(Spent(), limits.analyst), groups=groups
    )


def entries(policy: Policy, analyst: str | None, *, limit: int) -> tuple[Entry, ...]:
    """The newest entries of the dataset, of one analyst or of all."""
    if limit < 1:
        raise InvalidParameter(f"at least one entry is shown: got {limit}")
    name = None if analyst is None else policy.analyst(analyst).name
    dataset = policy.dataset.name
    return _in_ledger(
        policy, lambda ledger: () if ledger is None else ledger.entries(limit=limit, dataset=dataset, analyst=name)
    )


def kept_states(policy: Policy) -> tuple[KeptState, ...]:
    """The states of the data that answers are kept of, the newest first."""
    return _in_ledger(policy, lambda ledger: () if ledger is None else ledger.states(policy.dataset.name))


def verdict(policy: Policy) -> Verdict:
    """What an examination of the whole ledger finds."""
    if not _has_ledger(policy):
        raise LedgerError("there is no ledger yet: nothing was ever asked", hint="the first question makes one")
    return verify_ledger(policy.dataset.ledger_place, mark=policy.dataset.ledger_mark)


def back_up(policy: Policy, copy: Path) -> Verdict:
    """Copy the ledger while charges go on."""
    if policy.dataset.ledger_mark is not None:
        raise InvalidParameter("the ledger is in PostgreSQL: it is copied there", hint="pg_dump, and keep the mark")
    if not _has_ledger(policy):
        raise LedgerError("there is no ledger yet: nothing was ever asked", hint="the first question makes one")
    return copy_books(policy.dataset.ledger_path, copy)


def accept(policy: Policy, note: str) -> str:
    """Take a ledger that was rolled back for the truth, on record."""
    return accept_books(policy, note)


def take_over(policy: Policy, note: str) -> str:
    """Make the policy's ledger the one of its source, although another has the account, on record."""
    return adopt(policy, note)


def _has_ledger(policy: Policy) -> bool:
    return has_ledger(policy.dataset.ledger_place, mark=policy.dataset.ledger_mark)


def _in_ledger(policy: Policy, read: Callable[[Ledger | None], T]) -> T:
    if not _has_ledger(policy):
        return read(None)
    with closing(open_books(policy, create=False)) as ledger:
        return read(ledger)
