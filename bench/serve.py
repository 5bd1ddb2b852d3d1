"""`tacit serve` under load: answers a second over the PostgreSQL wire, CPU of each, memory, and lost charges."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import duckdb

from bench.report import Report, at_least, below
from bench.serve_client import hammer
from tacit.curator import Session
from tacit.faces.server.accounts import Accounts
from tacit.faces.server.serving import open_hub
from tacit.policy import load_policy

ROWS, CLIENTS, ANSWERS = 100_000, 64, 6_000
USER, PASSWORD = "ana", "a long enough word"
TICK = os.sysconf("SC_CLK_TCK")

POLICY = """
[dataset]
name = "load"
source = { staff = "staff.parquet" }
[budget]
epsilon = 1000000000
[analysts.ana]
epsilon = 1000000000
[tables.staff]
unit = "row"
[tables.staff.columns]
age = { type = "integer", lower = 18, upper = 90 }
dept = { type = "text", domain = ["CS", "Bio", "Math", "Art"] }
[server]
per_analyst = 16
queue = 1000
"""
FRESH = "DP-SELECT 0.001 FRESH COUNT(*) AS n FROM staff WHERE age > 40"
KEPT = "DP-SELECT 0.001 COUNT(*) AS n FROM staff WHERE age > 41"
GROUPED = "DP-SELECT 0.001 FRESH dept, COUNT(*) AS n, AVG(age) AS a FROM staff GROUP BY dept"


def run(report: Report) -> None:
    with tempfile.TemporaryDirectory(dir=Path(__file__).parent) as folder:  # beside the code: /tmp may be memory
        policy = build(Path(folder), rows=ROWS)
        _one_by_one(report, policy)
        _together(report, policy)
        _in_processes(report, policy)


def build(folder: Path, *, rows: int) -> Path:
    """A policy over so many rows, and an analyst who may come in."""
    with duckdb.connect() as made:
        made.execute(f"""COPY (
            SELECT 18 + i * 7919 % 73 AS age, ['CS', 'Bio', 'Math', 'Art'][i % 4 + 1] AS dept FROM range({rows}) t(i)
        ) TO '{folder}/staff.parquet' (FORMAT parquet)""")
    path = folder / "tacit.toml"
    path.write_text(POLICY)
    policy = load_policy(path)
    Accounts.of(policy).add(USER, PASSWORD, policy=policy)
    return path


def _one_by_one(report: Report, path: Path) -> None:
    """CPU of one question after another, in this process: what the engine takes, and what we take."""
    report.section(
        "CPU of a question seen before", f"{ROWS:,} rows, the unit is the row, one asker, every charge on disk"
    )
    hub = open_hub(path)
    curator, session = hub._house.curator, Session(USER)
    engine, spent = curator._engine, [0.0]
    real = type(engine).execute

    def timed(self: object, sql: str) -> object:
        start = time.process_time()
        try:
            return real(self, sql)
        finally:
            spent[0] += time.process_time() - start

    type(engine).execute = timed
    try:
        for name, sql, bar in (
            ("COUNT with WHERE", FRESH, 2.5),
            ("COUNT and AVG by dept", GROUPED, 2.5),
            ("kept", KEPT, 1.0),
        ):
            times = report.share(600)
            curator.ask(sql, session=session)
            spent[0], start = 0.0, time.process_time()
            for _ in range(times):
                curator.ask(sql, session=session)
            whole = time.process_time() - start
            report.add(f"{name}: outside the engine", (whole - spent[0]) / times * 1e3, unit=" ms", bar=below(bar))
            report.add(f"{name}: in the engine", spent[0] / times * 1e3, unit=" ms")
    finally:
        type(engine).execute = real
        hub.close()


@dataclass(frozen=True)
class Server:
    """`tacit serve` in a process of its own."""

    process: subprocess.Popen[str]
    port: int

    @property
    def cpu(self) -> float:
        """Seconds, in user and in system, of the server and of the processes it started."""
        pid = self.process.pid
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        stats = [Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split() for each in (pid, *children)]
        return sum(int(fields[11]) + int(fields[12]) for fields in stats) / TICK

    @property
    def memory(self) -> float:
        """Megabytes of resident memory."""
        found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{self.process.pid}/status").read_text())
        return int(found[1]) / 1024 if found else 0.0


@contextmanager
def served(path: Path, *options: str) -> Iterator[Server]:
    process = subprocess.Popen(
        [sys.executable, "-m", "tacit", "serve", "-p", str(path), "--http-port", "0", "--pg-port", "0", *options],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=path.parent,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        for line in process.stdout:
            if found := re.search(r"PostgreSQL\s+\S+:(\d+)", line):
                break
        else:
            raise RuntimeError("the server did not start")
        yield Server(process, int(found[1]))
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


def _together(report: Report, path: Path) -> None:
    """Many connections at once, and what of it reached the ledger."""
    report.section(
        f"{CLIENTS} connections of the PostgreSQL wire",
        f"client and server share {os.cpu_count()} cores; load when it began: {os.getloadavg()[0]:.1f}",
    )
    before = _charges(path)
    with served(path) as server:
        given = len(_load(server, FRESH, _so_many(report.share(1_000))).took)  # caches warm, pages touched
        durable = _load(server, FRESH, _so_many(report.share(ANSWERS)))
        report.add("durable answers a second", durable.rate, bar=at_least(300))
        report.add("  median", statistics.median(durable.took) * 1e3, unit=" ms")
        report.add("  99th percentile", durable.percentile(99) * 1e3, unit=" ms", bar=below(300))
        report.add("  CPU of the server for one", durable.cpu_each * 1e3, unit=" ms")
        kept = _load(server, KEPT, _so_many(report.share(ANSWERS * 2)))
        report.add("kept answers a second", kept.rate, bar=at_least(1000))
        report.add("  CPU of the server for one", kept.cpu_each * 1e3, unit=" ms")
        given += len(durable.took) + _steady(report, server)
    charged = _charges(path) - before - 1  # one paid for all the kept answers, if it was not paid before
    report.add(f"charges on record beside {given:,} durable answers", charged / given, unit="×")


def _in_processes(report: Report, path: Path) -> None:
    """The same with `--workers`, in turns, so that whatever else the machine does falls on both."""
    report.section("Processes", "what two processes that answer do, beside one; each in turn, the median of the rounds")
    asked = (("durable answers", FRESH, 1_500), ("kept answers", KEPT, 3_000))
    with served(path) as one, served(path, "--workers", "2") as two:
        for name, sql, times in asked:
            rounds = [[_load(server, sql, _so_many(report.share(times))) for server in (one, two)] for _ in range(3)]
            for index, how in enumerate(("one", "two")):
                rate = statistics.median(loads[index].rate for loads in rounds)
                cpu = statistics.median(loads[index].cpu_each for loads in rounds)
                report.add(f"{name} a second, {how}", rate)
                report.add(f"{name}, {how}: CPU for one", cpu * 1e3, unit=" ms")


def _steady(report: Report, server: Server) -> int:
    """Memory over minutes of it; how many answers were given."""
    seconds = report.share(int(report.minutes * 60))
    settling = _load(server, FRESH, _for_seconds(seconds / 4))
    early = server.memory
    longer = _load(server, FRESH, _for_seconds(seconds))
    what = f"resident memory after {report.minutes:g} minutes, beside {early:.0f} MB before"
    report.add(what, server.memory / early, unit="×", bar=below(1.05))
    return len(settling.took) + len(longer.took)


@dataclass(frozen=True)
class Load:
    """What a load came to: the seconds of each answer, of all together, and of the server's CPU."""

    took: list[float]
    seconds: float
    cpu: float

    @property
    def rate(self) -> float:
        return len(self.took) / self.seconds

    @property
    def cpu_each(self) -> float:
        return self.cpu / len(self.took)

    def percentile(self, percent: int) -> float:
        return sorted(self.took)[len(self.took) * percent // 100]


def _load(server: Server, sql: str, until: Callable[[int], bool]) -> Load:
    cpu, start = server.cpu, time.perf_counter()
    took, start = asyncio.run(hammer(server.port, (USER, PASSWORD), sql, clients=CLIENTS, until=until))
    return Load(took, time.perf_counter() - start, server.cpu - cpu)


def _so_many(answers: int) -> Callable[[int], bool]:
    return lambda so_far: so_far >= answers


def _for_seconds(seconds: float) -> Callable[[int], bool]:
    end = time.monotonic() + seconds
    return lambda _: time.monotonic() >= end


def _charges(path: Path) -> int:
    """How many charges the ledger has, read while nobody writes."""
    ledger = load_policy(path).dataset.ledger_path
    with closing(sqlite3.connect(ledger)) as connection:
        return int(connection.execute("SELECT COUNT(*) FROM entry WHERE act = 'charge'").fetchone()[0])
