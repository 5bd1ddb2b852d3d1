"""A subquery that compares more than keys with the row before it, beside that very row: the rows are numbered.

`FROM a, LATERAL (SELECT MAX(b.x) AS x FROM b WHERE b.id = a.id AND b.day < a.day) AS l` is, with the rows of `a` of one
id numbered, a join of `a` with the rows of `b` that suit each, grouped by the id and the number.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from tacit.policy import fold
from tacit.sql.expressions.names.nodes import aliased, quoted_column
from tacit.sql.expressions.names.printing import copied
from tacit.sql.expressions.names.scope import all_of, bare, conjuncts
from tacit.sql.relations.rewriting.forms import own_nodes
from tacit.sql.relations.rewriting.joined_values import Ties, is_value, tied_by
from tacit.sql.relations.rewriting.of_no_rows import aggregate_calls

BESIDE = "beside "  # what a value that is joined to its row goes by
_OF_ROWS = {"kind", "expressions", "from_", "joins", "where", "order", "limit"}


def beside_each_row(select: exp.Select, join: exp.Join, inner: exp.Select) -> tuple[exp.Select, Ties] | None:
    """The subquery as a join with the rows before it, which `select` then numbers, and what ties it to them.

    None where it looks at several tables, or no column of it equals one of the row before it.
    """
    own = {fold(source.this.alias_or_name) for source in _sources(inner)}
    outer = {
        fold(column.table) for column in inner.find_all(exp.Column) if column.table and fold(column.table) not in own
    }
    holders = [source for source in _sources(select) if fold(source.this.alias_or_name) in outer and source is not join]
    starred = any(isinstance(item, exp.Star) or item.is_star for item in select.expressions)
    plain = not any(value for name, value in inner.args.items() if name not in _OF_ROWS)
    if len(outer) != 1 or len(holders) != 1 or starred or not plain or holders[0].args.get("side"):
        return None
    where = inner.args.get("where")
    conditions = [] if where is None else conjuncts(where.this)
    ties = [side for side in (_outer_side(condition, own) for condition in conditions) if side is not None]
    if not ties:
        return None
    before = holders[0].this
    name, number = before.alias_or_name, f"{join.this.alias} row"
    holders[0].set("this", _numbered(before, ties, number))
    rows = copied(inner)
    first = exp.Join(this=rows.args["from_"].this, on=all_of([copied(each) for each in conditions]))
    rows.set("from_", exp.From(this=copied(holders[0].this)))
    rows.set("joins", [first, *(rows.args.get("joins") or ())])
    rows.set("where", None)
    columns = [*dict.fromkeys(ties), quoted_column(number, name)]
    return rows, [(copied(column), copied(column)) for column in columns]


def _sources(select: exp.Select) -> Iterator[exp.Expr]:
    first = select.args.get("from_")
    yield from () if first is None else (first,)
    yield from select.args.get("joins") or ()


def _outer_side(condition: exp.Expression, own: set[str]) -> exp.Expression | None:
    """The column of the row outside that a condition holds equal to one of the subquery's."""
    sides = [bare(condition.this), bare(condition.expression)] if isinstance(condition, exp.EQ) else []
    columns = [side for side in sides if isinstance(side, exp.Column) and side.table]
    outer = [column for column in columns if fold(column.table) not in own]
    return outer[0] if len(columns) == 2 and len(outer) == 1 else None


def _numbered(source: exp.Expr, keys: list[exp.Expression], number: str) -> exp.Subquery:
    """The rows of a source with a number beside each, within those of the same keys."""
    window = exp.Window(this=exp.RowNumber(), partition_by=[copied(key) for key in keys])
    rows = exp.Select(expressions=[exp.Star(), aliased(window, number)], from_=exp.From(this=copied(source)))
    return exp.Subquery(this=rows, alias=exp.TableAlias(this=exp.to_identifier(source.alias_or_name, quoted=True)))


# ── values ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def values_as_laterals(select: exp.Select) -> exp.Select:
    """(SELECT MAX(b.x) FROM b WHERE b.id = a.id AND b.day < a.day) in the select list or WHERE: joined to its row."""
    if not any(True for _ in _found(select)):
        return select
    copy = copied(select)
    for index, node in enumerate(list(_found(copy))):
        name, inner = f"{BESIDE}{index + 1}", node.this
        inner.set("expressions", [aliased(copied(inner.expressions[0].unalias()), "value")])
        node.replace(quoted_column("value", name))
        alias = exp.TableAlias(this=exp.to_identifier(name, quoted=True))
        lateral = exp.Lateral(this=exp.Subquery(this=inner), alias=alias)
        copy.append("joins", exp.Join(this=lateral, side="LEFT", on=exp.true()))
    return copy


def _found(select: exp.Select) -> Iterator[exp.Expr]:
    """The values that are joined to their row; those that a condition compares are looked up there where that goes."""
    for item in select.expressions:
        yield from (node for node in own_nodes(item) if _is_beside(node, looked_up=()))
    where = select.args.get("where")
    for node in own_nodes(where.this) if where is not None else ():
        if _is_beside(node, looked_up=(exp.Min, exp.Max, exp.Count)):
            yield node


def _is_beside(node: exp.Expr, *, looked_up: tuple[type[exp.Expr], ...]) -> bool:
    """Whether it is one value of rows that are compared with the row outside, or the first of such rows."""
    if not is_value(node) or len(node.this.expressions) != 1:
        return False
    inner = node.this
    item = inner.expressions[0].unalias()
    limit, order = inner.args.get("limit"), inner.args.get("order")
    is_first = limit is not None and order is not None and str(limit.expression) == "1" and not aggregate_calls(item)
    is_alone = limit is None and order is None and bool(aggregate_calls(item)) and inner.args.get("group") is None
    is_joined = tied_by(inner) is not None and (not looked_up or isinstance(bare(item), looked_up))
    return (is_first or (is_alone and not is_joined)) and _is_tied(inner)


def _is_tied(inner: exp.Select) -> bool:
    """Whether a column of it equals one of the row outside."""
    own = {fold(source.this.alias_or_name) for source in _sources(inner)}
    where = inner.args.get("where")
    return where is not None and any(_outer_side(each, own) is not None for each in conjuncts(where.this))
