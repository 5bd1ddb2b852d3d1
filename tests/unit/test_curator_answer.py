"""Noisy columns into rows: what has no value is NULL, and never a number without an error bar."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from conformance.sql_clinic import clinic
from conformance.sql_noiseless import switch_off
from tacit.curator import Session
from tacit.curator.answer import answer as answered
from tacit.curator.answer import cut_notes
from tacit.curator.measuring.noisy import Noisy, NoisyColumn
from tacit.mechanisms.sums import sum_reach
from tacit.sql.binding import post
from tacit.sql.binding.conditions import Condition
from tacit.sql.planning.errors_expected import half_width
from tacit.sql.planning.output_laws import _representable, shared_confidence

ANA = Session("ana")
EMPTY = [
    "AVG(amount)",
    "VARIANCE(amount)",
    "VAR_POP(amount)",
    "STDDEV(amount)",
    "AVG(amount) + 1",
    "ROUND(AVG(amount), 1)",
    "ABS(AVG(amount))",
    "AVG(amount) / AVG(age)",
    "SUM(amount) / COUNT(amount)",
    "SUM(amount) / COUNT(*)",
]


@pytest.mark.parametrize("asked", EMPTY)
@pytest.mark.parametrize("over", ["FROM visits WHERE age < 0", "FROM visits WHERE age < 0 GROUP BY dept"])
def test_what_has_no_rows_is_null_and_has_no_error_bar(tmp_path, monkeypatch, asked, over):
    """At a price so high that noise is all but none, the midpoint of the bounds ± 0 was the answer."""
    switch_off(monkeypatch)
    curator = clinic().curator(tmp_path)
    answer = curator.ask(f"DP-SELECT 400 {asked} AS x {over}", session=ANA)
    assert {row[-1] for row in answer.rows} == {None}
    assert {errors[-1] for errors in answer.errors} == {None}
    assert "NULL" in answer.to_markdown()
    assert "NaN" not in answer.to_json()


def test_the_sets_of_a_rollup_say_null_where_nobody_is(tmp_path, monkeypatch):
    switch_off(monkeypatch)
    curator = clinic().curator(tmp_path)
    text = "DP-SELECT 400 dept, AVG(amount) AS x FROM visits WHERE age < 0 GROUP BY ROLLUP (dept)"
    answer = curator.ask(text, session=ANA)
    assert {row[1] for row in answer.rows} == {None}
    assert {errors[1] for errors in answer.errors} == {None}


def test_the_sample_variance_of_one_row_is_null(tmp_path, monkeypatch):
    switch_off(monkeypatch)
    world = clinic(unit="row", max_groups=1, max_rows=1)
    curator = world.curator(tmp_path)
    one = "FROM visits WHERE amount = 0.37 AND age = 25"
    answer = curator.ask(f"DP-SELECT 400 COUNT(*), VARIANCE(amount), VAR_POP(amount) {one}", session=ANA)
    assert answer.rows[0][0] == 1
    assert answer.rows[0][1] is None
    assert answer.rows[0][2] is not None


def test_an_average_whose_count_may_be_more_than_nothing_keeps_its_error_bar(tmp_path):
    """The control: where rows cannot be ruled out, the whole range is said."""
    curator = clinic().curator(tmp_path)
    answer = curator.ask("DP-SELECT 0.1 AVG(amount) FROM visits WHERE age < 0", session=ANA)
    if answer.rows[0][0] is not None:
        assert answer.errors[0][0] > 0


def test_null_is_last_in_order_and_no_comparison_holds_for_it(tmp_path, monkeypatch):
    switch_off(monkeypatch)
    curator = clinic().curator(tmp_path)
    asked = "DP-SELECT 400 dept, AVG(amount) AS x FROM visits WHERE dept <> 'Econ' OR age < 0 GROUP BY dept"
    ordered = curator.ask(f"{asked} ORDER BY x", session=ANA)
    assert [row[0] for row in ordered.rows][-1] == "Econ"
    assert [row[0] for row in curator.ask(f"{asked} ORDER BY x DESC", session=ANA).rows][-1] == "Econ"
    for having in ("AVG(amount) > 0", "NOT AVG(amount) > 0", "AVG(amount) <> 5", "NOT AVG(amount) BETWEEN 0 AND 1"):
        kept = curator.ask(f"{asked} HAVING {having}", session=ANA)
        assert "Econ" not in {row[0] for row in kept.rows}, having
    either = curator.ask(f"{asked} HAVING AVG(amount) > 0 OR COUNT(*) < 1", session=ANA)
    assert "Econ" in {row[0] for row in either.rows}


def test_conditions_follow_the_logic_of_sql():
    null, one = post.Band(*(np.array([x]) for x in (np.nan, -9.0, 9.0))), post.Band(*(np.ones(1) for _ in range(3)))
    unknown = Condition("=", (post.Ref(0), post.Number(Fraction(1))))
    true = Condition("=", (post.Ref(1), post.Number(Fraction(1))))
    false = Condition("NOT", parts=(true,))

    def holds(condition):
        return bool(condition.holds([null, one])[0])

    assert [holds(each) for each in (unknown, true, false, Condition("NOT", parts=(unknown,)))] == [0, 1, 0, 0]
    assert holds(Condition("OR", parts=(unknown, true)))
    assert not holds(Condition("OR", parts=(unknown, false)))
    assert not holds(Condition("AND", parts=(unknown, true)))
    assert holds(Condition("NOT", parts=(Condition("AND", parts=(unknown, false)),)))


@pytest.mark.parametrize("cells", [1, 5])
def test_the_widths_a_plan_remembers_are_those_of_each_number_and_of_its_share(tmp_path, cells):
    """Of COUNT, SUM and a sum of both every width is another; and of numbers that were added up, another again."""
    curator = clinic().curator(tmp_path)
    text = "DP-SELECT 1 COUNT(*) AS n, SUM(amount) AS s, COUNT(*) + SUM(amount) AS both FROM visits"
    job = curator.prepare(text, session=ANA)
    plan = job.pieces[0].plan
    assert curator.prepare(text, session=ANA) is job
    for added_up in (3, cells):
        noisy = Noisy(
            ((),),
            tuple(
                NoisyColumn(m.measure.signature, m.step, numbers=np.array([1000]), cells=added_up)
                for m in plan.measurements
            ),
            private_keys=False,
        )
        (errors,) = answered(plan, noisy).errors

        def width(index: int, share: int, count: int = added_up) -> float:
            measurement, confidence = plan.measurements[index], shared_confidence(plan.confidence, share)
            if count == 1:
                return half_width(measurement, confidence)
            return float(sum_reach(measurement.added, count=count, confidence=confidence) * measurement.step)

        assert errors[:2] == pytest.approx((width(0, 1), width(1, 1)), rel=1e-12)
        apart = width(0, 2) + width(1, 2)
        if added_up == 1:  # by the law of the sum of both
            assert max(errors[:2]) <= errors[2] < apart
        else:
            assert errors[2] == pytest.approx(apart, rel=1e-12)
        assert len({width(0, 1), width(1, 1), width(0, 2), width(1, 2)}) == 4


@pytest.mark.parametrize(
    ("numbers", "said"), [((900, 500, 100), "farther apart than their ±"), ((900, 500, 499), "is not sure")]
)
def test_an_answer_that_is_cut_says_how_sure_its_first_rows_are(numbers, said):
    plan = clinic().plan("DP-SELECT 1 dept, COUNT(*) AS n FROM visits GROUP BY dept ORDER BY n DESC LIMIT 2")
    signature = plan.measurements[0].measure.signature
    column = NoisyColumn(signature, Fraction(1), numbers=np.array(numbers, dtype=np.int64))
    noisy = Noisy((("CS",), ("Econ",), ("Bio",)), (column,), private_keys=False)
    (note,) = cut_notes(plan, noisy)
    assert said in note
    whole = clinic().plan("DP-SELECT 1 dept, COUNT(*) AS n FROM visits GROUP BY dept ORDER BY n DESC LIMIT 3")
    by_key = clinic().plan("DP-SELECT 1 dept, COUNT(*) AS n FROM visits GROUP BY dept ORDER BY dept LIMIT 2")
    assert cut_notes(whole, noisy) == cut_notes(by_key, noisy) == ()


@pytest.mark.parametrize(
    ("weight", "size"),
    [(0, 0.0), (Fraction(-1, 4), -0.25), (Fraction(1, 10**320), None), (Fraction(1, 10**400), None), (10**400, None)],
)
def test_a_weight_is_a_double_or_is_not_taken_for_one(weight, size):
    assert _representable(Fraction(weight)) == size
