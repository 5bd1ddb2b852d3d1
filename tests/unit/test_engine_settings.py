"""No setting of a server, a database or a role decides what a question means, or when it is cut short."""

from __future__ import annotations

import psycopg
import pytest

from support.postgres import server
from tacit.engines import UNLIMITED, Limits
from tacit.engines.duckdb import _read_back, instance
from tacit.engines.postgres.engine import Postgres, _hold, open_postgres
from tacit.engines.postgres.settings import differing, milliseconds_text, settings
from tacit.engines.spark.engine import _SETTINGS as SPARK
from tacit.engines.spark.engine import _settle
from tacit.errors import EngineError, InvalidParameter
from tacit.policy import ColumnPolicy, Dataset, TablePolicy

VISITS = TablePolicy("visits", "id", columns=[ColumnPolicy("kind")], max_rows=1, max_groups=1)
HOSTILE = {  # what a database may say, each of it the contrary of what questions need
    "statement_timeout": "'600ms'",  # time enough to say what a question needs, on a busy machine too
    "lock_timeout": "'1ms'",
    "idle_in_transaction_session_timeout": "'500ms'",
    "search_path": "public",
    "datestyle": "'German, DMY'",
    "timezone": "'Asia/Kathmandu'",
    "intervalstyle": "sql_standard",
    "extra_float_digits": "-10",
    "bytea_output": "escape",
    "standard_conforming_strings": "off",
    "backslash_quote": "on",
    "transform_null_equals": "on",
    "array_nulls": "off",
    "gin_fuzzy_search_limit": "1",
    "row_security": "off",
    "jit": "on",
    "plan_cache_mode": "force_generic_plan",
    "client_min_messages": "debug5",
}
# Of PostgreSQL's settings that any role may have, those that were looked at and left to the server. They decide how
# fast a question is, where what it writes would lie, or about commands that are never sent.
LEFT = {
    "autovacuum_freeze_max_age", "application_name", "bytea_output", "check_function_bodies",
    "client_connection_check_interval", "commit_delay", "commit_siblings", "createrole_self_grant",
    "default_table_access_method", "default_tablespace", "default_text_search_config", "default_toast_compression",
    "default_transaction_deferrable", "default_transaction_isolation", "default_transaction_read_only",
    "dynamic_library_path", "event_triggers", "exit_on_error", "extra_float_digits", "gin_pending_list_limit",
    "icu_validation_level",
    "idle_session_timeout", "lc_messages", "local_preload_libraries", "password_encryption", "quote_all_identifiers",
    "restrict_nonsystem_relation_kind", "synchronize_seqscans", "synchronous_commit", "transaction_deferrable",
    "transaction_isolation", "transaction_read_only", "vacuum_cost_delay", "vacuum_failsafe_age",
    "vacuum_freeze_min_age", "vacuum_freeze_table_age", "vacuum_multixact_failsafe_age",
    "vacuum_multixact_freeze_min_age", "vacuum_multixact_freeze_table_age", "xmlbinary", "xmloption",
    "file_copy_method",
}  # fmt: skip
LOOKED_AT = (
    "Client Connection Defaults%",
    "Version and Platform Compatibility%",
    "Error Handling%",
    "Lock Management%",
)


def made(*statements: str) -> str:
    url = server().database()
    with psycopg.connect(url) as owner:
        for statement in statements:
            owner.execute(statement.encode())
    return url


def opened(url: str, *, limits: Limits = UNLIMITED) -> Postgres:
    return open_postgres(Dataset("d", url, engine="postgres"), [VISITS], limits=limits)


@pytest.fixture(scope="module")
def hostile() -> str:
    url = made("CREATE TABLE visits AS SELECT i AS id, 'a' AS kind FROM generate_series(1, 20) AS made(i)")
    with psycopg.connect(url) as owner:
        name = owner.info.dbname
        for setting, value in HOSTILE.items():
            owner.execute(f'ALTER DATABASE "{name}" SET {setting} = {value}'.encode())
    return url


def test_work_that_somebodys_rows_cause_is_not_cut_short_by_the_server(hostile):
    engine = opened(hostile)
    try:
        assert engine.execute("SELECT CAST(pg_sleep(1.2) AS TEXT) AS k").rows == 1
        with engine.snapshot() as state:
            state.execute("SELECT 1 AS n")
            with psycopg.connect(server().url(), autocommit=True) as other:  # a database without those settings
                other.execute("SELECT pg_sleep(1)")  # meanwhile the transaction is idle
            assert state.execute("SELECT 2 AS n").integers("n").tolist() == [2]
    finally:
        engine.close()


def test_the_policys_own_timeout_still_holds_on_such_a_server(hostile):
    engine = opened(hostile, limits=Limits(timeout=1))
    try:
        with pytest.raises(EngineError, match="could not answer"):
            engine.execute("SELECT CAST(pg_sleep(20) AS TEXT) AS k")
    finally:
        engine.close()


def test_every_hostile_setting_is_settled_for_a_question(hostile):
    engine = opened(hostile)
    try:
        names = ", ".join(f"'{name}'" for name in HOSTILE)
        found = engine.execute(f"SELECT lower(name) AS k, setting AS s FROM pg_settings WHERE lower(name) IN ({names})")
        shown = dict(zip(found.keys("k"), found.keys("s"), strict=True))
    finally:
        engine.close()
    wanted = settings(UNLIMITED)
    assert shown == {name: wanted[name] for name in HOSTILE}


def test_a_setting_that_does_not_hold_is_noticed_whichever_it_is():
    wanted = settings(Limits(timeout=3, threads=2))
    for place, name in enumerate(wanted):
        shown = [*wanted.values()]
        shown[place] = "something else"
        assert differing(wanted, shown) == [name]
        with pytest.raises(psycopg.OperationalError, match=name):
            _hold(wanted, tuple(shown))
    assert not differing(wanted, [*wanted.values()])
    assert differing(wanted, None) == [*wanted]


def test_every_setting_of_this_server_that_any_role_may_have_has_been_looked_at():
    """A later PostgreSQL may bring one more timeout: then this says so."""
    url = made()
    with psycopg.connect(url) as connection:
        likes = " OR ".join(f"category LIKE '{category}'" for category in LOOKED_AT)
        rows = connection.execute(
            f"SELECT lower(name) FROM pg_settings WHERE context = 'user' AND name NOT LIKE '%.%' AND ({likes})".encode()
        ).fetchall()
    assert {str(name) for (name,) in rows} - LEFT - settings(UNLIMITED).keys() == set()


@pytest.mark.parametrize("count", [0, 1, 999, 1000, 1500, 60_000, 90_000, 3_600_000, 86_400_000, 86_400_001])
def test_times_are_written_as_the_server_shows_them(count):
    with psycopg.connect(made()) as connection:
        row = connection.execute("SELECT set_config('statement_timeout', %s, true)", [str(count)]).fetchone()
    assert row == (milliseconds_text(count),)


def test_a_limit_that_no_role_may_settle_is_told_to_the_curator():
    url = made("CREATE TABLE visits AS SELECT 1 AS id, 'a' AS kind")
    with psycopg.connect(url) as owner:
        owner.execute(f"ALTER DATABASE \"{owner.info.dbname}\" SET temp_file_limit = '1MB'".encode())
    engine = opened(url)
    try:
        assert any("temp_file_limit" in why for why, _ in engine.advice())
    finally:
        engine.close()


# ── DuckDB ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def shown(connection, name):
    return connection.execute(f"SELECT current_setting('{name}')").fetchone()[0]


def test_duckdb_has_a_limit_of_memory_even_where_the_policy_names_none(tmp_path):
    with instance(UNLIMITED, scratch=str(tmp_path)) as connection, instance(UNLIMITED, scratch="/tmp") as plain:
        assert shown(connection, "memory_limit") == shown(plain, "memory_limit")
        assert shown(connection, "preserve_insertion_order") is False
        assert shown(connection, "temp_directory") == str(tmp_path)
    import duckdb

    with duckdb.connect(":memory:") as usual, instance(UNLIMITED, scratch=str(tmp_path)) as ours:
        assert shown(usual, "memory_limit") != shown(ours, "memory_limit")


@pytest.mark.parametrize(
    "change",
    [
        "SET GLOBAL TimeZone = 'Asia/Kathmandu'",
        "SET preserve_insertion_order = true",
        "SET max_execution_time = 7",
        "SET threads = 1",
        "SET temp_directory = '/nowhere'",
    ],
)
def test_a_setting_of_duckdb_that_does_not_hold_is_noticed(tmp_path, change):
    limits = Limits(threads=2, timeout=3)
    with instance(limits, scratch=str(tmp_path)) as connection:
        _read_back(connection, limits, scratch=str(tmp_path))
        connection.execute(change)
        with pytest.raises(ValueError, match="cannot be"):
            _read_back(connection, limits, scratch=str(tmp_path))


def test_limits_that_duckdb_does_not_know_are_refused(tmp_path):
    with pytest.raises(InvalidParameter, match="does not start with these limits"):
        instance(Limits(memory="much"), scratch=str(tmp_path))


# ── Spark ────────────────────────────────────────────────────────────────────────────────────────────────────────────


class Stubborn:
    """A session that keeps one setting of its own, whatever is set."""

    def __init__(self, kept: str | None) -> None:
        self.conf, self._kept, self._held = self, kept, {}

    def set(self, name: str, value: str) -> None:
        self._held[name] = "the server's own" if name == self._kept else value

    def get(self, name: str) -> str:
        return self._held[name]


@pytest.mark.parametrize("name", [None, *SPARK])
def test_a_setting_of_spark_that_does_not_hold_is_noticed(name):
    if name is None:
        _settle(Stubborn(None))
        return
    with pytest.raises(ValueError, match=name):
        _settle(Stubborn(name))


def test_a_date_before_the_calendar_was_changed_and_a_slow_broadcast_fail_nobodys_question():
    """As Spark 3 has them by default, each is an error if and only if somebody's row is there."""
    assert SPARK["spark.sql.parquet.datetimeRebaseModeInRead"] == "CORRECTED"
    assert SPARK["spark.sql.parquet.int96RebaseModeInRead"] == "CORRECTED"
    assert SPARK["spark.sql.broadcastTimeout"] == "-1"
