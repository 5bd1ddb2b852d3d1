"""Keys with the values that conditions leave of them: those of WHERE, and those of a subquery after FROM."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from sqlglot import exp

from tacit.errors import TacitError
from tacit.policy import fold
from tacit.sql.binding.narrowing import ruled_out
from tacit.sql.binding.own_conditions import excluded
from tacit.sql.expressions.keys import Key, key
from tacit.sql.expressions.names.scope import Scope, Value
from tacit.sql.relations import QueryContext, scope_of
from tacit.sql.relations.build import read

_PLAIN = {"kind", "expressions", "from_", "joins", "where", "with_"}  # such a select only chooses rows and columns
_LEVELS = 4


def possible_key(
    node: exp.Expression,
    scope: Scope,
    select: exp.Select,
    reading: QueryContext,
    *,
    sign: Callable[[exp.Expression], str],
) -> Key:
    """A key of GROUP BY, and which of its values cannot be there."""
    where = select.args.get("where")
    conditions = None if where is None else where.this
    group_key = key(node, scope)
    gone = ruled_out(node, group_key, scope, conditions) | ruled_out_inside(node, group_key, select, reading)
    return replace(group_key, impossible=gone, excluded=excluded(node, group_key, scope, conditions, sign=sign))


def ruled_out_inside(
    node: exp.Expression, group_key: Key, select: exp.Select, reading: QueryContext
) -> frozenset[Value]:
    """The public values of a key that no row of the subquery has from which the question reads."""
    if not isinstance(group_key.values, tuple):
        return frozenset()
    known = frozenset(group_key.values)
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
    whole = exp.Paren(this=node.copy())
    for column in list(whole.find_all(exp.Column)):
        meant = items.get(fold(column.name))
        if meant is None and not starred:
            return None
        column.replace(exp.column(column.this.copy()) if meant is None else exp.paren(meant.copy()))
    return whole if whole.find(exp.Query, exp.Window) is None else None
