"""Logarithms, powers, roots and quotients of bounded columns: near the truth, within their ends, and never failing."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import duckdb
import pytest

from conformance.sql_ranges import Unproved, prove
from conformance.sql_world import policy_of, world
from tacit.errors import QueryRefused
from tacit.policy import ColumnPolicy, TablePolicy
from tacit.sql.expressions.numeric import arithmetic, functions
from tacit.sql.expressions.numeric import grid as g

CELLS = (
    "'nan'", "'inf'", "'-inf'", "5e-324", "-5e-324", "1e308", "-1e308", "0", "-0.0", "0.01", "-0.01", "1", "-1", "2.5",
    "-2.5", "7", "99.99", "100", "-100", "1000", "NULL", "1e-9", "123.456",
)  # fmt: skip


def held(cell: float, low: float, high: float) -> float:
    if math.isnan(cell):
        return min(max(0.0, low), high)
    return math.floor(min(max(cell, low), high) * 100 + 0.5) / 100


@pytest.fixture(scope="module")
def over():
    columns = [
        ColumnPolicy("x", lower=-100, upper=100, step="0.01"),
        ColumnPolicy("p", lower="0.5", upper=100, step="0.01"),
        ColumnPolicy("w", lower=0, upper=1000, step="0.01"),
    ]
    return world(
        policy_of([TablePolicy("t", "row", columns=columns)]),
        "CREATE TABLE t (x DOUBLE, p DOUBLE, w DOUBLE)",
        f"INSERT INTO t VALUES {', '.join(f'({cell}, {cell}, {cell})' for cell in CELLS)}",
    )


def log_or_none(value: float) -> float | None:
    return math.log(value) if value > 0 else None


FUNCTIONS = (
    ("LN({})", log_or_none),
    ("LOG10({})", lambda v: math.log10(v) if v > 0 else None),
    ("LOG({})", lambda v: math.log10(v) if v > 0 else None),
    ("LOG2({})", lambda v: math.log2(v) if v > 0 else None),
    ("LOG(7, {})", lambda v: math.log(v, 7) if v > 0 else None),
    ("SQRT({})", lambda v: math.sqrt(v) if v >= 0 else None),
    ("CBRT({})", math.cbrt),
    ("EXP({})", math.exp),
    ("EXP(-{})", lambda v: math.exp(-v)),
    ("POWER({}, 2)", lambda v: v * v),
    ("{} ** 3", lambda v: v**3),
    ("{} ^ 0.3", lambda v: v**0.3 if v >= 0 else None),
    ("POWER({}, -0.5)", lambda v: v**-0.5 if v > 0 else None),
    ("POWER({}, 0)", lambda v: 1.0),
    ("POWER(1.5, {})", lambda v: 1.5**v),
    ("POWER(0.5, {})", lambda v: 0.5**v),
    ("1 / NULLIF({}, 0)", lambda v: 1 / v if v else None),
    ("{0} / (ABS({0}) + 1)", lambda v: v / (abs(v) + 1)),
    ("SQRT(SQRT(ABS({})))", lambda v: abs(v) ** 0.25),
    ("LN({} + 101)", lambda v: math.log(v + 101)),
)


OF_COLUMNS = [(form, column) for form in FUNCTIONS for column in "xpw" if (form[0], column) != ("EXP({})", "w")]


@pytest.mark.parametrize(("form", "column"), OF_COLUMNS, ids=lambda part: part if isinstance(part, str) else part[0])
def test_a_function_is_near_the_truth_in_every_row_and_within_its_ends(over, form, column):
    text, truth = form
    made = over.bound(f"DP-SELECT 1 SUM({text.format(column)}) FROM t").measures[0]
    low, high = {"x": (-100.0, 100.0), "p": (0.5, 100.0), "w": (0.0, 1000.0)}[column]
    cells = [None if cell == "NULL" else held(float(cell.strip("'")), low, high) for cell in CELLS]
    wanted = [truth(cell) for cell in cells if cell is not None]
    largest = max(abs(value) for value in wanted if value is not None)
    found = over.exact(over.plan(f"DP-SELECT 1 SUM({text.format(column)}) FROM t"))[0].wide("m0").tolist()[0]
    total = sum(value for value in wanted if value is not None)
    assert float(found * made.step) == pytest.approx(
        total, abs=len(CELLS) * 1.5 * max(float(made.step), 1e-8 * largest)
    )
    assert all(made.low - 1 <= value / float(made.step) <= made.high + 1 for value in wanted if value is not None)


@pytest.mark.parametrize("form", FUNCTIONS, ids=lambda form: form[0])
@pytest.mark.parametrize("dialect", ["duckdb", "postgres", "spark"])
def test_no_node_of_a_function_can_fail(over, form, dialect):
    for column in ("x", "p", "w"):
        try:
            made = over.plan(f"DP-SELECT 1 SUM({form[0].format(column)}) FROM t")
        except QueryRefused:
            continue
        for statement in made.statements:
            assert prove(statement.sql(dialect), dialect, over.engine.schema()) > 3


@pytest.mark.parametrize(
    ("body", "word"),
    [
        ("SUM(EXP(w)) FROM t", "too large or too small"),
        ("SUM(POWER(x, p)) FROM t", "a power of a column to another"),
        ("SUM(POWER(-2, x)) FROM t", "a base above zero"),
        ("SUM(LOG(1, p)) FROM t", "a base above zero, other than one"),
        ("SUM(LOG(x, p)) FROM t", "LOG needs a constant base"),
        ("SUM(LN(-p)) FROM t", "needs numbers above zero"),
        ("SUM(SQRT(-p)) FROM t", "needs numbers above zero"),
        ("SUM(POWER(w, -1)) FROM t", "divisor may be zero"),
        ("SUM(p / w) FROM t", "divisor may be zero"),
        ("SUM(POWER(p, 1e30)) FROM t", "too large or too small"),
        ("SUM(POWER(x, 15)) FROM t", "could overflow"),
    ],
)
def test_what_has_no_bounds_is_refused_in_plain_words(over, body, word):
    with pytest.raises(QueryRefused, match=word):
        over.plan(f"DP-SELECT 1 {body}")


def test_the_hint_of_a_division_by_zero_is_answered_when_it_is_followed(over):
    assert over.plan("DP-SELECT 1 SUM(p / NULLIF(w, 0)) FROM t").measurements


def test_rounding_and_wide_quotients_are_said(over):
    notes = over.plan("DP-SELECT 1 SUM(p / NULLIF(w, 0)), AVG(LN(w)) FROM t").notes
    assert any("cut off to a multiple of" in note for note in notes)
    assert any("LEAST(GREATEST(a / b, 0), 100)" in note for note in notes)
    assert any("above zero, and is NULL elsewhere" in note for note in notes)
    assert any("rounded to a multiple of" in note for note in notes)


def test_a_quotient_that_is_not_negative_is_rounded_down_so_that_bands_are_exact():
    """Of every pair of whole numbers: FLOOR and >= of the quotient are those of the exact fraction."""
    a = g.Grid(arithmetic.exp.column("a"), Fraction(1, 10), 0, 60)
    b = g.Grid(arithmetic.exp.column("b"), Fraction(1, 100), 1, 40)
    quotient = g.divide(a, b)
    connection = duckdb.connect()
    found = connection.execute(
        f"SELECT a, b, {quotient.sql.sql('duckdb')} FROM range(61) AS r(a), range(1, 41) AS s(b)"
    ).fetchall()
    assert len(found) == 61 * 40
    for above, below, units in found:
        exact = Fraction(above, 10) / Fraction(below, 100)
        assert math.floor(units * quotient.step) == math.floor(exact)
        assert (units * quotient.step >= Fraction(5, 2)) == (exact >= Fraction(5, 2))
        assert quotient.low <= units <= quotient.high


def unguarded(patch):
    patch.setattr(functions, "_above_zero", lambda grid, what, orequal: replace(grid, low=1))


def not_null_for_zero(patch):
    patch.setattr(arithmetic, "or_null", lambda number: number)


@pytest.mark.parametrize(
    ("planted", "body"), [(unguarded, "SUM(LN(w)) FROM t"), (not_null_for_zero, "SUM(p / NULLIF(w, 0)) FROM t")]
)
def test_a_function_that_could_fail_on_a_row_is_noticed(over, planted, body, monkeypatch):
    planted(monkeypatch)
    (statement,) = over.plan(f"DP-SELECT 1 {body}").statements
    with pytest.raises(Unproved):
        prove(statement.sql("postgres"), "postgres", over.engine.schema())
