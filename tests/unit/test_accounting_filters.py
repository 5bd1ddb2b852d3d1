"""Filters: exact at the edge, cheap after many charges, and true against an adversary who watches every answer."""

import random
from dataclasses import FrozenInstanceError, replace
from fractions import Fraction

import mpmath
import pytest

from tacit.accounting import (
    ApproximateFilter,
    PureFilter,
    RenyiFilter,
    Zcdp,
    ZcdpFilter,
    curve_of,
    loss_of,
    pure_rho,
    renyi_to_dp,
    zcdp_to_dp,
)
from tacit.core import (
    NOTHING,
    ApproximateEvent,
    Budget,
    ComposedEvent,
    GaussianEvent,
    LaplaceEvent,
    Loss,
    PureEvent,
    SampledEvent,
)
from tacit.errors import BudgetExceeded, InvalidParameter


def pure(epsilon):
    return PureEvent(Fraction(epsilon))


def test_ten_tenths_fit_into_one_and_the_eleventh_is_refused():
    state = PureFilter(Budget(1))
    for _ in range(10):
        state = state.charge(pure("0.1"))
    assert state.spent == Loss(1)
    assert state.left == Budget(0)
    assert not state.admits(pure("0.1"))
    with pytest.raises(BudgetExceeded) as caught:
        state.charge(pure("0.1"))
    assert caught.value.message == "the budget does not cover this: it costs ε = 0.1, and ε = 0 is left"
    assert "nothing was charged" in caught.value.hint


def test_a_million_millionths_fit_into_one_and_no_more():
    millionth = pure("1e-6")
    state = PureFilter(Budget(1)).charge(ComposedEvent(((millionth, 999_999),)))
    state = state.charge(millionth)
    assert state.left.epsilon == 0
    assert not state.admits(pure("1e-300"))


def test_thirds_and_odd_fractions_are_exact():
    state = PureFilter(Budget(1))
    for _ in range(1009):
        state = state.charge(pure("1/1009"))
    assert state.left.epsilon == 0


def test_a_tenth_is_refused_where_almost_nothing_is_left():
    state = PureFilter(Budget("1.1")).charge(pure("1.09999999999999999"))
    assert state.left.epsilon == Fraction("1e-17")
    assert not state.admits(pure("0.1"))
    assert state.admits(pure("1e-17"))


def test_a_charge_gives_a_new_filter_and_leaves_the_old():
    state = PureFilter(Budget(1))
    after = state.charge(LaplaceEvent(Fraction(1, 2)))
    assert state.spent == NOTHING
    assert after.spent == Loss("0.5")
    with pytest.raises(FrozenInstanceError):
        after.spent = NOTHING


def test_a_pure_filter_has_no_room_for_delta():
    with pytest.raises(InvalidParameter, match="no delta"):
        PureFilter(Budget(1, "1e-6"))
    with pytest.raises(BudgetExceeded, match=r"it costs ε = 0.1, δ = 1e-9, and ε = 1, δ = 0 is left"):
        PureFilter(Budget(1)).charge(ApproximateEvent(Loss("0.1", "1e-9")))


def test_an_approximate_filter_watches_both_sums():
    state = ApproximateFilter(Budget(1, "1e-6"))
    state = state.charge(ApproximateEvent(Loss("0.1", "9e-7"))).charge(pure("0.1"))
    assert state.spent == Loss("0.2", "9e-7")
    assert state.left == Budget("0.8", "1e-7")
    assert not state.admits(ApproximateEvent(Loss("0.1", "2e-7")))
    assert not state.admits(pure("0.9"))
    with pytest.raises(BudgetExceeded, match=r"δ = 2e-7, and ε = 0.8, δ = 1e-7 is left"):
        state.charge(ApproximateEvent(Loss("0.1", "2e-7")))


def test_gaussian_noise_is_not_charged_where_no_delta_was_chosen():
    for state in (PureFilter(Budget(1)), ApproximateFilter(Budget(1, "1e-6"))):
        for act in (state.charge, state.admits):
            with pytest.raises(InvalidParameter, match="no \\(epsilon, delta\\) of its own"):
                act(GaussianEvent(Fraction(1, 100)))


def test_tenths_of_rho_fit_exactly_too():
    state = ZcdpFilter(Zcdp(1))
    for _ in range(10):
        state = state.charge(GaussianEvent(Fraction(1, 10)))
    assert state.spent == Zcdp(1)
    assert not state.admits(GaussianEvent(Fraction("1e-50")))
    with pytest.raises(BudgetExceeded, match=r"it costs ρ = 0\.1, and ρ = 0 is left"):
        state.charge(GaussianEvent(Fraction(1, 10)))


def test_a_zcdp_filter_takes_all_kinds_of_events():
    state = ZcdpFilter(Zcdp(1, "1e-6"))
    state = state.charge(GaussianEvent(Fraction(1, 10))).charge(pure(1)).charge(ApproximateEvent(Loss("0.1", "1e-7")))
    assert state.spent == Zcdp(Fraction(1, 10) + pure_rho(1) + pure_rho("0.1"), "1e-7")
    with pytest.raises(BudgetExceeded, match="δ"):
        state.charge(ApproximateEvent(Loss("0.1", "1e-6")))
    assert state.promise("1e-5") == zcdp_to_dp(Zcdp(1, "1e-6"), "1e-5")


def test_a_zcdp_filter_within_a_budget_keeps_that_budget():
    limit = Budget(1, "1e-6")
    state = ZcdpFilter.within(limit)
    assert state.promise("1e-6").within(limit)
    assert not state.admits(ApproximateEvent(Loss("0.01", "1e-9")))
    with pytest.raises(InvalidParameter):
        ZcdpFilter.within(Budget(1))
    with pytest.raises(InvalidParameter, match="promises nothing"):
        ZcdpFilter(Zcdp(1, 1))


def test_a_renyi_filter_stops_where_its_conversion_reaches_the_budget():
    event = GaussianEvent(Fraction(1, 100))
    state, answers = RenyiFilter(Budget(2, "1e-6")), 0
    while answers < 1000 and state.admits(event):
        state, answers = state.charge(event), answers + 1
    assert 1 < answers < 1000
    share = Fraction("1e-6") / len(state.orders)
    assert renyi_to_dp(state.spent, share).epsilon <= 2
    assert renyi_to_dp(curve_of(event) * (answers + 1), share).epsilon > 2
    with pytest.raises(BudgetExceeded, match=r"a Rényi divergence of .* at order .* is left"):
        state.charge(event)


def test_a_renyi_filter_at_one_order_gives_it_all_the_delta():
    event = GaussianEvent(Fraction(1, 100))
    lone = RenyiFilter(Budget(2, "1e-6"), (Fraction(12),))
    many = RenyiFilter(Budget(2, "1e-6"))
    at = many.orders.index(Fraction(12))
    assert lone.caps[0] > many.caps[at]
    assert lone.charge(event).left.values[0] == lone.caps[0] - curve_of(event).values[at]


def test_a_renyi_filter_rewards_sampling_which_zcdp_cannot():
    event = SampledEvent(Fraction(1, 100), GaussianEvent(Fraction(1, 2)))
    limit = Budget(3, "1e-6")
    assert RenyiFilter(limit).admits(ComposedEvent(((event, 500),)))
    assert not ZcdpFilter.within(limit).admits(ComposedEvent(((event, 500),)))


def test_a_renyi_filter_needs_a_delta_and_sensible_orders():
    with pytest.raises(InvalidParameter, match="needs a delta"):
        RenyiFilter(Budget(1))
    for orders in ((), (Fraction(1),), (Fraction(2), Fraction(2))):
        with pytest.raises(InvalidParameter):
            RenyiFilter(Budget(1, "1e-6"), orders)
    with pytest.raises(InvalidParameter):
        RenyiFilter(Budget(1, "1e-6"), (Fraction(2),)).charge(ApproximateEvent(Loss(1, "1e-9")))


def test_a_free_event_is_always_admitted():
    for state in (PureFilter(Budget(0)), ApproximateFilter(Budget(0)), ZcdpFilter(Zcdp(0))):
        assert state.charge(pure(0)) == state


def test_long_numbers_are_shown_short():
    state = PureFilter(Budget(1)).charge(pure(Fraction(1, 3**60)))
    with pytest.raises(BudgetExceeded, match=r"ε = 1, and ε = about 1 is left"):
        state.charge(pure(1))


def charges(kind):
    chance = random.Random(6)
    for _ in range(3_000):
        if kind == "hostile":  # a new odd denominator every time
            yield Fraction(chance.getrandbits(60) + 1, (chance.getrandbits(80) | 1) << 40)
        else:
            yield Fraction(1, 10**6)


@pytest.mark.parametrize("kind", ["equal", "hostile"])
@pytest.mark.parametrize("currency", ["epsilon", "rho"])
def test_the_state_of_a_filter_stays_small_whatever_is_charged(kind, currency):
    # the size of the numbers bounds the time of a charge
    state = PureFilter(Budget(1000)) if currency == "epsilon" else ZcdpFilter(Zcdp(1000))
    for cost in charges(kind):
        state = state.charge(PureEvent(cost) if currency == "epsilon" else GaussianEvent(cost))
    spent = state.spent.epsilon if currency == "epsilon" else state.spent.rho
    assert spent.denominator.bit_length() < 6000
    fine = 2**400
    true = Fraction(sum(cost.numerator * fine // cost.denominator for cost in charges(kind)), fine)
    assert 0 <= spent - true < Fraction(1, 10**100)


def test_a_renyi_filter_keeps_short_numbers():
    state = RenyiFilter(Budget(50, "1e-6"), (Fraction(2), Fraction(3, 2)))
    for cost in charges("hostile"):
        state = state.charge(GaussianEvent(cost / 100))
    assert all(value.denominator <= 10**60 for value in state.spent.values)


def adversary(seed, menu):
    """A rule that picks the next event from the answers so far, the same way every time."""

    def choose(answers):
        return random.Random(f"{seed}{answers}").choice(menu)

    return choose


def transcripts(state, choose, answers=(), p=1, q=1):
    """All ways the game can end, with their chances under two neighbours. Each event is a randomised response."""
    event = choose(answers)
    if len(answers) == 7 or not state.admits(event):
        return [(p, q)]
    stay = 1 / (1 + mpmath.exp(-mpmath.mpf(event.epsilon.numerator) / event.epsilon.denominator))
    later = state.charge(event)
    return transcripts(later, choose, (*answers, 0), p * stay, q * (1 - stay)) + transcripts(
        later, choose, (*answers, 1), p * (1 - stay), q * stay
    )


def worst_delta(state, seeds, epsilon, menu):
    """The largest delta over many adversaries, by exact enumeration of the game."""
    growth = mpmath.exp(mpmath.mpf(epsilon.numerator) / epsilon.denominator)
    return max(sum(max(0, p - growth * q) for p, q in transcripts(state, adversary(seed, menu))) for seed in seeds)


MENU = [pure(text) for text in ("0.1", "0.3", "0.5", "0.9", "1.2")]


class Forgetful(PureFilter):
    """A broken twin: it forgets every charge of a tenth."""

    __slots__ = ()

    def charge(self, event):
        return self if event.epsilon == Fraction(1, 10) else super().charge(event)


def test_no_adversary_gets_more_than_epsilon_out_of_a_pure_filter():
    with mpmath.workdps(30):
        assert worst_delta(PureFilter(Budget("1.5")), range(40), Fraction("1.5"), MENU) < mpmath.mpf("1e-25")
        assert worst_delta(PureFilter(Budget("1.5")), range(40), Fraction("1.2"), MENU) > mpmath.mpf("0.01")  # power
        assert worst_delta(Forgetful(Budget("1.5")), range(40), Fraction("1.5"), MENU) > mpmath.mpf("1e-3")


def test_no_adversary_gets_more_than_was_promised_out_of_a_zcdp_filter():
    state = ZcdpFilter(Zcdp("0.4"))
    with mpmath.workdps(30):
        for delta in ("0.2", "0.1", "0.02"):
            epsilon = state.promise(delta).epsilon
            found = worst_delta(state, range(40), epsilon, MENU)
            assert found <= mpmath.mpf(delta)
        assert worst_delta(state, range(40), Fraction("0.5"), MENU) > mpmath.mpf("0.05")  # power


def test_no_adversary_gets_more_than_the_budget_out_of_a_renyi_filter():
    orders = tuple(Fraction(text) for text in ("1.5", "2", "3", "6"))
    state = RenyiFilter(Budget(2, "0.05"), orders)
    with mpmath.workdps(30):
        assert worst_delta(state, range(40), Fraction(2), MENU) <= mpmath.mpf("0.05")
        assert worst_delta(state, range(40), Fraction("0.5"), MENU) > mpmath.mpf("0.05")  # power


def test_a_filter_spends_what_its_events_cost_together():
    chosen = [pure("0.1"), ApproximateEvent(Loss("0.25", "1e-9")), SampledEvent(Fraction(1, 2), pure(1))]
    state = ApproximateFilter(Budget(10, "1e-6"))
    for event in chosen:
        state = state.charge(event)
    assert state.spent == loss_of(ComposedEvent(tuple((event, 1) for event in chosen)))
    assert replace(state, spent=NOTHING).left == Budget(10, "1e-6")
