"""Laws that every accountant keeps: monotone, never optimistic, rounded to the private side; and broken twins."""

import random
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.accounting import (
    ApproximateFilter,
    PureFilter,
    RenyiFilter,
    Zcdp,
    ZcdpFilter,
    amplify,
    compose_advanced,
    compose_basic,
    compose_numerically,
    compose_optimal,
    compose_parallel,
    curve_of,
    group_loss,
    loss_of,
    optimal_delta,
    posterior,
    pure_rho,
    renyi_to_dp,
    zcdp_delta,
    zcdp_of,
    zcdp_to_dp,
)
from tacit.core import (
    NOTHING,
    Adjacency,
    ApproximateEvent,
    Budget,
    ComposedEvent,
    GaussianEvent,
    LaplaceEvent,
    Loss,
    PureEvent,
    SampledEvent,
)
from tacit.errors import BudgetExceeded

CLOSE = 1 + Fraction(1, 10**9)  # the search for an order is approximate; the bound at the order it finds is not

epsilons = st.fractions(min_value=0, max_value=8, max_denominator=10**6)
some_epsilons = st.fractions(min_value=Fraction(1, 10**4), max_value=8, max_denominator=10**4)
deltas = st.fractions(min_value=0, max_value=Fraction(1, 100), max_denominator=10**9)
slacks = st.fractions(min_value=Fraction(1, 10**12), max_value=Fraction(1, 2), max_denominator=10**12)
rhos = st.fractions(min_value=Fraction(1, 10**9), max_value=100, max_denominator=10**9)
chances = st.fractions(min_value=Fraction(1, 1000), max_value=1, max_denominator=1000)
losses = st.builds(Loss, epsilons, deltas)
pure_events = st.builds(PureEvent, epsilons) | st.builds(LaplaceEvent, epsilons)
priced_events = pure_events | st.builds(ApproximateEvent, losses) | st.builds(SampledEvent, chances, pure_events)
all_events = priced_events | st.builds(GaussianEvent, rhos)


def pairs(values):
    """Two values in order."""
    return st.tuples(values, values).map(sorted)


# Monotone and order-independent


@settings(max_examples=70, deadline=None)
@given(st.lists(losses, max_size=8), st.randoms(use_true_random=False))
def test_basic_and_parallel_composition_ignore_order(costs, chance):
    shuffled = costs[:]
    chance.shuffle(shuffled)
    assert compose_basic(costs) == compose_basic(shuffled)
    for adjacency in Adjacency:
        assert compose_parallel(costs, adjacency) == compose_parallel(shuffled, adjacency)


@settings(max_examples=70, deadline=None)
@given(st.lists(losses, min_size=1, max_size=6), losses)
def test_one_more_answer_never_costs_less(costs, more):
    assert compose_basic(costs).within(compose_basic([*costs, more]))
    for adjacency in Adjacency:
        assert compose_parallel(costs, adjacency).within(compose_parallel([*costs, more], adjacency))


@settings(max_examples=70, deadline=None)
@given(st.lists(losses, max_size=6))
def test_parallel_is_at_most_sequential(costs):
    one, two = (compose_parallel(costs, adjacency) for adjacency in Adjacency)
    assert one.within(two)
    assert two.within(compose_basic(costs))


@settings(max_examples=70, deadline=None)
@given(pairs(epsilons), pairs(st.integers(1, 500)), pairs(slacks), deltas)
def test_advanced_composition_is_monotone(two_epsilons, two_times, two_slacks, delta):
    (small, large), (few, many), (tight, loose) = two_epsilons, two_times, two_slacks
    least = compose_advanced(Loss(small, delta), few, slack=loose).epsilon
    assert least <= compose_advanced(Loss(large, delta), few, slack=loose).epsilon
    assert least <= compose_advanced(Loss(small, delta), many, slack=loose).epsilon
    assert least <= compose_advanced(Loss(small, delta), few, slack=tight).epsilon


@settings(max_examples=60, deadline=None)
@given(pairs(some_epsilons), pairs(st.integers(1, 60)), pairs(epsilons), pairs(deltas))
def test_optimal_delta_is_monotone(two_epsilons, two_times, two_targets, two_deltas):
    (small, large), (few, many), (near, far), (less, more) = two_epsilons, two_times, two_targets, two_deltas
    least = optimal_delta(Loss(small, less), few, epsilon=far)
    assert least <= optimal_delta(Loss(large, less), few, epsilon=far) * CLOSE
    assert least <= optimal_delta(Loss(small, less), many, epsilon=far) * CLOSE
    assert least <= optimal_delta(Loss(small, less), few, epsilon=near) * CLOSE
    assert least <= optimal_delta(Loss(small, more), few, epsilon=far) * CLOSE


@settings(max_examples=60, deadline=None)
@given(some_epsilons, st.integers(1, 80), slacks, deltas)
def test_optimal_composition_is_within_its_slack_and_beats_the_others(epsilon, times, slack, delta):
    loss = Loss(epsilon, delta)
    best = compose_optimal(loss, times, slack=slack)
    assert best.epsilon <= compose_basic([loss] * times).epsilon
    assert optimal_delta(loss, times, epsilon=best.epsilon) <= best.delta * CLOSE
    assert compose_optimal(Loss(epsilon), times, slack=slack).delta <= slack
    assert best.epsilon <= compose_optimal(loss, times + 2, slack=slack).epsilon  # the ladder keeps its parity
    advanced = compose_advanced(loss, times, slack=slack)
    allowed = slack if advanced.delta > loss.delta * times else Fraction(0)
    assert optimal_delta(Loss(epsilon), times, epsilon=advanced.epsilon) <= allowed * CLOSE


@settings(max_examples=70, deadline=None)
@given(pairs(rhos), pairs(slacks), pairs(epsilons))
def test_zcdp_conversion_is_monotone(two_rhos, two_deltas, two_epsilons):
    (small, large), (tight, loose), (near, far) = two_rhos, two_deltas, two_epsilons
    assert zcdp_to_dp(small, loose).epsilon <= zcdp_to_dp(large, loose).epsilon * CLOSE
    assert zcdp_to_dp(small, loose).epsilon <= zcdp_to_dp(small, tight).epsilon * CLOSE
    assert zcdp_delta(small, far) <= zcdp_delta(large, far) * CLOSE
    assert zcdp_delta(small, far) <= zcdp_delta(small, near) * CLOSE


@settings(max_examples=70, deadline=None)
@given(pairs(epsilons), pairs(chances), deltas, pairs(st.integers(1, 20)))
def test_groups_samples_and_rhos_are_monotone(two_epsilons, two_chances, delta, two_sizes):
    (small, large), (rare, often), (few, many) = two_epsilons, two_chances, two_sizes
    assert amplify(Loss(small, delta), rare).within(amplify(Loss(large, delta), rare))
    assert amplify(Loss(small, delta), rare).within(amplify(Loss(small, delta), often))
    assert amplify(Loss(small, delta), rare).within(Loss(small, delta))
    assert group_loss(Loss(small, delta), few).within(group_loss(Loss(large, delta), few))
    assert group_loss(Loss(small, delta), few).within(group_loss(Loss(small, delta), many))
    assert pure_rho(small) <= pure_rho(large)


@settings(max_examples=40, deadline=None)
@given(pairs(rhos), pairs(chances))
def test_renyi_curves_are_monotone(two_rhos, two_chances):
    (small, large), (rare, often) = two_rhos, two_chances
    orders = tuple(Fraction(text) for text in ("1.5", "2", "5", "7.5"))
    least = curve_of(SampledEvent(rare, GaussianEvent(small)), orders).values
    for other in (SampledEvent(rare, GaussianEvent(large)), SampledEvent(often, GaussianEvent(small))):
        assert all(a <= b * CLOSE for a, b in zip(least, curve_of(other, orders).values, strict=True))


# Never optimistic: every shortcut is above the exact law it stands for


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.sampled_from(["0.1", "0.25", "0.6"]), min_size=1, max_size=9), st.sampled_from(["0.3", "0.05", "1e-4"])
)
def test_no_accountant_is_below_the_exact_law_of_mixed_responses(names, delta):
    events = [PureEvent(Fraction(name)) for name in names]
    whole = ComposedEvent(tuple((event, 1) for event in events))
    claims = [
        zcdp_to_dp(zcdp_of(whole), delta).epsilon,
        renyi_to_dp(curve_of(whole), delta).epsilon,
        compose_numerically(events, delta).epsilon,
    ]
    with mpmath.workdps(40):
        law = {Fraction(0): mpmath.mpf(1)}
        for event in events:
            stay = 1 / (1 + mpmath.exp(-mp(event.epsilon)))
            after = {}
            for loss, chance in law.items():
                for step, share in ((event.epsilon, stay), (-event.epsilon, 1 - stay)):
                    after[loss + step] = after.get(loss + step, mpmath.mpf(0)) + chance * share
            law = after
        for claim in claims:
            missed = sum(chance * max(0, 1 - mpmath.exp(mp(claim - loss))) for loss, chance in law.items())
            assert missed <= mpmath.mpf(delta)


# Rounded to the private side: ten thousand random parameters


def mp(value):
    return mpmath.mpf(value.numerator) / value.denominator


def draw(chance, *, low=-6, high=3):
    """A positive number over many magnitudes with an awkward denominator."""
    return Fraction(chance.randint(1, 10**9), chance.randint(1, 10**9)) * Fraction(10) ** chance.randint(low, high)


def amplified_below(count, implementation=amplify):
    """How many of `count` random amplifications fall below the true value."""
    chance, bad = random.Random(11), 0
    for _ in range(count):
        epsilon, q = draw(chance, high=1), Fraction(chance.randint(1, 10**6), 10**6 + 1)
        true = mpmath.log1p(mp(q) * mpmath.expm1(mp(epsilon)))
        bad += mp(implementation(Loss(epsilon), q).epsilon) < true
    return bad


def pure_rho_below(count, implementation=pure_rho):
    chance, bad = random.Random(12), 0
    for _ in range(count):
        epsilon = draw(chance, high=1)
        bad += mp(implementation(epsilon)) < mp(epsilon) * mpmath.tanh(mp(epsilon) / 2)
    return bad


def advanced_below(count, implementation=compose_advanced):
    chance, bad = random.Random(13), 0
    for _ in range(count):
        epsilon, k, slack = (
            draw(chance, low=-4, high=0),
            chance.randint(1, 10**4),
            draw(chance, low=-9, high=-9) / 10**9,
        )
        slack = min(slack, Fraction(1, 2))
        formula = mp(epsilon) * (mpmath.sqrt(2 * k * mpmath.log(1 / mp(slack))) + k * mpmath.expm1(mp(epsilon)))
        bad += mp(implementation(Loss(epsilon), k, slack=slack).epsilon) < min(formula, mp(k * epsilon))
    return bad


def conversion_below(count, implementation=zcdp_to_dp):
    """Against the best order found by a far finer search: a claim below it rests on no order at all."""
    chance, bad = random.Random(14), 0
    for _ in range(count):
        rho, delta = draw(chance, low=-4, high=1), Fraction(1, chance.randint(100, 10**12))
        claim = mp(implementation(rho, delta).epsilon)
        if rho <= 2 * delta**2:
            continue
        guess = 1 + mpmath.sqrt(mpmath.log(1 / mp(delta)) / mp(rho))
        best = least_epsilon(mp(rho), mp(delta), guess)
        bad += claim < best * (1 - mpmath.mpf("1e-22"))
    return bad


def least_epsilon(rho, delta, guess):
    """The minimum over orders: the derivative has one zero, found by secant steps at 45 digits."""

    def slope(a):
        return rho + mpmath.log(delta * a) / (a - 1) ** 2

    order = mpmath.findroot(slope, (guess, guess * mpmath.mpf("0.9")), tol=1e-25, maxsteps=60, verify=False)
    return order * rho + mpmath.log(1 - 1 / order) - mpmath.log(delta * order) / (order - 1)


def posterior_inside(count, implementation=posterior):
    chance, bad = random.Random(15), 0
    for _ in range(count):
        prior, epsilon = Fraction(chance.randint(1, 10**6), 10**6 + 1), draw(chance, high=1)
        belief = implementation(prior, epsilon)
        growth, x = mpmath.exp(mp(epsilon)), mp(prior)
        high, low = x * growth / (x * growth + 1 - x), x / (x + (1 - x) * growth)
        bad += not (mp(belief.low) <= low and high <= mp(belief.high))
    return bad


def group_below(count, implementation=group_loss):
    chance, bad = random.Random(16), 0
    for _ in range(count):
        epsilon, delta, size = (
            draw(chance, low=-3, high=0),
            Fraction(1, chance.randint(10**3, 10**9)),
            chance.randint(2, 9),
        )
        true = mp(delta) * mpmath.expm1(size * mp(epsilon)) / mpmath.expm1(mp(epsilon))
        bad += mp(implementation(Loss(epsilon, delta), size).delta) < min(mpmath.mpf(1), true)
    return bad


CHECKS = {
    "amplify": (amplified_below, 2500),
    "pure_rho": (pure_rho_below, 2500),
    "advanced": (advanced_below, 1500),
    "zcdp": (conversion_below, 500),
    "posterior": (posterior_inside, 2000),
    "group": (group_below, 1000),
}


def nearest(value):
    """What a float would keep: as often below as above."""
    return Fraction(float(value))


TWINS = {
    "amplify": lambda loss, q: Loss(nearest(amplify(loss, q).epsilon)),
    "pure_rho": lambda epsilon: nearest(pure_rho(epsilon)),
    "advanced": lambda loss, k, slack: Loss(nearest(compose_advanced(loss, k, slack=slack).epsilon)),
    "zcdp": lambda rho, delta: Loss(zcdp_to_dp(rho, delta).epsilon * (1 - Fraction(1, 10**15))),
    "posterior": lambda prior, epsilon: type(posterior(prior, epsilon))(
        nearest(posterior(prior, epsilon).low), nearest(posterior(prior, epsilon).high)
    ),
    "group": lambda loss, size: Loss(loss.epsilon, nearest(group_loss(loss, size).delta)),
}


def test_ten_thousand_parameters_are_checked():
    assert sum(count for _, count in CHECKS.values()) == 10_000


@pytest.mark.parametrize("name", CHECKS)
def test_rounding_is_always_private(name):
    check, count = CHECKS[name]
    with mpmath.workdps(45):
        assert check(count) == 0


@pytest.mark.parametrize("name", CHECKS)
def test_a_twin_that_rounds_to_the_nearest_float_is_caught(name):
    check, _ = CHECKS[name]
    with mpmath.workdps(45):
        assert check(100, TWINS[name]) > 10


# Filters


def drive(state, events):
    """Charge what the filter accepts; the final state and the admitted events."""
    admitted = []
    for event in events:
        fits = state.admits(event)
        try:
            state = state.charge(event)
        except BudgetExceeded:
            assert not fits
        else:
            assert fits
            admitted.append(event)
    return state, admitted


@settings(max_examples=70, deadline=None)
@given(st.lists(priced_events, max_size=12), epsilons, deltas)
def test_a_filter_admits_no_more_than_its_budget_and_spends_what_composition_says(events, epsilon, delta):
    budget = Budget(epsilon, delta)
    state, admitted = drive(ApproximateFilter(budget), events)
    assert state.spent == compose_basic(map(loss_of, admitted))
    assert budget.covers(state.spent)
    assert state.left == budget.minus(state.spent)


@settings(max_examples=70, deadline=None)
@given(st.lists(pure_events, max_size=12), epsilons)
def test_a_pure_filter_refuses_only_what_does_not_fit(events, epsilon):
    state, admitted = drive(PureFilter(Budget(epsilon)), events)
    assert state.spent.epsilon == sum(event.epsilon for event in admitted) <= epsilon
    first = next((event for event in events if event.epsilon > epsilon), None)
    assert first is None or first not in admitted


@settings(max_examples=70, deadline=None)
@given(st.lists(all_events, max_size=10), rhos, deltas)
def test_a_zcdp_filter_admits_no_more_than_its_budget(events, rho, delta):
    state, admitted = drive(ZcdpFilter(Zcdp(rho, delta)), events)
    assert state.spent == sum(map(zcdp_of, admitted), Zcdp(0))
    assert state.spent.within(Zcdp(rho, delta))


@settings(max_examples=30, deadline=None)
@given(st.lists(pure_events | st.builds(GaussianEvent, rhos), max_size=8), some_epsilons, slacks)
def test_a_renyi_filter_admits_no_more_than_its_budget(events, epsilon, delta):
    orders = tuple(Fraction(text) for text in ("1.5", "3", "12"))
    state, admitted = drive(RenyiFilter(Budget(epsilon, delta), orders), events)
    if admitted:
        whole = curve_of(ComposedEvent(tuple((event, 1) for event in admitted)), orders)
        assert state.spent == whole
        assert renyi_to_dp(whole, delta / len(orders)).epsilon <= epsilon


class Generous(PureFilter):
    """A broken twin: it forgets what was spent before the last charge."""

    __slots__ = ()

    def charge(self, event):
        super().charge(event)
        return Generous(self.budget, loss_of(event))


class Rounded(PureFilter):
    """A broken twin: it keeps its books in floating point."""

    __slots__ = ()

    def charge(self, event):
        return Rounded(
            self.budget, Loss(nearest(float(self.spent.epsilon) + float(super().charge(event).spent.epsilon)))
        )


def overspent(kind):
    """What a twin lets through of a budget of one, asked in tenths."""
    tenth = PureEvent(Fraction(1, 10))
    _, admitted = drive(kind(Budget(1)), [tenth] * 30)
    return compose_basic(map(loss_of, admitted))


def test_forgetful_and_floating_filters_are_caught():
    assert overspent(PureFilter) == Loss(1)
    assert overspent(Generous).epsilon > 1
    assert overspent(Rounded) != Loss(1)


@settings(max_examples=70, deadline=None)
@given(st.lists(losses, min_size=2, max_size=6))
def test_a_parallel_rule_that_takes_the_maximum_under_replacement_is_caught(costs):
    right = compose_parallel(costs, Adjacency.REPLACE).epsilon
    wrong = max(cost.epsilon for cost in costs)
    others = sorted((cost.epsilon for cost in costs), reverse=True)
    assert (right > wrong) == (others[1] > 0)


# Post-processing


@st.composite
def finite_pairs(draw_from):
    """Two laws over a few outcomes and a random rule that maps outcomes to outcomes."""
    size, width = draw_from(st.integers(2, 5)), draw_from(st.integers(1, 4))
    weights = st.lists(st.integers(1, 50), min_size=size, max_size=size)
    p, q = draw_from(weights), draw_from(weights)
    kernel = [draw_from(st.lists(st.integers(0, 9), min_size=width, max_size=width).filter(any)) for _ in range(size)]
    return [normal(p), normal(q), [normal(row) for row in kernel]]


def normal(weights):
    total = sum(weights)
    return [Fraction(weight, total) for weight in weights]


def lost(p, q, growth):
    return sum(max(Fraction(0), a - growth * b) for a, b in zip(p, q, strict=True))


@settings(max_examples=70, deadline=None)
@given(finite_pairs(), st.fractions(min_value=1, max_value=5, max_denominator=100))
def test_processing_an_output_costs_nothing(case, growth):
    p, q, kernel = case
    after_p, after_q = (
        [sum(x * row[i] for x, row in zip(law, kernel, strict=True)) for i in range(len(kernel[0]))] for law in (p, q)
    )
    assert lost(after_p, after_q, growth) <= lost(p, q, growth)
    assert NOTHING.within(loss_of(PureEvent(Fraction(0))))
