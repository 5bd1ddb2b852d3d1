"""ROLLUP and CUBE answered as one workload beside their sets one by one: mean squared error at ε = 1, and the time."""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from pathlib import Path

import duckdb
import numpy as np

from bench.report import Report, at_least
from tacit.curator import Curator, Release, Session
from tacit.engines.base import UNLIMITED
from tacit.engines.duckdb import build
from tacit.engines.sources import Exposed
from tacit.ledger import SqliteLedger
from tacit.mechanisms.strategy import LAPLACE, Law, least_split
from tacit.policy import parse_policy

RUNS = 10
POLICY = """
[dataset]
name = "people"
source = "people.duckdb"
[budget]
epsilon = 1000000
reuse = false
[analysts.ana]
epsilon = 1000000
[tables.people]
unit = "row"
[tables.people.columns]
dept = { domain = [0, 1, 2, 3, 4] }
month = { lower = 1, upper = 12, step = 1, domain = "range" }
age = { lower = 18, upper = 90, step = 1, domain = "range" }
""" + "".join(f"b{place} = {{ domain = [0, 1] }}\n" for place in range(6))
TABLE = (
    "CREATE TABLE people AS SELECT CAST(i % 5 AS INTEGER) AS dept, CAST(1 + i * i % 12 AS INTEGER) AS month,"
    " CAST(18 + i % 73 AS INTEGER) AS age, "
    + ", ".join(f"CAST((i >> {place}) % 2 AS INTEGER) AS b{place}" for place in range(6))
    + " FROM range(100000) AS made(i)"
)
STATEMENTS = (
    ("ROLLUP of 5 × 12 × 73", "dept, month, age", "ROLLUP"),
    ("CUBE of 5 × 12", "dept, month", "CUBE"),
    ("CUBE of 6 binary attributes", "b0, b1, b2, b3, b4, b5", "CUBE"),
)


def run(report: Report) -> None:
    report.section("grouping sets", "mean squared error at ε = 1, beside the best split of ε over the sets one by one")
    with tempfile.TemporaryDirectory() as folder:
        curator, truth = _people(Path(folder))
        for name, keys, word in STATEMENTS:
            _statement(
                report, curator, truth, name=name, body=f"{keys}, COUNT(*) AS n FROM people", tail=f"{word} ({keys})"
            )
        curator.close()


def _statement(
    report: Report, curator: Curator, truth: duckdb.DuckDBPyConnection, *, name: str, body: str, tail: str
) -> None:
    text = f"{body} GROUP BY {tail}"
    exact = {row[:-1]: row[-1] for row in truth.execute(f"SELECT {text}").fetchall()}
    shown = curator.explain(f"DP-SELECT 1 {text}", session=Session("ana"))
    keys: list[tuple[object, ...]] = []
    times, errors = [], []
    for _ in range(report.share(RUNS)):
        start = time.process_time()
        answer = curator.ask(f"DP-SELECT 1 {text}", session=Session("ana"))
        if not isinstance(answer, Release):
            raise TypeError("a question is answered")
        times.append(time.process_time() - start)
        keys = [row[:-1] for row in answer.rows]
        errors += [(float(str(row[-1])) - exact.get(key, 0)) ** 2 for key, row in zip(keys, answer.rows, strict=True)]
    sizes = Counter(_name(body, key) for key in keys)
    groups = np.array([sizes[each.name] for each in shown.sets], dtype=np.float64)
    shares = least_split(groups, np.ones(len(groups)), power=LAPLACE)  # of ε = 1, for the least sum of squared errors
    alone = float(groups @ Law(LAPLACE, 1.0).variance(shares))
    gain = alone / sum(sizes.values()) / float(np.mean(errors))
    report.add(f"{name}: lower than one by one, times", gain, bar=at_least(1.1))
    report.add(f"{name}: CPU from text to answer", min(times), unit=" s")


def _name(body: str, row: tuple[object, ...]) -> str:
    """The set of a row: the keys that are not NULL in it."""
    return f"({', '.join(key for key, cell in zip(body.split(', '), row, strict=False) if cell is not None)})"


def _people(folder: Path) -> tuple[Curator, duckdb.DuckDBPyConnection]:
    def fill(connection: duckdb.DuckDBPyConnection) -> Exposed:
        connection.execute(TABLE)
        return Exposed(("people",))

    truth = duckdb.connect()
    truth.execute(TABLE)
    ledger = SqliteLedger(folder / "people.ledger", create=True)
    return Curator(parse_policy(POLICY), build(fill, UNLIMITED), ledger), truth
