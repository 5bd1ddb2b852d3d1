"""Numbers on a public grid: whole multiples of a step, between known ends. All arithmetic is on whole numbers."""

from __future__ import annotations

import functools
import math
from collections.abc import Container, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from sqlglot import exp

from tacit.core import Bounds, decimal_text
from tacit.errors import QueryRefused
from tacit.sql.expressions.names.nodes import loose, quoted_column
from tacit.sql.expressions.numeric import arithmetic
from tacit.sql.expressions.numeric.arithmetic import Whole, Width

_LIMIT = 1 << 96  # beyond this, 2^30 rows could overflow a 128-bit sum
_MAX_REPEATED = 400  # parts of an expression that is written out twice
_DIGITS = 12  # of the largest quotient: what is cut off lies beyond
_FAR = 100  # times its least size: a divisor that may be so large makes bounds of a quotient that are of little use


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
    nonzero: bool = False  # NULLIF(x, 0): NULL where it would be zero
    notes: tuple[str, ...] = ()  # what was rounded to compute it

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

    @property
    def is_never_zero(self) -> bool:
        """Whether it is NULL, or some other number than zero."""
        return self.nonzero or self.low > 0 or self.high < 0


def constant(value: Fraction) -> Grid:
    """A number that everyone knows."""
    if value == 0:
        return _units(0, Fraction(1))
    return _units(1 if value > 0 else -1, abs(value))


def _units(units: int, step: Fraction) -> Grid:
    return _grid_of(arithmetic.constant(units), step)


def column(name: str, bounds: Bounds, *, nullable: bool, public: bool) -> Grid:
    """A bounded column. GRID is our own mark: the rules `clamp` and `snap` replace it before anything runs."""
    leaf = exp.Anonymous(this="GRID", expressions=[quoted_column(name)])
    whole = Whole(leaf, bounds.lower_units, bounds.upper_units, Width.BIGINT)
    return replace(_grid_of(whole, bounds.step), nullable=nullable, public=public)


def grid_columns(sql: exp.Expression) -> set[str]:
    """The columns that are held between their bounds in an expression, their names folded."""
    return _marked(sql, {"GRID", "MOMENT"})


def rounded_columns(sql: exp.Expression) -> set[str]:
    """Those of them that are rounded to their steps as well."""
    return _marked(sql, {"GRID"})


def _marked(sql: exp.Expression, marks: Container[str]) -> set[str]:
    found = [mark for mark in sql.find_all(exp.Anonymous) if mark.this in marks]
    return {mark.expressions[0].name.casefold() for mark in found}


def rescale(grid: Grid, step: Fraction) -> Grid:
    """The same values counted in a finer step."""
    factor = grid.step / step
    if factor.denominator != 1:
        raise ArithmeticError("a grid can only be rescaled to a step that divides its own")
    if factor == 1:
        return grid
    if grid.is_constant:
        return _units(grid.low * int(factor), step)
    result = _grid_of(arithmetic.multiply(grid.whole, arithmetic.constant(int(factor))), step, grid)
    return replace(result, nonzero=grid.nonzero)


def _grid_of(whole: Whole, step: Fraction, *parts: Grid) -> Grid:
    """A grid value computed from `parts`; refused where a sum of such values could leave 128 bits."""
    if max(abs(whole.low), abs(whole.high)) >= _LIMIT:
        raise QueryRefused(
            "a number could overflow: the bounds of its columns multiply to more than 2^96 steps",
            hint="tighten the bounds or coarsen the step in the policy",
        )
    nullable, public = any(part.nullable for part in parts), all(part.public for part in parts)
    notes = tuple(dict.fromkeys(note for part in parts for note in part.notes))
    return Grid(whole.sql, step, whole.low, whole.high, nullable, public, whole.width, notes=notes)


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
    return _grid_of(arithmetic.add(left.whole, right.whole), left.step, left, right)


def negate(grid: Grid) -> Grid:
    """−grid."""
    if grid.is_constant:
        return constant(-grid.value)
    return replace(_grid_of(arithmetic.negate(grid.whole), grid.step, grid), nonzero=grid.nonzero)


def multiply(left: Grid, right: Grid) -> Grid:
    """Left · right."""
    if left.is_constant and right.is_constant:
        return constant(left.value * right.value)
    if left.is_constant:
        left, right = right, left
    if right.is_constant:
        if right.low == 0:
            return _grid_of(arithmetic.multiply(left.whole, right.whole), left.step, left)
        scaled = replace(left, step=left.step * abs(right.value))
        return scaled if right.value > 0 else negate(scaled)
    product = _grid_of(arithmetic.multiply(left.whole, right.whole), left.step * right.step, left, right)
    return replace(product, nonzero=left.is_never_zero and right.is_never_zero)


def divide(left: Grid, right: Grid) -> Grid:
    """Left / right. A constant divides exactly; by anything else the quotient is cut off after so many digits.

    Cut off towards zero, so that FLOOR, ROUND and >= a number of that many digits are those of the exact quotient
    wherever it is not negative. Its step has twelve digits of the largest quotient that the bounds allow.
    """
    if not right.is_constant:
        return _quotient(left, right)
    if right.low == 0:
        raise QueryRefused("a division by zero is refused")
    return multiply(left, constant(1 / right.value))


def _quotient(left: Grid, right: Grid) -> Grid:
    if not right.is_never_zero:
        raise QueryRefused(
            "a division is refused whose divisor may be zero: its bounds do not exclude it",
            hint="write a / NULLIF(b, 0), or declare bounds for b that exclude 0",
        )
    least = max(1, right.low, -right.high)
    most = Fraction(left.magnitude, least) * left.step / right.step
    step = digits_of(most)
    while True:
        factor = left.step / right.step / step
        if max(left.magnitude * factor.numerator, right.magnitude * factor.denominator) < _LIMIT:
            break
        step *= 10
    above = arithmetic.multiply(left.whole, arithmetic.constant(factor.numerator))
    below = arithmetic.multiply(right.whole, arithmetic.constant(factor.denominator))
    result = _grid_of(arithmetic.cut(above, below, least=least * factor.denominator), step, left, right)
    notes = [f"a quotient is cut off to a multiple of {decimal_text(step)}"]
    if right.magnitude >= _FAR * least:
        ends = " to ".join(f"{float(end * step):,.6g}" for end in (result.low, result.high))
        notes.append(
            f"a quotient may be anything from {ends}, for its divisor may be as near to zero as"
            f" {decimal_text(least * right.step)}: narrower ends need less noise: LEAST(GREATEST(a / b, 0), 100)"
        )
    return replace(result, nullable=result.nullable or right.nonzero, notes=(*result.notes, *notes))


def digits_of(most: Fraction, digits: int = _DIGITS) -> Fraction:
    """The power of ten that is so many digits below a number."""
    exponent = 0
    while most and most >= Fraction(10) ** (exponent + 1):
        exponent += 1
    while most and most < Fraction(10) ** exponent:
        exponent -= 1
    return Fraction(10) ** (exponent + 1 - digits) if most else Fraction(1)


def or_null(grid: Grid) -> Grid:
    """NULLIF(grid, 0)."""
    if grid.is_never_zero:
        return grid
    result = _grid_of(arithmetic.or_null(grid.whole), grid.step, grid)
    return replace(result, nullable=True, nonzero=True)


def held(grid: Grid, low: int, high: int) -> Grid:
    """The grid within these ends, in its own steps; NULL stays NULL."""
    if low <= grid.low and grid.high <= high:
        return grid
    ends = min(max(grid.low, low), high), min(max(grid.high, low), high)
    result = _grid_of(arithmetic.held(grid.whole, *ends), grid.step, grid)
    if not grid.nullable:
        return result
    present = exp.Not(this=exp.Is(this=arithmetic.operand(twice(grid).sql), expression=exp.null()))
    return replace(result, sql=exp.Case(ifs=[exp.If(this=present, true=result.sql)]))


def twice(grid: Grid) -> Grid:
    """The grid, which will be written out twice: refused where that is too long."""
    if sum(1 for _ in grid.sql.walk()) > _MAX_REPEATED:
        raise QueryRefused(
            "a number is too long: it would be written out twice", hint="compute a part of it in a subquery"
        )
    return grid


def truncate(grid: Grid) -> Grid:
    """The whole number nearest to grid on the way to zero."""
    if grid.low >= 0:
        return floor(grid)
    if grid.is_constant or grid.high <= 0:
        return negate(floor(negate(grid)))
    if grid.step.denominator == 1:
        return grid
    divisor = grid.step.denominator
    scaled = rescale(grid, Fraction(1, divisor))
    return _grid_of(arithmetic.cut(scaled.whole, arithmetic.constant(divisor), least=divisor), Fraction(1), grid)


def absolute(grid: Grid) -> Grid:
    """|grid|."""
    if grid.low >= 0:
        return grid
    if grid.is_constant:
        return constant(abs(grid.value))
    return replace(_grid_of(arithmetic.absolute(grid.whole), grid.step, grid), nonzero=grid.nonzero)


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
    return _grid_of(arithmetic.shift(quotient, ends[0]), Fraction(1), grid)


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


def nearest_even(grid: Grid) -> Grid:
    """The whole number nearest to grid, and of two the even one, as engines turn a DOUBLE into a whole number."""
    if grid.step.denominator % 2 or grid.is_constant:
        return constant(Fraction(round(grid.value))) if grid.is_constant else nearest(grid)
    half = constant(Fraction(1, 2))
    up = floor(add(twice(grid), half))
    down = negate(floor(add(negate(grid), half)))
    tied = held(add(up, negate(down)), 0, 1)  # of a half there are two, one above the other
    odd = absolute(remainder(up, Fraction(2)))
    ends = round(grid.low * grid.step), round(grid.high * grid.step)
    return held(rescale(add(up, negate(multiply(tied, odd))), Fraction(1)), *ends)


def _away_from_zero(value: Fraction) -> Fraction:
    size = Fraction(math.floor(abs(value) + Fraction(1, 2)))
    return size if value >= 0 else -size


def remainder(grid: Grid, divisor: Fraction) -> Grid:
    """What is left of grid, with its sign, when divisor is taken out of it as often as it goes."""
    step = gcd(grid.step, divisor)
    return _grid_of(arithmetic.remainder(rescale(grid, step).whole, int(divisor / step)), step, grid)


def first_of(parts: Sequence[Grid]) -> Grid:
    """COALESCE(…): the first that is not NULL."""
    step = _shared_step(parts)
    rescaled = [_counted_in(part, step) for part in parts]
    first, *others = (loose(part.sql) for part in rescaled)
    sql = exp.Coalesce(this=first, expressions=others)
    return replace(_either(sql, rescaled), nullable=all(part.nullable for part in parts))


def extreme(parts: Sequence[Grid], *, least: bool) -> Grid:
    """GREATEST or LEAST: NULL is left out, as engines do, so that only what is never NULL holds the other end."""
    step = _shared_step(parts)
    rescaled = [_counted_in(part, step) for part in parts]
    width = max(part.width for part in rescaled)
    values = [loose(arithmetic.widened(part.whole, width).sql) for part in rescaled]
    kind = exp.Least if least else exp.Greatest
    sql = kind(this=values[0], expressions=values[1:], ignore_nulls=True)
    always = [part for part in rescaled if not part.nullable]
    low, high = min(part.low for part in rescaled), max(part.high for part in rescaled)
    if always and least:
        high = min(part.high for part in always)
    elif always:
        low = max(part.low for part in always)
    result = _grid_of(Whole(sql, low, high, width), step, *rescaled)
    return replace(result, nullable=not always)


def _either(sql: exp.Expression, parts: Sequence[Grid]) -> Grid:
    """What is one of these, all counted in one step: its type is that of the widest."""
    low, high = min(part.low for part in parts), max(part.high for part in parts)
    return _grid_of(Whole(sql, low, high, max(part.width for part in parts)), parts[0].step, *parts)


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
        exp.If(this=loose(when), true=exp.null() if grid is None else loose(next(rescaled).sql))
        for when, grid in branches
    ]
    sql = exp.Case(ifs=ifs, default=exp.null() if default is None else loose(next(rescaled).sql))
    nullable = default is None or any(grid is None or grid.nullable for _, grid in branches) or default.nullable
    return replace(_either(sql, zero_free), nullable=nullable)
