"""No power that a row can have is beyond a double: PostgreSQL fails on such a row, and on no other."""

from __future__ import annotations

import math

import pytest
from sqlglot import exp, parse_one

from conformance.sql_ranges import prove
from conformance.sql_world import policy_of, world
from tacit.errors import QueryRefused
from tacit.policy import ColumnPolicy, TablePolicy

TOO_FAR = ("POWER(x, 300)", "x ^ 150.5", "POWER(x + 0.01, 300)", "POWER(x + 1000, -200)", "POWER(-x, 301.5)")
HELD = ("POWER(0.5, x + 4611686018427387905)", "POWER(2, x - 4611686018427387905)", "POWER(0.5, x * 1000)")


@pytest.fixture(scope="module")
def people():
    columns = [ColumnPolicy("x", lower=0, upper=10, step="0.01")]
    return world(policy_of([TablePolicy("t", "row", columns=columns)]), "CREATE TABLE t (x DECIMAL(8,2))")


@pytest.mark.parametrize("power", TOO_FAR)
def test_a_power_that_some_row_brings_too_near_to_zero_is_refused_to_everybody(people, power):
    with pytest.raises(QueryRefused, match=r"too large or too small|needs numbers above zero"):
        people.plan(f"DP-SELECT 1 SUM({power}) FROM t")


@pytest.mark.parametrize("power", HELD)
def test_an_exponent_is_held_where_its_power_is_zero_on_any_grid(people, power):
    (statement,) = people.plan(f"DP-SELECT 1 COUNT(*) FROM t WHERE {power} > 0").statements
    assert "POWER(" in statement.sql("postgres")
    assert prove(statement.sql("postgres"), "postgres", people.engine.schema()) > 3


def test_an_exponent_that_is_not_held_is_not_proved():
    assert math.log(0.5) * 4e18 < -690
    tree = parse_one("SELECT POWER(0.5, t.b) AS x FROM t", dialect="postgres")
    with pytest.raises(AssertionError, match="too large"):
        prove(tree.sql("postgres"), "postgres", {"t": {"b": "BIGINT"}})
    assert tree.find(exp.Pow) is not None
