"""Generated arithmetic: the one place that makes it, each node wide enough for whatever its operands can be.

An engine that fails on an overflow fails on the rows that reach it, and so tells that they are there. Here a number
knows its ends and the narrowest type that any engine may give it, and is widened before an operation whose operands
or result could leave that type. Constants have 32 bits, and so has what is computed from them alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import IntEnum
from fractions import Fraction
from functools import lru_cache

from sqlglot import exp

from tacit.core import decimal_text
from tacit.errors import QueryRefused


class Width(IntEnum):
    """The types of whole numbers that are written. INT128 is NUMERIC or DECIMAL(38, 0) where there is none."""

    INT = 0
    BIGINT = 1
    INT128 = 2


_ROOM = {Width.INT: 1 << 30, Width.BIGINT: 1 << 62, Width.INT128: 1 << 126}  # what each holds, with room to spare
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


def _cast(value: exp.Expression, kind: str) -> exp.Expression:
    """The value, itself and not a copy, in a type that is read once; as it is where it is cast to that already."""
    return exp.cast(value if value.parent is None else value.copy(), _type(kind).copy(), copy=False)


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
    return replace(number, sql=_cast(operand(number.sql), width.name), width=width)


def total(sql: exp.Expression, *, times: int = 1) -> Whole:
    """A sum that 128 bits hold `times` over: the plan refuses any other (see `bounding.reach`)."""
    most = (_ROOM[Width.INT128] - 1) // times
    return Whole(sql, -most, most, Width.INT128)


def narrowed(number: Whole, width: Width) -> exp.Expression:
    """The number in just this type, which holds it; whatever type an engine computed it in."""
    if width_of(number.low, number.high) > width:
        raise ArithmeticError(f"a number that may be {number.low} or {number.high} is no {width.name}")
    return _cast(number.sql, width.name)


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


def remainder(left: Whole, divisor: int) -> Whole:
    """What is left of a number that is not negative when the divisor is taken out of it as often as it goes."""
    if left.low < 0 or divisor < 1:
        raise ArithmeticError("only what is not negative is divided, by what is at least one")
    return _binary(exp.Mod, left, constant(divisor), ends=(0, min(left.high, divisor - 1)))


def negate(number: Whole) -> Whole:
    """−number."""
    wide = widened(number, width_of(number.low, number.high))
    return replace(wide, sql=exp.Neg(this=operand(wide.sql)), low=-number.high, high=-number.low)


def absolute(number: Whole) -> Whole:
    """|number|, written once: a CASE would triple its text at every level."""
    wide = widened(number, width_of(number.low, number.high))
    sizes = abs(number.low), abs(number.high)
    least = 0 if number.low <= 0 <= number.high else min(sizes)
    return replace(wide, sql=exp.Abs(this=wide.sql.copy()), low=least, high=max(sizes))


def saturated(total: exp.Expression) -> exp.Expression:
    """A sum of whole numbers, of whatever width, held at the ends of 64 bits; zero where there is nothing."""
    present = exp.Coalesce(this=total, expressions=[integer(0)])
    below = exp.Anonymous(this="LEAST", expressions=[present, integer((1 << 63) - 1)])
    return _cast(exp.Anonymous(this="GREATEST", expressions=[below, integer(-(1 << 63))]), "BIGINT")


def as_wide(total: exp.Expression) -> exp.Expression:
    """A sum of whole numbers as it is, of 128 bits: the plan has made sure that they hold it; zero for nothing."""
    return _cast(exp.Coalesce(this=total, expressions=[integer(0)]), Width.INT128.name)


def exact_quotient(above: exp.Expression, below: exp.Expression, *, least: str = "") -> exp.Expression:
    """Above / below, in a type that holds above: the remainder is taken out first. `least`: a modulus of its own."""
    if least:
        rest: exp.Expression = exp.Anonymous(this=least, expressions=[above.copy(), below.copy()])
    else:
        rest = exp.Mod(this=above.copy(), expression=below.copy())
    whole = exp.paren(exp.Sub(this=above, expression=rest))
    return exp.Div(this=whole, expression=below, typed=True)


def less(value: exp.Expression, remainder: exp.Expression) -> exp.Expression:
    """A count of microseconds within the calendar less its remainder: at most an hour further out."""
    return exp.Sub(this=value, expression=remainder)


def cast_to(value: exp.Expression, kind: exp.DataType) -> exp.Expression:
    """A value in a type that an engine's dialect names: one that holds whatever the value can be."""
    return exp.Cast(this=value, to=kind)


def typed(text: str, kind: str) -> exp.Expression:
    """A constant of this type, which holds it: converted once, by no row."""
    return _cast(exp.Literal.string(text), kind)


def operand(sql: exp.Expression) -> exp.Expression:
    """A copy that may stand on either side of an operator."""
    return exp.paren(sql.copy()) if isinstance(sql, (exp.Binary, exp.Neg)) else sql.copy()


# ── doubles: what is too large for one is ±∞ in DuckDB and Spark, and an error in PostgreSQL ─────────────────────────


def decimal(value: Fraction) -> exp.Expression:
    """A number as decimals are written, or the double nearest to it where it has no end or no room."""
    text = decimal_text(abs(value))
    if "/" in text or "e" in text:
        text = repr(float(abs(value)))
    size = exp.Literal.number(text)
    return exp.Neg(this=size) if value < 0 else size


def beside_double(value: Fraction) -> exp.Expression:
    """A number to compare with doubles. Beyond 64 bits it is one: Sail would convert the double, and fail on NaN."""
    if value.denominator == 1 and not -(1 << 63) < value < 1 << 63:
        return rounded(value, "DOUBLE")
    return decimal(value)


def double(sql: exp.Expression) -> exp.Expression:
    """A number as a double. No type of number has cells that do not fit."""
    return _cast(sql, "DOUBLE")


def rounded(value: Fraction, kind: str) -> exp.Expression:
    """A constant rounded to a FLOAT or DOUBLE; the caller knows that it is within its range."""
    size = exp.Literal.number(repr(abs(float(value))))
    return _cast(exp.Neg(this=size) if value < 0 else size, kind)


def counted_out(steps: exp.Expression, step: Fraction) -> exp.Expression:
    """The value of so many steps: the double nearest to it, as a decimal constant would be."""
    if step == 1:
        return steps
    value = double(steps)
    if step.numerator != 1:
        value = exp.Mul(this=value, expression=_plain(step.numerator))
    if step.denominator != 1:
        value = exp.Div(this=value, expression=double(_plain(step.denominator)))
    return exp.paren(value)


def nearest_step(value: exp.Expression, step: Fraction, *, ends: tuple[int, int]) -> exp.Expression:
    """How many steps a double is nearest to, for a value between these numbers of steps."""
    if width_of(*ends) > Width.BIGINT:
        raise ArithmeticError("so many steps are no BIGINT")
    per_unit = 1 / step
    scaled: exp.Expression = exp.paren(value)
    if per_unit.denominator == 1 and per_unit != 1:
        scaled = exp.Mul(this=scaled, expression=decimal(per_unit))
    elif per_unit != 1:
        scaled = exp.Div(this=scaled, expression=decimal(step))
    half = exp.Add(this=scaled, expression=decimal(Fraction(1, 2)))
    return _cast(exp.Floor(this=half), "BIGINT")


def share_of(weight: int, part: int, *, of: exp.Expression, root: bool) -> exp.Expression:
    """⌊weight · part / of⌋ as an INT, or of the root of part / of, for a count `of` that is greater than part."""
    if width_of(weight) > Width.INT:
        raise ArithmeticError("a weight is an INT")
    share: exp.Expression = exp.Div(this=double(integer(part)), expression=double(of))
    if root:
        share = exp.Sqrt(this=share)
    return _cast(exp.Floor(this=exp.Mul(this=integer(weight), expression=exp.paren(share))), "INT")


def days_since(moment: exp.Expression, day: str) -> exp.Expression:
    """How many days after `day` a date is. No two dates are 2^33 days apart."""
    return exp.Sub(this=exp.paren(moment), expression=_cast(exp.Literal.string(day), "DATE"))


def _plain(value: int) -> exp.Expression:
    """A whole number beside a double: of any size, for an engine makes a double of it."""
    return exp.Literal.number(value)
