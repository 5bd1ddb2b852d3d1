"""A budget in grains: everyday questions cost one each, and as many are answered as numerical composition allows."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import duckdb
import pytest

from tacit.accounting import grains_for, grains_within, optimal_delta, pure_rho, rho_for
from tacit.core import Budget, Grains, Loss, Zcdp
from tacit.curator import Curator, Session
from tacit.engines import open_engine
from tacit.errors import BudgetExceeded
from tacit.faces.budget_status import budget_status
from tacit.ledger import AccountLine, Balance, Spent, SqliteLedger
from tacit.policy import parse_policy

POLICY = """
[dataset]
name = "clinic"
source = "clinic.duckdb"
[budget]
epsilon = 3
delta = 1e-6
accounting = "pld"
grain = 0.1
[groups.staff]
epsilon = 2
[analysts.ana]
groups = ["staff"]
[analysts.bob]
epsilon = 3
[tables.visits]
unit = "row"
[tables.visits.columns]
ward = { domain = ["a", "b"] }
city = {}
"""
ANA, BOB = Session("ana"), Session("bob")
GRAIN, DELTA = Fraction(1, 10), Fraction(1, 10**6)
COMPOSED = DELTA * Fraction(13, 20)  # what of delta is left for the composition of grains
COUNT = "DP-SELECT 0.1 FRESH COUNT(*) FROM visits"


@pytest.fixture
def curator(tmp_path: Path) -> Iterator[Curator]:
    with duckdb.connect(tmp_path / "clinic.duckdb") as connection:
        connection.execute("CREATE TABLE visits AS SELECT 'a' AS ward, 'x' AS city FROM range(500)")
    policy = parse_policy(POLICY, base=tmp_path)
    opened = Curator(policy, open_engine(policy), SqliteLedger(tmp_path / "ledger", create=True))
    yield opened
    opened.close()


def answers(curator: Curator, text: str, session: Session) -> int:
    """How many times the question is answered before it is refused."""
    for count in range(1_000):
        try:
            curator.ask(text, session=session)
        except BudgetExceeded:
            return count
    pytest.fail("the budget has no end")


def test_as_many_are_answered_as_the_best_composition_allows(curator):
    count = grains_within(Budget(3, COMPOSED), GRAIN)
    assert count > 3 / GRAIN  # more than by plain sums
    assert answers(curator, COUNT, BOB) == count
    within = optimal_delta(Loss(GRAIN), count, epsilon=3)
    assert within <= COMPOSED < optimal_delta(Loss(GRAIN), count + 1, epsilon=3)


def test_a_group_has_grains_of_its_own_and_the_total_those_of_all(curator):
    few, all_of_them = (grains_within(Budget(epsilon, COMPOSED), GRAIN) for epsilon in (2, 3))
    assert answers(curator, COUNT, ANA) == few
    assert answers(curator, COUNT, BOB) == all_of_them - few


def test_large_questions_are_paid_by_plain_sums_and_small_ones_by_rho(curator):
    assert answers(curator, "DP-SELECT 1 FRESH COUNT(*) FROM visits", BOB) == 3
    assert curator.balance("bob").total.spent.epsilon == 3


def test_many_tiny_questions_are_paid_by_rho(curator):
    tiny = Fraction(1, 50)
    count = rho_for(Budget(2, DELTA * Fraction(3, 20))) // (tiny**2 / 2)
    assert count > grains_within(Budget(2, COMPOSED), GRAIN) > 2  # of which each would take one
    assert answers(curator, "DP-SELECT 0.02 FRESH COUNT(*) FROM visits", ANA) == count


def test_a_larger_question_counts_in_every_currency_and_the_one_with_most_left_is_shown(curator):
    answer = curator.ask("DP-SELECT 0.5 COUNT(*) FROM visits", session=BOB)
    balance = curator.balance("bob")
    assert balance.total.spent.grains == grains_for(Loss("0.5"), GRAIN).count
    assert (balance.total.spent.epsilon, balance.total.spent.rho) == (Fraction(1, 2), pure_rho("0.5"))
    assert answer.left is not None
    assert answer.left.epsilon == Fraction(5, 2)  # a question that costs this would be answered, by plain sums
    shown = budget_status("clinic", {"bob": balance})
    assert shown.to_dict()["total"]["spent"] == {"epsilon": "0.5", "delta": "0"}
    assert shown.left == Budget("2.5", DELTA / 10)


def test_everyday_questions_are_shown_in_grains(curator):
    for _ in range(3):
        curator.ask(COUNT, session=BOB)
    shown = budget_status("clinic", {"bob": curator.balance("bob")})
    assert shown.to_dict()["total"]["spent"] == {"grains": "3", "grain": "0.1", "delta": "0"}
    assert "3 grains" in str(shown)
    assert shown.left == Grains(GRAIN, grains_within(Budget(3, COMPOSED), GRAIN) - 3, DELTA / 10)


def test_accounts_of_different_currencies_show_the_one_with_the_least_share_left():
    spent = Spent(epsilon=Fraction(1), rho=Fraction(1, 2))
    much, little = (AccountLine(spent, cap) for cap in (Budget(10), Zcdp(1)))
    shown = budget_status("clinic", {"bob": Balance(total=much, analyst=little, groups=())})
    assert shown.left == Zcdp("1/2")


def test_private_keys_are_paid_for_beside_grains(curator):
    curator.ask("DP-SELECT 0.2 DELTA 8e-8 FRESH city, COUNT(*) FROM visits GROUP BY city", session=BOB)
    with pytest.raises(BudgetExceeded, match="δ = 2e-8 is left"):
        curator.ask("DP-SELECT 0.2 DELTA 8e-8 FRESH city, COUNT(*) FROM visits GROUP BY city", session=BOB)


def test_a_batch_is_charged_as_a_whole(curator):
    questions = ["SELECT COUNT(*) FROM visits", "SELECT COUNT(*) FROM visits WHERE ward = 'a'"]
    curator.batch(questions, session=BOB, epsilon=Fraction(1, 10))
    balance = curator.balance("bob")
    assert balance.total.spent.grains == 1
