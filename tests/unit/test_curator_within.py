"""WITHIN: the least epsilon whose stated error keeps the bound, from public numbers or from a private pilot."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from fractions import Fraction

import pytest

from conformance.sql_clinic import clinic, row_clinic
from conformance.sql_world import policy_of, world
from support.sources import Seeded
from tacit.core import Loss
from tacit.curator import Explanation, Release, Session
from tacit.curator.within import PILOT
from tacit.errors import BudgetExceeded, QueryRefused, RequestConflict
from tacit.policy import AnalystPolicy, BudgetPolicy, ColumnPolicy, TablePolicy

ANA = Session("ana")
ALL_PILOTS = Fraction(1, 10_000) + PILOT * (Fraction(1, 64) + Fraction(1, 8) + 1)  # if none before the last is clear


@pytest.fixture
def curator(tmp_path):
    return row_clinic().curator(tmp_path, source=Seeded(1))


def renewing(epsilon=1000):
    """An analyst whose budget comes back: there pilots find a price, and no tellings (`test_curator_tellings`)."""
    return AnalystPolicy("ana", epsilon, window="30d")


@pytest.fixture
def piloted(tmp_path):
    made = row_clinic()
    return replace(made, policy=replace(made.policy, analysts=(renewing(),))).curator(tmp_path, source=Seeded(1))


@pytest.mark.parametrize("bound", ["3", "10", "100", "1000"])
@pytest.mark.parametrize("confidence", ["0.9", "0.999"])
def test_the_stated_error_keeps_the_bound_and_a_tenth_less_epsilon_would_not(curator, bound, confidence):
    found = curator.ask(f"DP-SELECT WITHIN {bound} CONFIDENCE {confidence} COUNT(*) FROM visits", session=ANA)
    assert found.errors[0][0] <= float(bound)
    assert found.cost.delta == 0
    cheaper = found.cost.epsilon * Fraction(9, 10)
    worse = curator.ask(f"DP-SELECT {cheaper} CONFIDENCE {confidence} FRESH COUNT(*) FROM visits", session=ANA)
    assert worse.errors[0][0] > float(bound)


def test_every_output_keeps_the_bound(curator):
    found = curator.ask(
        "DP-SELECT WITHIN 500 dept, COUNT(*), SUM(age), SUM(amount) - 3 FROM visits GROUP BY dept", session=ANA
    )
    assert all(error <= 500 for row in found.errors for error in row if error is not None)


def test_an_explanation_of_within_names_the_price_and_costs_nothing(curator):
    shown = curator.ask("EXPLAIN DP-SELECT WITHIN 10 COUNT(*) FROM visits", session=ANA)
    assert isinstance(shown, Explanation)
    assert shown.errors[0] <= 10
    assert curator.balance("ana").total.spent.epsilon == 0
    asked = curator.ask("DP-SELECT WITHIN 10 COUNT(*) FROM visits", session=ANA)
    assert asked.cost == shown.loss


def test_a_bound_that_no_allowed_epsilon_reaches_is_refused_free(tmp_path):
    budget = BudgetPolicy(10, max_epsilon=Fraction(1, 10))
    policy = policy_of([TablePolicy("t", "row")], budget=budget, analysts=[AnalystPolicy("ana", 10)])
    curator = world(policy, "CREATE TABLE t AS FROM range(50) AS r(x)").curator(tmp_path, source=Seeded(1))
    with pytest.raises(QueryRefused, match="no epsilon"):
        curator.ask("DP-SELECT WITHIN 2 COUNT(*) FROM t", session=ANA)
    assert curator.balance("ana").total.spent.epsilon == 0
    assert curator.ask("DP-SELECT WITHIN 60 COUNT(*) FROM t", session=ANA).cost.epsilon <= Fraction(1, 10)


@pytest.mark.parametrize("text", ["MEDIAN(age)", "MODE(dept)", "COUNT(*), MAX(age)", "HISTOGRAM(dept)"])
@pytest.mark.parametrize("bound", ["5", "5%"])
def test_what_has_no_half_width_is_refused_free(curator, text, bound):
    with pytest.raises(QueryRefused, match="WITHIN is refused"):
        curator.ask(f"DP-SELECT WITHIN {bound} {text} FROM visits", session=ANA)
    assert curator.balance("ana").total.spent.epsilon == 0


QUOTIENTS = ("SUM(x) / COUNT(*)", "1000.0 * COUNT(*) / SUM(x)", "AVG(x) / STDDEV(x)", "CORR(x, x)", "AVG(x)")


@pytest.mark.parametrize("analyst", [AnalystPolicy("ana", 1000), renewing()], ids=["told", "piloted"])
@pytest.mark.parametrize("value", QUOTIENTS)
def test_what_noise_hides_at_first_is_looked_at_again(tmp_path, value, analyst):
    """A divisor that may be 0 gives no error, or NULL: neither is an answer, nor a reason to refuse what was paid."""
    column = ColumnPolicy("x", lower=0, upper=100, step=1)
    policy = policy_of([TablePolicy("t", "row", columns=[column])], budget=BudgetPolicy(1000), analysts=[analyst])
    made = world(policy, "CREATE TABLE t AS SELECT (r * 37 % 41)::INT AS x FROM range(100000) AS t(r)")
    for seed in range(2):
        (tmp_path / str(seed)).mkdir()
        curator = made.curator(tmp_path / str(seed), source=Seeded(seed))
        found = curator.ask(f"DP-SELECT WITHIN 20% {value} FROM t", session=ANA)
        assert found.errors[0][0] <= 0.3 * found.rows[0][0]  # a pilot guesses what an answer's error will be


def test_a_share_of_the_answer_takes_a_pilot_which_is_charged_and_said(piloted):
    curator = piloted
    found = curator.ask("DP-SELECT WITHIN 10% COUNT(*) FROM visits", session=ANA)
    assert isinstance(found, Release)
    assert found.cost == Loss(curator.balance("ana").total.spent.epsilon)
    assert any("pilot" in note for note in found.notes)
    shown = curator.explain("DP-SELECT WITHIN 7% COUNT(*) FROM visits", session=ANA)
    assert any("pilot" in note for note in shown.notes)
    assert curator.balance("ana").total.spent.epsilon == found.cost.epsilon


def test_a_pilot_that_is_good_enough_is_the_answer(piloted):
    found = piloted.ask("DP-SELECT WITHIN 500% COUNT(*) FROM visits", session=ANA)
    assert found.errors[0][0] <= 5 * abs(found.rows[0][0])
    assert found.cost.epsilon <= ALL_PILOTS


@pytest.mark.parametrize(("rows", "most"), [(1_000_000, "0.001"), (20_000, "0.01")])
def test_the_larger_the_answer_the_cheaper_its_pilots(tmp_path, rows, most):
    """Pilots grow until the answer's size is clear; of 20,000 rows the second is, but with probability e⁻⁵."""
    policy = policy_of([TablePolicy("t", "row")], budget=BudgetPolicy(10), analysts=[renewing()])
    curator = world(policy, f"CREATE TABLE t AS FROM range({rows}) AS r(x)").curator(tmp_path, source=Seeded(1))
    found = curator.ask("DP-SELECT WITHIN 10% COUNT(*) FROM t", session=ANA)
    assert found.cost.epsilon <= Fraction(most)
    assert found.errors[0][0] <= 0.13 * rows


def limited(tmp_path, most, *, rows=50, analyst=None):
    """A curator who lets one question cost `most`, whose ledger was never charged."""
    policy = policy_of(
        [TablePolicy("t", "row")],
        budget=BudgetPolicy(10, max_epsilon=most),
        analysts=[analyst or AnalystPolicy("ana", 10)],
    )
    return world(policy, f"CREATE TABLE t AS FROM range({rows}) AS r(x)").curator(tmp_path, source=Seeded(1))


@pytest.mark.parametrize("analyst", [AnalystPolicy("ana", 10), renewing()], ids=["told", "piloted"])
@pytest.mark.parametrize("bound", ["2%", "500000%"])
def test_to_find_a_price_costs_no_more_than_one_question_may(tmp_path, bound, analyst):
    most = Fraction(1, 100)
    curator = limited(tmp_path, most, analyst=analyst)
    shown = curator.explain(f"DP-SELECT WITHIN {bound} COUNT(*) FROM t", session=ANA)
    assert shown.loss.epsilon < most < PILOT
    with contextlib.suppress(QueryRefused):  # what was read is paid for
        curator.ask(f"DP-SELECT WITHIN {bound} COUNT(*) FROM t", session=ANA)
    assert 0 < curator.balance("ana").total.spent.epsilon <= most


@pytest.mark.parametrize("analyst", [AnalystPolicy("ana", 10), renewing()], ids=["told", "piloted"])
@pytest.mark.parametrize("most", [Fraction(1, 100), Fraction(1, 10)])
def test_the_price_and_the_answer_together_cost_no_more_than_one_question_may(tmp_path, most, analyst):
    """The error at ε is 3/ε, so the bounds take 0.6 and 1.2 of what there is; to see that takes 0.25 of it at most."""
    curator = limited(tmp_path, most, rows=100_000, analyst=analyst)
    text = "DP-SELECT WITHIN {}% FRESH COUNT(*) FROM t"
    found = curator.ask(text.format(float(3 / (most * 600))), session=ANA)
    assert most / 2 < found.cost.epsilon <= most
    assert found.cost.epsilon == curator.balance("ana").total.spent.epsilon
    with pytest.raises(QueryRefused, match="no epsilon"):
        curator.ask(text.format(float(3 / (most * 1200))), session=ANA)
    assert 0 < curator.balance("ana").total.spent.epsilon - found.cost.epsilon <= most / 4


def test_pilots_and_the_answer_are_debits_of_which_the_last_may_fail(tmp_path):
    policy = policy_of([TablePolicy("t", "row")], budget=BudgetPolicy(100), analysts=[renewing(Fraction(6, 100))])
    curator = world(policy, "CREATE TABLE t AS FROM range(50) AS r(x)").curator(tmp_path, source=Seeded(1))
    with pytest.raises(BudgetExceeded):
        curator.ask("DP-SELECT WITHIN 1% COUNT(*) FROM t", session=ANA)
    assert curator.balance("ana").total.spent.epsilon == ALL_PILOTS  # what was read is paid for


def test_private_keys_take_their_delta_from_the_question_or_the_session(tmp_path):
    curator = clinic().curator(tmp_path, source=Seeded(1))
    text = "city, COUNT(*) FROM visits GROUP BY city"
    with pytest.raises(QueryRefused, match="need a delta"):
        curator.ask(f"DP-SELECT WITHIN 100 {text}", session=ANA)
    assert curator.ask(f"DP-SELECT WITHIN 100 DELTA 1e-6 {text}", session=ANA).cost.delta == Fraction(1, 10**6)
    with_delta = Session("ana", delta=Fraction(1, 10**7))
    assert curator.ask(f"DP-SELECT WITHIN 50 {text}", session=with_delta).cost.delta == Fraction(1, 10**7)


def test_a_pilot_costs_a_quarter_of_what_the_accuracy_would_at_the_stated_size(tmp_path):
    policy = policy_of(
        [TablePolicy("t", "row", rows=10_000)], budget=BudgetPolicy(10), analysts=[AnalystPolicy("ana", 10)]
    )
    curator = world(policy, "CREATE TABLE t AS FROM range(50) AS r(x)").curator(tmp_path, source=Seeded(1))
    pilot = curator.explain("DP-SELECT WITHIN 3% COUNT(*) FROM t", session=ANA).loss.epsilon
    whole = curator.explain("DP-SELECT WITHIN 300 COUNT(*) FROM t", session=ANA).loss.epsilon  # three per cent
    assert Fraction(24, 100) * whole < pilot < Fraction(26, 100) * whole + Fraction(1, 1000)


@pytest.mark.parametrize("bound", ["20%", "100000%"], ids=["a sharper answer", "the pilot is enough"])
@pytest.mark.parametrize("fresh", ["", "FRESH "])
def test_a_request_with_an_id_has_one_pilot_and_is_free_when_it_is_sent_again(piloted, bound, fresh):
    curator = piloted
    text = f"DP-SELECT WITHIN {bound} {fresh}AVG(amount) FROM visits"
    for number in range(6):  # a pilot that sees next to nothing, one in two hundred, refuses the answer
        with contextlib.suppress(QueryRefused):
            before = curator.balance("ana").total.spent.epsilon
            first = curator.ask(text, session=ANA, request_id=f"r{number}")
            break
    spent = curator.balance("ana").total.spent
    assert spent.epsilon == before + first.cost.epsilon > 0
    again = curator.ask(text, session=ANA, request_id=f"r{number}")
    assert curator.balance("ana").total.spent == spent
    assert (again.rows, again.cost) == (first.rows, Loss(0))
    with pytest.raises(RequestConflict):
        curator.ask("DP-SELECT 1 COUNT(*) FROM visits", session=ANA, request_id=f"r{number}")
    assert curator.balance("ana").total.spent == spent
