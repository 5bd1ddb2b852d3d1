"""EXISTS with an inequality: of a unit's rows only the least and the greatest value matter.

A row with a greater value exists if and only if the greatest is greater; one with another value, if and only if the
least or the greatest is another. So a unit's rows are folded into one for each combination of the columns that other
conditions look at, before they are held against the rows outside: work that would grow with the square of one person's
rows grows with their number.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from tacit.policy import ColumnType, fold
from tacit.sql.expressions.cells import in_steps
from tacit.sql.expressions.names.nodes import paren, quoted_column
from tacit.sql.expressions.names.printing import copied
from tacit.sql.expressions.names.scope import bare
from tacit.sql.expressions.numeric.numerics import numeric
from tacit.sql.relations.joining.parts import unlike

_MIRRORED: dict[type[exp.Expression], type[exp.Expression]] = {
    exp.GT: exp.LT,
    exp.GTE: exp.LTE,
    exp.LT: exp.GT,
    exp.LTE: exp.GTE,
    exp.NEQ: exp.NEQ,
}
_ABOVE: set[type[exp.Expression]] = {exp.GT, exp.GTE}
_ORDERED = {"varchar", "text", "string", "date", "timestamp"}  # every engine has MIN and MAX of these, in their order


@dataclass(frozen=True, slots=True)
class Folded:
    """The columns of the rows, those that they are grouped by, and the conditions on them."""

    columns: list[exp.Expression]
    groups: list[exp.Expression]
    conditions: list[exp.Expression]


@dataclass(frozen=True, slots=True)
class _Inequality:
    index: int  # among the conditions
    operator: type[exp.Expression]  # with the subquery's column on its left
    column: exp.Column
    value: exp.Expression


def folded(
    columns: Sequence[exp.Expression], conditions: Sequence[exp.Expression], *, inner: str, types: Mapping[str, str]
) -> Folded | None:
    """The subquery's rows folded by one inequality; None where there is none that alone looks at its column.

    `inner` qualifies the columns of the subquery in the conditions; `types` are theirs, by folded name.
    """
    inequality = next(_inequalities(conditions, inner, types), None)
    if inequality is None or not all(can_be_grouped(types.get(column.alias_or_name.casefold())) for column in columns):
        return None
    kept = [column for column in columns if column.alias_or_name != inequality.column.name]
    groups = [_written(column) for column in kept]
    own = _written(next(column for column in columns if column.alias_or_name == inequality.column.name))
    least, greatest = exp.Min(this=copied(own)), exp.Max(this=copied(own))
    others = [each for index, each in enumerate(conditions) if index != inequality.index]
    if inequality.operator is not exp.NEQ:
        best = greatest if inequality.operator in _ABOVE else least
        return Folded([*kept, _named(best, inequality.column.name)], groups, list(conditions))
    taken = {fold(column.alias_or_name) for column in columns}
    top = unlike(f"greatest {inequality.column.name}", lambda name: fold(name) in taken)
    extremes = [_named(least, inequality.column.name), _named(greatest, top)]
    ends = [inequality.column, quoted_column(top, inner)]
    return Folded([*kept, *extremes], groups, [*others, _either(ends, inequality.value)])


def _either(ends: Sequence[exp.Expression], value: exp.Expression) -> exp.Expression:
    one, other = (exp.NEQ(this=copied(end), expression=copied(value)) for end in ends)
    return paren(exp.Or(this=one, expression=other))


def _inequalities(conditions: Sequence[exp.Expression], inner: str, types: Mapping[str, str]) -> Iterator[_Inequality]:
    used = [column.name for each in conditions for column in each.find_all(exp.Column) if column.table == inner]
    for index, condition in enumerate(conditions):
        node = bare(condition)
        mirrored = _MIRRORED.get(type(node))
        if mirrored is None:
            continue
        for operator, side, other in (
            (type(node), bare(node.this), node.expression),
            (mirrored, bare(node.expression), node.this),
        ):
            if not isinstance(side, exp.Column) or side.table != inner or used.count(side.name) != 1:
                continue
            if _is_ordered(types.get(side.name.casefold(), "")) and not other.find(exp.Select):
                yield _Inequality(index, operator, side, other)


def _written(column: exp.Expression) -> exp.Expression:
    """The column itself, whatever it is called here."""
    inside = column.this if isinstance(column, exp.Alias) else column
    assert isinstance(inside, exp.Expression)  # noqa: S101 - the stubs do not say so
    return copied(inside)


def _named(value: exp.Expression, name: str) -> exp.Expression:
    return exp.Alias(this=value, alias=exp.to_identifier(name, quoted=True))


def can_be_grouped(kind: str | None) -> bool:
    """Whether cells of a type can: keys, which have none, and all that tacit knows. A JSON of PostgreSQL fails."""
    return kind is None or in_steps(kind) or ColumnType.from_sql(kind) is not None


def _is_ordered(sql_type: str) -> bool:
    known = numeric(sql_type)
    return sql_type.lower() in _ORDERED or (known is not None and bool(known.sql_type))
