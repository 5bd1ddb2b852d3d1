"""What the lectures say of choosing among scores, claim by claim; where they are wrong or loose [X], what is right."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from conformance import mechanism_laws as laws
from support.sources import Counted, Seeded
from tacit.core import Adjacency, Loss
from tacit.errors import InvalidParameter
from tacit.mechanisms import Exponential, Laplace, NoisyMax

ADD, REPLACE = Adjacency.ADD_REMOVE, Adjacency.REPLACE


# Noisy max


def test_004_theorem_2_3_counts_under_add_remove_need_the_scale_one_over_epsilon():
    """Two counts, gap 20 → 19 with Laplace(1): a loss of 0.953, below 1. Ours is the discrete law."""

    def behind(gap: int) -> float:  # P(the count behind wins), continuous Laplace noise of scale 1
        return 0.5 * (1 + gap / 2) * math.exp(-gap)

    assert math.log(behind(19) / behind(20)) == pytest.approx(0.9534799843651072)
    mechanism = NoisyMax.costing(Loss(1), 1, adjacency=ADD, monotone=True)
    assert mechanism.scale == 1
    won = [laws.noisy_max(np.array([0, gap]), mechanism.scale)[0] for gap in (19, 20)]
    assert math.log(won[0] / won[1]) <= float(mechanism.loss(1).epsilon)


def test_004_theorem_2_3_fails_under_the_lectures_own_relation():
    """[X] Under replace the gap moves by two: a loss of 1.905 where 1 is claimed. Twice the noise is needed."""

    def behind(gap: int) -> float:
        return 0.5 * (1 + gap / 2) * math.exp(-gap)

    assert math.log(behind(18) / behind(20)) == pytest.approx(1.904689820195675)
    won = [laws.noisy_max(np.array([0, gap]), Fraction(1))[0] for gap in (18, 20)]
    assert math.log(won[0] / won[1]) > 1.9
    assert NoisyMax(1, adjacency=REPLACE).loss(1) == Loss(2)
    assert NoisyMax.costing(Loss(1), 1, adjacency=REPLACE).scale == 2
    with pytest.raises(InvalidParameter):
        NoisyMax.costing(Loss(1), 1, adjacency=REPLACE, monotone=True)


def test_004_definition_2_4_the_noise_of_a_maximum_does_not_grow_with_the_number_of_counts():
    """[X] "depend on k or Δf!" lost its "does not"; the vector of k counts would need k times the noise."""
    assert NoisyMax.costing(Loss(1), 1, adjacency=ADD, monotone=True).scale == 1
    assert Laplace.costing(Loss(1), 1000).scale == 1000


def test_004_definition_2_4_only_the_index_is_released():
    chosen = NoisyMax(1, adjacency=ADD, monotone=True).release(np.array([100, 3, 7]), Seeded(8))
    assert chosen == 0
    assert type(chosen) is int


# Exponential


def test_004_definition_3_1_has_its_two():
    mechanism = Exponential.costing(Loss(1), 1, adjacency=REPLACE)
    assert mechanism.rate == Fraction(1, 2)
    assert mechanism.loss(1) == Loss(1)


def test_000_definition_15_lacks_the_two_and_costs_twice_as_much():
    """[X] Counts (0, 10) → (1, 9) at exp(εu), ε = 1: a loss of 1.9997."""
    chosen = [laws.exponential(np.array(counts), Fraction(1))[0] for counts in ((0, 10), (1, 9))]
    assert math.log(chosen[1] / chosen[0]) == pytest.approx(1.9997099925263209)
    assert Exponential(1, adjacency=REPLACE).loss(1) == Loss(2)
    assert Exponential(1, adjacency=ADD, monotone=True).loss(1) == Loss(1)  # where it is right


def test_000_with_endless_epsilon_the_best_is_chosen_and_with_none_anything_is():
    scores = np.array([3, 9, 9, 1])
    assert laws.exponential(scores, Fraction(500)) == pytest.approx([0, 0.5, 0.5, 0])
    assert laws.exponential(scores, Fraction(1, 10**9)) == pytest.approx([0.25] * 4)
    sure = Exponential.costing(Loss(1000), 1, adjacency=REPLACE).simulate(scores, 2000, source=Seeded(9))
    assert set(sure.tolist()) == {1, 2}
    assert np.mean(sure == 1) == pytest.approx(0.5, abs=0.06)


def test_004_exercise_8_the_probabilities_of_the_exponential_mechanism_sum_to_one():
    for scores in ([0], [5, 5, 5], [-(10**6), 0, 10**6]):
        assert laws.exponential(np.array(scores), Fraction(1, 2)).sum() == pytest.approx(1)


def test_004_exercise_9_the_highest_balance_takes_one_draw_and_so_does_the_customer_who_has_it():
    """Laplace: n comparisons and one draw. Exponential: n exponentials, n sums, one draw. Noisy max: n draws."""

    def asked(release: object, size: int) -> int:
        source = Counted(Seeded(10))
        release(np.arange(size), source)  # type: ignore[operator]
        return sum(source.asked)

    highest = [asked(lambda b, s: Laplace(2).release(int(b.max()), s), n) for n in (10, 1000)]
    customer = [asked(Exponential(1, adjacency=REPLACE).release, n) for n in (10, 1000)]
    noisy = [asked(NoisyMax(2, adjacency=REPLACE).release, n) for n in (10, 1000)]
    assert highest[0] == highest[1]
    assert customer == [8, 8]  # one uniform word
    assert noisy[1] == 100 * noisy[0]


def test_004_exercise_9_a_uniform_number_becomes_any_other_by_the_inverse_of_its_law():
    uniform = (np.arange(100_000) + 0.5) / 100_000
    drawn = -3 * np.log(1 - uniform)
    assert stats.kstest(drawn, stats.expon(scale=3).cdf).statistic < 1e-4


@pytest.mark.parametrize("lam", [0.5, 3.0, 10.0])
@pytest.mark.parametrize("outcomes", [2, 1000])
def test_004_theorem_3_1_the_chosen_score_is_near_the_best(lam, outcomes):
    """P(best − chosen ≥ (2Δ/ε)(ln|O| + λ)) ≤ e^(−λ); ours is the exact worst case and lies below."""
    mechanism = Exponential.costing(Loss("0.1"), 1, adjacency=REPLACE)
    stated = 2 / 0.1 * (math.log(outcomes) + lam)
    ours = mechanism.error(1 - Fraction(math.exp(-lam)), candidates=outcomes)
    assert ours < stated
    worst = (outcomes - 1) * math.exp(-0.05 * stated)
    assert worst / (1 + worst) <= math.exp(-lam)


def test_004_section_3_titanic_beats_star_wars_by_the_exponential_of_half_their_gap():
    law = laws.exponential(np.array([100, 95, 0]), Exponential.costing(Loss(1), 1, adjacency=REPLACE).rate)
    assert law[0] / law[1] == pytest.approx(math.exp(2.5))
    assert law[2] < 1e-20


def movies(*counts: int) -> np.ndarray:
    return np.array(list(counts) + [0] * (1000 - len(counts)))


def test_004_example_3_4_forest_gump_is_found_once_in_370_times():
    rate = Exponential.costing(Loss(1), 1, adjacency=REPLACE).rate
    here = laws.exponential(movies(2, 1, 1), rate)[0]
    assert here == pytest.approx(0.0027101088870433686)
    deniable = laws.exponential(movies(1, 2, 1), rate)[0]  # had that customer named Revenant
    assert deniable == pytest.approx(here * math.exp(-0.5))
    assert here / deniable < math.e


def test_004_example_3_4_scores_fifty_times_as_large_change_nothing():
    """Their sensitivity is fifty times as large too."""
    rate = Exponential.costing(Loss(1), 50, adjacency=REPLACE).rate
    assert laws.exponential(50 * movies(2, 1, 1), rate)[0] == pytest.approx(0.0027101088870433686)


def test_004_example_3_5_the_rarer_disease_is_named_with_a_probability_of_at_most_two_exp():
    """b = 10, ε = 1: exactly 1/(1 + e⁵) = 0.0067; the theorem's bound is 2e⁻⁵ = 0.0135."""
    wrong = laws.exponential(np.array([0, 10]), Fraction(1, 2))[0]
    assert wrong == pytest.approx(0.0066928509242848554)
    assert 2 * math.exp(-5) == pytest.approx(0.013475893998170934)
    assert wrong < 2 * math.exp(-5)


@pytest.mark.parametrize(("a", "b"), [(3, 5), (10, 40)])
def test_004_exercise_11_with_patients_of_both_kinds_only_the_difference_counts(a, b):
    wrong = laws.exponential(np.array([a, b]), Fraction(1, 2))[0]
    assert wrong == pytest.approx(1 / (1 + math.exp((b - a) / 2)))
    assert wrong <= 2 * math.exp(-(b - a) / 2)
