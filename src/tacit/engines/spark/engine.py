"""Spark as an engine, by Spark Connect: tables of a catalogue or Parquet files, on Spark itself or on Sail."""

from __future__ import annotations

import itertools
import os
import re
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress

from tacit.engines.base import UNLIMITED, Limits
from tacit.engines.delta import advice_on_delta, is_delta
from tacit.engines.exact import Exact, log, unanswered
from tacit.engines.spark.client import SparkSession, connect, disconnect
from tacit.engines.spark.tables import BEYOND, SparkTables, fetch, files_under, find_tables, named
from tacit.engines.watching import DataMark, changed_tables, mark_of_files
from tacit.errors import EngineError, PolicyError
from tacit.policy import DatabaseSource, Dataset, Schema, TablePolicy

REMOTE = "SPARK_REMOTE"  # as for every other program that speaks Spark Connect
_SEE_LOG = "the curator's log says why"
_SETTINGS = {  # a server may have others as its own; without these a text of SQL means something else
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.ansi.doubleQuotedIdentifiers": "false",
    "spark.sql.variable.substitute": "false",  # "${env:HOME}" in a question would become what the server's HOME is
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.caseSensitive": "false",
    "spark.sql.ansi.enforceReservedKeywords": "false",
    "spark.sql.decimalOperations.allowPrecisionLoss": "true",
    "spark.sql.timestampType": "TIMESTAMP_LTZ",
    "spark.sql.legacy.timeParserPolicy": "CORRECTED",
    # as EXCEPTION, one date before 1582 in a file makes every question fail; as LEGACY, it is another day
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.mergeSchema": "false",
    "spark.sql.parquet.binaryAsString": "false",
    "spark.sql.broadcastTimeout": "-1",  # no end of the server's choice: the policy's timeout is the only one
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.files.ignoreMissingFiles": "false",
}
_AGAIN = 0.2  # seconds
_HERE = re.compile(r"sc://(localhost|127\.0\.0\.1|\[::1\])[:/;]")  # a server that sees the files that we see
_tags = itertools.count(1)


class Spark:
    """One session with a Spark Connect server. Made by `open_spark`."""

    __slots__ = ("_closed", "_find", "_limits", "_live", "_lock", "_pid", "_seen", "_session", "_tables")

    def __init__(self, session: SparkSession, find: Callable[[], SparkTables], *, limits: Limits) -> None:
        self._session, self._find, self._limits = session, find, limits
        self._tables = find()
        self._seen = self._state()  # the last state of the files that had these tables
        self._lock = threading.Lock()
        self._live: dict[str, threading.Event] = {}  # the tags of questions that are running, and when each has ended
        self._pid, self._closed = os.getpid(), False

    @property
    def dialect(self) -> str:
        """What sqlglot calls Spark's SQL."""
        return "spark"

    def schema(self) -> Schema:
        """What was there when the source was opened."""
        return self._tables.schema

    def execute(self, sql: str) -> Exact:
        """Run one SELECT; see `Engine`. Parquet has no transactions: a question sees the files as they are."""
        if os.getpid() != self._pid:
            raise EngineError("the engine was opened in another process", hint="open one in each process, after a fork")
        try:
            with self._tagged():
                return Exact(fetch(self._session.sql(self._tables.before(sql)).toArrow()))
        except Exception as error:  # whatever it is, it may hold cells
            log.warning("%s: %s", type(error).__name__, error)
        # Outside the handler: the error has no __context__ that a traceback, a logger or a debugger could print.
        raise unanswered()

    def mark(self) -> DataMark:
        """The state of the files or Delta tables, where they are this machine's; else none is known. See `Watched`."""
        if not self._tables.paths:
            return DataMark("")
        now = self._state()
        if now != self._seen:
            try:
                same = self._find().schema == self._tables.schema
            except PolicyError:  # a table is gone
                same = False
            if not same:
                raise changed_tables()
            self._seen = now
        return now

    def _state(self) -> DataMark:
        return mark_of_files(files_under(self._tables.paths), directories=self._tables.paths)

    def advice(self) -> tuple[tuple[str, str], ...]:
        """What a careful curator would change about the source."""
        return advice_on_delta(files_under([path for path in self._tables.paths if not is_delta(path)]))

    def interrupt(self) -> None:
        """Stop every question that is running."""
        with self._lock:
            running = list(self._live.items())
        for asked in running:
            threading.Thread(target=self._stop, args=asked, daemon=True).start()

    def close(self) -> None:
        """Stop what runs and end the session."""
        self.interrupt()
        with self._lock:
            if self._closed:
                return
            self._closed = True
        disconnect(self._session)

    def _stop(self, tag: str, ended: threading.Event) -> None:
        """Say it until it is done: Spark has nothing to stop while it still plans the question, and forgets it."""
        while not ended.is_set():
            with suppress(Exception):  # it may end by itself just now
                self._session.interruptTag(tag)
            ended.wait(_AGAIN)

    @contextmanager
    def _tagged(self) -> Iterator[None]:
        """Everything that runs in here can be stopped, by us or by the clock."""
        if self._closed:
            raise ValueError("the engine is closed")
        tag, ended, timeout = f"tacit-{os.getpid()}-{next(_tags)}", threading.Event(), self._limits.timeout
        clock = None if timeout is None else threading.Timer(timeout, self._stop, (tag, ended))
        with self._lock:
            self._live[tag] = ended
        self._session.addTag(tag)
        if clock is not None:
            clock.start()
        try:
            yield
        finally:
            ended.set()
            if clock is not None:
                clock.cancel()
            self._session.removeTag(tag)
            with self._lock:
                del self._live[tag]


def open_spark(
    dataset: Dataset, tables: Sequence[TablePolicy], *, every: bool = False, limits: Limits = UNLIMITED
) -> Spark:
    """Open a dataset's source for questions about these tables, or about `every` table it has."""
    session = _session(_remote(dataset))
    try:
        return Spark(session, lambda: _tables(session, dataset, tables, every=every), limits=limits)
    except BaseException:
        disconnect(session)
        raise


def _remote(dataset: Dataset) -> str:
    if isinstance(dataset.source, DatabaseSource):
        return os.environ.get(REMOTE) or dataset.source.location  # the environment may hold a token as well
    remote = os.environ.get(REMOTE)
    if not remote:
        raise PolicyError(
            "no Spark is named that reads the files", hint=f"set {REMOTE} to its address, as in sc://localhost:15002"
        )
    return remote


def _session(remote: str) -> SparkSession:
    """A session that speaks as ours do: in UTC, and failing where a number does not fit."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            session = connect(remote)
            try:
                _settle(session)
            except BaseException:
                disconnect(session)
                raise
    except Exception as error:  # of the network or of the server; its words stay in the log
        log.warning("%s: %s", type(error).__name__, error)
    else:
        return session
    raise EngineError("Spark could not be reached: no answer, or not to us", hint=_SEE_LOG)


def _settle(session: SparkSession) -> None:
    """Make the session read SQL as we write it, and make sure that it does."""
    for name, value in _SETTINGS.items():
        session.conf.set(name, value)
        if session.conf.get(name) != value:
            raise ValueError(f"{name} cannot be {value}")


def _tables(session: SparkSession, dataset: Dataset, tables: Sequence[TablePolicy], *, every: bool) -> SparkTables:
    def fields(select: str) -> list[tuple[str, str]]:
        return [(field.name, field.dataType.simpleString()) for field in session.sql(select).schema.fields]

    def located(name: str) -> str | None:
        return _delta_here(session, name) if _HERE.match(_remote(dataset)) else None

    def all_of_them() -> SparkTables:
        names = [table.name for table in session.catalog.listTables()] if every else None
        named_by_files = every and not isinstance(dataset.source, DatabaseSource)
        listed = None if named_by_files else names
        guarded = _fails_beyond_the_calendar(session)
        return find_tables(fields, dataset, tables, listed=listed, guarded=guarded, located=located)

    unreadable = PolicyError("a table of the policy cannot be read by Spark", hint=_SEE_LOG)
    return _or(unreadable, all_of_them)


def _delta_here(session: SparkSession, name: str) -> str | None:
    """Where the Delta table of that name lies, if the catalogue says so and it is there: of others nothing is known."""
    try:
        rows = session.sql(f"DESCRIBE TABLE EXTENDED {named(name)}").toArrow().to_pylist()
    except Exception as error:  # whatever it is, it is about the catalogue
        log.info("%s: %s", type(error).__name__, error)
        return None
    facts = {str(row["col_name"]): str(row["data_type"]) for row in rows}
    path = re.sub(r"^file:/+", "/", facts.get("Location", ""))
    return path if facts.get("Provider", "").lower() == "delta" and is_delta(path) else None


def _fails_beyond_the_calendar(session: SparkSession) -> bool:
    """Whether the server fails to compute with a date far away, as Sail does: a question about a constant, no row."""
    try:
        session.sql(BEYOND).toArrow()
    except Exception as error:  # whatever it is, it is about the constant
        log.info("%s: %s", type(error).__name__, error)
        return True
    return False


def _or(otherwise: PolicyError, work: Callable[[], SparkTables]) -> SparkTables:
    """What work gives, or the error given: raised outside the handler, so that it carries nothing of what was said."""
    try:
        return work()
    except PolicyError:
        raise
    except Exception as error:  # whatever it is, it may hold more than names
        log.warning("%s: %s", type(error).__name__, error)
    raise otherwise
