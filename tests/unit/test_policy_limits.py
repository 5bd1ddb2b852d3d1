"""Limits of time and memory: what a policy may say of them, and that every door has them."""

from __future__ import annotations

from datetime import timedelta

import duckdb
import pytest

import tacit
from tacit.engines import Limits, limits_of
from tacit.errors import EngineError, InvalidParameter, PolicyError
from tacit.faces import opening
from tacit.faces.cli.main import main
from tacit.policy import LimitsPolicy, parse_policy, policy_text
from tacit.sql import Statement

POLICY = """
[dataset]
name = "clinic"
source = "clinic.duckdb"
{limits}
[budget]
epsilon = 10

[analysts.ana]
epsilon = 5

[tables.visits]
unit = "id"
max_rows = 1
"""


def policy_with(limits=""):
    return parse_policy(POLICY.format(limits=limits))


def test_a_policy_that_says_nothing_has_limits_all_the_same():
    assert limits_of(policy_with().limits) == Limits(timeout=600)


def test_what_a_policy_says_is_what_the_engine_gets():
    policy = policy_with('[limits]\ntimeout = "30s"\nmemory = "2 GB"\nthreads = 3')
    assert policy.limits == LimitsPolicy(timeout=timedelta(seconds=30), memory="2GB", threads=3)
    assert limits_of(policy.limits) == Limits(threads=3, memory="2GB", timeout=30)
    assert limits_of(policy.limits, timeout=1.5).timeout == 1.5


def test_limits_are_written_and_read_back_and_promise_nothing():
    policy = policy_with('[limits]\ntimeout = "30s"\nmemory = "2GB"')
    assert parse_policy(policy_text(policy)).limits == policy.limits
    assert policy.version == policy_with().version
    assert "[limits]" not in policy_text(policy_with())


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ('timeout = "soon"', "is not a span of time"),
        ("timeout = 30", "is not a span of time"),
        ('timeout = "0s"', "from one to a century"),
        ('memory = "much"', "is not an amount of memory"),
        ('memory = "0GB"', "is not an amount of memory"),
        ("memory = 4", "must be text"),
        ("threads = 0", "must be at least 1"),
        ("threads = 1.5", "must be a whole number"),
        ('cpu = "2"', "is not a key tacit knows"),
    ],
)
def test_a_limit_that_means_nothing_is_refused_by_its_line(limits, message):
    with pytest.raises(PolicyError, match=rf"tacit.toml:7: limits: \w+.*{message}"):
        policy_with(f"\n[limits]\n{limits}")


@pytest.mark.parametrize("timeout", [600.5, float("inf"), float("nan")])
def test_nobody_may_take_longer_than_the_policy_allows(timeout):
    with pytest.raises(InvalidParameter, match="above what the policy allows: 600 seconds"):
        limits_of(LimitsPolicy(), timeout=timeout)


@pytest.mark.parametrize("timeout", [0, -1, 0.0001])
def test_a_timeout_is_a_millisecond_or_more(timeout):
    with pytest.raises(InvalidParameter, match="a millisecond or more"):
        limits_of(LimitsPolicy(), timeout=timeout)


@pytest.fixture
def clinic(tmp_path):
    with duckdb.connect(str(tmp_path / "clinic.duckdb")) as connection:
        connection.execute("CREATE TABLE visits AS SELECT i AS id FROM range(100) AS made(i)")
    (tmp_path / "clinic.toml").write_text(POLICY.format(limits='[limits]\ntimeout = "20s"\nthreads = 1'))
    return tmp_path / "clinic.toml"


def test_every_door_opens_its_engine_with_the_policys_limits(clinic, monkeypatch):
    seen = []
    before = opening.open_engine, opening.dummy_engine
    monkeypatch.setattr(opening, "open_engine", lambda policy, *a: seen.append(a) or before[0](policy, *a))
    monkeypatch.setattr(opening, "dummy_engine", lambda *a, **k: seen.append((k["limits"],)) or before[1](*a, **k))
    with tacit.open(clinic, analyst="ana") as database:
        database.dummy()
    with tacit.open(clinic, analyst="ana", timeout=3) as database:
        assert database.query("DP-SELECT 1 COUNT(*) FROM visits").rows
    with opening.source_and_books(tacit.policy.load_policy(clinic)):
        pass
    usual = Limits(threads=1, timeout=20)
    assert seen == [(usual,), (usual,), (Limits(threads=1, timeout=3),), (usual,)]


def test_a_question_that_is_cut_short_stays_charged_and_says_no_more_than_any_other_failure(clinic, monkeypatch):
    endless = "SELECT count(*) AS m0 FROM range(1000000000000) AS made(i)"
    monkeypatch.setattr(Statement, "sql", lambda self, dialect, **_: endless)
    with tacit.open(clinic, analyst="ana", timeout=0.2) as database:
        with pytest.raises(EngineError) as told:
            database.query("DP-SELECT 1 COUNT(*) FROM visits")
        assert str(told.value) == "the database could not answer"
        assert database.budget.left.epsilon == 4


@pytest.mark.parametrize("said", ["21", "0", "nan", "soon"])
def test_the_command_line_refuses_a_timeout_that_the_policy_does_not_allow_at_no_charge(clinic, capsys, said):
    asked = ["query", "-p", str(clinic), "--as", "ana", "--timeout", said, "DP-SELECT 1 COUNT(*) FROM visits"]
    assert main(asked) == InvalidParameter.exit_code
    assert "timeout" in capsys.readouterr().err
    with tacit.open(clinic, analyst="ana") as database:
        assert database.budget.left.epsilon == 5


def test_the_command_line_asks_within_a_shorter_timeout(clinic, capsys):
    assert main(["query", "-p", str(clinic), "--as", "ana", "--timeout", "19", "DP-SELECT 1 COUNT(*) FROM visits"]) == 0
    assert "±" in capsys.readouterr().out
