"""64 clients in 8 processes race for the last of a budget that PostgreSQL keeps."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import tacit.ledger
from support.postgres import server
from tacit.ledger.postgres.ledger import verify_database

PROCESSES, CLIENTS = 8, 8
PROGRAM = Path(__file__).with_name("ledger_postgres_client.py")
ENVIRONMENT = os.environ | {"PYTHONPATH": str(Path(tacit.ledger.__file__).parents[2])}


def race(url: str, *, epsilon: str, twin: str) -> int:
    """How many answers were released."""
    command = [sys.executable, str(PROGRAM), "race", url, str(CLIENTS), epsilon, twin]
    racers = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=ENVIRONMENT)
        for _ in range(PROCESSES)
    ]
    assert [racer.stdout.readline() for racer in racers] == ["ready\n"] * PROCESSES
    for racer in racers:
        racer.stdin.write("go\n")
        racer.stdin.flush()
    said = [racer.communicate(timeout=300)[0] for racer in racers]
    assert [racer.returncode for racer in racers] == [0] * PROCESSES
    return sum(int(count) for count in said)


def test_exactly_as_many_answers_are_released_as_the_budget_covers() -> None:
    url = server().database()
    assert race(url, epsilon="0.003", twin="ledger") == 333  # ⌊1 / 0.003⌋
    verdict = verify_database(url, mark=None)
    assert verdict.problems == ()
    assert verdict.entries == 1 + 2 * 333


def test_the_race_catches_a_ledger_that_looks_before_it_leaps() -> None:
    turns = (race(server().database(), epsilon="0.01", twin="look-then-leap") for _ in range(5))
    assert any(released > 100 for released in turns)
