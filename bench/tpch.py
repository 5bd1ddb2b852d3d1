"""TPC-H with customers hidden: every question beside its plain query, in CPU seconds and in memory, in one run."""

from __future__ import annotations

import itertools
import math
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import sqlglot
from tests.e2e.tpch_queries import RUNNING, Query
from tests.support import tpch
from tests.support.postgres import server

from bench.report import Report, below
from bench.timing import cpu_seconds
from tacit.curator import Curator, Session
from tacit.curator.reading import read_job
from tacit.engines import Engine, Limits, open_engine
from tacit.engines.postgres.settings import settings
from tacit.engines.postgres.settings import statement as settled
from tacit.ledger import SqliteLedger
from tacit.noise import SYSTEM
from tacit.policy import Policy, parse_policy

if TYPE_CHECKING:
    import psycopg

SCALE, ON_POSTGRES = 1.0, 0.1  # scale factors: six million line items, and six hundred thousand
REPEATS = 3
FIXED_SECONDS = 0.015  # what a question may cost on top of its ratio, however small the table
LIMITS = Limits(threads=2, memory="3GB")
ON_SERVER = Limits(threads=1, memory="64MB")
MEAN, WORST, WORST_ON_POSTGRES = 3.0, 8.0, 4.0  # bars: times the plain query
MEMORY, ENOUGH = 2.0, 1024  # a peak of twice the plain query's, or of this many megabytes
PLANNING = 5.0  # milliseconds of CPU
INDEXED = {  # what a careful owner has: the keys, and the dates that are asked for
    "customer": ("c_custkey", "c_nationkey"),
    "orders": ("o_orderkey", "o_custkey", "o_orderdate"),
    "lineitem": ("l_orderkey", "l_partkey", "l_suppkey", "l_shipdate", "l_receiptdate"),
    "part": ("p_partkey",),
    "supplier": ("s_suppkey", "s_nationkey"),
    "partsupp": ("ps_partkey", "ps_suppkey"),
    "nation": ("n_nationkey",),
    "region": ("r_regionkey",),
}


def run(report: Report) -> None:
    factor, small = (scale * report.share(100) / 100 for scale in (SCALE, ON_POSTGRES))
    with tempfile.TemporaryDirectory(prefix="tacit-tpch-") as scratch:
        where = Path(scratch)
        with duckdb.connect(str(where / "tpch.duckdb"), config={"memory_limit": "3GB"}) as owner:
            tpch.fill(owner, tpch.scale(factor))
        report.section("TPC-H", f"scale factor {factor:g}; CPU as a ratio to the same question in plain DuckDB")
        _on_duckdb(report, where)
        report.section("TPC-H, memory", "the peak of a process of its own, over what it had before the question")
        _memory(report, where)
        report.section("TPC-H on PostgreSQL", f"scale factor {small:g}, keys and dates indexed; the quickest run, CPU")
        _on_postgres(report, small)


def plain(query: Query) -> str:
    """The same question without privacy."""
    return re.sub(r"DP-SELECT 1 (DELTA \S+ )?", "SELECT ", str(query.runs))


_COUNTED = itertools.count(1)


def unheard(query: Query) -> str:
    """The question at a price that nobody has named: a plan that is kept would say nothing of planning."""
    return re.sub(r"DP-SELECT 1 ", f"DP-SELECT 1.{next(_COUNTED):06d} ", str(query.runs), count=1)


def opened(where: Path) -> tuple[Policy, Engine, Curator]:
    """The policy of a folder's database, its engine, and the curator who answers from it."""
    policy = parse_policy(tpch.policy(), where)
    engine = open_engine(policy, LIMITS)
    ledger = Path(tempfile.mkdtemp(prefix="ledger-", dir=where)) / "ledger"
    return policy, engine, Curator(policy, engine, SqliteLedger(ledger, create=True))


def answer(curator: Curator, engine: Engine, text: str) -> object:
    """All of a question but its debit."""
    job = curator.prepare(text, session=Session("ana"))
    return read_job(job, engine, public=curator._public, source=SYSTEM)


def _on_duckdb(report: Report, where: Path) -> None:
    _, engine, curator = opened(where)
    raw = engine._connection.cursor()  # type: ignore[attr-defined]
    ratios, planned = [], []
    for query in RUNNING:
        spent = cpu_seconds(
            {
                "private": lambda q=query: answer(curator, engine, str(q.runs)),
                "plain": lambda q=query: raw.execute(plain(q)).fetchall(),
                "planning": lambda q=query: curator.prepare(unheard(q), session=Session("ana")),
            },
            repeats=REPEATS,
        )
        ratios.append(max(1e-9, spent["private"] - FIXED_SECONDS) / spent["plain"])
        planned.append(spent["planning"] * 1000)
        what = f"Q{query.number} ({spent['private']:.3f} s to {spent['plain']:.3f} s; planned in {planned[-1]:.1f} ms)"
        report.add(what, ratios[-1], unit="×", bar=below(WORST))
    report.add("geometric mean", math.exp(sum(map(math.log, ratios)) / len(ratios)), unit="×", bar=below(MEAN))
    report.add("the longest planning", max(planned), unit=" ms", bar=below(PLANNING))
    curator.close()


def _memory(report: Report, where: Path) -> None:
    for query in RUNNING:
        private, other = (_peak(where, query.number, kind=kind) for kind in ("private", "plain"))
        bar = below(max(MEMORY * other, ENOUGH))
        report.add(f"Q{query.number} ({other:.0f} MB for the plain query)", private, unit=" MB", bar=bar)


def _peak(where: Path, number: int, *, kind: str) -> float:
    """Megabytes."""
    command = [sys.executable, "-m", "bench.tpch_peak", str(where), str(number), kind]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def _on_postgres(report: Report, factor: float) -> None:
    import psycopg

    url = server().database()
    filled(url, factor)
    policy = parse_policy(
        tpch.policy().replace('source = "tpch.duckdb"', f'engine = "postgres"\nsource = "{url}"'), Path()
    )
    engine = open_engine(policy, ON_SERVER)
    with tempfile.TemporaryDirectory() as folder, psycopg.connect(url) as ours, psycopg.connect(url) as theirs:
        curator = Curator(policy, engine, SqliteLedger(Path(folder) / "ledger", create=True))
        held = settings(ON_SERVER, version=ours.info.server_version)
        ours.execute(*settled({name: value for name, value in held.items() if name != "search_path"}))
        theirs.execute("SET max_parallel_workers_per_gather = 0; SET work_mem = '64MB'; SET jit = off")
        for query in RUNNING:
            job = curator.prepare(str(query.runs), session=Session("ana"))
            texts = [statement.sql("postgres") for piece in job.pieces for statement in piece.plan.runs]
            (written,) = sqlglot.transpile(plain(query), read="duckdb", write="postgres")
            private, other = _quickest([(ours, texts), (theirs, [written])])
            what = f"Q{query.number} ({private:.3f} s to {other:.3f} s)"
            report.add(what, private / other, unit="×", bar=below(WORST_ON_POSTGRES))
        curator.close()


def filled(url: str, factor: float) -> None:
    """The tables of this scale, with the indexes that a careful owner has."""
    import psycopg

    with tempfile.TemporaryDirectory() as folder, duckdb.connect() as source, psycopg.connect(url) as owner:
        tpch.fill(source, tpch.scale(factor))
        for table, columns in INDEXED.items():
            described = source.execute(f"DESCRIBE {table}").fetchall()
            listed = ", ".join(f"{name} {'BIGINT' if kind == 'HUGEINT' else kind}" for name, kind, *_ in described)
            owner.execute(f"CREATE TABLE {table} ({listed})".encode())
            path = Path(folder) / f"{table}.csv"
            source.execute(f"COPY {table} TO '{path}' (HEADER false)")
            with owner.cursor().copy(f"COPY {table} FROM STDIN (FORMAT csv)".encode()) as copy:
                copy.write(path.read_bytes())
            for column in columns:
                owner.execute(f"CREATE INDEX ON {table} ({column})".encode())
            owner.execute(f"ANALYZE {table}".encode())


def _quickest(works: list[tuple[psycopg.Connection, list[str]]]) -> list[float]:
    """What each takes at best: in turns, so that none has a warmer machine than the others."""
    clocks = [_clock(connection.info.backend_pid) for connection, _ in works]
    times: list[list[float]] = [[] for _ in works]
    for _ in range(REPEATS):
        for (connection, texts), clock, taken in zip(works, clocks, times, strict=True):
            start = clock()
            for text in texts:
                connection.execute(text.encode()).fetchall()
            taken.append(clock() - start)
    return [min(taken) for taken in times]


def _clock(backend: int) -> Callable[[], float]:
    """The CPU seconds of one process of the server; where nobody counts them, those on the wall."""
    counted = Path(f"/proc/{backend}/schedstat")
    if not counted.exists():
        return time.perf_counter
    return lambda: int(counted.read_text().split()[0]) / 1e9
