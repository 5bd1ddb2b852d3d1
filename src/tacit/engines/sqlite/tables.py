"""Which tables of a SQLite file a policy means, and their cells in DuckDB: of the column's type, or NULL."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray

from tacit.engines.columns import SQL_TYPES, quoted
from tacit.engines.sqlite.programs import without_failing
from tacit.engines.text.cells import AS_DATE, AS_TIMESTAMP
from tacit.errors import PolicyError
from tacit.policy import ColumnType, TablePolicy, fold, identifiers, named_in

_EXAMPLE = 40  # letters of a cell that does not fit, as the curator sees it
BATCH = 65_536  # rows that are in Python at once
_NUMERIC = {ColumnType.INTEGER, ColumnType.NUMBER}
_TEXT = "CASE typeof({0}) WHEN 'text' THEN {0} END"


@dataclass(frozen=True, slots=True)
class Kind:
    """How cells of one of DuckDB's types are read: what SQLite selects, through which array, what DuckDB makes of it.

    SQLite lets any cell hold anything, whatever its column says. What does not fit is NULL, for every cell by the same
    rule: nothing that a cell holds can make a question fail.
    """

    type: str
    select: str
    empty: object
    array: Any
    cell: str = "{0}"


KINDS = {
    kind.type: kind
    for kind in (
        Kind("BIGINT", "CASE typeof({0}) WHEN 'integer' THEN {0} END", 0, np.int64),
        Kind("DOUBLE", "CASE WHEN typeof({0}) IN ('integer', 'real') THEN CAST({0} AS REAL) END", 0.0, np.float64),
        Kind("BOOLEAN", "CASE WHEN typeof({0}) = 'integer' AND {0} IN (0, 1) THEN {0} END", 0, np.int64, "{0} = 1"),
        Kind("VARCHAR", _TEXT, "", object),
        Kind("DATE", _TEXT, "", object, AS_DATE),
        Kind("TIMESTAMP", _TEXT, "", object, AS_TIMESTAMP),
        Kind("BLOB", "NULL", 0, np.int64, "NULL"),  # not read at all: tacit cannot measure it
    )
}


_IDENTIFIER = Kind(
    "VARCHAR",
    "CASE typeof({0}) WHEN 'integer' THEN CAST({0} AS TEXT) WHEN 'real' THEN printf('%!.17g', {0}) "
    "WHEN 'text' THEN {0} END",
    "",
    object,
)


@dataclass(frozen=True, slots=True)
class SqliteTable:
    """A table or view of the file: the name the policy gives it, its own, and its columns with their kinds."""

    name: str
    origin: str
    columns: Mapping[str, Kind]
    is_view: bool = False

    def create(self) -> str:
        """The empty table, as DuckDB is told to make it."""
        listed = ", ".join(f"{quoted(name)} {kind.type}" for name, kind in self.columns.items())
        return f"CREATE TABLE {quoted(self.name)} ({listed})"

    def select(self) -> str:
        """The cells that fit, as SQLite is asked for them. `t.` keeps a name from being read as a text."""
        cells = ", ".join(kind.select.replace("{0}", f"t.{quoted(name)}") for name, kind in self.columns.items())
        return f"SELECT {cells} FROM main.{quoted(self.origin)} AS t"


# ── what there is ────────────────────────────────────────────────────────────────────────────────────────────────────


def find_tables(connection: sqlite3.Connection, tables: Sequence[TablePolicy], *, every: bool) -> list[SqliteTable]:
    """The policy's tables, or `every` one there is. Reads names and declared types, never a row."""
    rows = connection.execute("SELECT name, type FROM main.sqlite_master WHERE type IN ('table', 'view') ORDER BY name")
    there = {name: kind == "view" for name, kind in rows.fetchall() if not name.casefold().startswith("sqlite_")}
    policies = {fold(table.name): table for table in tables}
    tables_there = []
    for name in there if every else [table.name for table in tables]:
        origin = next((own for own in there if fold(own) == fold(name)), None)
        if origin is None:
            raise PolicyError(f"table {name!r} is not in the database", hint="check [tables] against the source")
        policy = policies.get(fold(name))
        keys = frozenset() if policy is None else identifiers(tables, policy)
        columns = _columns(connection, origin, policy, keys=keys)
        columns = without_failing(connection, origin, columns, is_view=there[origin], needed=named_in(tables, policy))
        if columns:
            tables_there.append(SqliteTable(name, origin, columns, is_view=there[origin]))
        elif not every:
            raise PolicyError(f"table {name!r} cannot be read: it may be a view of something that is gone")
    return tables_there


def _columns(
    connection: sqlite3.Connection, table: str, policy: TablePolicy | None, *, keys: frozenset[str]
) -> dict[str, Kind]:
    stated = {} if policy is None else {fold(column.name): column.type for column in policy.columns}
    try:
        rows = connection.execute(f"PRAGMA main.table_xinfo({quoted(table)})").fetchall()
    except sqlite3.OperationalError:
        return {}
    return {
        str(name): _kind(str(declared), stated.get(fold(str(name))), key=fold(str(name)) in keys)
        for _, name, declared, *_, hidden in rows
        if hidden != 1  # which only virtual tables have
    }


def _kind(declared: str, stated: ColumnType | None, *, key: bool) -> Kind:
    """How a column is read. A key that is called NUMERIC may hold whole numbers that no double can: it is its text."""
    kind = KINDS[_type(declared, stated)]
    rounded = kind.type == "DOUBLE" and any(word in declared.upper() for word in ("NUMERIC", "DECIMAL"))
    return _IDENTIFIER if key and rounded else kind


def _type(declared: str, stated: ColumnType | None) -> str:
    """DuckDB's word for a column: what the policy states, where the file says something else or nothing at all."""
    own = _declared(declared.upper())
    kind = ColumnType.from_sql(own)
    if stated is None or stated is kind or {stated, kind} == _NUMERIC:
        return own
    return SQL_TYPES[stated]


def _declared(said: str) -> str:
    """SQLite's own rules for the words of a declared type, with truth values and dates, which it does not know."""
    rules = (
        (("BOOL",), "BOOLEAN"),
        (("DATETIME", "TIMESTAMP"), "TIMESTAMP"),
        (("DATE",), "DATE"),
        (("INT",), "BIGINT"),
        (("CHAR", "CLOB", "TEXT", "UUID"), "VARCHAR"),
        (("REAL", "FLOA", "DOUB", "NUMERIC", "DECIMAL"), "DOUBLE"),
    )
    return next((kind for words, kind in rules if any(word in said for word in words)), "BLOB")


# ── rows ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def load(connection: sqlite3.Connection, table: SqliteTable, *, into: duckdb.DuckDBPyConnection) -> None:
    """Fill a table of DuckDB, batch by batch. Whoever calls has begun a transaction: all batches are of one state."""
    kinds = list(table.columns.values())
    with _without_bad_text(connection):
        cursor = connection.execute(table.select())
        while rows := cursor.fetchmany(BATCH):
            arrays: dict[str, NDArray[Any]] = {}
            for index, (kind, cells) in enumerate(zip(kinds, zip(*rows, strict=True), strict=True)):
                arrays[f"v{index}"] = np.array([cell is not None for cell in cells], dtype=np.bool_)
                arrays[f"c{index}"] = np.array([kind.empty if c is None else c for c in cells], dtype=kind.array)
            _insert(into, table, arrays)


def first_unfit(connection: sqlite3.Connection, table: SqliteTable, column: str) -> str:
    """The first cell of a column that is read as NULL, for the curator: which row it is in, and what it holds."""
    kind, name = table.columns[column], f"t.{quoted(column)}"
    select = f"SELECT {name}, {kind.select.replace('{0}', name)} FROM main.{quoted(table.origin)} AS t"
    before = 0
    with _without_bad_text(connection), closing(duckdb.connect()) as judge:
        cursor = connection.execute(select)
        while rows := cursor.fetchmany(BATCH):
            fits = [fit for _, fit in rows]
            unfit = (
                _nulls(judge, kind, fits) if kind.array is object else {i for i, fit in enumerate(fits) if fit is None}
            )
            index = min((i for i in unfit if rows[i][0] is not None), default=None)
            if index is not None:
                return f" (row {before + index + 1} has {str(rows[index][0])[:_EXAMPLE]!r})"
            before += len(rows)
    return ""


def _nulls(judge: duckdb.DuckDBPyConnection, kind: Kind, texts: list[str | None]) -> set[int]:
    """Which texts are no value of a type."""
    numbered = "SELECT unnest(CAST($1 AS VARCHAR[])) AS c, unnest(range(len($1))) AS i"
    empty = judge.execute(f"SELECT i FROM ({numbered}) WHERE {kind.cell.replace('{0}', 'c')} IS NULL", [texts])
    return {int(index) for (index,) in empty.fetchall()}


def _insert(into: duckdb.DuckDBPyConnection, table: SqliteTable, arrays: Mapping[str, NDArray[Any]]) -> None:
    """No array has a None in it: DuckDB guesses what is in one from some of its cells, and fails on the others."""
    cells = ", ".join(
        f"CASE WHEN v{index} THEN {kind.cell.replace('{0}', f'c{index}')} END"
        for index, kind in enumerate(table.columns.values())
    )
    into.register("tacit_incoming", dict(arrays))
    into.execute(f"INSERT INTO {quoted(table.name)} SELECT {cells} FROM tacit_incoming")
    into.unregister("tacit_incoming")


@contextmanager
def _without_bad_text(connection: sqlite3.Connection) -> Iterator[None]:
    """Bytes that are called text and are not UTF-8 are no text: NULL, and no error that tells of them."""
    before: Callable[[bytes], object] = connection.text_factory
    connection.text_factory = _text
    try:
        yield
    finally:
        connection.text_factory = before


def _text(cell: bytes) -> str | None:
    try:
        return cell.decode()
    except UnicodeDecodeError:
        return None
