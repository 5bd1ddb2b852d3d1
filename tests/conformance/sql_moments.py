"""What a date or a timestamp of a generated query can be, for `sql_ranges`: seconds since 1970, between two ends."""

from __future__ import annotations

import calendar
import math
from collections.abc import Callable
from datetime import date, datetime, timedelta
from fractions import Fraction

from sqlglot import exp

from conformance.sql_types import INTEGER, MOMENT, Type

DAY = 86_400
FIRST, LAST = -62_135_596_800, 253_402_300_799  # seconds of the years 1 to 9999, which every engine has
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - zoneless, as columns are
_PARTS = {"QUARTER": (1, 4), "MONTH": (1, 12), "DAY": (1, 31), "DOY": (1, 366), "DOW": (0, 6), "ISODOW": (1, 7)}
_PARTS |= {"DAYOFYEAR": (1, 366), "DAYOFWEEK": (0, 6), "DAYOFWEEKISO": (1, 7)}
_PARTS |= {"HOUR": (0, 23), "MINUTE": (0, 59), "SECOND": (0, 60)}
UNSAFE = {"WEEK", "ISOYEAR"}  # DuckDB fails to take them of its first dates, and takes them of a column's least cell
Ends = tuple[Fraction, Fraction]


def literal(text: str) -> Fraction:
    """The seconds of a constant."""
    moment = datetime.fromisoformat(text)
    return Fraction((moment - _EPOCH) // timedelta(microseconds=1), 10**6)


def is_known(ends: Ends) -> bool:
    """Whether both ends are of the years 1 to 9999."""
    return ends[0] >= FIRST and ends[1] < LAST + 1


def whole_days(ends: Ends) -> Ends:
    """The midnights that the ends are after."""
    return Fraction(math.floor(ends[0] / DAY) * DAY), Fraction(math.floor(ends[1] / DAY) * DAY)


def each(ends: Ends, change: Callable[[date], date]) -> Ends | None:
    """The days that both ends become, where later ones never become earlier; None where there is no such day."""
    try:
        low, high = (change((_EPOCH + timedelta(seconds=math.floor(end))).date()) for end in ends)
    except (OverflowError, ValueError):
        return None
    return literal(low.isoformat()), literal(high.isoformat())


def months_later(months: int) -> Callable[[date], date]:
    def moved(day: date) -> date:
        year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
        return date(year, month + 1, min(day.day, calendar.monthrange(year, month + 1)[1]))

    return moved


def start_of(unit: str) -> Callable[[date], date]:
    """The first day of the year, quarter, month or week that a day is in; of what is shorter, the day itself."""
    if unit == "WEEK":
        return lambda day: day - timedelta(days=day.weekday())
    months = {
        "YEAR": lambda day: 1,
        "QUARTER": lambda day: (day.month - 1) // 3 * 3 + 1,
        "MONTH": lambda day: day.month,
    }
    return lambda day: day.replace(month=months[unit](day), day=1) if unit in months else day


def part(name: str, ends: Ends) -> Ends | None:
    """What a part of a moment can be; None where it may not be there."""
    if name in _PARTS:
        low, high = _PARTS[name]
        return Fraction(low), Fraction(high)
    if name == "EPOCH" and is_known(ends):
        return ends
    if name == "YEAR" and not is_known(ends):
        return Fraction(-6 * 10**6), Fraction(6 * 10**6)
    if name == "YEAR":
        years = [(_EPOCH + timedelta(seconds=math.floor(end))).year for end in ends]
        return Fraction(years[0]), Fraction(years[1])
    return None


def kind_of(name: str) -> Type | None:
    """DATE, or TIMESTAMP of any sort; None where it is neither."""
    word = name.upper().split("(")[0].strip()
    if word == "DATE":
        return Type(MOMENT, 1)
    return Type(MOMENT, 2) if word.startswith(("TIMESTAMP", "DATETIME")) else None


def days_between(one: Ends, other: Ends, bits: int) -> tuple[Type, Ends]:
    return Type(INTEGER, bits), ((one[0] - other[1]) / DAY, (one[1] - other[0]) / DAY)


def span_of(node: exp.Expression) -> tuple[int, int] | None:
    """The months and seconds of a constant INTERVAL."""
    if not isinstance(node, exp.Interval):
        return None
    count, unit = int(str(node.this.this)), str(node.args["unit"].this).upper().removesuffix("S")
    return (count, 0) if unit == "MONTH" else (0, count * {"DAY": DAY, "SECOND": 1}[unit])
