"""Dates and timestamps of rows: whole days or seconds since 1970 between public ends, and what moves them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from fractions import Fraction

from sqlglot import exp

from tacit.errors import QueryRefused, UnboundedColumn
from tacit.policy import ColumnPolicy, ColumnType
from tacit.policy.reading.types import grid_units
from tacit.sql.expressions import cells
from tacit.sql.expressions.calendar import Span, after
from tacit.sql.expressions.dates.moments import moment
from tacit.sql.expressions.names.nodes import cast_as, quoted_column
from tacit.sql.expressions.names.printing import copied
from tacit.sql.expressions.names.scope import Scope
from tacit.sql.expressions.numeric import arithmetic
from tacit.sql.expressions.numeric import grid as g
from tacit.sql.expressions.numeric.arithmetic import CALENDAR, Width

DAY = 86_400
UNITS = ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND")  # what a moment can be truncated to
_MONDAY = 3  # the days from a Monday to 1970-01-01


@dataclass(frozen=True, slots=True)
class Instant:
    """A DATE or TIMESTAMP between two ends, counted in days or seconds since 1970, or NULL.

    `typed` is SQL for it as what it is, `counted` as a whole number: one of them is there. `stepped` is a plain column
    on the grid of its policy. `unbounded` names the column that no bounds are declared for: its ends are the
    calendar's, and what has no natural bounds is refused.
    """

    kind: ColumnType
    low: int
    high: int
    typed: exp.Expression | None = None
    counted: g.Grid | None = None
    stepped: g.Grid | None = None
    nullable: bool = True
    zoned: bool = False  # whether it is a point in time, which TIMESTAMP WITH TIME ZONE is
    column: exp.Expression | None = None  # a plain column, to be compared as it is
    unbounded: UnboundedColumn | None = None
    bins: int | str = (
        1  # what lies between two values that it can have: so many days or seconds, or MONTH, QUARTER, YEAR
    )

    @property
    def grid(self) -> g.Grid:
        """The days or seconds since 1970, one by one."""
        if self.counted is not None:
            return whole_units(self.counted)
        count = arithmetic.day_number if self.kind is ColumnType.DATE else arithmetic.second_number
        return whole_grid(count(self.sql), self.low, self.high, nullable=self.nullable)

    @property
    def steps(self) -> g.Grid:
        """The days or seconds on the grid that the policy declares, or the bins do."""
        return self.stepped or self.counted or self.grid

    @property
    def sql(self) -> exp.Expression:
        """The moment as a DATE or TIMESTAMP."""
        if self.typed is not None:
            return copied(self.typed)
        assert self.counted is not None  # noqa: S101 - one of them is there
        make = arithmetic.day_of if self.kind is ColumnType.DATE else arithmetic.moment_of
        return make(self.grid.whole)

    @property
    def is_constant(self) -> bool:
        """Whether it is the same for every row."""
        return self.low == self.high and not self.nullable

    @property
    def ends(self) -> tuple[date, date]:
        """The first and the last that it can be."""
        ends = tuple(moment(Fraction(end), self.kind) for end in (self.low, self.high))
        assert isinstance(ends[0], date) and isinstance(ends[1], date)  # noqa: S101, PT018 - it is a moment
        return ends[0], ends[1]

    def bounded(self) -> Instant:
        """Itself; refused where its column has no bounds."""
        if self.unbounded is not None:
            raise self.unbounded
        return self


def whole_grid(sql: exp.Expression, low: int, high: int, *, nullable: bool) -> g.Grid:
    """A whole number of 64 bits between two ends."""
    return g.Grid(sql, Fraction(1), low, high, nullable, public=True, width=Width.BIGINT)


def constant(value: date) -> Instant:
    """A moment that everyone knows."""
    kind = ColumnType.TIMESTAMP if isinstance(value, datetime) else ColumnType.DATE
    if isinstance(value, datetime) and value.microsecond:
        raise QueryRefused("a TIMESTAMP finer than a second is refused in arithmetic", hint="round it to a second")
    units = int(grid_units(value))
    name = "DATE" if kind is ColumnType.DATE else "TIMESTAMP"
    text = value.isoformat(sep=" ") if isinstance(value, datetime) else value.isoformat()
    typed = arithmetic.typed(text, name)
    return Instant(kind, units, units, typed, g.constant(Fraction(units)), nullable=False)


def since_1970(seconds: g.Grid) -> Instant:
    """The point in time that many seconds after 1970 began; bins of seconds stay bins."""
    start = constant(datetime(1970, 1, 1))  # noqa: DTZ001 - zoneless, as columns are
    return replace(moved_by(start, seconds), bins=int(seconds.step), zoned=True)


def of_column(declared: ColumnPolicy, kind: ColumnType, scope: Scope) -> Instant:
    """A column, held between its bounds; without any, NULL beyond the calendar."""
    name = quoted_column(declared.name)
    sql_type = scope.sql_types.get(declared.name.casefold(), "").lower()
    zoned = "with time zone" in sql_type or sql_type.startswith("timestamptz")
    if declared.bounds is None:
        read = cells.within_calendar(
            cells.comparable(name, sql_type), "DATE" if kind is ColumnType.DATE else "TIMESTAMP"
        )
        first, last = CALENDAR if kind is ColumnType.DATE else (CALENDAR[0] * DAY, (CALENDAR[1] + 1) * DAY - 1)
        return Instant(kind, first, last, read, zoned=zoned, unbounded=_unbounded(declared, kind, scope))
    nullable = declared.null is None
    stepped = g.column(declared.name, declared.bounds, nullable=nullable, public=True)
    typed: exp.Expression = exp.Anonymous(this="MOMENT", expressions=[name])
    matched = None if nullable else scope.matched(declared.name)
    if matched is not None:
        typed = exp.Case(ifs=[exp.If(this=copied(matched), true=typed)])
        stepped = replace(stepped, sql=exp.Case(ifs=[exp.If(this=matched, true=stepped.sql)]), nullable=True)
    low, high = int(declared.bounds.lower), int(declared.bounds.upper)
    return Instant(
        kind,
        low,
        high,
        typed,
        stepped if declared.bounds.step == 1 else None,
        stepped,
        nullable or matched is not None,
        zoned,
        None if declared.null is not None else cells.comparable(name, sql_type),
    )


def _unbounded(declared: ColumnPolicy, kind: ColumnType, scope: Scope) -> UnboundedColumn:
    table, column = scope.origin(declared.name)
    example = "2000-01-01" if kind is ColumnType.DATE else "2000-01-01T00:00:00"
    latest = "2030-12-31" if kind is ColumnType.DATE else "2030-12-31T00:00:00"
    line = f"add {column} = {{ lower = {example}, upper = {latest} }} to [tables.{table}.columns], with its own ends"
    return UnboundedColumn(
        f"the column {declared.name} has no bounds: one person's {kind} could move the answer without limit",
        hint=f"declare bounds for the columns that {column} is computed from" if table is None else line,
    )


# ── conversions ──────────────────────────────────────────────────────────────────────────────────────────────────────


def as_day(instant: Instant) -> Instant:
    """The day that a timestamp is on."""
    if instant.kind is ColumnType.DATE:
        return instant
    low, high = instant.low // DAY, instant.high // DAY
    typed = None if instant.typed is None else cast_as(copied(instant.typed), "DATE")
    counted = None if typed is not None else quotient(instant.grid, DAY)
    result = _instant(ColumnType.DATE, low, high, instant, typed=typed, counted=counted)
    whole = isinstance(instant.bins, str) or (instant.bins % DAY == 0 and instant.low % DAY == 0)
    return replace(result, bins=_in_days(instant.bins)) if whole else result


def _in_days(bins: int | str) -> int | str:
    return bins if isinstance(bins, str) else bins // DAY


def as_timestamp(instant: Instant) -> Instant:
    """The midnight that a day begins with."""
    if instant.kind is ColumnType.TIMESTAMP:
        return instant
    seconds = g.multiply(instant.counted or instant.grid, g.constant(Fraction(DAY)))
    result = _instant(ColumnType.TIMESTAMP, instant.low * DAY, instant.high * DAY, instant, counted=seconds)
    return replace(result, bins=instant.bins if isinstance(instant.bins, str) else instant.bins * DAY)


def seconds_of(instant: Instant) -> g.Grid:
    """The seconds from 1970 to a moment; to midnight, where it is a day."""
    return as_timestamp(instant).grid


def whole_units(grid: g.Grid) -> g.Grid:
    """A whole number, counted one by one."""
    return grid if grid.step == 1 else g.rescale(grid, Fraction(1))


def quotient(grid: g.Grid, divisor: int) -> g.Grid:
    """How often the divisor goes into a whole number, rounded down."""
    return g.floor(g.divide(grid, g.constant(Fraction(divisor))))


def remainder(grid: g.Grid, divisor: int) -> g.Grid:
    """What is left of a whole number, which may be negative: from 0 on."""
    least = grid.low // divisor * divisor
    shifted = grid if least == 0 else g.add(grid, g.constant(Fraction(-least)))
    return g.remainder(shifted, Fraction(divisor))


def _instant(
    kind: ColumnType,
    low: int,
    high: int,
    *parts: Instant,
    typed: exp.Expression | None = None,
    counted: g.Grid | None = None,
) -> Instant:
    """A moment computed from others; refused where it could be beyond the years 1 to 9999."""
    unit = 1 if kind is ColumnType.DATE else DAY
    if low < CALENDAR[0] * unit or high >= (CALENDAR[1] + 1) * unit:
        raise QueryRefused("a date could be beyond the years 1 to 9999", hint="move it less far, or tighten its bounds")
    nullable = any(part.nullable for part in parts)
    unbounded = next((part.unbounded for part in parts if part.unbounded is not None), None)
    zoned = any(part.zoned for part in parts)
    return Instant(kind, low, high, typed, counted, nullable=nullable, zoned=zoned, unbounded=unbounded)


# ── moving ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def moved(instant: Instant, span: Span) -> Instant:
    """The moment a span later: months first, held at the month's last day, then the rest. As SQL has it."""
    later = instant.bounded()
    if span.months:
        later = _months_later(later, span.months)
    if span.seconds % DAY:
        later = as_timestamp(later)
    if not span.seconds:
        return later
    by = span.seconds // DAY if later.kind is ColumnType.DATE else span.seconds
    return moved_by(later, g.constant(Fraction(by)))


def moved_by(instant: Instant, by: g.Grid) -> Instant:
    """The moment a number of days (of a date) or seconds (of a timestamp) later."""
    instant = instant.bounded()
    if by.step.denominator != 1:
        raise QueryRefused(
            "a date is moved by a number that may not be whole", hint="move it by whole days: FLOOR(…) or ROUND(…)"
        )
    counted = g.add(instant.grid, by)
    ends = sorted((by.low * int(by.step), by.high * int(by.step)))
    result = _instant(instant.kind, instant.low + ends[0], instant.high + ends[1], instant, counted=counted)
    bins = instant.bins if by.is_constant and not isinstance(instant.bins, str) else 1
    return replace(result, nullable=instant.nullable or by.nullable, bins=bins)


def _months_later(instant: Instant, months: int) -> Instant:
    try:
        low, high = (after(end, Span(months)) for end in instant.ends)
    except (OverflowError, ValueError):
        raise QueryRefused(
            "a date could be beyond the years 1 to 9999", hint="move it less far, or tighten its bounds"
        ) from None
    ends = int(grid_units(low)), int(grid_units(high))
    if instant.kind is ColumnType.DATE:
        return _instant(instant.kind, *ends, instant, typed=arithmetic.months_after(instant.sql, months))
    day = _months_later(as_day(instant), months)
    counted = g.add(as_timestamp(day).grid, remainder(instant.grid, DAY))
    return _instant(instant.kind, ends[0] // DAY * DAY, ends[1] // DAY * DAY + DAY - 1, instant, counted=counted)


def moved_by_months(instant: Instant, months: g.Grid) -> Instant:
    """The moment a number of months of the row's own later, held at the last day of a shorter month."""
    instant = instant.bounded()
    if months.step.denominator != 1:
        raise QueryRefused(
            "a date is moved by a number of months that may not be whole", hint="move it by whole ones: FLOOR(…)"
        )
    count = whole_units(months)
    try:
        low, high = (after(end, Span(by)) for end, by in zip(instant.ends, (count.low, count.high), strict=True))
    except (OverflowError, ValueError):
        raise QueryRefused(
            "a date could be beyond the years 1 to 9999", hint="move it less far, or tighten its bounds"
        ) from None
    ends = int(grid_units(low)), int(grid_units(high))
    if instant.kind is ColumnType.DATE:
        later = arithmetic.own_months_after(instant.sql, count.whole)
        result = _instant(instant.kind, *ends, instant, typed=later)
    else:
        day = moved_by_months(as_day(instant), months)
        time = remainder(instant.grid, DAY)
        ends = ends[0] // DAY * DAY, ends[1] // DAY * DAY + DAY - 1
        result = _instant(instant.kind, *ends, instant, counted=g.add(as_timestamp(day).grid, time))
    return replace(result, nullable=instant.nullable or months.nullable)


def truncated(instant: Instant, unit: str) -> Instant:
    """The first moment of the year, quarter, month, week, day, hour, minute or second that it is in."""
    fine = {"HOUR": 3_600, "MINUTE": 60, "SECOND": 1}.get(unit)
    if fine is not None:
        return instant if instant.kind is ColumnType.DATE else cut_down(instant, fine)
    day = as_day(instant)
    if unit == "WEEK":
        day = cut_down(day, 7, origin=-_MONDAY)
    elif unit != "DAY":
        cut = cast_as(exp.TimestampTrunc(this=day.sql, unit=exp.var(unit)), "DATE")
        low, high = (int(grid_units(start_of(end, unit))) for end in day.ends)
        day = replace(_instant(ColumnType.DATE, low, high, day, typed=cut), bins=unit)
    return day if instant.kind is ColumnType.DATE else as_timestamp(day)


def cut_down(instant: Instant, width: int, *, origin: int = 0) -> Instant:
    """The first moment of the bin that it is in: bins of `width` days or seconds, one of which begins at `origin`."""
    offset = g.constant(Fraction(origin % width))
    shifted = g.add(instant.grid, g.negate(offset)) if origin % width else instant.grid
    bins = g.multiply(quotient(shifted, width), g.constant(Fraction(width)))
    counted = g.add(bins, offset) if origin % width else bins
    low, high = ((end - origin) // width * width + origin for end in (instant.low, instant.high))
    return replace(_instant(instant.kind, low, high, instant, counted=counted), bins=width)


def thursday(instant: Instant) -> Instant:
    """The Thursday of its week, whose year is the week's. The calendar's first and last have one within it."""
    monday = cut_down(as_day(instant), 7, origin=-_MONDAY)
    counted = g.add(monday.grid, g.constant(Fraction(_MONDAY)))
    return _instant(ColumnType.DATE, monday.low + _MONDAY, monday.high + _MONDAY, monday, counted=counted)


def start_of(day: date, unit: str) -> date:
    """The first day of the year, quarter or month that a day is in."""
    month = {"YEAR": 1, "QUARTER": (day.month - 1) // 3 * 3 + 1, "MONTH": day.month}[unit]
    return date(day.year, month, 1)


# ── several ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def alike(parts: Sequence[Instant]) -> list[Instant]:
    """All as dates, or all as timestamps where one of them is."""
    if len({part.kind for part in parts}) == 1:
        return list(parts)
    return [as_timestamp(part.bounded()) for part in parts]


def first_of(parts: Sequence[Instant]) -> Instant:
    """COALESCE of moments: the first that is not NULL, with the ends of all."""
    parts = alike(parts)
    sql = exp.Coalesce(this=parts[0].sql, expressions=[part.sql for part in parts[1:]])
    return replace(_either(parts, sql), nullable=all(part.nullable for part in parts))


def extreme(parts: Sequence[Instant], *, least: bool) -> Instant:
    """LEAST or GREATEST of those that are not NULL."""
    parts = alike(parts)
    sql = exp.Anonymous(this="LEAST" if least else "GREATEST", expressions=[part.sql for part in parts])
    pick = min if least else max
    if any(part.nullable for part in parts):
        return replace(_either(parts, sql), nullable=all(part.nullable for part in parts))
    return replace(_either(parts, sql), low=pick(p.low for p in parts), high=pick(p.high for p in parts))


def choose(branches: Sequence[tuple[exp.Expression, Instant | None]], default: Instant | None) -> Instant:
    """CASE WHEN … THEN … ELSE … END; None stands for NULL."""
    given = [*(part for _, part in branches), default]
    parts = iter(alike([part for part in given if part is not None]))
    kept = [None if part is None else next(parts) for part in given]
    ifs = [
        exp.If(this=copied(when), true=exp.null() if part is None else part.sql)
        for (when, _), part in zip(branches, kept, strict=False)
    ]
    sql = exp.Case(ifs=ifs, default=exp.null() if kept[-1] is None else kept[-1].sql)
    present = [part for part in kept if part is not None]
    return replace(_either(present, sql), nullable=len(present) < len(kept) or any(part.nullable for part in present))


def _either(parts: Sequence[Instant], sql: exp.Expression) -> Instant:
    low, high = min(part.low for part in parts), max(part.high for part in parts)
    return _instant(parts[0].kind, low, high, *parts, typed=sql)
