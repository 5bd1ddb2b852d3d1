"""zCDP: prices of events and conversions, against laws computed to many digits."""

from fractions import Fraction
from itertools import product

import mpmath
import pytest

from tacit.accounting import Zcdp, amplify, loss_to_zcdp, pure_rho, range_rho, rho_for, zcdp_delta, zcdp_of, zcdp_to_dp
from tacit.core import (
    NOTHING,
    ApproximateEvent,
    BoundedRangeEvent,
    Budget,
    ComposedEvent,
    GaussianEvent,
    LaplaceEvent,
    Loss,
    PureEvent,
    SampledEvent,
)
from tacit.errors import InvalidParameter

CENSUS_RHO = Fraction(542, 339) ** 2


def mp(value):
    return mpmath.mpf(value.numerator) / value.denominator


def response_divergence(epsilon, order):
    """The order-a divergence of randomised response, from its two probabilities."""
    stay = 1 / (1 + mpmath.exp(-epsilon))
    move = 1 - stay
    moment = stay**order * move ** (1 - order) + move**order * stay ** (1 - order)
    return mpmath.log(moment) / (order - 1)


def discrete_gaussian(sigma, shift, reach=60):
    weights = {x: mpmath.exp(-((x - shift) ** 2) / (2 * sigma**2)) for x in range(-reach, reach + 1)}
    total = sum(weights.values())
    return {x: weight / total for x, weight in weights.items()}


def hockey_stick(p, q, epsilon):
    return sum(max(mpmath.mpf(0), p[x] - mpmath.exp(epsilon) * q[x]) for x in p)


def canonne_kamath_steinke(rho, delta):
    """The same conversion, minimised over a fine grid of orders at 40 digits."""
    with mpmath.workdps(40):
        orders = [1 + mpmath.exp(t / mpmath.mpf(50)) for t in range(-400, 1200)]
        return min(
            a * rho + mpmath.log(1 - 1 / a) - mpmath.log(delta * a) / (a - 1) for a in orders
        )  # each a true bound


def test_the_census_spends_what_it_published():
    assert float(CENSUS_RHO) == pytest.approx(2.5562255810513306, rel=1e-15)
    found = zcdp_to_dp(CENSUS_RHO, "1e-10")
    assert float(found.epsilon) == pytest.approx(17.143550750372114, rel=1e-9)
    assert round(float(found.epsilon), 2) == 17.14
    assert found.delta == Fraction("1e-10")


@pytest.mark.parametrize(("rho", "delta"), [("0.5", "1e-5"), ("0.001", "1e-9"), ("10", "1e-6"), ("2.5", "0.01")])
def test_conversion_finds_the_best_order_and_stays_above_it(rho, delta):
    found = mp(zcdp_to_dp(rho, delta).epsilon)
    oracle = canonne_kamath_steinke(mpmath.mpf(rho), mpmath.mpf(delta))
    assert found <= oracle * (1 + mpmath.mpf("1e-12"))
    assert found >= oracle * (1 - mpmath.mpf("1e-4"))


@pytest.mark.parametrize("rho", ["1e-300", "1e-20", "1e-6", "0.1", "3", "1000", "1e12"])
@pytest.mark.parametrize("delta", ["1e-300", "1e-12", "0.001", "0.9"])
def test_epsilon_and_delta_are_each_others_inverse(rho, delta):
    epsilon = zcdp_to_dp(rho, delta).epsilon
    back = zcdp_delta(rho, epsilon)
    if epsilon > 0:
        assert float(back / Fraction(delta)) == pytest.approx(1, rel=1e-4)
    else:
        assert back <= Fraction(delta)


def test_no_loss_converts_to_no_loss():
    assert zcdp_to_dp(0, "1e-6") == NOTHING
    assert zcdp_delta(0, 0) == 0


def test_a_delta_above_pinskers_bound_needs_no_epsilon():
    assert zcdp_to_dp("0.02", "0.1") == Loss(0, "0.1")
    assert zcdp_to_dp("0.0201", "0.1").epsilon > 0
    assert float(zcdp_delta("0.02", 0)) == pytest.approx(0.1)


def test_an_approximate_zcdp_pays_its_own_delta_first():
    alone = zcdp_to_dp("0.1", "1e-6").epsilon
    both = zcdp_to_dp(Zcdp("0.1", "5e-7"), "1e-6").epsilon
    assert both > alone
    assert both == zcdp_to_dp("0.1", Fraction("5e-7") / (1 - Fraction("5e-7"))).epsilon
    assert zcdp_delta(Zcdp("0.1", "5e-7"), both) <= Fraction("1.000001e-6")
    with pytest.raises(InvalidParameter, match="not enough"):
        zcdp_to_dp(Zcdp("0.1", "1e-6"), "1e-6")


@pytest.mark.parametrize("bad", [0, 1, -1, "nan"])
def test_a_delta_that_is_no_probability_is_refused(bad):
    with pytest.raises(InvalidParameter):
        zcdp_to_dp(1, bad)


@pytest.mark.parametrize("sigma", [0.3, 0.7, 1, 2, 5])
def test_the_conversion_covers_discrete_gaussian_noise_of_every_scale(sigma):
    with mpmath.workdps(40):
        rho = 1 / (2 * mpmath.mpf(sigma) ** 2)
        p, q = discrete_gaussian(mpmath.mpf(sigma), 0), discrete_gaussian(mpmath.mpf(sigma), 1)
        for step in range(30):
            epsilon = Fraction(step, 4)
            bound = zcdp_delta(Fraction(str(mpmath.nstr(rho, 30))), epsilon)
            assert hockey_stick(p, q, mp(epsilon)) <= mp(bound)


def test_continuous_gaussian_noise_does_not_cover_discrete_noise_of_the_same_scale():
    # why no accountant here takes the profile of the continuous law: total variation 0.399 against 0.383
    with mpmath.workdps(30):
        discrete = hockey_stick(discrete_gaussian(mpmath.mpf(1), 0), discrete_gaussian(mpmath.mpf(1), 1), 0)
        continuous = 2 * mpmath.ncdf(mpmath.mpf(1) / 2) - 1
        assert discrete > continuous + mpmath.mpf("0.015")


@pytest.mark.parametrize("epsilon", ["0.01", "0.5", "1", "4", "20"])
def test_pure_rho_bounds_every_order_and_is_tight(epsilon):
    with mpmath.workdps(60):
        rho, exact = mp(pure_rho(epsilon)), mpmath.mpf(epsilon)
        orders = [1 + mpmath.mpf(10) ** k for k in range(-6, 4)]
        assert all(response_divergence(exact, a) <= a * rho for a in orders)
        assert any(
            response_divergence(exact, a) > a * rho * mpmath.mpf("0.9999") for a in orders
        )  # a smaller one fails
        assert mpmath.almosteq(rho, exact * mpmath.tanh(exact / 2), rel_eps=mpmath.mpf("1e-15"))
        assert rho < exact**2 / 2


def test_pure_rho_is_never_above_the_textbook_bound():
    for epsilon in ("1e-60", "1e-30", "1e-9", "0.1", "1e300"):
        assert pure_rho(epsilon) <= Fraction(epsilon) ** 2 / 2
        assert 0 < pure_rho(epsilon) <= Fraction(epsilon)
    assert pure_rho(0) == 0
    with pytest.raises(InvalidParameter):
        pure_rho(-1)


def test_two_sided_geometric_noise_at_one_step_is_randomised_response():
    # why a LaplaceEvent gets no discount: at sensitivity 1 its loss takes only the values +epsilon and -epsilon
    ratio = Fraction(1, 3)  # e^-epsilon
    p = {x: (1 - ratio) / (1 + ratio) * ratio ** abs(x) for x in range(-50, 51)}
    q = {x: (1 - ratio) / (1 + ratio) * ratio ** abs(x - 1) for x in range(-50, 51)}
    assert {p[x] / q[x] for x in p} == {ratio, 1 / ratio}
    share = sum(p[x] for x in p if p[x] > q[x])
    assert float(share) == pytest.approx(float(1 / (1 + ratio)))  # the honest share of randomised response
    # continuous Laplace noise of that scale loses less on average
    with mpmath.workdps(30):
        epsilon = mpmath.log(3)
        assert epsilon + mpmath.exp(-epsilon) - 1 < response_divergence(epsilon, 1 + mpmath.mpf("1e-9"))


def exponential_law(scores, rate):
    weights = [mpmath.exp(rate * score) for score in scores]
    return [weight / mpmath.fsum(weights) for weight in weights]


def permute_and_flip_law(scores, rate):
    """Of those kept (the best always), one is chosen evenly: summed over every set that may be kept."""
    chances = [mpmath.exp(rate * (score - max(scores))) for score in scores]
    law = [mpmath.mpf(0)] * len(scores)
    for kept in product([0, 1], repeat=len(scores)):
        weight = mpmath.fprod(p if here else 1 - p for p, here in zip(chances, kept, strict=True))
        for place, here in enumerate(kept):
            law[place] += weight * here / max(1, sum(kept))
    return law


def divergence(p, q, order):
    return mpmath.log(mpmath.fsum(a**order * b ** (1 - order) for a, b in zip(p, q, strict=True))) / (order - 1)


def range_ratio(law, epsilon, monotone):
    """The largest divergence between neighbours that were searched, as a share of what range_rho allows."""
    rate = mpmath.mpf(epsilon) / (1 if monotone else 2)
    rho, worst = mp(range_rho(epsilon)), mpmath.mpf(0)
    for here in product([0, 1, 2, 5], repeat=3):
        for moved in product([0, 1] if monotone else [-1, 0, 1], repeat=3):
            p, q = law(here, rate), law([a + b for a, b in zip(here, moved, strict=True)], rate)
            for order in (mpmath.mpf("1.01"), mpmath.mpf(2), mpmath.mpf(8)):
                worst = max(worst, divergence(p, q, order) / (order * rho), divergence(q, p, order) / (order * rho))
    return worst


@pytest.mark.parametrize("monotone", [False, True])
@pytest.mark.parametrize("epsilon", ["0.1", "1", "6"])
def test_the_exponential_mechanism_costs_no_more_than_its_range_says(epsilon, monotone):
    with mpmath.workdps(30):
        ratio = range_ratio(exponential_law, epsilon, monotone)
        assert mpmath.mpf("0.5") < ratio <= 1  # and half of it would not do


def test_permute_and_flip_is_of_no_bounded_range_and_gets_no_discount():
    with mpmath.workdps(30):
        assert range_ratio(permute_and_flip_law, "1", True) > mpmath.mpf("1.5")


def test_choices_compose_at_half_the_epsilon_of_other_pure_mechanisms():
    choices = ComposedEvent(((BoundedRangeEvent(Fraction(1, 10)), 100),))
    others = ComposedEvent(((PureEvent(Fraction(1, 10)), 100),))
    dear, cheap = (zcdp_to_dp(zcdp_of(event), "1e-6").epsilon for event in (others, choices))
    assert (float(dear), float(cheap)) == pytest.approx((5.219, 2.419), abs=0.001)
    assert range_rho(50) == pure_rho(50) < Fraction(50) ** 2 / 8


def test_each_event_has_its_rho():
    assert zcdp_of(BoundedRangeEvent(Fraction(1))) == Zcdp("1/8")
    assert zcdp_of(GaussianEvent(Fraction(1, 7))) == Zcdp("1/7")
    assert zcdp_of(PureEvent(Fraction(1))) == zcdp_of(LaplaceEvent(Fraction(1))) == Zcdp(pure_rho(1))
    assert zcdp_of(ApproximateEvent(Loss(1, "1e-6"))) == Zcdp(pure_rho(1), "1e-6") == loss_to_zcdp(Loss(1, "1e-6"))
    both = ComposedEvent(((GaussianEvent(Fraction(1, 7)), 7), (ApproximateEvent(Loss(1, "1e-6")), 2)))
    assert zcdp_of(both) == Zcdp(1 + 2 * pure_rho(1), "2e-6")


def test_sampling_helps_what_has_an_epsilon_and_never_harms_the_rest():
    half = Fraction(1, 2)
    assert zcdp_of(SampledEvent(half, PureEvent(Fraction(1)))) == loss_to_zcdp(amplify(Loss(1), half))
    assert zcdp_of(SampledEvent(half, GaussianEvent(Fraction(1, 7)))) == Zcdp("1/7")


@pytest.mark.parametrize("limit", [Loss(1, "1e-6"), Budget("0.01", "1e-9"), Loss(20, "1e-10"), Loss("1e-9", "1e-9")])
def test_the_largest_rho_fits_and_no_larger_one_does(limit):
    rho = rho_for(limit)
    assert rho > 0
    assert zcdp_to_dp(rho, limit.delta).within(limit)
    assert not zcdp_to_dp(rho * (1 + Fraction(1, 10**9)), limit.delta).within(limit)


def test_a_limit_without_delta_covers_no_rho():
    with pytest.raises(InvalidParameter, match="covers no zCDP"):
        rho_for(Loss(1))


def test_a_rho_below_zero_is_refused():
    for bad in ({"rho": -1}, {"rho": 1, "delta": 2}):
        with pytest.raises(InvalidParameter):
            Zcdp(**bad)


def test_a_price_prints_itself():
    assert str(Zcdp("0.1")) == "ρ = 0.1"
    assert str(Zcdp("0.1", "1e-9")) == "ρ = 0.1, δ = 1e-9"
