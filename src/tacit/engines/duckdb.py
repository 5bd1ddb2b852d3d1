"""DuckDB as an engine: a private instance, locked before the first question."""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager

import duckdb

from tacit.engines.base import UNLIMITED, Limits
from tacit.engines.columns import Readable, literal, readable
from tacit.engines.delta import advice_on_delta
from tacit.engines.exact import Exact, advice_on_views, log, unanswered
from tacit.engines.sources import Exposed, ask, describe, expose, unfit_cells_in
from tacit.engines.text.tables import Unfit
from tacit.engines.watching import DataMark, changed_tables, digest, mark_of_files
from tacit.errors import EngineError, InvalidParameter
from tacit.policy import Dataset, Policy, Schema, TablePolicy

_MOST_KNOWN, _LONGEST_KNOWN = 256, 20_000  # statements, and characters of one


class DuckDB:
    """One in-memory instance with a view for each table. Made by `build`."""

    __slots__ = (
        "__weakref__",
        "_clean",
        "_computed",
        "_connection",
        "_known",
        "_live",
        "_loaded",
        "_lock",
        "_paths",
        "_pid",
        "_schema",
        "_seen",
    )

    def __init__(
        self, connection: duckdb.DuckDBPyConnection, schema: Schema, *, scratch: str, exposed: Exposed
    ) -> None:
        self._connection = connection
        self._schema, self._computed = schema, exposed.computed
        self._loaded, self._paths = exposed.loaded, exposed.paths
        self._seen = mark_of_files(
            self._paths
        )  # of the files that questions go on reading, while they have this schema
        self._lock = threading.Lock()
        self._live: set[duckdb.DuckDBPyConnection] = set()  # the cursors of questions that are running
        self._known: dict[str, Readable] = {}  # statements that were looked at, while the files are what they were
        self._pid = os.getpid()
        self._clean = weakref.finalize(self, _discard, connection, scratch, self._pid)

    @property
    def dialect(self) -> str:
        """What sqlglot calls DuckDB's SQL."""
        return "duckdb"

    def schema(self) -> Schema:
        """What was there when the source was opened."""
        return self._schema

    def execute(self, sql: str) -> Exact:
        """Run one SELECT; see `Engine`."""
        if os.getpid() != self._pid:
            raise EngineError("the engine was opened in another process", hint="open one in each process, after a fork")
        try:
            with self._cursor() as cursor:
                known = self._known.get(sql)
                if known is None:
                    _refuse_all_but_one_select(cursor, sql)
                cursor.execute("BEGIN TRANSACTION READ ONLY")  # WITH x AS (INSERT …) SELECT … calls itself a SELECT
                return Exact((known or self._looked_at(cursor, sql)).read(cursor))
        except Exception as error:  # whatever it is, it may hold cells
            log.warning("%s: %s", type(error).__name__, error)
        # Outside the handler: the error has no __context__ that a traceback, a logger or a debugger could print.
        raise unanswered()

    def _looked_at(self, cursor: duckdb.DuckDBPyConnection, sql: str) -> Readable:
        """The statement, with its columns. It is remembered: to ask DuckDB for them costs as much as many an answer."""
        columns = readable(cursor, sql)
        if len(self._known) >= _MOST_KNOWN:
            self._known.clear()
        if len(sql) <= _LONGEST_KNOWN:
            self._known[sql] = columns
        return columns

    def mark(self) -> DataMark:
        """The state of the files; see `Watched`."""
        now = mark_of_files(self._paths)
        if now != self._seen:
            with self._cursor() as cursor:
                if describe(cursor, tuple(self._schema), otherwise=changed_tables()) != self._schema:
                    raise changed_tables()
            self._seen = now
            self._known.clear()
        if self._loaded is None:
            return now
        times = [mark.at for mark in (now, self._loaded) if mark.at is not None]
        return DataMark(digest((now.text, self._loaded.text)), max(times, default=None))

    def advice(self) -> tuple[tuple[str, str], ...]:
        """What a careful curator would change about the source."""
        return (*advice_on_views(self._computed), *advice_on_delta(self._paths))

    def interrupt(self) -> None:
        """Stop every question that is running."""
        with self._lock:
            for cursor in self._live:
                cursor.interrupt()

    def close(self) -> None:
        """Stop what runs, close the instance and remove its scratch files."""
        self.interrupt()
        with self._lock:
            self._clean()

    @contextmanager
    def _cursor(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A connection of its own for one question; closing it ends its transaction."""
        with self._lock:
            cursor = self._connection.cursor()
            self._live.add(cursor)
        try:
            yield cursor
        finally:
            with self._lock:
                self._live.discard(cursor)
            cursor.close()


def open_duckdb(
    dataset: Dataset, tables: Sequence[TablePolicy], *, every: bool = False, limits: Limits = UNLIMITED
) -> DuckDB:
    """Open a dataset's source for questions about these tables, or about `every` table it has."""
    return build(lambda connection: expose(connection, dataset, tables=tables, every=every), limits)


def unfit_in(policy: Policy) -> list[Unfit]:
    """The cells of a policy's files of text that are read as NULL: for the curator alone, who is told of them."""
    if policy.dataset.engine != "duckdb":
        return []
    with (
        tempfile.TemporaryDirectory(prefix="tacit-") as scratch,
        closing(instance(UNLIMITED, scratch=scratch)) as connection,
    ):
        return unfit_cells_in(connection, policy.dataset, policy.tables)


def build(fill: Callable[[duckdb.DuckDBPyConnection], Exposed], limits: Limits) -> DuckDB:
    """An instance with the tables that `fill` makes, locked. Whatever fails leaves nothing behind."""
    scratch = tempfile.mkdtemp(prefix="tacit-")  # what does not fit into memory goes here, readable by us alone
    with ExitStack() as undo:
        undo.callback(shutil.rmtree, scratch, ignore_errors=True)
        connection = undo.enter_context(closing(instance(limits, scratch=scratch)))
        exposed = fill(connection)
        _lock(connection, exposed.paths)
        engine = DuckDB(connection, describe(connection, exposed.tables), scratch=scratch, exposed=exposed)
        undo.pop_all()
    return engine


def _lock(connection: duckdb.DuckDBPyConnection, paths: Sequence[str]) -> None:
    """Close every way out of the instance, for good. Not a boundary (see law 3), but a second wall."""
    unlockable = EngineError("DuckDB could not be locked, so it is not used", hint="the curator's log says why")
    for statement in (
        f"SET allowed_paths = [{', '.join(map(literal, paths))}]",
        "SET enable_external_access = false",
        "SET lock_configuration = true",
    ):
        ask(connection, statement, otherwise=unlockable)


def instance(limits: Limits, *, scratch: str) -> duckdb.DuckDBPyConnection:
    """A private in-memory instance: none of the process's other connections shares it or its settings."""
    config: dict[str, str | bool | int | float | list[str]] = {
        "python_enable_replacements": False,  # a variable of the caller is not a table
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        "allow_community_extensions": False,
        "allow_persistent_secrets": False,
        "temp_directory": scratch,
        "preserve_insertion_order": False,  # no statement of ours has an order: keeping one takes memory
        "memory_limit": limits.memory or _half_of_the_machine(),
        "max_execution_time": str(_milliseconds(limits)),
    }
    if limits.threads is not None:
        config["threads"] = limits.threads
    try:
        connection = duckdb.connect(":memory:", config=config)
        connection.execute("SET GLOBAL TimeZone = 'UTC'")
        connection.execute("SET enable_progress_bar = false")  # it would show at a prompt how far a question is
        _read_back(connection, limits, scratch=scratch)
    except (duckdb.Error, ValueError) as error:
        log.warning("%s: %s", type(error).__name__, error)
    else:
        return connection
    raise InvalidParameter(f"DuckDB does not start with these limits: {limits}", hint='write memory as "4GB"')


def _read_back(connection: duckdb.DuckDBPyConnection, limits: Limits, *, scratch: str) -> None:
    """Make sure that what was set holds. A limit of another's choice could be one that only somebody's rows reach."""
    expected: dict[str, object] = {
        "TimeZone": "UTC",
        "temp_directory": scratch,
        "preserve_insertion_order": False,
        "max_execution_time": _milliseconds(limits),
    }
    if limits.threads is not None:
        expected["threads"] = limits.threads
    for name, value in expected.items():
        rows = connection.execute(f"SELECT current_setting({literal(name)})").fetchall()  # all: none stays unfinished
        if rows != [(value,)]:
            connection.close()
            raise ValueError(f"{name} cannot be {value}")


def _milliseconds(limits: Limits) -> int:
    return 0 if limits.timeout is None else max(1, round(limits.timeout * 1000))


def _half_of_the_machine() -> str:
    """DuckDB's own default is four fifths, of which two doors at once would be too much."""
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # a system that does not say
        return "4GB"
    return f"{max(total // 2 >> 20, 512)}MiB"


def _refuse_all_but_one_select(cursor: duckdb.DuckDBPyConnection, sql: str) -> None:
    statements = cursor.extract_statements(sql)
    if [statement.type for statement in statements] != [duckdb.StatementType.SELECT]:
        raise ValueError("not one SELECT statement")


def _discard(connection: duckdb.DuckDBPyConnection, scratch: str, pid: int) -> None:
    if os.getpid() == pid:  # a forked child must not remove what its parent uses
        connection.close()
        shutil.rmtree(scratch, ignore_errors=True)
