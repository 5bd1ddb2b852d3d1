"""Numbers on a public grid: whole multiples of a step, between known ends. All arithmetic is on whole numbers."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from sqlglot import exp

from tacit.core import Bounds
from tacit.errors import QueryRefused
from tacit.sql.expressions import arithmetic
from tacit.sql.expressions.arithmetic import Whole, Width

_LIMIT = 1 << 96  # beyond this, 2^30 rows could overflow a 128-bit sum
_MAX_REPEATED = 400  # parts of an expression that is written out twice


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
    width: Width = Width.INT  # of its type: the narrowest that any engine may give it

    @property
    def whole(self) -> Whole:
        """Its units, as arithmetic is done with them."""
        return Whole(self.sql, self.low, self.high, self.width)

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
        return _units(0, Fraction(1))
    return _units(1 if value > 0 else -1, abs(value))


def _units(units: int, step: Fraction) -> Grid:
    return _made(arithmetic.constant(units), step)


def column(name: str, bounds: Bounds, *, nullable: bool, public: bool) -> Grid:
    """A bounded column. GRID is our own mark: the rules `clamp` and `snap` replace it before anything runs."""
    leaf = exp.Anonymous(this="GRID", expressions=[exp.column(exp.to_identifier(name, quoted=True))])
    whole = Whole(leaf, bounds.lower_units, bounds.upper_units, Width.BIGINT)
    return replace(_made(whole, bounds.step), nullable=nullable, public=public)


def grid_columns(sql: exp.Expression) -> set[str]:
    """The columns that stand on their grid in an expression, their names folded."""
    marks = [mark for mark in sql.find_all(exp.Anonymous) if mark.this == "GRID"]
    return {mark.expressions[0].name.casefold() for mark in marks}


def rescale(grid: Grid, step: Fraction) -> Grid:
    """The same values counted in a finer step."""
    factor = grid.step / step
    if factor.denominator != 1:
        raise ArithmeticError("a grid can only be rescaled to a step that divides its own")
    if factor == 1:
        return grid
    if grid.is_constant:
        return _units(grid.low * int(factor), step)
    return _made(arithmetic.multiply(grid.whole, arithmetic.constant(int(factor))), step, grid)


def _made(whole: Whole, step: Fraction, *parts: Grid) -> Grid:
    """A grid value computed from `parts`; refused where a sum of such values could leave 128 bits."""
    if max(abs(whole.low), abs(whole.high)) >= _LIMIT:
        raise QueryRefused(
            "a number could overflow: the bounds of its columns multiply to more than 2^96 steps",
            hint="tighten the bounds or coarsen the step in the policy",
        )
    nullable, public = any(part.nullable for part in parts), all(part.public for part in parts)
    return Grid(whole.sql, step, whole.low, whole.high, nullable, public, whole.width)


def _common(left: Grid, right: Grid) -> tuple[Grid, Grid]:
    step = _shared_step((left, right))
    return _counted_in(left, step), _counted_in(right, step)


def gcd(left: Fraction, right: Fraction) -> Fraction:
    """The largest step that divides both."""
    denominator = math.lcm(left.denominator, right.denominator)
    return Fraction(math.gcd(int(left * denominator), int(right * denominator)), denominator)


def add(left: Grid, right: Grid) -> Grid:
    """Left + right."""
    if left.is_constant and right.is_constant:
        return constant(left.value + right.value)
    left, right = _common(left, right)
    return _made(arithmetic.add(left.whole, right.whole), left.step, left, right)


def negate(grid: Grid) -> Grid:
    """−grid."""
    if grid.is_constant:
        return constant(-grid.value)
    return _made(arithmetic.negate(grid.whole), grid.step, grid)


def multiply(left: Grid, right: Grid) -> Grid:
    """Left · right."""
    if left.is_constant and right.is_constant:
        return constant(left.value * right.value)
    if left.is_constant:
        left, right = right, left
    if right.is_constant:
        if right.low == 0:
            return _made(arithmetic.multiply(left.whole, right.whole), left.step, left)
        scaled = replace(left, step=left.step * abs(right.value))
        return scaled if right.value > 0 else negate(scaled)
    return _made(arithmetic.multiply(left.whole, right.whole), left.step * right.step, left, right)


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
    return _made(arithmetic.absolute(grid.whole), grid.step, grid)


def floor(grid: Grid) -> Grid:
    """The largest whole number not above grid. Shifted so that the engine only divides what is not negative."""
    if grid.is_constant:
        return constant(Fraction(math.floor(grid.value)))
    if grid.step.denominator == 1:
        return grid
    ends = math.floor(grid.low * grid.step), math.floor(grid.high * grid.step)
    if ends[0] == ends[1]:  # the same in every row that has one, whatever the size of the divisor
        return add(multiply(grid, constant(Fraction(0))), constant(Fraction(ends[0])))
    divisor = grid.step.denominator
    scaled = rescale(grid, Fraction(1, divisor))
    positive = arithmetic.shift(scaled.whole, -ends[0] * divisor)
    quotient = arithmetic.divide(positive, arithmetic.constant(divisor))
    return _made(arithmetic.shift(quotient, ends[0]), Fraction(1), grid)


def nearest(grid: Grid) -> Grid:
    """The whole number nearest to grid, and of two the one farther from zero, as SQL rounds."""
    if grid.is_constant:
        return constant(_away_from_zero(grid.value))
    half = constant(Fraction(1, 2))
    if grid.low >= 0 or grid.step.denominator % 2:  # on an odd part of one there are no halves
        return floor(add(grid, half))
    if grid.high <= 0:
        return negate(floor(add(negate(grid), half)))
    if sum(1 for _ in grid.sql.walk()) > _MAX_REPEATED:
        raise QueryRefused(
            "ROUND of what may be negative is too long: it would be written out twice", hint="round its parts, or ABS"
        )
    # ⌊x + ½⌋ takes −2.5 to −2: so one place of x less is added to what is negative
    less = Fraction(1, 2) - Fraction(1, grid.step.denominator)
    below = exp.LT(this=arithmetic.operand(grid.sql), expression=arithmetic.integer(0))
    return floor(add(grid, choose([(below, constant(less))], half)))


def _away_from_zero(value: Fraction) -> Fraction:
    size = Fraction(math.floor(abs(value) + Fraction(1, 2)))
    return size if value >= 0 else -size


def remainder(grid: Grid, divisor: Fraction) -> Grid:
    """What is left of grid, never negative, when divisor is taken out of it as often as it goes."""
    step = gcd(grid.step, divisor)
    return _made(arithmetic.remainder(rescale(grid, step).whole, int(divisor / step)), step, grid)


def first_of(parts: Sequence[Grid]) -> Grid:
    """COALESCE(…): the first that is not NULL."""
    step = _shared_step(parts)
    rescaled = [_counted_in(part, step) for part in parts]
    first, *others = (part.sql.copy() for part in rescaled)
    sql = exp.Coalesce(this=first, expressions=others)
    return replace(_either(sql, rescaled), nullable=all(part.nullable for part in parts))


def _either(sql: exp.Expression, parts: Sequence[Grid]) -> Grid:
    """What is one of these, all counted in one step: its type is that of the widest."""
    low, high = min(part.low for part in parts), max(part.high for part in parts)
    return _made(Whole(sql, low, high, max(part.width for part in parts)), parts[0].step, *parts)


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
    return replace(_either(sql, zero_free), nullable=nullable)
