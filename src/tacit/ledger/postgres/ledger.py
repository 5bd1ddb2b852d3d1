"""The ledger in PostgreSQL: for many hosts on one budget."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import cast

import psycopg

from tacit.errors import LedgerError
from tacit.ledger.counter import Counter
from tacit.ledger.desk import Clock, milliseconds
from tacit.ledger.entries import book
from tacit.ledger.entries.links import newest
from tacit.ledger.entries.rows import Connection, Store
from tacit.ledger.group_commit import apart
from tacit.ledger.mark import HighWaterMark, Point
from tacit.ledger.postgres import schema as postgres_schema
from tacit.ledger.postgres.desk import HARMLESS, PostgresDesk, Writing, connect, reading
from tacit.ledger.values import Verdict, checked
from tacit.ledger.verify import examine_all

_log = logging.getLogger("tacit.ledger")


class PostgresLedger(Counter):
    """Durable debits in one database. Threads share a ledger, and commits; processes and hosts each open their own.

    `mark` is a file of this host: it remembers how far the ledger had come, so that a database restored from an
    older backup is noticed. The time is the server's, so that hosts agree on it; `clock` replaces it in tests.
    """

    def __init__(self, address: str, *, create: bool, mark: Path | None = None, clock: Clock | None = None) -> None:
        self._address, self._mark_path, self._clock = address, mark, clock
        super().__init__(create=create)

    def verify(self) -> Verdict:
        """Examine the whole ledger, on a connection of its own: charges go on meanwhile."""
        return verify_database(self._address, mark=self._mark_path)

    def _opened(self, *, create: bool) -> Store:
        return PostgresDesk.open(self._address, self._mark_path, create=create, clock=self._clock)

    def _now(self, at: Connection) -> int:
        if self._clock is not None:
            return milliseconds(self._clock)
        return cast("Writing", at).now  # every desk of ours hands these out

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """As the protocol says; a connection that broke is put down, and the next charge takes up another."""
        try:
            yield
        except (psycopg.Error, OSError) as error:
            code = getattr(error, "sqlstate", None) or type(error).__name__
            _log.error("the ledger's server failed: %s", code)
            if not isinstance(error, tuple(HARMLESS)):
                with suppress(psycopg.Error, OSError):
                    self._put_down()
            reason = next((why for kind, why in HARMLESS.items() if isinstance(error, kind)), _failed(code))
            full = isinstance(error, psycopg.errors.DiskFull)
            hint = "make room on the server's disk; nothing was released" if full else "nothing was released"
            raise LedgerError(f"the ledger cannot be used: {reason}", hint=hint) from None


def _failed(code: str) -> str:
    return f"its server failed ({code})"


def verify_database(address: str, *, mark: Path | None) -> Verdict:
    """Examine a ledger, also one that is too damaged to be opened. Without a mark a rollback cannot be noticed."""
    return apart(lambda: _verified(address, mark))


def _verified(address: str, mark: Path | None) -> Verdict:
    try:
        known = _is_known(mark)
        stood = _stood(mark)
        with closing(connect(address)) as server:
            with reading(server) as view:
                if not postgres_schema.is_there(view):
                    return Verdict(0, "", ("the ledger cannot be opened: it is missing, or not a ledger",))
                rules = tuple(postgres_schema.problems(view))
                head = Point(*newest(view))
            with reading(server, streaming=True) as view:
                # without a mark of this host, the newest entry stands for it: only the chain itself is examined
                against = stood if known else head
                return examine_all(view, against, rules=lambda: rules, failures=(psycopg.Error,))
    except (psycopg.Error, OSError, LedgerError):
        return Verdict(0, "", ("the ledger cannot be opened: it is missing, damaged, or not a ledger",))


def accept_database(address: str, note: str, *, mark: Path | None, clock: Clock | None = None) -> str:
    """Take the ledger as it stands for the truth, although this host's mark says otherwise; on record, with the reason.

    What was charged after the point it was rolled back to is forgotten, and can be spent again. A ledger whose own
    chain or totals do not fit is not accepted.
    """
    checked(note, "the note")
    return apart(lambda: _accepted(address, note, mark=mark, clock=clock))


def _accepted(address: str, note: str, *, mark: Path | None, clock: Clock | None) -> str:
    try:
        stood = _stood(mark)
        said = "there was no readable mark" if stood is None else f"the mark stood at entry {stood.seq}, {stood.hash}"
        verdict = _verified(address, None)
        if not verdict.sound:
            raise LedgerError(f"the ledger cannot be accepted: {verdict.problems[0]}", hint="restore a sound copy")
        desk = PostgresDesk.open(address, None, create=False, clock=clock)
        with closing(desk), desk.transaction() as writing:
            now = writing.now if clock is None else milliseconds(clock)
            entry = book.append(writing, "accept", now=now, note=f"{note}: {said}")
        if mark is not None:
            with closing(HighWaterMark(mark, create=True)) as high_water, high_water.locked():
                high_water.overwrite(Point(entry.seq, entry.hash))
    except (psycopg.Error, OSError):
        raise LedgerError("the ledger cannot be accepted: it cannot be read or written") from None
    return entry.hash


def _stood(mark: Path | None) -> Point | None:
    if mark is None or not os.path.exists(mark):
        return None
    with closing(HighWaterMark(mark, create=False)) as high_water:
        return high_water.read()


def _is_known(mark: Path | None) -> bool:
    """Whether this host has a mark, be it damaged."""
    if mark is None or not os.path.exists(mark):
        return False
    with closing(HighWaterMark(mark, create=False)) as high_water:
        return not high_water.is_blank()
