"""64 clients in 8 processes race for the last of a budget that PostgreSQL keeps."""

from __future__ import annotations

from pathlib import Path

from support.ledgers import CLIENTS, race
from support.postgres import server
from tacit.ledger.postgres.ledger import verify_database

PROGRAM = Path(__file__).with_name("ledger_postgres_client.py")


def raced(url: str, *, epsilon: str, twin: str) -> int:
    return race(PROGRAM, "race", url, str(CLIENTS), epsilon, twin)


def test_exactly_as_many_answers_are_released_as_the_budget_covers() -> None:
    url = server().database()
    assert raced(url, epsilon="0.003", twin="ledger") == 333  # ⌊1 / 0.003⌋
    verdict = verify_database(url, mark=None)
    assert verdict.problems == ()
    assert verdict.entries == 1 + 2 * 333


def test_the_race_catches_a_ledger_that_looks_before_it_leaps() -> None:
    turns = (raced(server().database(), epsilon="0.01", twin="look-then-leap") for _ in range(5))
    assert any(released > 100 for released in turns)
