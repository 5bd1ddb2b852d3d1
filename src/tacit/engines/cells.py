"""Cells that come as text, as Python values of the policy's kinds. None of these can fail on a cell."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from fractions import Fraction

_EPOCH = date(1970, 1, 1).toordinal()
_DAYS_A_CYCLE = 146_097  # the calendar comes round in 400 years
_MICROS_A_DAY = 86_400_000_000


def number(text: str) -> int | float | Fraction:
    """An exact number; one that is none (NaN, Infinity) is a float."""
    try:
        exact = Fraction(text)
    except ValueError:
        return float(text)
    return exact.numerator if exact.denominator == 1 else exact


def day(text: str) -> date | str:
    """A date; one that Python cannot hold (BC, after 9999, infinity) stays text."""
    try:
        return date.fromisoformat(text)
    except ValueError:
        return text


def moment(text: str) -> datetime | str:
    """A timestamp without a zone, in UTC if it had one; one that Python cannot hold stays text."""
    if len(text.partition(".")[2].partition("+")[0]) > 6:  # Python would cut nanoseconds off and make two keys one
        return text
    try:
        instant = datetime.fromisoformat(text)
        return instant if instant.tzinfo is None else instant.astimezone(UTC).replace(tzinfo=None)
    except (ValueError, OverflowError):
        return text


def day_after_epoch(days: int) -> date | str:
    """The day so many days after 1970-01-01; one that Python cannot hold is text, spelled as DuckDB does."""
    ordinal = _EPOCH + days
    if 1 <= ordinal <= date.max.toordinal():
        return date.fromordinal(ordinal)
    cycles, rest = divmod(ordinal - 1, _DAYS_A_CYCLE)
    within = date.fromordinal(rest + 1)
    year = within.year + 400 * cycles
    shown = f"{year:04}" if year > 0 else f"{1 - year:04}"
    return f"{shown}-{within:%m-%d}" + ("" if year > 0 else " (BC)")


def moment_after_epoch(micros: int) -> datetime | str:
    """The moment so many microseconds after 1970-01-01 00:00:00; likewise."""
    days, rest = divmod(micros, _MICROS_A_DAY)
    day_of_it = day_after_epoch(days)
    time = datetime(1, 1, 1) + timedelta(microseconds=rest)  # noqa: DTZ001 - zoneless, as columns are
    if isinstance(day_of_it, date):
        return datetime.combine(day_of_it, time.time())
    return f"{day_of_it} {time:%H:%M:%S}" + (f".{time:%f}".rstrip("0") if time.microsecond else "")
