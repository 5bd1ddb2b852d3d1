"""Keys with the values that conditions leave of them: those of WHERE, and those of a subquery after FROM."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date, datetime, time
from typing import TypeGuard

from sqlglot import exp

from tacit.errors import TacitError
from tacit.policy import fold
from tacit.sql.binding.narrowing import ruled_out
from tacit.sql.binding.own_conditions import excluded
from tacit.sql.binding.told_keys import told_key
from tacit.sql.expressions.keys import Key, key
from tacit.sql.expressions.names.nodes import paren
from tacit.sql.expressions.names.printing import copied
from tacit.sql.expressions.names.scope import Scope, Value, bare, conjuncts
from tacit.sql.relations import QueryContext, scope_of
from tacit.sql.relations.build import read

_PLAIN = {"kind", "expressions", "from_", "joins", "where", "with_"}  # such a select only chooses rows and columns
_LEVELS = 4


def possible_keys(
    nodes: Sequence[exp.Expression],
    scope: Scope,
    select: exp.Select,
    reading: QueryContext,
    *,
    sign: Callable[[exp.Expression], str],
    told: bool,
) -> list[Key]:
    """The keys of GROUP BY, and which of their values cannot be there; with `told`, those that WHERE lists are public.

    A column that a join ties to the key of a public row stands in that row too, where another key does: the pairs that
    the public table has are then the only ones, for all other rows are left out by the join or by that key.
    """
    keys = [possible_key(node, scope, select, reading, sign=sign, told=told) for node in nodes]
    rows = {each.row_of for each in keys if each.row_of is not None}
    if not rows or len(keys) < 2:
        return keys
    for index, node in enumerate(nodes):
        for other in _tied_to(bare(node), select, scope) if keys[index].row_of is None else ():
            public = possible_key(other, scope, select, reading, sign=sign, told=False)
            if public.row_of in rows and public.kind is keys[index].kind:
                keys[index] = public
                break
    return keys


def _tied_to(node: exp.Expression, select: exp.Select, scope: Scope) -> list[exp.Column]:
    """The columns that a join makes equal to one, row by row."""
    if not isinstance(node, exp.Column) or scope.is_unit(node) or scope.key(node) is not None:
        return []
    joins = list(select.args.get("joins") or ())
    where = select.args.get("where")
    held = [part for join in joins for part in _enforced(join)] + ([] if where is None else conjuncts(where.this))
    tied: list[exp.Column] = []
    for each in held:
        sides = [bare(each.this), bare(each.expression)] if isinstance(each, exp.EQ) else []
        plain = [side for side in sides if _is_plain(side, scope)]
        if len(plain) == 2:
            tied += [b for a, b in (plain, plain[::-1]) if scope.known_as(a) == scope.known_as(node)]
    named = [join for join in joins if any(fold(name.name) == fold(node.name) for name in join.args.get("using") or ())]
    using = [exp.column(exp.to_identifier(node.name, quoted=True), table=join.this.alias_or_name) for join in named]
    return [each for each in (*tied, *using) if _is_plain(each, scope)]


def _is_plain(node: exp.Expression, scope: Scope) -> TypeGuard[exp.Column]:
    return isinstance(node, exp.Column) and not scope.is_unit(node) and scope.key(node) is None


def _enforced(join: exp.Join) -> list[exp.Expression]:
    """What a join demands of every row that has a partner: of LEFT JOIN, only what it says of that partner."""
    side, on = str(join.args.get("side") or "").upper(), join.args.get("on")
    if on is None or side not in {"", "LEFT"}:
        return []
    joined = fold(join.this.alias_or_name)
    parts = conjuncts(on)
    return (
        parts if not side else [part for part in parts if joined in {fold(c.table) for c in part.find_all(exp.Column)}]
    )


def possible_key(
    node: exp.Expression,
    scope: Scope,
    select: exp.Select,
    reading: QueryContext,
    *,
    sign: Callable[[exp.Expression], str],
    told: bool,
) -> Key:
    """A key of GROUP BY, and which of its values cannot be there."""
    where = select.args.get("where")
    conditions = None if where is None else where.this
    group_key = key(node, scope)
    if told:
        group_key = told_key(bare(node), group_key, scope, conditions, sign=sign)
    gone = ruled_out(node, group_key, scope, conditions) | ruled_out_inside(node, group_key, select, reading)
    gone |= _not_among(node, group_key, scope, conditions, sign=sign)
    return replace(group_key, impossible=gone, excluded=excluded(node, group_key, scope, conditions, sign=sign))


def _not_among(
    node: exp.Expression,
    group_key: Key,
    scope: Scope,
    conditions: exp.Expression | None,
    *,
    sign: Callable[[exp.Expression], str],
) -> frozenset[Value]:
    """The values that are not listed where the key itself, computed and not a cell, is looked for in a list."""
    if conditions is None or not isinstance(group_key.values, tuple) or isinstance(bare(node), exp.Column):
        return frozenset()
    gone: frozenset[Value] = frozenset()
    for part in conjuncts(conditions):
        items = part.expressions if isinstance(part, exp.In) else [part.expression] if isinstance(part, exp.EQ) else []
        if not items or not all(scope.is_constant(item) for item in items) or sign(bare(part.this)) != sign(bare(node)):
            continue
        listed = {_moment(scope.value(item)) for item in items}
        gone |= frozenset(value for value in group_key.values if _moment(value) not in listed)
    return gone if len(gone) < len(group_key.values) else frozenset()


def _moment(value: Value) -> Value:
    """A day as its midnight, so that it is found among timestamps."""
    is_day = isinstance(value, date) and not isinstance(value, datetime)
    return datetime.combine(value, time()) if is_day and isinstance(value, date) else value


def ruled_out_inside(
    node: exp.Expression, group_key: Key, select: exp.Select, reading: QueryContext
) -> frozenset[Value]:
    """The public values of a key that no row of the subquery has from which the question reads."""
    if not isinstance(group_key.values, tuple):
        return frozenset()
    gone: frozenset[Value] = frozenset()
    try:
        for _ in range(_LEVELS):
            inside = _inside(select, reading)
            written = None if inside is None else _written_inside(node, inside[0])
            if inside is None or written is None:
                break
            select, reading, node = *inside, written
            where = select.args.get("where")
            if where is not None:
                scope = scope_of(read(select, replace(reading, names_only=True)), reading.inside(select))
                gone |= ruled_out(node, key(node, scope), scope, where.this)
    except (TacitError, ArithmeticError):
        pass  # whatever is in doubt is shown
    if not gone:
        return gone
    known = frozenset(group_key.values)
    return gone & known if gone & known < known else frozenset()


def _inside(select: exp.Select, reading: QueryContext) -> tuple[exp.Select, QueryContext] | None:
    """The one subquery that a select reads from, and its context."""
    source, reading = select.args.get("from_"), reading.inside(select)
    if source is None or select.args.get("joins"):
        return None
    inner: exp.Expression = source.this
    if isinstance(inner, exp.Table) and not inner.db and fold(inner.name) in reading.named:
        common = reading.named[fold(inner.name)]
        inner, reading = common.tree, replace(reading, named=common.before)
        if common.columns:
            return None
    elif not isinstance(inner, exp.Subquery) or (inner.args.get("alias") and inner.args["alias"].columns):
        return None
    while isinstance(inner, exp.Subquery):
        inner = inner.this
    plain = isinstance(inner, exp.Select) and all(name in _PLAIN for name, value in inner.args.items() if value)
    return (inner, reading) if isinstance(inner, exp.Select) and plain else None


def _written_inside(node: exp.Expression, inner: exp.Select) -> exp.Expression | None:
    """An expression over a subquery's columns, as one over the columns of the tables inside it."""
    items = {fold(item.alias_or_name): item.unalias() for item in inner.expressions if item.alias_or_name}
    starred = any(isinstance(item, exp.Star) for item in inner.expressions)
    whole = exp.Paren(this=copied(node))
    for column in list(whole.find_all(exp.Column)):
        meant = items.get(fold(column.name))
        if meant is None and not starred:
            return None
        column.replace(exp.column(copied(column.this)) if meant is None else paren(copied(meant)))
    return whole if whole.find(exp.Query, exp.Window) is None else None
