"""Composition of (epsilon, delta), groups, partitions and samples: against exact mechanisms and golden numbers."""

import math
from fractions import Fraction
from itertools import product

import mpmath
import pytest

from tacit.accounting import (
    amplify,
    compose_advanced,
    compose_basic,
    compose_optimal,
    compose_parallel,
    group_loss,
    group_rho,
    loss_of,
    optimal_delta,
    replace_loss,
)
from tacit.accounting.event_loss import plain, tally
from tacit.core import (
    NOTHING,
    Adjacency,
    ApproximateEvent,
    ComposedEvent,
    GaussianEvent,
    LaplaceEvent,
    Loss,
    PureEvent,
    SampledEvent,
)
from tacit.errors import InvalidParameter


def hockey_stick(p, q, growth):
    """The largest P(S) - growth Q(S), exactly, for two laws given as dictionaries."""
    return sum(max(Fraction(0), p.get(o, Fraction(0)) - growth * q.get(o, Fraction(0))) for o in p)


def response(growth):
    """Randomised response whose epsilon is ln(growth): a pair of laws."""
    stay = Fraction(growth) / (1 + growth)
    return {0: stay, 1: 1 - stay}, {0: 1 - stay, 1: stay}


def power(law, times):
    return {outcome: math.prod((law[o] for o in outcome), start=Fraction(1)) for outcome in product(law, repeat=times)}


def log_above(number):
    """A rational no smaller than ln(number), within 1e-20: an epsilon for an exactly known e^epsilon."""
    with mpmath.workdps(50):
        return Fraction(str(mpmath.nstr(mpmath.log(mpmath.mpf(number.numerator) / number.denominator), 22))) + Fraction(
            1, 10**20
        )


def test_basic_composition_adds_exactly():
    assert compose_basic([Loss("0.1")] * 10) == Loss(1)
    assert compose_basic([Loss("0.1", "1e-7"), Loss("1/3", "1e-9")]) == Loss("13/30", "1.01e-7")
    assert compose_basic([]) == NOTHING


def test_advanced_composition_gives_the_golden_number():
    assert float(compose_advanced(Loss("0.1"), 100, slack="1e-6").epsilon) == pytest.approx(
        6.308230950513409, rel=1e-14
    )
    assert compose_advanced(Loss("0.1", "1e-9"), 100, slack="1e-6").delta == Fraction("1.1e-6")


def test_advanced_composition_is_plain_addition_where_that_is_smaller():
    assert compose_advanced(Loss(1), 10, slack="1e-6") == Loss(10)
    assert compose_advanced(Loss("0.1"), 1, slack="1e-6") == Loss("0.1")
    assert compose_advanced(Loss(10**300), 3, slack="1e-6") == Loss(3 * 10**300)


def test_optimal_composition_gives_the_golden_rung():
    found = compose_optimal(Loss("0.1"), 100, slack="1e-6")
    assert found.epsilon == Fraction("4.8")
    assert float(found.delta) == pytest.approx(8.054944965407164e-07, rel=1e-13)


def test_optimal_composition_without_slack_to_speak_of_is_the_sum():
    assert compose_optimal(Loss("0.1"), 100, slack="1e-300") == Loss(10)
    assert compose_optimal(Loss(0, "1e-6"), 3, slack="0.5").epsilon == 0


@pytest.mark.parametrize("times", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("growth", [Fraction(3, 2), Fraction(3), Fraction(11, 10)])
def test_optimal_delta_is_that_of_randomised_response(growth, times):
    p, q = (power(law, times) for law in response(growth))
    epsilon = log_above(growth)
    for rung in range(times // 2 + 1):
        true = hockey_stick(p, q, growth ** (times - 2 * rung))
        claimed = optimal_delta(Loss(epsilon), times, epsilon=(times - 2 * rung) * epsilon)
        assert claimed == pytest.approx(true, abs=1e-15)
        between = optimal_delta(Loss(epsilon), times, epsilon=(times - 2 * rung) * epsilon + log_above(Fraction(6, 5)))
        assert between == pytest.approx(hockey_stick(p, q, growth ** (times - 2 * rung) * Fraction(6, 5)), abs=1e-15)


@pytest.mark.parametrize("times", [1, 4, 7])
def test_optimal_composition_of_approximate_losses_is_that_of_a_response_that_may_confess(times):
    delta, growth = Fraction(1, 50), Fraction(2)
    honest, other = response(growth)
    p = {o: w * (1 - delta) for o, w in honest.items()} | {"x": delta}
    q = {o: w * (1 - delta) for o, w in other.items()} | {"y": delta}
    true = hockey_stick(power(p, times), power(q, times), growth ** (times % 2))
    epsilon = log_above(growth)
    claimed = optimal_delta(Loss(epsilon, delta), times, epsilon=(times % 2) * epsilon)
    assert claimed == pytest.approx(true, abs=1e-15)
    assert compose_optimal(Loss(epsilon, delta), times, slack="0.999").delta == pytest.approx(true, abs=1e-15)


def test_optimal_beats_advanced_beats_basic():
    basic = compose_basic([Loss("0.1")] * 100)
    advanced = compose_advanced(Loss("0.1"), 100, slack="1e-6")
    optimal = compose_optimal(Loss("0.1"), 100, slack="1e-6")
    assert optimal.epsilon < advanced.epsilon < basic.epsilon
    assert optimal.delta <= advanced.delta


def test_a_certain_failure_stays_certain():
    assert compose_optimal(Loss(1, 1), 5, slack="0.1").delta == 1
    assert optimal_delta(Loss(1, 1), 5, epsilon=100) == 1


@pytest.mark.parametrize("times", [0, -1, 1.5, True, "3"])
def test_a_composition_of_no_whole_number_is_refused(times):
    for compose in (compose_advanced, compose_optimal):
        with pytest.raises(InvalidParameter, match="whole answers"):
            compose(Loss(1), times, slack="1e-6")


@pytest.mark.parametrize("slack", [0, 1, -1, "1e400", float("nan")])
def test_a_slack_that_is_no_probability_is_refused(slack):
    for compose in (compose_advanced, compose_optimal):
        with pytest.raises(InvalidParameter):
            compose(Loss(1), 2, slack=slack)


def test_parallel_composition_is_the_maximum_under_add_remove():
    parts = [Loss(1, "1e-9"), Loss(2), Loss("0.5", "1e-6")]
    assert compose_parallel(parts, Adjacency.ADD_REMOVE) == Loss(2, "1e-6")
    assert compose_parallel([], Adjacency.ADD_REMOVE) == NOTHING


def test_parallel_composition_is_the_sum_of_the_two_largest_under_replacement():
    parts = [Loss(1, "1e-9"), Loss(2), Loss("0.5", "1e-6")]
    assert compose_parallel(parts, Adjacency.REPLACE) == Loss(3, "1.001e-6")
    assert compose_parallel([Loss(2)], Adjacency.REPLACE) == Loss(2)


def test_a_unit_that_moves_between_parts_really_loses_both():
    # two parts, one randomised response each on "is the unit here": the pair of answers loses e^1 e^2 together
    p1, q1 = response(2)
    p2, q2 = response(5)
    here = {(a, b): p1[a] * q2[b] for a in p1 for b in q2}
    there = {(a, b): q1[a] * p2[b] for a in q1 for b in p2}
    assert max(here[o] / there[o] for o in here) == 2 * 5


def test_group_privacy_multiplies_epsilon_and_lets_delta_grow():
    found = group_loss(Loss(1, "1e-6"), 3)
    assert found.epsilon == 3
    assert float(found.delta) == pytest.approx(1e-6 * (1 + math.e + math.e**2), rel=1e-14)
    assert group_loss(Loss(1), 5) == Loss(5)
    assert group_loss(Loss(0, "1e-3"), 4) == Loss(0, "4e-3")
    assert group_loss(Loss("0.3", "1e-3"), 1) == Loss("0.3", "1e-3")
    assert group_loss(Loss(100, "1e-3"), 100).delta == 1
    assert group_loss(Loss("1e-60", "1e-3"), 3).delta >= Fraction("3e-3")


def test_group_privacy_holds_along_a_chain_of_neighbours():
    # the chance of one outcome, where each step down is as steep as (ln 2, 1/20) allows: p = 2 p' + 1/20
    delta, growth = Fraction(1, 20), 2
    chain = [{0: Fraction(1)}]
    for _ in range(3):
        last = chain[-1]
        chain.append({0: max(Fraction(0), (last[0] - delta) / growth)})
    for step in range(1, 4):
        p, q = chain[0][0], chain[step][0]
        allowed = group_loss(Loss(log_above(Fraction(growth)), delta), step)
        assert p - growth**step * q == sum(delta * growth**i for i in range(step))
        assert p - growth**step * q <= allowed.delta


def test_replacement_is_two_steps():
    found = replace_loss(Loss(1, "1e-6"))
    assert found.epsilon == 2
    assert float(found.delta) == pytest.approx(1e-6 * (1 + math.e), rel=1e-14)


def test_group_privacy_of_zcdp_is_quadratic():
    assert group_rho("0.1", 3) == Fraction("0.9")
    for size in (0, -1, 1.5, True):
        with pytest.raises(InvalidParameter):
            group_rho("0.1", size)
        with pytest.raises(InvalidParameter):
            group_loss(Loss(1), size)
    with pytest.raises(InvalidParameter):
        group_rho(-1, 2)


@pytest.mark.parametrize("q", [Fraction(1, 100), Fraction(1, 2), Fraction(9, 10)])
def test_amplification_is_exact_for_sampled_randomised_response(q):
    growth = Fraction(3)
    p, r = response(growth)
    mixed = {o: (1 - q) * r[o] + q * p[o] for o in p}
    true = max(max(mixed[o] / r[o], r[o] / mixed[o]) for o in p)
    claimed = amplify(Loss(log_above(growth)), q).epsilon
    assert claimed == pytest.approx(math.log(true), rel=1e-12)
    assert claimed >= log_above(true) - Fraction(1, 10**16)


def test_amplification_scales_delta_and_leaves_a_full_sample_alone():
    assert amplify(Loss(1, "1e-6"), "0.1").delta == Fraction("1e-7")
    assert amplify(Loss(1, "1e-6"), 1) == Loss(1, "1e-6")
    assert amplify(Loss(10**300), "0.5").epsilon <= 10**300
    assert amplify(Loss("1e-60"), "0.5").epsilon <= Fraction("1e-60")
    for q in (0, -1, 2):
        with pytest.raises(InvalidParameter):
            amplify(Loss(1), q)


def test_each_event_has_its_loss():
    assert loss_of(PureEvent(Fraction(1, 3))) == Loss("1/3")
    assert loss_of(LaplaceEvent(Fraction(1, 3))) == Loss("1/3")
    assert loss_of(ApproximateEvent(Loss(1, "1e-6"))) == Loss(1, "1e-6")
    assert loss_of(SampledEvent(Fraction(1, 2), PureEvent(Fraction(1)))) == amplify(Loss(1), "0.5")
    both = ComposedEvent(((PureEvent(Fraction(1, 10)), 7), (ApproximateEvent(Loss(1, "1e-6")), 2)))
    assert loss_of(both) == Loss("2.7", "2e-6")
    with pytest.raises(InvalidParameter, match="no \\(epsilon, delta\\) of its own"):
        loss_of(GaussianEvent(Fraction(1)))


def test_equal_events_are_counted_through_nested_compositions():
    one, other = PureEvent(Fraction(1)), GaussianEvent(Fraction(1))
    inner = ComposedEvent(((one, 2), (other, 1)))
    assert tally([inner, ComposedEvent(((inner, 3), (one, 4)))]) == {one: 12, other: 4}


def test_a_sample_of_a_sample_is_one_sample():
    event = SampledEvent(Fraction(1, 2), SampledEvent(Fraction(1, 5), PureEvent(Fraction(1))))
    assert plain(event) == (Fraction(1, 10), PureEvent(Fraction(1)))
    assert float(loss_of(event).epsilon) == pytest.approx(math.log(1 + 0.1 * (math.e - 1)), rel=1e-14)


def test_a_group_fails_with_probability_one_at_most_and_no_more_than_its_members_do():
    assert group_loss(Loss(0, Fraction(1, 2)), 3).delta == 1
    assert group_loss(Loss(0, Fraction(1, 9)), 3).delta == Fraction(1, 3)
    barely = group_loss(Loss(Fraction(1, 10**400), Fraction(1, 10**9)), 5).delta  # too little for e^-ε to be below one
    assert Fraction(5, 10**9) <= barely <= Fraction(5, 10**9) * Fraction(1001, 1000)
    assert group_loss(Loss(Fraction(1), Fraction(1, 7)), 1).delta == Fraction(1, 7)
