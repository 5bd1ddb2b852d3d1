"""Laplace noise on whole numbers: its price, its reach and its ends."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from support.sources import Seeded
from tacit.core import LaplaceEvent, Loss
from tacit.errors import InvalidParameter
from tacit.mechanisms import Laplace, on_grid
from tacit.mechanisms.accuracy.geometric import difference_reach, geometric_reach, share
from tacit.noise import MAX_SCALE, MAX_WIDE_SCALE

SCALES = [Fraction(1, 50), Fraction(1, 3), Fraction(1), Fraction(7, 2), Fraction(1000), Fraction(MAX_SCALE)]


def tail(scale: Fraction, beyond: int) -> mpmath.mpf:
    """P(|noise| > beyond), to 60 digits."""
    with mpmath.workdps(60):
        q = mpmath.exp(-mpmath.mpf(scale.denominator) / scale.numerator)
        return 2 * q ** (beyond + 1) / (1 + q)


def test_the_scale_is_the_sensitivity_over_epsilon_exactly():
    assert Laplace.costing(Loss("1/3"), 2).scale == 6
    assert Laplace.costing(Loss("0.1"), Fraction(7, 3)).scale == Fraction(70, 3)
    assert Laplace(6).loss(2) == Loss("1/3")
    assert Laplace(6).event(2) == LaplaceEvent(Fraction(1, 3))


def test_a_loss_with_a_delta_buys_no_less_noise():
    assert Laplace.costing(Loss(1, "1e-6"), 1) == Laplace.costing(Loss(1), 1)


@pytest.mark.parametrize("scale", SCALES, ids=str)
@pytest.mark.parametrize("confidence", ["0.5", "0.95", "0.999999", "0.999999999999999999"])
def test_the_error_is_the_least_reach_with_that_confidence(scale, confidence):
    reach = Laplace(scale).error(confidence)
    with mpmath.workdps(60):
        allowed = 1 - mpmath.mpf(confidence)
        assert tail(scale, reach) <= allowed
        assert reach == 0 or tail(scale, reach - 1) > allowed


def test_many_values_stay_within_a_wider_reach_together():
    one, all_of_them = share("0.95"), share("0.95", count=1000)
    assert one == Fraction(1, 20)
    assert (1 - all_of_them) ** 1000 >= Fraction(95, 100)
    assert (1 - all_of_them - Fraction(1, 10**9)) ** 1000 < Fraction(95, 100)
    assert all_of_them > one / 1000  # better than the union bound
    assert Laplace(10).error("0.95", count=1000) == geometric_reach(Fraction(10), all_of_them)
    assert Laplace(10).error("0.95", count=1000) > Laplace(10).error("0.95")


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(2), Fraction(25)], ids=str)
@pytest.mark.parametrize("chance", [Fraction(1, 2), Fraction(1, 100), Fraction(1, 10**8)], ids=str)
def test_the_reach_of_a_difference_is_that_of_its_law(scale, chance):
    k = np.arange(-2000, 2001)
    noise = np.exp(-np.abs(k) / float(scale))
    difference = np.convolve(noise / noise.sum(), noise / noise.sum())
    beyond = np.cumsum(difference[::-1])[::-1]  # beyond[i]: P(difference ≥ i − 4000)
    reach = difference_reach(scale, chance)
    assert beyond[4000 + reach + 1] <= float(chance) * (1 + 1e-9)
    assert reach == 0 or beyond[4000 + reach] > float(chance) * (1 - 1e-9)


@pytest.mark.parametrize("scale", [Fraction(1, 50), Fraction(1), Fraction(7, 2), Fraction(1000)], ids=str)
def test_the_variance_is_that_of_the_law(scale):
    q = math.exp(-1 / scale)
    assert Laplace(scale).variance == pytest.approx(2 * q / (1 - q) ** 2, rel=1e-12)
    assert Laplace(Fraction(1, 10**6)).variance == 0.0


def test_each_value_gets_noise_of_its_own_and_keeps_its_place():
    values = np.arange(6).reshape(2, 3) * 10**9
    released = Laplace(5).release(values, Seeded(1))
    assert released.shape == (2, 3)
    noise = (released - values).ravel()
    assert len(set(noise.tolist())) > 3
    assert np.abs(noise).max() <= Laplace(5).error("0.999999", count=6)


def test_the_values_themselves_are_left_alone():
    values = np.zeros(100, dtype=np.int64)
    Laplace(5).release(values, Seeded(1))
    assert not values.any()


def test_sums_stop_at_the_ends_of_64_bits():
    ends = np.array([np.iinfo(np.int64).max, np.iinfo(np.int64).min])
    released = Laplace(MAX_SCALE).release(np.repeat(ends, 1000), Seeded(2))
    assert (released[:1000] > 0).all()
    assert (released[1000:] < 0).all()
    assert (released == np.repeat(ends, 1000)).sum() > 500  # half of the noise points outward


def test_a_bare_number_is_a_release_of_one_value():
    assert Laplace(3).release(10, Seeded(1)).shape == (1,)


@pytest.mark.parametrize("values", [1.5, [1, 2.0], np.array([1.0]), [True], ["1"], np.array([True])])
def test_what_is_not_a_whole_number_is_refused(values):
    with pytest.raises(InvalidParameter):
        Laplace(3).release(values)


@pytest.mark.parametrize("scale", [0, -1, float("nan"), float("inf"), MAX_WIDE_SCALE + 1, 10**400, None])
def test_a_scale_without_exact_noise_is_refused(scale):
    with pytest.raises(InvalidParameter):
        Laplace(scale)


@pytest.mark.parametrize("confidence", [0, 1, -1, 2, float("nan"), "1.0"])
def test_a_confidence_is_strictly_between_nothing_and_certainty(confidence):
    with pytest.raises(InvalidParameter):
        Laplace(3).error(confidence)


def test_steps_are_shown_as_exact_multiples():
    assert on_grid(np.array([3, -7]), "0.01") == [Fraction(3, 100), Fraction(-7, 100)]
    with pytest.raises(InvalidParameter):
        on_grid(np.array([3]), 0)
