"""64 clients in 8 processes race for the last of a budget."""

from __future__ import annotations

from pathlib import Path

from support.ledgers import CLIENTS, race
from tacit.ledger import verify_file

PROGRAM = Path(__file__).with_name("ledger_race.py")


def raced(ledger: Path, *, epsilon: str, twin: str) -> int:
    return race(PROGRAM, str(ledger), str(CLIENTS), epsilon, twin)


def test_exactly_as_many_answers_are_released_as_the_budget_covers(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.sqlite"
    assert raced(ledger, epsilon="0.003", twin="ledger") == 333  # ⌊1 / 0.003⌋
    verdict = verify_file(ledger)
    assert verdict.sound
    assert verdict.entries == 1 + 2 * 333


def test_the_race_catches_a_ledger_that_looks_before_it_leaps(tmp_path: Path) -> None:
    turns = (raced(tmp_path / f"{turn}.sqlite", epsilon="0.01", twin="look-then-leap") for turn in range(5))
    assert any(released > 100 for released in turns)
