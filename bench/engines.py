"""Other engines: bounding beside the window query a careful person would write, and how cost grows with the rows."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import duckdb

from bench.report import Report, below
from tacit.core import Loss
from tacit.engines import Engine, Limits, open_engine
from tacit.policy import Policy, parse_policy
from tacit.sql import bind, parse, plan

ROWS = 1_000_000
GROWTH = (1_000_000, 10_000_000, 100_000_000)
REPEATS = 3
CITIES = 1_000
BAR = 1.5  # times the hand-written window query on the same engine
QUESTION = "DP-SELECT 1 DELTA 1e-6 city, COUNT(*) FROM trips GROUP BY city"
GROWING = "DP-SELECT 1 SUM(amount), COUNT(*) FROM trips"  # every user's rows are added up and capped
BY_HAND = """SELECT city, SUM(LEAST(n, 20)) AS n FROM (
    SELECT user_id, city, COUNT(*) AS n, ROW_NUMBER() OVER (PARTITION BY user_id ORDER BY {random}) AS r
    FROM {trips} GROUP BY user_id, city) AS x WHERE r <= 10 GROUP BY city"""
POLICY = """
[dataset]
name = "trips"
engine = "{engine}"
source = {source}
[budget]
epsilon = 1000000
delta = 0.5
[tables.trips]
unit = "user_id"
bounding = "{bounding}"
max_groups = 10
max_rows = 20
[tables.trips.columns]
amount = {{ lower = 0, upper = 1000, step = 0.01 }}
city = {{}}
"""


def run(report: Report) -> None:
    with tempfile.TemporaryDirectory(prefix="tacit-bench-") as scratch:
        where = Path(scratch)
        report.section("Engines", f"{report.share(ROWS):,} rows, ≤ 10 cities a user; wall time as a ratio, one worker")
        _on_postgres(report, where)
        _on_spark(report, where)
        report.section("Growth", "a bounded sum over all users, from Parquet, two cores; seconds of wall time")
        for rows in GROWTH:
            _grown(report, where, rows=report.share(rows))


def trips(path: Path, rows: int) -> None:
    """A few users have most of the trips, and a few cities see most of them."""
    share = "hash(i::VARCHAR || '{}')::DOUBLE / 18446744073709551616.0"
    with duckdb.connect() as owner:
        owner.execute(
            f"COPY (SELECT (pow({share.format('user')}, 3) * {max(1, rows // 10)})::BIGINT AS user_id,"
            f" 'city_' || (pow({share.format('city')}, 3) * {CITIES})::INTEGER AS city,"
            f" (hash(i) % 100000) / 100.0 AS amount FROM range({rows}) t(i)) TO '{path}' (FORMAT parquet)"
        )


def _policy(engine: str, source: str, *, bounding: str = "sample", base: Path | None = None) -> Policy:
    return parse_policy(POLICY.format(engine=engine, source=source, bounding=bounding), base or Path())


def _texts(policy: Policy, engine: Engine, question: str) -> list[str]:
    bound = bind(parse(question), policy, schema=engine.schema())
    made = plan(bound, policy, schema=engine.schema(), price=Loss(1, bound.query.delta or 0))
    return [statement.sql(engine.dialect) for statement in made.statements]


def _seconds(work: Callable[[], object], *, repeats: int = REPEATS) -> float:
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def _beside(report: Report, name: str, *, engine: Engine, policy: Policy, by_hand: float) -> None:
    texts = _texts(policy, engine, QUESTION)
    ours = _seconds(lambda: [engine.execute(text) for text in texts])
    report.add(f"{name} ({ours:.2f} s to {by_hand:.2f} s)", ours / by_hand, unit="×", bar=below(BAR))


def _on_postgres(report: Report, where: Path) -> None:
    import psycopg
    from tests.support.postgres import server

    trips(where / "trips.parquet", report.share(ROWS))
    url = server().database()
    with duckdb.connect() as source, psycopg.connect(url) as owner:
        owner.execute("CREATE TABLE trips (user_id BIGINT, city TEXT, amount DOUBLE PRECISION)")
        with owner.cursor().copy("COPY trips FROM STDIN") as copy:
            for row in source.execute(f"FROM '{where}/trips.parquet'").fetchall():
                copy.write_row(row)
        owner.execute("ANALYZE trips")
    with psycopg.connect(url) as raw:
        raw.execute("SET max_parallel_workers_per_gather = 0; SET work_mem = '64MB'")
        text = BY_HAND.format(random="random()", trips="trips")
        by_hand = _seconds(lambda: raw.execute(text.encode()).fetchall())
    for bounding in ("sample", "weigh"):
        policy = _policy("postgres", f'"{url}"', bounding=bounding)
        engine = open_engine(policy, Limits(threads=1, memory="64MB"))
        _beside(report, f"PostgreSQL, private keys, {bounding}", engine=engine, policy=policy, by_hand=by_hand)
        engine.close()


def _on_spark(report: Report, where: Path) -> None:
    """On Sail; or on the server that SPARK_REMOTE names."""
    from pyspark.sql.connect.session import SparkSession
    from tests.support import sail

    os.environ.setdefault("SPARK_REMOTE", sail.server())
    raw = SparkSession.builder.remote(os.environ["SPARK_REMOTE"]).create()
    text = BY_HAND.format(random="xxhash64(user_id, city)", trips=f"parquet.`{where}/trips.parquet`")
    by_hand = _seconds(lambda: raw.sql(text).toArrow())
    for bounding in ("sample", "weigh"):
        policy = _policy("spark", '{ trips = "trips.parquet" }', bounding=bounding, base=where)
        engine = open_engine(policy)
        _beside(report, f"Spark Connect, private keys, {bounding}", engine=engine, policy=policy, by_hand=by_hand)
        engine.close()


def _grown(report: Report, where: Path, *, rows: int) -> None:
    trips(where / "trips.parquet", rows)
    for name, engine_name in (("DuckDB", "duckdb"), ("Spark Connect", "spark")):
        policy = _policy(engine_name, '{ trips = "trips.parquet" }', base=where)
        engine = open_engine(policy, Limits(threads=2) if engine_name == "duckdb" else Limits())
        texts = _texts(policy, engine, GROWING)
        taken = _seconds(lambda e=engine, t=texts: [e.execute(text) for text in t], repeats=2)
        report.add(f"{name}, {rows:,} rows", taken, unit=" s")
        engine.close()
