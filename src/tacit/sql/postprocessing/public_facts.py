"""Aggregates of a public table's column within groups that the table itself is joined by: looked up, and not measured.

MAX(w.beds) of a question grouped by ward is what the public table says of the ward: no row of anybody decides it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeVar

from sqlglot import exp

from tacit.policy import Policy, fold
from tacit.sql.binding.aggregates import is_aggregate
from tacit.sql.expressions.names.nodes import aliased
from tacit.sql.expressions.names.printing import copied
from tacit.sql.postprocessing.blocks import group_keys
from tacit.sql.postprocessing.blocks import without_parentheses as bare
from tacit.sql.postprocessing.splitting import heading

T = TypeVar("T", bound=exp.Expression)
_ROWS = "public_rows"
_EITHER = (exp.Min, exp.Max, exp.AnyValue)


@dataclass(frozen=True, slots=True)
class _PublicRows:
    """A public table of a question, and the one equality by which it is joined: its column, and what that equals."""

    table: exp.Table
    column: str
    equals: exp.Expr


def looked_up(tree: T, policy: Policy) -> T:
    """The statement, with such aggregates as subqueries over public tables; the tree itself where none is there."""
    if not any(True for _ in tree.find_all(*_EITHER)) or not any(table.public for table in policy.tables):
        return tree
    copy = copied(tree)
    changed = [_looked_up(select, policy) for select in list(copy.find_all(exp.Select))]
    return copy if any(changed) else tree


def _looked_up(select: exp.Select, policy: Policy) -> bool:
    if select.args.get("group") is None:
        return False
    aliases = {fold(item.alias): item.this for item in select.expressions if isinstance(item, exp.Alias)}
    keys = [bare(node) for node in group_keys(select, aliases)]
    sources = {fold(source.table.alias_or_name): source for source in _public_rows(select, policy)}
    calls = [node for item in select.expressions for node in item.walk() if is_aggregate(node)]
    facts = [(call, sub) for call in calls if (sub := _fact(call, keys, sources)) is not None]
    replaced = [id(node) for call, _ in facts for node in call.walk()]
    if not facts or all(id(call) in replaced for call in calls):
        return False  # nothing would be asked of anybody's rows
    for item in [each for each in select.expressions if not isinstance(each, exp.Alias)]:
        if any(item is call or call.find_ancestor(type(item)) is item for call, _ in facts):
            item.replace(aliased(copied(item), heading(item)))
            return _looked_up(select, policy)  # of a copy, under the name that it has had
    for call, subquery in facts:
        call.replace(subquery)
    return True


def _public_rows(select: exp.Select, policy: Policy) -> Iterator[_PublicRows]:
    """The public tables that are joined by one equality, and that no condition looks at."""
    joins: list[exp.Join] = select.args.get("joins") or []
    origin = select.args.get("from_")
    tables = [origin.this if origin is not None else None, *(join.this for join in joins)]
    for index, table in enumerate(tables):
        if not isinstance(table, exp.Table) or table.args.get("db"):
            continue
        declared = next((each for each in policy.tables if fold(each.name) == fold(table.name)), None)
        join = joins[index - 1] if index else joins[0] if len(joins) == 1 else None
        if declared is None or not declared.public or join is None or join.side or join.kind not in ("", "INNER"):
            continue
        tie = _tie(join, table)
        if tie is not None and not _is_looked_at(select, table, join):
            yield _PublicRows(table, *tie)


def _tie(join: exp.Join, table: exp.Table) -> tuple[str, exp.Expr] | None:
    using = join.args.get("using") or []
    if len(using) == 1:
        name = using[0].name
        return name, exp.column(exp.to_identifier(name))
    equality = bare(join.args["on"]) if join.args.get("on") is not None else None
    if not isinstance(equality, exp.EQ):
        return None
    sides = [bare(equality.this), bare(equality.expression)]
    own = [side for side in sides if _is_of(side, table)]
    others = [side for side in sides if not any(_is_of(column, table) for column in side.find_all(exp.Column))]
    return (own[0].name, others[0]) if len(own) == 1 and len(others) == 1 else None


def _is_of(node: exp.Expr, table: exp.Table) -> bool:
    return isinstance(node, exp.Column) and fold(node.table) == fold(table.alias_or_name)


def _is_looked_at(select: exp.Select, table: exp.Table, join: exp.Join) -> bool:
    """Whether a condition could leave out rows of the table: one that names it, or names nothing to be sure of."""
    conditions = [select.args.get("where"), *(each for each in select.args.get("joins") or () if each is not join)]
    columns = [column for each in conditions if each is not None for column in each.find_all(exp.Column)]
    return any(_is_of(column, table) or not column.table for column in columns)


def _fact(call: exp.Expr, keys: list[exp.Expr], sources: dict[str, _PublicRows]) -> exp.Subquery | None:
    inner = call.this if isinstance(call, exp.IgnoreNulls) else call
    column = inner.this if isinstance(inner, _EITHER) and not inner.expressions else None
    if not isinstance(column, exp.Column) or isinstance(call.parent, (exp.Filter, exp.Window, exp.IgnoreNulls)):
        return None
    source = sources.get(fold(column.table))
    tie = None if source is None else _named_by(keys, source)
    if source is None or tie is None:
        return None
    kind = exp.Max if isinstance(inner, exp.Max) else exp.Min
    held = exp.EQ(this=exp.column(tie[0], table=_ROWS), expression=copied(tie[1]))
    rows = exp.alias_(exp.Table(this=copied(source.table.this)), _ROWS, table=True)
    return exp.Subquery(
        this=exp.select(kind(this=exp.column(copied(column.this), table=_ROWS))).from_(rows).where(held)
    )


def _named_by(keys: list[exp.Expr], source: _PublicRows) -> tuple[exp.Identifier, exp.Expr] | None:
    """The column of the public table that a key is, and the key."""
    for key in keys:
        if _is_of(key, source.table) and isinstance(key, exp.Column):
            return copied(key.this), key
        if not isinstance(key, exp.Column) or not isinstance(source.equals, exp.Column):
            continue  # what is computed has no name in the answer that a subquery could call it by
        by_name = not source.equals.table and fold(key.name) == fold(source.column)
        if key == source.equals or by_name:
            return exp.to_identifier(source.column), key
    return None
