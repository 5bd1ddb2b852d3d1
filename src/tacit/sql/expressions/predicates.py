"""Conditions: WHERE, FILTER and CASE WHEN. Rebuilt from an allow-list; nothing in them can fail on any row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, time
from fractions import Fraction
from typing import TypeGuard

from sqlglot import exp

from tacit.errors import QueryRefused
from tacit.policy import ColumnType
from tacit.sql.expressions import arithmetic, numerics
from tacit.sql.expressions.grid import Grid
from tacit.sql.expressions.numbers import number
from tacit.sql.expressions.operands import Operand, comparable, constant, kind_of, literal, operand
from tacit.sql.expressions.scope import Scope, Value, chain, name_of, written_twice

_COMPARISONS = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE)
_READ_AS_MOMENT = {
    (ColumnType.TEXT, ColumnType.DATE),
    (ColumnType.TEXT, ColumnType.TIMESTAMP),
    (ColumnType.DATE, ColumnType.TIMESTAMP),
}
_MOMENTS = {ColumnType.DATE, ColumnType.TIMESTAMP}
_NUMERIC = {ColumnType.INTEGER, ColumnType.NUMBER}
_WIDEST = 1 << 126  # what 128 bits hold, with room to spare
_MAX_LIST = 5_000
_MIRRORED: dict[type[exp.Expression], type[exp.Expression]] = {
    exp.EQ: exp.EQ,
    exp.NEQ: exp.NEQ,
    exp.GT: exp.LT,
    exp.GTE: exp.LTE,
    exp.LT: exp.GT,
    exp.LTE: exp.GTE,
}


def predicate(node: exp.Expression, scope: Scope) -> exp.Expression:
    """The same condition, built anew from parts that are allowed."""
    _refuse_unread(node)
    if isinstance(node, _COMPARISONS):
        return _comparison(node, scope)
    build = _BUILDERS.get(type(node))
    if build is not None:
        return build(node, scope)
    found = operand(node, scope)
    if found is not None and found.kind is ColumnType.BOOLEAN:
        return found.sql
    raise QueryRefused(
        f"{name_of(node)} is refused in a condition",
        hint="compare a column with a constant, as in age >= 18; of text, LIKE 'A%' as well",
    )


def _refuse_unread(node: exp.Expression) -> None:
    """Refuse a part of a condition that would be left out unseen, such as SYMMETRIC."""
    known = _PARTS.get(type(node), {"this", "expression"} if isinstance(node, _COMPARISONS) else None)
    extra = [] if known is None else [name for name, value in node.args.items() if value and name not in known]
    if extra:
        raise QueryRefused(f"{name_of(node)} is refused with {extra[0].upper()}")


def _joined(node: exp.Expression, scope: Scope) -> exp.Expression:
    parts = [exp.paren(predicate(part, scope)) for part in chain(node)]
    kind = type(node)
    while len(parts) > 1:  # a balanced tree: a long chain would be a deep one
        pairs = [kind(this=a, expression=b) for a, b in zip(parts[::2], parts[1::2], strict=False)]
        parts = [*(exp.paren(p) for p in pairs), *parts[len(pairs) * 2 :]]
    return parts[0]


def _comparison(node: exp.Expression, scope: Scope) -> exp.Expression:
    left, right = comparable(node.this, scope), comparable(node.expression, scope)
    kind = type(node)
    for side, other in ((left, node.expression), (right, node.this)):
        if side is not None and side.kind in _MOMENTS and (right if side is left else left) is None:
            raise _beside_a_moment(other, str(side.kind))
    if left is None or right is None:
        return _grid_comparison(kind, node, scope)
    exact = _exact_comparison(left, right, node=node, scope=scope)
    if exact is not None:
        return exact
    left, right = _same_kind(left, right, node, scope)
    return kind(this=left.sql, expression=right.sql)


def _exact_comparison(left: Operand, right: Operand, *, node: exp.Expression, scope: Scope) -> exp.Expression | None:
    """Whole numbers and decimals with no rounding: beside a constant, or beside another such column."""
    sides = (left, right, node.expression, type(node)), (right, left, node.this, _MIRRORED[type(node)])
    for column, other, written, operator in sides:
        value = scope.value(written) if other.constant else None
        if column.kind in _NUMERIC and column.exact is not None and column.numeric is not None and _is_number(value):
            return numerics.compared(operator, column.exact.copy(), Fraction(value), kind=column.numeric)
    if left.exact is None or right.exact is None or left.numeric is None or right.numeric is None:
        return None
    pair = numerics.aligned(left.exact.copy(), left.numeric, other=right.exact.copy(), second=right.numeric)
    return None if pair is None else type(node)(this=pair[0], expression=pair[1])


def _is_number(value: Value) -> TypeGuard[int | Fraction]:
    return isinstance(value, (int, Fraction)) and not isinstance(value, bool)


def _grid_comparison(kind: type[exp.Expression], node: exp.Expression, scope: Scope) -> exp.Expression:
    """Compare computed numbers on a common grid: whole numbers on both sides."""
    left = number(node.this, scope, predicate=predicate)
    right = number(node.expression, scope, predicate=predicate)
    ratio = left.step / right.step
    return kind(this=_scaled(left, ratio.numerator), expression=_scaled(right, ratio.denominator))


def _scaled(grid: Grid, factor: int) -> exp.Expression:
    if factor == 1 or grid.magnitude == 0:
        return arithmetic.operand(grid.sql)
    if grid.magnitude * factor >= _WIDEST:  # it would overflow, and so fail, on the rows that are large enough
        raise QueryRefused("the sides of a comparison are too far apart in size to be compared exactly")
    if grid.is_constant:
        return arithmetic.operand(arithmetic.integer(grid.low * factor))
    return arithmetic.operand(arithmetic.multiply(grid.whole, arithmetic.constant(factor)).sql)


def _same_kind(left: Operand, right: Operand, node: exp.Expression, scope: Scope) -> tuple[Operand, Operand]:
    """Both sides with one type, a text constant read as a date where the other side is one."""
    if left.constant and not right.constant:
        right, left = _same_kind(right, left, _mirrored(node), scope)
        return left, right
    if right.constant and (right.kind, left.kind) in _READ_AS_MOMENT:
        right = _as_moment(right, left.kind, node, scope)
    elif right.constant and (right.kind, left.kind) == (ColumnType.TIMESTAMP, ColumnType.DATE):
        right = _as_day(right, node, scope)
    elif right.constant and left.sql_type:
        right = replace(right, sql=constant(scope.value(node.expression), left.sql_type))
    kinds = {left.kind, right.kind} - {None}
    if len(kinds) <= 1 or kinds <= _NUMERIC:
        return left, right
    raise QueryRefused(
        f"{left.kind} is compared with {right.kind}: tacit does not convert cells",
        hint="write DATE '2026-01-31'" if kinds & _MOMENTS else "quote text ('CS'), do not quote numbers",
    )


def _beside_a_moment(node: exp.Expression, kind: str) -> QueryRefused:
    """Arithmetic with the dates of rows would be each engine's own, and may fail on some; that of constants is ours."""
    if node.find(exp.CurrentDate, exp.CurrentTimestamp) or name_of(node) in {"NOW", "TODAY"}:
        return QueryRefused(
            "the current date is refused: a question must mean the same whenever it is asked",
            hint="write the day, as in DATE '2026-01-31' - INTERVAL '1' YEAR",
        )
    return QueryRefused(
        f"{name_of(node)} is refused beside a {kind}: only constants are moved by an interval",
        hint="move the other side: day >= DATE '2026-01-31' - INTERVAL '90' DAY",
    )


def _mirrored(node: exp.Expression) -> exp.Expression:
    return exp.EQ(this=node.expression.copy(), expression=node.this.copy())


def _as_moment(right: Operand, kind: ColumnType | None, node: exp.Expression, scope: Scope) -> Operand:
    name = "DATE" if kind is ColumnType.DATE else "TIMESTAMP"
    text = scope.value(node.expression)  # of a date too: its ISO form is midnight
    value = scope.value(exp.cast(exp.Literal.string(str(text)), name))
    return Operand(literal(value), kind, constant=True)


def _as_day(right: Operand, node: exp.Expression, scope: Scope) -> Operand:
    """Midnight as its day; any other time would be held against a day by each engine in its own way."""
    value = scope.value(node.expression)
    if not isinstance(value, datetime) or value.time() != time():
        raise QueryRefused("a date is compared with a time of day", hint="compare it with a DATE")
    return Operand(literal(value.date()), ColumnType.DATE, constant=True)


def _between(node: exp.Expression, scope: Scope) -> exp.Expression:
    written_twice(node.this)
    low = exp.GTE(this=node.this.copy(), expression=node.args["low"])
    high = exp.LTE(this=node.this.copy(), expression=node.args["high"])
    return exp.And(this=exp.paren(predicate(low, scope)), expression=exp.paren(predicate(high, scope)))


def _in(node: exp.Expression, scope: Scope) -> exp.Expression:
    if node.args.get("query"):
        return _member(node, scope)
    if node.args.get("unnest") or node.args.get("field"):
        raise QueryRefused("IN over a list column is refused", hint="list the values: IN ('a', 'b')")
    left = comparable(node.this, scope)
    if left is None or left.constant or not node.expressions or len(node.expressions) > _MAX_LIST:
        raise QueryRefused(f"IN needs a column and a list of at most {_MAX_LIST:,} constants")
    listed = [scope.value(item) for item in node.expressions]
    numbers = left.kind in _NUMERIC and all(value is None or _is_number(value) for value in listed)
    if numbers and left.exact is not None and left.numeric is not None:
        exact = [Fraction(value) if _is_number(value) else None for value in listed]
        return numerics.among(left.exact.copy(), exact, kind=left.numeric)
    values: list[exp.Expression] = []
    for item, value in zip(node.expressions, listed, strict=True):
        pair = exp.EQ(this=node.this, expression=item)
        right = Operand(constant(value), kind_of(value), constant=True)
        values.append(_same_kind(left, right, pair, scope)[1].sql)
    return exp.In(this=left.sql, expressions=values)


def _member(node: exp.Expression, scope: Scope) -> exp.Expression:
    if scope.member is None:
        raise QueryRefused("a subquery is refused here", hint="write it after WHERE")
    return scope.member(node)


def _is(node: exp.Expression, scope: Scope) -> exp.Expression:
    if isinstance(node.expression, exp.Boolean):
        return exp.Is(
            this=exp.paren(predicate(node.this, scope)), expression=exp.Boolean(this=bool(node.expression.this))
        )
    if not isinstance(node.expression, exp.Null):
        raise QueryRefused("IS needs NULL, TRUE or FALSE")
    left = operand(node.this, scope)
    if left is None:
        left = Operand(number(node.this, scope, predicate=predicate).sql, ColumnType.INTEGER)
    return exp.Is(this=left.sql, expression=exp.null())


def _like(node: exp.Expression, scope: Scope) -> exp.Expression:
    left = comparable(node.this, scope)
    pattern = scope.value(node.expression)
    if left is None or left.kind is not ColumnType.TEXT or not isinstance(pattern, str) or len(pattern) > 1_000:
        raise QueryRefused("LIKE needs a text column and a constant pattern", hint="write name LIKE 'A%'")
    if pattern.endswith("\\"):
        raise QueryRefused("a LIKE pattern that ends in a backslash is refused")
    made = type(node)(this=left.sql, expression=literal(pattern))
    return exp.Not(this=exp.paren(made)) if node.args.get("negate") else made


_PARTS: dict[type[exp.Expression], set[str]] = {
    exp.And: {"this", "expression"},
    exp.Or: {"this", "expression"},
    exp.Not: {"this"},
    exp.Paren: {"this"},
    exp.Between: {"this", "low", "high"},
    exp.In: {"this", "expressions", "query", "unnest", "field"},
    exp.Exists: {"this", "expression"},
    exp.Is: {"this", "expression"},
    exp.Like: {"this", "expression", "negate"},
    exp.ILike: {"this", "expression", "negate"},
}
_BUILDERS: dict[type[exp.Expression], Callable[[exp.Expression, Scope], exp.Expression]] = {
    exp.And: _joined,
    exp.Or: _joined,
    exp.Not: lambda node, scope: exp.Not(this=exp.paren(predicate(node.this, scope))),
    exp.Paren: lambda node, scope: predicate(node.this, scope),
    exp.Between: _between,
    exp.In: _in,
    exp.Exists: _member,
    exp.Is: _is,
    exp.Like: _like,
    exp.ILike: _like,
}
