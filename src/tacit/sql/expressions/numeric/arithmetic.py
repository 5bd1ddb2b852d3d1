"""Generated arithmetic: the one place that makes it, each node wide enough for whatever its operands can be.

An engine that fails on an overflow fails on the rows that reach it, and so tells that they are there. Here a number
knows its ends and the narrowest type that any engine may give it, and is widened before an operation whose operands
or result could leave that type. Constants have 32 bits, and so has what is computed from them alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import lru_cache

from sqlglot import exp

from tacit.errors import QueryRefused
from tacit.sql.expressions.names.nodes import loose, paren
from tacit.sql.expressions.names.printing import copied


class Width(IntEnum):
    """The types of whole numbers that are written. INT128 is NUMERIC or DECIMAL(38, 0) where there is none."""

    INT = 0
    BIGINT = 1
    INT128 = 2


_ROOM = {Width.INT: 1 << 30, Width.BIGINT: 1 << 62, Width.INT128: 1 << 126}  # what each holds, with room to spare
CALENDAR = -719_162, 2_932_896  # the first day of the year 1 and the last of the year 9999, counted from 1970
MOST_ROWS = 1 << 40  # of a table: a trillion, and a little more
_HELD = {Width.INT: 1 << 31, Width.BIGINT: 1 << 63, Width.INT128: 1 << 126}  # below this, a constant has that type


@dataclass(frozen=True, slots=True)
class Whole:
    """SQL whose value is a whole number from `low` to `high`, or NULL; `width` is the least that its type holds."""

    sql: exp.Expression
    low: int
    high: int
    width: Width = Width.INT


def width_of(*ends: int) -> Width:
    """The narrowest type that holds all of these; refused where none does."""
    reach = max(map(abs, ends))
    for width, room in _ROOM.items():
        if reach <= room:
            return width
    raise QueryRefused(
        "a number could overflow: the bounds and constants in it multiply to more than 2^126 steps",
        hint="tighten the bounds, coarsen the step, or use rounder constants",
    )


@lru_cache(maxsize=256)
def _type(kind: str) -> exp.DataType:
    return exp.DataType.build(kind, dialect="duckdb")  # which knows UBIGINT and UHUGEINT


def cast_in(value: exp.Expression, kind: str) -> exp.Expression:
    """The value, itself and not a copy, in a type that is read once; as it is where it is cast to that already."""
    return exp.cast(value if value.parent is None else copied(value), copied(_type(kind)), copy=False)


def integer(value: int) -> exp.Expression:
    """A whole number in SQL, in the type that engines give it by its size."""
    width_of(value)
    size = exp.Literal.number(abs(value))
    return size if value >= 0 else exp.Neg(this=size)


def constant(value: int) -> Whole:
    """A whole number that everyone knows."""
    width = next(width for width, held in _HELD.items() if -held <= value < held or width is Width.INT128)
    return Whole(integer(value), value, value, width)


def widened(number: Whole, width: Width) -> Whole:
    """The number in a type at least as wide."""
    width_of(number.low, number.high)
    if number.width >= width:
        return number
    return replace(number, sql=cast_in(operand(number.sql), width.name), width=width)


def total(sql: exp.Expression, *, times: int = 1) -> Whole:
    """A sum that 128 bits hold `times` over: the plan refuses any other (see `bounding.sensitivity_of`)."""
    most = (_ROOM[Width.INT128] - 1) // times
    return Whole(sql, -most, most, Width.INT128)


def narrowed(number: Whole, width: Width) -> exp.Expression:
    """The number in just this type, which holds it; whatever type an engine computed it in."""
    if width_of(number.low, number.high) > width:
        raise ArithmeticError(f"a number that may be {number.low} or {number.high} is no {width.name}")
    return cast_in(number.sql, width.name)


def _binary(kind: type[exp.Expression], left: Whole, right: Whole, *, ends: Iterable[int]) -> Whole:
    ends = list(ends)
    needed = width_of(*ends, left.low, left.high, right.low, right.high)
    if max(left.width, right.width) < needed:
        left = widened(left, needed)
    sql = kind(this=operand(left.sql), expression=operand(right.sql))
    return Whole(sql, min(ends), max(ends), max(left.width, right.width))


def add(left: Whole, right: Whole) -> Whole:
    """Left + right."""
    return _binary(exp.Add, left, right, ends=(left.low + right.low, left.high + right.high))


def subtract(left: Whole, right: Whole) -> Whole:
    """Left − right."""
    return _binary(exp.Sub, left, right, ends=(left.low - right.high, left.high - right.low))


def shift(number: Whole, by: int) -> Whole:
    """The number and a constant."""
    if by == 0:
        return number
    return add(number, constant(by)) if by > 0 else subtract(number, constant(-by))


def multiply(left: Whole, right: Whole) -> Whole:
    """Left · right."""
    corners = [a * b for a in (left.low, left.high) for b in (right.low, right.high)]
    return _binary(exp.Mul, left, right, ends=corners)


def divide(left: Whole, right: Whole) -> Whole:
    """Left / right without its remainder. Neither side is ever negative: engines differ on which way they round."""
    if left.low < 0 or right.low < 1:
        raise ArithmeticError("only what is not negative is divided, by what is at least one")
    return _binary(exp.IntDiv, left, right, ends=(left.low // right.high, left.high // right.low))


def scale(total: Whole, by: int, *, over: Whole) -> Whole:
    """Total · by / over, cut off towards zero by the engine; `over` is at least one."""
    if over.low < 1:
        raise ArithmeticError("only what is at least one divides")
    product = multiply(total, constant(by))
    sql = exp.IntDiv(this=operand(product.sql), expression=operand(over.sql))
    return Whole(sql, product.low, product.high, product.width)


def cut(left: Whole, right: Whole, *, least: int) -> Whole:
    """Left / right, cut off towards zero as every engine does; right is NULL, or at least `least` away from zero."""
    divisors = {end for end in (right.low, right.high) if abs(end) >= least}
    divisors |= {end for end in (least, -least) if right.low <= end <= right.high}
    if least < 1:
        raise ArithmeticError("only what is never zero divides")
    ends = [_towards_zero(above, below) for above in (left.low, left.high) for below in divisors or {least}]
    if left.low < 0 < left.high:
        ends.append(0)
    whole = _binary(exp.IntDiv, left, right, ends=ends)
    if whole.width is Width.INT128 and width_of(*ends) < Width.INT128:
        return replace(whole, sql=cast_in(whole.sql, Width.BIGINT.name), width=Width.BIGINT)
    return whole


def _towards_zero(above: int, below: int) -> int:
    size = abs(above) // abs(below)
    return size if (above < 0) == (below < 0) else -size


def or_null(number: Whole) -> Whole:
    """The number, or NULL where it is zero."""
    return replace(number, sql=exp.Nullif(this=loose(number.sql), expression=integer(0)))


def held(number: Whole, low: int, high: int) -> Whole:
    """The number, or the nearer of two ends; of NULL it makes one of them, so that its caller looks for that."""
    below = exp.Anonymous(this="LEAST", expressions=[loose(number.sql), integer(high)])
    sql = exp.Anonymous(this="GREATEST", expressions=[below, integer(low)])
    return Whole(sql, low, high, max(number.width, width_of(low, high)))


def remainder(left: Whole, divisor: int) -> Whole:
    """What is left of a number, with its sign, when the divisor is taken out of it as often as it goes."""
    if divisor < 1:
        raise ArithmeticError("only what is at least one divides")
    ends = (max(left.low, 1 - divisor) if left.low < 0 else 0, max(0, min(left.high, divisor - 1)))
    return _binary(exp.Mod, left, constant(divisor), ends=ends)


def down_to(number: Whole, width: Whole) -> Whole:
    """The multiple of a width, which is at least one, that lies nearest to a number on the way to zero."""
    if width.low < 1:
        raise ArithmeticError("only what is at least one divides")
    needed = width_of(number.low, number.high, width.high)
    wide = widened(number, max(needed, Width.BIGINT))
    rest = paren(exp.Mod(this=operand(wide.sql), expression=operand(width.sql)))
    sql = exp.Sub(this=operand(wide.sql), expression=rest)
    return Whole(sql, min(number.low, 0), max(number.high, 0), max(wide.width, width.width))


def negate(number: Whole) -> Whole:
    """−number."""
    wide = widened(number, width_of(number.low, number.high))
    return replace(wide, sql=exp.Neg(this=operand(wide.sql)), low=-number.high, high=-number.low)


def absolute(number: Whole) -> Whole:
    """|number|, written once: a CASE would triple its text at every level."""
    wide = widened(number, width_of(number.low, number.high))
    sizes = abs(number.low), abs(number.high)
    least = 0 if number.low <= 0 <= number.high else min(sizes)
    return replace(wide, sql=exp.Abs(this=loose(wide.sql)), low=least, high=max(sizes))


def saturated(total: exp.Expression) -> exp.Expression:
    """A sum of whole numbers, of whatever width, held at the ends of 64 bits; zero where there is nothing."""
    present = exp.Coalesce(this=total, expressions=[integer(0)])
    below = exp.Anonymous(this="LEAST", expressions=[present, integer((1 << 63) - 1)])
    return cast_in(exp.Anonymous(this="GREATEST", expressions=[below, integer(-(1 << 63))]), "BIGINT")


def as_wide(total: exp.Expression) -> exp.Expression:
    """A sum of whole numbers as it is, of 128 bits: the plan has made sure that they hold it; zero for nothing."""
    return cast_in(exp.Coalesce(this=total, expressions=[integer(0)]), Width.INT128.name)


def exact_quotient(above: exp.Expression, below: exp.Expression, *, least: str = "") -> exp.Expression:
    """Above / below, in a type that holds above: the remainder is taken out first. `least`: a modulus of its own."""
    if least:
        rest: exp.Expression = exp.Anonymous(this=least, expressions=[copied(above), copied(below)])
    else:
        rest = exp.Mod(this=copied(above), expression=copied(below))
    whole = paren(exp.Sub(this=above, expression=rest))
    return exp.Div(this=whole, expression=below, typed=True)


def less(value: exp.Expression, remainder: exp.Expression) -> exp.Expression:
    """A count of microseconds within the calendar less its remainder: at most an hour further out."""
    return exp.Sub(this=value, expression=remainder)


def cast_to(value: exp.Expression, kind: exp.DataType) -> exp.Expression:
    """A value in a type that an engine's dialect names: one that holds whatever the value can be."""
    return exp.Cast(this=value, to=kind)


def typed(text: str, kind: str) -> exp.Expression:
    """A constant of this type, which holds it: converted once, by no row."""
    return cast_in(exp.Literal.string(text), kind)


def truth(condition: exp.Expression) -> exp.Expression:
    """A condition as 1 or 0, written once: with each half of a CASE of its own it would double at every level."""
    ifs = [exp.If(this=exp.Boolean(this=held), true=integer(int(held))) for held in (True, False)]
    return exp.Case(this=paren(condition), ifs=ifs)


def operand(sql: exp.Expression) -> exp.Expression:
    """What may stand on either side of an operator: the tree itself, or a copy of one that stands somewhere."""
    return paren(sql) if isinstance(sql, (exp.Binary, exp.Neg)) else loose(sql)


# ── dates ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def days_since(moment: exp.Expression, day: str) -> exp.Expression:
    """How many days after `day` a date is. No two dates are 2^33 days apart."""
    return exp.Sub(this=paren(moment), expression=cast_in(exp.Literal.string(day), "DATE"))


def day_number(day: exp.Expression) -> exp.Expression:
    """How many days after 1970-01-01 a date is, in the one type that steps have."""
    return cast_in(days_since(day, "1970-01-01"), "BIGINT")


def second_number(moment: exp.Expression) -> exp.Expression:
    """How many whole seconds after 1970-01-01 00:00:00 a timestamp of the calendar is."""
    return cast_in(exp.Floor(this=exp.Extract(this=exp.var("EPOCH"), expression=moment)), "BIGINT")


def part_number(part: str, moment: exp.Expression) -> exp.Expression:
    """A part of a moment of the calendar: every engine has it in a type that holds six digits."""
    return cast_in(exp.Extract(this=exp.var(part), expression=moment), "BIGINT")


def day_of(days: Whole) -> exp.Expression:
    """The date so many days after 1970-01-01, all of them of the years 1 to 9999."""
    if not CALENDAR[0] <= days.low <= days.high <= CALENDAR[1]:
        raise ArithmeticError("a date is beyond the years 1 to 9999")
    return exp.Add(this=cast_in(exp.Literal.string("1970-01-01"), "DATE"), expression=narrowed(days, Width.INT))


def moment_of(seconds: Whole) -> exp.Expression:
    """The timestamp so many seconds after 1970-01-01, all of them of the years 1 to 9999."""
    if not CALENDAR[0] * 86_400 <= seconds.low <= seconds.high < (CALENDAR[1] + 1) * 86_400:
        raise ArithmeticError("a timestamp is beyond the years 1 to 9999")
    later = exp.Anonymous(this="TO_SECONDS", expressions=[narrowed(seconds, Width.BIGINT)])
    return exp.Add(this=cast_in(exp.Literal.string("1970-01-01 00:00:00"), "TIMESTAMP"), expression=later)


def months_after(day: exp.Expression, months: int) -> exp.Expression:
    """The date so many months later, held at the last day of a shorter month; the caller keeps to the calendar."""
    if width_of(months) > Width.INT:
        raise ArithmeticError("so many months are no INT")
    span = exp.Interval(this=exp.Literal.string(str(months)), unit=exp.var("MONTH"))
    return cast_in(paren(exp.Add(this=operand(day), expression=span)), "DATE")


def own_months_after(day: exp.Expression, months: Whole) -> exp.Expression:
    """The same by a number of the row's own; the caller keeps to the calendar."""
    span = exp.Anonymous(this="TO_MONTHS", expressions=[narrowed(months, Width.INT)])
    return cast_in(paren(exp.Add(this=operand(day), expression=span)), "DATE")
