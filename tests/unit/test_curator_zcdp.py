"""A budget in concentrated privacy: Gaussian noise is planned, rho is charged, and what is left is shown in epsilon."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from tacit.curator import Curator, Release, Session
from tacit.engines import open_engine
from tacit.errors import BudgetExceeded
from tacit.ledger import SqliteLedger
from tacit.policy import parse_policy

POLICY = """
[dataset]
name = "clinic"
source = "clinic.duckdb"
[budget]
epsilon = 2
delta = 1e-6
accounting = "{accounting}"
[analysts.ana]
epsilon = 2
[tables.visits]
unit = "row"
[tables.visits.columns]
ward = {{ domain = ["a", "b"] }}
city = {{}}
"""
SESSION = Session("ana")


@pytest.fixture
def curator(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Curator]:
    with duckdb.connect(tmp_path / "clinic.duckdb") as connection:
        connection.execute("CREATE TABLE visits AS SELECT 'a' AS ward, 'x' AS city FROM range(500)")
    policy = parse_policy(POLICY.format(accounting=request.param), base=tmp_path)
    made = Curator(policy, open_engine(policy), SqliteLedger(tmp_path / "ledger", create=True))
    yield made
    made.close()


def answers(curator: Curator, text: str) -> int:
    """How many times the question is answered before it is refused."""
    for count in range(1_000):
        try:
            curator.ask(text, session=SESSION)
        except BudgetExceeded:
            return count
    pytest.fail("the budget has no end")


@pytest.mark.parametrize("curator", ["zcdp"], indirect=True)
def test_gaussian_noise_is_planned_where_rho_is_counted(curator: Curator) -> None:
    release = curator.ask("DP-SELECT 1/10 DELTA 1e-9 ward, COUNT(*) FROM visits GROUP BY ward", session=SESSION)
    assert isinstance(release, Release)
    assert "Gaussian" in release.receipt.mechanisms[0]
    assert release.left is not None
    assert 0 < release.left.epsilon < 2


QUESTION = "DP-SELECT 1/2 DELTA 5e-8 FRESH ward, COUNT(*) FROM visits GROUP BY ward"


@pytest.mark.parametrize("curator", ["zcdp"], indirect=True)
def test_counting_rho_allows_more_questions_than_adding_epsilons(curator: Curator) -> None:
    assert answers(curator, QUESTION) > 4


@pytest.mark.parametrize("curator", ["approximate"], indirect=True)
def test_adding_epsilons_allows_as_many_as_fit(curator: Curator) -> None:
    assert answers(curator, QUESTION) == 4
