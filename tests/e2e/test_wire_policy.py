"""What changes under an open connection: the policy, the account, the twin. Each is seen with the next statement."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest

from e2e.test_wire_psycopg import rich
from support.wire import PASSWORD, Wire, serving

COLUMNS = "SELECT column_name FROM information_schema.columns WHERE table_name = %s ORDER BY 1"
COUNT = "DP-SELECT 0.1 COUNT(*) FROM visits"


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    return rich(tmp_path)


@pytest.fixture
def wire(policy: Path) -> Iterator[Wire]:
    with serving(policy, twin=True, watched=True) as served:
        yield served


@pytest.fixture
def client(wire: Wire) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(wire.dsn(), autocommit=True) as connection:
        yield connection


def columns(client: psycopg.Connection[Any]) -> list[str]:
    return [name for (name,) in client.execute(COLUMNS, ["visits"])]


def change(policy: Path, old: str, new: str) -> None:
    text = policy.read_text()
    assert old in text
    policy.write_text(text.replace(old, new))


def test_an_open_connection_sees_the_catalogue_of_the_policy_in_force(
    wire: Wire, client: psycopg.Connection[Any], policy: Path
) -> None:
    client.prepare_threshold = 0  # prepared under the policy before, and run under the one after
    assert "city" in columns(client)
    change(policy, "city = {}", "city = { hidden = true }")
    assert "city" not in columns(client)
    with psycopg.connect(wire.dsn(), autocommit=True) as other:
        assert "city" not in columns(other)
    assert "city" not in columns(client)
    change(policy, "city = { hidden = true }", "city = {}")
    assert "city" in columns(client)


def test_a_prepared_statement_never_becomes_another(client: psycopg.Connection[Any], policy: Path) -> None:
    """Names that the twin gives to statements are its own: in another twin they would be other statements'."""
    one, two = "SELECT 'one' AS a, %s::text AS b", "SELECT 'two' AS a, %s::text AS b"
    client.prepare_threshold = 0
    assert client.execute(one, ["x"]).fetchone() == ("one", "x")
    change(policy, "city = {}", "city = { hidden = true }")
    assert client.execute(two, ["x"]).fetchone() == ("two", "x")
    assert client.execute(one, ["x"]).fetchone() == ("one", "x")


def test_names_of_statements_are_not_given_twice(client: psycopg.Connection[Any]) -> None:
    """A line to the twin that has prepared too many is cut; what was prepared on it is gone, and is nothing else."""
    for number in range(520):
        with suppress(psycopg.errors.ProgramLimitExceeded):
            client.execute(f"PREPARE s{number} AS SELECT {number}")
            client.execute(f"EXECUTE s{number}")
    for number in (3, 5, 19, 515):
        with suppress(psycopg.errors.InvalidSqlStatementName):
            assert client.execute(f"EXECUTE s{number}").fetchone() == (number,)


def test_what_stops_questions_stops_the_catalogue(client: psycopg.Connection[Any], policy: Path) -> None:
    assert columns(client)
    text = policy.read_text()
    for wrong, match in ((f"{text}\n[nonsense", "cannot be opened"), (text.replace("s.ana]", "s.anna]"), "no analyst")):
        policy.write_text(wrong)
        for ask in (lambda: columns(client), lambda: client.execute(COUNT)):
            with pytest.raises(psycopg.Error, match=match):
                ask()
    policy.write_text(text)
    assert columns(client)
    assert client.execute(COUNT).fetchone()


def test_whom_the_policy_names_again_comes_in_though_nobody_else_asks(wire: Wire, policy: Path) -> None:
    """The file is looked at with every question; who may not come in asks none."""
    text = policy.read_text()
    policy.write_text(text.replace("s.ana]", "s.anna]"))
    wire.hub.check_policy()
    with pytest.raises(psycopg.OperationalError, match="no analyst"):
        psycopg.connect(wire.dsn())
    policy.write_text(text)
    with psycopg.connect(wire.dsn(), autocommit=True) as client:
        assert client.execute(COUNT).fetchone()


@pytest.mark.parametrize("how", ["remove", "password"])
def test_a_connection_ends_with_its_account(wire: Wire, client: psycopg.Connection[Any], how: str) -> None:
    assert client.execute(COUNT).fetchone()
    spent = wire.spent
    if how == "remove":
        wire.hub.accounts.remove("ana")
    else:
        wire.hub.accounts.set_password("ana", PASSWORD + "!")
    with pytest.raises(psycopg.OperationalError, match="is not what it was"):
        client.execute(COUNT.replace("0.1", "0.2"))
    assert client.closed
    assert wire.spent == spent


def test_a_twin_that_was_killed_is_replaced(wire: Wire, client: psycopg.Connection[Any]) -> None:
    assert columns(client)
    _kill_twin_of(os.getpid())
    with psycopg.connect(wire.dsn(), autocommit=True) as other:
        assert "city" in columns(other)
    assert "city" in columns(client)


def _kill_twin_of(parent: int) -> None:
    """Kill the PostgreSQL that this process started, and nobody else's."""
    listed = subprocess.run(["ps", "-ewwo", "pid,ppid,args"], capture_output=True, text=True, check=True).stdout
    rows = [line.split(None, 2) for line in listed.splitlines()[1:]]
    keepers = {pid for pid, above, args in rows if above == str(parent) and "tacit-twin-" in args}
    (server,) = [pid for pid, above, args in rows if above in keepers and "postgres" in args]
    os.kill(int(server), signal.SIGKILL)
