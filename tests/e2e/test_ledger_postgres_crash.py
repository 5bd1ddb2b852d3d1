"""Clients and servers that are killed: whatever is on record, no more is released than charged."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import tacit.ledger
from support.postgres import Server, discard, fresh_server, server
from tacit.core import Budget
from tacit.errors import LedgerError
from tacit.ledger import BudgetLimits
from tacit.ledger.postgres.ledger import PostgresLedger

PROGRAM = Path(__file__).with_name("ledger_postgres_client.py")
ENVIRONMENT = os.environ | {"PYTHONPATH": str(Path(tacit.ledger.__file__).parents[2])}
CAPS = BudgetLimits(total=Budget(10**6), analyst=None, window=None, groups=())
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the server's processes are found in /proc")


def killed_clients(where: Path, *, twin: str, times: int, seed: int = 1) -> list[str]:
    command = [sys.executable, str(PROGRAM), "killed", server().database(), str(where / "released"), twin]
    done = subprocess.run(
        [*command, str(times), str(seed)], env=ENVIRONMENT, stdout=subprocess.PIPE, text=True, check=True
    )
    found: list[str] = json.loads(done.stdout)
    return found


def test_clients_killed_at_any_moment_have_released_no_more_than_was_charged(tmp_path: Path) -> None:
    assert killed_clients(tmp_path, twin="ledger", times=60) == []
    assert (tmp_path / "released").stat().st_size > 30  # one of each, on average, by the time it was killed


@pytest.mark.heavy
def test_many_more_clients_killed(tmp_path: Path) -> None:
    assert killed_clients(tmp_path, twin="ledger", times=300, seed=2) == []


def test_the_killer_catches_a_client_that_answers_first(tmp_path: Path) -> None:
    assert any("released" in problem for problem in killed_clients(tmp_path, twin="answer-first", times=40))


@pytest.fixture
def own() -> Iterator[Server]:
    made = fresh_server()
    yield made
    discard(made)


def killed_server(own: Server, where: Path, *, twin: str, rounds: int, **settings: str) -> list[str]:
    """Kill every process of the server at once while two clients ask; what is on its disk must cover what left."""
    rng, problems, url = random.Random(7), [], own.database()
    if settings:
        own.stop()
        own.start(**settings)
    paths = [where / f"released-{place}" for place in range(2)]
    for turn in range(rounds):
        clients = [
            subprocess.Popen([sys.executable, str(PROGRAM), "ask", url, str(path), twin], env=ENVIRONMENT,
                             stdout=subprocess.PIPE, text=True)
            for path in paths
        ]  # fmt: skip
        assert [one.stdout.readline() for one in clients] == ["ready\n"] * 2
        before = sum(path.stat().st_size for path in paths)
        while sum(path.stat().st_size for path in paths) < before + 4:
            time.sleep(0.01)
        time.sleep(rng.uniform(0, 0.1))
        own.stop(signal.SIGKILL)
        assert [one.wait(timeout=60) for one in clients] == [0, 0]  # each was told by the ledger that it failed
        for one in clients:
            one.stdout.close()
        own.start(**settings)
        problem = judged(url, released=sum(path.stat().st_size for path in paths))
        if problem:
            problems.append(f"{turn}: {problem}")
    assert sum(path.stat().st_size for path in paths) > 0
    return problems


def judged(url: str, *, released: int) -> str | None:
    """What is wrong with the ledger that a killed server left."""
    try:
        with PostgresLedger(url, create=False) as ledger:
            charged = ledger.balance("clinic", CAPS, analyst="ana").total.spent.epsilon * 10
            verdict = ledger.verify()
    except LedgerError as error:  # not even its tables are there
        return f"{released} released, and {error.message}" if released else None
    if charged < released:
        return f"{released} released, {charged} charged"
    return None if verdict.sound else verdict.problems[0]


def test_a_server_killed_amid_charges_has_kept_what_it_confirmed(own: Server, tmp_path: Path) -> None:
    assert killed_server(own, tmp_path, twin="ledger", rounds=3) == []


def test_the_killed_server_catches_a_ledger_that_does_not_wait_for_the_disk(own: Server, tmp_path: Path) -> None:
    lazily = {"wal_writer_delay": "10s"}  # nobody else brings to the disk what the ledger does not wait for
    assert killed_server(own, tmp_path, twin="unsynced", rounds=2, **lazily)
