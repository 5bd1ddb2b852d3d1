"""The counter where charges are handed over: threads share one ledger, and commits, whatever database it stands on."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Self, TypeVar

from tacit.errors import LedgerError, TacitError
from tacit.ledger import fork
from tacit.ledger.entries import accounts, answers, book
from tacit.ledger.entries.links import ADVICE
from tacit.ledger.entries.rows import Connection, Store
from tacit.ledger.entries.totals import Totals
from tacit.ledger.group_commit import GroupCommit, Take, Ticket, unexpected
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
    dataset_key,
)

T = TypeVar("T")


class Counter(ABC):
    """All of the protocol but `verify`. A database lends it a desk, a clock and the words for its failures."""

    def __init__(self, *, create: bool) -> None:
        self._desk: Store | None = None
        self._totals = Totals()
        self._shut: str | None = None  # why nothing is answered any more
        self._commits_of = (os.getpid(), GroupCommit(self._serve))
        try:
            self._commits.alone(lambda: self._open(create=create))
        except BaseException:
            self._commits.leave()  # nobody closes what was never open
            raise
        fork.watch(self)

    def _open(self, *, create: bool) -> None:
        with self._translated():
            self._desk = self._opened(create=create)

    @abstractmethod
    def _opened(self, *, create: bool) -> Store:
        """Sit down at the ledger, or make one where there is none."""

    @abstractmethod
    def _translated(self) -> AbstractContextManager[None]:
        """No word of the database leaves: only that, and in our words why, the ledger cannot be used."""

    @abstractmethod
    def _now(self, at: Connection) -> int:
        """The time, in milliseconds, as this ledger counts it."""

    def reserve(self, charge: Charge, caps: BudgetLimits) -> Reservation | Replay:
        """As the protocol says: all caps and the entry in one transaction, on the disk when this returns."""
        return self._commits.submit(
            lambda at: book.reserve(at, charge, caps=caps, now=self._now(at), totals=self._totals)
        )

    def settle(self, reservation: Reservation, answers: Sequence[Answer]) -> str:
        """Record the answers; the hash of that entry."""
        return self._commits.submit(
            lambda at: book.settle(at, reservation, answers=answers, now=self._now(at), totals=self._totals)
        )

    def fail(self, reservation: Reservation) -> str:
        """Record that there is no answer; the charge stays."""
        return self._commits.submit(lambda at: book.fail(at, reservation, now=self._now(at), totals=self._totals))

    def balance(self, dataset: str, caps: BudgetLimits, *, analyst: str) -> Balance:
        """What is spent and left."""
        name = dataset_key(dataset)

        def read(at: Connection) -> Balance:
            view = accounts.View.of(at, self._totals, now=self._now(at))
            return accounts.balance(view, name, caps=caps, analyst=analyst)

        return self._read(read)

    def kept(self, shelf: Shelf, *, key: str | None = None, family: str | None = None) -> tuple[KeptAnswer, ...]:
        """Kept answers by key or family, the largest epsilon first."""
        return self._read(lambda at: answers.find(at, shelf, key=key, family=family))

    def states(self, dataset: str) -> tuple[KeptState, ...]:
        """The states of the data that answers are kept of, the newest first."""
        return self._read(lambda at: answers.states(at, dataset))

    def answer(self, kept: KeptAnswer) -> bytes:
        """The bytes of a kept answer."""
        stored = self._read(lambda at: book.stored_answers(at, kept.seq))
        if stored is None or stored.settled["hash"] != kept.hash or not 0 <= kept.member < len(stored.bodies):
            raise LedgerError("the kept answer is not in this ledger")
        if (accounts.price(stored.charged)[0], stored.charged["plan_hash"]) != (kept.loss, kept.plan_hash):
            raise LedgerError("a kept answer cannot be trusted: what it cost was changed", hint=ADVICE)
        return stored.bodies[kept.member]

    def entries(self, *, limit: int, dataset: str | None = None, analyst: str | None = None) -> tuple[Entry, ...]:
        """The log, newest first."""
        name = dataset and dataset_key(dataset)
        return self._read(lambda at: book.newest(at, limit=limit, dataset=name, analyst=analyst))

    def identity(self) -> str:
        """The hash of the first entry: which ledger this is, wherever it lies."""
        return self._read(book.first)

    def adopt(self, dataset: str, note: str) -> str:
        """Enter that this ledger takes over a source that another had the account of; the hash of that entry."""
        name = dataset_key(dataset)
        return self._commits.submit(
            lambda at: book.append(at, "adopt", now=self._now(at), dataset=name, note=note).hash
        )

    def close(self) -> None:
        """Let go of the files or the connection."""
        self._commits.alone(self._close)
        self._commits.leave()

    def _close(self) -> None:
        with self._translated():
            self._shut = self._shut or "it is closed"
            self._put_down()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def before_fork(self) -> None:
        """Let go of the files until somebody needs them; see `tacit.ledger.fork`."""
        self._commits.aside(self._step_aside)

    @property
    def _commits(self) -> GroupCommit[Connection]:
        """The one of this process: after a fork, those who waited in the parent do not exist."""
        if self._commits_of[0] != os.getpid():
            self._commits_of = (os.getpid(), GroupCommit(self._serve))
        return self._commits_of[1]

    def _step_aside(self) -> None:
        with self._translated():
            self._put_down()

    def _serve(self, take: Take[Connection]) -> None:
        """Do what has gathered in one transaction; what is refused writes nothing, the rest is committed together."""
        batch: list[Ticket[Connection]] = []
        outcomes: list[tuple[object, TacitError | None]] = []
        try:
            with self._translated(), self._take_up().transaction() as connection:
                batch = list(take())
                outcomes = [_attempt(ticket, connection) for ticket in batch]
        except LedgerError as error:
            batch = list(take())
            outcomes = [(None, LedgerError(error.message, hint=error.hint)) for _ in batch]
        for ticket, (result, refusal) in zip(batch, outcomes, strict=True):
            ticket.result, ticket.error = result, refusal

    def _read(self, read: Callable[[Connection], T]) -> T:
        """What `read` finds in one state of the ledger."""

        def work() -> T:
            with self._translated(), self._take_up().snapshot() as connection:
                return read(connection)

        return self._commits.alone(work)

    def _take_up(self) -> Store:
        if self._shut is not None:
            raise LedgerError(f"the ledger is shut: {self._shut}", hint="open it again")
        if self._desk is None:
            self._desk = self._opened(create=False)
        return self._desk

    def _put_down(self) -> None:
        desk, self._desk = self._desk, None
        if desk is not None:
            desk.close()


def _attempt(ticket: Ticket[Connection], connection: Connection) -> tuple[object, TacitError | None]:
    """Do one piece of work of a batch. A refusal is its own affair, as long as it has written nothing."""
    if ticket.work is None or ticket.abandoned:
        return None, ticket.error
    before = connection.total_changes
    try:
        return ticket.work(connection), None
    except TacitError as refusal:
        if connection.total_changes != before:
            raise LedgerError("a refused charge had already been written: nothing of its batch is kept") from None
        return None, refusal
    except (TypeError, ValueError, LookupError) as error:  # what our own code stumbles over in a damaged file
        raise unexpected(error) from None
