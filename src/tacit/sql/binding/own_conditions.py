"""Conditions on a key itself, tried on each of its public values: MONTH(day) <= 3 leaves three months of twelve.

Like `narrowing`, this decides what is shown and never what is measured: where a condition says more than can be told
from the value alone, it holds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import date, datetime, time, timedelta
from fractions import Fraction
from operator import eq, ge, gt, le, lt, ne
from typing import Any

from sqlglot import exp

from tacit.errors import TacitError
from tacit.policy import ColumnPolicy, ColumnType
from tacit.sql.expressions.dates.date_functions import part_of
from tacit.sql.expressions.keys import Key
from tacit.sql.expressions.names.printing import text_of
from tacit.sql.expressions.names.scope import Scope, bare, conjuncts
from tacit.sql.expressions.predicates import predicate

Unknown = None
Truth = bool | None
Excluded = Callable[[object], bool]
_COMPARED: dict[type[exp.Expr], Callable[[Any, Any], bool]] = {
    exp.EQ: eq,
    exp.NEQ: ne,
    exp.LT: lt,
    exp.LTE: le,
    exp.GT: gt,
    exp.GTE: ge,
}
_PARTS: dict[str, Callable[[date], int]] = {
    "YEAR": lambda day: day.year,
    "QUARTER": lambda day: (day.month + 2) // 3,
    "MONTH": lambda day: day.month,
    "DAY": lambda day: day.day,
    "DAYOFMONTH": lambda day: day.day,
    "ISODOW": lambda day: day.isoweekday(),
    "DOW": lambda day: day.isoweekday() % 7,
    "DAYOFWEEK": lambda day: day.isoweekday() % 7,
}


def excluded(
    node: exp.Expression,
    group_key: Key,
    scope: Scope,
    where: exp.Expression | None,
    *,
    sign: Callable[[exp.Expression], str],
) -> Excluded | None:
    """Whether a value of the key `node` is one that no row has for which the conditions hold; None if none is."""
    if group_key.values is not None and isinstance(bare(node), exp.LastDay):
        return _is_within_a_month  # its days are the last ones, whatever the rows are
    if where is None or group_key.values is None:
        return None
    tried = _Tried(scope, sign(node), sign)
    conditions = [
        each for each in conjuncts(where) if tried.concerns(each) and _reads_alike(node, group_key, scope, each)
    ]
    if not conditions:
        return None

    def is_out(value: object) -> bool:
        return value is not None and any(tried.truth(each, value) is False for each in conditions)

    values = group_key.values
    return None if isinstance(values, tuple) and all(map(is_out, values)) else is_out  # an answer has rows


def _is_exact(declared: ColumnPolicy, kind: ColumnType) -> bool:
    """Whether no cell of a column is rounded to another: texts, days, and whole numbers in steps of one."""
    if kind is ColumnType.INTEGER:
        return declared.bounds is None or declared.bounds.step == 1
    return kind in {ColumnType.DATE, ColumnType.TEXT, ColumnType.BOOLEAN}


def _is_within_a_month(value: object) -> bool:
    return isinstance(value, date) and (value + timedelta(days=1)).day != 1


def _reads_alike(node: exp.Expression, group_key: Key, scope: Scope, condition: exp.Expression) -> bool:
    """Whether a condition sees the very values that rows are grouped by, and not what they were before rounding."""
    if group_key.sql.find(exp.Anonymous) is None:  # our own marks, for what is held on a grid, are calls
        return True
    node = bare(node)
    if isinstance(node, exp.Column) and _is_exact(*scope.column(node)):
        return True
    try:
        return text_of(group_key.sql) in text_of(predicate(condition, scope))
    except TacitError:
        return False


class _Tried:
    """Conditions over one key, by its value alone."""

    def __init__(self, scope: Scope, wanted: str, sign: Callable[[exp.Expression], str]) -> None:
        self._scope, self._wanted, self._sign = scope, wanted, sign
        self._known: dict[int, tuple[exp.Expression, bool]] = {}  # with each node, so that an id stays one node's
        self._constants: dict[int, tuple[exp.Expression, object]] = {}  # likewise: there may be thousands of values

    def concerns(self, condition: exp.Expression) -> bool:
        """Whether the key stands in a condition, and no subquery does."""
        return condition.find(exp.Query) is None and any(
            self._is_key(node) for node in condition.walk() if isinstance(node, exp.Expression)
        )

    def _is_key(self, node: exp.Expression) -> bool:
        if id(node) not in self._known:
            plain = not isinstance(node, (exp.Identifier, exp.Literal, exp.DataType, exp.Connector, exp.Var))
            self._known[id(node)] = (node, plain and self._sign(node) == self._wanted)
        return self._known[id(node)][1]

    def truth(self, condition: exp.Expression, value: object) -> Truth:
        """Whether a condition holds; None where the value does not tell."""
        condition = bare(condition)
        if isinstance(condition, exp.Not):
            inner = self.truth(condition.this, value)
            return Unknown if inner is Unknown else not inner
        if isinstance(condition, (exp.And, exp.Or)):
            decisive = isinstance(condition, exp.Or)
            sides = [self.truth(side, value) for side in (condition.this, condition.expression)]
            return decisive if decisive in sides else Unknown if Unknown in sides else not decisive
        return self._plain(condition, value)

    def _plain(self, condition: exp.Expression, value: object) -> Truth:
        """Whether a comparison holds."""
        if isinstance(condition, exp.Between) and not condition.args.get("symmetric"):
            ends = [(exp.GTE, condition.args["low"]), (exp.LTE, condition.args["high"])]
            return self._all([self._compared(kind, condition.this, end, value) for kind, end in ends])
        if isinstance(condition, exp.In) and condition.expressions and not condition.args.get("query"):
            each = [self._compared(exp.EQ, condition.this, item, value) for item in condition.expressions]
            return True if True in each else Unknown if Unknown in each else False
        if isinstance(condition, exp.Like):
            return self._like(condition, value)
        if type(condition) in _COMPARED:
            return self._compared(type(condition), condition.this, condition.expression, value)
        return Unknown

    @staticmethod
    def _all(truths: Sequence[Truth]) -> Truth:
        return False if False in truths else Unknown if Unknown in truths else True

    def _compared(self, kind: type[exp.Expr], left: exp.Expression, right: exp.Expression, value: object) -> Truth:
        sides = _alike(self._side(left, value), self._side(right, value))
        if sides is None or (
            isinstance(sides[0], str) and kind not in (exp.EQ, exp.NEQ)
        ):  # texts are ordered by engines
            return Unknown
        return bool(_COMPARED[kind](*sides))

    def _side(self, node: exp.Expression, value: object) -> object:
        node = bare(node)
        if self._is_key(node):
            return value
        if id(node) not in self._constants:
            self._constants[id(node)] = node, self._constant(node)
        constant = self._constants[id(node)][1]
        if constant is not None:
            return constant
        taken = part_of(node)
        if taken is not None and taken[0] in _PARTS and self._is_key(taken[1]) and isinstance(value, date):
            return _PARTS[taken[0]](value)
        return None

    def _constant(self, node: exp.Expression) -> object:
        """What a node says that is the same for all values; of a text that is a moment, the moment beside it."""
        return self._scope.value(node) if self._scope.is_constant(node) else None

    def _like(self, condition: exp.Like, value: object) -> Truth:
        pattern = self._side(condition.expression, value)
        text = self._side(condition.this, value)
        if not isinstance(pattern, str) or not isinstance(text, str) or "\\" in pattern:
            return Unknown
        signs = {"%": ".*", "_": "."}
        return re.fullmatch("".join(signs.get(c) or re.escape(c) for c in pattern), text, re.DOTALL) is not None


def _alike(left: object, right: object) -> tuple[object, object] | None:
    """Two values that can be compared: numbers, texts, truth values or moments; None where they cannot."""
    on_days = any(isinstance(side, date) and not isinstance(side, datetime) for side in (left, right))
    for kind in (_number, _day if on_days else _moment, _text, _truth):
        sides = kind(left), kind(right)
        if None not in sides:
            return sides
    return None


def _number(value: object) -> Fraction | None:
    return Fraction(value) if isinstance(value, (int, Fraction)) and not isinstance(value, bool) else None


def _truth(value: object) -> bool | None:
    return value if isinstance(value, bool) else None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _day(value: object) -> datetime | None:
    """What stands beside a DATE: a text is one too, whatever time of day it goes on with."""
    moment = _moment(value)
    return datetime.combine(moment, time()) if moment is not None and isinstance(value, str) else moment


def _moment(value: object) -> datetime | None:
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            return None
    if isinstance(value, datetime):
        return value if value.tzinfo is None else None
    return datetime.combine(value, time()) if isinstance(value, date) else None
