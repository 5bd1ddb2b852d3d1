"""The ends of a public table's numbers and dates, looked up in it where a question computes with them: they are public.

What is found only bounds: a value that lies outside by the time the question runs is clamped, like any other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from sqlglot import exp

from tacit.policy import ColumnPolicy, ColumnType, fold
from tacit.sql.expressions import cells
from tacit.sql.expressions.dates.moments import moment
from tacit.sql.expressions.names.aliases import qualified
from tacit.sql.expressions.names.nodes import quoted_column
from tacit.sql.expressions.names.printing import table_named
from tacit.sql.expressions.numeric import arithmetic, doubles
from tacit.sql.relations.joining.growth import CountedSchema
from tacit.sql.relations.joining.parts import NamedTable

_LARGEST = 10**15  # beyond, a double no longer tells neighbours apart
_DIGITS = 6  # of the largest number, behind its first
_FINEST = Fraction(1, 10**9)
_SMALL = 10**5  # below, a number is looked at on the finest grid
_MOVED = (
    exp.Add,
    exp.Sub,
    exp.DateAdd,
    exp.DateSub,
    exp.DateDiff,
    exp.AddMonths,
    exp.TimeToStr,
    exp.Anonymous,
    exp.Least,
    exp.Greatest,
)
_PLAIN = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.In, exp.Is, exp.Group, exp.Ordered, exp.Between)


@dataclass(frozen=True, slots=True)
class _End:
    """The query for the least or the largest of a column, counted in steps, as `n`."""

    table: str
    column: str
    step: Fraction
    kind: type[exp.Expression]

    def query(self) -> exp.Select:
        cell = quoted_column(self.column, "f")
        limit = min(self.step, Fraction(1)) * _LARGEST
        ends = {"low": doubles.beside_double(-limit), "high": doubles.beside_double(limit)}
        inside = exp.Between(this=doubles.double(cell), **ends)
        extreme = exp.Coalesce(this=self.kind(this=doubles.double(cell)), expressions=[exp.Literal.number(0)])
        steps = doubles.nearest_step(doubles.double(extreme), self.step, ends=(-_LARGEST, _LARGEST))
        source = exp.alias_(table_named(self.table), "f", table=True)
        return qualified(
            exp.select(exp.alias_(steps, "n", copy=False)).from_(source, copy=False).where(inside, copy=False)
        )


@dataclass(frozen=True, slots=True)
class _FarthestMoment:
    """The query for the first or the last moment of a column, in days or seconds since 1970, as `n`."""

    table: str
    column: str
    kind: ColumnType
    sql_type: str
    which: type[exp.Expression]

    def query(self) -> exp.Select:
        is_day = self.kind is ColumnType.DATE
        cell = cells.comparable(quoted_column(self.column, "f"), self.sql_type)
        inside = cells.within_calendar(cell, "DATE" if is_day else "TIMESTAMP")
        counted = (arithmetic.day_number if is_day else arithmetic.second_number)(inside)
        extreme = exp.Coalesce(this=self.which(this=counted), expressions=[exp.Literal.number(0)])
        source = exp.alias_(table_named(self.table), "f", table=True)
        return qualified(exp.select(exp.alias_(extreme, "n", copy=False)).from_(source, copy=False))


def with_ends(part: NamedTable, select: exp.Select, schema: Mapping[str, Mapping[str, str]]) -> NamedTable:
    """The part, with bounds for the numbers of a public table that a query computes with."""
    if part.is_private or part.derived is not None or not isinstance(schema, CountedSchema):
        return part
    names = {fold(column.name) for column in select.find_all(exp.Column) if not isinstance(column.parent, _PLAIN)}
    moved = {fold(column.name) for column in select.find_all(exp.Column) if _is_moved(column)}
    columns = tuple(
        _bounded(column, part, schema, moved=moved) if fold(column.name) in names and column.bounds is None else column
        for column in part.columns
    )
    return part if columns == part.columns else replace(part, columns=columns)


def _is_moved(column: exp.Column) -> bool:
    """Whether a date that it may be is moved, or held against another: as a key it is one of the table's own."""
    parent = column.parent
    while isinstance(parent, (exp.Paren, exp.Cast)):
        parent = parent.parent
    return isinstance(parent, _MOVED)


def _bounded(column: ColumnPolicy, part: NamedTable, schema: CountedSchema, *, moved: set[str]) -> ColumnPolicy:
    written = {fold(name): name for name in part.types}.get(fold(column.name), column.name)
    kind = column.type or ColumnType.from_sql(part.types.get(written, ""))
    if kind is not None and kind.is_temporal and fold(column.name) in moved:
        return _between_moments(column, part, schema, kind)
    if kind is None or not kind.is_numeric:
        return column

    def ends(step: Fraction) -> tuple[int, int]:
        least, most = (
            schema.number(_End(part.table.name, written, step, which).query()) for which in (exp.Min, exp.Max)
        )
        return least, most

    step = Fraction(1)
    if kind is ColumnType.NUMBER:
        largest = max(map(abs, ends(step)))
        step = _step(max(map(abs, ends(_FINEST))) * _FINEST if largest < _SMALL else Fraction(largest))
    low, high = ends(step)
    if kind is ColumnType.NUMBER:  # what was found is the nearest step: the number itself may lie beyond it
        low, high = low - 1, high + 1
    return replace(column, type=kind, lower=low * step, upper=max(high, low + 1) * step, step=step)


def _between_moments(column: ColumnPolicy, part: NamedTable, schema: CountedSchema, kind: ColumnType) -> ColumnPolicy:
    written = {fold(name): name for name in part.types}.get(fold(column.name), column.name)
    sql_type = part.types.get(written, "")
    first, last = (
        schema.number(_FarthestMoment(part.table.name, written, kind, sql_type, which).query())
        for which in (exp.Min, exp.Max)
    )
    ends = [moment(Fraction(end), kind) for end in (first, max(last, first + 1))]
    return replace(column, type=kind, lower=ends[0], upper=ends[1])


def _step(largest: Fraction) -> Fraction:
    """A power of ten so many digits below the largest number."""
    step = Fraction(1)
    while largest and step * 10**_DIGITS > largest and step > _FINEST:
        step /= 10
    while step * 10 ** (_DIGITS + 1) < largest:
        step *= 10
    return step
