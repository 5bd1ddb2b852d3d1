"""What a ledger admits is what the accountant's filters admit: charge by charge, to the last digit."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.accounting import AnyFilter, ApproximateFilter, GrainFilter, PureFilter, ZcdpFilter, zcdp_of
from tacit.core import (
    AnyOf,
    ApproximateEvent,
    Budget,
    Event,
    GaussianEvent,
    Grains,
    LaplaceEvent,
    Limit,
    Loss,
    PureEvent,
    Zcdp,
)
from tacit.errors import BudgetExceeded
from tacit.ledger import Spent

HOSTILE = st.integers(2, 10**60).map(lambda prime: Fraction(1, prime | 1))  # sums whose denominators outgrow the grid
PARTS = st.one_of(st.fractions(0, 1, max_denominator=20), HOSTILE)
DELTAS = st.one_of(st.just(Fraction(0)), st.fractions(0, Fraction(1, 10), max_denominator=100))
LOSSES = st.builds(Loss, PARTS, DELTAS)
EVENTS = st.one_of(
    st.builds(PureEvent, PARTS), st.builds(LaplaceEvent, PARTS), st.builds(GaussianEvent, PARTS),
    st.builds(ApproximateEvent, LOSSES),
)  # fmt: skip


def charged(spent: Spent, loss: Loss, zcdp: Zcdp | None, *, cap: Limit | AnyOf) -> Spent | None:
    """What a ledger does: the next total, or none where it does not fit."""
    after = spent.plus(loss, zcdp)
    return after if after.within(cap) else None


def filtered(
    limits: PureFilter | ApproximateFilter | ZcdpFilter | GrainFilter | AnyFilter, event: Event
) -> object | None:
    try:
        return limits.charge(event)
    except BudgetExceeded:
        return None


@given(st.lists(LOSSES, max_size=30), st.fractions(0, 5, max_denominator=20), DELTAS)
@settings(deadline=None)
def test_a_budget_of_epsilon_and_delta_is_the_approximate_filter(losses, epsilon, delta):
    agree_on_losses(losses, Budget(epsilon, delta))


def agree_on_losses(losses: list[Loss], cap: Budget) -> None:
    spent, limits = Spent(), ApproximateFilter(cap)
    for loss in losses:
        after, then = charged(spent, loss, None, cap=cap), filtered(limits, ApproximateEvent(loss))
        assert (after is None) == (then is None)
        if after is not None:
            spent, limits = after, then
            assert (spent.epsilon, spent.delta) == (limits.spent.epsilon, limits.spent.delta)
            assert spent.left(cap) == limits.left


@given(st.lists(PARTS, max_size=30), st.fractions(0, 5, max_denominator=20))
@settings(deadline=None)
def test_a_budget_of_epsilon_alone_is_the_pure_filter(epsilons, epsilon):
    cap, spent, limits = Budget(epsilon), Spent(), PureFilter(Budget(epsilon))
    for part in epsilons:
        after, then = charged(spent, Loss(part), None, cap=cap), filtered(limits, PureEvent(part))
        assert (after is None) == (then is None)
        if after is not None:
            spent, limits = after, then
            assert spent.left(cap) == limits.left


@given(st.lists(EVENTS, max_size=30), st.fractions(0, 3, max_denominator=20), DELTAS)
@settings(deadline=None)
def test_a_budget_of_rho_is_the_zcdp_filter(events, rho, delta):
    agree_on_rho(events, Zcdp(rho, delta))


def agree_on_rho(events: list[Event], cap: Zcdp) -> None:
    spent, limits = Spent(), ZcdpFilter(cap)
    for event in events:
        after, then = charged(spent, Loss(1), zcdp_of(event), cap=cap), filtered(limits, event)
        assert (after is None) == (then is None)
        if after is not None:
            spent, limits = after, then
            assert (spent.rho, spent.slack) == (limits.spent.rho, limits.spent.delta)
            assert spent.left(cap) == limits.left


@given(st.lists(LOSSES, max_size=20), st.integers(0, 60), DELTAS)
@settings(deadline=None)
def test_a_budget_in_grains_is_the_grain_filter(losses, count, delta):
    cap, spent = Grains(Fraction(1, 4), count, delta), Spent(grain=Fraction(1, 4))
    limits = GrainFilter(cap)
    for loss in losses:
        after, then = charged(spent, loss, None, cap=cap), filtered(limits, ApproximateEvent(loss))
        assert (after is None) == (then is None)
        if after is not None:
            spent, limits = after, then
            assert spent.in_grains(cap.grain) == limits.spent
            assert spent.left(cap) == limits.left


@given(st.lists(LOSSES, max_size=20), st.integers(0, 20), DELTAS)
@settings(deadline=None)
def test_alternatives_are_the_filter_of_any(losses, count, delta):
    agree_on_alternatives(losses, Grains(Fraction(1, 4), count, delta), Zcdp(Fraction(count, 10), delta), Budget(count))


def agree_on_alternatives(losses: list[Loss], grains: Grains, zcdp: Zcdp, plain: Budget) -> None:
    cap, spent = AnyOf((grains, zcdp, plain)), Spent(grain=grains.grain)
    limits = AnyFilter((GrainFilter(grains), ZcdpFilter(zcdp), ApproximateFilter(plain)))
    for loss in losses:
        event = ApproximateEvent(loss)
        after, then = charged(spent, loss, zcdp_of(event), cap=cap), filtered(limits, event)
        assert (after is None) == (then is None)
        if after is not None:
            spent, limits = after, then
            assert {type(each.budget) for each in limits.filters} == {
                type(limit) for limit in cap.limits if spent.within(limit)
            }
            assert spent.within(spent.roomiest(cap))


def only_the_first(self: Spent, cap: Limit | AnyOf) -> bool:
    return within(self, cap.limits[0] if isinstance(cap, AnyOf) else cap)


def whichever(self: Spent, cap: Limit | AnyOf) -> bool:
    return isinstance(cap, AnyOf) or within(self, cap)


within = Spent.within


@pytest.mark.parametrize("planted", [only_the_first, whichever])
def test_a_planted_choice_among_alternatives_is_caught(planted, monkeypatch):
    monkeypatch.setattr(Spent, "within", planted)
    with pytest.raises(AssertionError):
        agree_on_alternatives([Loss(1)] * 5, Grains("1/4", 2), Zcdp("0.1"), Budget(2))


def all_but_delta(self: Spent, cap: Budget | Zcdp) -> bool:
    return self.epsilon <= cap.epsilon if isinstance(cap, Budget) else self.rho <= cap.rho


def one_charge_more(self: Spent, cap: Budget | Zcdp) -> bool:
    return self.epsilon <= cap.epsilon + 1 if isinstance(cap, Budget) else self.rho <= cap.rho + 1


def not_quite_all(self: Spent, cap: Budget | Zcdp) -> bool:
    return self.epsilon < cap.epsilon if isinstance(cap, Budget) else self.rho < cap.rho


@pytest.mark.parametrize("planted", [all_but_delta, one_charge_more, not_quite_all])
def test_a_planted_cap_that_is_another_is_caught(planted, monkeypatch):
    monkeypatch.setattr(Spent, "within", planted)
    half, tenth = Fraction(1, 2), Fraction(1, 10)
    with pytest.raises(AssertionError):  # noqa: PT012 - whichever of the two shows it
        agree_on_losses([Loss(half)] * 3, Budget(1, tenth))
        agree_on_losses([Loss(0, tenth)] * 2, Budget(1, tenth))
    with pytest.raises(AssertionError):  # noqa: PT012
        agree_on_rho([GaussianEvent(half)] * 2, Zcdp(half, tenth))
        agree_on_rho([ApproximateEvent(Loss(0, tenth))] * 2, Zcdp(half, tenth))
