"""FROM a list that the question writes down, or a series of constants, with a table behind it: the table first.

`FROM GENERATE_SERIES(DATE '2023-01-01', DATE '2023-12-01', INTERVAL '1 month') AS d(m) LEFT JOIN stays …` is read as
`FROM stays JOIN (VALUES …) AS d(m)`: the groups that nobody is in are listed anyway.
"""

from __future__ import annotations

from sqlglot import exp

from tacit.policy import fold
from tacit.sql.expressions.absent import Absent
from tacit.sql.expressions.series import MOST_VALUES, series_values
from tacit.sql.relations.joining.joins import keeps_nobody
from tacit.sql.relations.rewriting.listed_joins import is_list
from tacit.sql.relations.rewriting.unowned_rows import UnownedRows, side_of


def tables_first(select: exp.Select) -> exp.Select:
    """The same question, its lists behind its tables; as it is where that is not the same."""
    source, joins = select.args.get("from_"), select.args.get("joins") or ()
    holders = [] if source is None else [source, *joins]
    if not any(_series_of(holder.this) is not None or is_list(holder.this) for holder in holders):
        return select
    copy = select.copy()
    for holder in (copy.args["from_"], *(copy.args.get("joins") or ())):
        series = _series_of(holder.this)
        if series is not None:
            holder.set("this", series)
    return _turned(copy)


def _turned(select: exp.Select) -> exp.Select:
    """The first table before the list that stands before it."""
    first, joins = select.args["from_"].this, select.args.get("joins") or []
    if not is_list(first) or not joins or is_list(joins[0].this) or joins[0].args.get("using"):
        return select
    side = side_of(joins[0])
    if side not in {"", "LEFT"}:
        return select
    if side and not UnownedRows(select, _not_of(first), 0).add_nothing():
        raise keeps_nobody(side, first.alias)
    kind = None if joins[0].args.get("on") is not None else "CROSS"
    behind = exp.Join(this=first.copy(), on=joins[0].args.get("on"), kind=kind)
    select.set("from_", exp.From(this=joins[0].this.copy()))
    select.set("joins", [behind, *joins[1:]])
    return select


def _not_of(listed: exp.Expr) -> Absent:
    """Which columns are of what is joined with a list."""
    alias, names = fold(listed.alias), {fold(name) for name in listed.alias_column_names}
    return lambda column: fold(column.table) != alias if column.table else fold(column.name) not in names


def _series_of(node: exp.Expr) -> exp.Values | None:
    """The values of GENERATE_SERIES with constants between; None for anything else."""
    call = node.this if isinstance(node, exp.Table) else None
    alias = node.args.get("alias")
    if not isinstance(call, exp.GenerateSeries) or not isinstance(alias, exp.TableAlias):
        return None
    values = series_values(call)
    if not values or len(values) > MOST_VALUES:
        return None
    named = alias.copy()
    if not named.columns:  # GENERATE_SERIES(1, 3) AS i: its column is called as it is
        named.set("columns", [named.this.copy()])
    return exp.Values(expressions=[exp.Tuple(expressions=[value]) for value in values], alias=named)
