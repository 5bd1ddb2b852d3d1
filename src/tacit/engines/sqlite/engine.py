"""SQLite as an engine: its tables are copied into a DuckDB of our own, which is asked.

In SQLite any cell may hold anything, and sums have 64 bits. In the copy types hold and sums are wide, so whole numbers
before noise are those of every other source by construction. A question sees one state of the file, and the newest.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import TypeVar
from urllib.parse import quote

import duckdb

from tacit.engines.base import UNLIMITED, Limits
from tacit.engines.columns import quoted
from tacit.engines.duckdb import DuckDB, build
from tacit.engines.exact import Exact, log, unanswered
from tacit.engines.files import readable
from tacit.engines.sources import Exposed, holds_sqlite
from tacit.engines.sqlite.tables import SqliteTable, find_tables, first_unfit, load
from tacit.engines.watching import DataMark, changed_tables, mark_of_files
from tacit.errors import EngineError, PolicyError
from tacit.policy import ColumnType, DatabaseSource, Dataset, Schema, TablePolicy

T = TypeVar("T")

_PATIENCE = 10.0  # seconds to wait for whoever writes
_SEE_LOG = "the curator's log says why"


@dataclass(frozen=True, slots=True, eq=False)
class Reader:
    """A connection that can only read one file, and which file that is: another may take its place under its name."""

    connection: sqlite3.Connection
    file: tuple[int, int]

    def version(self) -> int:
        """A number that changes when somebody commits a change to the file."""
        return int(self.connection.execute("PRAGMA data_version").fetchone()[0])


class SQLite:
    """One file, and the copy of its tables that questions are put to. Made by `open_sqlite`."""

    __slots__ = (
        "__weakref__", "_clean", "_closed", "_copied", "_copies", "_find", "_limits", "_lock", "_path", "_pid",
        "_readers", "_seen", "_tables",
    )  # fmt: skip

    def __init__(
        self, path: str, reader: Reader, *, find: Callable[[sqlite3.Connection], list[SqliteTable]], limits: Limits
    ) -> None:
        self._path, self._find, self._limits = path, find, limits
        self._seen: DataMark | None = None  # the last state of the file that had these tables
        self._tables = find(reader.connection)
        self._lock = threading.Lock()
        self._copied: tuple[DuckDB, int] | None = None  # and of which version: none before a question was paid for
        self._copies: weakref.WeakSet[DuckDB] = weakref.WeakSet()  # with older ones, until they have answered
        self._readers = [reader]  # one, in a list that outlives this object
        self._pid, self._closed = os.getpid(), False
        self._clean = weakref.finalize(self, _discard, self._readers, self._pid)

    @property
    def dialect(self) -> str:
        """What sqlglot calls the SQL of the copy."""
        return "duckdb"

    def schema(self) -> Schema:
        """What was there when the source was opened."""
        return {table.name: {name: kind.type for name, kind in table.columns.items()} for table in self._tables}

    def execute(self, sql: str) -> Exact:
        """Run one SELECT; see `Engine`."""
        with self.snapshot() as copy:
            return copy.execute(sql)

    @contextmanager
    def snapshot(self) -> Iterator[DuckDB]:
        """The newest copy: it stays what it is, whatever becomes of the file."""
        if os.getpid() != self._pid:
            raise EngineError("the engine was opened in another process", hint="open one in each process, after a fork")
        copy = None
        try:
            copy = self._newest()
        except Exception as error:  # whatever it is, it may hold cells
            log.warning("%s: %s", type(error).__name__, error)
        if copy is None:  # outside the handler: nothing of what was said is left in the error
            raise unanswered()
        yield copy

    def mark(self) -> DataMark:
        """The state of the file, and of what is not yet written into it; see `Watched`."""
        now = mark_of_files([self._path, f"{self._path}-wal"])
        if now != self._seen:
            unread = EngineError("the source could not be opened: it is damaged or locked", hint=_SEE_LOG)
            with self._lock:
                if self._closed:
                    raise EngineError("the engine is closed")
                try:
                    same = _or(unread, lambda: self._find(self._followed().connection)) == self._tables
                except PolicyError:  # a table is gone
                    same = False
            if not same:
                raise changed_tables()
            self._seen = now
        return now

    def interrupt(self) -> None:
        """Stop every question that is running, and copying."""
        for reader in self._readers:
            with suppress(sqlite3.Error):
                reader.connection.interrupt()
        for copy in list(self._copies):
            copy.interrupt()

    def close(self) -> None:
        """Stop what runs, forget the copies and let go of the file."""
        self._closed = True
        self.interrupt()
        with self._lock:
            for copy in list(self._copies):
                copy.close()
            self._clean()

    def advice(self) -> tuple[tuple[str, str], ...]:
        """Which columns hold cells that are read as NULL. Reads the rows: it is for the curator alone."""
        hint = "mend them, or state another type in the policy"
        return tuple(
            (f"{table.name}.{name} holds {told}, {kind}: they are read as NULL", hint)
            for table in self._tables
            for name, told in self._misread(table)
            for kind in (ColumnType.from_sql(table.columns[name].type),)
        )

    def _misread(self, table: SqliteTable) -> list[tuple[str, str]]:
        """The columns with cells of another type: how many, and the first of them."""
        names = [name for name, kind in table.columns.items() if kind.type != "BLOB"]
        counts = ", ".join(f"COUNT({quoted(name)}) AS n{index}" for index, name in enumerate(names))
        misread = []
        try:
            copied = self.execute(f"SELECT {counts or 1} FROM {quoted(table.name)}")
            with self._lock:
                (reader,) = self._readers
                there = reader.connection.execute(f"SELECT {counts or 1} FROM main.{quoted(table.origin)}").fetchone()
                for index, name in enumerate(names):
                    unfit = there[index] - int(copied.integers(f"n{index}")[0])
                    if unfit:
                        example = first_unfit(reader.connection, table, name)
                        misread.append((name, f"{unfit:,} of {there[index]:,} cells that are not of its type{example}"))
        except (EngineError, sqlite3.Error):  # which is for `unreadable_tables` to find
            return []
        return misread

    def _newest(self) -> DuckDB:
        """The copy, made anew where the file is no longer what was copied."""
        with self._lock:
            if self._closed:
                raise ValueError("the engine is closed")
            reader = self._followed()
            if self._copied is None or self._copied[1] != reader.version():
                self._copied = self._copy(reader)  # an older one goes when nobody asks it any more
                self._copies.add(self._copied[0])
            return self._copied[0]

    def _followed(self) -> Reader:
        """The reader of the file that has the name now."""
        (reader,) = self._readers
        if reader.file != _file(self._path):
            self._copied = None
            self._readers[:] = [_connect(self._path)]
            reader.connection.close()
        return self._readers[0]

    def _copy(self, reader: Reader) -> tuple[DuckDB, int]:
        """All tables, copied in one transaction, and the version they are of."""
        reader.connection.execute("BEGIN")
        try:
            if self._find(reader.connection) != self._tables:  # reading this, the transaction has begun
                raise ValueError("the tables of the file have changed: open it anew")
            version = reader.version()
            return build(lambda into: _fill(into, self._tables, reader.connection), self._limits), version
        finally:
            reader.connection.execute("ROLLBACK")


def open_sqlite(
    dataset: Dataset, tables: Sequence[TablePolicy], *, every: bool = False, limits: Limits = UNLIMITED
) -> SQLite:
    """Open a dataset's source for questions about these tables, or about `every` table it has. Touches no row."""
    if not isinstance(dataset.source, DatabaseSource):
        raise PolicyError("SQLite's source is one file", hint='write source = "clinic.sqlite"')
    what = f"the source {dataset.source.location!r}"
    path = str(dataset.resolve(dataset.source.location).absolute())
    readable(path, what)
    if not holds_sqlite(path):
        raise PolicyError(f"{what} is not a SQLite database")
    if limits != UNLIMITED:
        build(lambda _: Exposed(()), limits).close()  # limits that DuckDB refuses are refused now

    unopened = EngineError(f"{what} could not be opened: it is damaged, encrypted or locked", hint=_SEE_LOG)
    reader = _or(unopened, lambda: _connect(path))
    try:
        find = partial(find_tables, tables=tuple(tables), every=every)
        return _or(unopened, lambda: SQLite(path, reader, find=find, limits=limits))
    except BaseException:
        reader.connection.close()
        raise


def _fill(into: duckdb.DuckDBPyConnection, tables: Sequence[SqliteTable], reader: sqlite3.Connection) -> Exposed:
    """All tables. A view that cannot be read is left out: questions about it fail, and those about others do not."""
    filled = []
    for table in tables:
        into.execute(table.create())
        try:
            load(reader, table, into=into)
        except sqlite3.Error as error:
            if not table.is_view:
                raise
            log.warning("%s: %s: %s", table.name, type(error).__name__, error)
            into.execute(f"DROP TABLE {quoted(table.name)}")
        else:
            filled.append(table.name)
    return Exposed(tuple(filled))


def _connect(path: str) -> Reader:
    """A connection that can only read this one file, and runs no more than a schema may."""
    file = _file(path)  # first: if another file comes in between, it is found to be another
    address = f"file:{quote(path)}?mode=ro"
    connection = sqlite3.connect(address, uri=True, timeout=_PATIENCE, isolation_level=None, check_same_thread=False)
    try:
        connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        connection.execute("PRAGMA query_only = ON")
        connection.execute("PRAGMA trusted_schema = OFF")
    except BaseException:
        connection.close()
        raise
    return Reader(connection, file)


def _file(path: str) -> tuple[int, int]:
    status = os.stat(path)
    return status.st_dev, status.st_ino


def _discard(readers: list[Reader], pid: int) -> None:
    if os.getpid() == pid:  # a forked child must not touch what its parent has open
        for reader in readers:
            reader.connection.close()


def _or(otherwise: EngineError, work: Callable[[], T]) -> T:
    """What work gives, or the error given: raised outside the handler, so that it carries nothing of what was said."""
    try:
        return work()
    except sqlite3.Error as error:
        log.warning("%s: %s", type(error).__name__, error)
    raise otherwise
