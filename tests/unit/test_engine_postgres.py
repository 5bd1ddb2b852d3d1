"""PostgreSQL in particular: odd types, names, roles and servers. What every engine owes is in conformance/."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from datetime import datetime

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from support.postgres import OWNER, server
from tacit.engines import Engine, open_engine, read_schema
from tacit.engines.postgres.engine import Postgres, _address, open_postgres
from tacit.errors import EngineError, LedgerError, PolicyError
from tacit.ledger import open_ledger
from tacit.policy import BudgetPolicy, ColumnPolicy, Dataset, Policy, TablePolicy, check_policy

ODD = """
CREATE TYPE mood AS ENUM ('sad', 'ok');
CREATE DOMAIN cents AS NUMERIC(12, 2);
CREATE TABLE odd (
    id INT, small SMALLINT, "Amount" cents, free NUMERIC, rough REAL, price DOUBLE PRECISION, feeling mood,
    code CHAR(4), who UUID, at TIMESTAMPTZ, seen TIMESTAMP(0), doc JSONB, raw BYTEA, tags TEXT[], span INTERVAL);
INSERT INTO odd VALUES
    (1, 2, 3.50, 1e400, '-0', '-0', 'ok', 'ab', '00000000-0000-0000-0000-000000000001', '2026-01-31 23:59:59+02',
     '2026-01-31 23:59:59.6', '{}', 'a', '{}', '1 day'),
    (2, NULL, 'NaN', 'NaN', 'NaN', 'NaN', NULL, NULL, NULL, 'infinity', '-infinity', NULL, NULL, NULL, NULL),
    (3, 4, 0, 1e-400, 'inf', '-inf', 'sad', '', NULL, NULL, NULL, NULL, NULL, NULL, NULL),
    (4, 4, 0, '-Infinity', 1e-45, 5e-324, 'sad', 'x', NULL, NULL, NULL, NULL, NULL, NULL, NULL);
CREATE TABLE hidden (secret TEXT)"""


def made(*statements: str) -> str:
    url = server().database()
    with psycopg.connect(url) as owner:
        for statement in statements:
            owner.execute(statement.encode())
    return url


def opened(url: str, *tables: TablePolicy) -> Postgres:
    return open_postgres(Dataset("d", url, engine="postgres"), tables)


@pytest.fixture(scope="module")
def odd() -> Iterator[Engine]:
    engine = opened(made(ODD), TablePolicy("Odd", "ID", columns=[ColumnPolicy("amount"), ColumnPolicy("free")]))
    yield engine
    engine.close()


def test_the_schema_speaks_of_types_as_every_engine_does_and_of_names_as_the_policy_does(odd):
    assert odd.schema() == {
        "Odd": {
            "ID": "INTEGER", "small": "SMALLINT", "amount": "NUMERIC(12,2)", "free": "DOUBLE", "rough": "FLOAT",
            "price": "DOUBLE", "feeling": "VARCHAR", "code": "VARCHAR", "who": "UUID", "at": "TIMESTAMP WITH TIME ZONE",
            "seen": "TIMESTAMP", "doc": "JSONB", "raw": "BYTEA", "tags": "TEXT[]", "span": "INTERVAL",
        }
    }  # fmt: skip


def test_a_number_without_digits_is_read_as_a_double_whatever_it_holds(odd):
    keys = odd.execute('SELECT "free" AS k FROM "Odd" ORDER BY "ID"').keys("k")
    assert list(map(str, keys)) == ["inf", "nan", "0.0", "-inf"]


def test_identifiers_that_no_double_can_hold_stay_apart():
    url = made(
        "CREATE TABLE people (id NUMERIC, big NUMERIC(20, 0), free NUMERIC)",
        "INSERT INTO people VALUES (9007199254740992, 9007199254740992, 1), (9007199254740993, 9007199254740993, 1),"
        " (9007199254740993.0, 3, 1), (1e300, 4, 1), ('NaN', 5, 1)",
    )
    engine = opened(url, TablePolicy("people", "id"))
    assert engine.schema()["people"] == {"id": "VARCHAR", "big": "NUMERIC(20,0)", "free": "DOUBLE"}
    assert len(set(engine.execute("SELECT id AS k FROM people").keys("k"))) == 4
    engine.close()


def test_nan_in_a_decimal_fails_nothing(odd):
    keys = odd.execute('SELECT "amount" AS k, CAST("amount" AS DOUBLE PRECISION) AS x FROM "Odd" ORDER BY "ID"')
    assert list(map(str, keys.keys("k"))) == ["7/2", "nan", "0", "0"]
    assert list(map(str, keys.keys("x"))) == ["3.5", "nan", "0.0", "0.0"]


@pytest.mark.parametrize("column", ["rough", "price"])
def test_minus_zero_is_zero_before_it_is_grouped(odd, column):
    texts = odd.execute(f'SELECT CAST("{column}" AS TEXT) AS k FROM "Odd" WHERE "ID" = 1').keys("k")
    assert texts == ["0"]


def test_moments_with_a_zone_are_in_utc(odd):
    assert odd.execute('SELECT "at" AS k FROM "Odd" WHERE "ID" = 1').keys("k") == [
        datetime.fromisoformat("2026-01-31 21:59:59")
    ]


def test_every_table_of_the_public_schema_is_drafted_from():
    url = made(ODD, "CREATE SCHEMA other; CREATE TABLE other.table3 (x INT)")
    assert set(read_schema(Dataset("d", url, engine="postgres"))) == {"odd", "hidden"}


def test_a_table_is_found_in_the_one_schema_that_has_it():
    url = made("CREATE SCHEMA a; CREATE SCHEMA b; CREATE TABLE a.one (x INT); CREATE TABLE a.two (x INT)",
               "CREATE TABLE b.two (x INT)")  # fmt: skip
    opened(url, TablePolicy("one", public=True)).close()
    with pytest.raises(PolicyError, match="not one table"):
        opened(url, TablePolicy("two", public=True))
    with pytest.raises(PolicyError, match="not in the database"):
        opened(url, TablePolicy("three", public=True))


def test_columns_that_differ_in_case_alone_are_refused_by_the_check():
    url = made('CREATE TABLE twins (age INT, "Age" INT)')
    table = TablePolicy("twins", public=True)
    policy = Policy(Dataset("d", url, engine="postgres"), BudgetPolicy(1), tables=[table])
    engine = open_engine(policy)
    assert any("cannot tell apart" in finding.reason for finding in check_policy(policy, engine.schema()))
    engine.close()


# ── roles ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def reader_of(url: str, *grants: str) -> str:
    """The address of a database for a role that has been granted this and nothing else."""
    role = conninfo_to_dict(url)["dbname"] + "_reader"
    with psycopg.connect(url) as owner:
        owner.execute(f"CREATE ROLE {role} LOGIN; REVOKE ALL ON SCHEMA public FROM PUBLIC".encode())
        owner.execute(f"GRANT USAGE ON SCHEMA public TO {role}".encode())
        for grant in grants:
            owner.execute(f"GRANT {grant} TO {role}".encode())
    return url.replace(f"{OWNER}@", f"{role}@")


def test_a_role_that_may_only_read_is_what_a_careful_curator_has():
    url = made("CREATE TABLE one (x INT)")
    table = TablePolicy("one", public=True)
    reading, writing = opened(reader_of(url, "SELECT ON one"), table), opened(url, table)
    assert reading.advice() == ()
    assert ["may change the database" in why for why, _ in writing.advice()] == [True]
    reading.close()
    writing.close()


def test_a_column_that_the_role_may_not_read_is_not_there():
    url = reader_of(made("CREATE TABLE one (x INT, secret TEXT)"), "SELECT (x) ON one")
    engine = opened(url, TablePolicy("one", public=True))
    assert engine.schema() == {"one": {"x": "INTEGER"}}
    engine.close()
    with pytest.raises(PolicyError, match="may not be read"):
        opened(reader_of(made("CREATE TABLE one (x INT)")), TablePolicy("one", public=True))


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT secret AS k FROM hidden",
        "SELECT secret AS k FROM public.hidden",
        "SELECT set_config('transaction_read_only', 'off', true) AS k FROM odd",
        "SELECT pg_read_file('/etc/hostname') AS k",
        "SELECT rolpassword AS k FROM pg_authid",
    ],
)
def test_a_role_that_may_only_read_reaches_nothing_else(sql):
    engine = opened(reader_of(made(ODD), "SELECT ON odd"), TablePolicy("odd", public=True))
    with pytest.raises(EngineError):
        engine.execute(sql)
    engine.close()


# ── servers ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_connection_lost_between_questions_costs_no_question(odd):
    pids = odd.execute("SELECT pg_backend_pid() AS n").integers("n").tolist()
    with psycopg.connect(server().url(), autocommit=True) as owner:
        owner.execute("SELECT pg_terminate_backend(%s)", pids)
    assert odd.execute("SELECT pg_backend_pid() AS n").integers("n").tolist() != pids


def test_a_connection_lost_amid_a_question_fails_like_anything_else(odd):
    with pytest.raises(EngineError, match="could not answer"):
        odd.execute("SELECT CAST(pg_terminate_backend(pg_backend_pid()) AS TEXT) AS k, pg_sleep(1)")
    assert odd.execute("SELECT 1 AS n").rows == 1


def test_without_the_extra_its_name_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "tacit.engines.postgres.engine", None)
    monkeypatch.setitem(sys.modules, "tacit.ledger.postgres.ledger", None)
    monkeypatch.delattr("tacit.ledger.postgres.ledger", raising=False)
    with pytest.raises(EngineError, match="not installed") as caught:
        read_schema(Dataset("d", "postgresql://host/db", engine="postgres"))
    assert "tacit[postgres]" in caught.value.hint
    with pytest.raises(LedgerError, match="not installed"):
        open_ledger("postgresql://host/db", create=True)


def test_each_question_sees_one_state_of_the_data(odd):
    """The rows of a question are those of its beginning; another question sees what has changed since."""
    url = made("CREATE TABLE one AS SELECT 1 AS x")
    engine = opened(url, TablePolicy("one", public=True))
    isolation = "current_setting('transaction_isolation') || ' ' || current_setting('transaction_read_only')"
    assert engine.execute(f"SELECT {isolation} AS k").keys("k") == ["repeatable read on"]
    with psycopg.connect(url) as owner:
        owner.execute("INSERT INTO one VALUES (2)")
    assert engine.execute("SELECT count(*) AS n FROM one").integers("n").tolist() == [2]
    engine.close()


@pytest.mark.parametrize(
    "url", ["postgresql://nobody@127.0.0.1:1/none?connect_timeout=1", "postgresql://?host=/nonexistent&port=x"]
)
def test_a_server_that_is_not_there_is_told_in_our_words(url):
    with pytest.raises((EngineError, PolicyError)) as caught:
        opened(url)
    assert caught.value.__cause__ is None
    assert "refused" not in str(caught.value)


def test_a_database_in_another_encoding_is_refused():
    name = "latin"
    with psycopg.connect(server().url(), autocommit=True) as owner:
        owner.execute(f"CREATE DATABASE {name} ENCODING 'LATIN1' TEMPLATE template0".encode())
    with pytest.raises(EngineError, match="UTF-8"):
        opened(server().url(name))


def test_a_forked_child_is_told_to_open_its_own(odd):
    child = os.fork()
    if child == 0:
        try:
            odd.execute("SELECT 1 AS n")
        except EngineError as error:
            os._exit(7 if "another process" in error.message else 1)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert odd.execute("SELECT 1 AS n").rows == 1


# ── addresses in a policy ────────────────────────────────────────────────────────────────────────────────────────────


HOLDING = [
    "postgresql://ana:secret@host/db",
    "postgres://host/db?password=secret",
    "postgresql://host/db?sslpassword=secret",
    "postgresql://ana:sec?secret@host/db",
    "postgresql://ana:sec#secret@host/db",
    "postgresql://ana:sec/secret@host/db",
    "postgresql://ana:sec%3Fsecret@host/db",
    "postgresql://host/db?pass%77ord=secret",
    "postgresql://host/db?ssl%70assword=secret",
]


@pytest.mark.parametrize("where", HOLDING)
@pytest.mark.parametrize("key", ["source", "ledger"])
def test_a_password_in_a_policy_is_refused(where, key):
    given = {"source": "postgresql://host/db"} | {key: where}
    with pytest.raises(PolicyError, match="holds a password") as caught:
        Dataset("d", engine="postgres", **given)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "where",
    [
        "postgresql://host:5432/db",
        "postgresql://ana@host/db",
        "postgresql://ana@one:5432,two:5433/db?sslmode=require",
        "postgresql://host:5432/db?user=ana@clinic",
        "postgresql://?service=clinic&passfile=/run/pgpass",
    ],
)
def test_an_address_without_a_password_is_accepted(where):
    Dataset("d", where, engine="postgres", ledger=where)


@pytest.mark.parametrize("where", HOLDING)
def test_a_password_is_refused_at_the_doors_as_libpq_reads_the_address(where):
    """Also where no policy stood before: a ledger's address may come from elsewhere."""
    with pytest.raises(LedgerError, match="holds a password") as caught:
        open_ledger(where, create=True)
    assert "secret" not in f"{caught.value} {caught.value.hint}"
    with pytest.raises(PolicyError, match="holds a password") as told:
        _address(where)
    assert "secret" not in f"{told.value} {told.value.hint}"


@pytest.mark.parametrize("where", ["postgresql://host:secret%zz/db", "postgresql://host/db?secret"])
def test_an_address_that_cannot_be_read_is_not_repeated(where):
    with pytest.raises(PolicyError) as caught:
        _address(where)
    assert "secret" not in f"{caught.value} {caught.value.hint}"
    with pytest.raises(LedgerError) as told:
        open_ledger(where, create=True)
    assert "secret" not in f"{told.value} {told.value.hint}"


def test_an_error_names_host_and_database_and_nothing_else_of_the_address():
    with pytest.raises(EngineError) as caught:
        opened("postgresql://ana@127.0.0.1:1/none?connect_timeout=1&options=-csecret.x%3D1")
    assert "'127.0.0.1/none'" in str(caught.value)
    assert "secret" not in str(caught.value)


def test_engine_and_source_must_fit_each_other():
    with pytest.raises(PolicyError, match="address of a server"):
        Dataset("d", "postgresql://host/db")
    for source in ("clinic.duckdb", {"visits": "visits.parquet"}):
        with pytest.raises(PolicyError, match="address of a PostgreSQL database"):
            Dataset("d", source, engine="postgres")
