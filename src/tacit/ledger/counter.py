"""The counter where charges are handed over: threads share one ledger, and commits, whatever database it stands on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from types import TracebackType
from typing import Self

from tacit.errors import LedgerError, TacitError
from tacit.ledger import accounts, answers, book, fork
from tacit.ledger.rows import Connection, Desk
from tacit.ledger.turnstile import Take, Ticket, Turnstile
from tacit.ledger.values import (
    Balance,
    Caps,
    Charge,
    Entry,
    Keep,
    KeptAnswer,
    Replay,
    Reservation,
    Shelf,
    dataset_key,
)


class Counter(ABC):
    """All of the protocol but `verify`. A database lends it a desk, a clock and the words for its failures."""

    def __init__(self, *, create: bool) -> None:
        self._desk: Desk | None = None
        self._shut: str | None = None  # why nothing is answered any more
        self._turnstile = Turnstile(self._serve)
        with self._turnstile.alone(), self._translated():
            self._desk = self._opened(create=create)
        fork.watch(self)

    @abstractmethod
    def _opened(self, *, create: bool) -> Desk:
        """Sit down at the ledger, or make one where there is none."""

    @abstractmethod
    def _translated(self) -> AbstractContextManager[None]:
        """No word of the database leaves: only that, and in our words why, the ledger cannot be used."""

    @abstractmethod
    def _now(self, at: Connection) -> int:
        """The time, in milliseconds, as this ledger counts it."""

    def reserve(self, charge: Charge, caps: Caps) -> Reservation | Replay:
        """As the protocol says: all caps and the entry in one transaction, on the disk when this returns."""
        return self._turnstile.submit(lambda at: book.reserve(at, charge, caps=caps, now=self._now(at)))

    def settle(self, reservation: Reservation, answer: bytes, *, keep: Keep | None) -> str:
        """Record the answer; the hash of that entry."""
        return self._turnstile.submit(
            lambda at: book.settle(at, reservation, answer=answer, keep=keep, now=self._now(at))
        )

    def fail(self, reservation: Reservation) -> str:
        """Record that there is no answer; the charge stays."""
        return self._turnstile.submit(lambda at: book.fail(at, reservation, now=self._now(at)))

    def balance(self, dataset: str, caps: Caps, *, analyst: str) -> Balance:
        """What is spent and left."""
        with self._reading() as at:
            now = max(self._now(at), book.head(at).at)
            return accounts.balance(at, dataset_key(dataset), caps=caps, analyst=analyst, at=now)

    def kept(self, shelf: Shelf, *, key: str | None = None, family: str | None = None) -> tuple[KeptAnswer, ...]:
        """Kept answers by key or family, the largest epsilon first."""
        with self._reading() as at:
            return answers.find(at, shelf, key=key, family=family)

    def answer(self, kept: KeptAnswer) -> bytes:
        """The bytes of a kept answer."""
        with self._reading() as at:
            found = book.stored_answer(at, kept.seq)
        if found is None or found[1] != kept.hash:
            raise LedgerError("the kept answer is not in this ledger")
        return found[0]

    def entries(self, *, limit: int, dataset: str | None = None, analyst: str | None = None) -> tuple[Entry, ...]:
        """The log, newest first."""
        with self._reading() as at:
            return book.newest(at, limit=limit, dataset=dataset and dataset_key(dataset), analyst=analyst)

    def close(self) -> None:
        """Let go of the files or the connection."""
        with self._turnstile.alone(), self._translated():
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
        self._turnstile.enter()
        with self._translated():
            self._put_down()

    def after_fork(self, *, child: bool) -> None:
        """Let work begin again; in the child, those who waited do not exist."""
        if child:
            self._turnstile = Turnstile(self._serve)
        else:
            self._turnstile.leave()

    def _serve(self, take: Take[Connection]) -> None:
        """Do what has gathered in one transaction; what is refused writes nothing, the rest is committed together."""
        batch: list[Ticket[Connection]] = []
        outcomes: list[tuple[object, TacitError | None]] = []
        try:
            with self._translated(), self._take_up().transaction() as connection:
                batch = take()
                outcomes = [_attempt(ticket, connection) for ticket in batch]
        except LedgerError as error:
            batch = batch or take()
            outcomes = [(None, LedgerError(error.message, hint=error.hint)) for _ in batch]
        for ticket, (result, refusal) in zip(batch, outcomes, strict=True):
            ticket.result, ticket.error = result, refusal

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        with self._turnstile.alone(), self._translated(), self._take_up().snapshot() as connection:
            yield connection

    def _take_up(self) -> Desk:
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
    before = connection.total_changes
    try:
        return ticket.work(connection), None
    except TacitError as refusal:
        if connection.total_changes != before:
            raise LedgerError("a refused charge had already been written: nothing of its batch is kept") from None
        return None, refusal
