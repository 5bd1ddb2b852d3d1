"""Answers as tables to compute from: typed columns with released rows in them, or made-up ones to rehearse with."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from datetime import date, datetime
from fractions import Fraction

from tacit.curator.answer import AnswerTable
from tacit.engines.answers.process import HeldTable
from tacit.engines.columns import SQL_TYPES
from tacit.policy import ColumnType
from tacit.sql import Additive, BoundQuery, Counted, Histogram, Measurement, Mode, Output
from tacit.sql.binding import post
from tacit.sql.expressions.keys import Key
from tacit.sql.planning.errors_expected import nominal_value
from tacit.sql.postprocessing.splitting import answer_name, column_name

_MOST_REHEARSED = 1_000
_ENDS = 1 << 63
Cells = Sequence[object]


def answer_table(index: int, bound: BoundQuery, table: AnswerTable, measured: Sequence[Measurement]) -> HeldTable:
    """The released rows of an answer."""
    columns = [[row[column] for row in table.rows] for column in range(len(bound.outputs))]
    kinds = [_held_type(_type(out, bound, measured), cells) for out, cells in zip(bound.outputs, columns, strict=True)]
    return _held(index, kinds, columns)


def made_up_table(index: int, bound: BoundQuery, measured: Sequence[Measurement], size: int) -> HeldTable:
    """Rows such as an answer might have, made of public words alone: its keys, where they are listed, and a number.

    Keys that are private have no rows: what they would look like nobody knows.
    """
    keys = [key.values for key in bound.keys]
    listed = [values for values in keys if isinstance(values, tuple)]
    rows = [] if len(listed) < len(keys) else list(itertools.islice(itertools.product(*listed), _MOST_REHEARSED))
    kinds = [_type(out, bound, measured) for out in bound.outputs]
    columns: list[Cells] = []
    for out, kind in zip(bound.outputs, kinds, strict=True):
        if out.key is not None:
            columns.append([_fitting(row[out.key], kind) for row in rows])
        else:
            columns.append([_number(out, measured, size) if kind in {"BIGINT", "DOUBLE"} else None for _ in rows])
    return _held(index, kinds, columns)


def drawn_table(table: HeldTable, draws: int, replaced: dict[int, Sequence[object]], draw: str) -> HeldTable:
    """The same answer in many draws, with the columns that noise has moved; `draw` is the column that numbers them."""
    rows = len(table.cells[0]) if table.cells else 0
    numbers = [index for index in range(draws) for _ in range(rows)]
    cells = [
        replaced[position] if position in replaced else list(column) * draws
        for position, column in enumerate(table.cells)
    ]
    return HeldTable(table.name, ((draw, "INTEGER"), *table.columns), (numbers, *cells))


def _held(index: int, kinds: Sequence[str], columns: Sequence[Cells]) -> HeldTable:
    named = tuple((column_name(position), kind) for position, kind in enumerate(kinds))
    return HeldTable(answer_name(index), named, tuple(columns))


def _type(out: Output, bound: BoundQuery, measured: Sequence[Measurement]) -> str:
    if out.key is not None:
        return _key_type(bound.keys[out.key])
    if isinstance(out.value, post.Grouping):
        return "BIGINT"
    if not isinstance(out.value, post.Ref):
        return "DOUBLE"
    asked = measured[out.value.measure].measure
    if isinstance(asked, Additive) and asked.counted is not Counted.VALUES:
        return "BIGINT"
    if isinstance(asked, Mode):
        return SQL_TYPES[asked.kind] + ("[]" if asked.count > 1 else "")
    return "MAP(VARCHAR, BIGINT)" if isinstance(asked, Histogram) else "DOUBLE"


def _key_type(key: Key) -> str:
    if key.step is not None:
        return "BIGINT" if key.step.denominator == 1 else "DOUBLE"
    if key.kind is not None:
        return SQL_TYPES[key.kind]
    values = key.values if isinstance(key.values, tuple) else ()
    return _type_of(values) or "VARCHAR"


def _held_type(expected: str, cells: Cells) -> str:
    """The type that was rehearsed, unless the cells are of another: a kept count may have decimals."""
    kind = _type_of([cell for cell in cells if cell is not None])
    if kind is None or kind == expected or (expected == "DOUBLE" and kind == "BIGINT"):
        return expected
    if expected.endswith("]") or expected.startswith("MAP"):
        return expected
    return kind


def _type_of(values: Cells) -> str | None:
    if not values:
        return None
    kinds = {type(value) for value in values}
    if kinds == {bool}:
        return "BOOLEAN"
    if kinds == {int}:
        return "BIGINT" if all(-_ENDS <= int(str(value)) < _ENDS for value in values) else "DOUBLE"
    if kinds <= {int, float, Fraction}:
        return "DOUBLE"
    if kinds == {datetime}:
        return SQL_TYPES[ColumnType.TIMESTAMP]
    return SQL_TYPES[ColumnType.DATE] if kinds == {date} else "VARCHAR"


def _fitting(value: object, kind: str) -> object:
    return value if kind != "VARCHAR" or isinstance(value, str) else str(value)


def _number(out: Output, measured: Sequence[Measurement], size: int) -> float | int:
    """About what such a number might be: it only has to be one."""
    if not isinstance(out.value, post.Ref):
        return 1
    return round(nominal_value(measured[out.value.measure].measure, size)) or 1
