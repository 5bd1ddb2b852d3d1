"""Several processes behind the doors: one order of charges, no mixed-up answers, and deaths that lose nothing."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import httpx
import psycopg
import pytest

from e2e.cli_clinic import build, here
from support.server import client, serve_command
from support.wire import PASSWORD
from tacit.errors import BudgetExceeded, EngineError
from tacit.faces.server.processes import open_hub_in
from tacit.faces.server.serving import Hub, open_hub

FRESH = "DP-SELECT 0.1 FRESH COUNT(*) AS n FROM visits"


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    return build(tmp_path, people=20)


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hub]:
    """One for all tests of this file: two processes take seconds to start."""
    made = open_hub_in(build(tmp_path_factory.mktemp("clinic"), people=20), 2)
    yield made
    made.close()


def others(hub: Hub) -> tuple[int, ...]:
    assert hub.processes is not None
    return hub.processes.pids


def spent(hub: Hub) -> Fraction:
    return hub.balance("ana").total.spent.epsilon


def until(reached: Callable[[], bool]) -> None:
    """Wait for what must come; that it has not after minutes is no matter of a busy machine."""
    for _ in range(12_000):
        if reached():
            return
        time.sleep(0.02)
    raise AssertionError("it did not come")


def together(hub: Hub, *asked: tuple[str, str], key: str | None = None) -> list[object]:
    """The outcomes of questions that are asked at the same time."""

    async def ask() -> list[object]:
        questions = (hub.ask(hub.session(analyst), sql, request_id=key) for analyst, sql in asked)
        return await asyncio.gather(*questions, return_exceptions=True)

    return asyncio.run(ask())


def test_every_question_gets_its_own_answer(hub: Hub) -> None:
    questions = [("ana", f"DP-SELECT 0.001 COUNT(*) AS n{number} FROM visits") for number in range(60)]
    answers = together(hub, *questions)
    assert [answer.columns for answer in answers] == [(f"n{number}",) for number in range(60)]  # type: ignore[attr-defined]


def test_the_same_key_is_charged_once_whichever_process_has_it(hub: Hub) -> None:
    before = spent(hub)
    together(hub, *[("ana", FRESH)] * 12, key="rush")
    assert spent(hub) == before + Fraction(1, 10)
    (again,) = together(hub, ("ana", FRESH), key="rush")
    assert again.reused == "the same request"  # type: ignore[attr-defined]


def test_a_process_that_dies_is_started_again_and_takes_only_its_own_question_with_it(hub: Hub) -> None:
    assert hub.processes is not None
    before = others(hub)
    for pid in before:
        os.kill(pid, signal.SIGSTOP)  # whoever is asked now does not answer
    outcomes: list[object] = []
    asking = threading.Thread(target=lambda: outcomes.extend(together(hub, ("ana", FRESH), ("ana", FRESH))))
    asking.start()
    until(lambda: hub.processes is not None and hub.processes.busy == 2)
    for pid in before:
        os.kill(pid, signal.SIGKILL)
    asking.join(60)
    assert len(outcomes) == 2
    assert all(type(error) is EngineError for error in outcomes)
    until(lambda: hub.processes is not None and hub.processes.restarts == 2)
    assert hub.processes.alive == 2
    assert not set(before) & set(others(hub))
    charged = spent(hub)
    answers = together(hub, *[("ana", FRESH)] * 4)
    assert not any(isinstance(answer, BaseException) for answer in answers)
    assert spent(hub) == charged + Fraction(4, 10)


def test_an_idle_process_that_dies_costs_nobody_an_answer(hub: Hub) -> None:
    one, other = others(hub)
    os.kill(one, signal.SIGKILL)
    until(lambda: one not in others(hub) and len(others(hub)) == 2)
    (answer,) = together(hub, ("ana", FRESH))
    assert not isinstance(answer, BaseException)
    assert other in others(hub)


def test_questions_of_several_processes_never_overspend_and_have_one_order(hub: Hub) -> None:
    """Of thirty questions at once the budget of ben's group covers ten; what is charged is what was answered."""
    before = spent(hub)
    outcomes = together(hub, *[("ben", FRESH)] * 30)
    refused = [each for each in outcomes if isinstance(each, BaseException)]
    assert all(type(error) is BudgetExceeded for error in refused)
    assert len(refused) == 20
    assert spent(hub) == before + 1
    assert here("ledger", "verify", "-p", hub.path, cwd=hub.path.parent).code == 0


def test_a_policy_that_changes_is_in_force_in_every_process(hub: Hub) -> None:
    policy, questions = (
        hub.path,
        [("ana", f"EXPLAIN DP-SELECT 0.1 SUM(age + {number}) FROM visits") for number in range(6)],
    )
    assert policy is not None
    assert not any(isinstance(each, BaseException) for each in together(hub, *questions))
    text = policy.read_text()
    policy.write_text("\n".join(line for line in text.splitlines() if not line.startswith("age =")) + "\n")
    refusals = together(hub, *questions)
    assert {type(error).__name__ for error in refusals} == {"UnknownName"}
    policy.write_text("nonsense")
    refusals = together(hub, *[("ana", FRESH)] * 4)
    assert {type(error).__name__ for error in refusals} == {"PolicyError"}


def test_a_policy_that_misfits_is_one_clear_line(policy: Path) -> None:
    policy.write_text(policy.read_text().replace("visits.parquet", "nowhere.parquet"))
    ran = here("serve", "-p", policy, "--workers", "2", "--http-port", "0", cwd=policy.parent)
    assert ran.code != 0
    assert ran.lines[0].startswith("error: ")


# -- the command


def workers_of(pid: int) -> list[int]:
    """The processes that answer for a server, by what the system says of them."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = (entry / "stat").read_text().rpartition(")")[2].split()[1]
                line = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if int(parent) == pid and b"spawn_main" in line:
                found.append(int(entry.name))
    return found


def is_gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def token_of(policy: Path, *, curator: bool = False) -> str:
    hub = open_hub(policy)
    try:
        name, role = ("zoe", "curator") if curator else ("ana", "analyst")
        hub.accounts.add(name, PASSWORD, policy=hub.policy, role=role)
        return hub.accounts.new_token(name)
    finally:
        hub.close(0)


def test_sigterm_answers_what_runs_in_every_process_and_leaves_none(policy: Path) -> None:
    token, outcomes = token_of(policy), []
    with serve_command(policy, "--workers", "2", "--pg-port", "0") as (process, url):
        pids = workers_of(process.pid)
        assert len(pids) == 2
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)

        def ask() -> None:
            with client(url, token) as ana:
                outcomes.append(ana.post("/v1/query", json={"sql": FRESH}).status_code)

        asking = [threading.Thread(target=ask) for _ in range(4)]
        for thread in asking:
            thread.start()
        with client(url, token_of(policy, curator=True)) as zoe:
            until(lambda: "tacit_questions_running 4" in zoe.get("/metrics").text)
            assert "tacit_workers 2" in zoe.get("/metrics").text
        process.send_signal(signal.SIGTERM)
        for pid in pids:
            os.kill(pid, signal.SIGTERM)  # as a service manager does: to all of them
            os.kill(pid, signal.SIGCONT)
        for thread in asking:
            thread.join(60)
        assert process.wait(60) == 0
    assert outcomes == [200] * 4
    until(lambda: all(is_gone(pid) for pid in pids))


def test_a_question_in_another_process_is_cancelled_and_none_outlives_the_server(policy: Path) -> None:
    token_of(policy)
    with serve_command(policy, "--workers", "2", "--pg-port", "0") as (process, url):
        assert process.stdout is not None
        port = next(line for line in process.stdout if line.startswith("PostgreSQL")).rpartition(":")[2]
        pids = workers_of(process.pid)
        dsn = f"host=127.0.0.1 port={int(port)} user=ana password='{PASSWORD}' dbname=clinic"
        with closing(psycopg.connect(dsn, autocommit=True)) as connection:
            connection.execute("SELECT 1")
            for pid in pids:
                os.kill(pid, signal.SIGSTOP)
            told: list[BaseException] = []

            def ask() -> None:
                try:
                    connection.execute(FRESH)
                except psycopg.Error as error:
                    told.append(error)

            asking = threading.Thread(target=ask)
            asking.start()
            while asking.is_alive():  # until it has begun, there is nothing to cancel
                connection.cancel()
                asking.join(0.1)
            for pid in pids:
                os.kill(pid, signal.SIGCONT)
            assert isinstance(told[0], psycopg.errors.QueryCanceled)
            assert connection.execute(FRESH).fetchone()
        assert httpx.get(f"{url}/healthz").status_code == 200
        process.kill()
        process.wait(60)
    until(lambda: all(is_gone(pid) for pid in pids))
