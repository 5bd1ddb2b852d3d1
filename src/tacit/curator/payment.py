"""Payment: charged before anything is read, settled before anything leaves. The only place where that is done.

An error holds on to every step it passed through, and each step to its variables: exact counts, private keys. A program
that shows or stores tracebacks with their variables (debuggers, error trackers, notebooks) would show them. So what
leaves here is a new error, raised where nothing exact is in sight, that knows neither the old one nor its way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from tacit.curator.unexpected import bare_error
from tacit.ledger import Answer, Balance, BudgetLimits, Charge, Ledger, Replay

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Payment(Generic[T]):
    """What is charged, and what it pays for: how that is read, kept, and made of what was kept for the same request."""

    charge: Charge
    caps: BudgetLimits
    what: str  # in the words of an error: "the answer"
    read: Callable[[], T]
    kept: Callable[[T], Sequence[Answer]]
    restored: Callable[[tuple[bytes, ...]], T]


@dataclass(frozen=True, slots=True)
class Paid(Generic[T]):
    """What was paid for, and the hash of the entry that settled it. `replayed`: an earlier charge did.

    `balance` is what the analyst's accounts stood at with the charge, where the ledger worked that out.
    """

    value: T
    entry: str
    replayed: bool = False
    balance: Balance | None = None


def pay(ledger: Ledger, payment: Payment[T]) -> Paid[T]:
    """What the payment buys. Whatever breaks the reading off stays charged, and carries nothing of the data away.

    Raises:
        BudgetExceeded: a cap does not cover it; nothing was charged.
        RequestConflict: the request id stands for another question, or for one that has no answer.
        LedgerError: nobody knows what is on record, so nothing leaves.
    """
    reserved = ledger.reserve(payment.charge, payment.caps)
    if isinstance(reserved, Replay):
        return Paid(payment.restored(reserved.answers), reserved.hash, replayed=True)
    try:
        value = payment.read()
        answers = payment.kept(value)
    except BaseException as error:
        told = bare_error(error, payment.what)
    else:
        return Paid(value, ledger.settle(reserved, answers), balance=reserved.balance)
    ledger.fail(reserved)
    raise told
