"""The ends of a public table's numbers, looked up in it where a question computes with them: they are public.

What is found only bounds: a value that lies outside by the time the question runs is clamped, like any other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from sqlglot import exp

from tacit.policy import ColumnPolicy, ColumnType, fold
from tacit.sql.expressions.names.aliases import qualified
from tacit.sql.expressions.names.nodes import quoted_column
from tacit.sql.expressions.names.printing import table_named
from tacit.sql.expressions.numeric import doubles
from tacit.sql.relations.joining.growth import CountedSchema
from tacit.sql.relations.joining.parts import NamedTable

_LARGEST = 10**15  # beyond, a double no longer tells neighbours apart
_DIGITS = 6  # of the largest number, behind its first
_FINEST = Fraction(1, 10**9)
_SMALL = 10**5  # below, a number is looked at on the finest grid
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


def with_ends(part: NamedTable, select: exp.Select, schema: Mapping[str, Mapping[str, str]]) -> NamedTable:
    """The part, with bounds for the numbers of a public table that a query computes with."""
    if part.is_private or part.derived is not None or not isinstance(schema, CountedSchema):
        return part
    names = {fold(column.name) for column in select.find_all(exp.Column) if not isinstance(column.parent, _PLAIN)}
    columns = tuple(
        _bounded(column, part, schema) if fold(column.name) in names and column.bounds is None else column
        for column in part.columns
    )
    return part if columns == part.columns else replace(part, columns=columns)


def _bounded(column: ColumnPolicy, part: NamedTable, schema: CountedSchema) -> ColumnPolicy:
    written = {fold(name): name for name in part.types}.get(fold(column.name), column.name)
    kind = column.type or ColumnType.from_sql(part.types.get(written, ""))
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


def _step(largest: Fraction) -> Fraction:
    """A power of ten so many digits below the largest number."""
    step = Fraction(1)
    while largest and step * 10**_DIGITS > largest and step > _FINEST:
        step /= 10
    while step * 10 ** (_DIGITS + 1) < largest:
        step *= 10
    return step
