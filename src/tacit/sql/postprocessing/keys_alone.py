"""Keys that are asked for without a number, SELECT DISTINCT ward FROM …: counted inside, and shown around."""

from __future__ import annotations

from sqlglot import exp

from tacit.sql.expressions.names.nodes import aliased, quoted_column
from tacit.sql.expressions.names.printing import copied, text_of
from tacit.sql.parsing.query import ROWS_OF_KEY

_INNER = "keys"
_KNOWN = {"kind", "expressions", "from_", "joins", "where", "with_", "group", "distinct", "order", "limit", "offset"}
_SETS = (exp.Rollup, exp.Cube, exp.GroupingSets)


def keys_alone(select: exp.Select) -> exp.Select | None:
    """The keys of a counted question; None where it is not keys alone that are asked for."""
    distinct, group = select.args.get("distinct"), select.args.get("group")
    unknown = any(value for name, value in select.args.items() if name not in _KNOWN)
    over = (exp.AggFunc, exp.Window, exp.Star, exp.Query)
    order = select.args.get("order")
    computed = any(part.find(*over) for part in (*select.expressions, *((order,) if order is not None else ())))
    if unknown or computed or (distinct is None) == (group is None) or select.args.get("from_") is None:
        return None
    if (distinct is not None and distinct.args.get("on")) or (group is not None and group.find(*_SETS)):
        return None
    items = {item.alias_or_name or text_of(item, comments=False): item.unalias() for item in select.expressions}
    if len(items) < len(select.expressions):
        return None
    inner = copied(select)
    inner.set("expressions", [aliased(copied(item), name) for name, item in items.items()])
    inner.append("expressions", aliased(exp.Count(this=exp.Star()), ROWS_OF_KEY))
    if distinct is not None:
        inner.set("distinct", None)
        inner.set("group", exp.Group(expressions=[exp.Literal.number(place + 1) for place in range(len(items))]))
    outer = exp.Select(expressions=[quoted_column(name, _INNER) for name in items])
    for name in ("order", "limit", "offset"):
        clause = inner.args.get(name)
        inner.set(name, None)
        outer.set(name, _of_keys(clause, items) if isinstance(clause, exp.Order) else clause)
    outer.set("with_", inner.args.get("with_"))
    inner.set("with_", None)
    alias = exp.TableAlias(this=exp.to_identifier(_INNER))
    outer.set("from_", exp.From(this=exp.Subquery(this=inner, alias=alias)))
    return outer


def _of_keys(order: exp.Order, items: dict[str, exp.Expr]) -> exp.Order:
    """ORDER BY what is shown, by the name that it has around."""
    named = {text_of(item, comments=False): name for name, item in items.items()}
    for item in order.expressions:
        name = named.get(text_of(item.this, comments=False))
        if name is not None:
            item.set("this", quoted_column(name, _INNER))
    return order
