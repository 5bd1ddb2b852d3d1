"""PIVOT … ON x without the values that become columns: those of the public domain of x, where it has one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sqlglot import exp

from tacit.errors import QueryRefused
from tacit.policy import Policy, Schema
from tacit.sql.binding.bind import bind
from tacit.sql.expressions.names.nodes import aliased
from tacit.sql.expressions.names.printing import copied
from tacit.sql.parsing.pivots import as_select, is_open, unlisted
from tacit.sql.parsing.query import Query

_MOST = 60  # values that become columns


def with_listed_pivots(query: Query, policy: Policy, *, schema: Schema) -> Query:
    """The question with every such PIVOT as the SELECT that it means. Refuses one of values that only rows have."""
    if not any(is_open(pivot) for pivot in query.select.find_all(exp.Pivot)):
        return query
    tree = copied(query.select)
    named = {cte.alias.casefold(): cte.this for cte in tree.find_all(exp.CTE)}
    for pivot in [each for each in tree.find_all(exp.Pivot) if is_open(each)]:
        field = pivot.expressions[0]
        question = _of_values(pivot.this, field, named)
        clause = tree.args.get("with_")
        question.set("with_", None if clause is None else copied(clause))
        values = _values(replace(query, select=question), policy, schema)
        pivot.set("expressions", [exp.In(this=copied(field), expressions=values)])
        pivot.replace(as_select(pivot, named))
    return replace(query, select=tree)


def _of_values(source: exp.Expr, field: exp.Expr, named: Mapping[str, exp.Expr]) -> exp.Select:
    """The question that has the values of the field as its groups; those of an answer are a key of it."""
    rows = source.this if isinstance(source, exp.Subquery) else named.get(source.name.casefold())
    if isinstance(rows, exp.Select) and rows.args.get("group") is not None:
        names = [item.alias_or_name.casefold() for item in rows.expressions]
        key = rows.expressions[names.index(field.name.casefold())].unalias() if field.name.casefold() in names else None
        if key is None:
            raise unlisted()
        question = copied(rows)
        for clause in ("having", "order", "limit", "offset", "qualify", "distinct"):
            question.set(clause, None)
        field = key
    else:
        question = exp.Select(from_=exp.From(this=copied(source)))
    question.set("expressions", [copied(field), aliased(exp.Count(this=exp.Star()), "n")])
    question.set("group", exp.Group(expressions=[copied(field)]))
    return question


def _values(query: Query, policy: Policy, schema: Schema) -> list[exp.Expr]:
    key = bind(query, policy, schema=schema).keys[0]
    values = [] if not isinstance(key.values, tuple) else [value for value in key.values if value is not None]
    if not values or not all(isinstance(value, (str, int)) for value in values):
        raise unlisted()
    if len(values) > _MOST:
        raise QueryRefused(
            f"PIVOT is refused with {len(values):,} values that become columns: at most {_MOST} do",
            hint="list those that are wanted: PIVOT t ON x IN ('a', 'b') USING COUNT(*) GROUP BY y",
        )
    return [_literal(value) for value in sorted(values, key=lambda value: (isinstance(value, str), value))]


def _literal(value: object) -> exp.Expr:
    if isinstance(value, bool):
        return exp.Boolean(this=value)
    return exp.Literal.string(value) if isinstance(value, str) else exp.Literal.number(int(str(value)))
