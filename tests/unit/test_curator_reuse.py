"""Answers used again: what is free, what is not, and for whom."""

from __future__ import annotations

from fractions import Fraction

import pytest

from conformance.sql_clinic import VISITS, clinic, row_clinic, visits
from conformance.sql_world import ANALYSTS, World, policy_of, world
from tacit.core import Loss
from tacit.curator import Curator, Session
from tacit.curator.reusing import reuse
from tacit.ledger import SqliteLedger
from tacit.policy import AnalystPolicy, BudgetPolicy, TablePolicy

ANA, BOB = Session("ana"), Session("bob")
FREE = Loss(0)


@pytest.fixture
def curator(tmp_path):
    return clinic().curator(tmp_path)


@pytest.fixture
def by_row(tmp_path):
    return row_clinic().curator(tmp_path)


def spent(curator, analyst="ana"):
    return curator.balance(analyst).total.spent.epsilon


COUNT = "COUNT(*) FROM visits WHERE insured"


def test_the_same_question_is_free_and_the_same_to_the_last_digit(curator):
    first = curator.ask(f"DP-SELECT 0.5 {COUNT}", session=ANA)
    again = curator.ask("dp-select 0.5 count( * ) as many from VISITS where (insured)", session=ANA)
    assert first.reused is None
    assert first.cost == Loss(Fraction(1, 2))
    assert again.reused == "the same question"
    assert again.cost == FREE
    assert again.rows == first.rows
    assert spent(curator) == Fraction(1, 2)


def test_less_epsilon_is_free_and_more_is_not(curator):
    first = curator.ask(f"DP-SELECT 0.5 {COUNT}", session=ANA)
    less = curator.ask(f"DP-SELECT 0.1 {COUNT}", session=ANA)
    assert less.rows == first.rows
    assert less.errors == first.errors  # the bar of the noise it has, not of the noise that was asked for
    assert less.cost == FREE
    more = curator.ask(f"DP-SELECT 1 {COUNT}", session=ANA)
    assert more.reused is None
    assert more.cost == Loss(1)


def test_the_receipt_of_a_reused_answer_states_what_it_really_cost(curator):
    curator.ask(f"DP-SELECT 0.5 {COUNT}", session=ANA)
    less = curator.ask(f"DP-SELECT 0.1 {COUNT}", session=ANA)
    assert less.receipt.guarantee.startswith("ε = 0.5 ")


def test_fresh_forces_a_new_answer(curator):
    curator.ask(f"DP-SELECT 0.5 {COUNT}", session=ANA)
    fresh = curator.ask(f"DP-SELECT 0.5 FRESH {COUNT}", session=ANA)
    assert fresh.reused is None
    assert fresh.cost == Loss(Fraction(1, 2))
    assert spent(curator) == 1


def test_another_condition_parameter_or_cap_is_another_question(curator):
    curator.ask("DP-SELECT 1 COUNT(*) FROM visits WHERE age > ?", [30], session=ANA)
    assert curator.ask("DP-SELECT 1 COUNT(*) FROM visits WHERE age > ?", [30], session=ANA).reused
    for text, given in (("WHERE age > ?", [31]), ("WHERE age >= ?", [30]), ("", [])):
        assert curator.ask(f"DP-SELECT 1 COUNT(*) FROM visits {text}", given, session=ANA).reused is None
    google = (
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1, max_rows_contributed=2) COUNT(*) FROM visits WHERE age > ?"
    )
    assert curator.ask(google, [30], session=ANA).reused is None


def test_some_columns_of_an_earlier_answer_are_free(curator):
    whole = curator.ask("DP-SELECT 1 dept, COUNT(*) AS n, SUM(age) AS s FROM visits GROUP BY dept", session=ANA)
    part = curator.ask("DP-SELECT 0.2 COUNT(*) AS n, dept FROM visits GROUP BY dept ORDER BY dept", session=ANA)
    assert part.reused == "some columns of an earlier answer"
    assert part.cost == FREE
    assert {row[1]: row[0] for row in part.rows} == {row[0]: row[1] for row in whole.rows}


def test_a_column_that_was_not_measured_is_not_made_up(curator):
    curator.ask("DP-SELECT 1 dept, COUNT(*) FROM visits GROUP BY dept", session=ANA)
    assert curator.ask("DP-SELECT 0.1 dept, SUM(age) FROM visits GROUP BY dept", session=ANA).reused is None


def test_a_part_with_more_noise_than_asked_for_is_not_served(curator):
    curator.ask("DP-SELECT 1 dept, COUNT(*), SUM(age), SUM(amount) FROM visits GROUP BY dept", session=ANA)
    fresh = curator.ask("DP-SELECT 1 dept, COUNT(*) FROM visits GROUP BY dept", session=ANA)
    assert fresh.reused is None  # it had a part of the epsilon only


def test_a_roll_up_of_finer_groups_is_free_where_each_row_is_a_person(by_row):
    fine = by_row.ask("DP-SELECT 1 dept, insured, COUNT(*) FROM visits GROUP BY dept, insured", session=ANA)
    coarse = by_row.ask("DP-SELECT 0.1 dept, COUNT(*) FROM visits GROUP BY dept", session=ANA)
    assert coarse.reused == "rolled up from a finer answer"
    wanted = {}
    for dept, _, count in fine.rows:
        wanted[dept] = wanted.get(dept, 0) + count
    assert dict(coarse.rows) == wanted
    assert any("public domain" in note for note in coarse.notes)
    assert all(error is not None and error > fine.errors[0][2] for _, error in coarse.errors)


def test_a_roll_up_with_more_error_than_a_fresh_answer_is_not_served(by_row):
    by_row.ask("DP-SELECT 1 age, COUNT(*) FROM visits GROUP BY age", session=ANA)
    assert by_row.ask("DP-SELECT 1 COUNT(*) FROM visits WHERE TRUE", session=ANA).reused is None
    assert by_row.ask("DP-SELECT 0.5 COUNT(*) FROM visits", session=ANA).reused is None


def test_units_in_several_groups_are_not_rolled_up(curator):
    """A heavy unit was bounded group by group: the sum of the groups is not the bounded whole."""
    curator.ask("DP-SELECT 1 dept, insured, COUNT(*) FROM visits GROUP BY dept, insured", session=ANA)
    assert curator.ask("DP-SELECT 0.01 dept, COUNT(*) FROM visits GROUP BY dept", session=ANA).reused is None


def test_medians_and_private_keys_are_not_rolled_up(by_row):
    by_row.ask("DP-SELECT 1 dept, MEDIAN(age) FROM visits GROUP BY dept", session=ANA)
    assert by_row.ask("DP-SELECT 0.01 MEDIAN(age) FROM visits", session=ANA).reused is None
    by_row.ask("DP-SELECT 1 DELTA 1e-6 city, COUNT(*) FROM visits GROUP BY city", session=ANA)
    assert by_row.ask("DP-SELECT 0.01 COUNT(*) FROM visits", session=ANA).reused is None


def test_a_reused_answer_names_the_threshold_that_chose_its_keys(by_row):
    first = by_row.ask("DP-SELECT 8 DELTA 1e-6 city, COUNT(*) FROM visits GROUP BY city", session=ANA)
    again = by_row.ask("DP-SELECT 1 DELTA 1e-6 city, COUNT(*) FROM visits GROUP BY city", session=ANA)
    part = by_row.ask("DP-SELECT 1 DELTA 1e-6 COUNT(*) FROM visits GROUP BY city HAVING COUNT(*) > 1", session=ANA)
    assert again.reused
    assert part.reused
    (said,) = (note for note in first.notes if "is shown when" in note)
    assert said in again.notes
    assert said in part.notes


def test_choices_are_reused_when_they_were_as_sharp(curator):
    text = "DP-SELECT {} MEDIAN(age), MODE(dept), HISTOGRAM(dept) FROM visits"
    first = curator.ask(text.format(1), session=ANA)
    assert curator.ask(text.format("0.5"), session=ANA).rows == first.rows
    assert curator.ask(text.format(2), session=ANA).reused is None


@pytest.mark.parametrize(("epsilon", "served"), [("1.5", True), ("1.8", False)])
def test_noise_of_another_law_serves_where_it_is_wider_at_no_level_that_is_shown(tmp_path, epsilon, served):
    """Gaussian noise of σ = 1.6 b strays less far than Laplace noise of scale b at 98 %, and farther at 95 %."""
    curator = clinic(bounding="sample", max_groups=3).curator(tmp_path)
    text = "DP-SELECT {} dept, COUNT(*), AVG(age) FROM visits GROUP BY dept"
    curator.ask(text.format("1 DELTA 1e-3"), session=ANA)
    for price, law in (("1 DELTA 1e-3", "Gaussian"), (epsilon, "Laplace")):
        (member,) = curator.prepare(text.format(price), session=ANA).members
        assert {measurement.noise.law.name for measurement in member.plan.measurements} == {law}
    assert (curator.ask(text.format(epsilon), session=ANA).reused is not None) is served


@pytest.mark.parametrize("epsilon", ["0.12345678901234567890123456789012345678901234567890", "1/7", "1e-2"])
def test_an_answer_at_any_price_can_be_read_back(curator, epsilon):
    """A long price once made an answer that nobody could reuse: asking again raised an error for ever."""
    text = f"DP-SELECT {epsilon} DELTA 1e-6 dept, COUNT(*), SUM(amount), AVG(age) FROM visits GROUP BY dept"
    first = curator.ask(text, session=ANA)
    assert curator.ask(text, session=ANA).rows == first.rows


def test_keys_of_every_kind_come_back_as_they_were(tmp_path):
    curator = clinic().curator(tmp_path)
    for key in (
        "dept",
        "insured",
        "FLOOR(age / 10) / 2",
        "DATE_TRUNC('quarter', seen)",
        "CASE WHEN insured THEN 0.1 END",
    ):
        text = f"DP-SELECT 1 {key}, COUNT(*), HISTOGRAM(DATE_TRUNC('quarter', seen)) FROM visits GROUP BY 1"
        first, again = (curator.ask(text, session=ANA) for _ in range(2))
        assert again.reused
        assert first.rows == again.rows
        assert [list(map(type, row)) for row in first.rows] == [list(map(type, row)) for row in again.rows]


def test_bob_may_use_what_ana_paid_for_if_the_policy_shares_answers(curator):
    first = curator.ask(f"DP-SELECT 0.5 {COUNT}", session=ANA)
    again = curator.ask(f"DP-SELECT 0.5 {COUNT}", session=BOB)
    assert again.reused
    assert again.rows == first.rows
    assert curator.balance("bob").analyst.spent.epsilon == 0


def _curator(directory, **change):
    budget = change.pop("budget", BudgetPolicy(100, Fraction(1, 1000)))
    dataset = change.pop("dataset", {})
    policy = policy_of(
        [visits(**change), TablePolicy("cities", public=True)], budget=budget, analysts=ANALYSTS, **dataset
    )
    made: World = world(policy, VISITS, "CREATE TABLE cities (name VARCHAR)")
    return Curator(
        policy, made.engine, SqliteLedger(directory / "d.ledger", create=not (directory / "d.ledger").exists())
    )


def test_bob_pays_if_the_policy_does_not_share_answers(tmp_path):
    curator = _curator(tmp_path, budget=BudgetPolicy(100, share_answers=False))
    curator.ask(f"DP-SELECT 0.5 {COUNT}", session=ANA)
    assert curator.ask(f"DP-SELECT 0.5 {COUNT}", session=BOB).reused is None
    assert curator.ask(f"DP-SELECT 0.5 {COUNT}", session=ANA).reused
    assert spent(curator) == 1


def test_without_reuse_every_answer_is_new(tmp_path):
    curator = _curator(tmp_path, budget=BudgetPolicy(100, reuse=False))
    assert [curator.ask(f"DP-SELECT 1 {COUNT}", session=ANA).reused for _ in range(2)] == [None, None]
    assert spent(curator) == 2


@pytest.mark.parametrize(
    "change", [{"dataset": {"data_version": "2"}}, {"max_rows": 4}, {"budget": BudgetPolicy(101, Fraction(1, 1000))}]
)
def test_another_state_of_the_data_or_another_policy_makes_answers_new_and_the_account_stays(tmp_path, change):
    before = _curator(tmp_path)
    before.ask(f"DP-SELECT 1 {COUNT}", session=ANA)
    before.close()
    after = _curator(tmp_path, **change)
    assert after.ask(f"DP-SELECT 1 {COUNT}", session=ANA).reused is None
    assert spent(after) == 2  # one account, whatever the policy or the data are now


def test_the_same_answer_serves_after_a_restart(tmp_path):
    before = _curator(tmp_path)
    first = before.ask(f"DP-SELECT 1 {COUNT}", session=ANA)
    before.close()
    assert _curator(tmp_path).ask(f"DP-SELECT 1 {COUNT}", session=ANA).rows == first.rows


def test_the_noise_of_another_question_is_never_reused(curator):
    """The same noise under two true values would give their difference away."""
    one = curator.ask("DP-SELECT 1 COUNT(*) FROM visits WHERE TRUE", session=ANA)
    other = curator.ask("DP-SELECT 1 COUNT(*) FROM visits WHERE 1 = 1", session=ANA)
    assert other.reused is None
    assert spent(curator) == 2
    assert one.receipt.entry != other.receipt.entry


@pytest.mark.parametrize(
    ("seconds", "age"), [(0, "0 seconds"), (61, "1 minute"), (7_300, "2 hours"), (86_400 * 12 + 9, "12 days")]
)
def test_the_age_of_an_answer_is_told_in_the_largest_unit_it_fills(monkeypatch, seconds, age):
    monkeypatch.setattr(reuse.time, "time", lambda: 1_700_000_000.0)
    assert f"given {age} ago" in reuse.age_note(1_700_000_000.0 - seconds, watched=True)


def test_an_answer_that_is_given_again_says_whether_somebody_watched_the_data():
    assert "the data have not changed since" in reuse.age_note(0.0, watched=True)
    assert "whether the data changed since is not known" in reuse.age_note(0.0, watched=False)


@pytest.mark.parametrize(("total", "own", "left"), [(10, 3, (2, "1/200")), (3, 10, (2, "1/200"))])
def test_what_is_left_is_the_least_of_every_cap(tmp_path, total, own, left):
    """The total's or the analyst's, of epsilon and of delta each by itself."""
    budget, analysts = BudgetPolicy(total, Fraction(1, 100)), [AnalystPolicy("ana", own, delta=Fraction(1, 200))]
    curator = clinic(dataset={"budget": budget, "analysts": analysts}).curator(tmp_path)
    for _ in range(2):  # as the charge left it, and as it stands when the answer is given again
        answer = curator.ask("DP-SELECT 1 COUNT(*) FROM visits", session=ANA)
        assert (answer.left.epsilon, answer.left.delta) == (left[0], Fraction(left[1]))
