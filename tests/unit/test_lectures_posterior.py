"""The lectures on what an adversary may believe, one test a claim."""

import math
from fractions import Fraction

import pytest

from tacit.accounting import (
    answers_to_average,
    answers_to_believe,
    best_guess,
    odds_factor,
    posterior,
    randomised_response_posterior,
)
from tacit.core import Loss


def test_000_exercise_1b_the_posterior_after_a_randomised_yes():
    assert randomised_response_posterior("0.1", "0.25") == Fraction(1, 4)
    for prior in (Fraction(1, 10), Fraction(1, 2)):
        for flip in (Fraction(1, 4), Fraction(1, 3)):
            yes_and_true, yes_and_false = (1 - flip) * prior, flip * (1 - prior)
            assert randomised_response_posterior(prior, flip) == yes_and_true / (yes_and_true + yes_and_false)


def test_000_exercise_1b_a_fair_flip_teaches_nothing():
    assert randomised_response_posterior("0.3", "0.5") == Fraction(3, 10)


def test_000_exercise_2_a_posterior_moves_by_at_most_e_to_the_epsilon_in_odds():
    belief = posterior("0.5", "0.1")
    assert float(belief.high) == pytest.approx(0.52497918747894, rel=1e-14)
    assert float(belief.low) == pytest.approx(0.47502081252106, rel=1e-14)
    for prior in (Fraction(1, 100), Fraction(1, 3), Fraction(9, 10)):
        after = posterior(prior, 1)
        before = prior / (1 - prior)
        assert float(after.high / (1 - after.high) / before) == pytest.approx(math.e, rel=1e-12)
        assert float(after.low / (1 - after.low) / before) == pytest.approx(1 / math.e, rel=1e-12)


def test_000_exercise_2_after_t_answers_the_odds_move_by_e_to_the_t_epsilon():
    assert float(odds_factor("0.1", 20)) == pytest.approx(math.exp(2), rel=1e-14)
    assert posterior("0.2", "0.1", answers=20) == posterior("0.2", 2)


def test_000_exercise_2_every_epsilon_private_answer_stays_within_the_bounds():
    # every pair of laws over three outputs on a grid of twelfths, whatever its own epsilon
    grid = [Fraction(i, 12) for i in range(1, 11)]
    laws = [(a, b, 1 - a - b) for a in grid for b in grid if a + b < 1]
    prior = Fraction(1, 5)
    for p in laws[::3]:
        for q in laws[::4]:
            worst = max(max(a / b, b / a) for a, b in zip(p, q, strict=True))
            allowed = posterior(prior, Fraction(math.log(worst)) + Fraction(1, 10**12))
            for a, b in zip(p, q, strict=True):
                assert prior * a / (prior * a + (1 - prior) * b) in allowed


def test_004_exercise_6_one_answer_leaves_a_customer_deniable():
    assert float(odds_factor("0.1")) == pytest.approx(1.1051709180756477, rel=1e-14)
    assert float(posterior("0.5", "0.1").high) == pytest.approx(0.525, abs=1e-3)


def test_004_exercise_6_many_answers_do_not():
    assert float(odds_factor("0.1", 50)) == pytest.approx(math.exp(5), rel=1e-14)
    assert answers_to_believe("0.5", "0.95", epsilon="0.1") == 30  # ln 19 / 0.1 = 29.4


def test_004_exercise_6_averaging_needs_about_3073_answers_and_a_budget_of_307():
    answers = answers_to_average("0.1", confidence="0.95")
    assert answers == 3073
    assert answers * 0.1 == pytest.approx(307, abs=0.5)
    spread = math.sqrt(2) * 10 / math.sqrt(answers)  # of the mean of Laplace answers of scale 10
    assert 1.959964 * spread == pytest.approx(0.5, rel=1e-3)


def test_004_section_6_two_differenced_answers_are_guessed_at_55_percent():
    assert float(best_guess(Loss("0.2"))) == pytest.approx(0.549833997312478, rel=1e-14)
    assert float(best_guess(Loss("0.2"))) == pytest.approx(float(posterior("0.5", "0.1", answers=2).high), rel=1e-15)
