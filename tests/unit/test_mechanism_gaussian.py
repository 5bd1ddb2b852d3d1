"""Discrete Gaussian noise: three proofs of its price, none of them optimistic."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from support.sources import Seeded
from tacit.core import GaussianEvent, Loss, sqrt_above
from tacit.core.concentrated import epsilon_of_rho, rho_within
from tacit.errors import InvalidParameter
from tacit.mechanisms import Gaussian
from tacit.mechanisms.calibration.gaussian_cost import epsilon_of, lost_by_rounding
from tacit.mechanisms.calibration.gaussian_discrete import SummedWeights
from tacit.mechanisms.calibration.gaussian_profile import delta_above, epsilon_above, mu_within
from tacit.mechanisms.gaussian import classic_sigma
from tacit.noise import MAX_SIGMA, MAX_WIDE_SCALE

ONE_IN_1E5 = Fraction(1, 10**5)


def pmf(sigma: Fraction, reach: int = 60) -> np.ndarray:
    k = np.arange(-reach, reach + 1, dtype=float)
    weights = np.exp(-k * k / float(2 * sigma * sigma))
    return weights / weights.sum()


def brute_force_delta(sigma: Fraction, shift: tuple[int, ...], epsilon: float, reach: int = 60) -> float:
    """Σ (P(outcome) − exp(epsilon) P′(outcome))₊ over every outcome, by enumeration."""
    here, there = np.ones(1), np.ones(1)
    for moved in shift:
        noise = pmf(sigma, reach)
        here = np.multiply.outer(here, noise).ravel()
        there = np.multiply.outer(there, np.roll(noise, moved)).ravel()
    return float(np.maximum(0, here - math.exp(epsilon) * there).sum())


def test_the_continuous_calibration_is_balle_and_wangs():
    assert float(1 / mu_within(Fraction(1), ONE_IN_1E5)) == pytest.approx(3.730631634816346, rel=3e-9)


def test_the_classic_formula_is_the_textbooks():
    assert float(classic_sigma(Loss(1, "1e-5"), 1)) == pytest.approx(4.844805262605389, rel=1e-14)
    assert float(classic_sigma(Loss("0.1", "0.1"), 1) ** 2) == pytest.approx(505.14572886165115, rel=1e-14)


def test_the_classic_calibration_is_refused_where_it_is_not_proved():
    with pytest.raises(InvalidParameter, match="not proved"):
        Gaussian.classic(Loss(1, "1e-5"), 1)
    with pytest.raises(InvalidParameter, match="not proved"):
        Gaussian.classic(Loss(10, "1e-5"), 1)


@pytest.mark.parametrize("epsilon", ["0.01", "0.5", "0.999"])
@pytest.mark.parametrize("delta", ["1e-9", "1e-5", "0.1"])
def test_the_classic_calibration_costs_no_more_than_it_claims(epsilon, delta):
    loss = Loss(epsilon, delta)
    mechanism = Gaussian.classic(loss, 1)
    assert mechanism.sigma >= classic_sigma(loss, 1)
    assert mechanism.loss(1).within(loss)
    assert mechanism.sigma >= Gaussian.costing(loss, 1).sigma


def test_beyond_epsilon_one_the_classic_formula_breaks_its_promise():
    sigma = classic_sigma(Loss(10, "1e-5"), 1)
    assert float(delta_above(Fraction(10), 1 / sigma)) == pytest.approx(2.27e-5, rel=0.01)


@pytest.mark.parametrize("sigma", [Fraction(1, 2), Fraction(9, 10), Fraction(2), Fraction(5)], ids=str)
@pytest.mark.parametrize("shift", [1, 2, 5])
@pytest.mark.parametrize("epsilon", [0.0, 0.1, 1.0, 3.0])
def test_the_profile_of_one_number_is_that_of_enumeration(sigma, shift, epsilon):
    exact = brute_force_delta(sigma, (shift,), epsilon)
    bound = SummedWeights.of(sigma).delta_above(epsilon, shift)
    assert exact <= bound + 1e-15
    assert bound <= exact + 1e-9


def test_a_smaller_shift_costs_no_more():
    for sigma in (Fraction(1, 2), Fraction(3, 2), Fraction(4)):
        line = SummedWeights.of(sigma)
        for epsilon in (0.0, 0.5, 2.0):
            deltas = [line.delta_above(epsilon, shift) for shift in range(1, 12)]
            assert deltas == sorted(deltas)


@pytest.mark.parametrize("dimension", [1, 2, 3])
@pytest.mark.parametrize("loss", [Loss("0.5", "0.01"), Loss(1, "1e-4"), Loss(3, "0.05"), Loss(6, "1e-6")], ids=str)
@pytest.mark.parametrize("squared", [1, 2, 4, 9])
def test_no_shift_within_the_sensitivity_costs_more_than_was_claimed(dimension, loss, squared):
    mechanism = Gaussian.costing(loss, sqrt_above(Fraction(squared)), dimension=dimension)
    reach = math.ceil(12 * mechanism.sigma) + 4
    shifts = [s for s in product(range(4), repeat=dimension) if 0 < sum(x * x for x in s) <= squared]
    shifts = [s for s in shifts if list(s) == sorted(s, reverse=True)]  # the law is symmetric
    if dimension == 3:
        shifts = shifts[-2:]
        reach = min(reach, 40)
    for shift in shifts:
        assert brute_force_delta(mechanism.sigma, shift, float(loss.epsilon), reach) <= float(loss.delta)


@pytest.mark.parametrize("loss", [Loss(1, "1e-5"), Loss("0.2", "1e-3"), Loss(4, "0.01")], ids=str)
def test_one_number_needs_no_more_noise_than_the_exact_profile_asks_for(loss):
    sigma = Gaussian.costing(loss, 1, dimension=1).sigma
    less = sigma * (1 - Fraction(1, 10**6))
    assert brute_force_delta(sigma, (1,), float(loss.epsilon)) <= float(loss.delta)
    assert brute_force_delta(less, (1,), float(loss.epsilon)) > float(loss.delta)


def test_on_a_fine_grid_the_noise_is_the_continuous_laws():
    fine = Gaussian.costing(Loss(1, "1e-5"), 1000).sigma / 1000
    assert 1 <= fine * mu_within(Fraction(1), ONE_IN_1E5) <= 1 + Fraction(1, 10**6)


def test_a_dimension_that_is_not_named_is_paid_for():
    sigmas = [Gaussian.costing(Loss(1, "1e-5"), 1, dimension=d).sigma for d in (1, 2, 1000, None)]
    assert sigmas == sorted(sigmas)
    assert sigmas[-1] < Fraction(11, 10) * sigmas[0]


@pytest.mark.parametrize("s_squared", [Fraction(5, 16), Fraction(1, 2), Fraction(1)], ids=str)
@pytest.mark.parametrize("variance", [Fraction(6, 5), Fraction(3)], ids=str)
def test_rounding_a_continuous_gaussian_gives_the_discrete_one_up_to_the_factor_proved(s_squared, variance):
    """Integrate the rounding's law over X by a fine sum; compare it with the discrete Gaussian, number by number."""
    s2, t2 = float(s_squared), float(variance - s_squared)
    x = np.arange(-14, 14, 1 / 512)
    density = np.exp(-x * x / (2 * t2)) / math.sqrt(2 * math.pi * t2) / 512
    k = np.arange(-40, 41)
    weights = np.exp(-((k[:, None] - x[None, :]) ** 2) / (2 * s2))
    rounded = (weights / weights.sum(axis=0) * density).sum(axis=1)
    discrete = np.exp(-(k**2) / float(2 * variance))
    discrete /= discrete.sum()
    near = np.abs(k) <= 6
    ratio = discrete[near] / rounded[near]
    h = 2 * sum(math.exp(-2 * math.pi**2 * s2 * m * m) for m in (1, 2, 3))
    assert (1 - h) / (1 + h) - 1e-9 <= ratio.min()
    assert ratio.max() <= 1 + h + 1e-9
    assert float(lost_by_rounding(s_squared, 1)) >= math.log(ratio.max() / ratio.min())
    for dimension in (1, 1000):
        proved = 3 * dimension * h / (1 - h)
        assert proved <= float(lost_by_rounding(s_squared, dimension)) <= proved * (1 + 1e-5)


def test_concentrated_noise_costs_its_rho():
    mechanism = Gaussian.concentrated("0.5", 3, delta="1e-6")
    assert mechanism.rho(3) <= Fraction(1, 2)
    assert float(mechanism.sigma) == pytest.approx(3.0)
    assert mechanism.event(3) == GaussianEvent(mechanism.rho(3))
    assert mechanism.loss(3).epsilon <= epsilon_of_rho(Fraction(1, 2), Fraction(1, 10**6)) * (1 + Fraction(1, 10**11))


def test_the_conversion_gives_the_census_its_published_epsilon():
    rho = Fraction(542, 339) ** 2
    assert float(epsilon_of_rho(rho, Fraction(1, 10**10))) == pytest.approx(17.143550750372114, rel=1e-9)


@pytest.mark.parametrize("epsilon", ["0.01", "1", "20"])
@pytest.mark.parametrize("delta", ["1e-12", "1e-3"])
def test_the_conversion_and_its_inverse_agree(epsilon, delta):
    goal = Fraction(epsilon)
    rho = rho_within(goal, Fraction(delta))
    assert goal * (1 - Fraction(1, 10**6)) <= epsilon_of_rho(rho, Fraction(delta)) <= goal * (1 + Fraction(1, 10**12))


def test_the_price_of_a_given_noise_falls_as_it_grows():
    prices = [Gaussian(sigma, "1e-5").loss(1).epsilon for sigma in (1, 2, 4, 8, 64, 1024)]
    assert prices == sorted(prices, reverse=True)
    assert Gaussian(100, "0.4").loss(1).epsilon == 0  # a delta so large pays for it alone


@pytest.mark.parametrize("sigma", [Fraction(1, 10**12), Fraction(1, 50), Fraction(MAX_SIGMA)], ids=str)
def test_the_price_is_finite_at_either_end(sigma):
    price = epsilon_of(sigma, Fraction(1), delta=ONE_IN_1E5, dimension=1)
    assert 0 <= price < 10**30


def test_an_enormous_epsilon_still_adds_noise():
    mechanism = Gaussian.costing(Loss(10**12, "1e-9"), 1)
    assert mechanism.sigma > 0
    assert mechanism.loss(1).within(Loss(10**12, "1e-9"))


@pytest.mark.parametrize("sigma", [Fraction(1, 5), Fraction(1), Fraction(7, 2), Fraction(100)], ids=str)
@pytest.mark.parametrize("confidence", ["0.5", "0.95", "0.9999999"])
def test_the_error_is_the_least_reach_with_that_confidence(sigma, confidence):
    reach = Gaussian(sigma, "1e-6").error(confidence)
    noise = pmf(sigma, 1500)
    beyond = [2 * noise[1500 + t + 1 :].sum() for t in range(reach + 1)]
    assert beyond[-1] <= 1 - float(confidence)
    assert reach == 0 or beyond[-2] > (1 - float(confidence)) * (1 - 1e-6)


@pytest.mark.parametrize("sigma", [300, 12345])
def test_the_error_of_wide_noise_is_the_normal_one_at_most_one_step_wider(sigma):
    exact = 1.959963984540054 * sigma
    assert exact - 1 <= Gaussian(sigma, "1e-6").error("0.95") <= exact + 1


def test_all_of_many_values_stay_within_their_reach():
    mechanism = Gaussian(20, "1e-6")
    reach = mechanism.error("0.9", count=50)
    worst = np.abs(mechanism.simulate(np.zeros(50, dtype=np.int64), 4000, source=Seeded(3))).max(axis=1)
    assert 0.88 < np.mean(worst <= reach) < 0.93  # five standard errors about 0.9 and the step


@pytest.mark.parametrize(
    "sigma", [Fraction(1, 100), Fraction(1, 3), Fraction(1), Fraction(19, 10), Fraction(2), Fraction(9)]
)
def test_the_variance_is_that_of_the_law(sigma):
    k = np.arange(-200, 201)
    exact = float((k * k * pmf(sigma, 200)).sum())
    assert Gaussian(sigma, "1e-6").variance == pytest.approx(exact, rel=1e-12, abs=1e-300)


def test_a_release_may_not_hold_more_values_than_its_price_covers():
    single = Gaussian.costing(Loss(1, "1e-5"), 1, dimension=1)
    assert single.release(10, Seeded(1)).shape == (1,)
    with pytest.raises(InvalidParameter, match="too many values"):
        single.release([10, 10], Seeded(1))
    assert Gaussian.costing(Loss(1, "1e-5"), 1).release(np.zeros((5, 4), dtype=np.int64), Seeded(1)).shape == (5, 4)


def test_sums_stop_at_the_ends_of_64_bits():
    released = Gaussian(MAX_SIGMA, "1e-6").release(np.full(1000, np.iinfo(np.int64).max), Seeded(2))
    assert (released > 0).all()


@pytest.mark.parametrize("delta", [0, 1, "1e-281"])
def test_a_delta_that_gaussian_noise_cannot_use_is_refused(delta):
    with pytest.raises(InvalidParameter, match="delta"):
        Gaussian.costing(Loss(1, delta), 1)


@pytest.mark.parametrize(("sigma", "delta"), [(0, "0.1"), (-1, "0.1"), (1, 0), (1, 1), (MAX_WIDE_SCALE + 1, "0.1")])
def test_parameters_without_noise_are_refused(sigma, delta):
    with pytest.raises(InvalidParameter):
        Gaussian(sigma, delta)


@pytest.mark.parametrize("dimension", [0, -1, 1.5, True])
def test_a_dimension_counts_values(dimension):
    with pytest.raises(InvalidParameter):
        Gaussian.costing(Loss(1, "1e-5"), 1, dimension=dimension)


def test_the_continuous_profile_at_nothing_and_at_everything():
    assert epsilon_above(Fraction(1, 100), Fraction(1, 2)) == 0
    assert delta_above(Fraction(0), Fraction(10**6)) == 1
