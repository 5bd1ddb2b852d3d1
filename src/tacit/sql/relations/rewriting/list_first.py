"""FROM a list that the question writes down, or a series of constants, with a table behind it: the table first.

`FROM GENERATE_SERIES(DATE '2023-01-01', DATE '2023-12-01', INTERVAL '1 month') AS d(m) LEFT JOIN stays …` is read as
`FROM stays JOIN (VALUES …) AS d(m)`: the groups that nobody is in are listed anyway.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime

from sqlglot import exp

from tacit.policy import fold
from tacit.sql.expressions.calendar import Span, after, span_of
from tacit.sql.relations.rewriting.listed_joins import is_list
from tacit.sql.relations.rewriting.public_first import adds_nothing, groups_are

_MOST = 1_000  # values of a series


def tables_first(select: exp.Select) -> exp.Select:
    """The same question, its lists behind its tables; as it is where that is not the same."""
    source, joins = select.args.get("from_"), select.args.get("joins") or ()
    holders = [] if source is None else [source, *joins]
    if not any(_series_of(holder.this) is not None or is_list(holder.this) for holder in holders):
        return select
    copy = select.copy()
    for holder in (copy.args["from_"], *(copy.args.get("joins") or ())):
        series = _series_of(holder.this)
        if series is not None:
            holder.set("this", series)
    return _turned(copy)


def _turned(select: exp.Select) -> exp.Select:
    """The first table before the list that stands before it."""
    first, joins = select.args["from_"].this, select.args.get("joins") or []
    if not is_list(first) or not joins or is_list(joins[0].this) or joins[0].args.get("using"):
        return select
    side = str(joins[0].args.get("side") or "").upper()
    public = {fold(first.alias)}
    private = {fold(join.this.alias_or_name) for join in joins}
    if side not in {"", "LEFT"} or (side and not (groups_are(public, select) and adds_nothing(private, select))):
        return select
    kind = None if joins[0].args.get("on") is not None else "CROSS"
    behind = exp.Join(this=first.copy(), on=joins[0].args.get("on"), kind=kind)
    select.set("from_", exp.From(this=joins[0].this.copy()))
    select.set("joins", [behind, *joins[1:]])
    return select


def _series_of(node: exp.Expr) -> exp.Values | None:
    """The values of GENERATE_SERIES with constants between; None for anything else."""
    call = node.this if isinstance(node, exp.Table) else None
    alias = node.args.get("alias")
    if not isinstance(call, exp.GenerateSeries) or not isinstance(alias, exp.TableAlias):
        return None
    values = _values(call)
    if not values or len(values) > _MOST:
        return None
    named = alias.copy()
    if not named.columns:  # GENERATE_SERIES(1, 3) AS i: its column is called as it is
        named.set("columns", [named.this.copy()])
    return exp.Values(expressions=[exp.Tuple(expressions=[value]) for value in values], alias=named)


def _values(call: exp.GenerateSeries) -> list[exp.Expr]:
    start, end = (_constant(call.args.get(name)) for name in ("start", "end"))
    exclusive = bool(call.args.get("is_end_exclusive"))
    step = call.args.get("step")
    if isinstance(start, int) and isinstance(end, int):
        by = 1 if step is None else _constant(step)
        if not isinstance(by, int) or by <= 0 or (end - start) // by > _MOST:
            return []
        return [_number(value) for value in range(start, end + (not exclusive), by)]
    if not isinstance(start, date) or not isinstance(end, date):
        return []
    span = _span(step)
    if span is None:
        return []
    return [
        exp.cast(exp.Literal.string(day.isoformat(sep=" ")), "TIMESTAMP") for day in _days(start, end, span, exclusive)
    ]


def _number(value: int) -> exp.Expr:
    size = exp.Literal.number(abs(value))
    return size if value >= 0 else exp.Neg(this=size)


def _days(start: date, end: date, span: Span, exclusive: bool) -> Iterator[datetime]:
    last, count = _midnight(end), 0
    moment = _midnight(start)
    while count <= _MOST and (moment < last or (moment == last and not exclusive)):
        yield moment
        count += 1
        later = after(_midnight(start), Span(span.months * count, span.seconds * count))
        moment = later if isinstance(later, datetime) else _midnight(later)


def _midnight(day: date) -> datetime:
    return day if isinstance(day, datetime) else datetime(day.year, day.month, day.day)  # noqa: DTZ001 - zoneless


def _span(step: exp.Expr | None) -> Span | None:
    """How far apart the moments of a series are: forwards."""
    if isinstance(step, exp.Cast):
        step = step.this
    if isinstance(step, exp.Literal) and step.is_string:
        step = exp.Interval(this=step.copy())
    if not isinstance(step, exp.Interval):
        return None
    span = span_of(step, _constant)
    return span if span.months >= 0 and span.seconds >= 0 and (span.months or span.seconds) else None


def _constant(node: object) -> object:
    """A whole number, a date, a timestamp or a text that is written out; None for anything else."""
    if isinstance(node, exp.Neg):
        value = _constant(node.this)
        return -value if isinstance(value, int) else None
    if isinstance(node, exp.Cast) and isinstance(node.this, exp.Literal) and node.is_type("date", "timestamp"):
        try:
            return datetime.fromisoformat(node.this.name)
        except ValueError:
            return None
    if not isinstance(node, exp.Literal):
        return None
    return node.name if node.is_string else int(node.name) if node.name.isdigit() else None
