"""The Bayesian adversary's numbers, against exact posteriors."""

from fractions import Fraction

import mpmath
import pytest

from tacit.accounting import (
    Belief,
    answers_to_average,
    answers_to_believe,
    best_guess,
    odds_factor,
    posterior,
    randomised_response_posterior,
)
from tacit.core import Loss
from tacit.errors import InvalidParameter


def mp(value):
    return mpmath.mpf(value.numerator) / value.denominator


@pytest.mark.parametrize("prior", ["0.5", "0.001", "0.97"])
@pytest.mark.parametrize("epsilon", ["0", "0.1", "3", "1000", "1e300"])
def test_a_posterior_lies_within_its_bounds_which_are_tight(prior, epsilon):
    belief = posterior(prior, epsilon)
    with mpmath.workdps(80):
        x, shrink = mpmath.mpf(prior), mpmath.exp(-mpmath.mpf(epsilon))
        high, low = x / (x + (1 - x) * shrink), x * shrink / (x * shrink + 1 - x)
        assert mp(belief.low) <= low
        assert high <= mp(belief.high)
        assert mp(belief.high) - high < mpmath.mpf("1e-15")
        assert low - mp(belief.low) < mpmath.mpf("1e-15")
    assert Fraction(prior) in belief


def test_belief_holds_numbers_only():
    assert 0.5 in Belief(Fraction(1, 4), Fraction(3, 4))
    assert 0.8 not in Belief(Fraction(1, 4), Fraction(3, 4))
    assert "0.5" not in Belief(Fraction(1, 4), Fraction(3, 4))


def test_randomised_response_reaches_the_bound():
    flip = Fraction(1, 4)
    for prior in (Fraction(1, 10), Fraction(1, 2), Fraction(9, 10)):
        exact = randomised_response_posterior(prior, flip)
        with mpmath.workdps(40):
            epsilon = Fraction(mpmath.nstr(mpmath.log(3), 30))
        assert float(posterior(prior, epsilon).high) == pytest.approx(float(exact), rel=1e-14)


def test_the_best_guess_is_right_no_more_often_than_epsilon_and_delta_allow():
    with mpmath.workdps(40):
        for epsilon, delta in (("0.2", "0"), ("1", "0.01"), ("0", "0.3"), ("1e300", "0")):
            growth = mpmath.exp(-mpmath.mpf(epsilon))
            true = (1 + growth * mpmath.mpf(delta)) / (1 + growth)
            assert 0 <= mp(best_guess(Loss(epsilon, delta))) - true < mpmath.mpf("1e-15")
    assert best_guess(Loss(0)) == Fraction(1, 2)
    assert best_guess(Loss(0, 1)) == 1


def test_odds_factors_round_up():
    with mpmath.workdps(40):
        assert 0 <= mp(odds_factor("0.1", 7)) - mpmath.exp(mpmath.mpf("0.7")) < mpmath.mpf("1e-15")
    assert odds_factor(0, 5) == pytest.approx(1)


def test_a_belief_cannot_be_reached_one_answer_earlier():
    for prior, belief, epsilon in (("0.5", "0.95", "0.1"), ("0.01", "0.5", "0.3"), ("0.2", "0.21", "1")):
        needed = answers_to_believe(prior, belief, epsilon=epsilon)
        assert Fraction(belief) in posterior(prior, epsilon, answers=needed)
        if needed > 1:
            assert Fraction(belief) not in posterior(prior, epsilon, answers=needed - 1)
    assert answers_to_believe("0.5", "0.4", epsilon=1) == 0


def test_averaging_needs_four_times_the_answers_at_half_the_epsilon():
    assert answers_to_average("0.05", confidence="0.95") == pytest.approx(
        4 * answers_to_average("0.1", confidence="0.95"), rel=1e-3
    )


def test_beliefs_that_are_no_probabilities_are_refused():
    for bad in (0, 1, -1, 2, "nan"):
        with pytest.raises(InvalidParameter):
            posterior(bad, 1)
        with pytest.raises(InvalidParameter):
            randomised_response_posterior("0.5", bad)
    for act in (lambda: posterior("0.5", -1), lambda: odds_factor(-1), lambda: odds_factor(1, 0)):
        with pytest.raises(InvalidParameter):
            act()
    with pytest.raises(InvalidParameter):
        answers_to_believe("0.5", "0.9", epsilon=0)
