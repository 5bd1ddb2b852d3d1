"""The catalogue on the wire: with a twin all that clients ask, without one a little, and never a row of the data."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
import sqlalchemy

from e2e.test_wire_clients import COLUMNS, TABLES, VISITS
from e2e.test_wire_psycopg import rich
from support.wire import PASSWORD, Wire, serving
from tacit.errors import EngineError
from tacit.faces.server.serving import open_hub
from tacit.faces.server.wire.server import serve_wire


@pytest.fixture(scope="module")
def wire(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wire]:
    with serving(rich(tmp_path_factory.mktemp("clinic")), twin=True) as served:
        yield served


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wire]:
    with serving(rich(tmp_path_factory.mktemp("clinic"))) as served:
        yield served


@pytest.fixture
def client(wire: Wire) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(wire.dsn(), autocommit=True) as connection:
        yield connection


def refusal(client: psycopg.Connection[Any], sql: str) -> str:
    with pytest.raises(psycopg.Error) as caught:
        client.execute(sql)
    return caught.value.sqlstate or ""


def psql(wire: Wire, script: str) -> tuple[str, str]:
    if shutil.which("psql") is None:
        pytest.skip("no psql: apt install postgresql-client")
    done = subprocess.run(
        ["psql", "-X", "-A", "-t", wire.dsn().replace(f"password='{PASSWORD}' ", "")],
        input=script, text=True, capture_output=True, check=True, timeout=60,
        env={**os.environ, "PGPASSWORD": PASSWORD},
    )  # fmt: skip
    return done.stdout, done.stderr


def test_the_version_is_the_same_however_it_is_asked_for(client: psycopg.Connection[Any]) -> None:
    settings = [f"current_setting('{name}')" for name in ("server_version", "server_version_num")]
    row = client.execute(f"SELECT version(), pg_catalog.version(), {', '.join(settings)}").fetchone() or ()
    assert [str(cell).split(" (")[0].removeprefix("PostgreSQL ") for cell in row] == ["14.20"] * 3 + ["140020"]
    assert client.execute("SHOW server_version").fetchone() == ("14.20",)
    assert client.info.server_version == 140_020


def test_a_catalogue_query_takes_parameters_and_errors_have_a_place(client: psycopg.Connection[Any]) -> None:
    asked = "SELECT relname FROM pg_class WHERE relname = %s AND relnatts > %s"
    assert client.execute(asked, ["visits", 2], binary=True).fetchall() == [("visits",)]
    with pytest.raises(psycopg.errors.UndefinedColumn) as caught:
        client.execute("SELECT 1; SELECT nope FROM pg_class")
    assert caught.value.diag.statement_position == "18"
    with pytest.raises(psycopg.errors.UndefinedTable):
        client.execute("SELECT * FROM nowhere")


def test_cursors_and_copies_of_the_catalogue_work(client: psycopg.Connection[Any]) -> None:
    with client.transaction(), client.cursor("walk") as cursor:
        cursor.execute("SELECT table_name::text FROM information_schema.tables WHERE table_schema = %s", ["public"])
        assert sorted(row[0] for row in [*cursor.fetchmany(1), *cursor.fetchall()]) == ["cities", "visits"]
    with client.cursor().copy(f"COPY ({TABLES}) TO STDOUT") as copy:
        assert b"".join(copy) == b"cities\nvisits\n"


def test_a_table_of_the_policy_is_never_read_from_the_twin(wire: Wire, client: psycopg.Connection[Any]) -> None:
    before = wire.spent
    for sql in (
        "SELECT * FROM visits",
        "TABLE visits",
        "SELECT count(*) FROM ONLY visits",
        "SELECT count(*) FROM ((visits))",
        'SELECT * FROM public."visits"',
        "SELECT * FROM pg_class, visits",
        "SELECT relname FROM pg_class WHERE EXISTS (SELECT 1 FROM visits)",
        "WITH v AS (SELECT * FROM visits) SELECT * FROM v",
        "WITH visits AS (SELECT 1) SELECT relname FROM pg_class, visits, public.visits AS v",
        "SELECT (SELECT count(*) FROM visits)",
        "SELECT count(*) FROM pg_class NATURAL JOIN visits",
        "VALUES ((SELECT count(*) FROM visits))",
        "SELECT query_to_xml('SELECT * FROM visits', true, true, '')",
        "SELECT table_to_xml('visits', true, true, '')",
        "EXPLAIN ANALYZE SELECT * FROM visits",
        "SELECT * FROM clinic.public.visits",
        "SELECT 1 UNION SELECT age FROM visits",
    ):
        assert refusal(client, sql) in {"42501", "42601", "42703", "42P01"}, sql
    assert wire.spent == before


def test_the_twin_is_limited(client: psycopg.Connection[Any]) -> None:
    for sql in (
        "SELECT pg_sleep(60)",
        "SELECT pg_terminate_backend(1)",
        "SELECT length(repeat('x', 1000000000))",
        "SELECT lo_create(0)",
        "SELECT pg_read_file('/etc/passwd')",
        "SELECT * INTO t FROM pg_class",
        "SELECT count(*) FROM pg_stat_activity",
    ):
        assert refusal(client, sql) in {"42501", "53200", "25006", "54000"}, sql
    for sql in (
        "CREATE TABLE t (a int)",
        "INSERT INTO visits VALUES (1)",
        "DO $$ BEGIN END $$",
        "CALL p()",
        "LISTEN x",
    ):
        assert refusal(client, sql) == "42501", sql
    assert client.execute("SELECT 1").fetchone() == (1,)


def test_columns_of_a_table_are_told_free_whether_there_is_a_twin(wire: Wire, client: psycopg.Connection[Any]) -> None:
    before = wire.spent
    for probe in ("SELECT * FROM visits LIMIT 0", "SELECT * FROM visits WHERE 1 = 0"):
        cursor = client.execute(probe)
        assert [column.name for column in cursor.description or ()] == VISITS
        assert cursor.fetchall() == []
    assert wire.spent == before


def test_no_statistics_and_no_row_counts_are_told(client: psycopg.Connection[Any]) -> None:
    asked = "SELECT reltuples FROM pg_class WHERE relname = 'visits'"
    assert client.execute(asked).fetchone() == (-1.0,)
    assert client.execute("SELECT count(*) FROM pg_stats WHERE schemaname = 'public'").fetchone() == (0,)
    assert client.execute("SELECT n_live_tup FROM pg_stat_user_tables WHERE relname = 'visits'").fetchall() in (
        [(0,)],
        [],
    )


def test_hidden_columns_are_in_no_catalogue(wire: Wire, bare: Wire) -> None:
    for each in (wire, bare):
        with psycopg.connect(each.dsn()) as client:
            assert [name for (name,) in client.execute(COLUMNS)] == VISITS


def test_psql_lists_and_describes_without_a_twin(bare: Wire) -> None:
    out, errors = psql(bare, "\\dt\n\\d visits\n\\d nope\n\\l\n")
    assert "public|visits|table|curator" in out
    assert "age|bigint|||" in out
    assert 'Did not find any relation named "nope"' in errors
    assert "tacit[twin]" in errors


def test_without_a_twin_the_information_schema_is_read_exactly_or_not_at_all(bare: Wire) -> None:
    with psycopg.connect(bare.dsn(), autocommit=True) as client:
        assert [name for (name,) in client.execute(TABLES)] == ["cities", "visits"]
        asked = "SELECT c.column_name AS name, data_type FROM information_schema.columns AS c WHERE table_name = %s"
        found = client.execute(asked + " AND c.column_name LIKE 'a%%' ORDER BY 1", ["visits"]).fetchall()
        assert found == [("age", "bigint"), ("amount", "double precision")]
        for more in ("SELECT count(*) FROM information_schema.columns", TABLES + " LIMIT 1", TABLES.replace("=", ">")):
            assert refusal(client, more) == "42501", more
        assert client.execute("SELECT current_database()").fetchone() == ("clinic",)
        told = client.execute("SELECT current_schema(),session_user AS me, pg_catalog.current_database(), 1 AS one")
        assert [column.name for column in told.description or ()] == ["current_schema", "me", "current_database", "one"]
        assert told.fetchone() == ("public", "ana", "clinic", 1)
        assert refusal(client, "SELECT current_schema(), secret()") == "42501"


def test_odd_names_reach_the_twin_as_they_are(tmp_path_factory: pytest.TempPathFactory) -> None:
    path = rich(tmp_path_factory.mktemp("odd"))
    policy = path.read_text(encoding="utf-8")
    odd = policy.replace("[tables.visits]\n", '[tables.visits]\ndescription = "it\'s; \\"odd\\" \\\\ $$ text"\n')
    path.write_text(odd, encoding="utf-8")
    with serving(path, twin=True) as wire, psycopg.connect(wire.dsn()) as client:
        told = client.execute("SELECT obj_description('visits'::regclass)").fetchone() or ("",)
        assert told[0].startswith('it\'s; "odd" \\ $$ text; hides')


@pytest.mark.parametrize("driver", ["psycopg", "psycopg2", "pg8000"])
def test_without_a_twin_sqlalchemy_connects_and_asks(bare: Wire, driver: str) -> None:
    """It looks for hstore when it connects; and parameters stand side by side without a space, as typed."""
    engine = sqlalchemy.create_engine(bare.url(scheme=f"postgresql+{driver}"))
    try:
        with engine.connect() as connection:
            asked = "DP-SELECT 0.01 COUNT(*) AS n FROM visits WHERE dept IN (:one,:two)"
            rows = connection.execute(sqlalchemy.text(asked), {"one": "CS", "two": "Bio"}).all()
            assert len(rows) == 1
    finally:
        engine.dispose()


def test_without_a_twin_types_that_are_looked_up_are_not_there_and_others_are_refused(bare: Wire) -> None:
    with psycopg.connect(bare.dsn(), autocommit=True) as connection:
        arrays = """select b.oid, b.typarray from pg_catalog.pg_type a left join pg_catalog.pg_type b
            on b.oid = a.typelem where a.typcategory = 'A' group by b.oid, b.typarray order by b.oid"""
        found = connection.execute(arrays)
        assert found.description is not None
        assert ([column.name for column in found.description], found.fetchall()) == (["oid", "typarray"], [])
        for sql in (
            "SELECT typname FROM pg_type WHERE typcategory = 'N'",
            "SELECT oid FROM pg_type",
            "SELECT oid FROM pg_type WHERE typname = 'hstore' UNION SELECT oid FROM pg_type",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege, match="few questions"):
                connection.execute(sql)


def test_what_tools_ask_while_they_connect_is_answered_and_free(wire: Wire, client: psycopg.Connection[Any]) -> None:
    before = wire.hub.balance("ana").total.spent
    asked = (Path(__file__).parent / "data" / "wire_tools.sql").read_text().splitlines()[1:]
    for statement in asked:
        assert client.execute(statement).statusmessage
    assert wire.hub.balance("ana").total.spent == before


def test_where_the_twin_cannot_be_started_questions_are_answered_without_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As under a user without a name, whom PostgreSQL refuses. Where it was asked for, that is an error."""

    def refused(_: Path) -> None:
        raise subprocess.CalledProcessError(1, "initdb")

    monkeypatch.setattr("tacit.faces.server.wire.catalog.twin._started", refused)
    monkeypatch.setattr("tacit.faces.server.wire.server.is_there", lambda: True)
    policy = rich(tmp_path)
    with serving(policy, twin=None) as wire, psycopg.connect(wire.dsn(), autocommit=True) as client:
        assert "cannot be started" in wire.note
        assert client.execute("DP-SELECT 0.1 COUNT(*) FROM visits").fetchone()
        assert client.execute("SELECT table_name FROM information_schema.tables").fetchall()
    hub = open_hub(policy)
    with pytest.raises(EngineError, match="cannot be started"):
        asyncio.run(serve_wire(hub, port=0, twin=True))
    hub.close(0)
