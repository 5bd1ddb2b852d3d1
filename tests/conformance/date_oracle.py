"""Numbers and moments computed from dates: the questions, and what Python's own calendar says to each row."""

from __future__ import annotations

import calendar
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

Row = dict[str, date | datetime | int | None]
BERLIN = ZoneInfo("Europe/Berlin")
EPOCH = date(1970, 1, 1)
LOWER, UPPER = date(1999, 1, 1), date(2031, 12, 31)
FIRST, LAST = datetime(1999, 1, 1), datetime(2031, 12, 31)  # noqa: DTZ001 - zoneless, as columns are


def trunc(value: int, by: int) -> int:
    """A quotient without its remainder."""
    return value // by if value >= 0 else -(-value // by)


def month(day: date) -> int:
    return day.year * 12 + day.month - 1


def is_last(day: date) -> bool:
    return day.day == calendar.monthrange(day.year, day.month)[1]


def moved(day: date, months: int) -> date:
    year, index = divmod(month(day) + months, 12)
    return day.replace(year=year, month=index + 1, day=min(day.day, calendar.monthrange(year, index + 1)[1]))


def time_of(moment: date) -> timedelta:
    return moment - datetime.combine(moment, datetime.min.time()) if isinstance(moment, datetime) else timedelta()


def whole_months(earlier: date, later: date, *, at_end: bool) -> int:
    """By the calendar; `at_end`, the last day of a month completes it."""
    crossed = month(later) - month(earlier)

    def short(one: date, other: date) -> bool:
        late = time_of(one) > time_of(other)
        behind = (one.day, time_of(one)) > (other.day, time_of(other))
        return behind and (not at_end or not is_last(other) or late)

    if crossed > 0:
        return crossed - short(earlier, later)
    return crossed + short(later, earlier) if crossed < 0 else 0


def quarter(day: date) -> int:
    return (day.month + 2) // 3


def start(day: date, unit: str) -> date:
    if unit == "week":
        return day - timedelta(days=day.weekday())
    first = {"year": 1, "quarter": quarter(day) * 3 - 2, "month": day.month}[unit]
    return date(day.year, first, 1)


def midnight(day: date) -> datetime:
    return datetime(day.year, day.month, day.day)  # noqa: DTZ001 - zoneless


def seconds(moment: date) -> int:
    return round((midnight(moment) - datetime(1970, 1, 1) + time_of(moment)).total_seconds())  # noqa: DTZ001


def binned(moment: date, width: int) -> datetime:
    return datetime(1970, 1, 1) + timedelta(seconds=seconds(moment) // width * width)  # noqa: DTZ001


def local(moment: datetime) -> datetime:
    return moment.replace(tzinfo=UTC).astimezone(BERLIN).replace(tzinfo=None)


def overlaps(one: date, other: date) -> bool:
    """Whether two days enclose a part of the years between the leap days of 2004 and 2020; a day alone is its own."""
    first, last = sorted((one, other))
    start, end = date(2004, 2, 29), date(2020, 2, 29)
    return first == start or (start < first < end) or (first < start < last)


@dataclass(frozen=True)
class Asked:
    """An expression over the columns a, b (dates), s, t (timestamps) and n (0 to 40), and its value in a row.

    `duckdb` is how DuckDB itself writes it, where it does; None: it has no such function, or its own time zones.
    """

    text: str
    value: Callable[..., object]
    needs: str
    duckdb: str | None = ""

    def of(self, row: Row) -> object:
        """Its value, NULL where a column that it needs is."""
        parts = [row[name] for name in self.needs]
        return None if None in parts else self.value(*parts)


def asked(text: str, needs: str, value: Callable[..., object], *, duckdb: str | None = "") -> Asked:
    return Asked(text, value, needs, text if duckdb == "" else duckdb)


NUMBERS = (
    asked("a - b", "ab", lambda a, b: (a - b).days),
    asked("a - DATE '2010-05-05'", "a", lambda a: (a - date(2010, 5, 5)).days),
    asked("(a + n) - b", "anb", lambda a, n, b: (a - b).days + n),
    *(  # beside an INTERVAL a month of AGE is thirty days: as DuckDB's own comparison has it
        asked(f"(AGE({pair}) {sign} INTERVAL '{length}')::INT", "", lambda: None)
        for pair in ("a, b", "s, t", "a, t")
        for sign, length in (
            (">=", "3 years"),
            (">=", "1 month"),
            ("<", "1 month 29 days"),
            (">", "-11 months -30 days"),
            ("<=", "191 months"),
            (">=", "0 days"),
        )
    ),
    *(
        asked(
            f"CASE WHEN a - b IS NOT NULL THEN (({pair}) OVERLAPS (DATE '{ends[0]}', {ends[1]}))::INT END",
            "ab",
            lambda a, b: int(overlaps(a, b)),
            duckdb=None,
        )
        for pair in ("a, b", "b, a")
        for ends in (
            ("2004-02-29", "DATE '2020-02-29'"),
            ("2020-02-29", "DATE '2004-02-29'"),
            ("2004-02-29", "INTERVAL '16 years'"),
        )
    ),
    asked("DATE_DIFF('day', a, b)", "ab", lambda a, b: (b - a).days),
    asked("DATEDIFF('week', a, b)", "ab", lambda a, b: trunc((b - a).days, 7)),
    asked("DATE_DIFF('month', a, b)", "ab", lambda a, b: month(b) - month(a)),
    asked("DATE_DIFF('quarter', a, b)", "ab", lambda a, b: month(b) // 3 - month(a) // 3),
    asked("DATE_DIFF('year', a, b)", "ab", lambda a, b: b.year - a.year),
    asked("DATE_DIFF('decade', a, b)", "ab", lambda a, b: b.year // 10 - a.year // 10),
    asked("DATE_DIFF('hour', s, t)", "st", lambda s, t: seconds(t) // 3600 - seconds(s) // 3600),
    asked("DATE_DIFF('minute', s, t)", "st", lambda s, t: seconds(t) // 60 - seconds(s) // 60),
    asked("DATE_DIFF('second', s, t)", "st", lambda s, t: seconds(t) - seconds(s)),
    asked("DATE_DIFF('day', s, t)", "st", lambda s, t: (t.date() - s.date()).days),
    asked("DATE_DIFF('week', s, t)", "st", lambda s, t: trunc((t.date() - s.date()).days, 7)),
    asked("DATE_DIFF('month', s, t)", "st", lambda s, t: month(t) - month(s)),
    asked("DATE_DIFF('day', a, t)", "at", lambda a, t: (t.date() - a).days),
    asked("DATE_SUB('day', a, b)", "ab", lambda a, b: (b - a).days),
    asked("DATESUB('week', a, b)", "ab", lambda a, b: trunc((b - a).days, 7)),
    asked("DATE_SUB('month', a, b)", "ab", lambda a, b: whole_months(a, b, at_end=True)),
    asked("DATE_SUB('year', a, b)", "ab", lambda a, b: trunc(whole_months(a, b, at_end=True), 12)),
    asked("DATE_SUB('month', s, t)", "st", lambda s, t: whole_months(s, t, at_end=True)),
    asked("DATE_SUB('hour', s, t)", "st", lambda s, t: trunc(seconds(t) - seconds(s), 3600)),
    asked("DATE_SUB('day', s, t)", "st", lambda s, t: trunc(seconds(t) - seconds(s), 86400)),
    asked("EXTRACT(YEAR FROM AGE(a, b))", "ab", lambda a, b: trunc(whole_months(b, a, at_end=False), 12)),
    asked("DATE_PART('month', AGE(a, b))", "ab", lambda a, b: _signed(whole_months(b, a, at_end=False), 12)),
    asked("EXTRACT(YEAR FROM AGE(s, t))", "st", lambda s, t: trunc(whole_months(t, s, at_end=False), 12)),
    asked("EXTRACT(EPOCH FROM s - t)", "st", lambda s, t: seconds(s) - seconds(t)),
    asked("EXTRACT(DAY FROM s - t)", "st", lambda s, t: trunc(seconds(s) - seconds(t), 86400)),
    asked("YEAR(a) - YEAR(b)", "ab", lambda a, b: a.year - b.year),
    asked("EXTRACT(WEEK FROM a) + 0", "a", lambda a: a.isocalendar().week),
    asked("ISODOW(a) + 0", "a", lambda a: a.isoweekday()),
    asked("DAYOFWEEK(a) + 0", "a", lambda a: a.isoweekday() % 7),
    asked("DAYOFYEAR(a) + 0", "a", lambda a: a.timetuple().tm_yday),
    asked("ISOYEAR(a) + 0", "a", lambda a: a.isocalendar().year),
    asked("YEARWEEK(a) + 0", "a", lambda a: a.isocalendar().year * 100 + a.isocalendar().week),
    asked("QUARTER(a) + 0", "a", quarter),
    asked("MONTH(t) + 0", "t", lambda t: t.month),
    asked("DAY(t) + 0", "t", lambda t: t.day),
    asked("HOUR(t) + 0", "t", lambda t: t.hour),
    asked("MINUTE(t) + 0", "t", lambda t: t.minute),
    asked("SECOND(t) + 0", "t", lambda t: t.second),
    asked("ISODOW(t) + 0", "t", lambda t: t.isoweekday()),
    asked("EPOCH(a) + 0", "a", seconds),
    asked("EXTRACT(EPOCH FROM DATE_TRUNC('hour', t)) / 3600", "t", lambda t: seconds(t) // 3600),
    asked("EPOCH(DATE_TRUNC('month', t)) / 86400", "t", lambda t: seconds(start(t, "month")) // 86400),
    asked("CENTURY(a) + 0", "a", lambda a: (a.year + 99) // 100),
    asked("COALESCE(a, b) - DATE '2020-01-01'", "", lambda: None, duckdb="COALESCE(a, b) - DATE '2020-01-01'"),
    asked("LEAST(a, b) - DATE '2020-01-01'", "", lambda: None, duckdb="LEAST(a, b) - DATE '2020-01-01'"),
    asked("GREATEST(a, DATE '2010-01-01') - b", "", lambda: None, duckdb="GREATEST(a, DATE '2010-01-01') - b"),
    asked("CASE WHEN n < 20 THEN a ELSE DATE '2020-02-29' END - b", "", lambda: None),
    asked("a + INTERVAL '1 month' - b", "ab", lambda a, b: (moved(a, 1) - b).days, duckdb=None),
)

MOMENTS = (
    asked("MAKE_DATE(2000 + n, 3, 31)", "n", lambda n: date(2000 + n, 3, 31)),
    asked("MAKE_DATE(YEAR(a), MONTH(b), 28)", "ab", lambda a, b: date(a.year, b.month, 28)),
    asked("a + INTERVAL '30 days'", "a", lambda a: a + timedelta(days=30)),
    asked("a - INTERVAL 1 MONTH", "a", lambda a: moved(a, -1)),
    asked("a + INTERVAL '1 year'", "a", lambda a: moved(a, 12)),
    asked("a - INTERVAL '65 years'", "a", lambda a: moved(a, -780)),
    asked("a + INTERVAL '1 month 3 days'", "a", lambda a: moved(a, 1) + timedelta(days=3)),
    asked("a + INTERVAL '1 month - 1 day'", "a", lambda a: moved(a, 1) - timedelta(days=1), duckdb=None),
    asked("a + MAKE_INTERVAL(years => 1, days => 2)", "a", lambda a: moved(a, 12) + timedelta(days=2), duckdb=None),
    asked("t - MAKE_INTERVAL(hours => n)", "tn", lambda t, n: t - timedelta(hours=n), duckdb=None),
    asked("TO_TIMESTAMP(EXTRACT(EPOCH FROM t))", "t", lambda t: t, duckdb=None),
    asked("TO_TIMESTAMP(FLOOR(EXTRACT(EPOCH FROM t) / 300) * 300)", "t", lambda t: binned(t, 300), duckdb=None),
    asked("DATE_BIN('15 minutes', t, TIMESTAMP '2001-01-01')", "t", lambda t: binned(t, 900), duckdb=None),
    asked("TIME_BUCKET('1 day', t)", "t", lambda t: binned(t, 86400)),
    asked("a + INTERVAL '36 hours'", "a", lambda a: midnight(a) + timedelta(hours=36)),
    asked("t + INTERVAL '1 month'", "t", lambda t: moved(t, 1)),
    asked("t - INTERVAL '90 minutes'", "t", lambda t: t - timedelta(minutes=90)),
    asked("a + n", "an", lambda a, n: a + timedelta(days=n)),
    asked("a - INTERVAL (n) DAY", "an", lambda a, n: a - timedelta(days=n)),
    asked("t + INTERVAL (n) HOUR", "tn", lambda t, n: t + timedelta(hours=n)),
    asked("a + n * INTERVAL 1 MONTH", "an", moved),
    asked("a - INTERVAL (n) MONTH", "an", lambda a, n: moved(a, -n)),
    asked("t + INTERVAL (n) YEAR", "tn", lambda t, n: moved(t, 12 * n)),
    asked("DATEADD('quarter', n - 20, a)", "an", lambda a, n: moved(a, 3 * n - 60), duckdb=None),
    asked("ADD_MONTHS(t, n)", "tn", moved, duckdb=None),
    asked("DATE_ADD(a, INTERVAL 2 WEEK)", "a", lambda a: a + timedelta(days=14)),
    asked("DATE_SUB(a, INTERVAL 2 MONTH)", "a", lambda a: moved(a, -2), duckdb=None),
    asked("DATEADD('month', 3, a)", "a", lambda a: moved(a, 3), duckdb=None),
    asked("ADD_MONTHS(a, -1)", "a", lambda a: moved(a, -1), duckdb=None),
    asked("LAST_DAY(a)", "a", lambda a: moved(start(a, "month"), 1) - timedelta(days=1)),
    asked("CAST(t AS DATE)", "t", lambda t: t.date()),
    asked("CAST(a AS TIMESTAMP)", "a", midnight),
    *(asked(f"DATE_TRUNC('{unit}', a)", "a", lambda a, unit=unit: start(a, unit))
      for unit in ("year", "quarter", "month", "week")),
    *(asked(f"DATE_TRUNC('{unit}', t)", "t", lambda t, unit=unit: midnight(start(t.date(), unit)))
      for unit in ("year", "quarter", "month", "week")),
    asked("DATE_TRUNC('hour', t)", "t", lambda t: t.replace(minute=0, second=0)),
    asked("DATE_TRUNC('minute', t)", "t", lambda t: t.replace(second=0)),
    asked("DATE_TRUNC('month', a + INTERVAL 10 DAY)", "a", lambda a: start(a + timedelta(days=10), "month")),
    asked("TIME_BUCKET(INTERVAL '14 days', a)", "a",
          lambda a: a - timedelta(days=(a - date(2000, 1, 3)).days % 14)),
    asked("(t AT TIME ZONE 'UTC') AT TIME ZONE 'Europe/Berlin'", "t", local, duckdb=None),
)  # fmt: skip


def _signed(months: int, by: int) -> int:
    return months - trunc(months, by) * by


def clamped(row: Row) -> Row:
    """The row as the policy's bounds leave it."""
    ends = {"a": (LOWER, UPPER), "b": (LOWER, UPPER), "s": (FIRST, LAST), "t": (FIRST, LAST), "n": (0, 40)}
    return {
        name: None if value is None else max(ends[name][0], min(ends[name][1], value)) for name, value in row.items()
    }
