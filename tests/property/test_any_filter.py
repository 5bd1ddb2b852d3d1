"""Plain sums, zCDP and grains beside each other: whoever is stopped only by all three has not learnt too much."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import pytest

from tacit.accounting import (
    AnyFilter,
    ApproximateFilter,
    GrainFilter,
    ZcdpFilter,
    best_limits,
    grains_for,
    grains_within,
    optimal_delta,
    rho_for,
)
from tacit.accounting.filters.alternatives import GRAINS_SHARE, OWN_SHARE, ZCDP_SHARE
from tacit.core import AnyOf, Budget, GaussianEvent, Grains, LaplaceEvent, Loss, PureEvent, Zcdp
from tacit.errors import BudgetExceeded, InvalidParameter

DELTA = Fraction(1, 10**6)


def best_adversary(purse: AnyFilter, sizes: Sequence[Fraction], epsilon: Fraction) -> float:
    """The delta at `epsilon` of the best adversary there is, who sees randomised responses of these sizes.

    They choose the next one, or to stop, in view of all answers: worked out backwards over what is left in the purse
    and the privacy loss so far.
    """
    known: dict[tuple[AnyFilter, Fraction], float] = {}

    def value(left: AnyFilter, loss: Fraction) -> float:
        if (left, loss) not in known:
            best = max(0.0, -math.expm1(float(epsilon - loss)))
            for size in sizes:
                if left.admits(PureEvent(size)):
                    then, truth = left.charge(PureEvent(size)), 1 / (1 + math.exp(-float(size)))
                    best = max(best, truth * value(then, loss + size) + (1 - truth) * value(then, loss - size))
            known[left, loss] = best
        return known[left, loss]

    return value(purse, Fraction(0))


SMALL = [
    (Budget(1, "1/50"), Fraction(1, 5), (Fraction(1, 5), Fraction(1, 10))),
    (Budget(2, "1/20"), Fraction(1, 2), (Fraction(1, 2), Fraction(1, 4), Fraction(1))),
    (Budget("3/2", "1/10"), Fraction(1, 4), (Fraction(1, 4), Fraction(1, 2))),
]


@pytest.mark.parametrize(("limit", "grain", "sizes"), SMALL)
def test_the_best_adversary_stays_within_the_limit(limit, grain, sizes):
    told = best_adversary(AnyFilter.within(limit, grain), sizes, limit.epsilon)
    assert 0 < told <= limit.delta


@pytest.mark.parametrize(("limit", "grain", "sizes"), SMALL)
def test_limits_that_promise_thrice_as_much_are_noticed(limit, grain, sizes):
    loose = Budget(limit.epsilon, limit.delta * 3)
    filters = (GrainFilter(Grains(grain, grains_within(loose, grain))), ZcdpFilter(Zcdp(rho_for(loose))))
    assert best_adversary(AnyFilter(filters), sizes, limit.epsilon) > limit.delta


def test_the_shares_of_delta_add_up_to_all_of_it():
    assert GRAINS_SHARE + ZCDP_SHARE + 2 * OWN_SHARE == 1  # its own: of grains and sums together, and of zCDP
    grains, zcdp, plain = best_limits(Budget(3, DELTA), "0.1").limits
    assert grains == Grains("0.1", grains_within(Budget(3, DELTA * GRAINS_SHARE), Fraction(1, 10)), DELTA / 10)
    assert zcdp == Zcdp(rho_for(Budget(3, DELTA * ZCDP_SHARE)), DELTA / 10)
    assert plain == Budget(3, DELTA / 10)


def test_a_thousand_small_counts_cost_within_two_per_cent_of_the_best_there_is():
    best = Fraction("8.2835")  # dp_accounting says 8.28357 of discrete Laplace noise
    assert optimal_delta(Loss("0.05"), 1000, epsilon=best) > DELTA  # and nothing below that is true
    purse = AnyFilter.within(Budget(best * Fraction(102, 100), DELTA), "0.05")
    for _ in range(1000):
        purse = purse.charge(LaplaceEvent(Fraction(1, 20)))


@pytest.mark.parametrize(("size", "count"), [("0.01", 27_500), ("0.05", 1_290), ("0.1", 276), ("0.5", 20), ("1", 10)])
def test_whatever_the_size_it_reaches_as_far_as_the_best_of_the_three(size, count):
    purse = AnyFilter.within(Budget(10, DELTA), "0.05")
    event = LaplaceEvent(Fraction(size))
    for _ in range(count):
        purse = purse.charge(event)


def test_sizes_may_be_mixed_in_any_order():
    limit, events = Budget(10, DELTA), [Fraction(size) for size in ("0.5", "0.01", "0.1", "0.05", "0.02")] * 14
    purse = AnyFilter.within(limit, "0.05")
    for size in events:
        purse = purse.charge(LaplaceEvent(size))
    for alone in (Grains("0.05", grains_within(limit, Fraction(1, 20))), Zcdp(rho_for(limit))):
        assert not _covers(alone, events)  # though each of them were given all of delta


def _covers(limit: Grains | Zcdp, sizes: Sequence[Fraction]) -> bool:
    if isinstance(limit, Grains):
        return sum(grains_for(Loss(size), limit.grain).count for size in sizes) <= limit.count
    return sum(size**2 / 2 for size in sizes) <= limit.rho


def test_a_filter_that_is_exceeded_once_counts_no_more():
    purse = AnyFilter((ApproximateFilter(Budget(1)), ZcdpFilter(Zcdp("0.1"))))
    purse = purse.charge(PureEvent(Fraction(3, 5)))  # of ρ = .18: only sums are left
    assert [type(each) for each in purse.filters] == [ApproximateFilter]
    assert not purse.admits(PureEvent(Fraction(41, 100)))
    with pytest.raises(BudgetExceeded, match=r"ε = 0\.4 is left"):
        purse.charge(PureEvent(Fraction(41, 100)))


def test_gaussian_noise_is_admitted_by_zcdp_alone():
    purse = AnyFilter.within(Budget(3, DELTA), "0.1").charge(GaussianEvent(Fraction(1, 100)))
    assert [type(each) for each in purse.filters] == [ZcdpFilter]


@pytest.mark.parametrize("limits", [(), (Budget(1), Budget(2)), (Zcdp(1), Zcdp(2))])
def test_alternatives_are_in_different_currencies(limits):
    with pytest.raises(InvalidParameter, match="different currencies"):
        AnyOf(limits)


def test_grains_without_a_delta_are_refused():
    with pytest.raises(InvalidParameter, match="needs a delta"):
        best_limits(Budget(1), "0.1")
