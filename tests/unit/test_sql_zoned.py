"""A TIMESTAMP WITH TIME ZONE is read as its time in UTC, on every engine, whatever zone its server or owner has set."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace

import duckdb
import pytest

from conformance.engine_pairs import Script
from conformance.engine_sources import in_postgres, in_spark
from conformance.sql_world import World, policy_of
from support.postgres import server
from tacit.engines import Engine
from tacit.errors import QueryRefused
from tacit.policy import ColumnPolicy, Dataset, TablePolicy
from tacit.release.anonymise.reading.remote import find_remote

KATHMANDU = "Asia/Kathmandu"  # five hours and three quarters ahead
NEAR = (  # around the hour that New York leaves out in spring, the one that it has twice in autumn, and midnight in UTC
    "2020-03-08 06:59:59+00", "2020-03-08 07:00:00+00", "2020-11-01 05:30:00+00", "2020-11-01 06:30:00+00",
    "2020-06-30 23:59:59.999999+00", "2020-07-01 00:00:00+00",
)  # fmt: skip
FAR = {
    "duckdb": ("290309-12-22 (BC) 00:00:00+00", "294247-01-10 04:00:54.775806+00", "-infinity", "infinity"),
    "postgres": ("4714-11-24 00:00:00+00 BC", "294276-12-31 23:59:59.999999+00", "-infinity", "infinity"),
    "spark": (),
}
BOUNDS = {"lower": "2020-01-01T00:00:00", "upper": "2020-12-31T00:00:00"}
COLUMNS = [ColumnPolicy("tz", type="timestamp", **BOUNDS), ColumnPolicy("free", type="timestamp")]
COUNTED = (  # of the near ones; the far ones are beyond every bound
    ("COUNT_IF(HOUR(tz) = 6)", 2),
    ("COUNT_IF(HOUR(tz) = 7)", 1),
    ("COUNT_IF(DATE_TRUNC('day', free) = DATE '2020-07-01')", 1),
    ("COUNT_IF(EXTRACT(MONTH FROM free) = 6 AND YEAR(free) = 2020)", 1),
    ("COUNT_IF(free < TIMESTAMP '2020-07-01 00:00:00' AND free > TIMESTAMP '2020-06-30 12:00:00')", 1),
    ("COUNT_IF(HOUR(tz AT TIME ZONE 'America/New_York') = 1)", 3),
    ("COUNT_IF(HOUR(tz AT TIME ZONE 'America/New_York') = 2)", 0),
    ("COUNT_IF(HOUR(tz AT TIME ZONE 'America/New_York') = 3)", 1),
)
ASKED = (  # whatever comes of them: they fail for nobody
    "SUM(HOUR(tz))", "COUNT(DISTINCT DATE_TRUNC('week', tz))", "SUM(EXTRACT(WEEK FROM free))", "MEDIAN(tz)",
    "COUNT_IF(free + INTERVAL 1 MONTH > TIMESTAMP '2020-05-05 00:00:00')", "COUNT(DISTINCT free)",
    "SUM(DATE_DIFF('day', tz, DATE '2020-05-05'))", "MIN(tz)", "SUM(EXTRACT(EPOCH FROM tz))", "COUNT_IF(free IS NULL)",
)  # fmt: skip


def _script(engine: str) -> Script:
    cells = ", ".join(f"({i}, '{cell}', '{cell}')" for i, cell in enumerate((*NEAR, *FAR[engine])))
    kind = "TIMESTAMPTZ"
    made = [f"CREATE TABLE t (id INTEGER, tz {kind}, free {kind})", f"INSERT INTO t VALUES {cells}"]
    if engine == "postgres":
        told = f"format('ALTER DATABASE %I SET timezone = ''{KATHMANDU}''', current_database())"
        made += [f"DO $$ BEGIN EXECUTE {told}; END $$"]
    return Script(policy_of([TablePolicy("t", "id", columns=COLUMNS, max_rows=1, max_groups=1)]), tuple(made))


@pytest.fixture(scope="module", params=["duckdb", "postgres", "spark"])
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    opened = {"duckdb": lambda made: made.world().engine, "postgres": in_postgres, "spark": in_spark}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", KATHMANDU)
        made = opened[request.param](_script(request.param))
    yield made
    made.close()


def _exact(engine: Engine, asked: str) -> list[int]:
    plan = World(_script("spark").policy, engine).plan(f"DP-SELECT 1 DELTA 1e-6 {asked} FROM t")
    found = [engine.execute(statement.sql(engine.dialect)) for statement in plan.statements]
    return [int(number) for exact in found for number in exact.wide("m0")] if "COUNT_IF" in asked else []


@pytest.mark.parametrize(("asked", "truth"), COUNTED)
def test_its_hours_are_those_of_utc(engine: Engine, asked: str, truth: int) -> None:
    assert _exact(engine, asked) == [truth]


@pytest.mark.parametrize("asked", ASKED)
def test_no_moment_at_either_end_fails(engine: Engine, asked: str) -> None:
    with contextlib.suppress(QueryRefused):  # to everybody
        _exact(engine, asked)


def test_a_table_with_such_moments_can_be_published() -> None:
    """As rows that are brought home: their times in UTC, and no type that would read them in another zone."""
    import psycopg

    url = server().database()
    with psycopg.connect(url) as owner:
        owner.execute("CREATE TABLE t (id INTEGER, tz TIMESTAMPTZ)")
        owner.execute("INSERT INTO t VALUES (1, '2020-07-01 00:00:00+00'), (2, NULL)")
    policy = replace(_script("spark").policy, dataset=Dataset("d", url, engine="postgres"))
    with duckdb.connect() as connection:
        connection.execute(f"SET TimeZone = '{KATHMANDU}'")
        find_remote(policy, policy.tables[0]).bring(connection, ["id", "tz"], view="people")
        rows = connection.execute("SELECT id, CAST(tz AS VARCHAR) FROM people ORDER BY id").fetchall()
    assert rows == [(1, "2020-07-01 00:00:00"), (2, None)]
