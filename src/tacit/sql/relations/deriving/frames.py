"""Frames of windows: so many of a unit's rows before and behind a row, or those within so long of it."""

from __future__ import annotations

from fractions import Fraction

from sqlglot import exp

from tacit.errors import QueryRefused
from tacit.policy import ColumnType
from tacit.sql.expressions.calendar import span_of
from tacit.sql.expressions.dates.instant_reading import is_instant
from tacit.sql.expressions.dates.instants import DAY
from tacit.sql.expressions.names.printing import copied
from tacit.sql.expressions.names.scope import Scope
from tacit.sql.expressions.numbers import number
from tacit.sql.expressions.numeric.arithmetic import integer
from tacit.sql.expressions.predicates import moment_of, predicate

FARTHEST = 1_000_000  # rows that LAG, LEAD and frames look back or ahead
_LONGEST = 1 << 40  # steps of the column that a frame by values is ordered by
_FRAMES = {"PRECEDING", "FOLLOWING", "CURRENT ROW", "UNBOUNDED", "ROWS", "RANGE", "", "NONE"}
_ENDS = ("start", "end")


def spec_of(spec: exp.Expression | None, *, ordered: bool) -> exp.Expression | None:
    """ROWS BETWEEN 6 PRECEDING AND CURRENT ROW; RANGE from the first row on, or over all of them."""
    if spec is None:
        return None
    counted = _counted(spec)
    whole = all(
        isinstance(bound, exp.Literal) and str(bound.this).isdigit() and int(bound.this) <= FARTHEST
        for bound in counted.values()
    )
    if not ordered or not _is_known(spec) or not whole or (counted and not _is_kind(spec, "ROWS")):
        raise _refused()
    copy = copied(spec)
    if copy.args.get("end") is None:  # ROWS 2 PRECEDING: said, for engines differ in what they leave out
        copy.set("end", "CURRENT ROW")
    return copy


def by_value(
    spec: exp.Expression | None, order: exp.Expression | None, scope: Scope
) -> tuple[exp.Expression, exp.Expression] | None:
    """RANGE BETWEEN INTERVAL 30 DAY PRECEDING AND CURRENT ROW: what the rows are ordered by, and how far, in steps.

    None where a frame counts rows, or has no end that is counted. A moment counts in whole days or seconds, the same on
    every engine.
    """
    counted = {} if spec is None or not _is_kind(spec, "RANGE") else _counted(spec)
    if spec is None or not counted:
        return None
    items = [] if order is None else order.expressions
    if len(items) != 1 or not _is_known(spec):
        raise _refused()
    node, copy = items[0].this, copied(spec)
    moment = moment_of(node, scope).bounded() if is_instant(node, scope) else None
    grid = number(node, scope, predicate=predicate) if moment is None else moment.grid
    unit = 1 if moment is None else DAY if moment.kind is ColumnType.DATE else 1
    for name, bound in counted.items():
        steps = _length(bound, scope, timed=moment is not None) / unit / grid.step
        if steps.denominator != 1 or not 0 <= steps < _LONGEST:
            raise _refused()
        copy.set(name, integer(int(steps)))
    if copy.args.get("end") is None:
        copy.set("end", "CURRENT ROW")
    return exp.Ordered(this=grid.sql, desc=bool(items[0].args.get("desc")), nulls_first=False), copy


def _length(bound: exp.Expression, scope: Scope, *, timed: bool) -> Fraction:
    """How far an end is: in seconds, or as the number that it is."""
    text = bound.this if isinstance(bound, exp.Cast) and bound.is_type("interval") else bound
    if timed and isinstance(text, exp.Literal) and text.is_string:
        bound = exp.Interval(this=copied(text))
    if not timed:
        value = scope.value(bound) if scope.is_constant(bound) else None
        if isinstance(value, bool) or not isinstance(value, (int, Fraction)):
            raise _refused()
        return Fraction(value)
    if not isinstance(bound, exp.Interval):
        raise _refused()
    span = span_of(bound, scope.value)
    if span.months:
        raise QueryRefused(
            "a window with a frame of months is refused: they are not equally long", hint="write INTERVAL 30 DAY"
        )
    return Fraction(span.seconds)


def _counted(spec: exp.Expression) -> dict[str, exp.Expression]:
    """The ends that say how far they are."""
    ends = {name: spec.args.get(name) for name in _ENDS}
    return {name: bound for name, bound in ends.items() if isinstance(bound, exp.Expression)}


def _is_kind(spec: exp.Expression, kind: str) -> bool:
    return str(spec.args.get("kind")).upper() == kind


def _is_known(spec: exp.Expression) -> bool:
    """Whether it says nothing but where it begins and ends."""
    words = {str(spec.args.get(name) or "").upper() for name in ("kind", "start_side", "end_side")}
    words |= {str(spec.args.get(name) or "").upper() for name in _ENDS if name not in _counted(spec)}
    return words <= _FRAMES and not spec.args.get("exclude")


def _refused() -> QueryRefused:
    return QueryRefused(
        "a window with such a frame is refused",
        hint="write ORDER BY … ROWS BETWEEN 6 PRECEDING AND CURRENT ROW; of COUNT, SUM, AVG, MIN and MAX also RANGE"
        " BETWEEN INTERVAL 30 DAY PRECEDING AND CURRENT ROW",
    )
