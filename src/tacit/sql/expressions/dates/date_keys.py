"""The public values of a date that is a key: every bin between its ends."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime
from fractions import Fraction

from tacit.policy import ColumnType
from tacit.sql.expressions.dates.instants import Instant
from tacit.sql.expressions.dates.moments import moment

_MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}


def bins_of(instant: Instant, *, most: int) -> tuple[date, ...] | None:
    """All that a bounded moment can be, in order; None where there are more than `most`."""
    if instant.unbounded is not None:
        return None
    if isinstance(instant.bins, str):
        bins = list(_months(instant, _MONTHS[instant.bins], most=most))
    else:
        if (instant.high - instant.low) // instant.bins >= most:
            return None
        units = range(instant.low, instant.high + 1, instant.bins)
        bins = [_moment(unit, instant.kind) for unit in units]
    return tuple(bins) if len(bins) <= most else None


def _months(instant: Instant, width: int, *, most: int) -> Iterator[date]:
    first, last = instant.ends
    for index in range(first.year * 12 + first.month - 1, last.year * 12 + last.month, width):
        if index > first.year * 12 + first.month - 1 + width * most:
            return
        year, month = divmod(index, 12)
        if instant.kind is ColumnType.DATE:
            yield date(year, month + 1, 1)
        else:
            yield datetime(year, month + 1, 1)  # noqa: DTZ001 - zoneless, as columns are


def _moment(units: int, kind: ColumnType) -> date:
    day = moment(Fraction(units), kind)
    assert isinstance(day, date)  # noqa: S101 - it is one
    return day
