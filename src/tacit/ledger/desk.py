"""One process's hold on the ledger's files: the database, its write-ahead log, and the mark."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from tacit.errors import LedgerError
from tacit.ledger import schema
from tacit.ledger.carrying import carry_over
from tacit.ledger.entries import book
from tacit.ledger.entries.links import newest, stretch
from tacit.ledger.entries.rows import Connection
from tacit.ledger.lock import refuse_network
from tacit.ledger.mark import HINT, HighWaterMark, Point, identity, sync_directory
from tacit.ledger.schema import checkpoint

LONG_LOG = 4 << 20  # bytes
Clock = Callable[[], float]
NOWHERE = "check the path, or have the curator make one"


def mark_beside(path: Path) -> Path:
    """Where the mark of a ledger stands, unless it was put elsewhere."""
    return path.with_name(path.name + ".mark")


def milliseconds(clock: Clock) -> int:
    """The time as entries carry it."""
    return max(0, int(clock() * 1000))


class SqliteStore:
    """Files that are open, and known to be those the mark speaks of."""

    def __init__(self, path: Path, mark: HighWaterMark, *, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self._mark = mark
        self._process = os.getpid()
        self._tidy_at = LONG_LOG
        self._paths = (str(path), str(path.with_name(path.name + "-wal")))
        self._files = self._identities()

    @classmethod
    def open(cls, path: Path, mark_path: Path, *, create: bool, clock: Clock) -> SqliteStore:
        """Open the ledger, or make one where there is none, and check it against its mark."""
        if not path.parent.is_dir() or not (create or mark_path.exists() or path.exists()):
            raise LedgerError("there is no ledger there", hint=NOWHERE)
        if not create and not mark_path.exists():
            raise LedgerError("the ledger's mark is missing: it may have been rolled back", hint=HINT)
        refuse_network(path.parent)
        refuse_network(mark_path.parent)
        with ExitStack() as undo:
            mark = HighWaterMark(mark_path, create=create)
            undo.callback(mark.close)
            with mark.locked():
                _found_or_made(path, mark, create=create, clock=clock)
                connection = schema.connect(path)
                undo.callback(connection.close)
                desk = cls(path, mark, connection=connection)
                sync_directory(path.parent)  # the name of a new write-ahead log; SQLite forgives itself if that fails
                if schema.is_first_format(connection):
                    passes_through(connection, mark.read())  # before anything is written to it
                    carry_over(connection, now=milliseconds(clock))
                desk._check_rules()
                desk._compare()
            undo.pop_all()
        return desk

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Write. When this ends without an exception, what was written is on the disk and the mark has moved."""
        with self._mark.locked():
            self._same_files()
            self.connection.execute("BEGIN IMMEDIATE")
            try:
                before = self._compare()
                yield self.connection
                self.connection.execute("COMMIT")
            except BaseException:
                if self.connection.in_transaction:
                    with suppress(sqlite3.Error):
                        self.connection.execute("ROLLBACK")
                raise
            self._same_files()  # a file that was moved away meanwhile took the charge with it
            after = Point(*newest(self.connection))
            if after.seq != before:
                self._mark.write(after)
                self._tidy()

    @contextmanager
    def snapshot(self) -> Iterator[sqlite3.Connection]:
        """Read one state of the ledger, without waiting for writers."""
        self._same_files()
        mark = self._mark.read()  # before the snapshot: afterwards it could be ahead, and rightly so
        self.connection.execute("BEGIN")
        try:
            passes_through(self.connection, mark)
            yield self.connection
        finally:
            if self.connection.in_transaction:
                self.connection.execute("ROLLBACK")

    def close(self) -> None:
        """Let go. Under the lock: the last connection to close tidies the write-ahead log away."""
        try:
            with suppress(LedgerError), self._mark.locked():
                self.connection.close()
        finally:
            self.connection.close()
            self._mark.close()

    def _compare(self) -> int:
        """Check the chain against the mark, under the lock; if a writer died before moving it, move it now."""
        mark = self._mark.read()
        head = passes_through(self.connection, mark)
        if mark is None or mark.seq < head.seq:
            unbroken(self.connection, since=0 if mark is None else mark.seq)
            self._mark.write(head, sync=True)
        return head.seq

    def _tidy(self) -> None:
        """Empty a long write-ahead log. SQLite would do it unasked, and keep a failed sync to itself."""
        size = os.stat(self._paths[1]).st_size
        if size >= self._tidy_at:
            stuck = checkpoint(self.connection)
            self._tidy_at = LONG_LOG + (size if stuck else 0)

    def _check_rules(self) -> None:
        if not schema.is_ours(self.connection):
            raise LedgerError("the file is not a ledger, or its rules were changed", hint="run `tacit ledger verify`")

    def _identities(self) -> tuple[tuple[int, int] | None, ...]:
        self.connection.execute("SELECT 1 FROM sqlite_schema").fetchone()  # the first read opens the write-ahead log
        return tuple(identity(path) for path in self._paths)

    def _same_files(self) -> None:
        if os.getpid() != self._process:
            raise LedgerError("the ledger was opened in another process", hint="open it again after a fork")
        if tuple(identity(path) for path in self._paths) != self._files:
            raise LedgerError("the ledger's file was deleted or replaced while in use", hint=HINT)


def make(path: Path, *, clock: Clock) -> Point:
    """Make an empty ledger, the tables and the first entry in one transaction. The caller sets the mark."""
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    connection = schema.connect(path)
    try:
        connection.execute("BEGIN IMMEDIATE")
        schema.create(connection)
        first = book.begin(connection, now=milliseconds(clock))
        connection.execute("COMMIT")
        checkpoint(connection)
    finally:
        connection.close()
    sync_directory(path.parent)
    return Point(first.seq, first.hash)


def _found_or_made(path: Path, mark: HighWaterMark, *, create: bool, clock: Clock) -> None:
    if mark.is_blank() and _nothing_yet(path):
        if not create:
            raise LedgerError("there is no ledger there", hint=NOWHERE)
        mark.write(make(path, clock=clock), sync=True)
        sync_directory(mark.path.parent)
    if identity(path) is None:
        raise LedgerError("the ledger was rolled back: its database is gone", hint=HINT)


def _nothing_yet(path: Path) -> bool:
    """Whether there is no ledger, not even one that a crash left half made."""
    if identity(path) is None:
        return True
    connection = schema.connect(path)
    try:
        return schema.is_blank(connection)
    finally:
        connection.close()


def passes_through(connection: Connection, mark: Point | None) -> Point:
    """Where the ledger ends; refused if the mark has already seen it further on, or otherwise."""
    head = Point(*newest(connection))
    if mark is None:
        if head.seq > 0:  # the first mark is on the disk before the first charge is
            raise LedgerError("the ledger's mark is missing or damaged: it may have been rolled back", hint=HINT)
        return head
    if head.seq < mark.seq:
        raise LedgerError(
            f"the ledger was rolled back: it ends at entry {head.seq}, the mark stands at {mark.seq}", hint=HINT
        )
    if head == mark:
        return head
    row = connection.execute("SELECT hash FROM entry WHERE seq = ?", (mark.seq,)).fetchone()
    if row is None or row["hash"] != mark.hash:
        raise LedgerError("the ledger is not the one its mark was set by", hint=HINT)
    return head


def unbroken(connection: Connection, *, since: int) -> None:
    """Refuse a chain with a broken link at or after `since`."""
    for _ in stretch(connection, since=since):
        pass
