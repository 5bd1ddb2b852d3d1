"""Keys that WHERE rules out: public values that no row can have, so that nobody is shown the noise of a certain zero.

`WHERE day >= '2024-12-01' GROUP BY day` asks for one month, and the other days of the column's bounds are in no group.
What a condition leaves of a column is public; the key's values over what is left are found as those over the whole
column were. It decides what is shown, never what is measured: where anything is in doubt, every value is kept.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction

from sqlglot import exp

from tacit.core import Bounds
from tacit.errors import TacitError
from tacit.policy import ColumnPolicy, ColumnType, ListDomain, fold
from tacit.policy.reading.types import grid_units
from tacit.sql.expressions.dates.date_functions import part_of
from tacit.sql.expressions.dates.instants import start_of
from tacit.sql.expressions.keys import Key, key
from tacit.sql.expressions.names.scope import Scope, Value, bare, conjuncts
from tacit.sql.expressions.numeric.grid import rounded_columns

_FLIPPED: dict[type[exp.Expression], type[exp.Expression]] = {
    exp.GT: exp.LT,
    exp.GTE: exp.LTE,
    exp.LT: exp.GT,
    exp.LTE: exp.GTE,
    exp.EQ: exp.EQ,
}
_DAY = 86_400
_EPOCH = date(1970, 1, 1)
_FOLLOWING: dict[str, Callable[[date], date]] = {  # the start of the next one
    "DAY": lambda day: day + timedelta(days=1),
    "MONTH": lambda day: start_of(day + timedelta(days=31), "MONTH"),
    "QUARTER": lambda day: start_of(day + timedelta(days=92), "QUARTER"),
    "YEAR": lambda day: start_of(day + timedelta(days=366), "YEAR"),
}


@dataclass(slots=True)
class _Left:
    """What conditions leave of one column: numbers from low to high, ends among them, and of listed values these."""

    column: ColumnPolicy
    kind: ColumnType
    low: Fraction | None = None
    high: Fraction | None = None
    strictly: bool = (
        True  # whether `x < b` leaves b out: not of seconds rounded to a step before they are cut into keys
    )
    listed: list[Value] | None = None  # of a domain that is a list

    def at_least(self, value: Fraction, *, strict: bool) -> None:
        """From a value on. What follows a second within it is cut off with that second, however strictly."""
        low = value + 1 if strict and self._is_whole and self.kind is not ColumnType.TIMESTAMP else value
        self.low = low if self.low is None else max(self.low, low)

    def at_most(self, value: Fraction, *, strict: bool) -> None:
        """Up to a value. What is before a second is cut off with an earlier one."""
        high = value - 1 if strict and self._is_whole else value
        self.high = high if self.high is None else min(self.high, high)

    @property
    def _is_whole(self) -> bool:
        """Whether its values are whole numbers by the time that they are cut into keys."""
        return self.kind is not ColumnType.NUMBER and (self.strictly or self.kind is not ColumnType.TIMESTAMP)

    def narrowed(self) -> ColumnPolicy | None:
        """The column with what is left as its bounds and its domain; None where nothing was ruled out."""
        if self.listed is not None and isinstance(self.column.domain, ListDomain) and self.listed:
            return replace(
                self.column, domain=ListDomain(tuple(v for v in self.column.domain.values if v in self.listed))
            )
        if isinstance(self.column.domain, ListDomain):  # its values may not lie outside of the bounds
            return self._listed_within(self.column.domain)
        bounds = self.column.bounds
        if bounds is None or (self.low is None and self.high is None):
            return None
        low, high = (_held(end, bounds) for end in (self.low, self.high))
        step = Fraction(1) if self.strictly and self.kind is ColumnType.TIMESTAMP else bounds.step
        lower = bounds.lower if low is None else step * math.floor(low / step)
        upper = bounds.upper if high is None else step * math.ceil(high / step)
        lower, upper = max(lower, bounds.lower), min(upper, bounds.upper)
        if lower >= upper:  # a column has at least two values
            lower = max(bounds.lower, min(lower, upper) - step)
            upper = min(bounds.upper, lower + 2 * step)
        ends = _value(lower, self.kind), _value(upper, self.kind)
        return replace(self.column, lower=ends[0], upper=ends[1], step=step)

    def _listed_within(self, domain: ListDomain) -> ColumnPolicy | None:
        """The column with the listed values that lie between the ends."""
        numbers = [_number(value, self.kind) for value in domain.values]
        kept = tuple(
            value
            for value, number in zip(domain.values, numbers, strict=True)
            if number is None
            or ((self.low is None or number >= self.low) and (self.high is None or number <= self.high))
        )
        return replace(self.column, domain=ListDomain(kept)) if 0 < len(kept) < len(domain.values) else None


def ruled_out(node: exp.Expression, group_key: Key, scope: Scope, where: exp.Expression | None) -> frozenset[Value]:
    """The public values of a key that no row has for which the conditions hold."""
    if where is None or not isinstance(group_key.values, tuple):
        return frozenset()
    try:
        itself = isinstance(bare(node), exp.Column)
        narrow = _narrowed(scope, where, rounded=_is_rounded(group_key, scope), itself=itself)
        again = None if narrow is None else key(node, narrow)
    except (TacitError, ArithmeticError):
        return frozenset()
    if again is None or not isinstance(again.values, tuple):
        return frozenset()
    values = frozenset(group_key.values)
    left = frozenset(again.values)
    return values - left if left and left <= values else frozenset()


def _is_rounded(group_key: Key, scope: Scope) -> bool:
    """Whether a key is made of seconds that are rounded to a coarser step; seconds themselves are cut off."""
    rounded = rounded_columns(group_key.sql)
    bounds = [column.bounds for column in scope.table.columns if fold(column.name) in rounded]
    return any(each is not None and each.step != 1 for each in bounds)


def _narrowed(scope: Scope, where: exp.Expression, *, rounded: bool, itself: bool) -> Scope | None:
    """The scope with columns that hold only what the conditions let through.

    `itself` says that the key is a column as it is: what is not 'ICU' may be 'icu', which is none of the column's
    public values, and one of LOWER's.
    """
    left_of: dict[str, _Left] = {}
    for condition in conjuncts(where):
        if itself or not isinstance(bare(condition), (exp.NEQ, exp.Not)):
            _read(condition, scope, left_of, strictly=not rounded)
    columns = {fold(name): left.narrowed() for name, left in left_of.items()}
    if not any(columns.values()):
        return None
    kept = tuple(columns.get(fold(column.name)) or column for column in scope.table.columns)
    return replace(scope, table=replace(scope.table, columns=kept))


def _read(condition: exp.Expression, scope: Scope, left_of: dict[str, _Left], *, strictly: bool) -> None:
    condition = bare(condition)
    if isinstance(condition, exp.Between) and not condition.args.get("symmetric"):
        _bound(condition.this, exp.GTE, condition.args["low"], scope, left_of, strictly=strictly)
        _bound(condition.this, exp.LTE, condition.args["high"], scope, left_of, strictly=strictly)
    elif isinstance(condition, exp.In) and condition.expressions:
        _listed(condition.this, condition.expressions, scope, left_of, inside=True)
    elif isinstance(condition, exp.Not) and isinstance(inner := bare(condition.this), exp.In) and inner.expressions:
        _listed(inner.this, inner.expressions, scope, left_of, inside=False)
    elif isinstance(condition, exp.NEQ):
        _listed(condition.this, [condition.expression], scope, left_of, inside=False)
    elif type(condition) in _FLIPPED:
        kind = type(condition)
        _bound(condition.this, kind, condition.expression, scope, left_of, strictly=strictly)
        _bound(condition.expression, _FLIPPED[kind], condition.this, scope, left_of, strictly=strictly)


def _left(node: exp.Expression, scope: Scope, left_of: dict[str, _Left], *, strictly: bool) -> _Left | None:
    node = bare(node)
    if not isinstance(node, exp.Column) or scope.is_unit(node) or scope.link(node) is not None:
        return None
    column, kind = scope.column(node)
    return left_of.setdefault(column.name, _Left(column, kind, strictly=strictly))


def _bound(
    node: exp.Expression, kind: type, other: exp.Expression, scope: Scope, left_of: dict[str, _Left], *, strictly: bool
) -> None:
    """A comparison of a column with a constant."""
    if not scope.is_constant(other):
        return
    cut = _cut_from(bare(node))
    if cut is not None:
        on_days = isinstance(bare(node), exp.Cast)
        _units(_left(cut[0], scope, left_of, strictly=strictly), kind, scope.value(other), cut[1], on_days=on_days)
        return
    taken = part_of(bare(node))
    year = taken is not None and taken[0] == "YEAR"
    left = _left(taken[1] if taken is not None and year else node, scope, left_of, strictly=strictly)
    if left is None:
        return
    if year:
        _years(left, kind, scope.value(other))
        return
    if kind is exp.EQ and isinstance(left.column.domain, ListDomain):
        _listed(node, [other], scope, left_of, inside=True)
        return
    number = _number(scope.value(other), left.kind)
    if number is None:
        return
    if kind in (exp.GT, exp.GTE, exp.EQ):
        left.at_least(number, strict=kind is exp.GT)
    if kind in (exp.LT, exp.LTE, exp.EQ):
        left.at_most(number, strict=kind is exp.LT)


def _cut_from(node: exp.Expression) -> tuple[exp.Expression, str] | None:
    """What is cut, and to which unit: CAST(seen AS DATE), DATE_TRUNC('month', seen)."""
    if isinstance(node, exp.Cast) and node.to.this is exp.DType.DATE:
        inner = _cut_from(bare(node.this))
        return inner or (node.this, "DAY")
    if not isinstance(node, (exp.TimestampTrunc, exp.DateTrunc)):
        return None
    unit = str(node.args["unit"].name).upper()
    return (node.this, unit) if unit in _FOLLOWING else None


def _units(left: _Left | None, kind: type, value: Value, unit: str, *, on_days: bool) -> None:
    """The day, month or year of a moment, beside a constant: from its start to that of the next.

    `on_days` says that it is a DATE, beside which a text is one too, whatever time of day it goes on with.
    """
    number = None if left is None else _number(value, ColumnType.DATE)
    if left is None or number is None or not left.kind.is_temporal or not -700_000 < number < 2_900_000:
        return
    if isinstance(value, str) and (on_days or left.kind is ColumnType.DATE):
        number = Fraction(math.floor(number))
    each = 1 if left.kind is ColumnType.DATE else _DAY
    day = _EPOCH + timedelta(days=math.floor(number))
    first = day if unit == "DAY" else start_of(day, unit)
    on_start = first == day and number.denominator == 1
    following = Fraction((_FOLLOWING[unit](first) - _EPOCH).days)
    if kind in (exp.GT, exp.GTE, exp.EQ):
        start = Fraction((first - _EPOCH).days)
        left.at_least((start if on_start and kind is not exp.GT else following) * each, strict=False)
    if kind in (exp.LT, exp.LTE, exp.EQ):
        last = Fraction((first - _EPOCH).days) if on_start and kind is exp.LT else following
        left.at_most(last * each, strict=True)


def _years(left: _Left, kind: type, value: Value) -> None:
    """The year of a date, beside a whole number: from the first day of one to the last of another."""
    if type(value) is not int or not left.kind.is_temporal or not 2 <= value <= 9997:
        return
    each = 1 if left.kind is ColumnType.DATE else _DAY
    first, last = value + (kind is exp.GT), value - (kind is exp.LT)
    if kind in (exp.GT, exp.GTE, exp.EQ):
        left.at_least(grid_units(date(first, 1, 1)) * each, strict=False)
    if kind in (exp.LT, exp.LTE, exp.EQ):
        left.at_most(grid_units(date(last + 1, 1, 1)) * each, strict=True)


def _listed(
    node: exp.Expression, items: Sequence[exp.Expression], scope: Scope, left_of: dict[str, _Left], *, inside: bool
) -> None:
    """A column IN or NOT IN a list of constants."""
    if not all(scope.is_constant(item) for item in items):
        return
    left = _left(node, scope, left_of, strictly=False)
    if left is None:
        return
    values = [scope.value(item) for item in items]
    domain = left.column.domain
    if isinstance(domain, ListDomain):
        known: list[Value] = [value for value in domain.values if (value in values) is inside]
        left.listed = known if left.listed is None else [value for value in left.listed if value in known]
    elif inside:
        numbers = [_number(value, left.kind) for value in values]
        ends = [number for number in numbers if number is not None]
        if ends and len(ends) == len(numbers):
            left.at_least(min(ends), strict=False)
            left.at_most(max(ends), strict=False)


def _number(value: Value, kind: ColumnType) -> Fraction | None:
    """A constant as the column's own numbers: itself, days or seconds since 1970; None where it is something else."""
    if isinstance(value, str) and kind.is_temporal:
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            return None
        if value.tzinfo is not None and kind is not ColumnType.TIMESTAMP:
            return None
        value = value if value.tzinfo is None else value.astimezone(UTC).replace(tzinfo=None)  # as it is compared
    if kind is ColumnType.TIMESTAMP and isinstance(value, date):
        return _seconds(value) if isinstance(value, datetime) else grid_units(value) * _DAY
    if kind is ColumnType.DATE and isinstance(value, date):
        return _seconds(value) / _DAY if isinstance(value, datetime) else grid_units(value)
    if kind.is_numeric and isinstance(value, (int, Fraction)) and not isinstance(value, bool):
        return Fraction(value)
    return None


def _seconds(value: datetime) -> Fraction:
    """The seconds since 1970, the part of one among them."""
    return grid_units(value) + Fraction(value.microsecond, 1_000_000)


def _held(end: Fraction | None, bounds: Bounds) -> Fraction | None:
    """An end within the bounds, as the values themselves are held there."""
    return None if end is None else min(max(end, bounds.lower), bounds.upper)


def _value(number: Fraction, kind: ColumnType) -> Value:
    if kind is ColumnType.DATE:
        return date.fromordinal(date(1970, 1, 1).toordinal() + int(number))
    if kind is ColumnType.TIMESTAMP:
        return datetime.fromordinal(date(1970, 1, 1).toordinal() + int(number) // _DAY).replace(
            hour=int(number) % _DAY // 3600, minute=int(number) % 3600 // 60, second=int(number) % 60
        )
    return number
