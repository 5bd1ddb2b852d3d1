"""Comparisons with ANY and ALL of a subquery, IN one that looks outside, and LIST_CONTAINS, as what they ask."""

from __future__ import annotations

from typing import TypeVar

from sqlglot import exp

from tacit.policy import fold
from tacit.sql.expressions.names.printing import copied
from tacit.sql.expressions.names.scope import bare, conjuncts

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
    for quantifier in reversed(list(tree.find_all(exp.Any, exp.All))):  # what is inside first
        compared, query = quantifier.parent, _query(quantifier)
        if query is None or not isinstance(compared, exp.Predicate) or compared.expression is not quantifier:
            continue
        written = _written(compared, query, every=isinstance(quantifier, exp.All))
        if written is not None:
            compared.replace(written)
    for listed in reversed(list(tree.find_all(exp.In))):
        query = None if listed.args.get("query") is None else _unwrapped(listed.args["query"])
        outermost = listed.parent if isinstance(listed.parent, exp.Not) else listed
        if query is not None and _is_tied(query):
            kind, every = (exp.NEQ, True) if outermost is not listed else (exp.EQ, False)
            exists = _exists(outermost, listed.this, kind, query, every=every)
            if exists is not None:
                outermost.replace(exists)
    return tree


def _query(node: exp.Expr) -> exp.Select | None:
    return _unwrapped(node.this)


def _unwrapped(inner: exp.Expr) -> exp.Select | None:
    while isinstance(inner, (exp.Paren, exp.Subquery)):
        inner = inner.this
    return inner if isinstance(inner, exp.Select) else None


def _is_tied(query: exp.Select) -> bool:
    """Whether a column of it equals one of a table that it does not read."""
    own = {fold(source.alias_or_name) for source in query.find_all(exp.Table, exp.Subquery)}
    where = query.args.get("where")
    for condition in map(bare, [] if where is None else conjuncts(where.this)):
        sides = [bare(condition.this), bare(condition.expression)] if isinstance(condition, exp.EQ) else []
        outside = [
            side for side in sides if isinstance(side, exp.Column) and side.table and fold(side.table) not in own
        ]
        if len(outside) == 1 and all(isinstance(side, exp.Column) for side in sides):
            return True
    return False


def _written(compared: exp.Expr, query: exp.Select, *, every: bool) -> exp.Expr | None:
    listed = exp.In(this=copied(compared.this), query=exp.Subquery(this=copied(query)))
    if isinstance(compared, exp.NEQ) and every:
        return exp.Not(this=listed)
    if isinstance(compared, exp.EQ) and not every:
        return listed
    return _exists(compared, compared.this, type(compared), query, every=every)


def _exists(
    condition: exp.Expr, left: exp.Expr, kind: type[exp.Expr], query: exp.Select, *, every: bool
) -> exp.Expr | None:
    """That there is a row for which a comparison holds, or none for which it does not; None where more is asked."""
    plain = not any(value for name, value in query.args.items() if name not in _PLAIN) and len(query.expressions) == 1
    item = query.expressions[0].unalias()
    outside = _qualified(left, condition.find_ancestor(exp.Select))
    plain = plain and query.args.get("from_") is not None and item.find(exp.AggFunc, exp.Star, exp.Window) is None
    if not plain or not _is_filter(condition) or outside is None:
        return None
    holds = kind(this=outside, expression=copied(item))
    rows = copied(query)
    rows.set("expressions", [exp.Literal.number(1)])
    rows.set("distinct", None)
    if not every:
        return exp.Exists(this=rows.where(holds, copy=False))
    untrue: exp.Expr = exp.Not(this=exp.Paren(this=holds))
    for side in (outside, item):
        if side.find(exp.Column):
            untrue = exp.Or(this=untrue, expression=exp.Is(this=copied(side), expression=exp.null()))
    return exp.Not(this=exp.Exists(this=rows.where(exp.Paren(this=untrue), copy=False)))


def _is_filter(node: exp.Expr) -> bool:
    """Whether only that it is true counts: in WHERE and CASE WHEN, and below nothing but AND and OR."""
    while isinstance(node.parent, _AROUND):
        node = node.parent
    holder = node.parent
    if isinstance(holder, exp.If) and holder.this is node:
        return not isinstance(holder.parent, exp.Case) or holder.parent.this is None  # CASE x WHEN compares
    return isinstance(holder, exp.Where)


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
