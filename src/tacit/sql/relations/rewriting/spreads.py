"""How far one unit's own values lie apart, and what lies in their middle: STDDEV, VARIANCE, MEDIAN in a subquery.

Sums are of whole numbers, so that they are the same in whatever order rows come; what is divided or rooted is computed
from them as doubles, rounded to nine digits of the largest value, and held between its ends.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

from sqlglot import exp

from tacit.core import decimal_text
from tacit.errors import QueryRefused
from tacit.sql.expressions.names.printing import copied
from tacit.sql.expressions.names.scope import name_of
from tacit.sql.expressions.numeric import arithmetic, doubles
from tacit.sql.expressions.numeric.arithmetic import MOST_ROWS, Whole, Width, integer
from tacit.sql.expressions.numeric.grid import Grid, digits_of

SPREADS = (exp.Stddev, exp.StddevSamp, exp.StddevPop, exp.Variance, exp.VariancePop)
MIDDLES = (exp.Median, exp.PercentileCont)
QUANTILE = "QUANTILE_CONT"  # as DuckDB calls it
_ROOTED = (exp.Stddev, exp.StddevSamp, exp.StddevPop)
_OF_ALL = (exp.StddevPop, exp.VariancePop)
_DIGITS = 9  # of the largest value
_MOST_HALF = 1 << 22  # steps to either side of the middle: a trillion squares of them, a trillion times, are 124 bits
_TWO_AT_THE_ENDS = Fraction(5, 7)  # a little more than 1/√2: what the deviation of two values is of their distance
_MOST_STEPS = 1 << 50  # what a double holds, and half of it


def spread(node: exp.Expression, values: Grid) -> Grid:
    """The standard deviation or variance of a unit's values: NULL of one value, or of none where all are looked at.

    From n, Σc and Σc², of whole steps c from the middle of the bounds: n · Σc² − (Σc)² is exact, and never negative.
    """
    centred, step = _centred(values)
    half = max(abs(centred.low), abs(centred.high))
    counted = exp.Count(this=copied(centred.sql))
    count = Whole(counted, 0, MOST_ROWS, Width.BIGINT)
    total = _summed(centred, MOST_ROWS * half)
    squares = _summed(arithmetic.multiply(arithmetic.widened(centred, Width.INT128), centred), MOST_ROWS * half**2)
    apart = arithmetic.subtract(arithmetic.multiply(squares, count), arithmetic.multiply(total, total))
    fewest = 1 if isinstance(node, _OF_ALL) else 2
    deviation = doubles.over_both(apart.sql, _at_least_one(count, 0), _at_least_one(count, fewest - 1))
    width = (values.high - values.low) * values.step
    if isinstance(node, _ROOTED):
        deviation, most = doubles.root(deviation), width / 2 if fewest == 1 else width * _TWO_AT_THE_ENDS
    else:
        most, step = width**2 / (4 if fewest == 1 else 2), step**2
    there = exp.GTE(this=copied(counted), expression=integer(fewest))
    rounded = _rounded(
        doubles.counted_out(deviation, step), most=most, there=there, what="the spread of a unit's own values"
    )
    return replace(rounded, notes=(*values.notes, *rounded.notes))


def middle(node: exp.Expression, values: Grid, share: Fraction) -> Grid:
    """The median of a unit's values, or another quantile, between two of them where there is none."""
    if not 0 <= share <= 1:
        raise QueryRefused(f"{name_of(node)} takes a share from 0 to 1", hint="0.5 is the median")
    if values.magnitude >= _MOST_STEPS:
        raise QueryRefused(
            f"{name_of(node)} of one unit is refused of such wide bounds in such fine steps",
            hint="coarsen the step in the policy, or ROUND the value",
        )
    cells = arithmetic.narrowed(values.whole, Width.BIGINT)
    quantile = exp.Anonymous(this=QUANTILE, expressions=[cells, doubles.decimal(share)])
    part = 2 if share * 2 == int(share * 2) else 1000
    ends = values.low * part, values.high * part
    steps = doubles.nearest_step(doubles.double(quantile), Fraction(1, part), ends=ends)
    there = exp.GTE(this=exp.Count(this=copied(values.sql)), expression=integer(1))
    sql = arithmetic.held(Whole(steps, *ends, Width.BIGINT), *ends).sql
    sql = exp.Case(ifs=[exp.If(this=there, true=sql)])
    return Grid(sql, values.step / part, *ends, nullable=True, width=Width.BIGINT, notes=values.notes)


def _centred(values: Grid) -> tuple[Whole, Fraction]:
    """Whole steps from the middle of the bounds, few enough for squares to add up, and how wide a step is."""
    reach = values.high - values.low
    factor = max(1, -(-reach // (2 * _MOST_HALF - 2)))
    if factor == 1:
        return arithmetic.shift(values.whole, -((values.low + values.high) // 2)), values.step
    above = arithmetic.shift(values.whole, -values.low)
    coarse = arithmetic.divide(above, arithmetic.constant(factor))
    return arithmetic.shift(coarse, -(reach // factor // 2)), values.step * factor


def _summed(values: Whole, most: int) -> Whole:
    """A sum of so much at most, in the one type that holds it on every engine."""
    low = 0 if values.low >= 0 else -most
    return arithmetic.widened(Whole(exp.Sum(this=copied(values.sql)), low, most), Width.INT128)


def _at_least_one(count: Whole, less: int) -> exp.Expression:
    """How many there are, less none or one: a number by which any engine divides."""
    fewer = arithmetic.shift(count, -less)
    return exp.Anonymous(this="GREATEST", expressions=[copied(fewer.sql), integer(1)])


def _rounded(value: exp.Expression, *, most: Fraction, there: exp.Expression, what: str) -> Grid:
    step = digits_of(most, _DIGITS)
    high = math.ceil(most / step)
    steps = doubles.nearest_step(value, step, ends=(0, high))
    sql = exp.Case(ifs=[exp.If(this=there, true=arithmetic.held(Whole(steps, 0, high, Width.BIGINT), 0, high).sql)])
    note = f"{what} is rounded to a multiple of {decimal_text(step)}"
    return Grid(sql, step, 0, high, nullable=True, width=Width.BIGINT, notes=(note,))
