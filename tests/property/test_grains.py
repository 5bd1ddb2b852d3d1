"""Grains: a price dominates what it pays for, a budget holds, and no adversary who chooses as they go sees more."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.accounting import GrainFilter, compose_optimal, grains, optimal_delta
from tacit.accounting.grains import DIGITS, delta_above, dominates, epsilon_within, grains_for, grains_within
from tacit.core import (
    ApproximateEvent,
    Budget,
    ComposedEvent,
    GaussianEvent,
    Grains,
    LaplaceEvent,
    Loss,
    PureEvent,
)
from tacit.core.enclosure import rounded_up
from tacit.errors import BudgetExceeded, InvalidParameter

SIZES = st.fractions(Fraction(1, 50), 1, max_denominator=100)
RATIOS = st.fractions(Fraction(1, 10), 6, max_denominator=30)


def told(grain: Fraction, count: int, t: mpmath.mpf) -> mpmath.mpf:
    """The delta of so many atoms at epsilon t, summed outcome by outcome."""
    g = mpmath.mpf(grain.numerator) / grain.denominator
    truth, total = 1 / (1 + mpmath.exp(-g)), mpmath.mpf(0)
    for lies in range(count + 1):
        loss = (count - 2 * lies) * g
        if loss > t:
            chance = mpmath.binomial(count, lies) * truth ** (count - lies) * (1 - truth) ** lies
            total += chance * -mpmath.expm1(t - loss)
    return total


def single(epsilon: Fraction, t: mpmath.mpf) -> mpmath.mpf:
    e = mpmath.mpf(epsilon.numerator) / epsilon.denominator
    return max(mpmath.mpf(0), -mpmath.expm1(t - e) / (1 + mpmath.exp(-e))) if t > -e else -mpmath.expm1(t)


def covers(grain: Fraction, count: int, epsilon: Fraction) -> bool:
    """Whether the atoms tell no less at many an epsilon, those where a profile bends among them."""
    g, e = float(grain), float(epsilon)
    places = [(count - 2 * j) * g for j in range(count + 1)] + [e * part / 16 for part in range(-20, 21)]
    with mpmath.workdps(30):
        return all(
            told(grain, count, mpmath.mpf(t)) >= single(epsilon, mpmath.mpf(t)) - mpmath.mpf("1e-25") for t in places
        )


@given(SIZES, RATIOS)
@settings(max_examples=20, deadline=None)
def test_what_is_paid_for_is_dominated_by_its_price_and_by_nothing_less(grain, ratio):
    count = grains_for(Loss(grain * ratio), grain).count
    assert covers(grain, count, grain * ratio)
    rounded = grain * ratio if ratio <= 1 else rounded_up(grain * ratio, DIGITS)
    assert count == 1 or not covers(grain, count - 1, rounded)


def test_an_atom_costs_one_grain_and_nothing_costs_none():
    grain = Fraction(1, 20)
    assert [grains_for(Loss(e), grain).count for e in (0, "1e-300", "1/40", "0.05")] == [0, 1, 1, 1]
    assert grains_for(Loss("0.0500000000001"), grain).count == 3
    assert grains_for(Loss("0.05", "1e-9"), grain) == Grains(grain, 1, "1e-9")


@given(SIZES, st.fractions(0, 6, max_denominator=20), st.sampled_from(["1e-3", "1e-6", "1e-9"]))
@settings(max_examples=40, deadline=None)
def test_a_budget_holds_as_many_atoms_as_the_exact_composition_and_not_one_more(grain, epsilon, delta):
    count = grains_within(Budget(epsilon, delta), grain)
    assert count == 0 or optimal_delta(Loss(grain), count, epsilon=epsilon) <= Fraction(delta)
    assert optimal_delta(Loss(grain), count + 1, epsilon=epsilon) > Fraction(delta)


@given(SIZES, st.integers(1, 60), st.fractions(0, 6, max_denominator=50))
@settings(max_examples=60, deadline=None)
def test_the_delta_of_atoms_is_rounded_up_and_hardly_so(grain, count, epsilon):
    exact = optimal_delta(Loss(grain), count, epsilon=epsilon)
    found = delta_above(grain, count, epsilon=epsilon)
    assert exact * (1 - Fraction(1, 10**12)) <= found <= exact * (1 + Fraction(1, 10**6)) + Fraction(1, 10**14)


# ── the theorem, against the best adversary there is ─────────────────────────────────────────────────────────────────


def best_adversary(events: dict[Fraction, int], *, count: int, epsilon: float) -> float:
    """The largest delta that anyone reaches who picks randomised responses as they go, and stops when it suits them.

    E_Q[(e^L − e^ε)⁺] is what they maximise; all that matters of the past is what is left, and L so far.
    """

    @cache
    def value(left: int, lies: tuple[int, ...]) -> float:
        loss = sum(n * float(e) for n, e in zip(lies, events, strict=True))
        best = max(0.0, math.exp(loss) - math.exp(epsilon))
        for place, (e, price) in enumerate(events.items()):
            if price <= left:
                up, down = (tuple(n + step * (i == place) for i, n in enumerate(lies)) for step in (1, -1))
                low = 1 / (1 + math.exp(float(e)))  # Q's chance of the outcome that speaks for P
                best = max(best, low * value(left - price, up) + (1 - low) * value(left - price, down))
        return best

    return value(count, (0,) * len(events))


GRAIN = Fraction(1, 2)
CHOICES = [Fraction(1, 2), Fraction(3, 5), Fraction(9, 10), Fraction(1, 4)]
TARGETS = [part / 4 for part in range(18)]


def holds(events: dict[Fraction, int], *, count: int, promised: int) -> None:
    for target in TARGETS:
        most = float(optimal_delta(Loss(GRAIN), promised, epsilon=target))
        assert best_adversary(events, count=count, epsilon=target) <= most * (1 + 1e-9) + 1e-15


@pytest.mark.parametrize("count", [1, 4, 9])
def test_no_adversary_sees_more_than_the_budget_in_atoms(count):
    holds({e: grains_for(Loss(e), GRAIN).count for e in CHOICES}, count=count, promised=count)


@pytest.mark.parametrize("event", [Fraction(3, 5), Fraction(9, 10)])
def test_a_price_that_is_too_small_is_caught(event):
    """By one grain, or by the two that parity makes of it."""
    prices = {e: grains_for(Loss(e), GRAIN).count for e in CHOICES}
    assert not dominates(GRAIN, prices[event] - 1, event)
    with pytest.raises(AssertionError):
        holds(prices | {event: prices[event] - 1}, count=9, promised=9)


def test_one_grain_too_many_is_caught():
    with pytest.raises(AssertionError):
        holds({GRAIN: 1}, count=10, promised=9)


def test_a_planted_slack_of_the_wrong_sign_is_caught(monkeypatch):
    monkeypatch.setattr(grains, "SLACK", -0.2)
    grains._count.cache_clear()
    with pytest.raises(AssertionError):
        holds({e: grains_for(Loss(e), GRAIN).count for e in CHOICES}, count=9, promised=9)
    monkeypatch.undo()
    grains._count.cache_clear()


# ── the filter ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_thousand_counts_cost_what_the_best_composition_says():
    """dp-accounting's loss distributions, finely discretised, are the peer; two per cent are allowed."""
    from dp_accounting.pld import privacy_loss_distribution

    atom = privacy_loss_distribution.from_discrete_laplace_mechanism(
        0.05, sensitivity=1, value_discretization_interval=1e-4, use_connect_dots=True
    )
    best = Fraction(atom.self_compose(1000).get_epsilon_for_delta(1e-6))
    filter_ = GrainFilter.within(Budget(best * Fraction(102, 100), "1e-6"), "0.05")
    for _ in range(1000):
        filter_ = filter_.charge(LaplaceEvent(Fraction(1, 20)))
    assert filter_.spent.count == 1000
    assert compose_optimal(Loss("0.05"), 1000, slack="1e-6").epsilon <= best * Fraction(102, 100)


def test_the_last_grain_fits_and_one_more_does_not():
    limits = GrainFilter.within(Budget(3, "1e-6"), "0.1", own="1e-7")
    count = limits.budget.count
    limits = limits.charge(ComposedEvent(((LaplaceEvent(Fraction(1, 10)), count),)))
    assert limits.left.count == 0
    assert not limits.admits(PureEvent(Fraction(1, 10**9)))
    with pytest.raises(BudgetExceeded, match=r"0 grains of ε = 0\.1"):
        limits.charge(PureEvent(Fraction(1, 10**9)))
    assert limits.admits(ApproximateEvent(Loss(0, "1e-7")))
    assert not limits.admits(ApproximateEvent(Loss(0, "2e-7")))


def test_parts_are_priced_by_themselves_where_that_is_less():
    limits = GrainFilter(Grains("0.05", 10**5))
    halves = ComposedEvent(((LaplaceEvent(Fraction(1, 2)), 2),))
    whole, half = (grains_for(Loss(e), Fraction(1, 20)).count for e in (1, "1/2"))
    assert limits.charge(halves).spent.count == min(whole, 2 * half) == 2 * half


def test_gaussian_noise_has_no_price_of_its_own():
    with pytest.raises(InvalidParameter, match="no \\(epsilon, delta\\)"):
        GrainFilter(Grains("0.05", 10)).charge(GaussianEvent(Fraction(1, 100)))


@pytest.mark.parametrize("count", [1, 2, 3, 100, 5000])
def test_what_is_left_pays_for_the_epsilon_that_it_says(count):
    left = Grains("0.05", count)
    epsilon = epsilon_within(left)
    assert grains_for(Loss(epsilon), left.grain).count <= count
    assert grains_for(Loss(epsilon * Fraction(102, 100)), left.grain).count > count


@pytest.mark.parametrize(("epsilon", "grain"), [("1e6", "1e-3"), ("1e-9", "1e9"), ("5", "1e-30"), ("1e100", "1")])
def test_extreme_prices_end(epsilon, grain):
    assert grains_for(Loss(epsilon), Fraction(grain)).count >= 1


def test_a_grain_that_is_too_fine_for_its_budget_is_refused():
    with pytest.raises(InvalidParameter, match="too fine"):
        grains_within(Budget(10, "1e-6"), Fraction(1, 10**9))


@pytest.mark.parametrize(
    ("grain", "count", "delta"), [(0, 1, 0), ("0.1", -1, 0), ("0.1", 1.0, 0), ("0.1", True, 0), ("0.1", 1, 2)]
)
def test_what_is_no_amount_of_grains_is_refused(grain, count, delta):
    with pytest.raises(InvalidParameter):
        Grains(grain, count, delta)


def test_grains_of_different_sizes_are_not_added():
    with pytest.raises(InvalidParameter, match="different sizes"):
        Grains("0.1", 1) + Grains("0.2", 1)


def test_a_delta_that_no_double_holds_is_more_than_none():
    """Four lies at most of two thousand: about 1e-560."""
    assert delta_above(Fraction(1, 10), 2000, epsilon=Fraction(199)) > 0


def test_a_budget_in_grains_needs_a_delta_besides_that_of_the_events():
    with pytest.raises(InvalidParameter, match="needs a delta beside that of the events"):
        GrainFilter.within(Budget(1, "1e-6"), "0.05", own="1e-6")
