"""Clients of a ledger in PostgreSQL that race, or that are killed.

usage: ledger_postgres_client.py race URL CLIENTS EPSILON (ledger|look-then-leap)
       ledger_postgres_client.py ask URL RELEASED (ledger|answer-first|unsynced)
       ledger_postgres_client.py killed URL RELEASED (ledger|answer-first) TIMES SEED

A byte in RELEASED is an answer that has left the building. `ask` asks until the ledger fails. `killed` has children
ask, kills each of them a moment after it has begun, and says in JSON after which of them more was released than
charged.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import threading
import time

from ledger_race import CAPS as RACE_CAPS
from ledger_race import client

from tacit.core import Budget, Loss
from tacit.errors import LedgerError
from tacit.ledger import Answer, BudgetLimits, Charge, Keep, Reservation
from tacit.ledger.postgres.ledger import PostgresLedger

CAPS = BudgetLimits(total=Budget(10**6), analyst=Budget(10**6), window=None, groups=(("staff", Budget(10**6)),))
KEEP = Keep(key="key", family="family", data_version="1", audience=None, facts="{}")
LONGEST = 0.02  # seconds that a child lives on once it has released what it was let


def charge(number: int, epsilon: str = "0.1") -> Charge:
    return Charge(
        dataset="clinic", analyst=f"analyst {number}", groups=(), loss=Loss(epsilon), zcdp=None, plan_hash="plan",
        policy_version="1", kind="query",
    )  # fmt: skip


def race(url: str, clients: str, epsilon: str, twin: str) -> None:
    released: list[int] = []
    with PostgresLedger(url, create=True) as ledger:
        ledger.balance("clinic", RACE_CAPS, analyst="ana")
        threads = [
            threading.Thread(
                target=client, args=(ledger, charge(number, epsilon)), kwargs={"twin": twin, "released": released}
            )
            for number in range(int(clients))
        ]
        print("ready", flush=True)
        sys.stdin.readline()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    print(len(released), flush=True)


def ask(url: str, released: str, twin: str) -> None:
    """Ask until the ledger fails: nothing is released for a charge that may not be on record."""
    if twin == "unsynced":
        from tacit.ledger.postgres import desk as postgres_desk

        postgres_desk._SETTINGS["synchronous_commit"] = "off"
        postgres_desk._refuse_weak = lambda row: None
    out = os.open(released, os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    with PostgresLedger(url, create=True) as ledger:
        print("ready", flush=True)
        while True:
            try:
                if twin == "answer-first":
                    os.write(out, b".")
                reservation = ledger.reserve(charge(0), CAPS)
                assert isinstance(reservation, Reservation)
                if twin != "answer-first":
                    os.write(out, b".")
                ledger.settle(reservation, [Answer(b"about 42", KEEP)])
            except LedgerError:
                return


def killed(url: str, released: str, twin: str, times: str, seed: str) -> None:
    rng, problems = random.Random(int(seed)), []
    PostgresLedger(url, create=True).close()
    for turn in range(int(times)):
        ready, told = os.pipe()
        child = os.fork()
        if child == 0:
            os.dup2(told, 1)
            ask(url, released, twin)
            os._exit(0)
        os.close(told)
        os.read(ready, 6)
        os.close(ready)
        _wait_until_it_has_released(rng.randrange(3), released)
        time.sleep(rng.uniform(0, LONGEST))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        problem = judge(url, released)
        if problem:
            problems.append(f"{turn}: {problem}")
    print(json.dumps(problems))


def _wait_until_it_has_released(more: int, released: str) -> None:
    """So that a busy machine kills as often amid a question as before the first one."""
    before = _size(released)
    while _size(released) < before + more:
        time.sleep(0.001)


def _size(path: str) -> int:
    return os.path.getsize(path) if os.path.exists(path) else 0


def judge(url: str, released: str) -> str | None:
    """What is wrong with a ledger after a crash."""
    left = _size(released)
    with PostgresLedger(url, create=False) as ledger:
        charged = ledger.balance("clinic", CAPS, analyst="ana").total.spent.epsilon / charge(0).loss.epsilon
        verdict = ledger.verify()
    if charged < left:
        return f"{left} released, {charged} charged"
    return None if verdict.sound else verdict.problems[0]


if __name__ == "__main__":
    {"race": race, "ask": ask, "killed": killed}[sys.argv[1]](*sys.argv[2:])
