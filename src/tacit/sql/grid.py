"""Numbers on a public grid: whole multiples of a step, between known ends. All arithmetic is on whole numbers."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from sqlglot import exp

from tacit.core import Bounds
from tacit.errors import QueryRefused

INT32 = 1 << 30  # what an INTEGER holds with room to spare
_INT64 = 1 << 62  # the same for a BIGINT
_LIMIT = 1 << 96  # beyond this, 2^30 rows could overflow a 128-bit sum


@dataclass(frozen=True, slots=True)
class Grid:
    """A numeric expression whose value is `units · step`, with low ≤ units ≤ high.

    `sql` computes the units. A constant has `low == high`. `public` says that every column in it has a public range.
    """

    sql: exp.Expression
    step: Fraction
    low: int
    high: int
    nullable: bool = False
    public: bool = True

    @property
    def is_constant(self) -> bool:
        """Whether the value is the same for every row."""
        return self.low == self.high and not self.nullable

    @property
    def value(self) -> Fraction:
        """The constant's value."""
        return self.low * self.step

    @property
    def magnitude(self) -> int:
        """max(|low|, |high|)."""
        return max(abs(self.low), abs(self.high))


def constant(value: Fraction) -> Grid:
    """A number that everyone knows."""
    if value == 0:
        return Grid(integer(0), Fraction(1), 0, 0)
    sign = 1 if value > 0 else -1
    return Grid(integer(sign), abs(value), sign, sign)


def column(name: str, bounds: Bounds, *, nullable: bool, public: bool) -> Grid:
    """A bounded column. GRID is our own mark: the rules `clamp` and `snap` replace it before anything runs."""
    leaf = exp.Anonymous(this="GRID", expressions=[exp.column(exp.to_identifier(name, quoted=True))])
    return Grid(leaf, bounds.step, bounds.lower_units, bounds.upper_units, nullable=nullable, public=public)


def grid_columns(sql: exp.Expression) -> set[str]:
    """The columns that stand on their grid in an expression, their names folded."""
    marks = [mark for mark in sql.find_all(exp.Anonymous) if mark.this == "GRID"]
    return {mark.expressions[0].name.casefold() for mark in marks}


def integer(value: int) -> exp.Expression:
    """A whole number in SQL."""
    return exp.Literal.number(value) if value >= 0 else exp.Neg(this=exp.Literal.number(-value))


def rescale(grid: Grid, step: Fraction) -> Grid:
    """The same values counted in a finer step."""
    factor = grid.step / step
    if factor.denominator != 1:
        raise ArithmeticError("a grid can only be rescaled to a step that divides its own")
    if factor == 1:
        return grid
    return _made(
        exp.Mul(this=_operand(grid.sql), expression=integer(int(factor))),
        step,
        [n * int(factor) for n in (grid.low, grid.high)],
        grid,
    )


def _made(sql: exp.Expression, step: Fraction, ends: Iterable[int], *parts: Grid) -> Grid:
    """A grid value computed from `parts`; wide where it could leave 64 bits, refused where it could leave 128."""
    ends = list(ends)
    low, high = min(ends), max(ends)
    reach = max(abs(low), abs(high))
    if reach >= _LIMIT:
        raise QueryRefused(
            "a number could overflow: the bounds of its columns multiply to more than 2^96 steps",
            hint="tighten the bounds or coarsen the step in the policy",
        )
    if reach >= _INT64:
        sql.set("this", exp.cast(sql.this, "INT128"))
    elif reach >= INT32:  # constants are 32 bits wide, and so is what is computed from them alone
        sql.set("this", exp.cast(sql.this, "BIGINT"))
    return Grid(sql, step, low, high, any(p.nullable for p in parts), all(p.public for p in parts))


def _operand(sql: exp.Expression) -> exp.Expression:
    return exp.paren(sql.copy()) if isinstance(sql, (exp.Binary, exp.Neg)) else sql.copy()


def _common(left: Grid, right: Grid) -> tuple[Grid, Grid]:
    if left.is_constant and left.low == 0:
        left = Grid(left.sql, right.step, 0, 0)
    if right.is_constant and right.low == 0:
        right = Grid(right.sql, left.step, 0, 0)
    step = gcd(left.step, right.step)
    return rescale(left, step), rescale(right, step)


def gcd(left: Fraction, right: Fraction) -> Fraction:
    """The largest step that divides both."""
    denominator = math.lcm(left.denominator, right.denominator)
    return Fraction(math.gcd(int(left * denominator), int(right * denominator)), denominator)


def add(left: Grid, right: Grid) -> Grid:
    """Left + right."""
    if left.is_constant and right.is_constant:
        return constant(left.value + right.value)
    left, right = _common(left, right)
    sql = exp.Add(this=_operand(left.sql), expression=_operand(right.sql))
    return _made(sql, left.step, (left.low + right.low, left.high + right.high), left, right)


def negate(grid: Grid) -> Grid:
    """−grid."""
    if grid.is_constant:
        return constant(-grid.value)
    return _made(exp.Neg(this=_operand(grid.sql)), grid.step, (-grid.low, -grid.high), grid)


def multiply(left: Grid, right: Grid) -> Grid:
    """Left · right."""
    if left.is_constant and right.is_constant:
        return constant(left.value * right.value)
    if left.is_constant:
        left, right = right, left
    if right.is_constant:
        if right.low == 0:
            return Grid(
                exp.Mul(this=_operand(left.sql), expression=integer(0)), left.step, 0, 0, left.nullable, left.public
            )
        scaled = Grid(left.sql, left.step * abs(right.value), left.low, left.high, left.nullable, left.public)
        return scaled if right.value > 0 else negate(scaled)
    ends = [a * b for a in (left.low, left.high) for b in (right.low, right.high)]
    sql = exp.Mul(this=_operand(left.sql), expression=_operand(right.sql))
    return _made(sql, left.step * right.step, ends, left, right)


def divide(left: Grid, right: Grid) -> Grid:
    """Left / right, for a constant divisor: any other quotient has no grid."""
    if not right.is_constant:
        raise QueryRefused(
            "a division by a column is refused inside an aggregate: its values have no grid",
            hint="divide the aggregates instead, as in SUM(a) / SUM(b)",
        )
    if right.low == 0:
        raise QueryRefused("a division by zero is refused")
    return multiply(left, constant(1 / right.value))


def absolute(grid: Grid) -> Grid:
    """|grid|."""
    if grid.low >= 0:
        return grid
    if grid.is_constant:
        return constant(abs(grid.value))
    sql = exp.Abs(this=grid.sql.copy())  # written once: a CASE would triple its text at every level
    low = 0 if grid.high >= 0 else -grid.high
    return Grid(sql, grid.step, low, grid.magnitude, grid.nullable, grid.public)


def floor(grid: Grid) -> Grid:
    """The largest whole number not above grid. Shifted so that the engine only divides what is not negative."""
    if grid.is_constant:
        return constant(Fraction(math.floor(grid.value)))
    if grid.step.denominator == 1:
        return grid
    divisor = grid.step.denominator
    scaled = rescale(grid, Fraction(1, divisor))
    shift = scaled.low // divisor
    positive = exp.Sub(this=_operand(scaled.sql), expression=exp.paren(integer(shift * divisor)))
    quotient = exp.IntDiv(this=exp.paren(positive), expression=integer(divisor))
    sql = exp.Add(this=quotient, expression=integer(shift)) if shift else quotient
    ends = (scaled.low // divisor, scaled.high // divisor)
    return Grid(sql, Fraction(1), *ends, grid.nullable, grid.public)


def remainder(grid: Grid, divisor: Fraction) -> Grid:
    """What is left of grid, never negative, when divisor is taken out of it as often as it goes."""
    step = gcd(grid.step, divisor)
    scaled, size = rescale(grid, step), int(divisor / step)
    sql = exp.Mod(this=_operand(scaled.sql), expression=integer(size))
    return Grid(sql, step, 0, min(scaled.high, size - 1), grid.nullable, grid.public)


def first_of(parts: Sequence[Grid]) -> Grid:
    """COALESCE(…): the first that is not NULL."""
    step = _shared_step(parts)
    rescaled = [_counted_in(part, step) for part in parts]
    first, *others = (part.sql.copy() for part in rescaled)
    sql = exp.Coalesce(this=first, expressions=others)
    low, high = min(part.low for part in rescaled), max(part.high for part in rescaled)
    return Grid(sql, step, low, high, all(part.nullable for part in parts), all(part.public for part in parts))


def _shared_step(grids: Sequence[Grid]) -> Fraction:
    """The largest step that divides every one; what is always zero has a place on any grid."""
    steps = [grid.step for grid in grids if grid.low or grid.high] or [Fraction(1)]
    return functools.reduce(gcd, steps)


def _counted_in(grid: Grid, step: Fraction) -> Grid:
    return rescale(grid if grid.low or grid.high else replace(grid, step=step), step)


def choose(branches: list[tuple[exp.Expression, Grid | None]], default: Grid | None) -> Grid:
    """CASE WHEN … THEN … ELSE … END; None stands for NULL."""
    grids = [grid for _, grid in branches if grid is not None] + ([default] if default is not None else [])
    if not grids:
        raise QueryRefused("a CASE whose every branch is NULL has no value to add up")
    step = _shared_step(grids)
    zero_free = [_counted_in(grid, step) for grid in grids]
    rescaled = iter(zero_free)
    ifs = [
        exp.If(this=when.copy(), true=exp.null() if grid is None else next(rescaled).sql.copy())
        for when, grid in branches
    ]
    sql = exp.Case(ifs=ifs, default=exp.null() if default is None else next(rescaled).sql.copy())
    nullable = default is None or any(grid is None or grid.nullable for _, grid in branches) or default.nullable
    low, high = min(g.low for g in zero_free), max(g.high for g in zero_free)
    return Grid(sql, step, low, high, nullable, all(g.public for g in grids))
