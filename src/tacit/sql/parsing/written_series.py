"""Subqueries that list what the question itself says, written out as the lists that they are.

`(SELECT UNNEST(GENERATE_SERIES(DATE '2024-01-01', DATE '2024-01-31', INTERVAL 1 DAY))::DATE AS day) AS d`, a CTE of
months over GENERATE_SERIES, one that counts them up by reading itself, `bands AS (SELECT 0 AS low, 'child' AS label
UNION ALL …)`, one of VALUES or of what is computed from them, and `UNNEST([2019, 2021]) AS u(year)`: none of them reads
a table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from sqlglot import exp

from tacit.policy.reading.names import fold
from tacit.sql.expressions.series import MOST_VALUES, series_of, written
from tacit.sql.parsing.constants import Unknown, holds, value_of

T = TypeVar("T", bound=exp.Expr)
_PARTS = {"kind", "expressions", "from_", "order", "where"}
_SERIES = (exp.GenerateSeries, exp.GenerateDateArray)
_UNNESTED = ""  # what UNNEST stands for in a row without FROM


@dataclass(frozen=True, slots=True)
class _List:
    """The rows of a list, and what its columns are called."""

    names: Sequence[str]
    rows: Sequence[Sequence[exp.Expr]]

    def under(self, alias: exp.TableAlias | None, name: str) -> exp.Values:
        """The list as it stands after FROM."""
        columns = alias.columns if alias is not None and alias.columns else map(exp.to_identifier, self.names)
        named = exp.TableAlias(this=exp.to_identifier(name), columns=[column.copy() for column in columns])
        rows = [exp.Tuple(expressions=[value.copy() for value in row]) for row in self.rows]
        return exp.Values(expressions=rows, alias=named)


def series_written_out(tree: T) -> T:
    """The question with such lists in the place of what makes them; all else is as it is."""
    if not tree.find(*_SERIES, exp.Unnest, exp.Explode, exp.With, exp.Union, exp.Values):
        return tree
    for clause in list(tree.find_all(exp.With)):
        _named_lists(tree, clause)
    for node in reversed(list(tree.find_all(exp.Subquery))):
        if isinstance(node.parent, (exp.From, exp.Join)) and node.alias:
            listed = _list_of(node.this)
            if listed is not None:
                node.replace(listed.under(node.args["alias"], node.alias))
    for source in list(tree.find_all(exp.Unnest)):
        if isinstance(source.parent, (exp.From, exp.Join)) and source.alias and source.expressions[0].find(exp.Array):
            listed = _series(exp.Select(expressions=[exp.Star()], from_=exp.From(this=source.copy())))
            if listed is not None:
                source.replace(listed.under(source.args["alias"], source.alias))
    return tree


def _named_lists(tree: exp.Expr, clause: exp.With) -> None:
    """What WITH calls a list, written out where it is read."""
    names = [fold(cte.alias) for cte in tree.find_all(exp.CTE)]
    for cte in list(clause.expressions):
        name, alias = fold(cte.alias), cte.args["alias"]
        listed = _list_of(cte.this)
        if listed is None and isinstance(cte.this, exp.Union) and clause.args.get("recursive"):
            listed = _counted_up(cte)
        if listed is None or names.count(name) > 1:
            continue
        clause.set("expressions", [each for each in clause.expressions if each is not cte])
        for table in [each for each in tree.find_all(exp.Table) if _is_named(each, name)]:
            own = table.args.get("alias")
            has_names = isinstance(own, exp.TableAlias) and own.columns
            table.replace(listed.under(own if has_names else alias, table.alias_or_name))
    if not any(_is_named(each, fold(cte.alias)) for cte in clause.expressions for each in cte.find_all(exp.Table)):
        clause.set("recursive", None)
    if not clause.expressions and clause.parent is not None:
        clause.parent.set(str(clause.arg_key), None)


def _is_named(table: exp.Expr, name: str) -> bool:
    return (
        isinstance(table, exp.Table)
        and isinstance(table.this, exp.Identifier)
        and not table.db
        and fold(table.name) == name
    )


def _list_of(query: exp.Expr) -> _List | None:
    """The rows of a query that reads nothing but what it lists; None of any other."""
    if isinstance(query, exp.Select):
        return _values(query) or _series(query) or _united(query)
    return _united(query) if isinstance(query, exp.Union) and not query.args.get("distinct") else None


def _values(select: exp.Select) -> _List | None:
    """SELECT * FROM (VALUES …) AS v(a, b), as VALUES alone is read as well."""
    source = select.args.get("from_")
    inner = None if source is None else source.this
    inner = inner.this if isinstance(inner, exp.Subquery) and isinstance(inner.this, exp.Values) else inner
    extra = any(value for name, value in select.args.items() if name not in {"kind", "expressions", "from_"})
    starred = len(select.expressions) == 1 and type(select.expressions[0]) is exp.Star
    starred = starred and not any(select.expressions[0].args.values())
    if source is None or not isinstance(inner, exp.Values) or extra or not starred:
        return None
    alias = source.this.args.get("alias")
    columns = [column.name for column in alias.columns] if isinstance(alias, exp.TableAlias) else []
    rows = [row.expressions if isinstance(row, exp.Tuple) else [row] for row in inner.expressions]
    names = columns or [f"col{index}" for index in range(len(rows[0]))]
    return _List(names, rows) if all(len(row) == len(names) and all(map(_is_constant, row)) for row in rows) else None


def _united(union: exp.Query) -> _List | None:
    """SELECT 0 AS low, 'child' AS label UNION ALL SELECT 18, 'adult'; of one row, too."""
    selects: list[exp.Expr] = []
    waiting: list[exp.Expr] = [union]
    while waiting:
        node = waiting.pop()
        if isinstance(node, exp.Union) and not node.args.get("distinct") and len(selects) < MOST_VALUES:
            waiting += [node.expression, node.this]
        else:
            selects.append(node)
    if not all(isinstance(each, exp.Select) and not _read_by(each) for each in selects):
        return None
    rows = [[item.unalias() for item in each.expressions] for each in selects]
    names = [fold(item.alias_or_name) for item in selects[0].expressions]
    alike = all(names) and len(set(names)) == len(names) and all(len(row) == len(names) for row in rows)
    return _List(names, rows) if alike and all(_is_constant(value) for row in rows for value in row) else None


def _read_by(select: exp.Expr) -> bool:
    """Whether it has more than a list of items."""
    return any(value for name, value in select.args.items() if name not in {"kind", "expressions"})


def _is_constant(node: exp.Expr) -> bool:
    inner = node.this if isinstance(node, (exp.Neg, exp.Cast)) else node
    return isinstance(inner, (exp.Literal, exp.Null, exp.Boolean))


def _series(select: exp.Select) -> _List | None:
    """The rows of a select over a series."""
    source = select.args.get("from_")
    if any(value for name, value in select.args.items() if name not in _PARTS):
        return None
    rows = _unnested(select) if source is None else _read(source.this)
    if not rows or len(rows) > MOST_VALUES:
        return None
    where = select.args.get("where")
    names = [_name(item, rows[0]) for item in select.expressions]
    if not all(names) or len(set(names)) < len(names):
        return None
    try:
        kept = [row for row in rows if where is None or holds(where.this, row)]
        listed = [[written(value_of(_column(item, row), row)) for item in select.expressions] for row in kept]
    except Unknown:
        return None
    return _List(names, listed) if listed else None


def _name(item: exp.Expr, row: Mapping[str, object]) -> str:
    return next(iter(row)) if isinstance(item, exp.Star) else fold(item.alias_or_name)


def _column(item: exp.Expr, row: Mapping[str, object]) -> exp.Expr:
    return exp.column(next(iter(row))) if isinstance(item, exp.Star) and len(row) == 1 else item.unalias()


def _unnested(select: exp.Select) -> list[dict[str, object]]:
    """SELECT UNNEST(GENERATE_SERIES(1, 12)) AS month, without a FROM; PostgreSQL has rows without UNNEST, too."""
    for call in [node for item in select.expressions for node in item.find_all(*_SERIES)]:
        if not isinstance(call.parent, exp.Explode):
            call.replace(exp.Explode(this=call.copy()))
    calls = [node for item in select.expressions for node in item.find_all(exp.Explode)]
    return [{_UNNESTED: value} for value in _unnested_values(calls[0].this)] if len(calls) == 1 else []


def _unnested_values(inner: exp.Expr) -> Sequence[object]:
    """The values of a series, or of a list in brackets."""
    if isinstance(inner, exp.Array):
        return _known(inner.expressions)
    return series_of(inner) if isinstance(inner, _SERIES) else []


def _known(cells: Sequence[exp.Expr]) -> list[object]:
    """What constants come to; none where one of them is something else."""
    try:
        return [value_of(cell, {}) for cell in cells]
    except Unknown:
        return []


def _read(source: exp.Expr) -> list[dict[str, object]]:
    """The rows of a series, or of VALUES, after FROM, by the names of its columns."""
    inner = source.this if isinstance(source, exp.Table) else None
    if isinstance(source, exp.Unnest) and len(source.expressions) == 1 and not source.args.get("offset"):
        inner = source.expressions[0]
    alias = source.args.get("alias")
    names = [fold(column.name) for column in alias.columns] if isinstance(alias, exp.TableAlias) else []
    if isinstance(source, exp.Values):
        rows = [_known(row.expressions if isinstance(row, exp.Tuple) else [row]) for row in source.expressions]
        return [dict(zip(names, row, strict=True)) for row in rows] if {len(names)} == set(map(len, rows)) else []
    if inner is None:
        return []
    called = names[0] if names else fold(source.alias or "generate_series")
    return [{called: value} for value in _unnested_values(inner)]


def _counted_up(cte: exp.CTE) -> _List | None:
    """SELECT 1 AS n UNION ALL SELECT n + 1 FROM itself WHERE n < 12: rows that follow from the first one."""
    union, alias = cte.this, cte.args["alias"]
    first, then = union.this, union.expression
    if not isinstance(first, exp.Select) or not isinstance(then, exp.Select) or first.args.get("from_") is not None:
        return None
    source = then.args.get("from_")
    extra = any(value for name, value in then.args.items() if name not in {"kind", "expressions", "from_", "where"})
    if extra or source is None or not _is_named(source.this, fold(cte.alias)) or union.args.get("distinct"):
        return None
    names = [fold(column.name) for column in alias.columns] or [fold(item.alias_or_name) for item in first.expressions]
    where = then.args.get("where")
    if not all(names) or not len(names) == len(first.expressions) == len(then.expressions) or where is None:
        return None
    try:
        rows = [[value_of(item.unalias(), {}) for item in first.expressions]]
        while holds(where.this, row := dict(zip(names, rows[-1], strict=True))):
            if len(rows) >= MOST_VALUES:
                return None
            rows.append([value_of(item.unalias(), row) for item in then.expressions])
    except Unknown:
        return None
    return _List(names, [list(map(written, row)) for row in rows])
