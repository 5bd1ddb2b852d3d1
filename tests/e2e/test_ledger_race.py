"""64 clients in 8 processes race for the last of a budget."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import tacit.ledger
from tacit.ledger import verify_file

PROCESSES, CLIENTS = 8, 8
PROGRAM = Path(__file__).with_name("ledger_race.py")
ENVIRONMENT = os.environ | {"PYTHONPATH": str(Path(tacit.ledger.__file__).parents[2])}


def race(ledger: Path, *, epsilon: str, twin: str) -> int:
    """How many answers were released."""
    command = [sys.executable, str(PROGRAM), str(ledger), str(CLIENTS), epsilon, twin]
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


def test_exactly_as_many_answers_are_released_as_the_budget_covers(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.sqlite"
    assert race(ledger, epsilon="0.003", twin="ledger") == 333  # ⌊1 / 0.003⌋
    verdict = verify_file(ledger)
    assert verdict.sound
    assert verdict.entries == 1 + 2 * 333


def test_the_race_catches_a_ledger_that_looks_before_it_leaps(tmp_path: Path) -> None:
    turns = (race(tmp_path / f"{turn}.sqlite", epsilon="0.01", twin="look-then-leap") for turn in range(5))
    assert any(released > 100 for released in turns)
