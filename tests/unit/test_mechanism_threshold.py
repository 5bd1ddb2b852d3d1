"""The sparse vector technique and the reusable holdout's test: runs, their price and their end."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from support.sources import Seeded
from tacit.accounting.event_loss import tally
from tacit.core import Adjacency, ComposedEvent, LaplaceEvent, Loss, PureEvent
from tacit.errors import InvalidParameter, QueryRefused
from tacit.mechanisms import AboveThreshold, Laplace, Thresholdout
from tacit.mechanisms.above_threshold import ThresholdLanes

ADD, REPLACE = Adjacency.ADD_REMOVE, Adjacency.REPLACE


def sharp(hits: int = 2) -> AboveThreshold:
    """So little noise that answers are as good as certain."""
    return AboveThreshold(100, hits, threshold_scale="1/40", query_scale="1/40", adjacency=REPLACE)


def test_a_run_says_which_answers_are_above_until_it_has_had_its_hits():
    run = sharp(hits=2).start(Seeded(1))
    assert [run.ask(value) for value in (0, 99, 100, -(10**18), 10**18)] == [False, False, True, False, True]
    assert run.hits_left == 0
    with pytest.raises(QueryRefused, match="the run is over"):
        run.ask(0)


def test_a_run_costs_its_whole_price_however_it_ends():
    mechanism = AboveThreshold(0, 3, threshold_scale=4, query_scale=8, adjacency=REPLACE)
    assert mechanism.loss(1) == Loss(Fraction(1, 4) + 3 * 2 * Fraction(1, 8))
    assert mechanism.event(1) == PureEvent(Fraction(1))
    monotone = AboveThreshold(0, 3, threshold_scale=4, query_scale=8, adjacency=ADD, monotone=True)
    assert monotone.loss(1) == Loss(Fraction(1, 4) + 3 * Fraction(1, 8))


def test_a_renewed_threshold_is_paid_for_in_every_round():
    mechanism = AboveThreshold(0, 3, threshold_scale=4, query_scale=8, adjacency=REPLACE, renews=True)
    a_round = Fraction(1, 4) + 2 * Fraction(1, 8)
    assert mechanism.loss(1) == Loss(3 * a_round)
    assert mechanism.event(1) == ComposedEvent(((PureEvent(a_round), 3),))
    monotone = AboveThreshold(0, 3, threshold_scale=4, query_scale=8, adjacency=ADD, monotone=True, renews=True)
    assert monotone.loss(1) == Loss(3 * (Fraction(1, 4) + Fraction(1, 8)))


@pytest.mark.parametrize("monotone", [False, True])
def test_ten_hits_need_far_less_noise_without_renewing(monotone):
    once, anew = (
        AboveThreshold.costing(Loss(1), 1, threshold=0, hits=10, adjacency=ADD, monotone=monotone, renews=renews)
        for renews in (False, True)
    )
    spreads = [float(m.threshold_scale**2 + m.query_scale**2) ** 0.5 for m in (once, anew)]
    assert spreads[1] > 1.5 * spreads[0]


def test_a_hit_tells_by_how_much_and_a_miss_does_not():
    run = sharp(hits=2).start(Seeded(1))
    assert [run.gap(value) for value in (99, 100, 137)] == [None, 0, 37]
    with pytest.raises(QueryRefused, match="the run is over"):
        run.gap(0)


def test_a_gap_is_measured_from_the_noisy_threshold():
    """Were it measured from the public threshold, it would be the noisy answer, whose noise was used already."""
    mechanism = AboveThreshold(0, 1, threshold_scale=50, query_scale="1/100", adjacency=ADD)
    gaps = ThresholdLanes(mechanism, 20_000, source=Seeded(8)).gaps(1000)
    assert 60 < gaps.std() < 82  # √2 · 50
    assert abs(gaps.mean() - 1000) < 5


def test_calibration_spends_exactly_the_loss_and_more_of_it_on_questions():
    mechanism = AboveThreshold.costing(Loss("0.7"), 2, threshold=5, hits=4, adjacency=REPLACE)
    assert mechanism.loss(2) == Loss("0.7")
    assert mechanism.query_scale > mechanism.threshold_scale
    monotone = AboveThreshold.costing(Loss("0.7"), 2, threshold=5, hits=4, adjacency=ADD, monotone=True)
    assert monotone.loss(2) == Loss("0.7")
    assert monotone.query_scale < mechanism.query_scale
    assert monotone.threshold_scale < mechanism.threshold_scale


@pytest.mark.parametrize("hits", [1, 10, 1000])
def test_no_other_split_has_a_much_better_comparison(hits):
    mechanism = AboveThreshold.costing(Loss(1), 1, threshold=0, hits=hits, adjacency=REPLACE)

    def spread(threshold_scale: Fraction, query_scale: Fraction) -> Fraction:
        return threshold_scale**2 + query_scale**2

    ours = spread(mechanism.threshold_scale, mechanism.query_scale)
    others = [spread(1 / (1 - part), 2 * hits / part) for part in (Fraction(n, 1000) for n in range(1, 1000))]
    assert ours <= min(others) * Fraction(1001, 1000)


def test_monotone_answers_need_add_remove():
    with pytest.raises(InvalidParameter, match="not monotone"):
        AboveThreshold.costing(Loss(1), 1, threshold=0, hits=1, adjacency=REPLACE, monotone=True)


@pytest.mark.parametrize("hits", [0, -1, 1.5, True])
def test_a_run_needs_at_least_one_hit(hits):
    with pytest.raises(InvalidParameter):
        AboveThreshold(0, hits, threshold_scale=1, query_scale=1, adjacency=ADD)


@pytest.mark.parametrize("scales", [(0, 1), (1, 0), (1 << 51, 1), (1, 1 << 51), (float("nan"), 1)])
def test_scales_without_exact_noise_are_refused(scales):
    with pytest.raises(InvalidParameter):
        AboveThreshold(0, 1, threshold_scale=scales[0], query_scale=scales[1], adjacency=ADD)


@pytest.mark.parametrize("value", [1.5, "3", None, True, [1, 2]])
def test_an_answer_is_a_whole_number(value):
    with pytest.raises(InvalidParameter):
        sharp().start(Seeded(1)).ask(value)


@pytest.mark.parametrize(("renews", "least", "most"), [(True, 0.45, 0.55), (False, 1, 1)])
def test_the_threshold_is_given_new_noise_after_a_hit_only_where_it_renews(renews, least, most):
    """With all the noise on the threshold, two questions of a round fall alike; after a hit they need not."""
    mechanism = AboveThreshold(0, 2, threshold_scale=50, query_scale="1/100", adjacency=ADD, renews=renews)
    lanes = ThresholdLanes(mechanism, 20_000, source=Seeded(2))
    first = lanes.ask(0)
    again = lanes.ask(0)
    assert not again[~first].any()  # still the same round
    assert least <= again[first].mean() <= most


def test_every_question_gets_noise_of_its_own():
    mechanism = AboveThreshold(0, 10, threshold_scale="1/100", query_scale=50, adjacency=ADD)
    lanes = ThresholdLanes(mechanism, 20_000, source=Seeded(3))
    first, second = lanes.ask(0), lanes.ask(0)
    assert abs(np.corrcoef(first, second)[0, 1]) < 0.04


def test_a_lane_that_has_had_its_hits_says_no_more():
    lanes = ThresholdLanes(sharp(hits=1), 3, source=Seeded(4))
    assert lanes.ask(10**9).all()
    assert lanes.left.tolist() == [0, 0, 0]
    assert not lanes.ask(10**9).any()


def test_what_is_left_cannot_be_tampered_with():
    lanes = ThresholdLanes(sharp(hits=1), 1, source=Seeded(4))
    lanes.left[:] = 99
    assert lanes.left.tolist() == [1]


def test_a_run_shows_none_of_its_secrets():
    assert repr(sharp().start(Seeded(1))) == "<threshold run, 2 hits left>"
    assert repr(Thresholdout(sharp(), Laplace(1)).start(Seeded(1))) == "<holdout run, 2 hits left>"


@pytest.mark.parametrize(("threshold_scale", "questions"), [("5", 20), ("1/50", 300)])
def test_the_error_holds_for_all_questions_at_once(threshold_scale, questions):
    mechanism = AboveThreshold(0, 1, threshold_scale=threshold_scale, query_scale=10, adjacency=ADD)
    reach = mechanism.error("0.9", questions=questions)
    runs = 2000
    lanes = ThresholdLanes(mechanism, runs, source=Seeded(5))
    wrong = np.zeros(runs, dtype=bool)
    for _ in range(questions - 1):
        wrong |= lanes.ask(-reach - 1)
    wrong |= (lanes.left > 0) & ~lanes.ask(reach)
    assert wrong.mean() <= 0.1 + 5 * (0.1 * 0.9 / runs) ** 0.5
    assert wrong.mean() > 0.001  # the bound is not idle


# Thresholdout


def test_thresholdout_costs_what_the_paper_says():
    """(2B / (s n), 0): with the grid's step 1/n, s n is the scale in steps."""
    holdout = Thresholdout.of_scale(50, threshold=10, hits=7, adjacency=REPLACE)
    assert holdout.loss(1) == Loss(Fraction(2 * 7, 50))
    assert (holdout.test.threshold_scale, holdout.test.query_scale, holdout.answer.scale) == (100, 200, 50)
    assert Thresholdout.costing(Loss("14/50"), 1, threshold=10, hits=7, adjacency=REPLACE) == holdout


def test_thresholdouts_price_is_that_of_its_parts():
    holdout = Thresholdout.of_scale(50, threshold=10, hits=7, adjacency=REPLACE)
    assert holdout.loss(1) == holdout.test.loss(1) + 7 * holdout.answer.loss(1)
    assert tally([holdout.event(1)]) == {PureEvent(Fraction(1, 50)): 7, LaplaceEvent(Fraction(1, 50)): 7}


def test_thresholdout_answers_from_the_training_set_while_it_agrees():
    run = Thresholdout(sharp(hits=1), Laplace("1/40")).start(Seeded(6))
    assert run.ask(1000, holdout=1050) == 1000
    assert run.ask(1000, holdout=950) == 1000
    assert run.hits_left == 1
    assert run.ask(1000, holdout=1200) == 1200
    with pytest.raises(QueryRefused, match="used up"):
        run.ask(1000, holdout=1000)


def test_thresholdout_sees_a_difference_in_either_direction():
    run = Thresholdout(sharp(hits=2), Laplace("1/40")).start(Seeded(7))
    assert run.ask(0, holdout=-500) == -500
    assert run.ask(0, holdout=500) == 500


def test_thresholdouts_answer_has_noise_that_its_test_has_not_seen():
    """Were the answer's noise that of the comparison, hits would be told with their errors all on one side."""
    mechanism = Thresholdout.of_scale(10, threshold=0, hits=1, adjacency=REPLACE)
    answers = [mechanism.start(Seeded(seed)).ask(0, holdout=15) for seed in range(600)]
    told = np.array([answer for answer in answers if answer != 0])
    assert abs(told.mean() - 15) < 5 * 14.2 / len(told) ** 0.5


def test_thresholdouts_error_covers_either_kind_of_answer():
    holdout = Thresholdout.of_scale(2, threshold=30, hits=3, adjacency=REPLACE)
    agreed = 30 + holdout.test.error("0.95", questions=100)
    assert holdout.error("0.9", questions=100) == agreed
    coarse = Thresholdout(sharp(hits=3), Laplace(1000))
    assert coarse.error("0.9", questions=100) == coarse.answer.error("0.95", count=3)
