"""Generated arithmetic on doubles and decimals: the other home of it, beside that of whole numbers.

What is too large for a double is ±∞ in DuckDB and Spark, and an error in PostgreSQL; so each caller knows the ends of
what it gives, or holds what it gets.
"""

from __future__ import annotations

from fractions import Fraction

from sqlglot import exp

from tacit.core import decimal_text
from tacit.sql.expressions.names.nodes import paren
from tacit.sql.expressions.names.printing import copied
from tacit.sql.expressions.numeric.arithmetic import Width, cast_in, integer, width_of


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
    return cast_in(sql, "DOUBLE")


def rounded(value: Fraction, kind: str) -> exp.Expression:
    """A constant rounded to a FLOAT or DOUBLE; the caller knows that it is within its range."""
    size = exp.Literal.number(repr(abs(float(value))))
    return cast_in(exp.Neg(this=size) if value < 0 else size, kind)


def counted_out(steps: exp.Expression, step: Fraction) -> exp.Expression:
    """The value of so many steps: the double nearest to it, as a decimal constant would be."""
    if step == 1:
        return steps
    value = double(steps)
    if step.numerator != 1:
        value = exp.Mul(this=value, expression=_plain(step.numerator))
    if step.denominator != 1:
        value = exp.Div(this=value, expression=double(_plain(step.denominator)))
    return paren(value)


def nearest_step(value: exp.Expression, step: Fraction, *, ends: tuple[int, int]) -> exp.Expression:
    """How many steps a double is nearest to, for a value between these numbers of steps."""
    if width_of(*ends) > Width.BIGINT:
        raise ArithmeticError("so many steps are no BIGINT")
    per_unit = 1 / step
    scaled: exp.Expression = paren(value)
    if per_unit.denominator == 1 and per_unit != 1:
        scaled = exp.Mul(this=scaled, expression=beside_double(per_unit))
    elif per_unit != 1:
        scaled = exp.Div(this=scaled, expression=beside_double(step))
    half = exp.Add(this=scaled, expression=decimal(Fraction(1, 2)))
    return cast_in(exp.Floor(this=half), "BIGINT")


def steps_between(value: exp.Expression, lower: Fraction, upper: Fraction, *, steps: int) -> exp.Expression:
    """From −steps at the lower bound to steps at the upper one: the nearest whole number; of a double that is no NaN.

    Between the bounds nothing overflows. Next to the lower one nothing is multiplied: PostgreSQL fails on a product too
    small for a double, which only some rows would have. Where doubles are coarser than steps the number may lie
    a little beyond: its caller holds it.
    """
    if width_of(8 * steps) > Width.INT or not lower < upper:
        raise ArithmeticError("so many steps are no INT, or there is nothing between the bounds")
    half = (upper - lower) / (4 * steps)
    above = paren(exp.Sub(this=copied(value), expression=rounded(lower, "DOUBLE")))
    share = exp.Mul(this=above, expression=rounded(Fraction(2 * steps) / (upper - lower), "DOUBLE"))
    whole = cast_in(exp.Floor(this=exp.Add(this=share, expression=decimal(Fraction(1, 2)))), "BIGINT")
    inside = exp.Sub(this=whole, expression=integer(steps))
    ifs = [
        exp.If(this=exp.LT(this=copied(value), expression=rounded(lower + half, "DOUBLE")), true=integer(-steps)),
        exp.If(this=exp.GTE(this=copied(value), expression=rounded(upper - half, "DOUBLE")), true=integer(steps)),
    ]
    return exp.Case(ifs=ifs, default=inside)


def decimal_steps(value: exp.Expression, step: Fraction, *, ends: tuple[int, int], finer: bool) -> exp.Expression:
    """How many steps a DECIMAL is nearest to, between these; `finer`: it may lie between two, and a step is one."""
    if width_of(*ends) > Width.BIGINT or step.numerator != 1 or (finer and step != 1):
        raise ArithmeticError("so many steps are no BIGINT")
    if finer:
        return cast_in(exp.Floor(this=exp.Add(this=paren(value), expression=decimal(Fraction(1, 2)))), "BIGINT")
    scaled = value if step == 1 else exp.Mul(this=paren(value), expression=integer(step.denominator))
    return cast_in(scaled, "BIGINT")


def share_of(weight: int, part: int, *, of: exp.Expression, root: bool) -> exp.Expression:
    """⌊weight · part / of⌋ as an INT, or of the root of part / of, for a count `of` that is no less than part."""
    if width_of(weight) > Width.INT:
        raise ArithmeticError("a weight is an INT")
    share: exp.Expression = exp.Div(this=double(integer(part)), expression=double(of))
    if root:
        share = exp.Sqrt(this=share)
    return cast_in(exp.Floor(this=exp.Mul(this=integer(weight), expression=paren(share))), "INT")


def over_both(above: exp.Expression, one: exp.Expression, other: exp.Expression) -> exp.Expression:
    """A whole number divided by two counts that are at least one, as doubles."""
    product = exp.Mul(this=double(one), expression=double(other))
    return exp.Div(this=double(paren(above)), expression=paren(product))


def _plain(value: int) -> exp.Expression:
    """A whole number beside a double: of any size, for an engine makes a double of it."""
    return exp.Literal.number(value)


# ── functions of doubles: their callers know that they are defined for what they are given ──────────────────────────


def logarithm(value: exp.Expression, scale: float) -> exp.Expression:
    """So many times the natural logarithm of what is above zero."""
    natural: exp.Expression = exp.Ln(this=value)
    return natural if scale == 1 else exp.Mul(this=natural, expression=rounded(Fraction(scale), "DOUBLE"))


def exponential(value: exp.Expression) -> exp.Expression:
    """E to the power of what is neither too large nor too small."""
    return exp.Exp(this=value)


def root(value: exp.Expression) -> exp.Expression:
    """The square root of what is not negative."""
    return exp.Sqrt(this=value)


def cube_root(value: exp.Expression) -> exp.Expression:
    """The cube root of any number."""
    return exp.Cbrt(this=value)


def power(base: exp.Expression | float, exponent: exp.Expression | float) -> exp.Expression:
    """A power whose base is above zero, or zero where its exponent is above that."""
    parts = [rounded(Fraction(part), "DOUBLE") if isinstance(part, float) else part for part in (base, exponent)]
    return exp.Anonymous(this="POWER", expressions=parts)
