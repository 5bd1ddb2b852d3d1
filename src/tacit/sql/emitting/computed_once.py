"""Clamped cells computed once a row, for an engine that computes an expression wherever it is written."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from tacit.policy.reading.names import RESERVED

_ONCE = f"{RESERVED}once"
_PLAIN = {"expressions", "from_", "where"}
_TOTAL = (  # a column held between constants and counted in steps: it fails on no cell, wherever it is computed
    exp.Cast,
    exp.DataType,
    exp.DataTypeParam,
    exp.Paren,
    exp.Case,
    exp.If,
    exp.LT,
    exp.GT,
    exp.EQ,
    exp.Is,
    exp.Null,
    exp.Column,
    exp.Identifier,
    exp.Literal,
    exp.Neg,
    exp.Add,
    exp.Mul,
    exp.Floor,
)


def computed_once(node: exp.Expression) -> exp.Expression:
    """Take what a list of values names more than once out of it, into a query that is not merged into this one.

    Before:   SELECT CAST(CASE … t.a … END AS BIGINT) * t.b, CAST(CASE … t.a … END AS BIGINT) - 5 FROM (…) AS t WHERE …
    After:    SELECT t.once0 * t.b, t.once0 - 5 FROM (SELECT t.b, CAST(CASE … t.a … END AS BIGINT) AS once0 FROM (…)
              AS t WHERE … OFFSET 0) AS t
    Ensures:  the same rows: OFFSET 0 skips none, it only keeps PostgreSQL from writing the expression out again. A list
              that adds up, or whose rows come from more than one place, is left as it is. Only clamped cells are taken
              out, which no cell makes fail: a quotient stays behind the CASE that keeps zero from it.
    """
    source = _source(node)
    if source is None:
        return node
    cells: dict[exp.Expression, list[exp.Expression]] = {}
    for item in node.expressions:
        for cell in _clamped(item):
            cells.setdefault(cell, []).append(cell)
    repeated = [places for places in cells.values() if len(places) > 1]
    if not repeated:
        return node
    shared = []
    for index, places in enumerate(repeated):
        name = f"{_ONCE}{index}"
        shared.append(exp.alias_(places[0].copy(), name))
        for place in places:
            place.replace(exp.column(name, table=source.alias))
    named = {column.name: column for column in _own_columns(node, source.alias)}
    kept = [column.copy() for name, column in named.items() if not name.startswith(_ONCE)]
    rows = exp.select(*kept, *shared).from_(source.copy())
    rows.set("where", node.args.get("where"))
    rows.set("offset", exp.Offset(expression=exp.Literal.number(0)))
    node.set("where", None)
    node.set("from_", exp.From(this=exp.Subquery(this=rows, alias=source.args["alias"].copy())))
    return node


def _source(node: exp.Expression) -> exp.Expression | None:
    """The one place that a plain list of values comes from; None where there is more to a query."""
    if any(value for name, value in node.args.items() if name not in _PLAIN) or node.args.get("from_") is None:
        return None
    if any(item.find(exp.AggFunc, exp.Window) for item in node.expressions):
        return None
    source: exp.Expression = node.args["from_"].this
    return source if isinstance(source, (exp.Subquery, exp.Table)) and source.alias else None


def _clamped(item: exp.Expression) -> Iterator[exp.Expression]:
    """The outermost casts of what is chosen case by case; a subquery's own are its own."""
    waiting = [item]
    while waiting:
        node = waiting.pop()
        if isinstance(node, exp.Cast) and _is_clamped(node):
            yield node
        elif not isinstance(node, exp.Query):
            waiting.extend(child for child in node.iter_expressions() if isinstance(child, exp.Expression))


def _own_columns(node: exp.Expression, table: str) -> Iterator[exp.Column]:
    for item in node.expressions:
        yield from (column for column in item.find_all(exp.Column) if column.table == table)


def _is_clamped(node: exp.Cast) -> bool:
    """Whether it is a cell held between its own bounds, counted in steps of 64 bits, and nothing else.

    What relies on a condition around it (a divisor that is not zero, a number small enough for its type) is not.
    """
    parts, chosen = list(node.walk()), node.find(exp.Case)
    if chosen is None or node.args["to"].this is not exp.DType.BIGINT or not all(isinstance(p, _TOTAL) for p in parts):
        return False
    columns = {(part.table, part.name) for part in parts if isinstance(part, exp.Column)}
    return len(columns) == 1 and {exp.LT, exp.GT} <= {type(branch.this) for branch in chosen.args["ifs"]}
