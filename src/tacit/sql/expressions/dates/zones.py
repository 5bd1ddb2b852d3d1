"""Time zones by name: a public table of a zone's offsets, so that every engine reads the same local time.

Engines have tables of their own, of other years. Here the offsets come from the time zone database that Python finds,
for the years that a column's bounds leave, and are written out as a CASE of constants.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from functools import lru_cache
from zoneinfo import ZoneInfo

from sqlglot import exp

from tacit.errors import QueryRefused
from tacit.sql.expressions.dates import instants
from tacit.sql.expressions.dates.instants import Instant
from tacit.sql.expressions.names.printing import copied
from tacit.sql.expressions.numeric import arithmetic
from tacit.sql.expressions.numeric import grid as g
from tacit.sql.expressions.numeric.arithmetic import CALENDAR

_MOST = 400  # changes of an offset: two a year, for two hundred years
_LONGEST = 250 * 366 * instants.DAY
_WEEK = 7 * instants.DAY  # no zone has changed its clock there and back within so short a time


def in_zone(instant: Instant, zone: object) -> Instant:
    """AT TIME ZONE: the local time of a point in time, or the point in time of a local time."""
    if not isinstance(zone, str):
        raise QueryRefused("a time zone is a constant name", hint="write AT TIME ZONE 'Europe/Berlin'")
    start = instants.as_timestamp(instant.bounded())
    changes = _changes(zone, start.low - 2 * instants.DAY, start.high + 2 * instants.DAY)
    if instant.zoned:
        table = changes
    else:  # a local time that there is twice is the later, and one that there is not is read by the clock before
        table = tuple((at if index == 0 else at + after, after) for index, (at, after) in enumerate(changes))
    return _shifted(start, table, forward=instant.zoned)


def _shifted(start: Instant, table: tuple[tuple[int, int], ...], *, forward: bool) -> Instant:
    sign = 1 if forward else -1
    kept = [(at, sign * offset) for at, offset in table]
    inside = [index for index, (at, _) in enumerate(kept) if start.low < at <= start.high]
    first = max(index for index, (at, _) in enumerate(kept) if at <= start.low or index == 0)
    offsets = [kept[first][1], *(kept[index][1] for index in inside)]
    if not inside:
        moved = instants.moved_by(start, g.constant(Fraction(offsets[0])))
        return replace(moved, zoned=not forward)
    ends = [kept[index][0] for index in inside]
    branches: list[tuple[exp.Expression, g.Grid | None]] = [
        (_before(start, end), g.constant(Fraction(offset))) for end, offset in zip(ends, offsets, strict=False)
    ]
    present = exp.Not(this=exp.Is(this=_told(start), expression=exp.null()))
    by = g.choose([*branches, (present, g.constant(Fraction(offsets[-1])))], None)
    return replace(instants.moved_by(start, replace(by, nullable=start.nullable)), zoned=not forward)


def _told(start: Instant) -> exp.Expression:
    return copied(start.column) if start.column is not None else arithmetic.operand(start.grid.sql)


def _before(start: Instant, end: int) -> exp.Expression:
    """Whether it is before a moment within its bounds: of a column its cell tells, without a look at the bounds."""
    if start.column is not None:
        return exp.LT(this=copied(start.column), expression=instants.constant(_moment(end)).sql)
    return exp.LT(this=arithmetic.operand(start.grid.sql), expression=arithmetic.integer(end))


def _moment(seconds: int) -> datetime:
    return datetime(1970, 1, 1) + timedelta(seconds=seconds)  # noqa: DTZ001 - zoneless, as columns are


@lru_cache(maxsize=128)
def _changes(name: str, low: int, high: int) -> tuple[tuple[int, int], ...]:
    """(since when, the offset in seconds) from `low` to `high`, in seconds since 1970; the first since ever."""
    try:
        zone = ZoneInfo(name)
    except (ValueError, OSError, KeyError):  # no such zone, or no name of one
        raise QueryRefused(
            f"there is no time zone {name[:60]!r}", hint="write a name of the IANA database, as in 'Europe/Berlin'"
        ) from None
    low, high = max(low, CALENDAR[0] * instants.DAY), min(high, CALENDAR[1] * instants.DAY)
    if high - low > _LONGEST:
        raise _too_wide(name)
    changes = [(low, _offset(zone, low))]
    for at in range(low, high, _WEEK):
        until = min(at + _WEEK, high)
        while _offset(zone, until) != changes[-1][1]:
            changes.append(_next(zone, max(at, changes[-1][0]), until, changes[-1][1]))
            if len(changes) > _MOST:
                raise _too_wide(name)
    return tuple(changes)


def _too_wide(name: str) -> QueryRefused:
    return QueryRefused(
        f"the bounds of the column are too far apart for the time zone {name[:60]}: its clock changes too often",
        hint="narrow the column's bounds in the policy to two hundred years",
    )


def _next(zone: ZoneInfo, low: int, high: int, before: int) -> tuple[int, int]:
    """The first second in (low, high] with another offset, found by halving."""
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _offset(zone, middle) == before else (low, middle)
    return high, _offset(zone, high)


def _offset(zone: ZoneInfo, seconds: int) -> int:
    try:
        moment = (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)).astimezone(zone)
    except OverflowError:
        return 0
    offset = moment.utcoffset()
    return 0 if offset is None else round(offset.total_seconds())
