"""How far sums of noise stray: never beyond what is stated more often than stated, and not much less often.

False-alarm rate: 1e-9 for each comparison of draws. The laws themselves are compared without chance.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from support.sources import Seeded
from tacit.errors import InvalidParameter
from tacit.mechanisms import Gaussian, Laplace
from tacit.mechanisms.accuracy.geometric import difference_reach
from tacit.mechanisms.sums import sum_reach

FALSE_ALARM = 1e-9
SUMS = 60_000
NOISES = [Laplace("7/2"), Laplace(100), Laplace(10**7), Gaussian(2, "1e-6"), Gaussian(50, "1e-6")]


def p_value(noise, *, count, reach, confidence, seed=1):
    """How surprising it is, if the reach is right, that so many sums lie beyond it."""
    drawn = noise.release(np.zeros(SUMS * count, dtype=np.int64), Seeded(seed)).reshape(SUMS, count).sum(axis=1)
    beyond = int(np.count_nonzero(np.abs(drawn) > reach))
    return float(stats.binom.sf(beyond - 1, SUMS, 1 - confidence))


@pytest.mark.parametrize("noise", NOISES, ids=repr)
@pytest.mark.parametrize("count", [2, 7, 30])
@pytest.mark.parametrize("confidence", [0.9, 0.95])
def test_a_sum_strays_beyond_its_reach_no_more_often_than_stated(noise, count, confidence):
    reach = sum_reach(noise, count=count, confidence=str(confidence))
    assert p_value(noise, count=count, reach=reach, confidence=confidence) > FALSE_ALARM


@pytest.mark.parametrize("noise", NOISES, ids=repr)
@pytest.mark.parametrize("count", [2, 7, 30])
def test_nine_tenths_of_the_reach_is_noticed_to_be_too_little(noise, count):
    reach = sum_reach(noise, count=count, confidence="0.9")
    assert p_value(noise, count=count, reach=reach * 0.9 - 1e-6, confidence=0.9) < FALSE_ALARM


def tail(scale, count, beyond):
    """P(|sum| > beyond): the sum is the difference of two negative binomials."""
    q = np.exp(-1 / float(scale))
    ones = stats.nbinom(count, 1 - q)
    numbers = np.arange(int(ones.ppf(1 - 1e-14)) + 2)
    return 2 * float(np.sum(ones.pmf(numbers) * ones.sf(numbers + beyond)))


@pytest.mark.parametrize("scale", ["1/3", "1", "12", "1000"])
@pytest.mark.parametrize("count", [2, 3, 10, 300])
@pytest.mark.parametrize("confidence", ["0.75", "0.95", "0.9999"])
def test_the_reach_is_above_the_quantile_by_two_per_cent_at_most(scale, count, confidence):
    reach = sum_reach(Laplace(scale), count=count, confidence=confidence)
    failing = float(1 - Fraction(confidence))
    assert tail(Fraction(scale), count, reach) <= failing
    less = int(reach * 0.98) - 1
    assert less < 0 or tail(Fraction(scale), count, less) > failing


@pytest.mark.parametrize("scale", ["1/2", "1", "10"])
@pytest.mark.parametrize("failing", [Fraction(1, 10), Fraction(1, 1000)])
def test_of_two_it_is_what_the_difference_of_two_is(scale, failing):
    """Noise is symmetric, so the sum of two has the law of their difference, whose tail has a closed form."""
    exact = difference_reach(Fraction(scale), failing / 2)
    assert sum_reach(Laplace(scale), count=2, confidence=1 - failing) == exact


@pytest.mark.parametrize("noise", NOISES, ids=repr)
def test_of_one_it_is_the_noise_s_own(noise):
    assert sum_reach(noise, count=1, confidence="0.95") == noise.error("0.95")


@pytest.mark.parametrize("noise", NOISES, ids=repr)
def test_of_very_many_it_grows_with_their_root(noise):
    """Beyond what is convolved, the bound by moments takes over: at most 1.4 times a normal law's."""
    few, many = (sum_reach(noise, count=count, confidence="0.95") for count in (4_000, 100 * 4_000))
    assert 9.9 < many / few < 14


@pytest.mark.parametrize(("noise", "count"), [(Laplace(1), 0), (Gaussian(1, "1e-6"), -1)])
def test_a_sum_of_nothing_is_refused(noise, count):
    with pytest.raises(InvalidParameter):
        sum_reach(noise, count=count, confidence="0.95")
