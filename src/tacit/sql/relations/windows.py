"""Window functions within one unit: a number for each row that the unit's own rows decide."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from sqlglot import exp

from tacit.errors import QueryRefused
from tacit.sql.expressions.grid import Grid
from tacit.sql.expressions.numbers import number
from tacit.sql.expressions.operands import operand
from tacit.sql.expressions.predicates import predicate
from tacit.sql.expressions.scope import Scope, bare, name_of
from tacit.sql.relations.relation import Relation

_RANKS = (exp.RowNumber, exp.Rank, exp.DenseRank)
_NEIGHBOURS = (exp.Lag, exp.Lead)
_BY_PLACE = (exp.RowNumber, *_NEIGHBOURS)  # the others give equal rows equal numbers
_FARTHEST = 1_000_000  # rows that LAG and LEAD look back or ahead
_TOTALS = (exp.Count, exp.Sum, exp.Min, exp.Max)


def window(node: exp.Window, scope: Scope, relation: Relation) -> Grid:
    """The grid value of a window function that looks at one unit's rows only.

    Rows that the ORDER BY leaves equal, all of them where there is none, are put in order by all their columns and
    keys, so that neither storage nor any other unit decides between them; rows that are equal in all that could leave
    the subquery may change places unseen.
    """
    function = node.this
    keys = node.args.get("partition_by") or []
    if relation.table.public:
        raise QueryRefused(
            f"{name_of(function)} OVER is refused over public tables", hint="make a public table or view that has it"
        )
    if not any(scope.key(bare(key)) for key in keys):
        raise QueryRefused(
            f"{name_of(function)} OVER would look at the rows of several units",
            hint=f"write OVER (PARTITION BY {relation.table.unit_column} …)",
        )
    extra = [
        name for name, value in node.args.items() if value and name not in {"this", "partition_by", "order", "over"}
    ]
    if extra:
        raise QueryRefused(f"a window with {extra[0].upper()} is refused", hint="PARTITION BY and ORDER BY are allowed")
    ordered = _order(node.args.get("order"), scope)
    if isinstance(function, _BY_PLACE):
        ordered += [_ordered(exp.column(exp.to_identifier(name, quoted=True))) for name in relation.all_columns]
    partition = [_plain(key, scope) for key in keys]
    owner = exp.column(exp.to_identifier(relation.table.unit_column or "", quoted=True))
    grid = _function(function, scope, relation, ordered=bool(node.args.get("order")))
    made = exp.Window(this=grid.sql, partition_by=[relation.spelled(owner), *partition])
    if ordered:
        made.set("order", exp.Order(expressions=ordered))
    return replace(grid, sql=made)


def _function(function: exp.Expression, scope: Scope, relation: Relation, *, ordered: bool) -> Grid:
    cap = relation.table.max_rows
    if isinstance(function, (exp.Rank, exp.DenseRank)) and not ordered:
        raise QueryRefused(f"{name_of(function)} needs an ORDER BY", hint="write OVER (PARTITION BY … ORDER BY …)")
    if isinstance(function, _RANKS) and not function.expressions:
        if cap is None:
            raise _uncapped(function, scope)
        return Grid(type(function)(), Fraction(1), 0, cap)
    if isinstance(function, _NEIGHBOURS) and ordered and not function.args.get("default"):
        places = function.args.get("offset")
        if places is not None and not (
            isinstance(places, exp.Literal) and str(places.this).isdigit() and int(places.this) <= _FARTHEST
        ):
            raise QueryRefused(f"{name_of(function)} takes a whole number of rows")
        values = number(function.this, scope, predicate=predicate)
        made = type(function)(this=values.sql, **({} if places is None else {"offset": places.copy()}))
        return replace(values, sql=made, nullable=True)
    if isinstance(function, _TOTALS) and not ordered and not isinstance(function.this, exp.Distinct):
        return _total(function, scope, cap)
    raise QueryRefused(
        f"{name_of(function)} OVER is refused in this form",
        hint="ROW_NUMBER, RANK, DENSE_RANK, LAG and LEAD with ORDER BY; COUNT, SUM, MIN and MAX without",
    )


def _uncapped(function: exp.Expression, scope: Scope) -> QueryRefused:
    tables = " and ".join(f"[tables.{name}]" for name in scope.private_tables)
    return QueryRefused(
        f"{name_of(function)} OVER has no bound: max_rows is not declared", hint=f"add max_rows = … to {tables}"
    )


def _total(function: exp.Expression, scope: Scope, cap: int | None) -> Grid:
    if isinstance(function, exp.Count):
        if cap is None:
            raise _uncapped(function, scope)
        return Grid(
            exp.Count(this=exp.Star() if isinstance(function.this, exp.Star) else _plain(function.this, scope)),
            Fraction(1),
            0,
            cap,
        )
    values = number(function.this, scope, predicate=predicate)
    if isinstance(function, exp.Sum):
        if cap is None:
            raise _uncapped(function, scope)
        ends = cap * min(values.low, 0), cap * max(values.high, 0)
        return Grid(exp.Sum(this=values.sql), values.step, *ends, nullable=True)
    return replace(values, sql=type(function)(this=values.sql), nullable=True)


def _order(order: exp.Order | None, scope: Scope) -> list[exp.Expression]:
    if order is None:
        return []
    asked: list[exp.Expression] = []
    for item in order.expressions:
        if item.args.get("nulls_first") or item.args.get("with_fill"):
            raise QueryRefused("NULLS FIRST and WITH FILL are refused in ORDER BY", hint="NULL stands last")
        asked.append(_ordered(_plain(item.this, scope), descending=bool(item.args.get("desc"))))
    return asked


def _ordered(value: exp.Expression, *, descending: bool = False) -> exp.Expression:
    return exp.Ordered(this=value, desc=descending, nulls_first=False)  # said, for engines differ


def _plain(node: exp.Expression, scope: Scope) -> exp.Expression:
    found = scope.key(bare(node))
    if found is not None:
        return exp.column(exp.to_identifier(found[0], quoted=True))
    value = operand(node, scope)
    return value.sql if value is not None else number(node, scope, predicate=predicate).sql
