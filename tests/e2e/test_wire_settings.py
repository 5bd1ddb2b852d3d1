"""Settings of a connection: what SET LOCAL sets ends, what goes back goes back everywhere, and limits are kept."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, nullcontext
from pathlib import Path
from typing import Any

import psycopg
import pytest

from e2e.cli_clinic import build
from e2e.test_server_patience import LONG, ended, is_open
from e2e.test_wire_psycopg import rich
from support.wire import PASSWORD, Wire, serving
from support.wire_client import logged_in, message
from tacit.faces.server.wire.server import Entrance


@pytest.fixture(scope="module")
def wire(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wire]:
    with serving(rich(tmp_path_factory.mktemp("clinic")), twin=True) as served:
        yield served


@pytest.fixture
def client(wire: Wire) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(wire.dsn(), autocommit=True) as connection:
        yield connection


def shown(client: psycopg.Connection[Any], name: str) -> str:
    """A setting, as the connection and as the catalogue say it."""
    (mine,) = client.execute(f"SHOW {name}").fetchone() or ("",)
    (theirs,) = client.execute(f"SELECT current_setting('{name}')").fetchone() or ("",)
    assert mine == theirs
    return str(mine)


def test_what_is_set_for_a_transaction_ends_with_it(client: psycopg.Connection[Any]) -> None:
    client.execute("SET tacit.epsilon = 0.5")
    for end in ("COMMIT", "ROLLBACK"):
        client.execute("BEGIN")
        client.execute("SET LOCAL tacit.epsilon = 2")
        client.execute("SET LOCAL search_path = pg_catalog")
        assert (shown(client, "tacit.epsilon"), shown(client, "search_path")) == ("2", "pg_catalog")
        client.execute(end)
        assert (shown(client, "tacit.epsilon"), shown(client, "search_path")) == ("0.5", "public")
    client.execute("BEGIN; SET LOCAL tacit.epsilon = 2; SET tacit.cap = 3; SET LOCAL tacit.errors = on; COMMIT")
    assert [shown(client, f"tacit.{name}") for name in ("epsilon", "cap", "errors")] == ["0.5", "3", "off"]
    client.execute("BEGIN; SET LOCAL tacit.epsilon = 2; SET tacit.epsilon = 0.25; COMMIT")
    assert shown(client, "tacit.epsilon") == "0.25"


def test_a_price_that_is_set_for_a_transaction_outside_of_one_is_set_for_nothing(
    client: psycopg.Connection[Any],
) -> None:
    said: list[str | None] = []
    client.add_notice_handler(lambda notice: said.append(notice.sqlstate))
    client.execute("SET LOCAL tacit.epsilon = 2")
    assert said == ["25P01"]
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="has no price"):
        client.execute("SELECT COUNT(*) FROM visits")
    client.execute("SET LOCAL tacit.epsilon = 2; SET tacit.cap = 4")  # one message of several is a transaction
    assert client.execute("SHOW tacit.epsilon").fetchone() == ("",)
    assert shown(client, "tacit.cap") == "4"


def test_a_rollback_goes_back_in_the_catalogue_too_and_is_told(client: psycopg.Connection[Any]) -> None:
    client.execute("BEGIN; SET search_path = pg_catalog; SET application_name = 'x'; SAVEPOINT a")
    client.execute("SET search_path = information_schema")
    client.execute("ROLLBACK TO a")
    assert shown(client, "search_path") == "pg_catalog"
    assert client.info.parameter_status("application_name") == "x"
    client.execute("ROLLBACK")
    assert shown(client, "search_path") == "public"
    assert client.info.parameter_status("application_name") != "x"


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT set_config('tacit.epsilon', '9', false)",
        "SELECT set_config('statement_timeout', '0', false)",
        "SELECT * FROM pg_catalog.set_config('work_mem', '1GB', false)",
        "SELECT set_config(CASE WHEN random() < 2 THEN 'work_mem' END, '1GB', random() > 2)",
        "SELECT max(set_config(name, '0', false)) FROM pg_settings WHERE name = 'statement_timeout'",
        "SELECT pg_catalog.tacit_set('work_mem', '1GB', false)",
        "WITH u AS (UPDATE pg_settings SET setting = '0' WHERE name = 'statement_timeout') SELECT 1",
    ],
)
def test_no_function_lifts_the_limits_of_the_catalogue_or_seems_to_set_a_price(
    client: psycopg.Connection[Any], sql: str
) -> None:
    before = client.execute("SELECT current_setting('statement_timeout'), current_setting('work_mem')").fetchone()
    with nullcontext() if sql.startswith("WITH") else pytest.raises(psycopg.Error):  # rules are none in WITH: no effect
        client.execute(sql)
    after = client.execute("SELECT current_setting('statement_timeout'), current_setting('work_mem')").fetchone()
    assert before == after == ("5s", "4MB")


def test_what_clients_set_by_a_function_can_be_set(client: psycopg.Connection[Any]) -> None:
    sql = "SELECT current_setting('jit'), set_config('jit', 'off', false), set_config('TimeZone', %s, false)"
    assert client.execute(sql, ["UTC"]).fetchone() == ("off", "off", "UTC")


def test_hints_for_speed_are_kept_and_unknown_names_refused(client: psycopg.Connection[Any]) -> None:
    client.execute("SET work_mem = '64MB'; SET enable_nestloop = off; SET NAMES 'utf8'; SET lock_timeout = '2min'")
    assert client.execute("SHOW work_mem").fetchone() == ("64MB",)
    assert client.execute("SHOW lock_timeout").fetchone() == ("2min",)
    for sql in ("SET nonsense = 1", "SET statement_timeout = 'soon'", "SET idle_session_timeout = -1"):
        with pytest.raises(psycopg.errors.DataError if "nonsense" not in sql else psycopg.errors.UndefinedObject):
            client.execute(sql)


@pytest.mark.parametrize("sql", ["SET tacit.epsilon = 1e300", "SET tacit.epsilon = '1e-300'", "SET tacit.cap = ''"])
def test_a_price_that_could_not_be_read_again_is_refused_where_it_is_set(
    client: psycopg.Connection[Any], sql: str
) -> None:
    """It was kept, and every question after it was refused, whatever price it had of its own."""
    with pytest.raises(psycopg.errors.InvalidParameterValue):
        client.execute(sql)
    client.execute("DP-SELECT 0.1 COUNT(*) FROM visits")
    client.execute("SET tacit.epsilon = '1/7'; SELECT COUNT(*) FROM visits")


def test_a_statement_timeout_stops_waiting_and_the_question_stays_charged(tmp_path: Path) -> None:
    with serving(build(tmp_path, people=20)) as wire, psycopg.connect(wire.dsn(), autocommit=True) as client:
        wire.hub.gate.clear()
        client.execute("SET statement_timeout = '200ms'")
        with pytest.raises(psycopg.errors.QueryCanceled, match="statement timeout"):
            client.execute("DP-SELECT 0.25 COUNT(*) FROM visits")
        wire.hub.gate.set()
        client.execute("SET statement_timeout = 0")
        assert client.execute("DP-SELECT 0.25 COUNT(*) FROM visits").fetchone()
        assert wire.spent == 0.25  # whatever became of the first, the same question is not paid twice


@pytest.mark.parametrize(("sql", "state"), [("", "57P05"), ("BEGIN", "25P03")])
def test_whoever_asks_nothing_for_too_long_is_told_so_and_cut_off(tmp_path: Path, sql: str, state: str) -> None:
    setting = "idle_in_transaction_session_timeout" if sql else "idle_session_timeout"
    with serving(build(tmp_path, people=20)) as wire, psycopg.connect(wire.dsn(), autocommit=True) as client:
        client.execute(sql or "SELECT 1")
        with logged_in(wire.port) as other:
            other.ask(message(b"Q", f"SET {setting} = '300ms'; {sql}".encode() + b"\0"))
            assert state.encode() in b"".join(each.body for each in iter(other.read, None))
        client.execute("SELECT 1")  # who has not said so is still there


def test_the_curators_limit_holds_whatever_a_client_says(tmp_path: Path) -> None:
    with (
        serving(build(tmp_path, people=20), entrance=Entrance(LONG, idle=0.5)) as wire,
        logged_in(wire.port) as client,
    ):
        client.ask(message(b"Q", b"SET idle_session_timeout = 0\0"))
        assert ended(client.socket)


def test_idle_connections_of_one_analyst_do_not_keep_others_out(tmp_path: Path) -> None:
    policy = build(tmp_path, people=20)
    policy.write_text(f"{policy.read_text()}[analysts.cy]\nepsilon = 1\n")
    with ExitStack() as held, serving(policy, entrance=Entrance(LONG, 4)) as wire:
        wire.hub.accounts.add("cy", PASSWORD, policy=wire.hub.policy)
        ana = [held.enter_context(logged_in(wire.port)) for _ in range(2)]
        ben = [held.enter_context(logged_in(wire.port, "ben")) for _ in range(2)]
        for client in (*ana[1:], *ben, ana[0]):  # the second of ana's is idle longest
            client.ask(message(b"S"))
        with psycopg.connect(wire.dsn("cy"), autocommit=True) as third:
            assert third.execute("SELECT 1").fetchone()
        said = b"".join(each.body for each in iter(ana[1].read, None))
        assert b"57P05" in said
        assert all(is_open(client.socket) for client in (ana[0], *ben))


@pytest.mark.parametrize("binary", [False, True])
def test_no_rows_are_free_also_where_a_parameter_says_so(
    wire: Wire, client: psycopg.Connection[Any], *, binary: bool
) -> None:
    client.execute("SET tacit.epsilon = 0.5")
    before, mark = wire.spent, "%b" if binary else "%s"
    cursor = client.execute(f"SELECT dept, COUNT(*) AS n FROM visits GROUP BY dept LIMIT {mark}", [0])
    assert cursor.fetchall() == []
    assert [column.name for column in cursor.description or ()] == ["dept", "n"]
    assert wire.spent == before
    assert client.execute(f"SELECT dept, COUNT(*) AS n FROM visits GROUP BY dept LIMIT {mark}", [1]).fetchall()
    assert wire.spent == before + 0.5 or binary  # the second time it is kept


def test_what_reads_public_tables_alone_needs_no_price(wire: Wire) -> None:
    spent = wire.spent
    with psycopg.connect(wire.dsn(), autocommit=True) as client:
        cursor = client.execute('SELECT COUNT(*) AS n FROM "public"."cities"')
        assert [column.name for column in cursor.description or ()] == ["n"]
        assert len(cursor.fetchall()) == 1
        with pytest.raises(psycopg.Error, match="it has no price on this connection"):
            client.execute("SELECT COUNT(*) FROM visits, cities")
    assert wire.spent == spent
