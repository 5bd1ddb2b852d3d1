"""Logarithms, powers and roots of numbers on a grid, as numbers on a grid of their own.

Engines compute them as doubles, of arguments that they are defined for, and what comes out is rounded to the nearest of
steps that are nine digits below the largest value: seven digits coarser than what engines differ by. Then it is held
between its ends, so that no mistake in the last digit of any engine can move a sum farther than the plan says.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from sqlglot import exp

from tacit.core import decimal_text
from tacit.errors import QueryRefused
from tacit.sql.expressions.names.printing import copied
from tacit.sql.expressions.numeric import arithmetic, doubles
from tacit.sql.expressions.numeric import grid as g
from tacit.sql.expressions.numeric.arithmetic import Whole, Width

_DIGITS = 9  # of the largest value
_MOST_FACTORS = 16  # of a power that is multiplied out
_LEAST_POWER = -600  # e to the power of less is zero on any grid, and an error in PostgreSQL
_TINY, _HUGE = 1e-290, 1e290  # beyond, an engine may fail
_FARTHEST = 10**15  # what a double holds with room to spare

Curve = Callable[[float], float]
Build = Callable[[exp.Expression], exp.Expression]


def logarithm(grid: g.Grid, base: Fraction | None) -> g.Grid:
    """The logarithm of what is above zero, natural where no base is given; NULL elsewhere."""
    if base is not None and (base <= 0 or base == 1):
        raise QueryRefused("a logarithm needs a base above zero, other than one", hint="write LN(x) or LOG10(x)")
    scale = 1.0 if base is None else 1 / math.log(base)
    inner = _above_zero(grid, "a logarithm", orequal=False)
    return _computed(inner, lambda x: math.log(x) * scale, lambda x: doubles.logarithm(x, scale))


def root(grid: g.Grid) -> g.Grid:
    """The square root of what is not negative; NULL elsewhere."""
    return _computed(_above_zero(grid, "a square root", orequal=True), math.sqrt, doubles.root)


def cube_root(grid: g.Grid) -> g.Grid:
    """The cube root, of either sign."""
    return _computed(grid, lambda x: math.copysign(abs(x) ** (1 / 3), x), doubles.cube_root)


def exponential(grid: g.Grid) -> g.Grid:
    """E to the power of a number."""
    lowest = math.ceil(_LEAST_POWER / grid.step)
    return _computed(g.held(grid, lowest, max(grid.high, lowest)), math.exp, doubles.exponential)


def power(base: g.Grid, exponent: g.Grid) -> g.Grid:
    """Base to the power of exponent, one of which is a constant. A small whole power is multiplied out, exactly."""
    if exponent.is_constant:
        return _fixed_power(base, exponent.value)
    if not base.is_constant:
        raise QueryRefused("a power of a column to another is refused", hint="EXP(b * LN(a)) is the same for a > 0")
    if base.value <= 0:
        raise QueryRefused("a power needs a base above zero", hint="write POWER(2, x)")
    slope = math.log(base.value)
    farthest = math.floor(Fraction(-_LEAST_POWER / max(abs(slope), 1e-9)) / exponent.step)
    ends = [max(-farthest, end) if slope > 0 else min(farthest, end) for end in (exponent.low, exponent.high)]
    inner = g.held(exponent, ends[0], ends[1])  # beyond, the power is zero on any grid
    fixed = float(base.value)
    return _computed(inner, lambda x: fixed**x, lambda x: doubles.power(fixed, x))


def _fixed_power(base: g.Grid, exponent: Fraction) -> g.Grid:
    if exponent.denominator == 1 and abs(exponent) <= _MOST_FACTORS:
        return _multiplied_out(base, int(exponent))
    if exponent == Fraction(1, 2):
        return root(base)
    inner = _above_zero(base, "a power that is no whole number", orequal=exponent > 0)
    fixed = float(exponent)
    if any(0 <= _power(end * inner.step, fixed) < _TINY for end in (max(inner.low, 1), inner.high) if end > 0):
        raise _too_far()  # PostgreSQL fails on the row whose power would be nearer to zero than a double can be
    return _computed(inner, lambda x: x**fixed, lambda x: doubles.power(x, fixed))


def _power(base: Fraction, exponent: float) -> float:
    try:
        return float(float(base) ** exponent)
    except OverflowError:
        return math.inf


def _too_far() -> QueryRefused:
    return QueryRefused(
        "a power could be too large or too small for any engine", hint="tighten the bounds, or LEAST(x, 100)"
    )


def _multiplied_out(base: g.Grid, exponent: int) -> g.Grid:
    if exponent == 0:
        return g.add(g.multiply(base, g.constant(Fraction(0))), g.constant(Fraction(1)))
    whole = base
    for _ in range(abs(exponent) - 1):
        whole = g.multiply(g.twice(whole), base)
    if exponent % 2 == 0 and not base.is_constant:
        whole = replace(whole, low=max(whole.low, 0))
    return whole if exponent > 0 else g.divide(g.constant(Fraction(1)), whole)


def _above_zero(grid: g.Grid, what: str, *, orequal: bool) -> g.Grid:
    """The numbers that a function is defined for; all others are NULL, before it is called."""
    least = 0 if orequal else 1
    if grid.low >= least:
        return grid
    if grid.high < least:
        raise QueryRefused(f"{what} needs numbers above zero: its argument has none", hint="look at its sign")
    kind = exp.GTE if orequal else exp.GT
    holds = kind(this=arithmetic.operand(g.twice(grid).sql), expression=arithmetic.integer(0))
    sql = exp.Case(ifs=[exp.If(this=holds, true=copied(grid.sql))])
    note = f"{what} is taken of what is {'not negative' if orequal else 'above zero'}, and is NULL elsewhere"
    return replace(grid, sql=sql, low=least, nullable=True, notes=(*grid.notes, note))


def _computed(grid: g.Grid, curve: Curve, build: Build) -> g.Grid:
    """A curve that rises or falls all the way, over the numbers of a grid."""
    ends = _ends(grid, curve)
    step = g.digits_of(max(map(abs, ends)), _DIGITS)
    low, high = math.floor(min(ends) / step), math.ceil(max(ends) / step)
    if grid.is_constant:
        return g.constant(round(ends[0] / step) * step)
    argument = doubles.counted_out(copied(grid.sql), grid.step)
    steps = doubles.nearest_step(build(doubles.double(argument)), step, ends=(low, high))
    sql = arithmetic.held(Whole(steps, low, high, Width.BIGINT), low, high).sql
    if grid.nullable:
        there = exp.Not(this=exp.Is(this=arithmetic.operand(g.twice(grid).sql), expression=exp.null()))
        sql = exp.Case(ifs=[exp.If(this=there, true=sql)])
    note = f"logarithms, powers and roots are rounded to a multiple of {decimal_text(step)}"
    return replace(
        grid, sql=sql, step=step, low=low, high=high, width=Width.BIGINT, nonzero=False, notes=(*grid.notes, note)
    )


def _ends(grid: g.Grid, curve: Curve) -> tuple[Fraction, Fraction]:
    """What the curve is at both ends: as engines find it, or as near as a step is wide."""
    if grid.step.numerator > _FARTHEST or grid.step.denominator > _FARTHEST:
        raise QueryRefused("a logarithm, power or root is refused of such fine steps", hint="ROUND(x, 6) is coarser")
    try:
        values = [curve(float(end * grid.step)) for end in (grid.low, grid.high)]
    except (OverflowError, ZeroDivisionError):
        values = [math.inf]
    sizes = [abs(value) for value in values if value]
    if not all(_TINY < size < _HUGE for size in sizes):
        raise _too_far()
    return Fraction(values[0]), Fraction(values[-1])
