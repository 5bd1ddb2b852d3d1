"""The ledger in a SQLite file: for one host, any number of processes and threads."""

from __future__ import annotations

import errno
import logging
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

from tacit.errors import LedgerError, TacitError
from tacit.ledger import accounts, answers, book, fork
from tacit.ledger.desk import Clock, Desk, mark_beside, milliseconds
from tacit.ledger.owner import verify_file
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
    Verdict,
    dataset_key,
)

_log = logging.getLogger("tacit.ledger")
_log.addHandler(logging.NullHandler())  # said to the curator's log, if there is one; never to an analyst's screen

# What a database can say that leaves its file as it was. After anything else nobody knows what is on the disk
# (a second fsync that succeeds proves nothing about the first), so the ledger stays shut until it is opened anew.
_HARMLESS = {
    "SQLITE_FULL": "the disk is full",
    "SQLITE_READONLY": "it is read-only",
    "SQLITE_BUSY": "another program holds it",
    "SQLITE_CONSTRAINT": "the entry breaks the ledger's own rules",
}


class SqliteLedger:
    """Durable debits in one file. Threads share a ledger, and commits; processes each open their own."""

    def __init__(
        self, path: str | os.PathLike[str], *, create: bool, mark: Path | None = None, clock: Clock = time.time
    ) -> None:
        self._path = Path(os.path.realpath(path))
        self._mark_path = mark if mark is not None else mark_beside(self._path)
        self._clock = clock
        self._desk: Desk | None = None
        self._shut: str | None = None  # why nothing is answered any more
        self._turnstile = Turnstile(self._serve)
        with self._turnstile.alone(), self._translated():
            self._desk = Desk.open(self._path, self._mark_path, create=create, clock=clock)
        fork.watch(self)

    def reserve(self, charge: Charge, caps: Caps) -> Reservation | Replay:
        """As the protocol says: all caps and the entry in one transaction, on the disk when this returns."""
        return self._turnstile.submit(lambda at: book.reserve(at, charge, caps=caps, now=self._now()))

    def settle(self, reservation: Reservation, answer: bytes, *, keep: Keep | None) -> str:
        """Record the answer; the hash of that entry."""
        return self._turnstile.submit(
            lambda at: book.settle(at, reservation, answer=answer, keep=keep, now=self._now())
        )

    def fail(self, reservation: Reservation) -> str:
        """Record that there is no answer; the charge stays."""
        return self._turnstile.submit(lambda at: book.fail(at, reservation, now=self._now()))

    def balance(self, dataset: str, caps: Caps, *, analyst: str) -> Balance:
        """What is spent and left."""
        with self._reading() as at:
            now = max(self._now(), book.head(at).at)
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

    def verify(self) -> Verdict:
        """Examine the whole ledger, on a connection of its own: charges go on meanwhile."""
        return verify_file(self._path, mark=self._mark_path)

    def close(self) -> None:
        """Let go of the files."""
        with self._turnstile.alone(), self._translated():
            self._shut = self._shut or "it is closed"
            self._put_down()

    def __enter__(self) -> SqliteLedger:
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

    def _serve(self, take: Take[sqlite3.Connection]) -> None:
        """Do what has gathered in one transaction; what is refused writes nothing, the rest is committed together."""
        batch: list[Ticket[sqlite3.Connection]] = []
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
    def _reading(self) -> Iterator[sqlite3.Connection]:
        with self._turnstile.alone(), self._translated(), self._take_up().snapshot() as connection:
            yield connection

    def _take_up(self) -> Desk:
        if self._shut is not None:
            raise LedgerError(f"the ledger is shut: {self._shut}", hint="open it again")
        if self._desk is None:
            self._desk = Desk.open(self._path, self._mark_path, create=False, clock=self._clock)
        return self._desk

    def _put_down(self) -> None:
        desk, self._desk = self._desk, None
        if desk is not None:
            desk.close()

    def _now(self) -> int:
        return milliseconds(self._clock)

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """No word of the database or the system leaves: only that, and in our words why, the ledger cannot be used."""
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            reason, lasting = _diagnose(error)
            if lasting:
                self._shut = self._shut or reason
            raise LedgerError(f"the ledger cannot be used: {reason}", hint="nothing was released") from None


def _attempt(ticket: Ticket[sqlite3.Connection], connection: sqlite3.Connection) -> tuple[object, TacitError | None]:
    """Do one piece of work of a batch. A refusal is its own affair, as long as it has written nothing."""
    before = connection.total_changes
    try:
        return ticket.work(connection), None
    except TacitError as refusal:
        if connection.total_changes != before:
            raise LedgerError("a refused charge had already been written: nothing of its batch is kept") from None
        return None, refusal


def _diagnose(error: sqlite3.Error | OSError) -> tuple[str, bool]:
    """Why the ledger cannot be used, and whether it stays shut. The log learns the code, never the text."""
    if isinstance(error, OSError):
        code = errno.errorcode.get(error.errno or 0, "unknown")
        _log.error("the ledger's files failed: %s", code)
        return f"its files failed ({code})", True
    code = getattr(error, "sqlite_errorname", type(error).__name__)
    _log.error("the ledger's database failed: %s", code)
    family = "_".join(code.split("_")[:2])
    return _HARMLESS.get(family, f"its database failed ({code})"), family not in _HARMLESS
