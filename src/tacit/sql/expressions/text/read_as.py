"""Texts read as numbers and dates: TRY_CAST, by one grammar on every engine, NULL where a text is neither.

A number is digits with at most one point among them, a sign before them, spaces around; an exponent, a comma, `inf` and
`nan` make it none. A date is 2026-01-31, a timestamp that and 23:59:59 after a space or a T. No engine is asked to
convert a text that it could fail on: what is no number is '0' before it is cast.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from sqlglot import exp

from tacit.errors import QueryRefused, UnboundedColumn
from tacit.policy import ColumnType
from tacit.sql.expressions import logic
from tacit.sql.expressions.dates import instants
from tacit.sql.expressions.dates.instant_reading import OF_TEXT
from tacit.sql.expressions.dates.instants import DAY, Instant
from tacit.sql.expressions.names.printing import text_of
from tacit.sql.expressions.names.scope import Scope
from tacit.sql.expressions.numeric import arithmetic
from tacit.sql.expressions.numeric import grid as g
from tacit.sql.expressions.numeric.arithmetic import CALENDAR, Whole, Width
from tacit.sql.expressions.operands import of_kind

_DIGITS = "0123456789"
_MOST_DIGITS = 17  # of a number that 64 bits hold with room to spare
_PLACES = 6  # of a DOUBLE
_LARGEST = {
    exp.DType.TINYINT: (1 << 7) - 1,
    exp.DType.SMALLINT: (1 << 15) - 1,
    exp.DType.INT: (1 << 31) - 1,
}
_WHOLE = {exp.DType.BIGINT: 0, **dict.fromkeys(_LARGEST, 0)}
_REAL = {exp.DType.DOUBLE, exp.DType.FLOAT}
_LONGEST = (1 << 31) - 1  # characters that any engine holds in a cell
_TIMES = ((12, "23"), (15, "59"), (18, "59"))  # where hours, minutes and seconds stand, and the last there is
_LARGEST_MEANT = (1 << 31) - 1  # what no analyst means to be a bound
_FOURS = [f"{number:02}" for number in range(0, 100, 4)]


def _text(value: str) -> exp.Expression:
    return exp.Literal.string(value)


def _call(name: str, *arguments: exp.Expression) -> exp.Expression:
    return exp.Anonymous(this=name, expressions=[argument.copy() for argument in arguments])


def _index(place: int) -> exp.Expression:
    return arithmetic.narrowed(arithmetic.constant(place), Width.INT)  # which PostgreSQL's own takes, and no wider


def _part(text: exp.Expression, start: int, length: int) -> exp.Expression:
    return exp.Substring(this=text.copy(), start=exp.Literal.number(start), length=exp.Literal.number(length))


def _among(text: exp.Expression, *values: str) -> exp.Expression:
    return exp.In(this=text.copy(), expressions=[_text(value) for value in values])


def _length(text: exp.Expression) -> exp.Expression:
    return exp.Length(this=text.copy())


def _all(*conditions: exp.Expression) -> exp.Expression:
    return logic.joined(exp.And, [exp.paren(condition) for condition in conditions])


def _where(condition: exp.Expression, value: exp.Expression, otherwise: exp.Expression) -> exp.Expression:
    return exp.Case(ifs=[exp.If(this=condition.copy(), true=value)], default=otherwise)


# ── numbers ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class _Number:
    """What a text is read as: so many digits before the point, and after it."""

    before: int
    places: int
    largest: int | None = None


def _number_type(kind: exp.DataType) -> _Number | None:
    """The digits of a type; None where it is no number."""
    given = [int(part.name) for part in kind.expressions if str(part.name).isdigit()]
    if kind.this in _REAL or (kind.this is exp.DType.DECIMAL and not given):
        return _Number(_MOST_DIGITS - _PLACES, _PLACES)
    if kind.this is exp.DType.DECIMAL:
        places = given[1] if len(given) > 1 else 0
        if not 0 <= places <= min(given[0], _MOST_DIGITS) or given[0] < 1:
            raise QueryRefused("DECIMAL has more places than digits", hint="write DECIMAL(8, 2)")
        return _Number(min(given[0], _MOST_DIGITS) - places, places)
    if kind.this not in _WHOLE:
        return None
    largest = _LARGEST.get(kind.this)
    return _Number(_MOST_DIGITS if largest is None else len(str(largest)), 0, largest)


def number_in(text: exp.Expression, kind: exp.DataType) -> g.Grid | None:
    """The number that a text writes, rounded to the places of its type; None where the type is no number's."""
    read = _number_type(kind)
    if read is None:
        return None
    trimmed = exp.Trim(this=text.copy())
    body = exp.Trim(this=trimmed.copy(), expression=_text("+-"), position="LEADING")
    whole, after = (_call("SPLIT_PART", body, _text("."), _index(index)) for index in (1, 2))
    front = exp.Trim(this=whole, expression=_text("0"), position="LEADING")
    signs = arithmetic.subtract(*(Whole(_length(each), 0, _LONGEST, Width.BIGINT) for each in (trimmed, body)))
    is_number = _all(
        _among(_call("TRANSLATE", body, _text(_DIGITS), _text("")), "", "."),
        exp.Not(this=_among(body, "", ".")),
        exp.LTE(this=signs.sql, expression=arithmetic.integer(1)),
        _is_short(front, read),
    )
    digits = [_text("0"), front]
    if read.places:
        places = exp.Literal.number(read.places)
        digits.append(_call("RPAD", _part(after, 1, read.places), places, _text("0")))
    written = _where(is_number, _joined(digits), _text("0"))
    most = 10 ** (read.before + read.places) if read.largest is None else read.largest + 1
    value = Whole(arithmetic.cast_in(written, "BIGINT"), 0, most - 1, Width.BIGINT)
    half = exp.GTE(this=_part(after, read.places + 1, 1), expression=_text("5"))
    size = arithmetic.add(value, Whole(_where(half, arithmetic.integer(1), arithmetic.integer(0)), 0, 1))
    minus = exp.EQ(this=_part(trimmed, 1, 1), expression=_text("-"))
    sign = Whole(_where(minus, arithmetic.integer(-1), arithmetic.integer(1)), -1, 1)
    signed = arithmetic.multiply(sign, size)
    units = exp.Case(ifs=[exp.If(this=is_number, true=signed.sql)])
    return g.Grid(units, Fraction(1, 10**read.places), -most, most, nullable=True, public=False, width=signed.width)


def _is_short(front: exp.Expression, read: _Number) -> exp.Expression:
    """Whether the digits before the point are no more, and no larger, than the type holds."""
    count = arithmetic.integer(read.before)
    if read.largest is None:
        return exp.LTE(this=_length(front), expression=count)
    full = exp.And(
        this=exp.EQ(this=_length(front), expression=count.copy()),
        expression=exp.LTE(this=front.copy(), expression=_text(str(read.largest))),
    )
    return exp.Or(this=exp.LT(this=_length(front), expression=count), expression=exp.paren(full))


def _joined(parts: list[exp.Expression]) -> exp.Expression:
    whole = parts[0]
    for part in parts[1:]:
        whole = exp.DPipe(this=whole, expression=part.copy(), safe=True)
    return whole


def tried(node: exp.Expression, kind: str) -> str:
    """A cast as it may be written instead."""
    return f"TRY_CAST({text_of(node.this, comments=False)[:40]} AS {kind})"


def small_type(node: exp.Expression) -> str:
    """A type that texts are read as, with bounds, in place of one without."""
    whole = ColumnType.from_sql(node.args["to"].sql(dialect="duckdb")) is ColumnType.INTEGER
    return "DECIMAL(8, 0)" if whole else "DECIMAL(8, 2)"


def refuse_unheld(node: exp.Expression, grid: g.Grid) -> None:
    """Refuse to add up what a text says, where nothing says how much that may be."""
    if grid.magnitude * grid.step < _LARGEST_MEANT or node.find(exp.TryCast) is None:
        return
    said = text_of(node.find(exp.TryCast) or node, comments=False)[:60]
    raise UnboundedColumn(
        f"{said} has no bounds: one row could move the answer without limit",
        hint=f"say how large it may be: LEAST(GREATEST({said}, 0), 1000), or a cast to DECIMAL(6, 2)",
    )


# ── dates ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _is_day(text: exp.Expression) -> exp.Expression:
    """Whether the first ten characters are a day of the years 1 to 9999; that the others are digits is known."""
    month, day = _part(text, 6, 2), _part(text, 9, 2)
    by_four = _among(_part(text, 3, 2), *_FOURS)
    century = exp.Or(
        this=exp.NEQ(this=_part(text, 3, 2), expression=_text("00")), expression=_among(_part(text, 1, 2), *_FOURS)
    )
    last = exp.Case(
        ifs=[
            exp.If(this=_among(month, "04", "06", "09", "11"), true=_text("30")),
            exp.If(this=exp.NEQ(this=month.copy(), expression=_text("02")), true=_text("31")),
            exp.If(this=_all(by_four, century), true=_text("29")),
        ],
        default=_text("28"),
    )
    return _all(
        exp.EQ(this=_part(text, 5, 1), expression=_text("-")),
        exp.EQ(this=_part(text, 8, 1), expression=_text("-")),
        exp.GTE(this=_part(text, 1, 4), expression=_text("0001")),
        exp.Between(this=month, low=_text("01"), high=_text("12")),
        exp.GTE(this=day, expression=_text("01")),
        exp.LTE(this=day.copy(), expression=last),
    )


def _day_in(text: exp.Expression, is_one: exp.Expression) -> Instant:
    held = _where(is_one, _part(text, 1, 10), _text("1970-01-01"))
    day = arithmetic.cast_in(held, "DATE")
    sql = exp.Case(ifs=[exp.If(this=is_one.copy(), true=day)])
    return Instant(ColumnType.DATE, *CALENDAR, sql, None, nullable=True)


def _seconds_in(text: exp.Expression, is_one: exp.Expression) -> g.Grid:
    """The time of day, in seconds; that it is one is known where it is asked for."""
    total = g.constant(Fraction(0))
    for start, width, most in ((12, 3600, 23), (15, 60, 59), (18, 1, 59)):
        written = _where(is_one, _part(text, start, 2), _text("0"))
        number = g.Grid(arithmetic.cast_in(written, "BIGINT"), Fraction(1), 0, most, width=Width.BIGINT, public=False)
        total = g.add(total, g.multiply(number, g.constant(Fraction(width))))
    return total


def moment_in(node: exp.Expression, scope: Scope, *, with_time: bool) -> Instant:
    """The date or timestamp that a text writes."""
    text = exp.Trim(this=of_kind(node, {ColumnType.TEXT}, scope=scope, where="TRY_CAST").sql)
    signs = _call("TRANSLATE", text, _text(_DIGITS), _text(""))
    day_long = exp.EQ(this=_length(text), expression=arithmetic.integer(len("2026-01-31")))
    is_day = _all(exp.EQ(this=signs, expression=_text("--")), day_long, _is_day(text))
    if not with_time:
        return _day_in(text, is_day)
    is_time = _all(
        _among(signs, "-- ::", "--T::"),
        exp.EQ(this=_length(text), expression=arithmetic.integer(len("2026-01-31 23:59:59"))),
        _among(_part(text, 11, 1), " ", "T"),
        exp.EQ(this=_part(text, 14, 1), expression=_text(":")),
        exp.EQ(this=_part(text, 17, 1), expression=_text(":")),
        *(exp.LTE(this=_part(text, start, 2), expression=_text(most)) for start, most in _TIMES),
        _is_day(text),
    )
    day = _day_in(text, exp.paren(exp.Or(this=exp.paren(is_day), expression=exp.paren(is_time.copy()))))
    counted = g.add(instants.as_timestamp(day).grid, _seconds_in(text, is_time))
    ends = CALENDAR[0] * DAY, CALENDAR[1] * DAY + DAY - 1
    return Instant(ColumnType.TIMESTAMP, *ends, None, counted, nullable=True)


OF_TEXT.append(moment_in)
