"""Answers given with a coin in hand: their price, and what can be learnt from many."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest

from support.sources import Seeded
from tacit.core import Loss, PureEvent
from tacit.errors import InvalidParameter
from tacit.mechanisms import KaryResponse, RandomisedResponse


def test_the_two_coin_protocol_flips_a_quarter_of_the_answers():
    protocol = RandomisedResponse.two_coin()
    assert protocol == RandomisedResponse("1/4")
    assert mpmath.log(3) <= mpmath.mpf(float(protocol.loss().epsilon)) <= mpmath.log(3) * (1 + 1e-15)
    assert RandomisedResponse.two_coin("0.8") == RandomisedResponse("0.1")
    with pytest.raises(InvalidParameter):
        RandomisedResponse.two_coin(1)  # the truth every time


def test_several_answers_of_one_person_cost_their_sum():
    protocol = RandomisedResponse.two_coin()
    assert protocol.loss(3).epsilon == 3 * protocol.loss().epsilon
    assert protocol.event(3) == PureEvent(protocol.loss(3).epsilon)
    assert RandomisedResponse.costing(Loss(1), 4).loss(4).within(Loss(1))
    assert RandomisedResponse.costing(Loss(1), 4).loss(4).epsilon > Fraction(999, 1000)


@pytest.mark.parametrize("flip", [0, Fraction(1, 2), Fraction(3, 4), 1, -1, float("nan")])
def test_a_flip_that_hides_nothing_or_tells_nothing_is_refused(flip):
    with pytest.raises(InvalidParameter):
        RandomisedResponse(flip)


@pytest.mark.parametrize("lie", [0, Fraction(3, 4), Fraction(4, 5), 1])
def test_a_lie_that_hides_nothing_or_tells_nothing_is_refused(lie):
    with pytest.raises(InvalidParameter):
        KaryResponse(4, lie)


@pytest.mark.parametrize("categories", [1, 0, -3, 2.0, True])
def test_there_must_be_something_to_choose_between(categories):
    with pytest.raises(InvalidParameter):
        KaryResponse(categories, Fraction(1, 4))


@pytest.mark.parametrize("values", [[0, 2], [-1], [1.0], [True]])
def test_an_answer_that_cannot_be_given_is_refused_without_repeating_it(values):
    with pytest.raises(InvalidParameter) as refusal:
        RandomisedResponse("1/4").release(values)
    assert "2" not in refusal.value.message.replace("the 2 that", "")


def test_two_categories_are_a_randomised_response():
    assert KaryResponse.costing(Loss(1), categories=2).lie == RandomisedResponse.costing(Loss(1)).flip
    assert KaryResponse(2, "1/4").loss() == RandomisedResponse("1/4").loss()
    pair = KaryResponse(2, "1/4")
    assert pair.variance(30, respondents=100) == RandomisedResponse("1/4").variance(respondents=100)
    assert pair.error("0.9", respondents=100) == RandomisedResponse("1/4").error("0.9", respondents=100)


@pytest.mark.parametrize("epsilon", ["1e-30", "1/3", "1", "50", "1024", "1e6"])
def test_the_rarest_flip_is_never_rarer_than_epsilon_allows(epsilon):
    flip = RandomisedResponse.costing(Loss(epsilon)).flip
    with mpmath.workdps(1500):
        exact = 1 / (1 + mpmath.exp(mpmath.mpf(Fraction(epsilon).numerator) / Fraction(epsilon).denominator))
        ours = mpmath.mpf(flip.numerator) / flip.denominator
        assert exact <= ours
        if epsilon != "1e6":  # beyond exp(−1024) no one needs to go
            assert ours - exact <= exact * (1 - 2 * exact) * mpmath.mpf("1e-15")


def test_the_estimate_is_unbiased_and_its_variance_is_as_stated():
    """Over every outcome of three people's coins, exactly."""
    mechanism = RandomisedResponse("1/5")
    for truth in ([0, 0, 0], [1, 0, 1], [1, 1, 1]):
        mean = second = Fraction(0)
        for flips in range(8):
            coins = [flips >> i & 1 for i in range(3)]
            chance = Fraction(1)
            for coin in coins:
                chance *= mechanism.flip if coin else 1 - mechanism.flip
            yes = sum(t ^ c for t, c in zip(truth, coins, strict=True))
            estimate = mechanism.estimate(yes, respondents=3)
            mean, second = mean + chance * estimate, second + chance * estimate**2
        assert mean == sum(truth)
        assert second - mean**2 == mechanism.variance(respondents=3)


def test_the_sampled_variance_is_unbiased():
    """Over every number of yes answers of a random sample from a population of which 3/10 are a yes."""
    mechanism, n, share = RandomisedResponse("1/4"), 6, Fraction(3, 10)
    told = share * (1 - mechanism.flip) + (1 - share) * mechanism.flip
    chances = [_binomial(n, k) * told**k * (1 - told) ** (n - k) for k in range(n + 1)]
    estimates = [mechanism.estimate(k, respondents=n) / n for k in range(n + 1)]
    mean = sum(c * e for c, e in zip(chances, estimates, strict=True))
    assert mean == share
    variance = sum(c * (e - mean) ** 2 for c, e in zip(chances, estimates, strict=True))
    stated = sum(c * mechanism.sampled_variance(k, respondents=n) for k, c in enumerate(chances))
    assert stated == variance


def _binomial(n: int, k: int) -> int:
    return int(mpmath.binomial(n, k))


def test_estimates_of_categories_are_unbiased_with_the_variance_stated():
    """Over every outcome of two people's coins, exactly."""
    mechanism = KaryResponse(3, "2/5")
    truth = (0, 2)
    mean, second = [Fraction(0)] * 3, [Fraction(0)] * 3
    for first in range(3):
        for other in range(3):
            chance = Fraction(1)
            for told, true in zip((first, other), truth, strict=True):
                chance *= 1 - mechanism.lie if told == true else mechanism.stray
            for place, estimate in enumerate(mechanism.estimate(np.array([first, other]))):
                mean[place] += chance * estimate
                second[place] += chance * estimate**2
    assert mean == [1, 0, 1]
    for place, count in enumerate((1, 0, 1)):
        assert second[place] - mean[place] ** 2 == mechanism.variance(count, respondents=2)


def test_answers_keep_their_shape():
    values = np.ones((3, 4), dtype=np.int64)
    assert RandomisedResponse("1/4").release(values, Seeded(1)).shape == (3, 4)
    assert KaryResponse(5, "1/4").release(values, Seeded(1)).shape == (3, 4)


@pytest.mark.parametrize("people", [50, 5000])
def test_the_error_covers_with_at_least_its_confidence(people):
    mechanism = RandomisedResponse("1/4")
    reach = mechanism.error("0.9", respondents=people)
    truth = (np.arange(people) < people // 3).astype(np.int64)
    runs = mechanism.release(np.tile(truth, (2000, 1)), Seeded(2)).sum(axis=1)
    off = [abs(float(mechanism.estimate(int(yes), respondents=people)) - truth.sum()) for yes in runs]
    assert np.mean(np.array(off) <= reach) >= 0.9
    assert mechanism.error("0.99", respondents=people) > reach
