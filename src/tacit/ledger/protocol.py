"""What every ledger can do, whichever database it stands on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from tacit.ledger.values import (
    Answer,
    Balance,
    BudgetLimits,
    Charge,
    Entry,
    KeptAnswer,
    KeptState,
    Replay,
    Reservation,
    Shelf,
    Verdict,
)


class Debits(Protocol):
    """Charge first, read later, never give back."""

    def reserve(self, charge: Charge, caps: BudgetLimits) -> Reservation | Replay:
        """Check every cap and record the charge in one transaction; durable when this returns.

        A request id seen before gives the stored answers (`Replay`), and charges nothing.

        Raises:
            BudgetExceeded: a cap does not cover it; nothing was charged.
            RequestConflict: the request id stands for another question, or for one that has no answer.
            LedgerError: the charge may or may not be on record, so nothing may be released.
        """
        ...

    def settle(self, reservation: Reservation, answers: Sequence[Answer]) -> str:
        """Record the answers durably, before any leaves; the hash of that entry goes into the receipt."""
        ...

    def fail(self, reservation: Reservation) -> str:
        """Record that no answer came of it. The charge stays."""
        ...

    def balance(self, dataset: str, caps: BudgetLimits, *, analyst: str) -> Balance:
        """What is spent and left: of the total, by the analyst, and by each group named in `caps`."""
        ...


class Answers(Protocol):
    """Answers kept for reuse."""

    def kept(self, shelf: Shelf, *, key: str | None = None, family: str | None = None) -> tuple[KeptAnswer, ...]:
        """The answers under a key or a family, those with the largest epsilon first."""
        ...

    def states(self, dataset: str) -> tuple[KeptState, ...]:
        """The states of the data that answers are kept of, the newest first."""
        ...

    def answer(self, kept: KeptAnswer) -> bytes:
        """The bytes of a kept answer, checked against the log."""
        ...


class Log(Protocol):
    """The history, and the proof that it is whole."""

    def entries(self, *, limit: int, dataset: str | None = None, analyst: str | None = None) -> tuple[Entry, ...]:
        """The newest entries, newest first."""
        ...

    def verify(self) -> Verdict:
        """Recompute everything that can be recomputed."""
        ...

    def identity(self) -> str:
        """The hash of the first entry: which ledger this is, wherever it lies."""
        ...

    def adopt(self, dataset: str, note: str) -> str:
        """Enter that this ledger takes over a source that another had the account of; the hash of that entry."""
        ...


class Ledger(Debits, Answers, Log, Protocol):
    """Durable debits, kept answers, and their log."""

    def close(self) -> None:
        """Let go of the files or the connection; the ledger can be opened again."""
        ...
