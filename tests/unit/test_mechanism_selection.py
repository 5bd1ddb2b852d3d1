"""Choosing among scores: the exponential mechanism, permute-and-flip and noisy max."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from conformance import mechanism_laws as laws
from support.laws import FALSE_ALARM, p_value_of_counts
from support.sources import Seeded
from tacit.core import Adjacency, BoundedRangeEvent, Loss, PureEvent
from tacit.errors import InvalidParameter
from tacit.mechanisms import Exponential, NoisyMax, PermuteAndFlip
from tacit.noise.choice import categorical_array, one_of_each_row

ADD, REPLACE = Adjacency.ADD_REMOVE, Adjacency.REPLACE
ALL = [Exponential, PermuteAndFlip, NoisyMax]
each = pytest.mark.parametrize("kind", ALL)


def test_a_choice_costs_twice_what_a_score_moves():
    assert Exponential.costing(Loss(1), 3, adjacency=REPLACE).rate == Fraction(1, 6)
    assert PermuteAndFlip.costing(Loss(1), 3, adjacency=REPLACE).rate == Fraction(1, 6)
    assert NoisyMax.costing(Loss(1), 3, adjacency=REPLACE).scale == 6


def test_scores_that_all_move_one_way_cost_half():
    assert Exponential.costing(Loss(1), 3, adjacency=ADD, monotone=True).rate == Fraction(1, 3)
    assert PermuteAndFlip.costing(Loss(1), 3, adjacency=ADD, monotone=True).rate == Fraction(1, 3)
    assert NoisyMax.costing(Loss(1), 3, adjacency=ADD, monotone=True).scale == 3


@each
def test_under_replace_scores_are_never_monotone(kind):
    with pytest.raises(InvalidParameter, match="not monotone"):
        kind.costing(Loss(1), 1, adjacency=REPLACE, monotone=True)
    with pytest.raises(InvalidParameter, match="not monotone"):
        kind(1, adjacency=REPLACE, monotone=True)


@each
def test_the_neighbour_relation_must_be_named(kind):
    with pytest.raises(TypeError):
        kind.costing(Loss(1), 1)
    with pytest.raises(InvalidParameter, match="adjacency"):
        kind(1, adjacency="replace")


@each
@pytest.mark.parametrize("monotone", [False, True])
def test_price_and_calibration_are_inverse_to_each_other(kind, monotone):
    mechanism = kind.costing(Loss("2/7"), "3/5", adjacency=ADD, monotone=monotone)
    assert mechanism.loss("3/5") == Loss("2/7")
    event = BoundedRangeEvent if kind is Exponential else PureEvent
    assert mechanism.event("3/5") == event(Fraction(2, 7))


@each
@pytest.mark.parametrize("scores", [np.array([], dtype=np.int64), np.zeros((2, 2), dtype=np.int64), [1.5], [True]])
def test_there_must_be_a_row_of_whole_scores(kind, scores):
    with pytest.raises(InvalidParameter):
        kind(1, adjacency=ADD).release(scores, Seeded(1))


@each
def test_a_single_candidate_is_chosen(kind):
    assert kind(1, adjacency=ADD).release([5], Seeded(1)) == 0
    assert kind(1, adjacency=ADD).error("0.99", candidates=1) == 0


@each
def test_scores_at_the_ends_of_64_bits_are_told_apart(kind):
    ends = np.array([np.iinfo(np.int64).min, np.iinfo(np.int64).max, 0])
    assert set(kind(1, adjacency=ADD).simulate(ends, 200, source=Seeded(1)).tolist()) == {1}


@each
def test_only_differences_between_scores_matter(kind):
    low, high = (
        np.bincount(kind(1, adjacency=ADD).simulate(np.array([0, 1, 1]) + base, 1000, source=Seeded(5)), minlength=3)
        for base in (0, 2**60)
    )
    assert low.tolist() == high.tolist()


def test_to_noisy_max_scores_beyond_its_arithmetic_are_all_the_same():
    """Were sums to saturate instead, ties at the end would be broken by who came near it: a law with no proof."""
    top = np.iinfo(np.int64).max
    chosen = NoisyMax(2, adjacency=ADD).simulate(np.array([top, top - 1, 2**61]), 100_000, source=Seeded(6))
    assert p_value_of_counts(np.bincount(chosen, minlength=3), [1 / 3] * 3) > FALSE_ALARM


@each
def test_equal_scores_are_chosen_evenly(kind):
    counts = np.bincount(kind(2, adjacency=ADD).simulate(np.full(5, 7), 100_000, source=Seeded(7)), minlength=5)
    assert p_value_of_counts(counts, [0.2] * 5) > FALSE_ALARM


@each
def test_more_epsilon_finds_the_best_and_less_finds_anything(kind):
    scores = np.array([3, 9, 1, 8])
    rich, poor = (kind.costing(Loss(epsilon), 1, adjacency=REPLACE) for epsilon in (200, "1e-6"))
    assert set(rich.simulate(scores, 1000, source=Seeded(8)).tolist()) == {1}
    counts = np.bincount(poor.simulate(scores, 100_000, source=Seeded(9)), minlength=4)
    assert p_value_of_counts(counts, [0.25] * 4) > FALSE_ALARM


def worst_case(kind: type, parameter: Fraction, candidates: int, gap: int) -> float:
    """P(a candidate `gap` behind is chosen) where one leads and all others lie there."""
    scores = np.array([gap] + [0] * (candidates - 1))
    law = {Exponential: laws.exponential, PermuteAndFlip: laws.permute_and_flip, NoisyMax: laws.noisy_max}[kind]
    return float(1 - law(scores, parameter)[0])


@each
@pytest.mark.parametrize("parameter", [Fraction(1, 4), Fraction(1), Fraction(3)], ids=str)
@pytest.mark.parametrize("candidates", [2, 3, 6])
@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.999])
def test_the_error_holds_in_the_worst_case(kind, parameter, candidates, confidence):
    reach = kind(parameter, adjacency=REPLACE).error(confidence, candidates=candidates)
    assert worst_case(kind, parameter, candidates, reach + 1) <= (1 - confidence) * (1 + 1e-9)
    if reach > 0:  # and it is met exactly
        assert worst_case(kind, parameter, candidates, reach) > (1 - confidence) * (1 - 1e-9)


def test_permute_and_flip_never_errs_further_than_the_exponential_mechanism():
    for rate in (Fraction(1, 10), Fraction(1), Fraction(5)):
        for candidates in (2, 10, 1000):
            pair = [kind(rate, adjacency=ADD).error("0.95", candidates=candidates) for kind in ALL[:2]]
            assert pair[1] <= pair[0]


def test_noise_on_scores_beyond_their_arithmetic_is_refused():
    with pytest.raises(InvalidParameter, match="too large"):
        NoisyMax(1 << 51, adjacency=ADD)


def test_one_step_of_a_threshold_costs_one_over_the_scale():
    """S(t + 1) ≥ q S(t) for every whole t: what noisy max and the sparse vector rest on."""
    for scale in (Fraction(1, 3), Fraction(1), Fraction(20)):
        q = math.exp(-1 / scale)
        at_least = 1 - laws.below(laws.laplace(scale), np.arange(-60, 20))
        assert (at_least[1:] >= q * at_least[:-1] - 1e-13).all()


@pytest.mark.parametrize("margin", [2.0**-40, 0.01, 2.0])
def test_many_choices_have_the_same_law_however_they_are_settled(margin):
    """A margin of 2 leaves every choice to exact digits, one of 0.01 some."""
    scores, size = np.array([0, 3, 1, 3, -5]), 20_000 if margin < 1 else 1000
    chosen = categorical_array(scores, "1/2", size=size, source=Seeded(10), margin=margin)
    assert p_value_of_counts(np.bincount(chosen, minlength=5), laws.exponential(scores, Fraction(1, 2))) > FALSE_ALARM


def test_one_entry_of_each_row_is_chosen_evenly_among_those_marked():
    rows = np.tile(np.array([[True, False, True, True], [False, True, False, False]]), (30_000, 1))
    chosen = one_of_each_row(rows, source=Seeded(11)).reshape(-1, 2)
    assert (chosen[:, 1] == 1).all()
    counts = np.bincount(chosen[:, 0], minlength=4)
    assert counts[1] == 0
    assert p_value_of_counts(counts[[0, 2, 3]], [1 / 3] * 3) > FALSE_ALARM
    with pytest.raises(InvalidParameter):
        one_of_each_row(np.array([[True], [False]]))
