"""Numbers that an analyst computes from dates: differences, DATE_DIFF, AGE, parts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from sqlglot import exp

from tacit.errors import QueryRefused
from tacit.policy import ColumnType
from tacit.sql.expressions.calendar import span_of
from tacit.sql.expressions.cells import is_length
from tacit.sql.expressions.dates import instant_numbers as numbers
from tacit.sql.expressions.dates import instants
from tacit.sql.expressions.dates.instant_numbers import part_name
from tacit.sql.expressions.dates.instant_reading import Number, Predicate, instant, is_instant
from tacit.sql.expressions.dates.instants import DAY, Instant
from tacit.sql.expressions.names.scope import Scope, bare
from tacit.sql.expressions.numeric import grid as g

_PARTS = (
    exp.Extract,
    exp.Year,
    exp.Quarter,
    exp.Month,
    exp.Week,
    exp.WeekOfYear,
    exp.Day,
    exp.DayOfMonth,
    exp.DayOfWeek,
    exp.DayOfWeekIso,
    exp.DayOfYear,
    exp.Hour,
    exp.Minute,
    exp.Second,
    exp.TimeToUnix,
)
_CALLED_PARTS = {"ISOYEAR", "WEEKDAY", "YEARWEEK", "DECADE", "CENTURY", "UNIX_TIMESTAMP", "EPOCH"}
_PART_CALLS = {"DATE_PART", "DATEPART"}
_PERIOD_CALLS = {"DATE_SUB", "DATESUB"}
_TIMES = {"HOUR", "MINUTE", "SECOND"}


def part_of(node: exp.Expression) -> tuple[str, exp.Expression] | None:
    """The part that a call takes, and of what; None where it is no such call."""
    if isinstance(node, exp.Extract):
        return part_name(str(node.this.name)), bare(node.expression)
    if isinstance(node, _PARTS):
        inner = node.this
        while isinstance(inner, (exp.TsOrDsToDate, exp.Paren)):
            inner = inner.this
        return part_name(node.key), inner
    if not isinstance(node, exp.Anonymous):
        return None
    name, arguments = str(node.this).upper(), node.expressions
    if name in _CALLED_PARTS and len(arguments) == 1:
        return part_name(name.replace("UNIX_TIMESTAMP", "EPOCH")), bare(arguments[0])
    if name in _PART_CALLS and len(arguments) == 2 and isinstance(arguments[0], (exp.Literal, exp.Column)):
        return part_name(str(arguments[0].name)), bare(arguments[1])
    return None


def from_dates(
    node: exp.Expression, scope: Scope, *, number: Number, predicate: Predicate | None = None
) -> g.Grid | None:
    """The number, or None where an expression computes none from dates."""

    def read(part: exp.Expression) -> Instant:
        return instant(part, scope, number=number, predicate=predicate)

    taken = part_of(node)
    if taken is not None:
        return _part(taken[0], taken[1], scope, read)
    if isinstance(node, exp.Sub) and _between(node, scope) is not None:
        return _difference(node, read)
    if isinstance(node, (exp.DateDiff, exp.TimestampDiff)):
        return _counted(node, read)
    if isinstance(node, exp.Anonymous):
        name = str(node.this).upper()
        if name in _PERIOD_CALLS and len(node.expressions) == 3 and isinstance(node.expressions[0], exp.Literal):
            unit, earlier, later = node.expressions
            return numbers.whole_periods(part_name(str(unit.name)), read(earlier), read(later))
        if name == "AGE":
            raise QueryRefused(
                "AGE is refused here: years, months and days are no number",
                hint="write EXTRACT(YEAR FROM AGE(a, b)), or a - b for days, or a >= b + INTERVAL '18 years'",
            )
    return None


def _between(node: exp.Expression, scope: Scope) -> tuple[exp.Expression, exp.Expression] | None:
    """The two moments that a difference is of."""
    node = bare(node)
    if not isinstance(node, exp.Sub):
        return None
    both = is_instant(node.this, scope) and is_instant(node.expression, scope)
    return (node.this, node.expression) if both else None


def length_column(node: exp.Expression, scope: Scope) -> g.Grid | None:
    """A column of a subquery that is the difference of two timestamps, in seconds; None for any other expression."""
    node = bare(node)
    if not isinstance(node, exp.Column) or scope.key(node) is not None or scope.is_constant(node):
        return None
    declared, _ = scope.column(node)
    if declared.bounds is None or not is_length(scope.sql_types.get(declared.name.casefold(), "")):
        return None
    return g.column(declared.name, declared.bounds, nullable=True, public=False)


def seconds_apart(node: exp.Expression, scope: Scope, *, number: Number, predicate: Predicate) -> g.Grid | None:
    """The difference of two timestamps in seconds; None for any other expression."""
    both = _between(node, scope)
    moments = [instant(part, scope, number=number, predicate=predicate) for part in both or ()]
    if both is None or all(moment.kind is ColumnType.DATE for moment in moments):
        return None
    return numbers.seconds_between(*moments)


def no_number(name: str = "") -> QueryRefused:
    """A length of time where a number is needed: the column that it is, if it has a name."""
    return QueryRefused(
        "the difference of two timestamps is an INTERVAL, which is no number",
        hint=f"write EXTRACT(EPOCH FROM {name}) / 3600"
        if name
        else "write DATE_DIFF('hour', a, b), or EXTRACT(EPOCH FROM b - a) / 3600",
    )


def _difference(node: exp.Expression, read: Callable[[exp.Expression], Instant]) -> g.Grid:
    later, earlier = read(node.this), read(node.expression)
    if later.kind is earlier.kind is ColumnType.DATE:
        return numbers.difference(later, earlier)
    raise no_number()


def _counted(node: exp.Expression, read: Callable[[exp.Expression], Instant]) -> g.Grid:
    unit = node.args.get("unit")
    name = part_name(str(unit.name)) if isinstance(unit, exp.Expression) else "DAY"
    if isinstance(node, exp.TimestampDiff) and name not in numbers.PERIODS:
        raise QueryRefused("TIMESTAMPDIFF is refused in this form", hint="write DATE_DIFF('day', a, b)")
    return numbers.boundaries(name, read(node.expression), read(node.this))


SPELLED_OUT = {"DOW": "the day of the week", "ISODOW": "the day of the week", "DOY": "the day of the year"}


def _part(name: str, inner: exp.Expression, scope: Scope, read: Callable[[exp.Expression], Instant]) -> g.Grid:
    if isinstance(inner, exp.Anonymous) and str(inner.this).upper() == "AGE" and len(inner.expressions) == 2:
        return numbers.age(name, read(inner.expressions[0]), read(inner.expressions[1]))
    both = _between(inner, scope)
    length = length_column(inner, scope)
    if length is not None:
        return _part_of_length(name, length)
    if both is not None:
        return _part_of_length(name, numbers.seconds_between(read(both[0]), read(both[1])))
    if not is_instant(inner, scope):
        raise QueryRefused(
            f"{SPELLED_OUT.get(name, name[:20])} needs date or timestamp",
            hint="CAST(… AS DATE) of text is refused, for it may fail: write TRY_CAST(… AS DATE)",
        )
    return numbers.part(read(inner), name)


def _part_of_length(name: str, seconds: g.Grid) -> g.Grid:
    if name == "EPOCH":
        return seconds
    if name == "DAY":
        return numbers.towards_zero(instants.whole_units(seconds), DAY)
    raise QueryRefused(
        f"{name[:20]} of a difference is refused",
        hint="write DATE_DIFF('hour', a, b), or EXTRACT(EPOCH FROM b - a) / 3600",
    )


@dataclass(frozen=True, slots=True)
class Durations:
    """Reads the two sides of a comparison of lengths of time, in seconds."""

    scope: Scope
    number: Number
    predicate: Predicate

    def sides(self, left: exp.Expression, right: exp.Expression) -> list[g.Grid]:
        """Both lengths. Beside AGE, which has months, a month is thirty days, as engines compare them."""
        ages = _is_age(left) or _is_age(right)
        lengths = [self._length(bare(side), ages=ages) for side in (left, right)]
        known = [length for length in lengths if length is not None]
        if len(known) < 2:
            raise QueryRefused(
                "an INTERVAL is compared with what is none",
                hint="write AGE(a, b) >= INTERVAL '18 years', or EXTRACT(YEAR FROM AGE(a, b)) >= 18"
                if ages
                else "write b - a <= INTERVAL '30 days'",
            )
        return known

    def _length(self, node: exp.Expression, *, ages: bool) -> g.Grid | None:
        """A constant INTERVAL, or the difference of two moments; None where it is neither."""
        if ages and isinstance(node, exp.Literal) and node.is_string:
            node = exp.Interval(this=node.copy())
        if isinstance(node, exp.Interval):
            span = span_of(node, self.scope.value)
            if span.months and not ages:
                raise QueryRefused(
                    "a difference is compared with months, which have no one length",
                    hint="move the date instead: a >= b + INTERVAL '65 years'; or compare with days",
                )
            return g.constant(Fraction(span.months * numbers.MONTH + span.seconds))
        if _is_age(node):
            return numbers.age_seconds(*(self._read(part) for part in node.expressions))
        column = length_column(node, self.scope)
        both = _between(node, self.scope)
        if column is not None or both is None:
            return column
        return numbers.seconds_between(*(self._read(part) for part in both))

    def _read(self, node: exp.Expression) -> Instant:
        return instant(node, self.scope, number=self.number, predicate=self.predicate)


def is_duration(node: exp.Expression) -> bool:
    """Whether a side of a comparison is an INTERVAL."""
    return isinstance(bare(node), exp.Interval) or _is_age(node)


def _is_age(node: exp.Expression) -> bool:
    node = bare(node)
    return isinstance(node, exp.Anonymous) and str(node.this).upper() == "AGE" and len(node.expressions) == 2
