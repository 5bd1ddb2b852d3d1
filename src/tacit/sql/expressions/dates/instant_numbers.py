"""Whole numbers of dates and timestamps: their parts, and what lies between two of them, with bounds that follow."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import date
from fractions import Fraction

from sqlglot import exp

from tacit.errors import QueryRefused
from tacit.policy import ColumnType
from tacit.sql.expressions.calendar import Span
from tacit.sql.expressions.dates.instants import (
    DAY,
    Instant,
    as_day,
    as_timestamp,
    moved,
    moved_by,
    quotient,
    remainder,
    seconds_of,
    thursday,
    truncated,
    whole_grid,
)
from tacit.sql.expressions.names.nodes import paren
from tacit.sql.expressions.numeric import arithmetic
from tacit.sql.expressions.numeric import grid as g

_NAMES = {
    "DAYOFMONTH": "DAY",
    "DAYOFWEEK": "DOW",
    "WEEKDAY": "DOW",
    "DAYOFWEEKISO": "ISODOW",
    "DAYOFYEAR": "DOY",
    "WEEKOFYEAR": "WEEK",
    "TIMETOUNIX": "EPOCH",
    "YEAROFWEEK": "ISOYEAR",
    "YEARS": "YEAR",
    "QUARTERS": "QUARTER",
    "MONTHS": "MONTH",
    "WEEKS": "WEEK",
    "DAYS": "DAY",
    "HOURS": "HOUR",
    "MINUTES": "MINUTE",
    "SECONDS": "SECOND",
    "YY": "YEAR",
    "YYYY": "YEAR",
    "QQ": "QUARTER",
    "MM": "MONTH",
    "WK": "WEEK",
    "WW": "WEEK",
    "DD": "DAY",
    "HH": "HOUR",
    "MI": "MINUTE",
    "SS": "SECOND",
}
MONTH = 30 * DAY  # of an INTERVAL, where engines compare two
_SECONDS = {"HOUR": 3_600, "MINUTE": 60, "SECOND": 1}
_LONGEST = 31  # days of a month
_THURSDAY, _SUNDAY = 3, 4  # days of 1970-01-01 after the Monday before, and after the Sunday
PERIODS = ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND", "DECADE", "CENTURY")


def part_name(written: str) -> str:
    """The one name of a part that goes by several."""
    name = written.upper()
    return _NAMES.get(name, name)


# ── parts ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def part(instant: Instant, name: str) -> g.Grid:
    """A part of a moment, such as its year or its hour, as a number."""
    build = PARTS.get(name)
    if build is None:
        raise QueryRefused(f"{name[:20]} is refused of a date", hint=f"the parts are {', '.join(PARTS)}")
    if name in _SECONDS and instant.kind is ColumnType.DATE:
        raise QueryRefused(
            f"{name} is refused of a date, which has no time of day", hint="CAST(… AS TIMESTAMP) has one"
        )
    return build(instant)


def _year(instant: Instant) -> g.Grid:
    first, last = instant.bounded().ends
    return _taken("YEAR", instant, first.year, last.year)


def _taken(name: str, instant: Instant, low: int, high: int) -> g.Grid:
    return whole_grid(arithmetic.part_number(name, instant.sql), low, high, nullable=instant.nullable)


def _within(name: str, low: int, high: int, of: Callable[[date], int], *, whole: str) -> Callable[[Instant], g.Grid]:
    """A part that begins anew with each year or month; within one, it has narrower ends."""

    def build(instant: Instant) -> g.Grid:
        first, last = instant.ends
        same = (first.year, first.month if whole == "MONTH" else 0) == (
            last.year,
            last.month if whole == "MONTH" else 0,
        )
        ends = (of(first), of(last)) if same else (low, high)
        return _taken(name, instant, *ends)

    return build


def _day_of_week(first: int, offset: int) -> Callable[[Instant], g.Grid]:
    def build(instant: Instant) -> g.Grid:
        days = as_day(instant).grid
        day = remainder(g.add(days, g.constant(Fraction(offset))), 7)
        return day if not first else g.add(day, g.constant(Fraction(first)))

    return build


def _time_of_day(width: int, count: int) -> Callable[[Instant], g.Grid]:
    def build(instant: Instant) -> g.Grid:
        rest = remainder(instant.grid, width * count)
        return rest if width == 1 else quotient(rest, width)

    return build


def _year_of_week(instant: Instant) -> g.Grid:
    return _year(thursday(instant))


def _week(instant: Instant) -> g.Grid:
    """The week of the year: sevenths of the days before its Thursday.

    No engine is asked for its own: DuckDB works a part out of a column's least and greatest cell too, while it plans,
    and of the first weeks that its calendar has it cannot.
    """
    days = _taken("DOY", thursday(instant), 1, 366)
    return g.add(quotient(g.add(days, g.constant(Fraction(-1))), 7), g.constant(Fraction(1)))


def _year_and_week(instant: Instant) -> g.Grid:
    return g.add(_scaled(_year_of_week(instant), 100), _week(instant))


def _scaled(grid: g.Grid, factor: int) -> g.Grid:
    return g.rescale(g.multiply(grid, g.constant(Fraction(factor))), Fraction(1))


PARTS: dict[str, Callable[[Instant], g.Grid]] = {
    "YEAR": _year,
    "QUARTER": _within("QUARTER", 1, 4, lambda day: (day.month + 2) // 3, whole="YEAR"),
    "MONTH": _within("MONTH", 1, 12, lambda day: day.month, whole="YEAR"),
    "WEEK": _week,
    "DAY": _within("DAY", 1, 31, lambda day: day.day, whole="MONTH"),
    "DOY": _within("DOY", 1, 366, lambda day: day.timetuple().tm_yday, whole="YEAR"),
    "DOW": _day_of_week(0, _SUNDAY),
    "ISODOW": _day_of_week(1, _THURSDAY),
    "ISOYEAR": _year_of_week,
    "YEARWEEK": _year_and_week,
    "HOUR": _time_of_day(3_600, 24),
    "MINUTE": _time_of_day(60, 60),
    "SECOND": _time_of_day(1, 60),
    "EPOCH": lambda instant: _binned_epoch(instant.bounded()) if instant.stepped is None else _epoch(instant),
    "DECADE": lambda instant: quotient(_year(instant), 10),
    "CENTURY": lambda instant: quotient(g.add(_year(instant), g.constant(Fraction(99))), 100),
}


def _binned_epoch(instant: Instant) -> g.Grid:
    """Seconds of a moment that is cut down, in steps of its bins; months and longer are whole days."""
    moment = as_timestamp(instant)
    width = DAY if isinstance(moment.bins, str) else moment.bins
    if width == 1 or moment.low % width:
        return moment.grid
    return g.multiply(quotient(moment.grid, width), g.constant(Fraction(width)))


def _epoch(instant: Instant) -> g.Grid:
    """Seconds of a plain column, on its declared grid."""
    steps = instant.bounded().steps
    return g.multiply(steps, g.constant(Fraction(DAY))) if instant.kind is ColumnType.DATE else steps


# ── between two ──────────────────────────────────────────────────────────────────────────────────────────────────────


def difference(later: Instant, earlier: Instant) -> g.Grid:
    """Later − earlier: days between dates; seconds where one is a timestamp."""
    one, other = later.bounded(), earlier.bounded()
    if one.kind is not other.kind:
        one, other = as_timestamp(one), as_timestamp(other)
    return g.add(one.steps, g.negate(other.steps))


def boundaries(unit: str, earlier: Instant, later: Instant) -> g.Grid:
    """DATE_DIFF: how many beginnings of a year, month, day … lie between; weeks are whole ones of seven days."""
    one, other = earlier.bounded(), later.bounded()
    if unit == "WEEK":
        return towards_zero(boundaries("DAY", one, other), 7)
    return g.add(_ordinal(unit, other), g.negate(_ordinal(unit, one)))


def _ordinal(unit: str, instant: Instant) -> g.Grid:
    """How many of a unit lie between a fixed moment and the one that it is in."""
    if unit in _SECONDS:
        return quotient(seconds_of(instant), _SECONDS[unit])
    if unit == "DAY":
        return as_day(instant).grid
    if unit in {"YEAR", "DECADE", "CENTURY"}:
        return quotient(_year(instant), {"YEAR": 1, "DECADE": 10, "CENTURY": 100}[unit])
    if unit in {"MONTH", "QUARTER"}:
        months = _months(instant)
        return months if unit == "MONTH" else quotient(months, 3)
    raise _no_period(unit)


def _no_period(unit: str) -> QueryRefused:
    return QueryRefused(f"a number of {unit[:20]} is refused", hint=f"the units are {', '.join(PERIODS)}")


def _months(instant: Instant) -> g.Grid:
    """Months since the year 0, from 0 on in each year."""
    first, last = (end.year * 12 + end.month - 1 for end in instant.bounded().ends)
    months = g.add(_scaled(_year(instant), 12), _taken("MONTH", instant, 1, 12))
    return replace(g.add(months, g.constant(Fraction(-1))), low=first, high=last)


def towards_zero(grid: g.Grid, divisor: int) -> g.Grid:
    """A quotient without its remainder, whatever the sign."""
    return g.truncate(g.divide(grid, g.constant(Fraction(divisor))))


def _is_negative(grid: g.Grid) -> exp.Expression:
    return exp.LT(this=arithmetic.operand(grid.sql), expression=arithmetic.integer(0))


def whole_periods(unit: str, earlier: Instant, later: Instant) -> g.Grid:
    """DATE_SUB('month', …): how many whole ones fit between; a month ends early where the next is shorter."""
    one, other = earlier.bounded(), later.bounded()
    if unit in {"WEEK", "DAY", *_SECONDS}:
        width = {"WEEK": 7 * DAY, "DAY": DAY, **_SECONDS}[unit]
        if one.kind is other.kind is ColumnType.DATE and width % DAY == 0:
            return towards_zero(g.add(other.grid, g.negate(one.grid)), width // DAY)
        return towards_zero(g.add(seconds_of(other), g.negate(seconds_of(one))), width)
    if unit not in {"MONTH", "QUARTER", "YEAR", "DECADE", "CENTURY"}:
        raise _no_period(unit)
    width = {"MONTH": 1, "QUARTER": 3, "YEAR": 12, "DECADE": 120, "CENTURY": 1_200}[unit]
    return towards_zero(_whole_months(one, other), width)


def age(unit: str, later: Instant, earlier: Instant) -> g.Grid:
    """EXTRACT(YEAR | MONTH FROM AGE(later, earlier)): by the calendar, a month ending on the same day only."""
    if unit == "YEAR":
        return _periods_of_age(12, earlier, later)
    if unit == "MONTH":
        return g.remainder(_periods_of_age(1, earlier, later), Fraction(12))
    raise QueryRefused(
        f"{unit[:20]} of AGE is refused", hint="YEAR and MONTH are allowed; DATE_DIFF('day', a, b) counts days"
    )


def _periods_of_age(months: int, earlier: Instant, later: Instant) -> g.Grid:
    """The whole periods of so many months between two moments, with a sign.

    Counted where every month has thirty-one days: there, as by the calendar, one is whole if and only if day and time
    of the later moment are not before those of the earlier one.
    """
    one, other = earlier.bounded(), later.bounded()
    by_day = one.kind is other.kind is ColumnType.DATE
    between = g.add(_in_even_months(other, by_day=by_day), g.negate(_in_even_months(one, by_day=by_day)))
    return towards_zero(between, months * _LONGEST * (1 if by_day else DAY))


def _in_even_months(instant: Instant, *, by_day: bool) -> g.Grid:
    """Days, or seconds, since the year 0 of a calendar whose months all have thirty-one days."""
    first, last = ((end.year * 12 + end.month - 1) * _LONGEST + end.day - 1 for end in instant.ends)
    days = g.add(_scaled(_months(instant), _LONGEST), _taken("DAY", instant, 1, _LONGEST))
    days = replace(g.add(days, g.constant(Fraction(-1))), low=first, high=last)
    if by_day:
        return days
    seconds = _scaled(days, DAY)
    return seconds if instant.kind is ColumnType.DATE else g.add(seconds, remainder(instant.grid, DAY))


def age_seconds(later: Instant, earlier: Instant) -> g.Grid:
    """AGE(later, earlier) as engines compare it: months of thirty days, then days and the time of day."""
    one, other = earlier.bounded(), later.bounded()
    if one.kind is not other.kind:
        one, other = as_timestamp(one), as_timestamp(other)
    forward = _age_forward(one, other)
    if other.low >= one.high:
        return forward
    before = exp.LT(this=arithmetic.operand(other.grid.sql), expression=arithmetic.operand(one.grid.sql))
    return g.choose([(before, g.negate(_age_forward(other, one)))], forward)


def _age_forward(earlier: Instant, later: Instant) -> g.Grid:
    """Months, and the rest of a month that is not complete: as long as the one in which the earlier moment is."""
    months = _periods_of_age(1, earlier, later)
    rest = g.add(_within_month(later), g.negate(_within_month(earlier)))
    next_month = moved(truncated(as_day(earlier), "MONTH"), Span(months=1, seconds=-DAY))
    length = _scaled(_taken("DAY", next_month, 28, 31), DAY)
    short = exp.LT(this=arithmetic.operand(rest.sql), expression=arithmetic.integer(0))
    return g.add(_scaled(months, MONTH), g.choose([(short, g.add(rest, length))], rest))


def _whole_months(earlier: Instant, later: Instant) -> g.Grid:
    """The whole months between two moments, with a sign; the last day of a month completes any."""
    crossed = g.add(_months(later), g.negate(_months(earlier)))
    short = _incomplete(earlier, later)
    if crossed.low > 0:
        return g.add(crossed, g.negate(g.choose([(short, g.constant(Fraction(1)))], g.constant(Fraction(0)))))
    long = _incomplete(later, earlier)
    positive = exp.GT(this=arithmetic.operand(crossed.sql), expression=arithmetic.integer(0))
    down = exp.And(this=positive, expression=paren(short))
    up = exp.And(this=_is_negative(crossed), expression=paren(long))
    whole = g.add(
        crossed, g.choose([(down, g.constant(Fraction(-1))), (up, g.constant(Fraction(1)))], g.constant(Fraction(0)))
    )
    return replace(whole, low=min(crossed.low, 0), high=max(crossed.high, 0))


def _incomplete(earlier: Instant, later: Instant) -> exp.Expression:
    """Whether the last month between two moments, the second in a later month, is not complete."""
    one, other = _within_month(earlier), _within_month(later)
    if one.step != other.step:
        raise ArithmeticError("days are held against days")
    short = exp.GT(this=arithmetic.operand(one.sql), expression=arithmetic.operand(other.sql))
    first = _taken("DAY", as_day(moved_by(as_day(later), g.constant(Fraction(1)))), 1, 31)
    before = exp.GT(this=arithmetic.operand(first.sql), expression=arithmetic.integer(1))
    if later.kind is ColumnType.DATE and earlier.kind is ColumnType.DATE:
        return exp.And(this=short, expression=before)
    late = exp.GT(
        this=arithmetic.operand(remainder(seconds_of(earlier), DAY).sql),
        expression=arithmetic.operand(remainder(seconds_of(later), DAY).sql),
    )
    return exp.And(this=short, expression=paren(exp.Or(this=before, expression=late)))


def _within_month(instant: Instant) -> g.Grid:
    """Seconds since the month began, in a month of any length."""
    days = _scaled(_taken("DAY", as_day(instant), 1, 31), DAY)
    if instant.kind is ColumnType.DATE:
        return days
    return g.add(days, remainder(instant.grid, DAY))


def seconds_between(later: Instant, earlier: Instant) -> g.Grid:
    """Later − earlier in seconds, whatever the two are."""
    between = difference(later, earlier)
    both_days = later.kind is earlier.kind is ColumnType.DATE
    return g.multiply(between, g.constant(Fraction(DAY))) if both_days else between
