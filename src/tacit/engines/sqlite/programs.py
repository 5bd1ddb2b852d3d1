"""Columns of SQLite that are computed when they are read: only those that no row can make fail."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Mapping
from typing import TypeVar

from tacit.engines.columns import quoted
from tacit.errors import PolicyError
from tacit.policy import fold

T = TypeVar("T")

# SQLite's arithmetic and casts never fail; some of its functions do: abs of the smallest integer, sum beyond 64 bits,
# JSON that is none, a text that grows too long. These cannot.
_TEXT = ("typeof", "lower", "upper", "trim", "ltrim", "rtrim", "length", "substr", "substring", "instr", "unicode")
_CHOICES = ("coalesce", "ifnull", "nullif", "iif", "if", "sign", "round")
_MOMENTS = ("date", "time", "datetime", "julianday", "unixepoch", "strftime")
_AGGREGATES = ("count", "total", "avg", "min", "max")
_WINDOWS = ("row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "lag", "lead", "first_value", "last_value")
_SAFE = frozenset((*_TEXT, *_CHOICES, *_MOMENTS, *_AGGREGATES, *_WINDOWS))
_PATTERNS = frozenset({"like", "glob"})  # safe if the pattern is a constant: one from a cell may be too long
_CALLS = frozenset({"Function", "PureFunc", "AggStep", "AggStep1", "AggInverse", "AggValue", "AggFinal"})
_VIRTUAL = frozenset({"VOpen", "VFilter", "VColumn", "VNext"})
_COMPUTED = 2  # what table_xinfo calls a generated column that is not stored


def without_failing(
    connection: sqlite3.Connection, table: str, columns: Mapping[str, T], *, is_view: bool, needed: Collection[str]
) -> dict[str, T]:
    """The columns without those that a row could make fail. One that is `needed` is refused: it would tell of the row.

    SQLite's own program for reading a column is looked at, and never run.
    """
    computed = set(columns) if is_view or not columns else _generated(connection, table)
    failing = {name: what for name in computed if (what := _may_fail(connection, table, name))}
    for name, what in sorted(failing.items()):
        if fold(name) in needed:
            raise PolicyError(
                f"column {name!r} of table {table!r} cannot be used: it is computed whenever it is read, with {what}, "
                "which can fail on a row",
                hint="keep it in a table, or in a column GENERATED ALWAYS AS … STORED",
            )
    return {name: kind for name, kind in columns.items() if name not in failing}


def _generated(connection: sqlite3.Connection, table: str) -> set[str]:
    rows = connection.execute(f"PRAGMA main.table_xinfo({quoted(table)})").fetchall()
    return {str(name) for _, name, *_, hidden in rows if hidden == _COMPUTED}


def _may_fail(connection: sqlite3.Connection, table: str, column: str) -> str:
    """What of a column's program may fail; empty if nothing does."""
    select = f"SELECT t.{quoted(column)} FROM main.{quoted(table)} AS t"
    try:
        program = connection.execute(f"EXPLAIN {select}").fetchall()
    except sqlite3.OperationalError:
        return "what SQLite does not trust a schema with"
    for _, opcode, constants, _, _, called, *_ in program:
        if opcode in _VIRTUAL:
            return "a virtual table"
        name = str(called).partition("(")[0].lower()
        if opcode in _CALLS and name not in _SAFE and not (name in _PATTERNS and constants & 1):
            return f"{name}()"
    return ""
