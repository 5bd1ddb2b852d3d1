"""A synthetic table: typed columns of made-up rows, and the ways to take them away."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tacit.curator.forms.columns import AnswerColumn
from tacit.curator.forms.frames import arrow_table, pandas_frame, polars_frame
from tacit.engines.columns import SQL_TYPES, literal, quoted
from tacit.errors import InvalidParameter
from tacit.noise import IntArray
from tacit.policy import ColumnType
from tacit.policy.reading.types import EPOCH
from tacit.release.anonymise.writing.formulas import harmless
from tacit.release.synthesise.columns import Attribute
from tacit.release.synthesise.fitting.chance import Chance

if TYPE_CHECKING:
    import duckdb

FORMATS = {".parquet": "FORMAT parquet", ".csv": "FORMAT csv, HEADER"}
_CELL = "cell"
_MIDNIGHT = datetime(EPOCH.year, EPOCH.month, EPOCH.day)  # noqa: DTZ001 - columns have no zone


@dataclass(frozen=True, slots=True, eq=False)
class SyntheticTable:
    """Rows that nobody is behind. `codes` are the cells of each column, `steps` where in its cell a value lies."""

    name: str
    attributes: tuple[Attribute, ...]
    codes: tuple[IntArray, ...]
    steps: tuple[IntArray, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(each.name for each in self.attributes)

    def __len__(self) -> int:
        return int(self.codes[0].size)

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return iter(zip(*self.lists(), strict=True))

    def __repr__(self) -> str:
        return f"<synthetic table {self.name}: {len(self):,} rows, {len(self.attributes)} columns>"

    def lists(self) -> list[list[Any]]:
        """The values of each column, None for NULL."""
        return [_values(*each) for each in zip(self.attributes, self.codes, self.steps, strict=True)]

    def at(self, rows: IntArray) -> SyntheticTable:
        """These rows alone, by their indices."""
        codes, steps = (tuple(column[rows] for column in columns) for columns in (self.codes, self.steps))
        return SyntheticTable(self.name, self.attributes, codes, steps)

    def to_pandas(self) -> Any:
        """A pandas frame."""
        return pandas_frame(self._answers())

    def to_arrow(self) -> Any:
        """An Arrow table."""
        return arrow_table(self._answers())

    def to_polars(self) -> Any:
        """A polars frame."""
        return polars_frame(self._answers())

    def write(self, path: Path | str) -> None:
        """Write a file, Parquet or CSV by its name; one that is there already is not overwritten.

        In CSV a text that a spreadsheet would take for a formula has an apostrophe before it.
        """
        target = writable(path)
        with self.connection() as held:
            form, where = FORMATS[target.suffix.lower()], literal(os.fspath(target))
            table = quoted(self.name) if "parquet" in form else harmless(held, self.name)
            held.execute(f"COPY (SELECT * FROM {table}) TO {where} ({form})")

    def connection(self) -> duckdb.DuckDBPyConnection:
        """A database of its own that holds these rows and nothing else."""
        import duckdb

        held = duckdb.connect(":memory:", config={"threads": 2})
        self.put_into(held)
        return held

    def put_into(self, held: duckdb.DuckDBPyConnection) -> None:
        """Make a table of these rows in a database."""
        place_of = f"cells of {self.name}"  # whatever a table is called, it is not called so
        arrays = {"r": np.arange(len(self), dtype=np.int64)}  # a join keeps no order by itself
        arrays |= {f"c{index}": column for index, column in enumerate(self.codes)}
        held.register(place_of, arrays | {f"s{index}": column for index, column in enumerate(self.steps)})
        joins = []
        for index, attribute in enumerate(self.attributes):
            if attribute.values:
                values = quoted(f"values {index} of {self.name}")
                held.execute(f"CREATE TEMP TABLE {values} ({_CELL} BIGINT, v {SQL_TYPES[attribute.kind]})")
                lines = [[cell, _plain(value)] for cell, value in enumerate(attribute.values)]
                held.executemany(f"INSERT INTO {values} VALUES (?, ?)", lines)
                joins.append(f" LEFT JOIN {values} AS v{index} ON v{index}.{_CELL} = made.c{index}")
        shown = ", ".join(f"{_sql(index, each)} AS {quoted(each.name)}" for index, each in enumerate(self.attributes))
        rows = f"SELECT {shown} FROM {quoted(place_of)} AS made{''.join(joins)} ORDER BY made.r"
        held.execute(f"CREATE TABLE {quoted(self.name)} AS {rows}")
        held.unregister(place_of)

    def _answers(self) -> list[AnswerColumn]:
        return [AnswerColumn(name, tuple(values)) for name, values in zip(self.columns, self.lists(), strict=True)]


def joined_tables(tables: Sequence[SyntheticTable]) -> SyntheticTable:
    """The rows of several tables of one kind, one after another."""
    first = tables[0]
    codes = tuple(np.concatenate([each.codes[index] for each in tables]) for index in range(len(first.codes)))
    steps = tuple(np.concatenate([each.steps[index] for each in tables]) for index in range(len(first.steps)))
    return SyntheticTable(first.name, first.attributes, codes, steps)


def made_up_table(name: str, attributes: Sequence[Attribute]) -> SyntheticTable:
    """Rows to rehearse with, of public words alone: every cell of every column is in one of them."""
    number = max(each.cells for each in attributes)
    codes = tuple(np.arange(number, dtype=np.int64) % each.cells for each in attributes)
    return SyntheticTable(name, tuple(attributes), codes, (np.zeros(number, dtype=np.int64),) * len(attributes))


def writable(path: Path | str) -> Path:
    """Where a table may be written; refused before anything is paid for."""
    file = Path(path)
    if file.suffix.lower() not in FORMATS:
        raise InvalidParameter(f"{file.name} has no format that is written", hint="name it .parquet or .csv")
    if file.exists():
        raise InvalidParameter(f"{file.name} is there already: it is not overwritten", hint="write elsewhere")
    if not file.absolute().parent.is_dir():
        raise InvalidParameter(f"{file.name} cannot be written", hint="check that its folder is there")
    return file


def made_table(name: str, attributes: Sequence[Attribute], cells: IntArray, *, chance: Chance) -> SyntheticTable:
    """A table of rows of cells: within a bin every value is as likely as the next."""
    steps = []
    for index, attribute in enumerate(attributes):
        widths = np.array([*(attribute.widths or (1,) * len(attribute.values)), 1], dtype=np.int64)
        width = widths[np.minimum(cells[:, index], widths.size - 1)]
        steps.append(np.minimum((chance.uniform(len(cells)) * width).astype(np.int64), width - 1))
    codes = tuple(np.ascontiguousarray(cells[:, index]) for index in range(len(attributes)))
    return SyntheticTable(name, tuple(attributes), codes, tuple(steps))


def _values(attribute: Attribute, codes: IntArray, steps: IntArray) -> list[Any]:
    if attribute.values:
        listed = [*(_plain(value) for value in attribute.values), None]
        return [listed[code] for code in codes.tolist()]
    lows = np.array([*attribute.lows, 0], dtype=np.int64)
    units = lows[codes] + steps
    if attribute.kind is ColumnType.NUMBER:
        values: list[Any] = (units * float(attribute.step.numerator) / attribute.step.denominator).tolist()
    else:
        values = (units * int(attribute.step)).tolist()
    if attribute.kind is ColumnType.DATE:
        values = [EPOCH + timedelta(days=unit) for unit in values]
    elif attribute.kind is ColumnType.TIMESTAMP:
        values = [_MIDNIGHT + timedelta(seconds=unit) for unit in values]
    if not attribute.nullable:
        return values
    missing = (codes >= len(attribute.lows)).tolist()
    return [None if gone else value for value, gone in zip(values, missing, strict=True)]


def _plain(value: object) -> object:
    if isinstance(value, Fraction):
        return int(value) if value.denominator == 1 else float(value)
    return value


def _sql(index: int, attribute: Attribute) -> str:
    """A column's value from its cell and its step."""
    if attribute.values:
        return f"v{index}.v"
    cells = "[" + ", ".join(map(str, attribute.lows)) + "]"
    unit = f"(list_extract({cells}, CAST(made.c{index} + 1 AS BIGINT)) + made.s{index})"  # beyond the end: NULL
    step = attribute.step
    if attribute.kind is ColumnType.DATE:
        return f"DATE '1970-01-01' + CAST({unit} * {int(step)} AS INTEGER)"
    if attribute.kind is ColumnType.TIMESTAMP:
        return f"TIMESTAMP '1970-01-01 00:00:00' + to_seconds({unit} * {int(step)})"
    if attribute.kind is ColumnType.INTEGER:
        return f"CAST({unit} * {int(step)} AS BIGINT)"
    return f"CAST({unit} AS DOUBLE) * {step.numerator} / {step.denominator}"
