"""Joins in parentheses, written without them: a chain of joins from left to right that has the same rows."""

from __future__ import annotations

from typing import TypeVar

from sqlglot import exp

from tacit.errors import QueryRefused
from tacit.policy.reading.names import fold
from tacit.sql.expressions.names.scope import all_of, conjuncts

T = TypeVar("T", bound=exp.Expr)


def without_grouped_joins(tree: T) -> T:
    """`(a JOIN b ON …) JOIN c ON …` and `a JOIN (b JOIN c ON …) ON …` as one chain."""
    for select in list(tree.find_all(exp.Select)):
        source = select.args.get("from_")
        if source is not None:
            _unwrap_first(select, source)
            _unwrap_joined(select)
    return tree


def _is_group(node: exp.Expr) -> bool:
    """Whether it is a join in parentheses, without a name of its own."""
    inner = node
    while isinstance(inner, exp.Subquery) and not inner.args.get("alias"):
        inner = inner.this
    return inner is not node and isinstance(inner, (exp.Table, exp.Subquery)) and not isinstance(inner, exp.Select)


def _unwrap_first(select: exp.Select, source: exp.From) -> None:
    """What stands in parentheses after FROM is joined first in any case."""
    while _is_group(source.this):
        first, joins = _taken_apart(source.this)
        source.set("this", first)
        select.set("joins", [*joins, *(select.args.get("joins") or ())])


def _taken_apart(group: exp.Expr) -> tuple[exp.Expr, list[exp.Join]]:
    """The first source of a join in parentheses, and the joins that follow it."""
    first = group.this
    joins = [*(first.args.get("joins") or ()), *(group.args.get("joins") or ())]
    first.set("joins", None)
    return first, joins


def _unwrap_joined(select: exp.Select) -> None:
    joins: list[exp.Join] = []
    for join in select.args.get("joins") or ():
        joins += _unwrapped(select, join, joins) if _is_group(join.this) else [join]
    if joins:
        select.set("joins", joins)


def _unwrapped(select: exp.Select, join: exp.Join, before: list[exp.Join]) -> list[exp.Join]:
    first, inside = _taken_apart(join.this)
    side = str(join.args.get("side") or "").upper()
    if not inside:  # one table in parentheses
        join.set("this", first)
        return [join]
    if side == "LEFT" and not before and not join.args.get("using"):
        return _turned(select, join, first, inside)
    if side or any(each.args.get("side") for each in inside) or join.args.get("using"):
        return [_as_subquery(select, join, first, inside)]
    on = join.args.get("on")
    early, late = _by_when_known(on, first.alias_or_name, inside)
    last = inside[-1]
    last.set("on", all_of([*conjuncts(last.args["on"]), *late]) if last.args.get("on") is not None else all_of(late))
    begin = exp.Join(this=first, on=all_of(early)) if early else exp.Join(this=first, kind="CROSS")
    return [begin, *inside]


def _as_subquery(select: exp.Select, join: exp.Join, first: exp.Expr, inside: list[exp.Join]) -> exp.Join:
    """The group as a subquery of the columns that are read of it, which must say of which table they are."""
    tables = {fold(each.alias_or_name) for each in (first, *(one.this for one in inside))}
    within = {id(node) for node in join.this.walk()}
    columns = [column for column in select.find_all(exp.Column) if id(column) not in within]
    bare_names = any(not column.table for column in columns if isinstance(column.this, exp.Identifier))
    starred = any(item.is_star for item in select.expressions)
    if bare_names or starred or join.args.get("using"):
        raise QueryRefused(
            "a join in parentheses is refused here: nothing says which columns are its own",
            hint="write the table before every column, as in a.x; or LEFT JOIN (SELECT … FROM b JOIN c ON …) AS s ON …",
        )
    read = [column for column in columns if fold(column.table) in tables]
    names = {(fold(column.table), fold(column.name)): column.copy() for column in read}
    group = "_".join(sorted(tables))
    listed = [exp.alias_(column, "_".join(name), quoted=True) for name, column in names.items()]
    rows = exp.Select(expressions=listed or [exp.alias_(exp.Literal.number(1), "one")], from_=exp.From(this=first))
    rows.set("joins", inside)
    for column in read:
        name = "_".join((fold(column.table), fold(column.name)))
        shown = isinstance(column.parent, exp.Select)
        moved: exp.Expr = exp.column(exp.to_identifier(name, quoted=True), table=exp.to_identifier(group, quoted=True))
        column.replace(exp.alias_(moved, column.name) if shown else moved)
    alias = exp.TableAlias(this=exp.to_identifier(group, quoted=True))
    join.set("this", exp.Subquery(this=rows, alias=alias))
    return join


def _turned(select: exp.Select, join: exp.Join, first: exp.Expr, inside: list[exp.Join]) -> list[exp.Join]:
    """`a LEFT JOIN (b JOIN c ON …) ON …` is `b JOIN c ON … RIGHT JOIN a ON …`."""
    source = select.args["from_"]
    outer = source.this
    source.set("this", first)
    return [*inside, exp.Join(this=outer, side="RIGHT", on=join.args.get("on"))]


def _by_when_known(
    on: exp.Expression | None, first: str, inside: list[exp.Join]
) -> tuple[list[exp.Expression], list[exp.Expression]]:
    """The conditions that can be asked as soon as the first of the group is joined, and those that cannot."""
    later = {join.this.alias_or_name.casefold() for join in inside}
    early: list[exp.Expression] = []
    late: list[exp.Expression] = []
    for condition in [] if on is None else conjuncts(on):
        tables = {column.table.casefold() for column in condition.find_all(exp.Column)}
        known = first.casefold() in tables and not tables & (later | {""})
        (early if known else late).append(condition)
    return early, late
