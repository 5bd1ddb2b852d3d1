"""IN over a subquery, for engines that forget NULL in it: Sail takes NULL IN … for false wherever it is no join."""

from __future__ import annotations

from sqlglot import exp

from tacit.sql.expressions.names.nodes import paren
from tacit.sql.expressions.names.printing import copied


def three_valued(node: exp.Expression) -> exp.Expression:
    """Say of IN by EXISTS alone when it is true and when it is NULL.

    Before:   NOT x IN (SELECT y FROM public WHERE public.k = t.k)
    After:    NOT CASE WHEN EXISTS (… AND y = x) THEN TRUE WHEN EXISTS (… AND y IS NULL) OR (x IS NULL AND EXISTS (…))
              THEN NULL ELSE FALSE END
    Ensures:  the same three values. IN stays where NULL is as good as false, and so does a NOT IN that looks at
              nothing outside, as all that a condition asks: engines join these, the latter with an eye on NULL.
    """
    query = node.args.get("query")
    rows = None if query is None else query.unnest()
    if not isinstance(rows, exp.Select) or _is_joined(node):
        return node
    left, value = node.this, rows.expressions[0].unalias()
    missing = exp.Is(this=paren(copied(left)), expression=exp.null())
    equal = _exists(rows, exp.EQ(this=copied(value), expression=paren(copied(left))))
    empty = _exists(rows, exp.Is(this=paren(copied(value)), expression=exp.null()))
    unknown = exp.or_(empty, exp.and_(missing, _exists(rows)))
    ifs = [exp.If(this=equal, true=exp.true()), exp.If(this=unknown, true=exp.null())]
    return paren(exp.Case(ifs=ifs, default=exp.false()))


def _is_joined(node: exp.Expression) -> bool:
    """Whether engines make a join of it: then NULL is what it is."""
    above = _over(node)
    if not isinstance(above, exp.Not):
        return isinstance(_over(node, exp.And, exp.Or), exp.Where)
    return isinstance(_over(above, exp.And), exp.Where) and not _looks_outside(node.args["query"])


def _over(node: exp.Expression, *kinds: type[exp.Expression]) -> object:
    """What stands above the node, its parentheses and these connectives."""
    above = node.parent
    while above is not None and isinstance(above, (exp.Paren, *kinds)):
        above = above.parent
    return above


def _looks_outside(query: exp.Expression) -> bool:
    own = {source.alias_or_name for source in query.find_all(exp.Subquery, exp.Table, exp.CTE)}
    return any(column.table not in own for column in query.find_all(exp.Column))


def _exists(rows: exp.Select, *conditions: exp.Expression) -> exp.Expression:
    asked = copied(rows)
    asked.set("expressions", [exp.Literal.number(1)])
    return exp.Exists(this=asked.where(*(copied(condition) for condition in conditions), copy=False))
