"""The columns of a synthetic table: into which public cells each falls, and what a cell stands for."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from fractions import Fraction

from tacit.core import decimal_text
from tacit.errors import InvalidParameter, QueryRefused
from tacit.policy import ColumnPolicy, ColumnType, ListDomain, RangeDomain, TableDomain, TablePolicy
from tacit.policy.reading.types import EPOCH, Value

MOST_CELLS = 1_000  # of a column whose values are listed
MOST_BINS = 100  # of a column that has bounds
MOST_COLUMNS = 60
_UNITS = {ColumnType.DATE: ("day", "week", "month", "quarter", "year"),
          ColumnType.TIMESTAMP: ("hour", "day", "week", "month", "quarter", "year")}  # fmt: skip
_SPAN = {"hour": 3_600, "day": 86_400, "week": 604_800, "month": 2_678_400, "quarter": 8_035_200, "year": 31_622_400}


@dataclass(frozen=True, slots=True)
class Attribute:
    """One column: its cells are listed values, or bins of whole steps; where it may be NULL, one more cell is that.

    Bin i stands for the values step · (lows[i] + u), u = 0 … widths[i] − 1: numbers, days or seconds since 1970.
    """

    name: str
    kind: ColumnType
    ordered: bool
    nullable: bool
    values: tuple[Value, ...] = ()
    lows: tuple[int, ...] = ()
    widths: tuple[int, ...] = ()
    step: Fraction = Fraction(1)

    @property
    def cells(self) -> int:
        """How many cells it has, NULL among them."""
        return len(self.values or self.lows) + self.nullable


@dataclass(frozen=True, slots=True)
class ColumnKey:
    """How a column is written as a key to group by, and what is known of its cells before the key is bound."""

    column: ColumnPolicy
    kind: ColumnType
    sql: str
    width: Fraction | None = None  # of bins of numbers


def chosen_columns(table: TablePolicy, names: Sequence[str]) -> tuple[ColumnPolicy, ...]:
    """The columns that are named, or all but the unit's and those that link to other tables."""
    if table.public:
        raise QueryRefused(f"{table.name} is public: nobody in it is hidden, so its rows can be read as they are")
    if names:
        refuse_unit(table, names)
        columns = tuple(table.column(name) for name in names)
        if len({column.name for column in columns}) < len(columns):
            raise InvalidParameter("a column is named twice")
    else:
        columns = tuple(column for column in table.visible if not table.is_unit(column.name))
    if not columns:
        raise QueryRefused(f"{table.name} has no column that a row could be made of")
    if len(columns) > MOST_COLUMNS:
        raise QueryRefused(
            f"{table.name} has {len(columns)} columns: at most {MOST_COLUMNS} are made", hint="name those you need"
        )
    return columns


def modelled_columns(table: TablePolicy) -> tuple[str, ...]:
    """The names of the columns that have a public domain, and so can be made."""
    columns = []
    for column in table.visible:
        if table.is_unit(column.name):
            continue
        try:
            columns.append(key_of(table, column).column.name)
        except QueryRefused:
            continue
    return tuple(columns)


def refuse_unit(table: TablePolicy, names: Iterable[str]) -> None:
    """Refuse to make up whose a row is."""
    for name in names:
        if table.is_unit(name):
            raise QueryRefused(
                f"{name} is refused: it is the unit, and rows that are answered are made up, and nobody's",
                hint="leave it out, or ask for an aggregate, as in COUNT(*)",
            )


def key_of(table: TablePolicy, column: ColumnPolicy, *, alias: str = "") -> ColumnKey:
    """The key of a column by its public domain; refused where it has none, with the line to add to the policy.

    `alias` is what the table goes by where it is joined with others.
    """
    name = (f"{alias}." if alias else "") + '"' + column.name.replace('"', '""') + '"'
    kind = column.type
    if kind is None:
        raise QueryRefused(f"{table.name}.{column.name} has a type that tacit cannot count", hint="name other columns")
    if isinstance(column.domain, (ListDomain, TableDomain)) or kind is ColumnType.BOOLEAN:
        return ColumnKey(column, kind, name)
    if column.bounds is None:
        missing = 'domain = ["…"]' if kind is ColumnType.TEXT else "lower = …, upper = …"
        raise QueryRefused(
            f"{table.name}.{column.name} has no public domain: a synthetic value must come from one",
            hint=f"add {column.name} = {{ {missing} }} to [tables.{table.name}.columns], or name the other columns",
        )
    few = column.bounds.cells <= MOST_BINS
    if few and isinstance(column.domain, RangeDomain) and (kind.is_numeric or column.bounds.step == 1):
        return ColumnKey(column, kind, name, width=column.bounds.step if kind.is_numeric else None)
    if kind.is_numeric:
        width = _width(column.bounds.upper - column.bounds.lower, column.bounds.step)
        return ColumnKey(column, kind, f"FLOOR({name} / {decimal_text(width)})", width=width)
    seconds = (column.bounds.upper - column.bounds.lower) * (86_400 if kind is ColumnType.DATE else 1)
    unit = next((unit for unit in _UNITS[kind] if seconds / _SPAN[unit] < MOST_BINS), "year")
    return ColumnKey(column, kind, f"DATE_TRUNC('{unit}', {name})")


def _width(span: Fraction, step: Fraction) -> Fraction:
    """The least of 1, 2, 5, 10, 20, 50, … steps that makes few enough bins."""
    size = 1
    while True:
        for digit in (1, 2, 5):
            if span / (step * digit * size) < MOST_BINS - 1:
                return step * digit * size
        size *= 10


def grid_key(table: TablePolicy, column: ColumnPolicy, *, most: int) -> ColumnKey:
    """The key of a column of numbers in at most so many bins of one width, a whole number of steps."""
    if column.type is None or not column.type.is_numeric or column.bounds is None:
        raise QueryRefused(
            f"{table.name}.{column.name} has no bounds: bins are public, and never read off the data",
            hint=f'add {column.name} = {{ type = "number", lower = …, upper = … }} to [tables.{table.name}.columns]',
        )
    bounds = column.bounds
    steps = max(1, math.ceil((bounds.upper - bounds.lower) / bounds.step / max(1, most - 1)))
    width = bounds.step * steps
    name = '"' + column.name.replace('"', '""') + '"'
    return ColumnKey(column, column.type, f"FLOOR({name} / {decimal_text(width)})", width=width)


def refuse_empty(table: str, attribute: Attribute) -> None:
    """Refuse to count the values of a column whose public table lists none, before anything is paid."""
    if not attribute.values and not attribute.lows:
        raise QueryRefused(
            f"{table}.{attribute.name} has no public value: the table that lists them is empty",
            hint=f"fill it, or declare another domain of {attribute.name} in [tables.{table}.columns]",
        )


def attribute_of(key: ColumnKey, values: Sequence[object], *, most: int = MOST_CELLS) -> Attribute:
    """The column with the cells that its key has when it is bound: at most so many."""
    column, kind = key.column, key.kind
    if len(values) > most:
        raise QueryRefused(
            f"{column.name} has {len(values):,} cells: at most {most:,} are counted",
            hint="declare a coarser domain, or leave the column out",
        )
    attribute = Attribute(column.name, kind, ordered=kind.has_order, nullable=column.null is None)
    if isinstance(column.domain, (ListDomain, TableDomain)) or kind is ColumnType.BOOLEAN or column.bounds is None:
        listed: tuple[Value, ...] = tuple(values)  # type: ignore[arg-type]  # cells are of the policy's kinds
        return replace(attribute, ordered=False, values=listed)
    step = column.bounds.step
    low, high = int(column.bounds.lower / step), int(column.bounds.upper / step)
    starts = [_steps(value, key, step) for value in values]
    ends = [*starts[1:], high + 1]
    lows = [max(start, low) for start in starts]
    widths = [max(1, min(end, high + 1) - start) for start, end in zip(lows, ends, strict=True)]
    return replace(attribute, lows=tuple(lows), widths=tuple(widths), step=step)


def _steps(value: object, key: ColumnKey, step: Fraction) -> int:
    """Where a bin begins, in steps of the column."""
    if isinstance(value, datetime):
        return int((value - datetime(EPOCH.year, EPOCH.month, EPOCH.day)) // timedelta(seconds=1) / step)  # noqa: DTZ001
    if isinstance(value, date):
        days = (value - EPOCH).days
        return int(days / step) if key.kind is ColumnType.DATE else int(days * 86_400 / step)
    if not isinstance(value, (int, Fraction)) or key.width is None:
        raise QueryRefused(f"{key.column.name} has a cell that is no number")
    plain = key.width if key.sql.startswith("FLOOR(") else Fraction(1)
    return int(value * plain / step)
