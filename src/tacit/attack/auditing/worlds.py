"""Small made-up databases to play neighbours with: rows from the policy's own words and the question's constants."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from pathlib import Path

import duckdb

from tacit.core import Bounds
from tacit.engines import SQL_TYPES
from tacit.errors import InvalidParameter
from tacit.noise import SYSTEM, Source, uniform_integer
from tacit.policy import (
    ColumnPolicy,
    ColumnType,
    ListDomain,
    Policy,
    Schema,
    TableDomain,
    TablePolicy,
    columns_of,
    declared_column,
    fold,
    linked_keys,
    resolve_types,
)

UNITS = 6  # in the database that both neighbours share, where it is not empty
MOST_UNITS = 400  # where a key must be held by many to be shown
LEAST_ROWS, MOST_ROWS = 3, 40  # of the unit that differs
_EPOCH = date(1970, 1, 1)
_CONSTANT = re.compile(r"'((?:[^']|'')*)'|(?<![\w.])(-?\d+(?:\.\d+)?)")

Row = tuple[object, ...]
Rows = Mapping[str, Sequence[Row]]  # by table


@dataclass(frozen=True, slots=True)
class MadeUp:
    """What rows can be made of: each table's columns, and for each column the values worth trying."""

    policy: Policy
    schema: Schema  # with DuckDB's own names of types
    pools: Mapping[tuple[str, str], tuple[object, ...]]
    public: Rows

    def rows_of(self, unit: int, *, rows: int, source: Source = SYSTEM) -> dict[str, list[Row]]:
        """So many random rows of one unit in every private table; links lead to the unit's own rows.

        A column has one value in all of them, one of three in each, or any: as a die falls. So sums reach their ends,
        and a unit fills few groups or many.
        """
        rows_in: dict[str, list[Row]] = {}
        keys: dict[tuple[str, str], list[object]] = {}
        same: dict[tuple[str, str], tuple[object, ...]] = {}
        for column, pool in self.pools.items():
            few = tuple(pool[uniform_integer(len(pool), source=source)] for _ in range(3))
            same[column] = (pool, few, few[:1])[uniform_integer(3, source=source)]
        for table in _linked_last(self.policy):
            names = list(self.schema[table.name])
            rows_in[table.name] = []
            for number in range(rows):
                row = tuple(self._cell(table, name, (unit, number), (keys, same), source=source) for name in names)
                rows_in[table.name].append(row)
            for index, name in enumerate(names):
                keys[fold(table.name), fold(name)] = [row[index] for row in rows_in[table.name]]
        return rows_in

    def values_of(self, domain: TableDomain) -> list[object] | None:
        """What stands in the column of a public table; None where its values are computed, by the engine alone."""
        names = [fold(name) for name in columns_of(self.schema, domain.table)]
        rows = next(rows for name, rows in self.public.items() if fold(name) == fold(domain.table))
        place = names.index(fold(domain.column)) if fold(domain.column) in names else None
        return None if place is None else [row[place] for row in rows]

    def _cell(
        self,
        table: TablePolicy,
        name: str,
        which: tuple[int, int],
        known: tuple[Mapping[tuple[str, str], Sequence[object]], Mapping[tuple[str, str], Sequence[object]]],
        *,
        source: Source,
    ) -> object:
        keys, pools = known
        kind = ColumnType.from_sql(self.schema[table.name][name])
        link = table.link
        if link is not None and fold(name) == fold(link.column):
            own = keys[fold(link.table), fold(link.key)]
            return own[uniform_integer(len(own), source=source)]
        if table.units and fold(name) == fold(table.units[which[1] % 2]):  # the other owner: never who is taken out
            return _identifier(1 + uniform_integer(UNITS, source=source), kind)
        if table.is_unit(name):
            return _identifier(which[0], kind)
        if fold(name) in linked_keys(self.policy, table):
            return _identifier(1000 * (which[0] + 1) + which[1], kind)
        pool = pools[table.name, name]
        return pool[uniform_integer(len(pool), source=source)]


def made_up(policy: Policy, schema: Schema, question: str, public: Rows | None = None) -> MadeUp:
    """Values to try for every column: the ends of its bounds and beyond, its domain, NULL, and what is asked about."""
    typed = resolve_types(policy, schema)
    plain = {
        table.name: {
            name: SQL_TYPES.get(ColumnType.from_sql(kind) or ColumnType.TEXT, "VARCHAR")
            for name, kind in columns_of(schema, table.name).items()
        }
        for table in typed.tables
    }
    constants = [(text.replace("''", "'"), number) for text, number in _CONSTANT.findall(question)]
    held = public or {}
    pools = {}
    for table in typed.tables:
        for name, kind in plain[table.name].items():
            column = declared_column(table, name, kind)
            pools[table.name, name] = _pool(column, ColumnType.from_sql(kind), constants, plain, held)
    return MadeUp(typed, plain, pools, held)


def _linked_last(policy: Policy) -> list[TablePolicy]:
    """The private tables, each after the one that knows whose its rows are."""
    waiting = [table for table in policy.tables if not table.public]
    done: list[TablePolicy] = []
    while waiting:
        ready = [t for t in waiting if t.link is None or fold(t.link.table) in {fold(d.name) for d in done}]
        if not ready:
            raise InvalidParameter("the links of the policy go round in circles: no neighbour can be made")
        done += ready
        waiting = [table for table in waiting if table not in ready]
    return done


def _identifier(number: int, kind: ColumnType | None) -> object:
    return number if kind is not None and kind.is_numeric else f"unit-{number}"


def _pool(
    column: ColumnPolicy,
    kind: ColumnType | None,
    constants: Sequence[tuple[str, str]],
    schema: Schema,
    public: Rows,
) -> tuple[object, ...]:
    values: list[object] = []
    if isinstance(column.domain, ListDomain):
        values += [_plain(value) for value in column.domain.values[:6]]
    if isinstance(column.domain, TableDomain):
        names = list(columns_of(schema, column.domain.table))
        index = [fold(name) for name in names].index(fold(column.domain.column))
        values += [row[index] for row in public.get(column.domain.table, ())][:6]
    if column.bounds is not None:
        values += _ends(column.bounds, kind)
    values += _asked(constants, kind)
    if kind is ColumnType.BOOLEAN:
        values += [True, False]
    elif kind is ColumnType.TEXT and len(values) < 2:
        values += ["text-0", "text-1", "text-2"]
    elif not values:
        values += [0, 1, -1, 10**6] if kind is not None and kind.is_numeric else [None]
    return (*dict.fromkeys(values), None)


def _plain(value: object) -> object:
    return value if isinstance(value, (str, int, float, date, datetime)) else float(str(value))


def _ends(bounds: Bounds, kind: ColumnType | None) -> list[object]:
    """Both ends, their middle, and what lies beyond them."""
    width = bounds.upper - bounds.lower
    numbers = [
        bounds.lower,
        bounds.upper,
        (bounds.lower + bounds.upper) / 2,
        bounds.lower - width,
        bounds.upper + width,
    ]
    if kind is ColumnType.DATE:
        return [_EPOCH + timedelta(days=int(number)) for number in numbers[:3]]
    if kind is ColumnType.TIMESTAMP:
        return [datetime(1970, 1, 1) + timedelta(seconds=int(number)) for number in numbers[:3]]  # noqa: DTZ001
    if kind is ColumnType.INTEGER:
        return [int(number) for number in numbers if abs(number) < 2**62]
    return [float(number) for number in numbers]


def _asked(constants: Sequence[tuple[str, str]], kind: ColumnType | None) -> list[object]:
    """What the question compares with, and what lies beside it."""
    if kind is ColumnType.TEXT:
        return [text for text, number in constants if not number]
    if kind is None or not kind.is_numeric:
        return []
    numbers = [float(number) for _, number in constants if number]
    beside = [number + step for number in numbers for step in (0, 1, -1)]
    return [int(number) for number in beside] if kind is ColumnType.INTEGER else list(beside)


def write(world: MadeUp, rows: Rows, where: Path | str) -> duckdb.DuckDBPyConnection:
    """A DuckDB that holds these rows and the public tables: in memory, or in a file."""
    connection = duckdb.connect(str(where))
    for table, columns in world.schema.items():
        listed = ", ".join(f"{_quoted(name)} {kind}" for name, kind in columns.items())
        connection.execute(f"CREATE TABLE {_quoted(table)} ({listed})")
        insert(connection, table, [*world.public.get(table, ()), *rows.get(table, ())])
    return connection


def insert(connection: duckdb.DuckDBPyConnection, table: str, rows: Sequence[Row]) -> None:
    """All rows in one statement: one by one they take longer than the question."""
    if rows:
        one = f"({', '.join('?' for _ in rows[0])})"
        cells = [cell for row in rows for cell in row]
        connection.execute(f"INSERT INTO {_quoted(table)} VALUES {', '.join([one] * len(rows))}", cells)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
