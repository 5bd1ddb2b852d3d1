"""Arithmetic over aggregates that are dates: what is left is a date, a number of days, or refused."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from fractions import Fraction

from tacit.errors import QueryRefused
from tacit.policy import ColumnType
from tacit.policy.reading.types import grid_units
from tacit.sql.binding import post
from tacit.sql.expressions.dates.moments import MIDNIGHT
from tacit.sql.expressions.numeric import grid as g
from tacit.sql.expressions.numeric.grid import Grid

_DAY = 86_400
_CLOCK = ((60, "a minute"), (300, "five minutes"), (900, "a quarter of an hour"), (3_600, "an hour"), (_DAY, "a day"))
_MINUS = post.Number(Fraction(-1))


def constant(value: date) -> post.Moment:
    """A date that everyone knows."""
    kind = ColumnType.TIMESTAMP if isinstance(value, datetime) else ColumnType.DATE
    return post.Moment(post.Number(grid_units(value)), kind.value)


def as_moment(value: post.Post, kind: str | None) -> post.Post:
    """The value, as a moment where it is one."""
    return value if kind is None else post.Moment(value, kind)


def coarse(grid: Grid, *, most: int) -> tuple[Grid, str]:
    """Moments rounded to the finest unit of the clock that leaves at most so many of them, and that unit's name."""
    if grid.high - grid.low < most:
        return grid, ""
    span = (grid.high - grid.low) * grid.step
    size, name = next((each for each in _CLOCK if span / each[0] + 1 < most), _CLOCK[-1])
    unit = g.constant(Fraction(size))
    return g.multiply(g.floor(g.add(g.divide(grid, unit), g.constant(Fraction(1, 2)))), unit), name


def plus(left: post.Post, right: post.Post) -> post.Post:
    """Left + right: a date moved by days is a date."""
    if isinstance(right, post.Moment):
        left, right = right, left
    if not isinstance(left, post.Moment):
        return post.Sum(left, right)
    if isinstance(right, post.Moment) or left.kind != ColumnType.DATE.value:
        raise _no_number()
    return post.Moment(post.Sum(left.inner, right), left.kind)


def minus(left: post.Post, right: post.Post) -> post.Post:
    """Left − right: days between dates, or a date moved back."""
    if isinstance(left, post.Moment) and isinstance(right, post.Moment):
        if {left.kind, right.kind} != {ColumnType.DATE.value}:
            raise QueryRefused(
                "the difference of two timestamps is an INTERVAL, which is no number",
                hint="write MAX(EPOCH(ts)) - MIN(EPOCH(ts)) for seconds, or cast both to DATE",
            )
        return post.Sum(left.inner, post.Product(_MINUS, right.inner))
    if isinstance(right, post.Moment):
        raise _no_number()
    return plus(left, post.Product(_MINUS, right))


def number(value: post.Post) -> post.Post:
    """The value; refused where it is a date."""
    if isinstance(value, post.Moment):
        raise _no_number()
    return value


def held_against(left: post.Post, right: post.Post) -> tuple[post.Post, post.Post]:
    """Two sides of a comparison: both numbers, or both dates, a day being its midnight beside a timestamp."""
    moments = [side for side in (left, right) if isinstance(side, post.Moment)]
    if len(moments) == 1:
        raise QueryRefused("a date is compared with a number", hint="write DATE '2026-01-31'")
    if len(moments) == 2 and moments[0].kind != moments[1].kind:
        left, right = (_in_seconds(side) for side in moments)
    return left, right


def _in_seconds(side: post.Moment) -> post.Moment:
    if side.kind == ColumnType.TIMESTAMP.value:
        return side
    return post.Moment(post.Product(post.Number(Fraction(_DAY)), side.inner), ColumnType.TIMESTAMP.value)


def shown(units: float, kind: str) -> date | None:
    """The day or second nearest to a number of them since 1970; None for NULL."""
    if units != units:  # noqa: PLR0124 - NaN alone is not itself
        return None
    step = timedelta(days=1) if kind == ColumnType.DATE.value else timedelta(seconds=1)
    try:
        moment = MIDNIGHT + round(units) * step
    except OverflowError:
        return date.max if units > 0 else date.min
    return moment.date() if kind == ColumnType.DATE.value else moment


def _no_number() -> QueryRefused:
    return QueryRefused(
        "a date is not a number: nothing but days can be added to it", hint="MAX(day) - MIN(day) is a number of days"
    )
