"""STDDEV, VARIANCE and MEDIAN of one unit's own values: those of DuckDB, within their ends, whatever the values are."""

from __future__ import annotations

import math
import statistics
from fractions import Fraction

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlglot import exp

from tacit.errors import QueryRefused
from tacit.sql.emitting.dialects import emit
from tacit.sql.expressions.numeric.arithmetic import Width
from tacit.sql.expressions.numeric.grid import Grid
from tacit.sql.relations.rewriting.spreads import middle, spread

ENDS = -1_000, 3_000
STEP = Fraction(1, 4)
ENGINE = duckdb.connect()
WIDE = -(1 << 45), 1 << 45


def of(values, node, ends=ENDS, *, share=None):
    """What our SQL makes of some whole steps, counted out; and its ends."""
    grid = Grid(exp.column("x"), STEP, *ends, nullable=True, width=Width.BIGINT)
    made = spread(node, grid) if share is None else middle(node, grid, share)
    rows = ", ".join("(NULL)" if value is None else f"({value})" for value in values)
    cells = f"SELECT CAST(x AS BIGINT) AS x FROM (VALUES (NULL), {rows}) AS v(x)"
    (found,) = ENGINE.execute(f"SELECT {emit(made.sql, 'duckdb')} FROM ({cells}) AS t").fetchone()
    assert found is None or made.low <= found <= made.high
    return None if found is None else float(found * made.step)


CALLS = [
    (exp.Stddev, statistics.stdev),
    (exp.StddevPop, statistics.pstdev),
    (exp.Variance, statistics.variance),
    (exp.VariancePop, statistics.pvariance),
]


@pytest.mark.parametrize(("kind", "by_hand"), CALLS)
@settings(max_examples=25)
@given(values=st.lists(st.integers(*ENDS), min_size=2, max_size=9))
def test_a_spread_is_that_of_the_values(kind, by_hand, values):
    expected = float(by_hand([value * STEP for value in values]))
    most = float(by_hand([end * STEP for end in ENDS]))
    assert math.isclose(of(values, kind(this=exp.column("x"))), expected, abs_tol=1e-8 * most)


@pytest.mark.parametrize("ends", [ENDS, WIDE])
@pytest.mark.parametrize("kind", [exp.Stddev, exp.StddevPop, exp.Variance, exp.VariancePop])
def test_no_values_spread_farther_than_the_ends_say(kind, ends):
    found = of([*ends], kind(this=exp.column("x")), ends)  # `of` holds it against the ends
    by_hand = dict(CALLS)[kind]([float(end * STEP) for end in ends])
    assert math.isclose(found, by_hand, rel_tol=1e-6)


def test_one_value_has_no_deviation_and_none_has_nothing():
    assert of([5], exp.Stddev(this=exp.column("x"))) is None
    assert of([5], exp.StddevPop(this=exp.column("x"))) == 0
    assert of([None], exp.StddevPop(this=exp.column("x"))) is None
    assert of([None], exp.Median(this=exp.column("x")), share=Fraction(1, 2)) is None


@settings(max_examples=25)
@given(values=st.lists(st.integers(*ENDS), min_size=1, max_size=9))
def test_a_median_is_that_of_the_values(values):
    assert of(values, exp.Median(this=exp.column("x")), share=Fraction(1, 2)) == statistics.median(values) * STEP


def test_a_share_beyond_its_ends_is_refused():
    with pytest.raises(QueryRefused, match="from 0 to 1"):
        of([1], exp.PercentileCont(this=exp.column("x")), share=Fraction(3, 2))
