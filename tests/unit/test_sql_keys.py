"""Group keys: which are public, their values in order, and which rows belong to none."""

from __future__ import annotations

from datetime import date, datetime
from fractions import Fraction

import pytest

from conformance.sql_clinic import clinic
from conformance.sql_world import policy_of, world
from support.sources import Seeded
from tacit.curator.measuring.measure import measure
from tacit.errors import QueryRefused
from tacit.policy import ColumnPolicy, ColumnType, TableDomain, TablePolicy


@pytest.fixture(scope="module")
def over():
    return clinic()


def key_of(over, text):
    return over.bound(f"DP-SELECT 1 DELTA 1e-6 {text}, COUNT(*) FROM visits GROUP BY 1").keys[0]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("dept", ("CS", "Econ", "Bio")),
        ("insured", (False, True)),
        ("age", tuple(range(18, 91))),
        ("FLOOR(age / 10)", tuple(range(1, 10))),
        ("FLOOR(age / 10) * 10", tuple(range(10, 91, 10))),
        ("age // 40", (0, 1, 2)),
        ("age % 3", (0, 1, 2)),
        ("ROUND(age, -1)", tuple(range(20, 91, 10))),
        ("CASE WHEN age < 30 THEN 'young' WHEN age < 60 THEN 'middle' ELSE 'old' END", ("young", "middle", "old")),
        ("CASE dept WHEN 'CS' THEN 1 WHEN 'Bio' THEN 1 WHEN 'Econ' THEN 2 END", (1, 2)),
        ("CASE WHEN insured THEN 0.5 ELSE 1.5 END", (Fraction(1, 2), Fraction(3, 2))),
        ("CASE WHEN insured THEN DATE '2024-01-01' END", (date(2024, 1, 1),)),
        ("age >= 60", (False, True)),
        ("dept = 'CS' OR insured", (False, True)),
        ("NOT insured", (False, True)),
        ("dept LIKE 'C%'", (False, True)),
        ("city IS NULL", (False, True)),
        ("age BETWEEN 20 AND 30", (False, True)),
        ("EXTRACT(MONTH FROM seen)", tuple(range(1, 13))),
        ("MONTH(seen)", tuple(range(1, 13))),
        ("QUARTER(seen)", (1, 2, 3, 4)),
        ("EXTRACT(DOW FROM seen)", tuple(range(7))),
        ("DAY(seen)", tuple(range(1, 32))),
        ("YEAR(seen)", (2024,)),
        ("HOUR(at)", tuple(range(24))),
        ("DATE_TRUNC('month', seen)", tuple(date(2024, month, 1) for month in range(1, 13))),
        ("DATE_TRUNC('quarter', seen)", tuple(date(2024, month, 1) for month in (1, 4, 7, 10))),
        ("DATE_TRUNC('year', seen)", (date(2024, 1, 1),)),
    ],
)
def test_a_public_key_lists_its_values_in_order(over, text, values):
    key = key_of(over, text)
    assert key.is_public
    assert key.values == values


def test_weeks_begin_on_mondays_and_cover_the_range(over):
    weeks = key_of(over, "DATE_TRUNC('week', seen)").values
    assert weeks[0] == date(2024, 1, 1)
    assert all(week.weekday() == 0 for week in weeks)
    assert weeks[-1] == date(2024, 12, 30)
    assert len(weeks) == 53


@pytest.mark.parametrize(
    "text",
    [
        "city",
        "LOWER(city)",
        "SUBSTRING(city, 1, 2)",
        "weight",
        "COALESCE(city, 'x')",
        "YEAR(at)",
        "DATE_TRUNC('month', at)",
        "DATE_TRUNC('hour', at)",
        "amount",
        "amount * amount",
        "LENGTH(city)",
    ],
)
def test_a_key_without_a_public_domain_is_private(over, text):
    assert not key_of(over, text).is_public


def test_private_keys_need_a_delta_and_the_refusal_says_so(over):
    with pytest.raises(QueryRefused, match="need a delta") as caught:
        over.plan("DP-SELECT 1 city, COUNT(*) FROM visits GROUP BY city")
    assert "declare the column's domain" in caught.value.hint


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("FLOOR(amount / 100)", range(6)),
        ("FLOOR(amount / 100) * 100", range(0, 501, 100)),
        ("amount // 250", range(3)),
        ("TRUNC(amount, -2)", range(0, 501, 100)),
        ("ROUND(amount, -2)", range(0, 501, 100)),
        ("ROUND(amount)", range(501)),
        ("amount - amount % 100", range(0, 501, 100)),
        ("WIDTH_BUCKET(amount, 100, 400, 3)", range(5)),
        ("WIDTH_BUCKET(amount, 400, 100, 3)", range(5)),
        ("WIDTH_BUCKET(amount, -10, 1000, 2)", (1, 2)),
        ("LEAST(GREATEST(ROUND(amount), 3), 7)", range(3, 8)),
        ("SIGN(amount - 250)", (-1, 0, 1)),
        ("ROUND(amount / (age + 1), -1)", range(0, 31, 10)),
    ],
)
def test_bins_of_any_bounded_column_are_public_whatever_its_step(over, text, values):
    """What is computed from a clamped column lies on a grid that everyone knows: no row says which bins there are."""
    assert key_of(over, text).values == tuple(values)
    assert over.plan(f"DP-SELECT 1 {text}, COUNT(*) FROM visits GROUP BY 1").selection is None


def test_where_bins_are_too_many_to_list_their_keys_are_private(over):
    assert key_of(over, "amount * amount").values is None


def test_a_case_whose_branches_differ_in_type_is_refused(over):
    with pytest.raises(QueryRefused, match="different types"):
        key_of(over, "CASE WHEN insured THEN 1 ELSE 'x' END")


def test_too_many_values_are_refused_with_their_number(over):
    with pytest.raises(QueryRefused, match="too many groups"):
        key_of(over, "age * age * age * age")


# ── through the engine ───────────────────────────────────────────────────────────────────────────────────────────────


def counts(over, text, *, public=None, table="t"):
    made = over.plan(f"DP-SELECT 1e6 {text}, COUNT(*) FROM {table} GROUP BY 1")
    noisy = measure(made, over.exact(made), public=public or {}, source=Seeded(1))
    return {key[0]: int(number) for key, number in zip(noisy.keys, noisy.columns[0].numbers, strict=True)}


def table_of(kind, cells, **column):
    policy = policy_of([TablePolicy("t", "row", columns=[ColumnPolicy("x", **column)])])
    return world(
        policy, f"CREATE TABLE t (x {kind})", f"INSERT INTO t VALUES {', '.join(f'({cell})' for cell in cells)}"
    )


@pytest.mark.parametrize("kind", ["DOUBLE", "FLOAT", "DECIMAL(8,3)"])
def test_listed_numbers_are_found_whatever_type_holds_them(kind):
    over = table_of(kind, ["0.1", "0.1", "0.5", "2", "3", "NULL"], domain=[Fraction(1, 10), Fraction(1, 2), 2, 7])
    assert counts(over, "x") == {Fraction(1, 10): 2, Fraction(1, 2): 1, 2: 1, 7: 0}


@pytest.mark.parametrize("kind", ["TINYINT", "BIGINT", "HUGEINT", "UBIGINT", "UHUGEINT", "DOUBLE", "DECIMAL(5,0)"])
def test_listed_whole_numbers_are_found_too(kind):
    over = table_of(kind, ["1", "1", "3", "99", "NULL"], domain=[1, 2, 3])
    assert counts(over, "x") == {1: 2, 2: 0, 3: 1}


@pytest.mark.parametrize("kind", ["VARCHAR", "ENUM('a', 'b', 'c')"])
def test_listed_texts_are_found_byte_by_byte(kind):
    over = table_of(kind, ["'a'", "'a'", "'b'", "NULL"], domain=["a", "c"])
    assert counts(over, "x") == {"a": 2, "c": 0}


def test_collation_equal_texts_are_different_keys():
    over = table_of("VARCHAR", ["'ß'", "'ss'", "'ss'", "'SS'"], domain=["ß", "ss"])
    assert counts(over, "x") == {"ß": 1, "ss": 2}


def test_a_range_of_dates_keeps_what_is_in_it():
    over = table_of(
        "DATE",
        ["'2024-01-01'", "'2024-01-03'", "'2023-12-31'", "'infinity'", "NULL"],
        type="date",
        lower="2024-01-01",
        upper="2024-01-03",
        domain="range",
    )
    assert counts(over, "x") == {date(2024, 1, 1): 1, date(2024, 1, 2): 0, date(2024, 1, 3): 1}


def test_a_range_of_numbers_rounds_what_is_in_it_and_leaves_out_the_rest():
    over = table_of(
        "DOUBLE",
        ["0.24", "0.26", "1", "1.01", "-0.01", "'nan'", "NULL"],
        lower=0,
        upper=1,
        step=Fraction(1, 2),
        domain="range",
    )
    assert counts(over, "x") == {0: 1, Fraction(1, 2): 1, 1: 1}


def test_the_ends_of_a_range_belong_to_it_in_single_precision_too():
    over = table_of("FLOAT", ["0.1", "0.3", "0.3", "0.31"], lower="0.1", upper="0.3", step="0.1", domain="range")
    assert counts(over, "x") == {Fraction(1, 10): 1, Fraction(1, 5): 0, Fraction(3, 10): 2}


def test_timestamps_are_binned_by_day():
    over = table_of(
        "TIMESTAMP",
        ["'2024-01-01 05:00:00'", "'2024-01-02 23:59:59.9'", "'infinity'"],
        type="timestamp",
        lower="2024-01-01T00:00:00",
        upper="2024-01-02T23:59:59",
        domain="range",
    )
    assert counts(over, "DATE_TRUNC('day', x)") == {datetime(2024, 1, 1): 1, datetime(2024, 1, 2): 1}  # noqa: DTZ001 - zoneless, as columns are


def test_rows_whose_case_has_no_branch_are_in_no_group():
    over = table_of("INTEGER", ["1", "2", "3", "NULL"], domain=[1, 2, 3])
    assert counts(over, "CASE WHEN x = 1 THEN 'one' WHEN x = 2 THEN 'two' END") == {"one": 1, "two": 1}


def test_the_column_of_a_public_table_is_a_domain():
    domain = TableDomain("towns", "name")
    visits = TablePolicy("t", "row", columns=[ColumnPolicy("x", domain=domain)])
    policy = policy_of([visits, TablePolicy("towns", public=True)])
    over = world(
        policy,
        "CREATE TABLE t AS FROM (VALUES ('Bern'), ('Bern'), ('Oslo')) AS v(x)",
        "CREATE TABLE towns AS FROM (VALUES ('Bern'), ('Rome')) AS v(name)",
    )
    key = over.bound("DP-SELECT 1 x, COUNT(*) FROM t GROUP BY x").keys[0]
    assert key.values == domain
    assert key.kind is ColumnType.TEXT
    assert counts(over, "x", public={domain: ("Bern", "Rome")}) == {"Bern": 2, "Rome": 0}
