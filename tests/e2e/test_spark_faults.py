"""When a part of a Spark cluster dies in the middle of a question: an answer or one clear error, and one charge.

A frozen worker keeps what it was given to do, so that the question is in its middle for as long as we like.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import tacit
from e2e import spark_clinic
from e2e.cli_clinic import tacit as command
from support.spark import Cluster, fresh_cluster

pytestmark = pytest.mark.cluster
QUESTION = "DP-SELECT 1 COUNT(*) AS n FROM visits"
SETTLED, FAILED = ["settle", "charge"], ["fail", "charge"]  # the newest first


@pytest.fixture(scope="module")
def broken() -> Iterator[Cluster]:
    """A cluster of one's own, to break."""
    made = fresh_cluster()
    yield made
    made.stop()


@pytest.fixture
def db(tmp_path: Path, broken: Cluster, monkeypatch: pytest.MonkeyPatch) -> Iterator[tacit.Database]:
    monkeypatch.setenv("SPARK_REMOTE", broken.address)
    with tacit.open(spark_clinic.build(tmp_path), analyst="ana") as made:
        yield made


def wait_until_charged(db: tacit.Database) -> None:
    while not db.log:
        time.sleep(0.05)


def test_a_worker_that_dies_in_the_middle_costs_nothing_twice(db, broken):
    broken.freeze("worker-0")
    with ThreadPoolExecutor(1) as pool:
        asking = pool.submit(db.query, QUESTION)
        wait_until_charged(db)
        time.sleep(3)  # it has tasks by now: with one core each, every second one is the frozen worker's
        assert not asking.done()
        broken.kill("worker-0")
        ((counted,),) = asking.result().rows
    assert counted == pytest.approx(9000, abs=21 * 4)  # P < 10⁻⁹
    assert db.budget.total.spent == tacit.Budget(1)
    assert [entry.act for entry in db.log] == SETTLED


def test_a_server_that_dies_in_the_middle_is_one_error_and_one_charge(db, broken, tmp_path):
    """Runs last, for nobody can be asked after it: the command line says so with code 6, before it charges."""
    broken.freeze("worker-1")
    with ThreadPoolExecutor(1) as pool:
        asking = pool.submit(db.query, QUESTION)
        wait_until_charged(db)
        assert not asking.done()
        broken.kill("connect")
        with pytest.raises(tacit.EngineError, match="could not answer") as caught:
            asking.result()
    assert caught.value.__context__ is None
    assert [entry.act for entry in db.log] == FAILED
    assert db.budget.total.spent == tacit.Budget(1)

    ran = command("query", "--as", "ana", QUESTION, cwd=tmp_path, SPARK_REMOTE=broken.address)
    assert ran.code == 6
    assert ran.lines[0] == "error: Spark could not be reached: no answer, or not to us"
    assert db.budget.total.spent == tacit.Budget(1)
