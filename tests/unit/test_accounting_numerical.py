"""Numerical composition: never below what exact enumeration gives, and close to it."""

import math
import subprocess
import sys
from fractions import Fraction
from itertools import pairwise

import mpmath
import pytest

from tacit.accounting import (
    amplify,
    compose_numerically,
    compose_optimal,
    loss_distribution,
    numerical_delta,
    optimal_delta,
    renyi_delta,
    zcdp_to_dp,
)
from tacit.accounting.profiles import curve_profile, grid_step, response_profile
from tacit.accounting.renyi import curve_of
from tacit.core import (
    NOTHING,
    ApproximateEvent,
    BoundedRangeEvent,
    ComposedEvent,
    GaussianEvent,
    LaplaceEvent,
    Loss,
    PureEvent,
    SampledEvent,
)
from tacit.errors import InvalidParameter, TacitError


def mp(value):
    return mpmath.mpf(value.numerator) / value.denominator


def responses(epsilon, times):
    """The loss distribution of `times` randomised responses: {loss: probability}."""
    stay = 1 / (1 + mpmath.exp(-epsilon))
    law = {}
    for lies in range(times + 1):
        loss = (times - 2 * lies) * epsilon
        law[loss] = mpmath.binomial(times, lies) * stay ** (times - lies) * (1 - stay) ** lies
    return law


def convolved(first, second):
    law = {}
    for a, p in first.items():
        for b, q in second.items():
            law[a + b] = law.get(a + b, mpmath.mpf(0)) + p * q
    return law


def delta_of(law, epsilon):
    return sum(p * max(mpmath.mpf(0), 1 - mpmath.exp(epsilon - loss)) for loss, p in law.items())


@pytest.mark.parametrize(
    ("epsilon", "times"), [("0.1", 100), ("1/1024", 10_000), ("0.0123", 3333), ("1/8", 1000), ("1", 50)]
)
def test_equal_pure_losses_cost_no_less_than_the_optimum_and_hardly_more(epsilon, times):
    event = ComposedEvent(((PureEvent(Fraction(epsilon)), times),))
    for slack in ("1e-3", "1e-6", "1e-8"):
        best = compose_optimal(Loss(epsilon), times, slack=slack)
        true = optimal_delta(Loss(epsilon), times, epsilon=best.epsilon)
        claimed = numerical_delta([event], best.epsilon)
        assert true <= claimed <= true * Fraction(105, 100) + Fraction(1, 10**9)
        if best.delta > 0:
            found = compose_numerically([event], slack)
            assert found.epsilon <= best.epsilon * Fraction(1001, 1000)
            assert optimal_delta(Loss(epsilon), times, epsilon=found.epsilon) <= Fraction(slack)


def test_different_pure_losses_are_composed_as_exact_enumeration_does():
    events = [PureEvent(Fraction(1, 3))] * 8 + [LaplaceEvent(Fraction(7, 10))] * 5
    with mpmath.workdps(40):
        law = convolved(responses(mpmath.mpf(1) / 3, 8), responses(mpmath.mpf(7) / 10, 5))
        for step in range(12):
            epsilon = Fraction(step, 2)
            true = delta_of(law, mp(epsilon))
            claimed = mp(numerical_delta(events, epsilon))
            assert true <= claimed <= true * mpmath.mpf("1.01") + mpmath.mpf("1e-9")


@pytest.mark.parametrize("sigma", ["0.5", "1", "2"])
def test_discrete_gaussian_noise_with_responses_is_covered(sigma):
    rho = 1 / (2 * Fraction(sigma) ** 2)
    events = [GaussianEvent(rho), *[PureEvent(Fraction(1, 4))] * 4]
    with mpmath.workdps(40):
        scale = mpmath.mpf(sigma)
        weights = {x: mpmath.exp(-(x**2) / (2 * scale**2)) for x in range(-60, 61)}
        total = sum(weights.values())
        noise = {(1 - 2 * x) / (2 * scale**2): weight / total for x, weight in weights.items()}  # ln p(x) / p(x - 1)
        law = convolved(noise, responses(mpmath.mpf(1) / 4, 4))
        for step in range(10):
            epsilon = Fraction(step, 2)
            assert delta_of(law, mp(epsilon)) <= mp(numerical_delta(events, epsilon))


def test_gaussian_events_alone_cost_their_zcdp_conversion():
    events = [GaussianEvent(Fraction(1, 200))] * 100
    found = compose_numerically(events, "1e-6").epsilon
    exact = zcdp_to_dp(Fraction(1, 2), "1e-6").epsilon
    assert exact * (1 - Fraction(1, 10**6)) <= found <= exact * Fraction(102, 100)


def test_a_mixture_costs_less_than_everything_as_zcdp():
    mixture = [GaussianEvent(Fraction(1, 200))] * 100 + [PureEvent(Fraction(1, 10))] * 50
    rho = Fraction(1, 2) + 50 * Fraction("0.0049958")
    assert compose_numerically(mixture, "1e-6").epsilon < zcdp_to_dp(rho, "1e-6").epsilon


def test_an_events_own_delta_is_counted():
    event = ApproximateEvent(Loss("0.1", "1e-8"))
    assert numerical_delta([event] * 50, 100) >= 1 - (1 - Fraction("1e-8")) ** 50
    assert compose_numerically([event] * 50, "1e-6").epsilon > compose_numerically(
        [PureEvent(Fraction(1, 10))] * 50, "1e-6"
    ).epsilon * Fraction(999, 1000)
    with pytest.raises(InvalidParameter, match="no useful epsilon"):
        compose_numerically([event] * 200, "1e-6")


def test_sampled_events_are_cheaper():
    whole, part = GaussianEvent(Fraction(1, 2)), SampledEvent(Fraction(1, 10), GaussianEvent(Fraction(1, 2)))
    assert compose_numerically([part] * 20, "1e-6").epsilon < compose_numerically([whole] * 20, "1e-6").epsilon / 2


def test_nothing_costs_nothing():
    assert compose_numerically([], "1e-6") == NOTHING
    assert compose_numerically([PureEvent(Fraction(0))], "1e-6") == NOTHING
    assert numerical_delta([], 0) == 0


def test_a_delta_finer_than_the_arithmetic_is_refused():
    with pytest.raises(InvalidParameter, match="too fine"):
        compose_numerically([PureEvent(Fraction(1, 10))], "1e-12")
    with pytest.raises(InvalidParameter, match="too fine"):
        compose_numerically([ComposedEvent(((PureEvent(Fraction(1, 10**4)), 10**6),))], "1e-8")


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "dp_accounting.pld", None)
    with pytest.raises(TacitError, match="dp-accounting") as caught:
        compose_numerically([PureEvent(Fraction(1))], "1e-6")
    assert "tacit[accounting]" in caught.value.hint


def test_the_room_opens_without_the_package():
    code = "import sys; sys.modules['dp_accounting'] = None; import tacit.accounting; print('open')"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "open"


def test_a_response_profile_touches_the_true_one_at_its_dots():
    step = grid_step({Loss("0.1", "1e-3"): 10})
    profile = response_profile(Loss("0.1", "1e-3"), step)
    assert profile[-1][1] == pytest.approx(1e-3)
    assert profile[-1][0] * step >= 0.1
    for dot, delta in profile:
        if dot >= 0:
            true = optimal_delta(Loss("0.1", "1e-3"), 1, epsilon=Fraction(dot) * Fraction(step))
            assert delta == pytest.approx(float(true), rel=1e-12)


def test_a_curve_profile_is_convex_and_falls():
    step = 2.0**-13
    profile = curve_profile(curve_of(GaussianEvent(Fraction(1, 2))), step)
    with mpmath.workdps(40):
        points = [(mpmath.mpf(0), mpmath.mpf(1))]
        points += [(mpmath.exp(mpmath.mpf(dot) * step), mpmath.mpf(delta)) for dot, delta in profile]
        slopes = [(b[1] - a[1]) / (b[0] - a[0]) for a, b in pairwise(points)]
        assert all(slope <= 0 for slope in slopes)
        assert all(later >= earlier - mpmath.mpf("1e-9") for earlier, later in pairwise(slopes))


def test_a_curve_profile_below_zero_is_the_reflection_of_itself():
    # for P against Q at -epsilon what Q against P has at epsilon: delta(-e) = 1 - exp(-e) (1 - delta(e))
    step, curve = 2.0**-13, curve_of(GaussianEvent(Fraction(1, 2)))
    below = [(dot, delta) for dot, delta in curve_profile(curve, step) if dot < 0]
    assert len(below) > 10
    for dot, delta in below[:: len(below) // 10]:
        epsilon = Fraction(-dot) * Fraction(step)
        reflected = 1 - math.exp(-float(epsilon)) * (1 - float(renyi_delta(curve, epsilon)))
        assert delta == pytest.approx(reflected, rel=1e-7)


def test_choices_of_bounded_range_are_read_by_whichever_bound_is_lower():
    many, few = ([BoundedRangeEvent(Fraction(epsilon))] * count for epsilon, count in (("0.1", 100), ("6", 2)))
    dear = compose_numerically([PureEvent(Fraction(1, 10))] * 100, "1e-6")
    assert compose_numerically(many, "1e-6").epsilon < dear.epsilon * Fraction(6, 10)
    assert compose_numerically(few, "1e-6").epsilon <= 12
    assert numerical_delta(many, 3) < numerical_delta([PureEvent(Fraction(1, 10))] * 100, 3)


def sampled_pair(epsilon, q):
    """The probabilities of randomised response on a Poisson sample: with the unit, and without it."""
    truth = 1 / (1 + mpmath.exp(-epsilon))
    with_it, without = (truth, 1 - truth), (1 - truth, truth)
    return [(q * p + (1 - q) * r, r) for p, r in zip(with_it, without, strict=True)]


def sampled_law(epsilon, q, times, *, removed):
    """The loss distribution of so many, for a unit that is removed or for one that is added."""
    pair = [(a, b) if removed else (b, a) for a, b in sampled_pair(epsilon, q)]
    law = {}
    for first in range(times + 1):
        loss = first * mpmath.log(pair[0][0] / pair[0][1]) + (times - first) * mpmath.log(pair[1][0] / pair[1][1])
        law[loss] = mpmath.binomial(times, first) * pair[0][0] ** first * pair[1][0] ** (times - first)
    return law


SAMPLED = [("1", "1/100", 200), ("1/2", "1/10", 60), ("5", "1/1000", 100), ("2", "9/10", 12), ("1/50", "1/3", 300)]


@pytest.mark.parametrize(("epsilon", "q", "times"), SAMPLED)
def test_laplace_noise_on_samples_is_composed_as_exact_enumeration_does(epsilon, q, times):
    event = SampledEvent(Fraction(q), LaplaceEvent(Fraction(epsilon)))
    with mpmath.workdps(40):
        laws = [sampled_law(mp(Fraction(epsilon)), mp(Fraction(q)), times, removed=way) for way in (True, False)]
        for part in (Fraction(1, 8), Fraction(1, 2), Fraction(1), Fraction(2)):
            target = part * Fraction(q) * Fraction(epsilon) * Fraction(math.isqrt(times))
            true = max(delta_of(law, mp(target)) for law in laws)
            claimed = mp(numerical_delta([ComposedEvent(((event, times),))], target))
            assert true <= claimed <= true * mpmath.mpf("1.02") + mpmath.mpf("1e-9")


def test_a_sample_costs_less_than_its_amplified_epsilon_as_a_whole():
    event, times = SampledEvent(Fraction(1, 50), PureEvent(Fraction(2))), 500
    found = compose_numerically([ComposedEvent(((event, times),))], "1e-6").epsilon
    amplified = compose_numerically([PureEvent(amplify(Loss(2), "1/50").epsilon)] * times, "1e-6").epsilon
    assert found * Fraction(28, 10) < amplified


@pytest.mark.parametrize("planted", ["half as many are kept", "the rare loss is forgotten"])
def test_a_planted_profile_of_a_sample_is_caught(planted, monkeypatch):
    whole = loss_distribution.sampled_profiles

    def wrong(loss, q, *, step):
        if planted == "half as many are kept":
            return whole(loss, q / 2, step=step)
        return (whole(loss, q, step=step)[1],) * 2  # as if a removed unit lost no more than an added one

    monkeypatch.setattr(loss_distribution, "sampled_profiles", wrong)
    with pytest.raises(AssertionError):
        test_laplace_noise_on_samples_is_composed_as_exact_enumeration_does("1", "1/100", 200)


@pytest.mark.parametrize("q", ["1e-200", "1e-9", "0.999999999999", "1"])
@pytest.mark.parametrize("epsilon", ["1e-6", "1", "100"])
def test_extreme_samples_cost_no_more_than_everybody(epsilon, q):
    sampled = SampledEvent(Fraction(q), ApproximateEvent(Loss(epsilon, "1e-9")))
    whole = ApproximateEvent(Loss(epsilon, "1e-9"))
    for target in ("0", "0.5", "3"):
        assert numerical_delta([sampled] * 3, target) <= numerical_delta([whole] * 3, target) * (1 + Fraction(1, 10**6))
