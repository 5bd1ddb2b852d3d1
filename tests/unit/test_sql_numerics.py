"""Exact numbers are compared exactly: a decimal of eighteen digits is not a double."""

from __future__ import annotations

import itertools
from decimal import Decimal
from fractions import Fraction

import pytest
from sqlglot import exp

from conformance.sql_world import policy_of, world
from tacit.core import decimal_text
from tacit.policy import ColumnPolicy, TablePolicy
from tacit.sql.expressions.numeric import numerics
from tacit.sql.expressions.numeric.numerics import numeric

CELLS = {
    "DECIMAL(4,1)": ("-999.9", "-0.1", "0", "0.1", "0.5", "999.9"),
    "DECIMAL(18,4)": ("-99999999999999.9999", "0", "0.0001", "99999999999999.9998", "99999999999999.9999"),
    "DECIMAL(38,10)": ("0", "0.0000000001", "9999999999999999999999999999.9999999999"),
    "DECIMAL(38,0)": ("-" + "9" * 38, "0", "9" * 37 + "8", "9" * 38),
    "DECIMAL(38,38)": ("-0." + "9" * 38, "0", "0." + "0" * 37 + "1"),
    "BIGINT": ("-9223372036854775808", "9007199254740992", "9007199254740993", "9223372036854775807"),
    "UTINYINT": ("0", "255"),
    "HUGEINT": (str(-(1 << 127)), "0", str((1 << 100) + 1), str((1 << 127) - 1)),
    "UHUGEINT": ("0", str((1 << 100) + 1), str((1 << 128) - 1)),
}
CONSTANTS = (
    "0", "-1", "0.05", "0.1", "0.5", "-0.00000000000000000000000000000000000000001", "999.9", "1000", "-1000", "255.5",
    "99999999999999.9998", "99999999999999.99985", "9007199254740992", "9007199254740992.5", "9007199254740993",
    "9223372036854775807", "9223372036854775808", "-9223372036854775809", str(1 << 100), str((1 << 100) + 1),
    "9999999999999999999999999999.9999999999", "9" * 38, "9" * 37 + "8", "9" * 38 + ".5", "-" + "9" * 39,
    str((1 << 128) - 1), str(1 << 128), "1e60", "-1e60",
)  # fmt: skip
HOLDS = {
    "=": lambda a, b: a == b, "<>": lambda a, b: a != b, "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b, ">": lambda a, b: a > b, ">=": lambda a, b: a >= b,
}  # fmt: skip


@pytest.fixture(scope="module", params=CELLS)
def column(request):
    kind = request.param
    over = world(
        policy_of([TablePolicy("t", "row", columns=[ColumnPolicy("x"), ColumnPolicy("y")])]),
        f"CREATE TABLE t (x {kind}, y {kind})",
        *(f"INSERT INTO t VALUES ('{cell}', '{cell}')" for cell in CELLS[kind]),
        "INSERT INTO t VALUES (NULL, NULL)",
    )
    return over, [Fraction(Decimal(cell)) for cell in CELLS[kind]]


def count(over, condition):
    made = over.plan(f"DP-SELECT 1 COUNT(*) FROM t WHERE {condition}")
    (exact,) = over.exact(made)
    return exact.integers("m0").tolist()[0]


def test_a_comparison_with_a_constant_holds_for_just_the_cells_it_should(column):
    over, cells = column
    for (operator, holds), constant in itertools.product(HOLDS.items(), CONSTANTS):
        wanted = sum(holds(cell, Fraction(Decimal(constant))) for cell in cells)
        assert count(over, f"x {operator} {constant}") == wanted, (operator, constant)
        assert count(over, f"NOT ({constant} {operator} x)") == sum(
            not holds(Fraction(Decimal(constant)), cell) for cell in cells
        ), (operator, constant)


def test_a_list_holds_the_cells_that_are_in_it(column):
    over, cells = column
    for one, other in itertools.pairwise(CONSTANTS):
        listed = {Fraction(Decimal(one)), Fraction(Decimal(other))}
        assert count(over, f"x IN ({one}, {other})") == sum(cell in listed for cell in cells), (one, other)
        assert count(over, f"x NOT IN ({one}, {other})") == sum(cell not in listed for cell in cells), (one, other)
    assert count(over, "x BETWEEN 0.1 AND 99999999999999.9998") == sum(
        Fraction(1, 10) <= cell <= Fraction(Decimal("99999999999999.9998")) for cell in cells
    )


def test_what_stands_for_an_empty_cell_leaves_the_others_exact(column):
    over, cells = column
    largest = decimal_text(max(cells))
    assert count(over, f"COALESCE(x, 0) >= {largest}") == 1
    assert count(over, "x = y") == len(cells)


def test_the_very_question_that_found_none_of_seven_finds_them():
    over = world(
        policy_of([TablePolicy("t", "row", columns=[ColumnPolicy("amt")])]),
        "CREATE TABLE t AS SELECT CAST(99999999999999.9999 AS DECIMAL(18,4)) AS amt FROM range(7)",
    )
    assert count(over, "amt > 99999999999999.9998") == 7


PAIRS = (("DECIMAL(18,4)", "DECIMAL(20,2)"), ("DECIMAL(18,4)", "BIGINT"), ("DECIMAL(38,10)", "DECIMAL(38,10)"))


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_two_columns_are_compared_exactly_where_one_type_holds_both(one, other):
    over = world(
        policy_of([TablePolicy("t", "row", columns=[ColumnPolicy("x"), ColumnPolicy("y")])]),
        f"CREATE TABLE t (x {one}, y {other})",
        "INSERT INTO t VALUES (99999999999999.9999, 99999999999999), (99999999999999, 99999999999999), (NULL, 1)",
    )
    assert count(over, "x > y") == 1
    assert count(over, "x = y") == 1


def test_a_value_that_a_subquery_finds_is_compared_exactly():
    columns = [ColumnPolicy("x")]
    over = world(
        policy_of([TablePolicy("t", "uid", columns=columns, max_rows=5), TablePolicy("p", public=True)]),
        "CREATE TABLE t (uid INTEGER, x DECIMAL(18,4))",
        "INSERT INTO t VALUES (1, 99999999999999.9999), (1, 99999999999999.9998), (2, 1)",
        "CREATE TABLE p AS SELECT CAST(99999999999999.9998 AS DECIMAL(18,4)) AS y, CAST(1 AS DOUBLE) AS z",
    )
    assert count(over, "x = (SELECT MAX(x) FROM t AS o WHERE o.uid = t.uid)") == 2
    assert count(over, "x > (SELECT MIN(y) FROM p)") == 1
    assert count(over, "x IN (SELECT y FROM p)") == 1
    assert count(over, "x IN (SELECT z FROM p)") == 1
    assert count(over, "x >= (SELECT MIN(z) FROM p)") == 3


@pytest.mark.parametrize("dialect", ["duckdb", "postgres", "spark"])
@pytest.mark.parametrize("constant", ["0.5", "99999999999999.9998", "0.00001", "1e60"])
def test_the_column_stands_as_it_is_so_that_an_index_on_it_serves(dialect, constant):
    over = world(
        policy_of([TablePolicy("t", "row", columns=[ColumnPolicy("amt")])]), "CREATE TABLE t (amt DECIMAL(18,4))"
    )
    (statement,) = over.plan(f"DP-SELECT 1 COUNT(*) FROM t WHERE amt > {constant}").statements
    bare = exp.column(exp.to_identifier("amt", quoted=True)).sql(dialect=dialect)
    assert f"{bare} > CAST(" in statement.sql(dialect)
    assert "DOUBLE" not in statement.sql(dialect)


def test_nothing_is_known_of_a_type_that_is_not_exact():
    assert [numeric(name) for name in ("double", "numeric", "varchar", "decimal", "steps", "")] == [None] * 6
    assert numerics.aligned(exp.null(), numeric("hugeint"), other=exp.null(), second=numeric("decimal(38,2)")) is None
