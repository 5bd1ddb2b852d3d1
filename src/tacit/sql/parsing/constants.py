"""What an expression over known numbers, days and moments comes to: for lists that a question writes down."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from datetime import date, datetime
from typing import Any

from sqlglot import exp

from tacit.errors import QueryRefused
from tacit.policy.reading.names import fold
from tacit.sql.expressions.calendar import after, span_of
from tacit.sql.expressions.dates.instant_reading import times_interval
from tacit.sql.expressions.names.scope import bare
from tacit.sql.expressions.series import MOMENTS, constant_of, midnight

_LARGEST = 10**12
_COMPARED: dict[type, Callable[[Any, Any], bool]] = {
    exp.LT: operator.lt,
    exp.LTE: operator.le,
    exp.GT: operator.gt,
    exp.GTE: operator.ge,
    exp.EQ: operator.eq,
    exp.NEQ: operator.ne,
}
_COMPUTED: dict[type, Callable[[int, int], int]] = {exp.Add: operator.add, exp.Sub: operator.sub, exp.Mul: operator.mul}
_PARTS: dict[type, str] = {exp.Year: "year", exp.Month: "month", exp.Day: "day"}


class Unknown(Exception):
    """An expression is of another kind, or reads what is not known."""


def holds(condition: exp.Expr, row: Mapping[str, object]) -> bool:
    """Whether a comparison of such values is true. Raises Unknown for any other condition."""
    condition = bare(condition)  # type: ignore[arg-type]
    if isinstance(condition, exp.And):
        return holds(condition.this, row) and holds(condition.expression, row)
    if type(condition) not in _COMPARED:
        raise Unknown
    one, other = (value_of(side, row) for side in (condition.this, condition.expression))
    one, other = _alike(one, other), _alike(other, one)
    if type(one) is not type(other):
        raise Unknown
    return _COMPARED[type(condition)](one, other)


def _alike(value: object, other: object) -> object:
    """A day or a text beside a moment is one too."""
    try:
        if isinstance(value, str) and isinstance(other, date):
            value = datetime.fromisoformat(value)
    except ValueError:
        raise Unknown from None
    return midnight(value) if isinstance(value, date) and isinstance(other, (date, str)) else value


def value_of(node: exp.Expr, row: Mapping[str, object]) -> object:
    """What an expression comes to, where a row says what its columns are. Raises Unknown where that is not known."""
    node = bare(node)  # type: ignore[arg-type]
    if isinstance(node, (exp.Column, exp.Explode)):
        name = "" if isinstance(node, exp.Explode) else fold(node.name)
        if name not in row:
            raise Unknown
        return row[name]
    if isinstance(node, exp.Cast):
        return _cast(value_of(node.this, row), node)
    if isinstance(node, (exp.Add, exp.Sub, exp.Mul)):
        return _computed(node, row)
    if isinstance(node, exp.DateFromParts):
        return _made(node, row)
    if type(node) in _PARTS:
        moment = value_of(node.this, row)
        if not isinstance(moment, date):
            raise Unknown
        return getattr(moment, _PARTS[type(node)])
    value = constant_of(node)
    if value is None:
        raise Unknown
    return value


def _made(node: exp.Expr, row: Mapping[str, object]) -> date:
    """MAKE_DATE(year, 12, 31)."""
    parts = [value_of(part, row) for part in node.iter_expressions()]
    try:
        year, month, day = (part for part in parts if type(part) is int)
        return date(year, month, day)
    except (ValueError, OverflowError):
        raise Unknown from None


def _cast(value: object, node: exp.Cast) -> object:
    try:
        if isinstance(value, str) and node.is_type(*MOMENTS):
            value = datetime.fromisoformat(value)
    except ValueError:
        raise Unknown from None
    if isinstance(value, date) and node.is_type(*MOMENTS):
        return midnight(value).date() if node.is_type("date") else midnight(value)
    if isinstance(value, int) and node.is_type("int", "bigint"):
        return value
    raise Unknown


def _computed(node: exp.Expr, row: Mapping[str, object]) -> object:
    sides = [times_interval(bare(side)) for side in (node.this, node.expression)]
    if isinstance(sides[1], exp.Interval):
        start = value_of(sides[0], row)
        if not isinstance(start, date) or isinstance(node, exp.Mul):
            raise Unknown
        try:
            span = span_of(sides[1], lambda part: value_of(part, row))
            return after(midnight(start), span if isinstance(node, exp.Add) else -span)
        except (QueryRefused, OverflowError, ValueError):
            raise Unknown from None
    one, other = (value_of(side, row) for side in sides)
    if type(one) is date and type(other) is int and not isinstance(node, exp.Mul):
        days = exp.Interval(this=exp.Literal.string(f"{other} day"))
        try:
            span = span_of(days, constant_of)
            return midnight(after(one, span if isinstance(node, exp.Add) else -span)).date()
        except (QueryRefused, OverflowError, ValueError):
            raise Unknown from None
    if type(one) is not int or type(other) is not int or max(abs(one), abs(other)) > _LARGEST:
        raise Unknown
    return _COMPUTED[type(node)](one, other)
