"""Rényi curves: closed forms and samples, against laws summed to many digits and dp-accounting."""

from fractions import Fraction

import mpmath
import pytest
from dp_accounting import dp_event
from dp_accounting.rdp import rdp_privacy_accountant

from tacit.accounting import ORDERS, RenyiCurve, amplify, curve_of, renyi_delta, renyi_to_dp, zcdp_delta, zcdp_to_dp
from tacit.accounting.renyi import FILTER_ORDERS
from tacit.core import (
    NOTHING,
    ApproximateEvent,
    ComposedEvent,
    GaussianEvent,
    LaplaceEvent,
    Loss,
    PureEvent,
    SampledEvent,
)
from tacit.errors import InvalidParameter

HALF = Fraction(1, 2)


def mp(value):
    return mpmath.mpf(value.numerator) / value.denominator


def divergence(p, q, order):
    return mpmath.log(sum(p[x] ** order * q[x] ** (1 - order) for x in p)) / (order - 1)


def discrete_gaussian(sigma, shift, reach=80):
    weights = {x: mpmath.exp(-((x - shift) ** 2) / (2 * sigma**2)) for x in range(-reach, reach + 1)}
    total = sum(weights.values())
    return {x: weight / total for x, weight in weights.items()}


def test_orders_rise_from_above_one():
    assert ORDERS[0] > 1
    assert ORDERS[-1] >= 10**7  # where a rho of 1e-13 has its best order
    assert list(ORDERS) == sorted(set(ORDERS))


def test_the_gaussian_curve_is_linear():
    curve = curve_of(GaussianEvent(Fraction(1, 8)))
    assert all(value == order / 8 for order, value in zip(curve.orders, curve.values, strict=True))


@pytest.mark.parametrize("epsilon", ["1e-40", "0.01", "1", "10"])
def test_the_pure_curve_is_that_of_randomised_response(epsilon):
    curve = curve_of(PureEvent(Fraction(epsilon)))
    with mpmath.workdps(250):  # at 1e-40 two thirds of them cancel
        stay = 1 / (1 + mpmath.exp(-mpmath.mpf(epsilon)))
        p, q = {0: stay, 1: 1 - stay}, {0: 1 - stay, 1: stay}
        for order, value in zip(curve.orders, curve.values, strict=True):
            true = divergence(p, q, mp(order))
            assert true <= mp(value) <= true * (1 + mpmath.mpf("1e-12")) + mpmath.mpf("1e-77")
    assert curve_of(LaplaceEvent(Fraction(epsilon))) == curve


@pytest.mark.parametrize(("q", "sigma"), [(0.01, 1.0), (0.2, 3.0), (0.5, 0.8)])
def test_the_sampled_curve_agrees_with_dp_accounting_at_whole_orders(q, sigma):
    rho = 1 / (2 * Fraction(str(sigma)) ** 2)
    curve = curve_of(SampledEvent(Fraction(str(q)), GaussianEvent(rho)))
    for order, value in zip(curve.orders, curve.values, strict=True):
        if order.denominator == 1 and order in FILTER_ORDERS:
            peer = rdp_privacy_accountant._compute_rdp_poisson_subsampled_gaussian(q, sigma, [int(order)])[0]
            assert float(value) == pytest.approx(peer, rel=1e-9)


@pytest.mark.parametrize(("q", "sigma"), [("0.01", "1"), ("0.3", "0.5"), ("0.5", "2")])
def test_the_sampled_curve_bounds_discrete_noise_in_both_directions(q, sigma):
    rho = 1 / (2 * Fraction(sigma) ** 2)
    orders = tuple(Fraction(text) for text in ("1.1", "1.5", "2", "2.5", "3", "4.5", "6", "16"))
    curve = curve_of(SampledEvent(Fraction(q), GaussianEvent(rho)), orders)
    with mpmath.workdps(60):
        chance = mpmath.mpf(q)
        without, present = discrete_gaussian(mpmath.mpf(sigma), 0), discrete_gaussian(mpmath.mpf(sigma), 1)
        mixed = {x: (1 - chance) * without[x] + chance * present[x] for x in without}
        for order, value in zip(curve.orders, curve.values, strict=True):
            assert divergence(mixed, without, mp(order)) <= mp(value)
            assert divergence(without, mixed, mp(order)) <= mp(value)
        assert mp(curve.values[2]) <= divergence(mixed, without, 2) * mpmath.mpf("1.6")  # and it is no idle bound


def test_sampling_amplifies_pure_events_and_flattens():
    direct = curve_of(SampledEvent(HALF, PureEvent(Fraction(1))))
    assert direct == curve_of(PureEvent(amplify(Loss(1), HALF).epsilon))
    twice = SampledEvent(HALF, SampledEvent(HALF, GaussianEvent(HALF)))
    assert curve_of(twice) == curve_of(SampledEvent(HALF / 2, GaussianEvent(HALF)))
    assert curve_of(SampledEvent(Fraction(1), GaussianEvent(HALF))) == curve_of(GaussianEvent(HALF))


def test_a_sampled_mixture_gets_no_discount_it_has_not_proved():
    mixture = ComposedEvent(((GaussianEvent(HALF), 1), (PureEvent(Fraction(1)), 2)))
    assert curve_of(SampledEvent(HALF, mixture)) == curve_of(mixture)


def test_an_event_with_a_delta_has_no_curve():
    assert curve_of(ApproximateEvent(Loss(1))) == curve_of(PureEvent(Fraction(1)))
    with pytest.raises(InvalidParameter, match="no Rényi divergence"):
        curve_of(ApproximateEvent(Loss(1, "1e-6")))


def test_curves_add_up():
    one = curve_of(GaussianEvent(Fraction(1, 8)))
    assert one + one == one * 2 == curve_of(ComposedEvent(((GaussianEvent(Fraction(1, 8)), 2),)))
    assert str(RenyiCurve((Fraction(2),), (Fraction(1, 3),))) == "2: 0.333333"


def test_malformed_curves_are_refused():
    two = (Fraction(2),)
    for orders, values in ((two, ()), ((Fraction(1),), (Fraction(0),)), (two, (Fraction(-1),))):
        with pytest.raises(InvalidParameter):
            RenyiCurve(orders, values)
    with pytest.raises(InvalidParameter, match="different orders"):
        RenyiCurve(two, two) + RenyiCurve((Fraction(3),), two)


@pytest.mark.parametrize("rho", ["0.001", "0.1", "2"])
def test_the_grid_of_orders_is_fine_enough_and_never_better_than_all_orders(rho):
    curve = curve_of(GaussianEvent(Fraction(rho)))
    for delta in ("1e-4", "1e-8"):
        grid, free = renyi_to_dp(curve, delta).epsilon, zcdp_to_dp(rho, delta).epsilon
        assert free * (1 - Fraction(1, 10**12)) <= grid <= free * Fraction(103, 100)
    grid = renyi_delta(curve, 1)
    assert grid >= zcdp_delta(rho, 1) * (1 - Fraction(1, 10**9))


def test_many_steps_of_sampled_noise_cost_what_dp_accounting_says():
    step = SampledEvent(Fraction(1, 100), GaussianEvent(HALF))
    found = renyi_to_dp(curve_of(step) * 1000, "1e-5")
    peer = rdp_privacy_accountant.RdpAccountant(orders=[float(order) for order in FILTER_ORDERS])
    peer.compose(dp_event.PoissonSampledDpEvent(0.01, dp_event.GaussianDpEvent(1.0)), 1000)
    assert float(found.epsilon) == pytest.approx(peer.get_epsilon(1e-5), rel=1e-9)


def test_no_events_cost_nothing():
    flat = curve_of(GaussianEvent(Fraction(0)))
    assert renyi_to_dp(flat, "1e-6") == NOTHING
    assert renyi_delta(flat, 0) == 0


@pytest.mark.parametrize("rho", ["1e-10", "1e-8", "1e-4", "1"])
def test_a_small_rho_converts_about_as_well_by_its_curve_as_by_itself(rho):
    event = GaussianEvent(Fraction(rho))
    direct = zcdp_to_dp(Fraction(rho), "1e-6").epsilon
    assert direct <= renyi_to_dp(curve_of(event), "1e-6").epsilon <= direct * Fraction(106, 100)
