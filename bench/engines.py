"""Other engines: bounding beside the window query a careful person would write. Spark itself if SPARK_HOME is set."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from unittest.mock import patch

import duckdb
from tests.support import sail, spark
from tests.support.postgres import server

from bench.report import Report, below
from tacit.core import Loss
from tacit.engines import UNLIMITED, Engine, Limits, open_engine
from tacit.engines.spark.client import connect, disconnect
from tacit.policy import Policy, parse_policy
from tacit.sql import bind, parse, plan

ROWS = 1_000_000
REPEATS = 5
CITIES = 1_000
BENCHED = {**spark.SETTINGS, "spark.executor.memory": "1800m", "spark.sql.shuffle.partitions": "16"}
Clock = Callable[[], float]
BOUNDINGS = ("sample", "weigh")
BAR = 1.5  # times the hand-written window query on the same engine
QUESTION = "DP-SELECT 1 DELTA 1e-6 city, COUNT(*) FROM trips GROUP BY city"
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
city = {city}
"""


def run(report: Report) -> None:
    with tempfile.TemporaryDirectory(prefix="tacit-bench-") as scratch:
        where = Path(scratch)
        rows = report.share(ROWS)
        report.section(
            "Engines", f"{rows:,} rows, ≤ 10 cities a user; the quickest of {REPEATS}, in CPU time (PostgreSQL: wall)"
        )
        trips(where / "trips.parquet", rows)
        _on_postgres(report, where)
        _on_spark(report, where, name="Sail", address=sail.server(), clock=time.process_time)
        if spark.missing() is None:
            cluster = spark.fresh_cluster(BENCHED)
            _on_spark(report, where, name="Spark, two workers", address=cluster.address, clock=cluster.cpu_seconds)
            cluster.stop()


def trips(path: Path, rows: int) -> None:
    """A few users have most of the trips, and a few cities see most of them."""
    share = "hash(i::VARCHAR || '{}')::DOUBLE / 18446744073709551616.0"
    with duckdb.connect() as owner:
        owner.execute(
            f"COPY (SELECT (pow({share.format('user')}, 3) * {max(1, rows // 10)})::BIGINT AS user_id,"
            f" 'city_' || (pow({share.format('city')}, 3) * {CITIES})::INTEGER AS city,"
            f" (hash(i) % 100000) / 100.0 AS amount FROM range({rows}) t(i)) TO '{path}' (FORMAT parquet)"
        )


def policy_over(
    engine: str, source: str, *, bounding: str = "sample", base: Path | None = None, city: str = "{}"
) -> Policy:
    return parse_policy(POLICY.format(engine=engine, source=source, bounding=bounding, city=city), base or Path())


def texts_of(policy: Policy, engine: Engine, question: str) -> list[str]:
    bound = bind(parse(question), policy, schema=engine.schema())
    made = plan(bound, policy, price=Loss(1, bound.query.delta or 0))
    return [statement.sql(engine.dialect) for statement in made.statements]


def _quickest(works: Mapping[str, Callable[[], object]], clock: Clock) -> dict[str, float]:
    """What each takes at best: in turns, so that none has a warmer machine than the others."""
    times: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(REPEATS):
        for name, work in works.items():
            start = clock()
            work()
            times[name].append(clock() - start)
    return {name: min(taken) for name, taken in times.items()}


def _beside(
    report: Report,
    name: str,
    *,
    engines: Mapping[str, tuple[Policy, Engine]],
    by_hand: Callable[[], object],
    clock: Clock,
) -> None:
    """Each way of bounding, beside the query written by hand."""
    works: dict[str, Callable[[], object]] = {BY_HAND: by_hand}
    for bounding, (policy, engine) in engines.items():
        texts = texts_of(policy, engine, QUESTION)
        works[bounding] = lambda e=engine, t=texts: [e.execute(text) for text in t]
    taken = _quickest(works, clock)
    for bounding, (_, engine) in engines.items():
        ours, theirs = taken[bounding], taken[BY_HAND]
        what = f"{name}, private keys, {bounding} ({ours:.2f} s to {theirs:.2f} s)"
        report.add(what, ours / theirs, unit="×", bar=below(BAR))
        engine.close()


def _on_postgres(report: Report, where: Path) -> None:
    import psycopg

    url = server().database()
    with duckdb.connect() as source, psycopg.connect(url) as owner:
        owner.execute("CREATE TABLE trips (user_id BIGINT, city TEXT, amount DOUBLE PRECISION)")
        with owner.cursor().copy("COPY trips FROM STDIN") as copy:
            for row in source.execute(f"FROM '{where}/trips.parquet'").fetchall():
                copy.write_row(row)
        owner.execute("ANALYZE trips")
    engines = {}
    for bounding in BOUNDINGS:
        policy = policy_over("postgres", f'"{url}"', bounding=bounding)
        engines[bounding] = policy, open_engine(policy, Limits(threads=1, memory="64MB"))
    with psycopg.connect(url) as raw:
        raw.execute("SET max_parallel_workers_per_gather = 0; SET work_mem = '64MB'")
        text = BY_HAND.format(random="random()", trips="trips").encode()
        _beside(
            report, "PostgreSQL", engines=engines, clock=time.perf_counter, by_hand=lambda: raw.execute(text).fetchall()
        )


def _on_spark(report: Report, where: Path, *, name: str, address: str, clock: Clock) -> None:
    engines = {}
    for bounding in BOUNDINGS:
        policy = policy_over("spark", '{ trips = "trips.parquet" }', bounding=bounding, base=where)
        engines[bounding] = policy, opened(policy, address)
    raw = connect(address)
    text = BY_HAND.format(random="xxhash64(user_id, city)", trips=f"parquet.`{where}/trips.parquet`")
    _beside(report, name, engines=engines, by_hand=lambda: raw.sql(text).toArrow(), clock=clock)
    disconnect(raw)


def opened(policy: Policy, address: str, limits: Limits = UNLIMITED) -> Engine:
    """The policy's engine, on this server whatever the environment says."""
    with patch.dict(os.environ, {"SPARK_REMOTE": address}):
        return open_engine(policy, limits)
