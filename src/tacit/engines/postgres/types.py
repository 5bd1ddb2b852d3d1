"""PostgreSQL's types: how a column is read so that every question finds the same kinds of cells as in DuckDB."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from psycopg.pq.abc import PGresult

from tacit.engines.cells import day, moment, number
from tacit.engines.columns import quoted
from tacit.engines.exact import Column

_LARGEST, _SMALLEST = "1.7976931348623157e308", "1e-300"  # of a double, with room to spare at the small end
_WIDEST = 38  # digits of DuckDB's widest DECIMAL
_TEXTS = ("text", "varchar", "bpchar", "name", "citext")


@dataclass(frozen=True, slots=True)
class SourceColumn:
    """A column as the catalogue has it. `base` is the type behind a domain; `digits` are those of NUMERIC(18, 3)."""

    name: str
    base: str
    shown: str
    is_enum: bool = False
    digits: tuple[int, int] | None = None
    is_virtual: bool = False  # generated when it is read
    is_computed: bool = False  # of a view, a foreign table, or one with row security


@dataclass(frozen=True, slots=True)
class ColumnReading:
    """How a column is read, and what the schema calls its type: DuckDB's word for it, so that one plan fits both."""

    sql: str
    type: str


def reading(column: SourceColumn, *, collation: str, key: bool = False) -> ColumnReading:
    """The expression that reads a column. None of them fails on a cell, and equal cells are one group.

    Of a `key` no two cells are made one: a NUMERIC without digits is then its own text, and not a double.
    """
    name, base = quoted(column.name), column.base
    if column.is_enum or base in _TEXTS:
        return ColumnReading(f"CAST({name} AS TEXT) COLLATE {quoted(collation)}", "VARCHAR")
    if base == "numeric":
        exact = ColumnReading(f"CAST(trim_scale({name}) AS TEXT) COLLATE {quoted(collation)}", "VARCHAR")
        numeric = _numeric(name, column.digits)
        return exact if key and numeric.type == "DOUBLE" else numeric
    plain = {
        "int2": ColumnReading(
            name, "SMALLINT"
        ),  # as it is, so that an index on it serves; arithmetic widens it by its type
        "int4": ColumnReading(name, "INTEGER"),
        "int8": ColumnReading(name, "BIGINT"),
        "float4": ColumnReading(
            f"({name} + CAST(0 AS REAL))", "FLOAT"
        ),  # -0 becomes 0: which it was told whose row it is
        "float8": ColumnReading(f"({name} + CAST(0 AS DOUBLE PRECISION))", "DOUBLE"),
        "bool": ColumnReading(name, "BOOLEAN"),
        "date": ColumnReading(name, "DATE"),
        "timestamp": ColumnReading(f"CAST({name} AS TIMESTAMP)", "TIMESTAMP"),
        "timestamptz": ColumnReading(f"({name} AT TIME ZONE 'UTC')", "TIMESTAMP WITH TIME ZONE"),
        "uuid": ColumnReading(name, "UUID"),
    }
    return plain.get(base, ColumnReading(name, column.shown.upper()))


def _numeric(name: str, digits: tuple[int, int] | None) -> ColumnReading:
    """NUMERIC(18, 3) is exact, but for NaN, which a DECIMAL of DuckDB cannot be: hence not by that word.

    One without digits may hold what no double can, and converting it would fail.
    """
    if digits is not None and 0 <= digits[1] <= digits[0] <= _WIDEST:
        return ColumnReading(name, f"NUMERIC({digits[0]},{digits[1]})")
    cases = (
        f"WHEN {name} = 'NaN' THEN 'NaN' WHEN {name} > {_LARGEST} THEN 'Infinity' "
        f"WHEN {name} < -{_LARGEST} THEN '-Infinity' WHEN ABS({name}) < {_SMALLEST} THEN '0'"
    )
    return ColumnReading(f"CASE {cases} ELSE CAST({name} AS DOUBLE PRECISION) END", "DOUBLE")


# ── what comes back ──────────────────────────────────────────────────────────────────────────────────────────────────


def _real(text: bytes) -> float:
    return float(text) + 0.0  # never -0.0


def _decoded(parse: Callable[[str], object]) -> Callable[[bytes], object]:
    return lambda text: parse(text.decode())


def _dated(parse: Callable[[str], object]) -> Callable[[bytes], object]:
    """Moments before the year 1, which stay text, in the same spelling as DuckDB's: 0044-03-15 (BC) 01:02:03."""

    def read(text: bytes) -> object:
        said, before, _ = text.decode().partition(" BC")
        date, at, time = said.partition(" ")
        return parse(f"{date} (BC){at}{time}" if before else said)

    return read


_WHOLE = {20, 21, 23}  # int8, int2, int4
_PARSERS: dict[int, Callable[[bytes], object]] = {  # by the catalogue's own numbers, the same in every server
    **dict.fromkeys(_WHOLE, int),
    16: lambda text: text == b"t",  # bool
    **dict.fromkeys((19, 25, 1042, 1043), bytes.decode),  # name, text, bpchar, varchar
    2950: bytes.decode,  # uuid
    700: _real,  # float4: 1.1 means the decimal it prints as
    701: _real,  # float8
    1700: _decoded(number),  # numeric
    1082: _dated(day),  # date
    **dict.fromkeys((1114, 1184), _dated(moment)),  # timestamp, timestamptz
}


def fetch(result: PGresult | None) -> dict[str, Column]:
    """The columns of a result that came as text."""
    if result is None:
        raise ValueError("the server gave no result")
    names = [(result.fname(index) or b"").decode() for index in range(result.nfields)]
    if len({name.lower() for name in names}) != len(names):
        raise ValueError("two columns of the result have one name")
    return {name: _column(result, index) for index, name in enumerate(names)}


def _column(result: PGresult, index: int) -> Column:
    kind = result.ftype(index)
    parse = _PARSERS.get(kind)
    if parse is None:
        raise ValueError(f"a result cannot have a column of type {kind}")
    texts = [result.get_value(row, index) for row in range(result.ntuples)]
    cells = [None if text is None else parse(text) for text in texts]
    return cells if kind not in _WHOLE or None in cells else np.array(cells, dtype=np.int64)
