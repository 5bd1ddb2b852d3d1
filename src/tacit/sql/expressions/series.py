"""The values of a series that a question writes down: numbers, days or moments between constants."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date, datetime

from sqlglot import exp

from tacit.sql.expressions.calendar import Span, after, span_of

MOST_VALUES = 1_000  # of a series
MOMENTS = ("date", "timestamp", "timestampntz", "datetime")  # types that a constant is cast to


def series_values(call: exp.Expr) -> list[exp.Expr]:
    """The values of GENERATE_SERIES between constants, as SQL; none where it has other ends, or too many."""
    return list(map(written, series_of(call)))


def series_of(call: exp.Expr) -> Sequence[int | date]:
    """The values of GENERATE_SERIES, RANGE and GENERATE_DATE_ARRAY; none where they are not written down."""
    start, end = (constant_of(call.args.get(name)) for name in ("start", "end"))
    exclusive = bool(call.args.get("is_end_exclusive"))
    step = call.args.get("step")
    if isinstance(call, exp.GenerateDateArray):
        start, end, step = _day_of(start), _day_of(end), step or exp.Interval(this=exp.Literal.string("1 day"))
    if isinstance(start, int) and isinstance(end, int):
        by = 1 if step is None else constant_of(step)
        if not isinstance(by, int) or by <= 0 or (end - start) // by > MOST_VALUES:
            return []
        return list(range(start, end + (not exclusive), by))
    if not isinstance(start, date) or not isinstance(end, date):
        return []
    span = _span(step)
    if span is None:
        return []
    moments = list(_days(start, end, span, exclusive))
    return [moment.date() for moment in moments] if isinstance(call, exp.GenerateDateArray) else moments


def written(value: object) -> exp.Expr:
    """A number, a day, a moment or a text as SQL."""
    if isinstance(value, datetime):
        return exp.cast(exp.Literal.string(value.isoformat(sep=" ")), "TIMESTAMP")
    if isinstance(value, date):
        return exp.cast(exp.Literal.string(value.isoformat()), "DATE")
    if isinstance(value, int):
        size = exp.Literal.number(abs(value))
        return size if value >= 0 else exp.Neg(this=size)
    return exp.Literal.string(str(value))


def _day_of(value: object) -> object:
    try:
        return date.fromisoformat(value) if isinstance(value, str) else value
    except ValueError:
        return None


def _days(start: date, end: date, span: Span, exclusive: bool) -> Iterator[datetime]:
    last, count = midnight(end), 0
    moment = midnight(start)
    while count <= MOST_VALUES and (moment < last or (moment == last and not exclusive)):
        yield moment
        count += 1
        later = after(midnight(start), Span(span.months * count, span.seconds * count))
        moment = later if isinstance(later, datetime) else midnight(later)


def midnight(day: date) -> datetime:
    """The moment itself; of a day, the one that it begins with."""
    return day if isinstance(day, datetime) else datetime(day.year, day.month, day.day)  # noqa: DTZ001 - zoneless


def _span(step: exp.Expr | None) -> Span | None:
    """How far apart the moments of a series are: forwards."""
    if isinstance(step, exp.Cast):
        step = step.this
    if isinstance(step, exp.Literal) and step.is_string:
        step = exp.Interval(this=step.copy())
    if not isinstance(step, exp.Interval):
        return None
    span = span_of(step, constant_of)
    return span if span.months >= 0 and span.seconds >= 0 and (span.months or span.seconds) else None


def constant_of(node: object) -> object:
    """A whole number, a date, a timestamp or a text that is written out; None for anything else."""
    if isinstance(node, exp.Neg):
        value = constant_of(node.this)
        return -value if isinstance(value, int) else None
    if isinstance(node, exp.Cast) and isinstance(node.this, exp.Literal) and node.is_type(*MOMENTS):
        try:
            return datetime.fromisoformat(node.this.name)
        except ValueError:
            return None
    if not isinstance(node, exp.Literal):
        return None
    return node.name if node.is_string else int(node.name) if node.name.isdigit() else None
