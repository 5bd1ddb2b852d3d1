"""One process's hold on a ledger in PostgreSQL: a connection, the lock of its writers, and this host's mark."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg
from psycopg.rows import dict_row

from tacit.errors import LedgerError
from tacit.ledger.carrying import refuse_unsound, seal_totals
from tacit.ledger.desk import NOWHERE, Clock, milliseconds, passes_through, unbroken
from tacit.ledger.entries import book
from tacit.ledger.entries.links import ADVICE, newest
from tacit.ledger.entries.rows import Rows
from tacit.ledger.mark import HINT, HighWaterMark, Point, sync_directory
from tacit.ledger.postgres import schema as postgres_schema
from tacit.ledger.postgres.address import parameters
from tacit.ledger.postgres.schema import FIRST_LOCK, LOCK, SCHEMA
from tacit.ledger.verify import examine_all

Server = psycopg.Connection[dict[str, Any]]

_log = logging.getLogger("tacit.ledger")
_PATH = f"{SCHEMA}, pg_temp"
_SETTINGS = {  # of a transaction: behind a pooler the next one may run on another backend
    "search_path": _PATH,
    "timezone": "UTC",
    "client_encoding": "UTF8",
    "synchronous_commit": "on",  # a COMMIT that returns has reached the disk, and the standbys that were asked for
    "statement_timeout": "0",
    "lock_timeout": "60s",
    "idle_in_transaction_session_timeout": "60s",  # a client that stands still does not stop all others
}
_BEGIN = """
SELECT current_setting('fsync') AS fsync, current_setting('full_page_writes') AS pages,
current_setting('synchronous_commit') AS synced, pg_is_in_recovery() AS standby,
current_setting('server_encoding') AS encoding, current_setting('search_path') AS path,
CAST(FLOOR(EXTRACT(EPOCH FROM clock_timestamp()) * 1000) AS BIGINT) AS now"""
HARMLESS = {  # what leaves the connection and the ledger as they were
    psycopg.errors.LockNotAvailable: "another client holds it",
    psycopg.errors.QueryCanceled: "somebody stopped it",
    psycopg.errors.IntegrityError: "the entry breaks the ledger's own rules",
    psycopg.errors.InsufficientPrivilege: "the role that connects may not write there",
    psycopg.errors.DiskFull: "the server's disk is full",
}


class Writing:
    """A connection as the book wants it: `?` for values, rows by name, and a count of what was written."""

    def __init__(self, server: Server, *, now: int, streaming: bool = False) -> None:
        self._server, self._streaming = server, streaming
        self.now = now  # the server's clock: hosts need not agree on theirs
        self.total_changes = 0

    def execute(self, sql: str, values: Any = (), /) -> Rows:
        """Run one statement."""
        text = sql.replace("?", "%s").encode()
        if self._streaming:
            return _Stream(self._server, text)
        done = self._server.execute(text, values or None)
        if sql.startswith(("INSERT", "UPDATE", "DELETE")):
            self.total_changes += max(0, done.rowcount)
        return done


class _Stream:
    """Rows that come a few at a time: the whole log need not fit into memory."""

    def __init__(self, server: Server, text: bytes) -> None:
        self._server, self._text = server, text

    def __iter__(self) -> Iterator[dict[str, Any]]:
        with self._server.cursor(name="tacit", scrollable=False) as cursor:
            cursor.execute(self._text)
            yield from cursor

    def fetchone(self) -> dict[str, Any] | None:
        """The first row, or None."""
        return next(iter(self), None)


class PostgresDesk:
    """A connection to a ledger that is known to be the one this host's mark speaks of."""

    def __init__(self, server: Server, mark: HighWaterMark | None) -> None:
        self._server, self._mark = server, mark
        self._process = os.getpid()
        self._warned: list[str] = []
        server.add_notice_handler(lambda notice: self._warned.append(notice.severity_nonlocalized or ""))

    @classmethod
    def open(cls, address: str, mark_path: Path | None, *, create: bool, clock: Clock | None) -> PostgresDesk:
        """Open the ledger, or make one where there is none, and check it against the mark."""
        with ExitStack() as undo:
            server = connect(address)
            undo.callback(server.close)
            mark = (
                None if mark_path is None else HighWaterMark(mark_path, create=True)
            )  # a host that joins has none yet
            if mark is not None:
                undo.callback(mark.close)
            desk = cls(server, mark)
            desk._find_or_make(create=create, clock=clock)
            with desk._alone() as writing:
                desk._check(writing)
            undo.pop_all()
        return desk

    @contextmanager
    def transaction(self) -> Iterator[Writing]:
        """Write, alone among all hosts. When this ends without an exception, what was written is durable."""
        with self._alone() as writing:
            self._compare(writing)
            yield writing
            point = Point(*newest(writing))
        self._move(point)

    @contextmanager
    def snapshot(self) -> Iterator[Writing]:
        """Read one state of the ledger, without waiting for writers."""
        self._same_process()
        mark = self._stood()  # before: afterwards it could be ahead, and rightly so
        with reading(self._server) as view:
            if mark is not None:
                passes_through(view, mark)
            yield view

    def close(self) -> None:
        """End the connection, and let go of the mark."""
        try:
            self._server.close()
        finally:
            if self._mark is not None:
                self._mark.close()

    @contextmanager
    def _alone(self, lock: str = LOCK) -> Iterator[Writing]:
        """A transaction that waits for the other writers first, and commits unless something is raised."""
        self._same_process()
        try:
            row = _begun(self._server, lock, _BEGIN)
            _refuse_weak(row)
            yield Writing(self._server, now=row["now"])
            self._warned.clear()
            self._server.commit()
        except BaseException:
            with suppress(psycopg.Error):
                self._server.rollback()
            raise
        if "WARNING" in self._warned:  # a standby that was to confirm it was not waited for
            raise LedgerError("the charge may not be durable: the server committed with a warning")

    def _find_or_make(self, *, create: bool, clock: Clock | None) -> None:
        """See to it that there is a ledger of this format. Others may be doing the same at this moment."""
        with reading(self._server) as view:
            there, old = postgres_schema.is_there(view), postgres_schema.is_first_format(view)
        if old:
            self._carry_over(clock)
        if there:
            return
        self._refuse_lost()
        if not create:
            raise LedgerError("there is no ledger there", hint=NOWHERE)
        try:
            with self._alone("SELECT 1") as writing:
                postgres_schema.create(writing)
                first = book.begin(writing, now=_time(writing, clock))
        except (psycopg.errors.UniqueViolation, psycopg.errors.DuplicateSchema):
            return  # somebody else made it first
        self._move(Point(first.seq, first.hash), sync=True)

    def _carry_over(self, clock: Clock | None) -> None:
        """Carry a ledger of the first format over: examined, rebuilt and sealed in one transaction."""
        with self._alone(f"SELECT pg_advisory_xact_lock({FIRST_LOCK})") as writing:
            writing.execute("LOCK TABLE entry, account, answer IN ACCESS EXCLUSIVE MODE")
            if not postgres_schema.is_first_format(writing):
                return  # somebody else did it meanwhile
            if self._mark is not None and not self._mark.is_blank():
                passes_through(writing, self._stood())
            against = Point(*newest(writing))
            problems = tuple(postgres_schema.problems(writing))
            refuse_unsound(examine_all(writing, against, rules=lambda: problems, failures=(psycopg.Error,)))
            postgres_schema.carry_over(writing)
            seal_totals(writing, now=_time(writing, clock))

    def _check(self, writing: Writing) -> None:
        for problem in postgres_schema.problems(writing):
            raise LedgerError(f"the ledger cannot be trusted: {problem}", hint=ADVICE)
        if self._mark is not None and self._mark.is_blank():
            self._join(writing)
        else:
            self._compare(writing)

    def _refuse_lost(self) -> None:
        if self._mark is not None and not self._mark.is_blank():
            raise LedgerError("the ledger was rolled back: its tables are gone", hint=HINT)

    def _join(self, writing: Writing) -> None:
        """Set the first mark of a host. What came before is not known to it, so that somebody should hear of it."""
        unbroken(writing, since=0)
        head = Point(*newest(writing))
        if head.seq > 0:
            _log.warning(
                "this host joins the ledger at entry %d: it had no mark, so an older copy would not be noticed",
                head.seq,
            )
        self._move(head, sync=True)

    def _compare(self, writing: Writing) -> None:
        """Check the chain against the mark; from there on it must be unbroken, whoever wrote it."""
        mark = self._stood()
        if mark is None:
            return
        head = Point(*newest(writing))
        passes_through(writing, mark)
        if mark.seq < head.seq:
            unbroken(writing, since=mark.seq)
            self._move(head)

    def _stood(self) -> Point | None:
        """How far this host has seen the ledger come; None if it keeps no mark. One that cannot be read is no mark."""
        if self._mark is None:
            return None
        mark = self._mark.read()
        if mark is None:
            raise LedgerError("the ledger's mark is damaged: it may have been rolled back", hint=HINT)
        return mark

    def _move(self, point: Point, *, sync: bool = False) -> None:
        """Move this host's mark on, never back: another process may have moved it farther."""
        if self._mark is None:
            return
        with self._mark.locked():
            stood = self._mark.read()
            if self._mark.is_blank() if stood is None else stood.seq < point.seq:  # a damaged one stays so
                self._mark.write(point, sync=sync)
        if sync:
            sync_directory(self._mark.path.parent)

    def _same_process(self) -> None:
        if os.getpid() != self._process:
            raise LedgerError("the ledger was opened in another process", hint="open it again after a fork")


def connect(address: str) -> Server:
    """A connection that sets nothing for longer than a transaction."""
    server = psycopg.connect(**parameters(address), row_factory=dict_row, autocommit=False, prepare_threshold=None)
    server.isolation_level = psycopg.IsolationLevel.READ_COMMITTED  # every statement sees what the lock waited for
    return server


def _time(writing: Writing, clock: Clock | None) -> int:
    return writing.now if clock is None else milliseconds(clock)


def _begun(server: Server, *first: str) -> dict[str, Any]:
    """Begin a transaction with its settings and first statements, in one round trip; the row that the last one gave."""
    settings = ", ".join(f"pg_catalog.set_config('{name}', '{value}', true)" for name, value in _SETTINGS.items())
    with server.pipeline():
        server.execute(f"SELECT {settings}".encode())
        for statement in first:
            row = server.execute(statement.encode())
    return row.fetchone() or {}


@contextmanager
def reading(server: Server, *, streaming: bool = False) -> Iterator[Writing]:
    """One state of the ledger."""
    server.isolation_level, server.read_only = psycopg.IsolationLevel.REPEATABLE_READ, True
    try:
        row = _begun(server, "SELECT CAST(FLOOR(EXTRACT(EPOCH FROM now()) * 1000) AS BIGINT) AS now")
        yield Writing(server, now=row["now"], streaming=streaming)
    finally:
        with suppress(psycopg.Error):
            server.rollback()
            server.isolation_level, server.read_only = psycopg.IsolationLevel.READ_COMMITTED, None


def _refuse_weak(row: dict[str, Any]) -> None:
    """Refuse a server whose COMMIT promises less than the disk."""
    weak = {
        "fsync is off": row["fsync"] != "on",
        "full_page_writes is off": row["pages"] != "on",
        f"synchronous_commit is {row['synced']}": row["synced"] not in {"on", "remote_apply"},
        "it is a standby": bool(row["standby"]),
        "its encoding is not UTF-8": row["encoding"] != "UTF8",
        "a transaction does not keep its settings": row["path"] != _PATH,
    }
    for why, names in weak.items():
        if names:
            raise LedgerError(f"the ledger cannot be kept on this server: {why}", hint="ask who runs it")
