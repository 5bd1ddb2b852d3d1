"""A join with a list that the question writes down, by CASE: `JOIN (VALUES ('a', 1), …) AS v(x, y) ON v.x = t.x`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from tacit.errors import QueryRefused
from tacit.policy import fold
from tacit.sql.expressions.names.nodes import aliased
from tacit.sql.expressions.names.printing import copied
from tacit.sql.expressions.names.scope import bare, conjuncts

_HINT = (
    "tie the list to a column, once for each of its values: JOIN (VALUES ('a', 1), ('b', 2)) AS v(x, y) ON v.x = t.x"
)


@dataclass(frozen=True, slots=True)
class _List:
    """The columns of a list, by name, and which of them is tied to what."""

    alias: str
    columns: Mapping[str, Sequence[exp.Expr]]
    key: str
    outside: exp.Expr
    shared: bool = False  # by USING: its bare name is a column of both

    def wanted(self, name: str) -> exp.Expr:
        """A column of the list for a row outside; NULL where the list does not have it."""
        branches = [
            exp.If(this=exp.EQ(this=copied(self.outside), expression=copied(key)), true=copied(value))
            for key, value in zip(self.columns[self.key], self.columns[name], strict=True)
        ]
        return exp.Case(ifs=branches)

    def is_met(self) -> exp.Expr:
        return exp.In(this=copied(self.outside), expressions=[copied(key) for key in self.columns[self.key]])


def without_lists(select: exp.Select) -> exp.Select:
    """The same rows without the list: a CASE for each of its columns, and a condition for those it leaves out."""
    named = _named_lists(select)
    if not any(is_list(join.this) or _is_named(join.this, named) for join in select.args.get("joins") or ()):
        return select
    copy = copied(select)
    for join in copy.args["joins"]:
        if _is_named(join.this, named):
            join.set("this", _written_down(join.this, named[fold(join.this.name)]))
    for join in list(copy.args["joins"]):
        if is_list(join.this):
            _put_in(copy, join)
    return copy


def _named_lists(select: exp.Select) -> dict[str, exp.CTE]:
    """The lists that WITH gives a name to, and names to their columns."""
    clause = select.args.get("with_")
    ctes = clause.expressions if clause is not None else ()
    return {fold(cte.alias): cte for cte in ctes if _values_of(cte.this) is not None and cte.args["alias"].columns}


def _values_of(tree: exp.Expr) -> exp.Values | None:
    """The list behind VALUES alone, which the parser reads as SELECT * FROM it."""
    if isinstance(tree, exp.Select) and len(tree.expressions) == 1 and isinstance(tree.expressions[0], exp.Star):
        only = all(name in {"kind", "expressions", "from_"} for name, value in tree.args.items() if value)
        source = tree.args.get("from_")
        tree = source.this if source is not None and only else tree
    return tree if isinstance(tree, exp.Values) else None


def _is_named(node: exp.Expr, named: Mapping[str, exp.CTE]) -> bool:
    return isinstance(node, exp.Table) and not node.db and fold(node.name) in named


def _written_down(table: exp.Expr, cte: exp.CTE) -> exp.Expr:
    values = _values_of(cte.this)
    assert values is not None  # noqa: S101 - it was found to be one
    columns = [copied(column) for column in cte.args["alias"].columns]
    alias = exp.TableAlias(this=exp.to_identifier(table.alias_or_name), columns=columns)
    return exp.Values(expressions=[copied(row) for row in values.expressions], alias=alias)


def is_list(node: exp.Expr) -> bool:
    """Whether this is a list of VALUES after FROM or JOIN."""
    return isinstance(node, exp.Values) or (isinstance(node, exp.Subquery) and isinstance(node.this, exp.Values))


def _put_in(select: exp.Select, join: exp.Join) -> None:
    side = str(join.args.get("side") or "").upper()
    listed = list_of(join)
    if listed is None or side not in {"", "LEFT"} or (select.find(exp.Star) and _is_starred(select)):
        raise QueryRefused("a list of VALUES is refused in this join: it may have several partners", hint=_HINT)
    joins = [each for each in select.args["joins"] if each is not join]
    select.set("joins", joins)
    for column in list(select.find_all(exp.Column)):
        name = fold(column.name)
        if name in listed.columns and _is_theirs(column, listed):
            inner = copied(listed.outside) if name == listed.key and not side else listed.wanted(name)
            column.replace(_named_as(column, inner))
    if not side:
        select.where(listed.is_met(), copy=False)


def _named_as(column: exp.Column, inner: exp.Expr) -> exp.Expr:
    """What stands in the select list by itself keeps its name."""
    return aliased(inner, column.name) if isinstance(column.parent, exp.Select) else inner


def _is_theirs(column: exp.Column, listed: _List) -> bool:
    return fold(column.table) == listed.alias if column.table else fold(column.name) != listed.key or not listed.shared


def _is_starred(select: exp.Select) -> bool:
    return any(
        isinstance(item, exp.Star) or (isinstance(item, exp.Column) and isinstance(item.this, exp.Star))
        for item in select.expressions
    )


def list_of(join: exp.Join) -> _List | None:
    """The list, where its values are constants, and one column of it, without repeats, is tied by one equality."""
    node = join.this
    values = node if isinstance(node, exp.Values) else node.this
    alias = node.args.get("alias") or values.args.get("alias")
    if not isinstance(alias, exp.TableAlias):
        return None
    names = [fold(column.name) for column in alias.columns]
    rows = [row.expressions if isinstance(row, exp.Tuple) else [row] for row in values.expressions]
    if (
        not names
        or any(len(row) != len(names) for row in rows)
        or not all(_is_constant(cell) for row in rows for cell in row)
    ):
        return None
    columns = {name: [row[index] for row in rows] for index, name in enumerate(names)}
    tie = _tie(join, fold(alias.name), names)
    if tie is None or _has_repeats(columns[tie[0]]):
        return None
    return _List(fold(alias.name), columns, *tie, shared=bool(join.args.get("using")))


def _has_repeats(keys: Sequence[exp.Expr]) -> bool:
    """Whether a row could have two partners in the list, and so become two."""
    return len({key.sql() for key in keys}) < len(keys)


def _tie(join: exp.Join, alias: str, names: Sequence[str]) -> tuple[str, exp.Expr] | None:
    using, on = join.args.get("using"), join.args.get("on")
    if using and len(using) == 1 and fold(using[0].name) in names:
        return fold(using[0].name), exp.column(exp.to_identifier(using[0].name))
    conditions = [] if on is None else conjuncts(on)
    if len(conditions) != 1 or not isinstance(conditions[0], exp.EQ):
        return None
    sides = [bare(conditions[0].this), bare(conditions[0].expression)]
    for inside, outside in (sides, sides[::-1]):
        ours = isinstance(inside, exp.Column) and fold(inside.table) in {alias, ""} and fold(inside.name) in names
        if ours and not any(fold(column.table) == alias for column in outside.find_all(exp.Column)):
            return fold(inside.name), outside
    return None


def _is_constant(node: exp.Expr) -> bool:
    inner = node.this if isinstance(node, (exp.Neg, exp.Cast)) else node
    return isinstance(inner, (exp.Literal, exp.Null, exp.Boolean))
