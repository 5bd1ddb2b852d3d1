"""A server that is killed at any moment of an answer: on record before it leaves, charged once, told again the same."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import tacit

PROGRAM = Path(__file__).with_name("server_crash.py")
ENVIRONMENT = os.environ | {"PYTHONPATH": str(Path(tacit.__file__).parents[1]), "PYTHONHASHSEED": "0"}
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="system calls are stopped with Linux's ptrace")


def crash(*arguments: str) -> tuple[int, list[str]]:
    """How many moments were tried, and what went wrong at which."""
    done = subprocess.run(
        [sys.executable, str(PROGRAM), *arguments], env=ENVIRONMENT, capture_output=True, text=True, check=True
    )
    told = json.loads(done.stdout)
    if "unable" in told:
        pytest.skip(told["unable"])
    return told["moments"], told["problems"]


def test_killed_at_any_system_call_a_server_loses_no_charge_and_repeats_its_answer() -> None:
    moments, problems = crash("server", "--every", "8")
    assert problems == []
    assert moments >= 30


def test_the_killer_catches_a_server_that_answers_first() -> None:
    _, problems = crash("answer-first", "--every", "200")
    assert any("not on record" in problem for problem in problems)


@pytest.mark.heavy
def test_killed_at_every_single_system_call() -> None:
    moments, problems = crash("server")
    assert problems == []
    assert moments >= 250
