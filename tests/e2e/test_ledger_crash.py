"""Crashes of every kind, and twins that each of them must catch; `ledger_crash.py` does the crashing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import tacit.ledger

PROGRAM = Path(__file__).with_name("ledger_crash.py")
ENVIRONMENT = os.environ | {"PYTHONPATH": str(Path(tacit.ledger.__file__).parents[2]), "PYTHONHASHSEED": "0"}
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="system calls are stopped with Linux's ptrace")
pytestmark = LINUX


def crash(*arguments: str) -> tuple[int, list[str]]:
    """How many moments were tried, and what went wrong at which."""
    done = subprocess.run(
        [sys.executable, str(PROGRAM), *arguments], env=ENVIRONMENT, capture_output=True, text=True, check=True
    )
    told = json.loads(done.stdout)
    if "unable" in told:
        pytest.skip(told["unable"])
    print(f"{told['moments']} moments")
    return told["moments"], told["problems"]


@pytest.mark.parametrize("first", ["1", "2"])
def test_killed_at_any_system_call_no_more_is_released_than_charged(first: str) -> None:
    moments, problems = crash("kill", "ledger", "--every", "2", "--first", first)
    assert problems == []
    assert moments >= 250  # in each half


def test_killed_amid_a_checkpoint_no_more_is_released_than_charged() -> None:
    moments, problems = crash("kill", "ledger", "--checkpoints", "--every", "9")
    assert problems == []
    assert moments >= 60


def test_the_killer_catches_a_ledger_that_answers_first() -> None:
    _, problems = crash("kill", "answer-first", "--every", "9")
    assert any("1 released, 0 charged" in problem for problem in problems)


@pytest.mark.parametrize("how", [(), ("--checkpoints",)])
def test_whatever_a_power_cut_leaves_no_more_is_released_than_charged(how: tuple[str, ...]) -> None:
    moments, problems = crash("power", "ledger", *how)
    assert problems == []
    assert moments >= 400


def test_the_power_cut_catches_a_ledger_that_does_not_sync() -> None:
    _, problems = crash("power", "unsynced", "--every", "5")
    assert problems


def test_after_a_failed_write_or_sync_nothing_is_released_for_it() -> None:
    moments, problems = crash("fail", "ledger", "--checkpoints", "--every", "6")
    assert problems == []
    assert moments >= 80


def test_the_failing_disk_catches_a_curator_who_answers_all_the_same() -> None:
    _, problems = crash("fail", "careless", "--every", "19")
    assert any("released" in problem for problem in problems)


@pytest.mark.heavy
@pytest.mark.parametrize("what", [("kill", "--checkpoints"), ("fail",), ("fail", "--checkpoints")])
def test_every_moment_of_it_all(what: tuple[str, ...]) -> None:
    moments, problems = crash(what[0], "ledger", *what[1:])
    assert problems == []
    assert moments >= 400
