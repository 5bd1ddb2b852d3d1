"""PIVOT of rows, written as what it means: one filtered aggregate for each value, over the groups of what is left."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from sqlglot import exp

from tacit.errors import QueryRefused
from tacit.sql.expressions.names.nodes import aliased, quoted_column
from tacit.sql.expressions.names.printing import copied

T = TypeVar("T", bound=exp.Expr)


def without_pivots(tree: T) -> T:
    """The question, with every PIVOT of a SELECT that lists its columns and aggregates nothing written out."""
    for pivot in list(tree.find_all(exp.Pivot)):
        holder = pivot.parent
        if pivot.args.get("using") and pivot.arg_key in {"this", None}:
            if not is_open(pivot):  # what its values are, the policy may say
                pivot.replace(as_select(pivot, _named(tree)))
            continue
        if not isinstance(holder, (exp.Subquery, exp.Table)) or len(holder.args.get("pivots") or ()) != 1:
            continue
        rows = _listed(holder, _named(tree))
        written = None if rows is None else _written(pivot, rows)
        if written is not None:
            alias = pivot.args.get("alias") or exp.TableAlias(this=exp.to_identifier(holder.alias_or_name or "pivoted"))
            source = copied(holder)
            source.set("pivots", None)
            written.set("from_", exp.From(this=source))
            holder.replace(exp.Subquery(this=written, alias=copied(alias), joins=holder.args.get("joins")))
    return tree


def is_open(pivot: exp.Pivot) -> bool:
    """Whether a PIVOT by one expression leaves out which values of it become columns."""
    fields = pivot.expressions
    return bool(pivot.args.get("using")) and len(fields) == 1 and not isinstance(fields[0], exp.In)


def unlisted() -> QueryRefused:
    """Refuses a PIVOT whose values nobody has written down."""
    return QueryRefused(
        "PIVOT is refused without the values that become columns: which there are is in the rows alone",
        hint="list them: PIVOT t ON x IN ('a', 'b') USING COUNT(*) GROUP BY y",
    )


def as_select(pivot: exp.Pivot, named: Mapping[str, exp.Expr]) -> exp.Select:
    """DuckDB's own `PIVOT rows ON x IN (…) USING SUM(y) GROUP BY z`, as the SELECT that it means."""
    field = pivot.expressions[0] if len(pivot.expressions) == 1 else None
    listed = isinstance(field, exp.In) and all(isinstance(v, (exp.Literal, exp.Boolean)) for v in field.expressions)
    if not isinstance(field, exp.In) or not listed:
        raise unlisted()
    group = pivot.args.get("group")
    rows = None if group is not None else _named_columns(pivot.this, named)
    if group is None and rows is None:
        raise QueryRefused(
            "PIVOT needs to know its groups", hint="add GROUP BY, or list columns: PIVOT (SELECT a, b …)"
        )
    calls = [(item.alias, item.unalias()) for item in pivot.args["using"]]
    used = {column.name.casefold() for _, call in calls for column in call.find_all(exp.Column)}
    used |= {column.name.casefold() for column in field.this.find_all(exp.Column)}
    rest = [quoted_column(name) for name in rows or () if name.casefold() not in used]
    keys: list[exp.Expr] = [copied(each) for each in group.expressions] if group is not None else [*rest]
    columns: list[exp.Expr] = [copied(each) for each in keys]
    for value in field.expressions:
        for alias, call in calls:
            suffix = alias or (call.sql(dialect="duckdb").lower() if len(calls) > 1 else "")
            where = exp.Where(this=exp.EQ(this=copied(field.this), expression=copied(value)))
            filtered = exp.Filter(this=copied(call), expression=where)
            shown = value.name or value.sql().lower()
            columns.append(aliased(filtered, f"{shown}_{suffix}" if suffix else shown))
    select = exp.Select(expressions=columns, from_=exp.From(this=copied(pivot.this)))
    if keys:
        select.set("group", exp.Group(expressions=keys))
    return select


def _named(tree: exp.Expr) -> Mapping[str, exp.Expr]:
    return {cte.alias.casefold(): cte.this for cte in tree.find_all(exp.CTE)}


def _named_columns(holder: exp.Expr, named: Mapping[str, exp.Expr]) -> list[str] | None:
    """The columns of what is pivoted, where they are written down: of rows, or of groups."""
    rows = holder.this if isinstance(holder, exp.Subquery) else named.get(holder.name.casefold())
    if isinstance(rows, exp.Select) and rows.args.get("group") is not None:
        names = [item.alias_or_name for item in rows.expressions]
        return names if all(names) and not any(item.is_star for item in rows.expressions) else None
    return _listed(holder, named)


def _listed(holder: exp.Expr, named: Mapping[str, exp.Expr]) -> list[str] | None:
    """The columns of what is pivoted, where they are written down and are not groups already."""
    rows = holder.this if isinstance(holder, exp.Subquery) else named.get(holder.name.casefold())
    if not isinstance(rows, exp.Select) or rows.args.get("group") is not None:
        return None
    names = [item.alias_or_name for item in rows.expressions]
    plain = all(not item.find(exp.Star, exp.AggFunc) or item.find(exp.Window) for item in rows.expressions)
    return names if plain and all(names) else None


def _written(pivot: exp.Pivot, rows: list[str]) -> exp.Select | None:
    fields: list[exp.Expr] = list(pivot.args.get("fields") or ())
    field = fields[0] if len(fields) == 1 else None
    if pivot.args.get("unpivot") or not isinstance(field, exp.In) or not isinstance(field.this, exp.Column):
        return None
    calls = [item.unalias() for item in pivot.expressions]
    used = {column.name.casefold() for call in calls for column in call.find_all(exp.Column)}
    rest = [name for name in rows if name.casefold() not in used | {field.this.name.casefold()}]
    names = [identifier.name for identifier in pivot.args.get("columns") or ()]
    values = [value.this if isinstance(value, exp.PivotAlias) else value for value in field.expressions]
    pairs = [(value, call) for value in values for call in calls]
    if not calls or len(pairs) != len(names) or not all(isinstance(value, exp.Literal) for value in values):
        return None
    listed: list[exp.Expr] = [quoted_column(name) for name in rest]
    for name, (value, call) in zip(names, pairs, strict=True):
        where = exp.Where(this=exp.EQ(this=copied(field.this), expression=copied(value)))
        listed.append(aliased(exp.Filter(this=copied(call), expression=where), name))
    select = exp.Select(expressions=listed)
    if rest:
        select.set("group", exp.Group(expressions=[copied(column) for column in listed[: len(rest)]]))
    return select
