"""What a question on PostgreSQL can rely on: its settings, one state of the data, cells that cannot fail."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import psycopg
import pytest

from support.postgres import server
from tacit.core import Loss
from tacit.curator import Curator, Session
from tacit.engines import UNLIMITED, Exact, Limits, one_state
from tacit.engines.postgres.engine import Postgres, PostgresState, open_postgres
from tacit.engines.postgres.tables import find_tables
from tacit.errors import EngineError, PolicyError
from tacit.ledger import SqliteLedger
from tacit.policy import AnalystPolicy, BudgetPolicy, ColumnPolicy, Dataset, Policy, TablePolicy
from tacit.sql import bind, parse, plan


def made(*statements: str) -> str:
    url = server().database()
    with psycopg.connect(url) as owner:
        for statement in statements:
            owner.execute(statement.encode())
    return url


def opened(url: str, *tables: TablePolicy, limits: Limits = UNLIMITED) -> Postgres:
    return open_postgres(Dataset("d", url, engine="postgres"), tables, limits=limits)


def policy_of(url: str, *tables: TablePolicy) -> Policy:
    budget = BudgetPolicy(1000, delta=Fraction(1, 100))
    return Policy(
        Dataset("d", url, engine="postgres"), budget, tables=tables, analysts=[AnalystPolicy("ana", epsilon=1000)]
    )


def answers(engine: Postgres, policy: Policy, text: str) -> list[Exact]:
    """What the engine returns for every statement of a question."""
    bound = bind(parse(text, ()), policy, schema=engine.schema())
    found = plan(bound, policy, price=Loss(1, bound.query.delta or 0))
    return [engine.execute(statement.sql("postgres")) for statement in found.statements]


# ── settings, behind a pooler too ────────────────────────────────────────────────────────────────────────────────────

SHADOW = (
    """CREATE FUNCTION public.hashtextextended(text, integer) RETURNS bigint LANGUAGE sql AS 'SELECT 1 / 0::bigint'"""
)
VISITS = TablePolicy("visits", "id", columns=[ColumnPolicy("kind")], max_rows=1, max_groups=1)
MADE = "CREATE TABLE visits AS SELECT i AS id, 'a' AS kind FROM generate_series(1, 20) AS made(i)"


@pytest.fixture
def pooled() -> Iterator[tuple[str, Postgres]]:
    url = made(MADE, SHADOW)
    engine = opened(url, VISITS, limits=Limits(timeout=3))
    yield url, engine
    engine.close()


def another_backend(engine: Postgres) -> None:
    """As a pooler in transaction mode does it: nothing that was set for a session is there any more."""
    for connection in engine._idle:
        connection.set_autocommit(True)
        connection.execute("DISCARD ALL")
        connection.set_autocommit(False)


def test_a_function_of_somebody_else_is_never_called_whatever_became_of_the_session(pooled):
    url, engine = pooled
    for _ in range(2):
        answers(engine, policy_of(url, VISITS), "DP-SELECT 1 DELTA 1e-6 kind, COUNT(*) FROM visits GROUP BY kind")
        another_backend(engine)


def test_limits_hold_whatever_became_of_the_session(pooled):
    _, engine = pooled
    engine.execute("SELECT 1 AS n")
    another_backend(engine)
    with pytest.raises(EngineError, match="could not answer"):
        engine.execute("SELECT CAST(pg_sleep(20) AS TEXT) AS k")


def test_nothing_that_is_set_outlives_its_question(pooled):
    """A pooler would hand it on to others."""
    _, engine = pooled
    shown = (
        "SELECT string_agg(name || '=' || setting, ';' ORDER BY name) FROM pg_settings WHERE name <> 'client_encoding'"
    )
    engine.execute("SELECT 1 AS n")
    (connection,) = engine._idle
    connection.set_autocommit(True)
    before = connection.execute(shown.encode()).fetchone()
    connection.execute("RESET ALL")
    assert connection.execute(shown.encode()).fetchone() == before
    connection.set_autocommit(False)


def test_a_question_that_was_interrupted_leaves_no_connection_that_a_late_cancel_could_hit(pooled):
    _, engine = pooled
    with engine.snapshot() as state:
        first = state.execute("SELECT pg_backend_pid() AS n").integers("n").tolist()
        engine.interrupt()
        with pytest.raises(EngineError, match="could not answer"):  # a question of several statements goes no further
            state.execute("SELECT 1 AS n")
    assert engine.execute("SELECT pg_backend_pid() AS n").integers("n").tolist() != first


def test_a_slow_cancel_does_not_stop_other_questions(pooled, monkeypatch):
    _, engine = pooled
    cancelling, go_on = threading.Event(), threading.Event()

    def slow(self: object, *, timeout: float) -> None:
        cancelling.set()
        assert go_on.wait(60)

    with engine.snapshot():
        monkeypatch.setattr(psycopg.Connection, "cancel_safe", slow)
        thread = threading.Thread(target=engine.interrupt)
        thread.start()
        assert cancelling.wait(60)
        assert engine._lock.acquire(timeout=10)  # what every question needs to begin
        engine._lock.release()
        go_on.set()
        thread.join()


def test_a_server_that_went_silent_is_noticed(pooled):
    _, engine = pooled
    assert {"keepalives": 1, "keepalives_idle": 30}.items() <= engine._address.items()


# ── one state of the data ────────────────────────────────────────────────────────────────────────────────────────────


def test_all_statements_of_a_snapshot_see_one_state(pooled):
    url, engine = pooled
    count = "SELECT count(*) AS n FROM visits"
    with one_state(engine) as state:
        before = state.execute(count).integers("n").tolist()
        with psycopg.connect(url) as owner:
            owner.execute("INSERT INTO visits VALUES (99, 'b')")
        assert state.execute(count).integers("n").tolist() == before == [20]
    assert engine.execute(count).integers("n").tolist() == [21]


@pytest.mark.parametrize("batched", [False, True])
def test_a_question_of_several_statements_sees_one_state(tmp_path: Path, monkeypatch, batched):
    """COUNT and MEDIAN are two statements: rows that come between them are in neither."""
    url = made("CREATE TABLE pays AS SELECT i AS id, 5 AS pay FROM generate_series(1, 20) AS made(i)")
    table = TablePolicy("pays", "id", columns=[ColumnPolicy("pay", lower=0, upper=9, step=1)], max_rows=1)
    engine, seen = opened(url, table), []
    real = PostgresState.execute

    def watched(self: PostgresState, sql: str) -> Exact:
        seen.append(real(self, "SELECT count(*) AS n FROM pays").integers("n").tolist())
        with psycopg.connect(url) as owner:
            owner.execute("INSERT INTO pays VALUES (99, 1)")
        return real(self, sql)

    monkeypatch.setattr(PostgresState, "execute", watched)
    curator = Curator(policy_of(url, table), engine, SqliteLedger(tmp_path / "ledger", create=True))
    session = Session("ana")
    if batched:
        curator.batch(["SELECT COUNT(*) FROM pays", "SELECT MEDIAN(pay) FROM pays"], session=session, epsilon=1)
    else:
        curator.ask("DP-SELECT 1 COUNT(*), MEDIAN(pay) FROM pays", session=session)
    assert len(seen) >= 2
    assert set(map(tuple, seen)) == {(20,)}
    curator.close()


# ── cells that cannot fail ───────────────────────────────────────────────────────────────────────────────────────────


def test_a_column_that_is_generated_on_reading_is_not_there_and_refused_where_the_policy_names_it():
    with psycopg.connect(server().url()) as owner:
        if owner.info.server_version < 18_00_00:
            pytest.skip("only PostgreSQL 18 and newer have such columns")
    url = made(
        "CREATE TABLE one (x INT, y INT GENERATED ALWAYS AS (1 / x) VIRTUAL, z INT GENERATED ALWAYS AS (x) STORED)"
    )
    engine = opened(url, TablePolicy("one", public=True))
    assert engine.schema() == {"one": {"x": "INTEGER", "z": "INTEGER"}}
    engine.close()
    with pytest.raises(PolicyError, match="column 'y' of table 'one' cannot be used") as caught:
        opened(url, TablePolicy("one", public=True, columns=[ColumnPolicy("Y")]))
    assert "STORED" in (caught.value.hint or "")


def test_what_is_computed_on_reading_is_warned_of():
    url = made(
        "CREATE TABLE one (x INT)",
        "CREATE VIEW two AS SELECT 1 / x AS y FROM one",
        "CREATE MATERIALIZED VIEW three AS SELECT 1 / x AS y FROM one",
    )
    engine = opened(url, *(TablePolicy(name, public=True) for name in ("one", "two", "three")))
    said = [why for why, _ in engine.advice() if "computed" in why]
    assert len(said) == 1
    assert "'two'" in said[0]
    engine.close()


def test_a_domain_over_a_domain_is_read_as_the_type_behind_both():
    url = made(
        "CREATE DOMAIN cents AS NUMERIC(12, 2); CREATE DOMAIN price AS cents",
        "CREATE DOMAIN fee AS price CHECK (VALUE > 0)",
        "CREATE DOMAIN name AS TEXT; CREATE DOMAIN nick AS public.name",
        "CREATE TABLE one (a fee, b nick, c price)",
    )
    engine = opened(url, TablePolicy("one", public=True))
    assert engine.schema() == {"one": {"a": "NUMERIC(12,2)", "b": "VARCHAR", "c": "NUMERIC(12,2)"}}
    engine.close()


@pytest.mark.parametrize("kind", ["NUMERIC(12, 2)", "NUMERIC", "DOUBLE PRECISION"])
def test_not_a_number_counts_as_the_policy_says_in_every_type_that_has_it(kind):
    url = made(f"CREATE TABLE pays (id INT, pay {kind})", "INSERT INTO pays VALUES (1, 'NaN'), (2, 3.25), (3, 1000)")
    column = ColumnPolicy("pay", lower=0, upper=10, step="0.01", nan=2)
    table = TablePolicy("pays", "id", columns=[column], max_rows=1)
    engine = opened(url, table)
    (found,) = answers(engine, policy_of(url, table), "DP-SELECT 1 SUM(pay) FROM pays")
    assert found.integers("m0").tolist() == [200 + 325 + 1000]
    engine.close()


@pytest.mark.parametrize("step", ["1e10", "1e34", "1e40"])
def test_a_quotient_too_small_for_a_double_fails_nothing(step):
    url = made(
        "CREATE TABLE sizes (id INT, size DOUBLE PRECISION)",
        "INSERT INTO sizes VALUES (1, 1.1e-290), (2, -1e-300), (3, 5e-324), (4, 1e-280), (5, 1e300)",
    )
    column = ColumnPolicy("size", lower=-Fraction(step), upper=Fraction(step), step=step)
    table = TablePolicy("sizes", "id", columns=[column], max_rows=1)
    engine = opened(url, table)
    (found,) = answers(engine, policy_of(url, table), "DP-SELECT 1 SUM(size) FROM sizes")
    assert found.integers("m0").tolist() == [1]
    engine.close()


def test_a_database_that_folds_only_a_to_z_is_refused():
    """Else É and é would be two units here, and one on every other engine."""
    with pytest.raises(EngineError, match="cannot fold case") as caught:
        find_tables(lambda text: [], [], every=True)
    assert "pg_import_system_collations" in (caught.value.hint or "")


def test_case_is_folded_beyond_ascii():
    url = made("CREATE TABLE names AS SELECT 'É' AS name")
    engine = opened(url, TablePolicy("names", public=True))
    assert engine.execute("SELECT LOWER(name) AS k FROM names").keys("k") == ["é"]
    engine.close()
