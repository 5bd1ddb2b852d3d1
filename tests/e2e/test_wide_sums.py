"""Sums beyond 64 bits: right, and with the right error bar, for any column that a policy can declare."""

from __future__ import annotations

import math

import pytest

from conformance.sql_world import policy_of, world
from tacit.curator import Session
from tacit.policy import ColumnPolicy, TablePolicy

ANA = Session("ana")
STATUS = ColumnPolicy("status", domain=("open", "closed", "void"))


def paid(rows=400_000, **table):
    """Amounts by the cent up to 300,000: their squares add up to more than 2^63 steps."""
    amount = ColumnPolicy("amount", type="number", lower=0, upper=300_000, step="0.01")
    columns = (amount, STATUS)
    cells = """id // 2 AS who, CAST((id * 7919 % 30000001) AS DOUBLE) / 100 AS amount,
               ['open', 'closed', 'void'][1 + id % 3] AS status"""
    policy = policy_of([TablePolicy("pays", columns=columns, **({"unit": "row"} | table))])
    return world(policy, f"CREATE TABLE pays AS SELECT {cells} FROM range({rows}) AS r(id)")


def truth(over, sql):
    rows = over.engine._connection.cursor().execute(sql).fetchall()
    return {row[:-1]: row[-1] for row in rows}


def answers(release):
    """What was released, and the half-widths, by the keys."""
    pairs = zip(release.rows, release.errors, strict=True)
    return {row[:-1]: (row[-1], errors[-1]) for row, errors in pairs}


def near(found, wanted):
    """Each answer within thrice its own error bar, which is not as wide as the answer."""
    assert set(found) == set(wanted)
    for key, (value, error) in found.items():
        assert abs(value - float(wanted[key])) <= 3 * error
        assert error < abs(float(wanted[key])) / 10


PEOPLE = {"unit": "who", "max_rows": 2, "max_groups": 2}


@pytest.mark.parametrize("table", [{}, PEOPLE, {**PEOPLE, "bounding": "sample"}], ids=["rows", "people", "sampled"])
@pytest.mark.parametrize("groups", ["", "status, "], ids=["whole", "by status"])
@pytest.mark.parametrize("asked", ["STDDEV(amount)", "VARIANCE(amount)", "SUM(amount)", "SUM(amount * amount)"])
def test_a_sum_beyond_64_bits_is_right_and_so_is_its_error(tmp_path, asked, groups, table):
    over = paid(**table)
    by = " GROUP BY status" if groups else ""
    release = over.curator(tmp_path).ask(f"DP-SELECT 50 {groups}{asked} AS s FROM pays{by}", session=ANA)
    near(answers(release), truth(over, f"SELECT {groups}{asked} FROM pays{by}"))


@pytest.mark.parametrize("delta", ["", "DELTA 1e-6 "])
@pytest.mark.parametrize("asked", ["STDDEV(amount)", "SUM(amount * amount)"])
def test_sums_beyond_64_bits_add_up_under_rollup(tmp_path, asked, delta):
    over = paid()
    body = f"status, {asked} AS s FROM pays GROUP BY ROLLUP (status)"
    release = over.curator(tmp_path).ask(f"DP-SELECT 50 {delta}{body}", session=ANA)
    near(answers(release), truth(over, f"SELECT {body}"))


def test_three_million_rows_of_many_bytes_are_not_capped(tmp_path):
    size = ColumnPolicy("bytes", type="integer", lower=0, upper=2**45)
    over = world(
        policy_of([TablePolicy("files", "row", columns=(size,))]),
        f"CREATE TABLE files AS SELECT (id * 1000003 % 97) * {2**45 // 97} AS bytes FROM range(3000000) AS r(id)",
    )
    release = over.curator(tmp_path).ask("DP-SELECT 1 SUM(bytes) AS s FROM files", session=ANA)
    wanted = truth(over, "SELECT SUM(bytes) FROM files")
    assert wanted[()] > 2**65
    near(answers(release), wanted)


@pytest.mark.parametrize("delta", ["", "DELTA 1e-6 "])
@pytest.mark.parametrize(
    "ends", [(0, 2**62), (-(2**62), 2**62), (-(2**62), 1 - 2**62), (2**62 - 9, 2**62), (-3, 2**40)], ids=str
)
@pytest.mark.parametrize("kind", ["BIGINT", "HUGEINT"])
def test_any_column_a_policy_can_declare_is_summed(tmp_path, ends, kind, delta):
    size = ColumnPolicy("x", type="integer", lower=ends[0], upper=ends[1])
    low, high = ends
    over = world(
        policy_of([TablePolicy("t", "row", columns=(size,))]),
        f"CREATE TABLE t AS SELECT CAST(CASE WHEN id % 3 = 0 THEN {low} ELSE {high} END AS {kind}) AS x "
        "FROM range(30000) AS r(id)",
    )
    for asked in ("SUM(x)", "AVG(x)"):
        (((value, error),)) = answers(
            over.curator(tmp_path).ask(f"DP-SELECT 400 {delta}FRESH {asked} AS s FROM t", session=ANA)
        ).values()
        exact = 10_000 * low + 20_000 * high
        wanted = exact if asked == "SUM(x)" else exact / 30_000
        rounding = 1e-12 * abs(wanted)
        assert abs(value - wanted) <= 3 * error + rounding
        assert error <= (high - low + max(abs(low), abs(high)) / 100)


@pytest.mark.parametrize("ends", [(0, 2**62), (-(2**62), 2**62), (10**15, 10**15 + 2**50), (0, 2**32)], ids=str)
def test_a_deviation_of_any_column_is_right_and_says_where_values_are_rounded(tmp_path, ends):
    low, high = ends
    size = ColumnPolicy("x", type="integer", lower=low, upper=high)
    over = world(
        policy_of([TablePolicy("t", "row", columns=(size,))]),
        f"CREATE TABLE t AS SELECT CASE WHEN id % 2 = 0 THEN {low} ELSE {high} END AS x FROM range(100000) AS r(id)",
    )
    release = over.curator(tmp_path).ask("DP-SELECT 50 STDDEV(x) AS s FROM t", session=ANA)
    (((value, error),)) = answers(release).values()
    assert abs(value - (high - low) / 2 * math.sqrt(100_000 / 99_999)) <= 3 * error
    assert error < (high - low) / 100
    assert any("rounded to" in note for note in release.notes)


def test_a_deviation_that_needs_no_rounding_says_nothing_of_it(tmp_path):
    release = paid(1000).curator(tmp_path).ask("DP-SELECT 1 STDDEV(amount) FROM pays", session=ANA)
    assert not any("rounded to" in note for note in release.notes)


def test_an_answer_beyond_64_bits_is_kept_and_used_again(tmp_path):
    curator = paid().curator(tmp_path)
    first = curator.ask("DP-SELECT 1 status, STDDEV(amount) AS s FROM pays GROUP BY status", session=ANA)
    again = curator.ask("DP-SELECT 1 status, STDDEV(amount) AS s FROM pays GROUP BY status", session=ANA)
    assert again.reused
    assert again.rows == first.rows
    rolled = curator.ask("DP-SELECT 1/100 STDDEV(amount) AS s FROM pays", session=ANA)
    assert rolled.reused == "rolled up from a finer answer"
    assert math.isclose(rolled.rows[0][0], 86_602, rel_tol=0.05)
