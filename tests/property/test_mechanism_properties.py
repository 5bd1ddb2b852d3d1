"""What must hold for every parameter: prices never exceed what was paid, bounds are never optimistic.

"Ten thousand" tests draw their parameters from a fixed seed and check each against 60-digit arithmetic or exact
fractions; the others are hypothesis's.
"""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.sources import Seeded
from tacit.core import Adjacency, Loss
from tacit.core.concentrated import epsilon_of_rho, rho_within
from tacit.mechanisms import (
    AboveThreshold,
    Exponential,
    Gaussian,
    GradualRelease,
    KaryResponse,
    Laplace,
    NoisyMax,
    PermuteAndFlip,
    RandomisedResponse,
    Thresholdout,
)
from tacit.mechanisms.accuracy.geometric import share
from tacit.mechanisms.calibration.gaussian_profile import delta_above, epsilon_above, mu_within
from tacit.mechanisms.calibration.normal import tail

TEN_THOUSAND = 10_000
ADD, REPLACE = Adjacency.ADD_REMOVE, Adjacency.REPLACE
fractions = st.fractions(min_value=Fraction(1, 1000), max_value=100, max_denominator=10**6)
deltas = st.integers(1, 12).map(lambda places: Fraction(1, 10**places))


def random_rationals(seed: int, low: float, high: float, *, count: int = TEN_THOUSAND) -> list[Fraction]:
    """Log-uniform, with denominators of every size."""
    rng = np.random.default_rng(seed)
    sizes = 10 ** rng.integers(1, 13, size=count)
    numbers = np.exp(rng.uniform(math.log(low), math.log(high), size=count))
    return [
        Fraction(float(x)).limit_denominator(int(n)) or Fraction(1, int(n)) for x, n in zip(numbers, sizes, strict=True)
    ]


def mp(value: Fraction) -> mpmath.mpf:
    return mpmath.mpf(value.numerator) / value.denominator


def test_ten_thousand_laplace_scales_cost_exactly_what_was_paid():
    for epsilon, sensitivity in zip(random_rationals(1, 1e-6, 1e3), random_rationals(2, 1e-3, 1e6), strict=True):
        assert Laplace.costing(Loss(epsilon), sensitivity).loss(sensitivity).epsilon == epsilon


def test_two_thousand_selections_and_runs_cost_exactly_what_was_paid():
    for place, epsilon in enumerate(random_rationals(3, 1e-6, 1e3, count=2000)):
        loss, moved = Loss(epsilon), Fraction(1 + place % 97, 1 + place % 13)
        monotone = place % 2 == 0
        for kind in (Exponential, PermuteAndFlip, NoisyMax):
            assert kind.costing(loss, moved, adjacency=ADD, monotone=monotone).loss(moved) == loss
        hits = 1 + place % 7
        run = AboveThreshold.costing(loss, moved, threshold=5, hits=hits, adjacency=ADD, monotone=monotone)
        assert run.loss(moved) == loss
        assert Thresholdout.costing(loss, moved, threshold=5, hits=hits, adjacency=ADD).loss(moved) == loss
        assert GradualRelease.costing([loss * Fraction(1, 2), loss], moved).loss(moved) == loss


def test_ten_thousand_flips_are_rounded_to_the_private_side():
    with mpmath.workdps(60):
        for epsilon in random_rationals(4, 1e-9, 60):
            mechanism = RandomisedResponse.costing(Loss(epsilon))
            exact = mpmath.log((1 - mp(mechanism.flip)) / mp(mechanism.flip))
            stated = mechanism.loss().epsilon
            assert exact <= mp(stated) <= mp(epsilon)
            assert exact >= mp(epsilon) * (1 - mpmath.mpf("1e-15"))  # and hardly more private than it must be


def test_a_thousand_lies_are_rounded_to_the_private_side():
    with mpmath.workdps(60):
        for place, epsilon in enumerate(random_rationals(5, 1e-9, 60, count=1000)):
            mechanism = KaryResponse.costing(Loss(epsilon), categories=2 + place % 1000)
            exact = mpmath.log((1 - mp(mechanism.lie)) / mp(mechanism.stray))
            assert exact <= mp(mechanism.loss().epsilon) <= mp(epsilon)
            assert exact >= mp(epsilon) * (1 - mpmath.mpf("1e-12"))


def exact_delta(epsilon: Fraction, mu: Fraction) -> mpmath.mpf:
    a, b = mp(epsilon / mu - mu / 2), mp(epsilon / mu + mu / 2)
    return (mpmath.erfc(a / mpmath.sqrt(2)) - mpmath.exp(mp(epsilon)) * mpmath.erfc(b / mpmath.sqrt(2))) / 2


def test_ten_thousand_gaussian_calibrations_keep_their_delta():
    """Balle and Wang's calibration, against 40-digit arithmetic: never above delta, and within 1e-6 of it in sigma."""
    rng = np.random.default_rng(6)
    with mpmath.workdps(40):
        for place, epsilon in enumerate(random_rationals(7, 1e-3, 50)):
            delta = Fraction(float(10 ** rng.uniform(-14, -0.3)))
            mu = mu_within(epsilon, delta)
            assert exact_delta(epsilon, mu) <= mp(delta)
            if place % 50 == 0:
                assert exact_delta(epsilon, mu * (1 + Fraction(1, 10**6))) > mp(delta)


def test_five_hundred_prices_of_gaussian_noise_are_not_optimistic():
    rng = np.random.default_rng(8)
    with mpmath.workdps(40):
        for mu in random_rationals(9, 1e-3, 30, count=500):
            delta = Fraction(float(10 ** rng.uniform(-14, -0.3)))
            epsilon = epsilon_above(mu, delta)
            assert exact_delta(epsilon, mu) <= mp(delta)
            if epsilon:
                assert exact_delta(epsilon * (1 - Fraction(1, 10**6)), mu) > mp(delta)


def test_a_thousand_normal_tails_are_enclosed():
    with mpmath.workdps(60):
        for place, point in enumerate(random_rationals(10, 1e-6, 60, count=1000)):
            x = point if place % 3 else -point
            low, high = tail(x)
            exact = mpmath.erfc(mp(x) / mpmath.sqrt(2)) / 2
            assert mpmath.mpf(str(low)) <= exact <= mpmath.mpf(str(high))
            assert mpmath.mpf(str(high)) - mpmath.mpf(str(low)) <= exact * mpmath.mpf("1e-20")


def test_a_normal_tail_that_is_enclosed_too_tightly_would_be_noticed():
    low, high = tail(Fraction(3))
    with mpmath.workdps(60):
        exact = mpmath.erfc(3 / mpmath.sqrt(2)) / 2
        assert not mpmath.mpf(str(low)) <= exact * (1 + mpmath.mpf("1e-18")) <= mpmath.mpf(str(high))


@settings(max_examples=60, deadline=None)
@given(rho=st.fractions(min_value=Fraction(1, 10**6), max_value=50, max_denominator=10**6), delta=deltas)
def test_converting_concentrated_privacy_is_not_optimistic(rho, delta):
    """The infimum over alpha, by a fine search in 40-digit arithmetic, is met from above.

    Where rho ≤ 2 delta² no epsilon is needed: the divergence of order one is at most rho, so that by Pinsker's
    inequality the two laws differ by at most sqrt(rho / 2) ≤ delta.
    """
    if rho <= 2 * delta**2:
        assert epsilon_of_rho(rho, delta) == 0
        return
    with mpmath.workdps(40):

        def at(log_excess: mpmath.mpf) -> mpmath.mpf:
            excess = mpmath.exp(log_excess)
            alpha = 1 + excess
            rest = (-mpmath.log(mp(delta)) - mpmath.log(excess)) / excess + alpha / excess * mpmath.log(1 - 1 / alpha)
            return alpha * mp(rho) + rest

        low, high = mpmath.mpf(-12), mpmath.mpf(30)
        for _ in range(120):
            left, right = low + (high - low) * 0.4, low + (high - low) * 0.6
            low, high = (low, right) if at(left) < at(right) else (left, high)
        least = max(at((low + high) / 2), 0)
        ours = mp(epsilon_of_rho(rho, delta))
        assert least <= ours * (1 + mpmath.mpf("1e-30"))
        assert ours <= least * (1 + mpmath.mpf("1e-6")) + mpmath.mpf("1e-9")


@settings(max_examples=60, deadline=None)
@given(epsilon=fractions, delta=deltas)
def test_a_rho_within_a_loss_costs_no_more(epsilon, delta):
    rho = rho_within(epsilon, delta)
    assert rho == 0 or epsilon_of_rho(rho, delta) <= epsilon * (1 + Fraction(1, 10**9))


@settings(max_examples=50, deadline=None)
@given(
    epsilon=st.fractions(min_value=Fraction(1, 100), max_value=20, max_denominator=1000),
    delta=deltas,
    sensitivity=st.fractions(min_value=Fraction(1, 2), max_value=500, max_denominator=100),
    dimension=st.sampled_from([1, 2, 50, None]),
)
def test_gaussian_noise_costs_no_more_than_was_paid_and_hardly_less(epsilon, delta, sensitivity, dimension):
    loss = Loss(epsilon, delta)
    price = Gaussian.costing(loss, sensitivity, dimension=dimension).loss(sensitivity)
    assert price.within(loss)
    if sensitivity >= 1:  # whole numbers that move by less do not move
        assert price.epsilon >= epsilon * (1 - Fraction(1, 1000))


@settings(max_examples=40, deadline=None)
@given(epsilon=fractions, delta=deltas, more=st.fractions(min_value=1, max_value=3, max_denominator=100))
def test_gaussian_noise_is_monotone_in_all_that_it_depends_on(epsilon, delta, more):
    def sigma(epsilon: Fraction, delta: Fraction, moved: Fraction) -> Fraction:
        return Gaussian.costing(Loss(epsilon, delta), moved, dimension=3).sigma

    slack = 1 + Fraction(1, 100)  # the rungs of the rounding
    base = sigma(epsilon, delta, Fraction(2))
    assert sigma(epsilon * more, delta, Fraction(2)) <= base * slack
    assert sigma(epsilon, min(delta * more, Fraction(1, 2)), Fraction(2)) <= base * slack
    assert sigma(epsilon, delta, 2 * more) * slack >= base


@settings(max_examples=100, deadline=None)
@given(mu=fractions, epsilon=fractions, more=st.fractions(min_value=1, max_value=10, max_denominator=50))
def test_the_gaussian_profile_falls_with_epsilon_and_rises_with_mu(mu, epsilon, more):
    base = delta_above(epsilon, mu)
    slack = Fraction(1, 10**25)
    assert delta_above(epsilon * more, mu) <= base + slack
    assert delta_above(epsilon, mu * more) + slack >= base


@settings(max_examples=100, deadline=None)
@given(
    confidence=st.fractions(min_value=Fraction(1, 100), max_value=Fraction(9999, 10000), max_denominator=10**6),
    count=st.integers(1, 10**6),
)
def test_a_shared_confidence_holds_for_all_together(confidence, count):
    with mpmath.workdps(60):
        each = share(confidence, count=count)
        assert (1 - mp(each)) ** count >= mp(confidence) * (1 - mpmath.mpf("1e-50"))
        assert each >= (1 - confidence) / count


@settings(max_examples=100, deadline=None)
@given(
    scale=st.fractions(min_value=Fraction(1, 20), max_value=10**6, max_denominator=1000),
    confidence=st.fractions(min_value=Fraction(1, 100), max_value=Fraction(99999, 100000), max_denominator=10**6),
    more=st.integers(1, 50),
)
def test_errors_grow_with_noise_confidence_and_count(scale, confidence, more):
    base = Laplace(scale).error(confidence)
    assert Laplace(scale * more).error(confidence) >= base
    assert Laplace(scale).error(1 - (1 - confidence) / more) >= base
    assert Laplace(scale).error(confidence, count=more) >= base
    with mpmath.workdps(60):
        q = mpmath.exp(-1 / mp(scale))
        assert 2 * q ** (base + 1) / (1 + q) <= 1 - mp(confidence)


@settings(max_examples=50, deadline=None)
@given(
    values=st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=20),
    scale=st.fractions(min_value=Fraction(1, 100), max_value=2**40, max_denominator=100),
    seed=st.integers(0, 2**32),
)
def test_releases_keep_their_size_and_their_sign_at_the_ends(values, scale, seed):
    for mechanism in (Laplace(scale), Gaussian(scale, "1e-6")):
        released = mechanism.release(values, Seeded(seed))
        assert released.dtype == np.int64
        assert released.shape == (len(values),)
        for value, noisy in zip(values, released.tolist(), strict=True):
            assert abs(value) < 2**62 or (value < 0) == (noisy < 0)  # never wrapped round


@pytest.mark.parametrize("kind", [Exponential, PermuteAndFlip, NoisyMax])
@settings(max_examples=50, deadline=None)
@given(
    scores=st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=30),
    parameter=st.fractions(min_value=Fraction(1, 10**6), max_value=10**6, max_denominator=10**6),
    seed=st.integers(0, 2**32),
)
def test_a_choice_is_always_one_of_the_candidates(kind, scores, parameter, seed):
    assert 0 <= kind(parameter, adjacency=REPLACE).release(scores, Seeded(seed)) < len(scores)
