"""WITH BIAS: what it refuses, what it says, and that it is an answer like any other."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from conformance.sql_clinic import clinic, row_clinic
from conformance.sql_noiseless import switch_off
from tacit.accounting import loss_of
from tacit.core import Loss
from tacit.curator import Session, reading
from tacit.curator.measuring.bias import LEFT_OUT, level_scores, taken_by_bounds
from tacit.curator.measuring.noisy import Noisy
from tacit.errors import QueryRefused, QuerySyntaxError
from tacit.policy import ColumnPolicy
from tacit.sql import parse
from tacit.sql.planning.excess import SLIVER
from tacit.sql.planning.work import work_of

ANA = Session("ana")


@pytest.mark.parametrize(
    "head",
    ["1 WITH BIAS", "1 with bias", "1 FRESH WITH BIAS", "1 WITH BIAS DELTA 1e-6", "1 CONFIDENCE 0.9 WITH BIAS FRESH"],
)
def test_with_bias_stands_anywhere_in_the_price(head):
    assert parse(f"DP-SELECT {head} COUNT(*) FROM visits").bias
    assert parse(f"WITH t AS (SELECT * FROM visits) DP-SELECT {head} COUNT(*) FROM t").bias


@pytest.mark.parametrize("head", ["1", "1 FRESH", "WITHIN 5"])
def test_without_the_words_there_is_no_bias(head):
    assert not parse(f"DP-SELECT {head} bias, COUNT(*) FROM t GROUP BY bias").bias


@pytest.mark.parametrize("head", ["1 WITH", "1 WITH t AS (SELECT 1)", "1 WITH BIAS WITH BIAS"])
def test_with_and_anything_else_is_no_price(head):
    with pytest.raises((QuerySyntaxError, QueryRefused)):
        parse(f"DP-SELECT {head} COUNT(*) FROM visits")


@pytest.mark.parametrize(
    ("body", "word"),
    [
        ("MEDIAN(age) FROM visits", "MEDIAN(age)"),
        ("COUNT(*), MODE(dept) FROM visits", "MODE(dept)"),
        ("HISTOGRAM(dept) FROM visits", "HISTOGRAM(dept)"),
        ("COUNT(DISTINCT city) FROM visits", "COUNT(DISTINCT city)"),
        ("dept, COUNT(*) FROM visits GROUP BY ROLLUP (dept)", "ROLLUP"),
    ],
)
def test_what_has_no_bias_that_is_a_sum_is_refused_before_any_charge(tmp_path, body, word):
    curator = clinic().curator(tmp_path)
    with pytest.raises(QueryRefused, match="WITH BIAS is refused") as caught:
        curator.ask(f"DP-SELECT 1 WITH BIAS {body}", session=ANA)
    assert word in caught.value.message
    assert curator.balance("ana").total.spent.epsilon == 0
    with pytest.raises(QueryRefused, match="WITHIN is refused with BIAS"):
        curator.ask("DP-SELECT WITHIN 5 WITH BIAS COUNT(*) FROM visits", session=ANA)


def test_so_many_numbers_that_planning_would_take_long_are_refused(tmp_path):
    many, fewer = (", ".join(f"SUM(age + {place})" for place in range(count)) for count in (7, 6))
    curator = clinic().curator(tmp_path)
    assert len(clinic().plan(f"DP-SELECT 1 WITH BIAS {fewer} FROM visits").bias) == 6
    with pytest.raises(QueryRefused, match="so many numbers"):
        curator.explain(f"DP-SELECT 1 WITH BIAS {many} FROM visits", session=ANA)
    assert work_of(clinic().bound("DP-SELECT 1 WITH BIAS COUNT(*), SUM(age) FROM visits")) > 5 * work_of(
        clinic().bound("DP-SELECT 1 COUNT(*), SUM(age) FROM visits")
    )


def test_the_price_is_what_was_typed_and_the_sliver_comes_out_of_it(tmp_path):
    world = clinic()
    plain, biased = (world.plan(f"DP-SELECT 1 {words}COUNT(*) FROM visits") for words in ("", "WITH BIAS "))
    assert plain.loss == biased.loss
    assert biased.measurements[0].noise.scale == plain.measurements[0].noise.scale / (1 - SLIVER)
    assert sum(e.epsilon + e.choice.loss(1).epsilon for e in biased.bias) == SLIVER
    assert clinic().curator(tmp_path).ask("DP-SELECT 1 WITH BIAS COUNT(*) FROM visits", session=ANA).cost.epsilon == 1


@pytest.mark.parametrize("adjacency", ["add/remove", "replace"])
@pytest.mark.parametrize(
    "asked", ["COUNT(*)", "COUNT(*), COUNT(age)", "AVG(amount), COUNT(*), COUNT(DISTINCT patient_id)"]
)
def test_however_many_numbers_have_a_bias_they_cost_the_sliver_together(asked, adjacency):
    made = clinic(dataset={"adjacency": adjacency}).plan(f"DP-SELECT 1/3 WITH BIAS {asked} FROM visits")
    steps = made.unit.adjacency.steps
    spent = [loss_of(event).epsilon for excess in made.bias for event in excess.events(steps)]
    assert sum(spent) == Fraction(1, 3) * SLIVER
    assert loss_of(made.event) == made.loss == Loss(Fraction(1, 3))


@pytest.mark.parametrize("body", ["SUM(weight) FROM visits", "dept, SUM(weight) FROM visits GROUP BY dept"])
def test_without_noise_the_interval_of_clamped_rows_holds_what_all_of_them_say(tmp_path, monkeypatch, body):
    switch_off(monkeypatch)
    world = row_clinic(columns=(*clinic().policy.tables[0].columns[:7], _weight()))
    monkeypatch.setattr("tacit.mechanisms.Exponential.release", lambda self, scores, source=None: len(scores) - 1)
    answer = world.curator(tmp_path).ask(f"DP-SELECT 400 WITH BIAS {body}", session=ANA)
    exact = world.engine._connection.cursor().execute(f"SELECT {body}").fetchall()
    known = {row[:-1]: row[-1] for row in exact}
    for row, errors in zip(answer.rows, answer.errors, strict=True):
        assert errors[-1] > 0, "most weights are cut"
        assert abs(row[-1] - float(known[row[:-1]])) <= errors[-1] + 1e-6


def test_where_nothing_can_be_cut_nothing_is_paid_for_it():
    """A row that is a unit counts once, whatever the bounds; and so does a unit that is counted in no groups."""
    for made in (
        row_clinic().plan("DP-SELECT 1 WITH BIAS COUNT(*) FROM visits"),
        clinic().plan("DP-SELECT 1 WITH BIAS COUNT(DISTINCT patient_id) FROM visits"),
    ):
        assert made.bias == ()
        assert made.measurements[0].noise.scale == 1


@pytest.mark.parametrize("bounding", ["sample", "weigh"])
@pytest.mark.parametrize(
    "body",
    [
        "COUNT(*) FROM visits",
        "dept, COUNT(*) FROM visits GROUP BY dept",
        "dept, SUM(amount) FROM visits GROUP BY dept",
        "dept, AVG(amount), STDDEV(age) FROM visits WHERE insured GROUP BY dept",
        "SUM(weight * 2) FROM visits",
    ],
)
def test_without_noise_the_interval_holds_what_all_rows_say(tmp_path, monkeypatch, bounding, body):
    """Every excess is below the level, so that what the bounds cut is known to the last row."""
    switch_off(monkeypatch)
    world = clinic(bounding=bounding, columns=(*clinic().policy.tables[0].columns[:7], _weight()))
    monkeypatch.setattr("tacit.mechanisms.Exponential.release", lambda self, scores, source=None: len(scores) - 1)
    answer = world.curator(tmp_path).ask(f"DP-SELECT 400 WITH BIAS {body}", session=ANA)
    exact = world.engine._connection.cursor().execute(f"SELECT {body}").fetchall()
    known = {row[:-1] if "GROUP" not in body else row[0]: row for row in exact}
    for row, errors in zip(answer.rows, answer.errors, strict=True):
        whole = known[row[0]] if "GROUP" in body else exact[0]
        for shown, error, true in zip(row, errors, whole, strict=True):
            assert error is None or abs(shown - float(true)) <= error + 1e-6


def _weight():
    return ColumnPolicy("weight", lower=0, upper=20, step=1)  # most weights are far above


def test_the_answer_says_what_its_error_bars_cover(tmp_path):
    answer = clinic().curator(tmp_path).ask("DP-SELECT 1 WITH BIAS AVG(amount) FROM visits", session=ANA)
    assert "± covers the noise and what the bounds cut, 95% of the time" in answer.footer()
    assert answer.to_dict()["covers"] == "the noise and what the bounds cut"
    assert sum(note.startswith("± of") for note in answer.notes) == 2
    assert any("± covers values of amount within" in note for note in answer.notes)


def test_the_same_question_is_free_again_and_another_is_not_served_from_it(tmp_path):
    curator = clinic().curator(tmp_path)
    asked = "DP-SELECT 1 WITH BIAS dept, COUNT(*) FROM visits GROUP BY dept"
    first, again = curator.ask(asked, session=ANA), curator.ask(asked, session=ANA)
    assert (again.rows, again.errors) == (first.rows, first.errors)
    assert again.cost.epsilon == 0
    for other in (
        asked.replace(" WITH BIAS", ""),
        asked.replace("SELECT 1", "SELECT 1/2"),
        "DP-SELECT 1/2 WITH BIAS COUNT(*) FROM visits",
    ):
        assert curator.ask(other, session=ANA).cost.epsilon > 0


def test_what_was_cut_survives_the_shelf(tmp_path, monkeypatch):
    kept = []
    curator = clinic().curator(tmp_path)
    whole = reading.measure
    monkeypatch.setattr(reading, "measure", lambda *args, **named: kept.append(whole(*args, **named)) or kept[-1])
    curator.ask("DP-SELECT 1 WITH BIAS dept, COUNT(*) FROM visits GROUP BY dept", session=ANA)
    back = Noisy.from_bytes(kept[0].to_bytes())
    one, other = kept[0].columns[0].cut, back.columns[0].cut
    assert one.numbers.tolist() == other.numbers.tolist()
    assert (one.part, one.scale, one.level, one.spare) == (other.part, other.scale, other.level, other.spare)
    low, high = taken_by_bounds(other, Fraction(95, 100), one_sided=True)
    assert (low == 0).all()
    assert (high > 0).all()


def test_a_level_is_preferred_by_the_units_it_leaves_fewer_above_it():
    choice = clinic().plan("DP-SELECT 400 WITH BIAS COUNT(*) FROM visits").bias[0].choice
    counts = np.array([900, 40, 50, 0, 0, 10, 0, 0])
    assert int(np.argmax(level_scores(counts, choice))) == 5
    counts = np.array([1000, 0, 0, 0])
    assert int(np.argmax(level_scores(counts, choice))) == 0


def test_bounds_that_cannot_be_wider_leave_clamping_uncovered_and_say_so(tmp_path):
    """A thousand times as wide, a trillion rows of this column, weighed, could leave 128 bits."""
    columns = (ColumnPolicy("age", lower=-(2**45), upper=2**45, step=1), *clinic().policy.tables[0].columns[2:5])
    answer = clinic(columns=columns).curator(tmp_path).ask("DP-SELECT 1 WITH BIAS SUM(age) FROM visits", session=ANA)
    assert "± does not cover what clamping does" in answer.notes
    assert any(note.startswith("± of SUM(age)") for note in answer.notes)


def test_error_bars_that_cover_the_bounds_say_that_a_join_left_rows_out(tmp_path):
    """A row meets a hundred rows of its own unit: what is cut so is in no ±, and that is said where ± is explained."""
    curator = clinic(max_rows=5).curator(tmp_path)
    joined = "COUNT(*) FROM visits a JOIN visits b ON a.patient_id = b.patient_id"
    answer = curator.ask(f"DP-SELECT 1 WITH BIAS {joined}", session=ANA)
    assert answer.covers == f"the noise and what the bounds cut{LEFT_OUT}"
    assert LEFT_OUT in str(answer)
    assert LEFT_OUT in str(curator.explain(f"DP-SELECT 1 WITH BIAS {joined}", session=ANA))
    assert curator.ask(f"DP-SELECT 1 {joined}", session=ANA).covers == "the noise alone"
    alone = curator.ask("DP-SELECT 1 WITH BIAS COUNT(*) FROM visits", session=ANA)
    assert LEFT_OUT not in str(alone)
    curator._ledger.close()
