"""Public tables, read whole: what answers are joined with."""

from __future__ import annotations

from tacit.engines import Engine
from tacit.engines.answers.process import HeldTable
from tacit.engines.columns import SQL_TYPES
from tacit.errors import QueryRefused
from tacit.policy import ColumnType, Schema, TablePolicy, fold
from tacit.policy.reading.names import is_column_name
from tacit.sql.emitting.dialects import count_of, rows_of

MAX_ROWS = 100_000


def public_table(table: TablePolicy, schema: Schema, engine: Engine) -> HeldTable:
    """The rows of a public table; of a column that is hidden, or whose type tacit does not know, nothing."""
    name = table.name
    hidden = {fold(column.name) for column in table.columns} - {fold(column.name) for column in table.visible}
    there = {fold(each): columns for each, columns in schema.items()}[fold(name)]
    shown = {column: kind for column, kind in there.items() if is_column_name(column) and fold(column) not in hidden}
    kinds = {column: ColumnType.from_sql(kind) for column, kind in shown.items()}
    columns = {column: SQL_TYPES[kind] for column, kind in kinds.items() if kind is not None}
    if not columns:
        raise QueryRefused(f"{name} has no column that could be computed with")
    if engine.execute(count_of(name, dialect=engine.dialect)).integers("n")[0] > MAX_ROWS:
        raise QueryRefused(f"{name} is too large to join answers with: at most {MAX_ROWS:,} rows")
    rows = engine.execute(rows_of(name, list(columns), dialect=engine.dialect))
    return HeldTable(name, tuple(columns.items()), tuple(rows.keys(column) for column in columns))
