"""Numbers on their grid: what DuckDB computes is what the oracle says, and lies within the derived bounds."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conformance import sql_oracle as oracle
from conformance.sql_oracle import Column, Rng
from conformance.sql_world import policy_of, world
from tacit.core import Bounds
from tacit.errors import QueryRefused
from tacit.policy import ColumnPolicy, TablePolicy
from tacit.sql import Additive
from tacit.sql.expressions.numeric import grid

COLUMNS = (
    Column("n", Fraction(-3), Fraction(4), Fraction(1)),
    Column("x", Fraction(-3, 2), Fraction(2), Fraction(1, 2)),
    Column("y", Fraction(1), Fraction(5), Fraction(1, 4), null=Fraction(3, 2)),
)
CELLS = {
    "n": (None, -99, -3, -1, 0, 2, 4, 99),
    "x": (None, math.nan, math.inf, -math.inf, -2.0, -1.5, -0.5, 0.0, 0.5, 2.0, 1e300),
    "y": (None, 0.0, 1.0, 1.25, 3.0, 5.0, math.nan),
}
ROWS = [
    {"n": n, "x": x, "y": y, "g": g, "flag": flag}
    for place, (n, x, y) in enumerate(itertools.product(*CELLS.values()))
    for g, flag in [(("CS", "Bio", None)[place % 3], (True, False, None)[place % 4 % 3])]
]


@pytest.fixture(scope="module")
def over():
    columns = [ColumnPolicy(c.name, lower=c.lower, upper=c.upper, step=c.step, null=c.null) for c in COLUMNS]
    policy = policy_of([TablePolicy("t", "row", columns=[*columns, ColumnPolicy("g"), ColumnPolicy("flag")])])
    cells = ", ".join(f"({', '.join(map(_cell, row.values()))})" for row in ROWS)
    return world(
        policy,
        "CREATE TABLE t (n INTEGER, x DOUBLE, y DOUBLE, g VARCHAR, flag BOOLEAN)",
        f"INSERT INTO t VALUES {cells}",
    )


def _cell(value):
    if value is None:
        return "NULL"
    return f"'{value}'" if isinstance(value, (str, float)) else str(value)


def values_of(over, text):
    """The measurement behind SUM(text), and its value in every row, in steps."""
    made = over.plan(f"DP-SELECT 1 SUM({text}) FROM t")
    rows = made.statements[0].sql("duckdb").partition(" FROM (")[2].rpartition(") AS ")[0]
    return made.measurements[0].measure, [cell for (cell,) in over.engine._connection.cursor().execute(rows).fetchall()]


@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 2**32), depth=st.integers(1, 3))
def test_an_expression_is_what_it_says_in_every_row_and_within_its_bounds(over, seed, depth):
    wanted = oracle.number(Rng(seed), COLUMNS, depth)
    try:
        measure, found = values_of(over, wanted.sql)
    except QueryRefused:
        return
    assert isinstance(measure, Additive)
    for row, units in zip(ROWS, found, strict=True):
        exact = wanted.of(row)
        assert (units is None) == (exact is None), wanted.sql
        if exact is not None:
            assert units * measure.step == exact, wanted.sql
            assert measure.low <= units <= measure.high, wanted.sql


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_a_condition_holds_in_the_rows_the_oracle_says(over, seed):
    wanted = oracle.condition(Rng(seed), COLUMNS, 3)
    try:
        _, found = values_of(over, f"CASE WHEN {wanted.sql} THEN 1 WHEN NOT ({wanted.sql}) THEN 2 ELSE 3 END")
    except QueryRefused:
        return
    for row, units in zip(ROWS, found, strict=True):
        assert units == {True: 1, False: 2, None: 3}[wanted.of(row)], wanted.sql


@pytest.mark.parametrize("text", ["x % 5.5", "ABS(n) % 0.3", "y % 2", "ABS(x) % 100", "(n + 3) % 1.5", "y % 0.25"])
def test_a_remainder_is_bounded_by_its_divisor_and_by_what_is_divided(over, text):
    text = text.replace("x %", "ABS(x) %") if text.startswith("x") else text
    measure, found = values_of(over, text)
    present = [units for units in found if units is not None]
    assert measure.low <= min(present)
    assert max(present) <= measure.high
    assert measure.high * measure.step <= 5 * Fraction("5.5")


GRIDS = st.builds(
    lambda step, low, width: grid.column(
        "x", Bounds(low * step, (low + width) * step, step=step), nullable=False, public=True
    ),
    st.fractions(min_value=Fraction(1, 100), max_value=10, max_denominator=10_000),
    st.integers(-50, 50),
    st.integers(1, 100),
)


@given(left=GRIDS, right=GRIDS)
def test_ends_of_sums_and_products_are_reached(left, right):
    """Interval arithmetic is exact for one use of each column: no end is farther out than some pair of values."""
    total, product = grid.add(left, right), grid.multiply(left, right)
    ends = [side * one.step for one in (left, right) for side in (one.low, one.high)]
    assert {total.low * total.step, total.high * total.step} == {ends[0] + ends[2], ends[1] + ends[3]}
    corners = {a * b for a in ends[:2] for b in ends[2:]}
    assert (product.low * product.step, product.high * product.step) == (min(corners), max(corners))


@given(one=GRIDS, constant=st.fractions(min_value=-100, max_value=100, max_denominator=10_000))
def test_arithmetic_with_constants_keeps_the_grid_exact(one, constant):
    scaled = grid.multiply(one, grid.constant(constant))
    ends = sorted((one.low * one.step * constant, one.high * one.step * constant))
    assert [scaled.low * scaled.step, scaled.high * scaled.step] == ends
    shifted = grid.add(one, grid.constant(constant))
    assert shifted.low * shifted.step == one.low * one.step + constant
    floored = grid.floor(one)
    assert floored.low * floored.step == math.floor(one.low * one.step)
    assert floored.high * floored.step == math.floor(one.high * one.step)


def test_what_could_overflow_128_bits_is_refused_and_64_bits_widened():
    big = grid.column("x", Bounds(0, 2**61, step=1), nullable=False, public=True)
    assert "INT128" in grid.multiply(big, grid.column("y", Bounds(0, 8, step=1), nullable=False, public=True)).sql.sql(
        dialect="duckdb"
    )
    with pytest.raises(QueryRefused, match="overflow"):
        grid.multiply(big, grid.multiply(big, big))
