"""The rows that no question counts, for the curator's own eyes: each as SQL that counts them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp

from tacit.errors import TacitError
from tacit.policy import ColumnType, NullUnit, Policy, Schema, TablePolicy
from tacit.policy.reading.readers import MAX_COUNT
from tacit.sql.binding.bind import BoundQuery, bind
from tacit.sql.emitting.dialects import emit
from tacit.sql.expressions.names.aliases import qualified
from tacit.sql.expressions.names.nodes import quoted_column
from tacit.sql.expressions.names.printing import copied, table_named
from tacit.sql.parsing.parse import parse
from tacit.sql.relations.joining.two_owners import with_partners

COUNT = "n"


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Rows of a table without an owner, or, if a column is named, without one of its public values.

    `total` counts the rows there are, `kept` those that questions count, and `empty` those whose cell is NULL.
    """

    table: str
    column: str | None
    total: str
    kept: str
    empty: str
    key: str = "unit"  # of the policy, where no column is named


def left_out(policy: Policy, schema: Schema, *, dialect: str) -> Iterator[LeftOut]:
    """What to count, by the conditions that the questions themselves run; `policy` knows the types of its columns."""
    for table in policy.tables:
        if table.public:
            continue
        if table.units:
            yield _unpaired(table, dialect)
        elif table.unit_column is not None and table.null_unit is NullUnit.DROP:
            yield _unowned(table, _bound(f'COUNT(*) FROM "{table.name}"', policy, schema), dialect)
        for column in table.visible:
            if table.is_unit(column.name) or not (column.domain is not None or column.type is ColumnType.BOOLEAN):
                continue
            try:
                grouped = _bound(f'COUNT(*) FROM "{table.name}" GROUP BY "{column.name}"', policy, schema)
            except TacitError:  # it cannot be grouped by, so nothing is left out by it
                continue
            yield _unlisted(table, column.name, grouped, dialect)


def _bound(body: str, policy: Policy, schema: Schema) -> BoundQuery:
    return bind(parse(f"DP-SELECT 1 {body}"), policy, schema=schema)


def _unowned(table: TablePolicy, bound: BoundQuery, dialect: str) -> LeftOut:
    """A row has an owner where the relation says so: in its own column, or in the table it links to."""
    rows = table_named(table.name)
    owner, own = (_column(name or "") for name in (bound.table.unit_column, table.unit_column))
    return LeftOut(
        table.name,
        None,
        total=_count(rows, None, dialect),
        kept=_count(bound.relation.sql, _present(owner), dialect),
        empty=_count(rows, exp.Is(this=own, expression=exp.null()), dialect),
    )


def _unpaired(table: TablePolicy, dialect: str) -> LeftOut:
    """A row with two owners counts where both are there."""
    rows, owners = table_named(table.name), [_column(name) for name in table.units]
    there = exp.And(this=_present(owners[0]), expression=_present(owners[1]))
    return LeftOut(
        table.name,
        None,
        total=_count(rows, None, dialect),
        kept=_count(rows, there, dialect),
        empty=_count(rows, exp.Not(this=exp.Paren(this=copied(there))), dialect),
        key="units",
    )


def _unlisted(table: TablePolicy, name: str, bound: BoundQuery, dialect: str) -> LeftOut:
    (key,) = bound.keys
    column = key.sql.find(exp.Column) or _column(name)
    rows = with_partners(copied(bound.relation.sql), MAX_COUNT)  # all of them, where rows have two owners
    return LeftOut(
        table.name,
        name,
        total=_count(rows, None, dialect),
        kept=_count(rows, key.keep or _present(column), dialect),
        empty=_count(rows, exp.Is(this=column, expression=exp.null()), dialect),
    )


def _column(name: str) -> exp.Expression:
    return quoted_column(name)


def _present(column: exp.Expression) -> exp.Expression:
    return exp.Not(this=exp.Is(this=copied(column), expression=exp.null()))


def _count(rows: exp.Expression, where: exp.Expression | None, dialect: str) -> str:
    counted = exp.select(exp.alias_(exp.Count(this=exp.Star()), COUNT)).from_(copied(rows))
    return emit(qualified(counted if where is None else counted.where(copied(where))), dialect)
