"""Dates and times that are known while planning: a day, and an interval before or after it."""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from sqlglot import exp

from tacit.errors import QueryRefused

Moment = date | datetime
_MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}
_TIMES = {"WEEK": 604_800, "DAY": 86_400, "HOUR": 3_600, "MINUTE": 60, "SECOND": 1}
_PARTS = re.compile(r"\s*([+-]?)\s*(\d{1,9})\s*([A-Za-z]+)\s*")
_MOST = 10**9
_HINT = "write INTERVAL '90' DAY, or MONTH, QUARTER, YEAR, WEEK, HOUR, MINUTE, SECOND"


@dataclass(frozen=True, slots=True)
class Span:
    """Months and seconds. Whole days keep a date a date."""

    months: int = 0
    seconds: int = 0

    def __add__(self, other: Span) -> Span:
        return Span(self.months + other.months, self.seconds + other.seconds)

    def __neg__(self) -> Span:
        return Span(-self.months, -self.seconds)


def is_moved(node: exp.Expression, is_moment: Callable[[exp.Expression], bool]) -> bool:
    """Whether this is a moment with an interval, or a number of days, before or after it."""
    if not isinstance(node, (exp.Add, exp.Sub, exp.DateAdd, exp.DateSub)):
        return False
    left, right = _bare(node.this), _bare(node.expression)
    if any(isinstance(side, exp.Interval) and side.find(exp.Column) for side in (left, right)):
        return False  # by so many as a row says
    if isinstance(left, exp.Interval):
        return isinstance(node, exp.Add) and is_moment(right)
    known = isinstance(right, (exp.Interval, exp.Literal, exp.Neg, exp.Placeholder))
    return known and is_moment(left) and not is_moment(right)


def moved(node: exp.Expression, value: Callable[[exp.Expression], object]) -> Moment:
    """The moment itself, worked out here: so it is the same day on every engine."""
    left, right = _bare(node.this), _bare(node.expression)
    if isinstance(left, exp.Interval):
        left, right = right, left
    start = value(left)
    if not isinstance(start, date):
        raise QueryRefused("an interval is added to something that is not a date", hint="write DATE '2026-01-31' + …")
    if isinstance(right, exp.Interval):
        span = span_of(right, value)
    elif isinstance(start, datetime):
        raise QueryRefused("a number is added to a TIMESTAMP: of what?", hint=_HINT)
    else:
        span = Span(0, _whole(value(right)) * _TIMES["DAY"])
    try:
        return after(start, -span if isinstance(node, (exp.Sub, exp.DateSub)) else span)
    except (OverflowError, ValueError):
        raise QueryRefused("a date is beyond the years 1 to 9999") from None


def after(start: Moment, span: Span) -> Moment:
    """The moment a span later: months first, held at the last day of a shorter month, then the rest. As SQL has it."""
    if span.months:
        year, month = divmod(start.year * 12 + start.month - 1 + span.months, 12)
        last = calendar.monthrange(year, month + 1)[1]
        start = start.replace(year=year, month=month + 1, day=min(start.day, last))
    if span.seconds % _TIMES["DAY"] and not isinstance(start, datetime):
        start = datetime(start.year, start.month, start.day)  # noqa: DTZ001 - zoneless, as SQL's are
    return start + timedelta(seconds=span.seconds)


def span_of(interval: exp.Interval, value: Callable[[exp.Expression], object]) -> Span:
    """How long a constant INTERVAL is."""
    unit, count = interval.args.get("unit"), interval.this
    if not isinstance(count, exp.Expression):
        raise QueryRefused("an INTERVAL has no length", hint=_HINT)
    written = value(count)
    if unit is None and isinstance(written, str):
        parts = list(_PARTS.finditer(written))
        if not parts or "".join(part.group() for part in parts) != written:
            raise QueryRefused(f"{written[:40]!r} is not an INTERVAL", hint=_HINT)
        return sum((_of(int(part[1] + part[2]), part[3]) for part in parts), Span())
    name = str(unit.name) if isinstance(unit, exp.Var) else "" if unit is None else unit.key
    return _of(_whole(written), name)


def _of(count: int, unit: str) -> Span:
    name = unit.upper().removesuffix("S")
    if name in _MONTHS:
        return Span(months=count * _MONTHS[name])
    if name in _TIMES:
        return Span(seconds=count * _TIMES[name])
    raise QueryRefused(f"an INTERVAL of {unit.upper()[:20] or 'nothing'} is refused", hint=_HINT)


def _whole(value: object) -> int:
    if isinstance(value, str) and re.fullmatch(r"\s*[+-]?\d{1,9}\s*", value):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) > _MOST:
        raise QueryRefused("an INTERVAL needs a whole number", hint=_HINT)
    return value


def _bare(node: exp.Expression) -> exp.Expression:
    while isinstance(node, exp.Paren):
        node = node.this
    return node
