"""PostgreSQL as an engine: every question in a read-only snapshot of its own, on a connection that can do no more."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence, Set
from contextlib import ExitStack, contextmanager, suppress

import psycopg
from psycopg.conninfo import conninfo_to_dict

from tacit.engines.base import UNLIMITED, Limits
from tacit.engines.exact import Exact, advice_on_views, log, unanswered
from tacit.engines.postgres.settings import WATCHED, differing, settings, statement
from tacit.engines.postgres.tables import PostgresTables, find_tables
from tacit.engines.postgres.types import fetch
from tacit.engines.watching import DataMark, changed_tables, digest
from tacit.errors import EngineError, InvalidParameter, PolicyError, TacitError
from tacit.policy import DatabaseSource, Dataset, Schema, TablePolicy
from tacit.policy.sources.servers import KEEPALIVES, SECRET_PARAMETERS, holds_secret

Connection = psycopg.Connection[tuple[object, ...]]

OLDEST = 14_00_00  # the first server whose records can be hashed and whose numbers know infinity
_PATIENCE = 10  # seconds to connect
_SEE_LOG = "the curator's log says why"
_MAY_CREATE = """
SELECT rolsuper OR has_database_privilege(current_database(), 'CREATE') FROM pg_roles WHERE rolname = current_user"""


class Postgres:
    """One database, and the connections to it that wait for questions. Made by `open_postgres`."""

    __slots__ = (
        "__weakref__",
        "_address",
        "_clean",
        "_closed",
        "_idle",
        "_live",
        "_lock",
        "_pid",
        "_settings",
        "_stopped",
        "_tables",
    )

    def __init__(self, address: dict[str, object], tables: PostgresTables, *, chosen: dict[str, str]) -> None:
        self._address, self._tables, self._settings = address, tables, chosen
        self._lock = threading.Lock()
        self._idle: list[Connection] = []
        self._live: set[Connection] = set()  # those with a question that is running
        self._stopped: set[Connection] = set()  # and those of them that were interrupted
        self._pid, self._closed = os.getpid(), False
        self._clean = weakref.finalize(self, _discard, self._idle, self._pid)

    @property
    def dialect(self) -> str:
        """What sqlglot calls PostgreSQL's SQL."""
        return "postgres"

    def schema(self) -> Schema:
        """What was there when the source was opened."""
        return self._tables.schema

    def execute(self, sql: str) -> Exact:
        """Run one SELECT; see `Engine`."""
        with self.snapshot() as state:
            return state.execute(sql)

    @contextmanager
    def snapshot(self) -> Iterator[PostgresState]:
        """One state of the data for several SELECTs: one transaction, REPEATABLE READ and READ ONLY."""
        if os.getpid() != self._pid:
            raise EngineError("the engine was opened in another process", hint="open one in each process, after a fork")
        with ExitStack() as held:
            connection = None
            try:
                connection = held.enter_context(self._connection())
            except Exception as error:  # whatever it is, it may hold cells
                log.warning("%s: %s", type(error).__name__, error)
            if connection is None:  # outside the handler: nothing of what was said is left in the error
                raise unanswered()
            yield PostgresState(connection, self._tables, stopped=self._stopped)

    def interrupt(self) -> None:
        """Stop every question that is running."""
        with self._lock:
            running = list(self._live)
            self._stopped.update(running)  # not used again: a cancel that comes late would hit another's question
        for connection in running:
            with suppress(psycopg.Error):
                connection.cancel_safe(timeout=5)

    def close(self) -> None:
        """Stop what runs and hang up."""
        self._closed = True
        self.interrupt()
        with self._lock:
            self._clean()

    def mark(self) -> DataMark:
        """The columns of the tables, and the server's counters of what was written; see `Watched`."""
        row = None
        try:
            with self._connection() as connection:
                row = connection.execute(self._tables.state.encode()).fetchone()
        except (psycopg.Error, ValueError) as error:
            log.warning("%s: %s", type(error).__name__, error)
        if row is None:  # outside the handler: nothing of what was said is left in the error
            raise EngineError("the database gave no answer, and nothing was charged", hint=_SEE_LOG)
        if row[0] != self._tables.columns:
            raise changed_tables()
        return DataMark(digest(row))

    def advice(self) -> tuple[tuple[str, str], ...]:
        """What a careful curator would change about the role that asks. Reads the catalogue, never a row."""
        views = advice_on_views(self._tables.computed)
        return (*views, *self._advice_on_limits(), *self._advice_on_the_role())

    def _advice_on_limits(self) -> tuple[tuple[str, str], ...]:
        """What of the server's own can cut a question short, and no role but a superuser may settle."""
        try:
            with self._connection() as connection:
                limits = [connection.execute("SELECT current_setting(%s)", [name]).fetchone() for name, _ in WATCHED]
        except psycopg.Error as error:
            log.warning("%s: %s", type(error).__name__, error)
            return ()
        return tuple(
            (
                f"the server sets {name}: a question that reaches it fails, and that it did tells of the rows",
                f"ALTER ROLE … SET {name} = {harmless}, as a superuser, for the role that connects",
            )
            for (name, harmless), row in zip(WATCHED, limits, strict=True)
            if row is not None and row[0] != harmless
        )

    def _advice_on_the_role(self) -> tuple[tuple[str, str], ...]:
        writes = "'INSERT, UPDATE, DELETE, TRUNCATE'"
        may = [f"has_table_privilege('{_literal(origin)}', {writes})" for origin in self._tables.origins]
        asked = f"SELECT {' OR '.join([*may, f'({_MAY_CREATE})'])}"
        try:
            with self._connection() as connection:
                row = connection.execute(asked.encode()).fetchone()
        except psycopg.Error as error:
            log.warning("%s: %s", type(error).__name__, error)
            return ()
        if row is None or not row[0]:
            return ()
        why = "the role that connects may change the database: questions are read-only all the same, mistakes are not"
        return ((why, "connect as a role that has SELECT on the tables, and nothing else"),)

    @contextmanager
    def _connection(self) -> Iterator[Connection]:
        """A connection for one question, in a transaction that ends with it."""
        with self._lock:
            connection = self._idle.pop() if self._idle and not self._closed else None
        if self._closed:
            raise ValueError("the engine is closed")
        if connection is None or not _begins(connection, self._settings):
            connection = connect(self._address)
            begin(connection, self._settings)
        with self._lock:
            self._live.add(connection)
        try:
            yield connection
        finally:
            with self._lock:
                interrupted = connection in self._stopped
                self._live.discard(connection)
                self._stopped.discard(connection)
            self._give_back(connection, keep=not interrupted)

    def _give_back(self, connection: Connection, *, keep: bool) -> None:
        """Keep it for the next question, if its transaction ended well."""
        try:
            connection.rollback()
        except psycopg.Error as error:
            log.warning("%s: %s", type(error).__name__, error)
        with self._lock:
            if keep and not connection.closed and not self._closed:
                self._idle.append(connection)
                return
        connection.close()


class PostgresState:
    """One state of the data, for as long as its transaction lasts."""

    __slots__ = ("_connection", "_stopped", "_tables")

    def __init__(self, connection: Connection, tables: PostgresTables, *, stopped: Set[Connection]) -> None:
        self._connection, self._tables, self._stopped = connection, tables, stopped

    @property
    def dialect(self) -> str:
        """What sqlglot calls PostgreSQL's SQL."""
        return "postgres"

    def execute(self, sql: str) -> Exact:
        """Run one SELECT; see `Engine`."""
        if self._connection in self._stopped:  # between two statements of a question
            raise unanswered()
        try:
            with self._connection.cursor() as cursor:
                with self._connection.pipeline():  # also: one statement and no more, whatever the text says
                    cursor.execute(self._tables.before(sql).encode())
                return Exact(fetch(cursor.pgresult))
        except Exception as error:  # whatever it is, it may hold cells
            log.warning("%s: %s", type(error).__name__, error)
        # Outside the handler: the error has no __context__ that a traceback, a logger or a debugger could print.
        raise unanswered()


def open_postgres(
    dataset: Dataset, tables: Sequence[TablePolicy], *, every: bool = False, limits: Limits = UNLIMITED
) -> Postgres:
    """Open a dataset's source for questions about these tables, or about `every` table it has."""
    if not isinstance(dataset.source, DatabaseSource):
        raise PolicyError("PostgreSQL's source is one database", hint='write source = "postgresql://host/database"')
    address = _address(dataset.source.location)
    what = _named(address)
    unreachable = EngineError(f"{what} could not be opened: no answer, or not to this role", hint=_SEE_LOG)
    connection = _or(unreachable, lambda: _begun(address, UNLIMITED))
    with connection:
        _suitable(connection, what)
        chosen = settings(limits, version=connection.info.server_version)
        present = find_tables(lambda text: connection.execute(text.encode()).fetchall(), tables, every=every)
    connection.close()
    if limits != UNLIMITED:
        unfit = InvalidParameter(f"PostgreSQL does not start with these limits: {limits}", hint='memory is as "64MB"')
        _or(unfit, lambda: _begun(address, limits)).close()
    return Postgres(address, present, chosen=chosen)


def connect(address: dict[str, object]) -> Connection:
    """A connection whose transactions can only read, and that sets nothing for longer than one of them."""
    connection: Connection = psycopg.connect(**address, autocommit=False, prepare_threshold=None)  # type: ignore[arg-type] # parameters of libpq, by name
    connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
    connection.read_only = True
    return connection


def begin(connection: Connection, chosen: dict[str, str]) -> None:
    """Begin a transaction that sees the catalogue, and no table by its bare name: in one round trip."""
    text, words = statement(chosen)
    try:
        with connection.pipeline():
            cursor = connection.execute(text.encode(), words)
        _hold(chosen, cursor.fetchone())
    except BaseException:
        connection.close()
        raise


def _hold(chosen: dict[str, str], shown: tuple[object, ...] | None) -> None:
    """Make sure of every setting: one that another keeps would be a limit that nobody chose."""
    wrong = differing(chosen, shown)
    if wrong:
        raise psycopg.OperationalError(f"these settings do not hold: {', '.join(wrong)}")


def _begins(connection: Connection, chosen: dict[str, str]) -> bool:
    """Whether a connection that waited is still there. A question that is charged should not be the one to find out."""
    try:
        begin(connection, chosen)
    except psycopg.Error as error:
        log.warning("%s: %s", type(error).__name__, error)
        return False
    return True


def _begun(address: dict[str, object], limits: Limits) -> Connection:
    connection = connect(address)
    begin(connection, settings(limits, version=connection.info.server_version))
    return connection


def _address(location: str) -> dict[str, object]:
    """The parameters of a connection. What is not in them comes from the environment, a service or a password file."""
    malformed = PolicyError("the source is not an address", hint='write source = "postgresql://host/database"')
    try:
        address: dict[str, object] = dict(conninfo_to_dict(location))
    except psycopg.Error:
        raise malformed from None
    if SECRET_PARAMETERS & address.keys() or holds_secret(location):
        hint = "put it into the environment as PGPASSWORD, or into ~/.pgpass or a service file"
        raise PolicyError("the source holds a password, which does not belong into a policy", hint=hint)
    usual = {"connect_timeout": _PATIENCE, "application_name": "tacit"} | KEEPALIVES
    return usual | address | {"client_encoding": "UTF8"}


def _named(address: dict[str, object]) -> str:
    """The source in an error: its host and database, and nothing else of the address."""
    shown = "/".join(str(address[part]) for part in ("host", "dbname") if part in address)
    return f"the source {shown!r}" if shown else "the source"


def _suitable(connection: Connection, what: str) -> None:
    """Refuse a server that would not give the answers that others give."""
    if connection.info.server_version < OLDEST:
        raise EngineError(f"{what} is too old: tacit needs PostgreSQL {OLDEST // 10_000} or newer")
    if connection.info.parameter_status("server_encoding") != "UTF8":
        raise EngineError(f"{what} is not encoded in UTF-8, so letters cannot be told apart everywhere")


def _or(otherwise: TacitError, work: Callable[[], Connection]) -> Connection:
    """A connection, or the error given: raised outside the handler, so that it carries nothing of what was said."""
    try:
        return work()
    except psycopg.Error as error:
        log.warning("%s: %s", type(error).__name__, error)
    raise otherwise


def _literal(text: str) -> str:
    return text.replace("'", "''")


def _discard(idle: list[Connection], pid: int) -> None:
    if os.getpid() == pid:  # a forked child must not hang up on its parent's connections
        while idle:
            idle.pop().close()
