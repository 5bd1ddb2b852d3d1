"""Private questions beside the same ones asked without privacy: CPU seconds in one process, over ten million rows."""

from __future__ import annotations

import json
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from bench.report import Report, below
from bench.timing import cpu_seconds
from tacit.core import Loss
from tacit.curator import Curator, Session
from tacit.curator.measuring.measure import measure
from tacit.curator.reading import execute
from tacit.engines import Exact
from tacit.engines.base import UNLIMITED
from tacit.engines.duckdb import DuckDB, build
from tacit.engines.sources import Exposed
from tacit.ledger import SqliteLedger
from tacit.noise import SYSTEM
from tacit.policy import Policy, parse_policy
from tacit.sql import bind, parse, plan

ROWS, USERS, CITIES = 10_000_000, 1_000_000, 1_000
REPEATS = 3
PEERS = Path(__file__).parent / "results" / "peers.json"  # written by `python -m bench.peers`
FIXED_SECONDS = 0.015  # what a question may cost on top of its ratio, however small the table

POLICY = """
[dataset]
name = "trips"
source = "trips.duckdb"
[budget]
epsilon = 1000000
delta = 0.5
[analysts.ana]
epsilon = 1000000
[tables.trips]
unit = "{unit}"
bounding = "{bounding}"
{caps}
[tables.trips.columns]
amount = {{ lower = 0, upper = 1000, step = 0.01 }}
age = {{ lower = 18, upper = 90, step = 1, domain = "range" }}
city = {{}}
"""

CASES = (
    ("count", "row", "auto", "DP-SELECT 1 COUNT(*) FROM trips", "SELECT count(*) FROM trips", 4.0),
    (
        "sum and average", "row", "auto", "DP-SELECT 1 SUM(amount), AVG(amount) FROM trips",
        "SELECT sum(amount), avg(amount) FROM trips", 4.0,
    ),
    (
        "by age: count, sum, average", "row", "auto",
        "DP-SELECT 1 age, COUNT(*), SUM(amount), AVG(amount) FROM trips GROUP BY age",
        "SELECT age, count(*), sum(amount), avg(amount) FROM trips GROUP BY age", 2.5,
    ),
    (
        "by city, ≤ 10 a user, private keys, sampled", "user_id", "sample",
        "DP-SELECT 1 DELTA 1e-6 city, COUNT(*) FROM trips GROUP BY city",
        "SELECT city, count(*) FROM trips GROUP BY city", 12.0,
    ),
    (
        "by city, ≤ 10 a user, private keys, weighed", "user_id", "weigh",
        "DP-SELECT 1 DELTA 1e-6 city, COUNT(*) FROM trips GROUP BY city",
        "SELECT city, count(*) FROM trips GROUP BY city", 10.0,
    ),
    ("median", "row", "auto", "DP-SELECT 1 MEDIAN(amount) FROM trips", "SELECT median(amount) FROM trips", 1.5),
    (
        "count distinct users", "user_id", "auto", "DP-SELECT 1 COUNT(DISTINCT user_id) FROM trips",
        "SELECT count(DISTINCT user_id) FROM trips", 1.5,
    ),
)  # fmt: skip


def run(report: Report) -> None:
    rows = report.share(ROWS)
    peers = json.loads(PEERS.read_text()) if PEERS.exists() else {}
    about = f"{rows:,} rows in memory; CPU as a ratio to the same question in plain DuckDB"
    report.section("Ask", f"{about}\n  {_absent(peers)}".rstrip())
    engine = build(lambda connection: make_trips(connection, rows), UNLIMITED)
    raw = engine._connection.cursor()
    for name, unit, bounding, private, plain, bar in CASES:
        policy = _policy(unit, bounding)
        spent = cpu_seconds(
            {
                "private": lambda p=policy, q=private: _answer(engine, p, q),
                "plain": lambda q=plain: raw.execute(q).fetchall(),
            },
            repeats=REPEATS,
        )
        ratio = max(0.0, spent["private"] - FIXED_SECONDS) / spent["plain"]
        report.add(f"{name} ({spent['private']:.3f} s to {spent['plain']:.4f} s)", ratio, unit="×", bar=below(bar))
        _beside(report, name, peers)
    engine.close()
    _small(report)
    _many_groups(report)


def _absent(peers: dict[str, dict[str, Any]]) -> str:
    """Who is not beside us, and why."""
    if not peers:
        return "no peers were measured: run `make bench-peers`"
    failed = [f"{peer['title']} was not measured: {peer['failed']}" for peer in peers.values() if "failed" in peer]
    cannot = [f"{peer['title']} cannot {', '.join(peer['reasons'])}" for peer in peers.values() if peer.get("reasons")]
    return "; ".join(failed + cannot)


def question(case: str) -> str:
    """What a case asks, whichever way it is answered."""
    return case.removesuffix(", sampled").removesuffix(", weighed")


def _beside(report: Report, name: str, peers: dict[str, dict[str, Any]]) -> None:
    """What other systems took for the same question, as a ratio to plain DuckDB over the same rows."""
    asked = question(name)
    for peer in peers.values():
        if asked in peer.get("seconds", ()):
            seconds, plain = peer["seconds"][asked], peer["plain"][name]
            about = f"{peer['title']} {peer['version']}, {peer['rows']:,} rows ({seconds:.2f} s to {plain:.4f} s)"
            report.add(f"  {about}", seconds / plain, unit="×")


def make_trips(connection: duckdb.DuckDBPyConnection, rows: int) -> Exposed:
    """A few users have most of the trips, and cities follow Zipf's law.

    Of ten million rows there are 6.4 million pairs of user and city, and every ninth user is in more than ten cities.
    """
    chance = np.random.default_rng(2026)
    visits = np.cumsum(1 / np.arange(1, CITIES + 1))
    drawn = {
        "user_id": (chance.random(rows) ** 5 * USERS).astype(np.int64),
        "age": chance.integers(18, 91, size=rows, dtype=np.int32),
        "city": np.searchsorted(visits, chance.random(rows) * visits[-1]),
        "amount": chance.integers(100_000, size=rows) / 100,
    }
    connection.register("drawn", pa.table(drawn))
    connection.execute("CREATE TABLE trips AS SELECT user_id, age, 'city_' || city AS city, amount FROM drawn")
    connection.unregister("drawn")
    return Exposed(("trips",))


def _policy(unit: str, bounding: str) -> Policy:
    caps = "" if unit == "row" else "max_groups = 10\nmax_rows = 20"
    return parse_policy(POLICY.format(unit=unit, bounding=bounding, caps=caps))


def _answer(engine: DuckDB, policy: Policy, text: str) -> object:
    """All of a question but its debit: parse, bind, plan, execute, measure."""
    schema = engine.schema()
    bound = bind(parse(text), policy, schema=schema)
    made = plan(bound, policy, price=Loss(1, bound.query.delta or 0))
    exact = [execute(statement, engine) for statement in made.statements]
    return measure(made, exact, public={}, source=SYSTEM)


def _small(report: Report) -> None:
    """A whole question on a small table, debit and sync included."""
    report.section("A small table, end to end", "a thousand rows, each question charged and synced")
    with tempfile.TemporaryDirectory(dir=Path(__file__).parent) as folder:
        engine = build(lambda connection: make_trips(connection, 1_000), UNLIMITED)
        curator = Curator(_policy("row", "auto"), engine, SqliteLedger(Path(folder) / "ledger", create=True))
        times = []
        for number in range(report.share(400)):
            start = time.perf_counter()
            curator.ask(f"DP-SELECT 1 FRESH COUNT(*) FROM trips WHERE age > {18 + number % 70}", session=Session("ana"))
            times.append(time.perf_counter() - start)
        curator.close()
    report.add("median", statistics.median(times) * 1000, unit=" ms", bar=below(15))
    report.add("95th percentile", float(np.quantile(times, 0.95)) * 1000, unit=" ms")


def _many_groups(report: Report) -> None:
    """Noise for a million groups with private keys."""
    count = report.share(1_000_000)
    report.section("Many groups", f"{count:,} private keys made noisy, thresholded and sorted")
    schema = {"trips": {"user_id": "BIGINT", "age": "INTEGER", "city": "VARCHAR", "amount": "DOUBLE"}}
    policy = _policy("row", "auto")
    bound = bind(parse("DP-SELECT 1 DELTA 1e-6 city, COUNT(*) FROM trips GROUP BY city"), policy, schema=schema)
    made = plan(bound, policy, price=Loss(1, bound.query.delta or 0))
    exact = Exact({"k0": [f"city {i}" for i in range(count)], "m0": np.full(count, 1_000, dtype=np.int64)})
    spent = cpu_seconds({"measure": lambda: measure(made, [exact], public={}, source=SYSTEM)}, repeats=REPEATS)
    report.add("CPU", spent["measure"], unit=" s", bar=below(2))
