"""Where the ends of a published interval may lie: on a round grid, never on somebody's own value."""

from __future__ import annotations

import datetime
import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from tacit.errors import InvalidParameter
from tacit.release.anonymise.values.hierarchy import plain

FINENESS = 32  # about so many steps, and up to twice as many and a half, make the range of a column
LEAST_WHOLE = 25  # a range of whole numbers below which each of them is a step, as each of a few categories is
_EPOCH = datetime.datetime(1970, 1, 1)  # noqa: DTZ001 - times have no zone here
_SECONDS = {"second": 1, "minute": 60, "hour": 3_600, "day": 86_400, "week": 604_800}
_MONTHS = {"month": 1, "year": 12, "decade": 120}
UNITS = (*_SECONDS, *_MONTHS)
_LENGTH = {**_SECONDS, "month": 2_629_746, "year": 31_556_952, "decade": 315_569_520}  # seconds, about


@dataclass(frozen=True, slots=True)
class Steps:
    """Multiples of a number."""

    step: Fraction
    whole: bool

    def begin(self, low: float) -> float:
        """Where the narrowest interval of the grid begins that holds `low`."""
        return float(math.floor(_exact(low) / self.step) * self.step)

    def end(self, high: float, *, full: bool = False) -> float:
        """Where it ends if it holds `high`.

        `full`: all of the step that `high` lies in, and nothing of the next, so that intervals do not overlap.
        """
        if not full:
            return float(math.ceil(_exact(high) / self.step) * self.step)
        return float((math.floor(_exact(high) / self.step) + 1) * self.step - int(self.whole))

    def text(self, end: float) -> str:
        """An end, written."""
        return plain(end)


@dataclass(frozen=True, slots=True)
class Dates:
    """Weeks, months and so on, of dates or of times; places are days since 1970."""

    unit: str
    times: bool  # else whole days: an interval ends with the last day

    def begin(self, low: float) -> float:
        """Where the narrowest interval of the grid begins that holds `low`."""
        return self._unit(low)[0]

    def end(self, high: float, *, full: bool = False) -> float:
        """Where it ends if it holds `high`; `full`: all of the unit that `high` lies in."""
        begin, end = self._unit(high)
        if self.times:
            return begin if begin == high and not full else end
        return end - 1

    def text(self, end: float) -> str:
        """An end, written."""
        when = _when(end)
        return when.isoformat() if self.times else when.date().isoformat()

    def _unit(self, position: float) -> tuple[float, float]:
        """Where the unit around a place begins, and where the next one does."""
        if self.unit in _SECONDS:
            length = _SECONDS[self.unit]
            shift = 4 * 86_400 if self.unit == "week" else 0  # weeks begin on Mondays; 1970 began on a Thursday
            begin = (_seconds(position) - shift) // length * length + shift
            return begin / 86_400, (begin + length) / 86_400
        months = _MONTHS[self.unit]
        when = _when(_seconds(position) / 86_400)
        begin = (when.year * 12 + when.month - 1) // months * months
        return _month_place(begin), _month_place(begin + months)


Grid = Steps | Dates


def grid_of(name: str, values: Sequence[object], *, span: float, wanted: object) -> Grid:
    """The grid of a column of these numbers or dates: as wanted, or a round one by how far they reach.

    `span` is in numbers, or in days. Only its magnitude decides, so that hardly anything of the rows does.
    """
    if isinstance(values[0], datetime.date):
        times = any(isinstance(value, datetime.datetime) for value in values)
        return Dates(_unit_of(name, span * 86_400, times=times, wanted=wanted), times)
    whole = all(float(value).is_integer() for value in values)  # type: ignore[arg-type]  # numbers: the caller looked
    if wanted is not None:
        return Steps(_wanted(name, wanted, whole=whole), whole)
    step = _round_step(span / FINENESS)
    if whole:
        step = max(step, Fraction(2 if span >= LEAST_WHOLE else 1))
    return Steps(step, whole)


def _round_step(most: float) -> Fraction:
    """The largest of 1, 2 and 5 times a power of ten that is not above."""
    if most <= 0 or not math.isfinite(most):
        return Fraction(1)
    power = Fraction(10) ** math.floor(math.log10(most))
    return max((power * times for times in (1, 2, 5) if power * times <= Fraction(most)), default=power)


def _wanted(name: str, wanted: object, *, whole: bool) -> Fraction:
    if isinstance(wanted, bool) or not isinstance(wanted, int | float | Decimal | Fraction):
        raise InvalidParameter(f"{name}: the grid of numbers is a number, such as 5: got {wanted!r}")
    if not (math.isfinite(wanted) and wanted > 0):
        raise InvalidParameter(f"{name}: the step of a grid is positive: got {wanted!r}")
    step = Fraction(str(wanted)) if isinstance(wanted, float) else Fraction(wanted)
    if whole and step.denominator != 1:
        raise InvalidParameter(f"{name}: the grid of whole numbers is a whole number: got {wanted!r}")
    return step


def _unit_of(name: str, seconds: float, *, times: bool, wanted: object) -> str:
    units = UNITS if times else UNITS[UNITS.index("day") :]
    if wanted is not None:
        if wanted not in units:
            raise InvalidParameter(f"{name}: its grid is one of {', '.join(units)}: got {wanted!r}")
        return str(wanted)
    least = units[0] if seconds < 14 * _LENGTH[units[0]] else units[1]
    fitting = [unit for unit in units if _LENGTH[unit] * FINENESS <= seconds]
    return max([least, *fitting], key=units.index)


def _exact(number: float) -> Fraction:
    """The number that is written."""
    return Fraction(Decimal(repr(float(number))))


def _seconds(position: float) -> int:
    """Whole seconds since 1970, those that have passed; what a float lost below a microsecond is made up for."""
    return math.floor(position * 86_400 + 1e-6)


def _when(position: float) -> datetime.datetime:
    seconds = min(max(round(position * 86_400), -62_135_596_800), 253_402_300_799)  # years 1 to 9999
    return _EPOCH + datetime.timedelta(seconds=seconds)


def _month_place(months: int) -> float:
    """The first day of a month, counted from the year 0; the calendar's own ends where it has none."""
    year, month = divmod(months, 12)
    if not 1 <= year <= datetime.MAXYEAR:
        edge = datetime.date.min.toordinal() if year < 1 else datetime.date.max.toordinal() + 1
        return float(edge - _EPOCH.toordinal())
    return float(datetime.date(year, month + 1, 1).toordinal() - _EPOCH.toordinal())
