"""Which clauses a question may have, and where a subquery may stand in it."""

from __future__ import annotations

from sqlglot import exp

from tacit.errors import QueryRefused
from tacit.sql.expressions.names.spoken import clause_named

_ALLOWED = {"kind", "expressions", "from_", "joins", "with_", "where", "group", "having", "order", "limit", "offset"}
_HINTS = {
    "distinct": "GROUP BY gives each value once, with a number: SELECT x, COUNT(*) … GROUP BY x",
    "qualify": "put the window into a subquery, PARTITION BY the unit, and its condition into WHERE around it",
    "laterals": "join a subquery that is grouped by the unit",
}
_COMPARISONS = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE)
_HOLDERS = (exp.From, exp.Join, exp.CTE, exp.SetOperation, exp.In, exp.Exists, *_COMPARISONS, type(None))
_FIRST = "ask for the inner number first, then write it as a constant"
_INSTEAD: dict[type[exp.Expr], tuple[str, str]] = {
    exp.Lateral: ("LATERAL is refused", _HINTS["laterals"]),
    exp.Any: ("ANY over a subquery is refused", "write x IN (SELECT …), or x > (SELECT MIN(y) …)"),
    exp.All: ("ALL over a subquery is refused", "write x > (SELECT MAX(y) …), or x NOT IN (SELECT …)"),
}


def refuse_clauses(select: exp.Select) -> None:
    """Refuse what is understood nowhere, before any name is looked up."""
    for name, value in select.args.items():
        if value and name not in _ALLOWED:
            raise QueryRefused(
                f"{clause_named(name)} is refused",
                hint=_HINTS.get(name, "tables and joins, WHERE, GROUP BY, HAVING, ORDER BY, LIMIT"),
            )
    refuse_places(select)
    for node in select.walk():
        if isinstance(node, exp.Window) and node.find_ancestor(exp.Select) is select:
            raise QueryRefused(
                "a window function is refused here: it would look at many units",
                hint="GROUP BY gives one number per group; a subquery may have windows within one unit",
            )


def refuse_places(select: exp.Select) -> None:
    """Refuse a subquery of this select that stands where none can."""
    for node in select.walk(prune=lambda each: isinstance(each, exp.Select) and each is not select):
        if isinstance(node, exp.Select):
            _refuse_place(node, select)


def _refuse_place(inner: exp.Select, select: exp.Select) -> None:
    """Refuse a subquery where none can stand."""
    around = _around(inner)
    for kind, (what, hint) in _INSTEAD.items():
        if isinstance(around, kind):
            raise QueryRefused(what, hint=hint)
    if not isinstance(around, _HOLDERS):
        joined = f"{_FIRST}; or join its table, LEFT JOIN … ON …, and name the column"
        raise QueryRefused("a subquery is refused here", hint=joined if inner.args.get("from_") else _FIRST)
    having = inner.find_ancestor(exp.Having, exp.Select)
    if isinstance(having, exp.Having) and having.parent is select:
        raise QueryRefused("a subquery is refused here: HAVING compares noisy numbers with each other", hint=_FIRST)


def _around(select: exp.Select) -> exp.Expr | None:
    """What a select stands in, without its parentheses."""
    parent = select.parent
    while isinstance(parent, (exp.Subquery, exp.Paren)):
        parent = parent.parent
    return parent
