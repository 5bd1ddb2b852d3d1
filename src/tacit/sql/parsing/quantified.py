"""Comparisons with ANY and ALL of a subquery, and LIST_CONTAINS, as the conditions that they are."""

from __future__ import annotations

from typing import TypeVar

from sqlglot import exp

from tacit.sql.expressions.names.printing import copied

T = TypeVar("T", bound=exp.Expr)
_PLAIN = {"kind", "expressions", "from_", "joins", "where", "distinct"}
_AROUND = (exp.And, exp.Or, exp.Paren)


def without_quantifiers(tree: T) -> T:
    """`x = ANY (SELECT y …)` as IN, `x > ALL (SELECT y …)` in WHERE as NOT EXISTS a y for which it is not so.

    What is in none of these forms stays as it is, and is refused by its name.
    """
    for node in list(tree.find_all(exp.ArrayContains)):
        if isinstance(node.this, exp.Array) and node.this.expressions:
            node.replace(
                exp.In(this=copied(node.expression), expressions=[copied(each) for each in node.this.expressions])
            )
    for quantifier in list(tree.find_all(exp.Any, exp.All)):
        compared, query = quantifier.parent, _query(quantifier)
        if query is None or not isinstance(compared, exp.Predicate) or compared.expression is not quantifier:
            continue
        written = _written(compared, query, every=isinstance(quantifier, exp.All))
        if written is not None:
            compared.replace(written)
    return tree


def _query(node: exp.Expr) -> exp.Select | None:
    inner = node.this
    while isinstance(inner, (exp.Paren, exp.Subquery)):
        inner = inner.this
    return inner if isinstance(inner, exp.Select) else None


def _written(compared: exp.Expr, query: exp.Select, *, every: bool) -> exp.Expr | None:
    left = compared.this
    listed = exp.In(this=copied(left), query=exp.Subquery(this=copied(query)))
    if isinstance(compared, exp.NEQ) and every:
        return exp.Not(this=listed)
    if isinstance(compared, exp.EQ) and not every:
        return listed
    plain = not any(value for name, value in query.args.items() if name not in _PLAIN) and len(query.expressions) == 1
    item = query.expressions[0].unalias()
    if not plain or item.find(exp.AggFunc, exp.Star) or not _is_filter(compared):
        return None
    outside = _qualified(left, compared.find_ancestor(exp.Select))
    if outside is None:
        return None
    holds = type(compared)(this=outside, expression=copied(item))
    rows = copied(query)
    rows.set("expressions", [exp.Literal.number(1)])
    rows.set("distinct", None)
    if every:
        untrue: exp.Expr = exp.Not(this=exp.Paren(this=holds))
        for side in (outside, item):
            if side.find(exp.Column):
                missing = exp.Is(this=copied(side), expression=exp.null())
                untrue = exp.Or(this=untrue, expression=missing)
        return exp.Not(this=exp.Exists(this=rows.where(exp.Paren(this=untrue), copy=False)))
    return exp.Exists(this=rows.where(holds, copy=False))


def _is_filter(node: exp.Expr) -> bool:
    """Whether only that it is true counts: in WHERE, and below nothing but AND and OR."""
    while isinstance(node.parent, _AROUND):
        node = node.parent
    return isinstance(node.parent, exp.Where)


def _qualified(left: exp.Expr, select: exp.Select | None) -> exp.Expr | None:
    """What stands outside, by names that the subquery cannot take for its own; None where they have no table."""
    copy = exp.Paren(this=copied(left))
    columns = [column for column in copy.find_all(exp.Column) if not column.table]
    source = None if select is None or select.args.get("joins") else select.args.get("from_")
    if columns and not isinstance(source, exp.From):
        return None
    name = source.this.alias_or_name if isinstance(source, exp.From) else ""
    for column in columns:
        column.set("table", exp.to_identifier(name, quoted=True))
    inside: exp.Expr = copy.this
    return inside
