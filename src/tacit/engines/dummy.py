"""Dummy data: rows made up from the public policy and schema alone, for questions that cost nothing."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from fractions import Fraction

import duckdb

from tacit.engines.base import UNLIMITED, Engine, Limits
from tacit.engines.columns import SQL_TYPES, literal, quoted
from tacit.engines.duckdb import DuckDB, build
from tacit.engines.reading import name_in
from tacit.engines.sources import Exposed
from tacit.errors import InvalidParameter
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

ROWS = 10_000
_ROWS_A_UNIT = 4  # on average, where the policy allows as many
_ONE_NULL_IN = 20
_WORDS = 20  # different texts, where nothing is known of them
_TYPE = re.compile(r"[A-Za-z0-9_ ]+(\(\d+(, ?\d+)?\))?")


def dummy_engine(
    policy: Policy, schema: Schema, *, rows: int = ROWS, public: Engine | None = None, limits: Limits = UNLIMITED
) -> DuckDB:
    """An engine over made-up rows: the same for the same policy, and no source is opened.

    Where `public` is given, public tables are read through it, for they are no secret; else they are made up too.
    """
    if rows < 1:
        raise InvalidParameter(f"dummy data need at least one row: got {rows}")
    typed = resolve_types(policy, schema)

    def fill(connection: duckdb.DuckDBPyConnection) -> Exposed:
        # public tables first: the domains of private columns are drawn from them
        for table in sorted(typed.tables, key=lambda table: not table.public):
            columns = columns_of(schema, table.name)
            if table.public and public is not None:
                _copy(connection, table.name, columns, public=public)
            else:
                _make_up(connection, _Recipe(table, columns, policy.version, rows, linked_keys(typed, table)))
        return Exposed(tuple(table.name for table in typed.tables))

    return build(fill, limits)


@dataclass(frozen=True, slots=True)
class _Recipe:
    """What the rows of one table are made from. `i` is the number of the row."""

    table: TablePolicy
    columns: Mapping[str, str]  # name → the source's type
    version: str
    rows: int
    keys: frozenset[str] = frozenset()  # folded; each row has its own

    def draw(self, what: str, among: int) -> str:
        """A whole number below `among`, settled by the policy's version, the table, `what` and the row.

        One text is hashed: DuckDB's hash of two values is so nearly a sum that columns would move together.
        """
        salt = literal(f"{self.version}/{fold(self.table.name)}/{fold(what)}/")
        return f"CAST(hash({salt} || i) % {among} AS BIGINT)"

    def policy_of(self, column: str) -> ColumnPolicy:
        return declared_column(self.table, column, self.columns[column])


def _make_up(connection: duckdb.DuckDBPyConnection, recipe: _Recipe) -> None:
    listed: list[list[str]] = []  # the lists of domains, bound as parameters
    cells = ", ".join(_cell(recipe, name, listed) for name in recipe.columns)
    sql = f"CREATE TABLE {quoted(recipe.table.name)} AS SELECT {cells} FROM range({recipe.rows}) AS made(i)"
    connection.execute(sql, listed or None)


def _cell(recipe: _Recipe, name: str, listed: list[list[str]]) -> str:
    """One column of the select list. What a type cannot hold becomes NULL rather than an error."""
    column = recipe.policy_of(name)
    if recipe.table.is_unit(name):
        value = _unit(recipe, column.type, sql_type=recipe.columns[name])
    elif fold(name) in recipe.keys:
        value = _identifier("i", column.type, sql_type=recipe.columns[name])
    else:
        value = _value(recipe, column, listed)
        if not recipe.table.public:
            value = f"CASE WHEN {recipe.draw(f'{name}/null', _ONE_NULL_IN)} = 0 THEN NULL ELSE {value} END"
    return f"TRY_CAST({value} AS {_stored(recipe.columns[name])}) AS {quoted(name)}"


def _unit(recipe: _Recipe, kind: ColumnType | None, *, sql_type: str) -> str:
    """An identifier. The same ones in every table, so that joins meet; the rows of each differ in number."""
    rows_each = min(recipe.table.max_rows or _ROWS_A_UNIT, _ROWS_A_UNIT)
    number = recipe.draw("unit", max(1, recipe.rows // rows_each))
    return _identifier(number, kind, sql_type=sql_type)


def _identifier(number: str, kind: ColumnType | None, *, sql_type: str) -> str:
    if sql_type.lower() in {"uuid", "guid"}:
        return f"CAST(md5(CAST({number} AS VARCHAR)) AS UUID)"
    return _by_type(kind, number, word="unit-")


def _value(recipe: _Recipe, column: ColumnPolicy, listed: list[list[str]]) -> str:
    if isinstance(column.domain, ListDomain):
        texts = [_text(value) for value in column.domain.values[: recipe.rows]]
        listed.append(texts)
        return f"(CAST(${len(listed)} AS VARCHAR[]))[1 + {recipe.draw(column.name, len(texts))}]"
    if isinstance(column.domain, TableDomain):
        values = f"(SELECT list(DISTINCT {quoted(column.domain.column)} ORDER BY {quoted(column.domain.column)})"
        values += f" FROM {quoted(column.domain.table)})"
        return f"{values}[1 + {recipe.draw(column.name, 2**62)} % len({values})]"
    if column.bounds is None:
        return _by_type(column.type, recipe.draw(column.name, _WORDS), word="text-")
    steps = f"({column.bounds.lower_units} + {recipe.draw(column.name, column.bounds.cells)})"
    step = column.bounds.step
    number = f"(CAST({steps} AS DOUBLE) * {float(step.numerator)!r} / {float(step.denominator)!r})"
    return _by_type(column.type, number, word="")


def _by_type(kind: ColumnType | None, number: str, *, word: str) -> str:
    """A value of the type with that number: itself, days or seconds since 1970, a numbered word."""
    if kind is ColumnType.DATE:
        return f"(DATE '1970-01-01' + CAST({number} AS INTEGER))"
    if kind is ColumnType.TIMESTAMP:
        return f"make_timestamp(CAST({number} AS BIGINT) * 1000000)"
    if kind is ColumnType.BOOLEAN:
        return f"(CAST({number} AS BIGINT) % 2 = 1)"
    return number if kind is not None and kind.is_numeric else f"({literal(word)} || {number})"


def _stored(source_type: str) -> str:
    """A type of the dummy's table that behaves as the source's does; text for what tacit only counts."""
    kind = ColumnType.from_sql(source_type)
    if kind is None:
        return "VARCHAR"
    return source_type if _known(source_type) else SQL_TYPES[kind]


def _known(source_type: str) -> bool:
    """Whether DuckDB has a type of that name."""
    if _TYPE.fullmatch(source_type) is None:
        return False
    try:
        return duckdb.dtype(source_type) is not None
    except duckdb.Error:
        return False


def _copy(connection: duckdb.DuckDBPyConnection, table: str, columns: Mapping[str, str], *, public: Engine) -> None:
    """A public table as it is, by way of text; columns that tacit only counts stay NULL."""
    read = [name for name, kind in columns.items() if ColumnType.from_sql(kind) is not None]
    name_of = name_in(public)
    exact = public.execute(f"SELECT {', '.join(map(name_of, read))} FROM {name_of(table)}")
    texts = [[None if cell is None else _text(cell) for cell in exact.keys(name)] for name in read]
    given = ", ".join(f"unnest(CAST(${index} AS VARCHAR[])) AS {quoted(name)}" for index, name in enumerate(read, 1))
    cells = (
        f"TRY_CAST({quoted(n) if n in read else 'NULL'} AS {_stored(k)}) AS {quoted(n)}" for n, k in columns.items()
    )
    connection.execute(f"CREATE TABLE {quoted(table)} AS SELECT {', '.join(cells)} FROM (SELECT {given})", texts)


def _text(value: object) -> str:
    """A value as DuckDB reads it back."""
    if isinstance(value, Fraction):
        return repr(float(value))
    return value.isoformat() if isinstance(value, date) else str(value)
