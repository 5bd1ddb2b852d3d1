"""Answers cut out of, and added up from, earlier ones: what follows from them is free, and nothing else is."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from conformance.sql_clinic import clinic, row_clinic
from conformance.sql_noiseless import switch_off
from conformance.sql_world import policy_of, world
from support.sources import Seeded
from tacit.core import Loss
from tacit.curator import Session
from tacit.mechanisms import Laplace
from tacit.mechanisms.sums import sum_reach
from tacit.policy import ColumnPolicy, TablePolicy

ANA = Session("ana")
FREE = Loss(0)
BY_DEPT = "DP-SELECT 1 dept, COUNT(*) FROM visits GROUP BY dept"
PICKED = "picked from an earlier answer"


@pytest.fixture
def by_row(tmp_path):
    return row_clinic().curator(tmp_path)


def spellings():
    return ["dept = 'CS'", "(dept = 'CS')", "dept IN ('CS')", "dept IN ('CS', 'Bio') AND dept = 'CS'"]


@pytest.mark.parametrize("where", spellings())
def test_one_public_key_of_an_earlier_answer_is_free(by_row, where):
    whole = by_row.ask(BY_DEPT, session=ANA)
    one = by_row.ask(f"DP-SELECT 1 COUNT(*) FROM visits WHERE {where}", session=ANA)
    assert one.reused == PICKED
    assert one.cost == FREE
    assert one.rows == ((dict(whole.rows)["CS"],),)
    assert one.errors[0][0] == whole.errors[0][1]
    assert one.receipt.guarantee.startswith("ε = 1 ")


@pytest.mark.parametrize("where", ["dept IN ('CS', 'Bio')", "dept = 'Bio' OR dept = 'CS'"])
def test_several_keys_are_added_up_and_the_error_is_that_of_the_sum(by_row, where):
    whole = dict(by_row.ask(BY_DEPT, session=ANA).rows)
    two = by_row.ask(f"DP-SELECT 1/2 COUNT(*) FROM visits WHERE {where}", session=ANA)
    assert two.reused == PICKED
    assert two.rows == ((whole["CS"] + whole["Bio"],),)
    assert two.errors[0][0] == sum_reach(Laplace(1), count=2, confidence=two.confidence)
    assert "each number adds up 2 noisy ones" in two.notes


def test_with_its_key_the_groups_left_out_are_not_shown(by_row):
    whole = dict(by_row.ask(BY_DEPT, session=ANA).rows)
    some = by_row.ask("DP-SELECT 1 dept, COUNT(*) FROM visits WHERE dept IN ('CS', 'Bio') GROUP BY dept", session=ANA)
    assert some.reused == PICKED
    assert some.rows == (("CS", whole["CS"]), ("Bio", whole["Bio"]))


def test_a_parameter_and_a_truth_value_pick_as_well(by_row):
    fine = by_row.ask("DP-SELECT 1 dept, insured, COUNT(*) FROM visits GROUP BY dept, insured", session=ANA)
    cells = {row[:2]: row[2] for row in fine.rows}
    one = by_row.ask("DP-SELECT 1 COUNT(*) FROM visits WHERE dept = ? AND NOT insured", ["Econ"], session=ANA)
    assert one.rows == ((cells["Econ", False],),)
    by_dept = by_row.ask("DP-SELECT 1 dept, COUNT(*) FROM visits WHERE insured GROUP BY dept", session=ANA)
    assert dict(by_dept.rows) == {dept: cells[dept, True] for dept in ("CS", "Econ", "Bio")}


def test_picked_and_rolled_up_at_once(by_row):
    fine = by_row.ask("DP-SELECT 1 dept, insured, COUNT(*) FROM visits GROUP BY dept, insured", session=ANA)
    cells = {row[:2]: row[2] for row in fine.rows}
    one = by_row.ask("DP-SELECT 1/2 COUNT(*) FROM visits WHERE dept = 'CS'", session=ANA)
    assert one.reused == "rolled up from a finer answer"
    assert one.rows == ((cells["CS", False] + cells["CS", True],),)
    assert any('public domain of "insured"' in note for note in one.notes)


def test_the_other_conditions_must_be_the_same(by_row):
    by_row.ask("DP-SELECT 1 dept, COUNT(*) FROM visits WHERE age > 30 AND NOT insured GROUP BY dept", session=ANA)
    same = "DP-SELECT 1 COUNT(*) FROM visits WHERE age > 30 AND dept = 'CS' AND NOT insured"
    assert by_row.ask(same, session=ANA).reused == PICKED
    for other in ("dept = 'CS'", "dept = 'CS' AND age > 30", "dept = 'CS' AND age > 31 AND NOT insured"):
        assert by_row.ask(f"DP-SELECT 1/100 COUNT(*) FROM visits WHERE {other}", session=ANA).reused is None


def test_what_a_fresh_answer_would_state_more_sharply_is_paid_for(by_row):
    by_row.ask(BY_DEPT.replace("1", "0.1"), session=ANA)
    for epsilon, where in (("0.1", "IN ('CS', 'Bio')"), ("0.08", "IN ('Econ', 'Bio')"), ("0.12", "= 'CS'")):
        text = f"DP-SELECT {epsilon} COUNT(*) FROM visits WHERE dept {where}"
        assert by_row.ask(text, session=ANA).reused is None
    two = by_row.ask("DP-SELECT 0.07 COUNT(*) FROM visits WHERE dept IN ('CS', 'Econ')", session=ANA)
    assert two.reused == PICKED  # of two, the error is 1.39 times that of one


@pytest.mark.parametrize(
    "where",
    [
        "dept IN ('CS', 'Art')",  # rows of it are in the table, and in no group
        "LOWER(dept) = 'cs'",
        "dept LIKE 'CS'",
        "dept = 'CS' AND LOWER(dept) = 'cs'",
        "dept = 'CS' OR insured",
        "dept = 'CS' OR age > 30",
        "dept = 'CS' AND age > 30",
        "dept = 'CS' AND dept = 'Bio'",
        "dept >= 'CS'",
        "weight = 1",
    ],
)
def test_a_condition_on_anything_but_public_keys_is_not_derived(by_row, where):
    by_row.ask(BY_DEPT, session=ANA)
    assert by_row.ask(f"DP-SELECT 1/100 COUNT(*) FROM visits WHERE {where}", session=ANA).reused is None


@pytest.mark.parametrize("value", ["AVG(age)", "MEDIAN(age)", "MODE(insured)", "HISTOGRAM(insured)", "MAX(age)"])
def test_averages_and_choices_are_not_picked(by_row, value):
    by_row.ask(f"DP-SELECT 1 dept, {value} FROM visits GROUP BY dept", session=ANA)
    for keys in ("", "dept, "):
        text = f"DP-SELECT 1/100 {keys}{value} FROM visits WHERE dept = 'CS' {'GROUP BY dept' if keys else ''}"
        assert by_row.ask(text, session=ANA).reused is None


def test_private_keys_are_not_picked(by_row):
    by_row.ask("DP-SELECT 1 DELTA 1e-3 city, COUNT(*) FROM visits GROUP BY city", session=ANA)
    assert by_row.ask("DP-SELECT 1/100 COUNT(*) FROM visits WHERE city = 'city1'", session=ANA).reused is None


ONE_KEPT = "DP-SELECT 1/100 dept, COUNT(*) FROM visits WHERE dept = 'CS' GROUP BY dept"
ONE_ALONE = "DP-SELECT 1/100 COUNT(*) FROM visits WHERE dept = 'CS'"


@pytest.mark.parametrize("bounding", ["sample", "weigh"])
def test_where_a_unit_s_groups_were_bounded_one_of_them_is_another_quantity(tmp_path, bounding):
    """With at most two groups a unit, what it counts for in CS depends on whether it is in Econ and Bio."""
    curator = clinic(bounding=bounding, max_groups=2).curator(tmp_path)
    curator.ask(BY_DEPT, session=ANA)
    assert curator.ask(ONE_KEPT, session=ANA).reused is None
    assert curator.ask(ONE_ALONE, session=ANA).reused is None


def test_where_a_unit_may_be_in_every_group_its_groups_are_picked_and_not_added_up(tmp_path):
    curator = clinic(max_groups=3).curator(tmp_path)
    whole = dict(curator.ask(BY_DEPT, session=ANA).rows)
    picked = curator.ask(ONE_KEPT, session=ANA)
    assert picked.reused == PICKED
    assert dict(picked.rows)["CS"] == whole["CS"]
    assert curator.ask(ONE_ALONE, session=ANA).reused is None
    two = "DP-SELECT 1/100 COUNT(*) FROM visits WHERE dept IN ('CS', 'Bio')"
    assert curator.ask(two, session=ANA).reused is None


KEPT = "DP-SELECT 1 dept, insured, COUNT(*), SUM(age), SUM(amount) FROM visits{} GROUP BY dept, insured"
QUESTIONS = [
    "COUNT(*) FROM visits WHERE dept = 'CS' AND insured",
    "SUM(age), COUNT(*) FROM visits WHERE dept = 'CS' AND NOT insured",
    "SUM(amount) - 3 * SUM(age) FROM visits WHERE dept IN ('CS', 'Bio') AND insured = TRUE",
    "insured, SUM(amount) FROM visits WHERE dept IN ('Econ', 'Bio') GROUP BY insured",
    "dept, insured, SUM(age) FROM visits WHERE insured GROUP BY dept, insured",
    "insured, dept, COUNT(*) FROM visits WHERE dept = 'Econ' GROUP BY insured, dept",
    "dept, COUNT(*) FROM visits WHERE NOT insured AND dept = 'Bio' GROUP BY dept",
]


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("condition", ["", " WHERE age > 40"])
def test_without_noise_what_is_derived_is_what_a_fresh_answer_says(tmp_path, monkeypatch, question, condition):
    switch_off(monkeypatch)
    curator = row_clinic().curator(tmp_path)
    curator.ask(KEPT.format(condition), session=ANA)
    if condition:
        question = question.replace(" WHERE", f"{condition} AND")
    free = curator.ask(f"DP-SELECT 1/100 {question}", session=ANA)
    paid = curator.ask(f"DP-SELECT 1/100 FRESH {question}", session=ANA)
    assert free.reused
    assert paid.reused is None
    assert sorted(free.rows) == sorted(paid.rows)


def test_a_sum_beyond_what_64_bits_hold_is_the_sum(by_row, monkeypatch):
    most = np.iinfo(np.int64).max
    monkeypatch.setattr(Laplace, "release", lambda self, values, source=None: np.full(np.shape(values), most))
    by_row.ask(BY_DEPT, session=ANA)
    found = by_row.ask("DP-SELECT 1/2 COUNT(*) FROM visits WHERE dept IN ('CS', 'Bio')", session=ANA)
    assert found.reused
    assert found.rows[0][0] == 2 * float(most)


@pytest.mark.parametrize(
    ("where", "depts"),
    [
        ("dept <> 'CS'", ("Econ", "Bio")),
        ("dept NOT IN ('CS', 'Bio')", ("Econ",)),
        ("NOT (dept = 'CS')", ("Econ", "Bio")),
        ("dept IS NOT NULL", ("CS", "Econ", "Bio")),
        ("dept = 'CS' OR dept = 'Bio'", ("CS", "Bio")),
        ("NOT (dept = 'CS' OR dept = 'Bio')", ("Econ",)),
    ],
)
def test_what_lets_through_more_than_the_domain_is_picked_and_says_so(by_row, where, depts):
    cells = dict(by_row.ask(BY_DEPT.replace("SELECT 1", "SELECT 9"), session=ANA).rows)
    found = by_row.ask(f"DP-SELECT 1/2 COUNT(*) FROM visits WHERE {where}", session=ANA)
    assert found.reused == PICKED
    assert found.rows == ((sum(cells[dept] for dept in depts),),)
    beyond = any('outside the public domain of "dept" are not in it' in note for note in found.notes)
    assert beyond == (where != "dept = 'CS' OR dept = 'Bio'")


RANGED = (
    "age BETWEEN 30 AND 39", "age < 40", "age <= 39", "30 <= age AND age < 45", "age NOT IN (30, 31)", "age <> 50",
    "age > 60", "age = 33", "age >= 18 AND age <= 90", "age NOT BETWEEN 20 AND 80", "age > 25.5",
)  # fmt: skip


@pytest.mark.parametrize("where", RANGED)
def test_ranges_over_listed_keys_are_picked_and_say_what_a_fresh_answer_says(tmp_path, monkeypatch, where):
    switch_off(monkeypatch)
    curator = row_clinic().curator(tmp_path)
    curator.ask("DP-SELECT 9 age, COUNT(*), SUM(age) FROM visits GROUP BY age", session=ANA)
    text = f"COUNT(*), SUM(age) FROM visits WHERE {where}"
    free = curator.ask(f"DP-SELECT 1/100 {text}", session=ANA)
    assert free.reused == PICKED
    assert free.rows == curator.ask(f"DP-SELECT 1/100 FRESH {text}", session=ANA).rows


SCALED = ("t", "-t", "t * 2", "t * -2", "t * 0.5", "t + 1", "ABS(t)", "FLOOR(t / 2) * 2", "0 - t")


@pytest.mark.parametrize("key", SCALED)
@pytest.mark.parametrize("together", [False, True])
def test_another_scale_of_a_column_is_not_the_column(tmp_path, monkeypatch, key, together):
    """Each value stands in another number of rows, and the domain is its own mirror image."""
    switch_off(monkeypatch)
    columns = [ColumnPolicy("t", lower=-10, upper=10, step=1, domain="range")]
    policy = policy_of([TablePolicy("s", "row", columns=columns)])
    rows = "CREATE TABLE s AS SELECT CAST(v AS INTEGER) AS t FROM range(-10, 11) AS a(v), range(12 + v) AS b(i)"
    curator = world(policy, rows).curator(tmp_path)
    first = [f"SELECT {key} AS k, COUNT(*) AS n FROM s GROUP BY 1", "SELECT COUNT(*) AS n FROM s WHERE t < 3"]
    if together:
        (found, _) = curator.batch(first, session=ANA, epsilon=90)
    else:
        found = curator.ask(f"DP-SELECT 90 {first[0][7:]}", session=ANA)
    fresh = curator.ask(f"DP-SELECT 90 FRESH {first[0][7:]}", session=ANA)
    assert dict(found.rows) == pytest.approx(dict(fresh.rows))
    picked = 0
    for where in ("t = 4", "t IN (2, 4, 6)", "t BETWEEN -3 AND 1", "t <> 2", "t > 5", "t = -4"):
        free = curator.ask(f"DP-SELECT 1/100 COUNT(*) AS n FROM s WHERE {where}", session=ANA)
        paid = curator.ask(f"DP-SELECT 1/100 FRESH COUNT(*) AS n FROM s WHERE {where}", session=ANA)
        assert free.rows[0][0] == pytest.approx(paid.rows[0][0]), where
        picked += free.reused is not None and not together
    assert together or (picked > 0) == (key == "t")


def test_a_long_condition_is_not_taken_apart(by_row):
    by_row.ask(BY_DEPT, session=ANA)
    long = " AND ".join(f"dept <> 'D{number}'" for number in range(60))
    assert by_row.ask(f"DP-SELECT 1/100 COUNT(*) FROM visits WHERE {long}", session=ANA).reused is None


RUNS = 6_000
FALSE_ALARM = 1e-9


@pytest.mark.parametrize(
    ("question", "cells"),
    [("run, COUNT(*) FROM t WHERE part IN ('a', 'b') GROUP BY run", 2), ("run, COUNT(*) FROM t GROUP BY run", 5)],
)
def test_the_error_that_is_stated_holds_as_often_as_stated(tmp_path, question, cells):
    """Nobody is in the table, so what comes back is noise. False alarms: 1e-9; four fifths of the error are noticed."""
    columns = [
        ColumnPolicy("run", lower=0, upper=RUNS - 1, step=1, domain="range"),
        ColumnPolicy("part", domain=["a", "b", "c", "d", "e"]),
    ]
    over = world(policy_of([TablePolicy("t", "row", columns=columns)]), "CREATE TABLE t (run INTEGER, part VARCHAR)")
    curator = over.curator(tmp_path, source=Seeded(cells))
    curator.ask("DP-SELECT 1/10 run, part, COUNT(*) FROM t GROUP BY run, part", session=ANA)
    found = curator.ask(f"DP-SELECT 1/100 CONFIDENCE 0.9 {question}", session=ANA)
    assert f"each number adds up {cells} noisy ones" in found.notes
    numbers = np.array([row[1] for row in found.rows])
    stated = found.errors[0][1]

    def surprise(width):
        beyond = int(np.count_nonzero(np.abs(numbers) > width))
        return stats.binom.sf(beyond - 1, RUNS, 0.1)

    assert surprise(stated) > FALSE_ALARM
    assert surprise(stated * 0.8) < FALSE_ALARM


@pytest.mark.parametrize("beside", ["MEDIAN(age)", "MODE(insured)", "COUNT(DISTINCT city)"])
@pytest.mark.parametrize("where", ["", " WHERE dept = 'CS'"])
def test_a_count_does_not_take_what_is_no_sum_along(by_row, beside, where):
    by_row.ask(f"DP-SELECT 1 dept, COUNT(*), {beside} FROM visits GROUP BY dept", session=ANA)
    assert by_row.ask(f"DP-SELECT 1 COUNT(*), {beside} FROM visits{where}", session=ANA).reused is None
