"""A budget in grains: everyday questions cost one each, and as many are answered as numerical composition allows."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import duckdb
import pytest

from tacit.accounting import grains_for, grains_within, optimal_delta
from tacit.core import Budget, Grains, Loss
from tacit.curator import Curator, Session
from tacit.engines import open_engine
from tacit.errors import BudgetExceeded
from tacit.faces.budget_status import budget_status
from tacit.ledger import SqliteLedger
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
GRAIN, HALF = Fraction(1, 10), Fraction(1, 2 * 10**6)
COUNT = "DP-SELECT 0.1 FRESH COUNT(*) FROM visits"


@pytest.fixture
def curator(tmp_path: Path) -> Iterator[Curator]:
    with duckdb.connect(tmp_path / "clinic.duckdb") as connection:
        connection.execute("CREATE TABLE visits AS SELECT 'a' AS ward, 'x' AS city FROM range(500)")
    policy = parse_policy(POLICY, base=tmp_path)
    made = Curator(policy, open_engine(policy), SqliteLedger(tmp_path / "ledger", create=True))
    yield made
    made.close()


def answers(curator: Curator, text: str, session: Session) -> int:
    """How many times the question is answered before it is refused."""
    for count in range(1_000):
        try:
            curator.ask(text, session=session)
        except BudgetExceeded:
            return count
    pytest.fail("the budget has no end")


def test_as_many_are_answered_as_the_best_composition_allows(curator):
    count = grains_within(Budget(3, HALF), GRAIN)
    assert count > 3 / GRAIN  # more than by plain sums
    assert answers(curator, COUNT, BOB) == count
    assert optimal_delta(Loss(GRAIN), count, epsilon=3) <= HALF < optimal_delta(Loss(GRAIN), count + 1, epsilon=3)


def test_a_group_has_grains_of_its_own_and_the_total_those_of_all(curator):
    few, all_of_them = (grains_within(Budget(epsilon, HALF), GRAIN) for epsilon in (2, 3))
    assert answers(curator, COUNT, ANA) == few
    assert answers(curator, COUNT, BOB) == all_of_them - few


def test_a_larger_question_costs_what_dominates_it_and_says_what_is_left(curator):
    answer = curator.ask("DP-SELECT 0.5 COUNT(*) FROM visits", session=BOB)
    spent = grains_for(Loss("0.5"), GRAIN).count
    balance = curator.balance("bob")
    assert balance.total.spent.grains == spent
    assert answer.left is not None
    assert 0 < answer.left.epsilon < Fraction(5, 2)
    shown = budget_status("clinic", {"bob": balance})
    assert shown.to_dict()["total"]["spent"] == {"grains": str(spent), "grain": "0.1", "delta": "0"}
    assert f"{spent} grains" in str(shown)
    assert isinstance(shown.left, Grains)


def test_private_keys_are_paid_for_beside_grains(curator):
    curator.ask("DP-SELECT 0.2 DELTA 4e-7 FRESH city, COUNT(*) FROM visits GROUP BY city", session=BOB)
    with pytest.raises(BudgetExceeded, match="δ = 1e-7 is left"):
        curator.ask("DP-SELECT 0.2 DELTA 4e-7 FRESH city, COUNT(*) FROM visits GROUP BY city", session=BOB)


def test_a_batch_is_charged_as_a_whole(curator):
    questions = ["SELECT COUNT(*) FROM visits", "SELECT COUNT(*) FROM visits WHERE ward = 'a'"]
    curator.batch(questions, session=BOB, epsilon=Fraction(1, 10))
    balance = curator.balance("bob")
    assert balance.total.spent.grains == 1
