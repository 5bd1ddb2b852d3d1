"""A boosted model of ten million rows in DuckDB: CPU seconds, and how much of them the engine has."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

import duckdb

import tacit
from bench.report import Report, at_least
from tacit.engines import Exact, open_engine
from tacit.learn import AdditiveClassifier
from tacit.learn.curated.fitting import TableLearner
from tacit.learn.curated.plans import FitRequest
from tacit.ledger import SqliteLedger

ROWS, ROUNDS = 10_000_000, 60
MADE = """
CREATE TABLE people AS SELECT
  (17 + hash(i) % 74)::INT AS age, (1 + hash(i + 1) % 99)::INT AS hours,
  ['Bern', 'Chur', 'Genf', 'Olten'][(1 + hash(i + 2) % 4)::INT] AS town,
  round(exp((hash(i + 3) % 1000)::DOUBLE / 100), 2) AS pay, (hash(i + 4) % 12)::INT AS job,
  (hash(i) % 74)::INT + (hash(i + 1) % 99)::INT + (hash(i + 5) % 80)::INT > 130 AS rich
FROM range({rows}) t(i)
"""
POLICY = """
[dataset]
name = "people"
source = "people.duckdb"
[budget]
epsilon = 100
delta = 1e-3
[tables.people]
unit = "row"
[tables.people.columns]
age = { lower = 17, upper = 90, step = 1 }
hours = { lower = 1, upper = 99, step = 1 }
town = { domain = ["Bern", "Chur", "Genf", "Olten"] }
pay = { lower = 0, upper = 20000, step = 0.01 }
job = { domain = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11] }
rich = { domain = [false, true] }
[analysts.ana]
epsilon = 100
"""


class Timed:
    """An engine whose CPU seconds are added up."""

    def __init__(self, engine: Any) -> None:
        self._engine, self.seconds, self.queries = engine, 0.0, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def execute(self, sql: str) -> Exact:
        began = time.process_time()
        exact: Exact = self._engine.execute(sql)
        self.seconds += time.process_time() - began
        self.queries += 1
        return exact


def run(report: Report) -> None:
    rows = report.share(ROWS)
    report.section("Learn in an engine", f"an additive model, {ROUNDS} rounds, {rows:,} rows of five columns in DuckDB")
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        with duckdb.connect(str(place / "people.duckdb")) as base:
            base.execute(MADE.format(rows=rows))
        (place / "tacit.toml").write_text(POLICY, encoding="utf-8")
        policy = tacit.load_policy(place / "tacit.toml")
        engine, ledger = Timed(open_engine(policy)), SqliteLedger(place / "its.ledger", create=True)
        model = AdditiveClassifier(epsilon=1, delta=1e-6, rounds=ROUNDS)
        began = time.process_time()
        TableLearner(policy, engine, ledger).fit(model, FitRequest("people", "rich"), "ana")  # type: ignore[arg-type]
        whole = time.process_time() - began
        began = time.process_time()
        engine.execute("SELECT age, COUNT(*) AS n FROM people GROUP BY age")
        plain = time.process_time() - began
        ledger.close()
        engine.close()
    report.add("CPU of a fit", whole, unit=" s")
    report.add("of which the engine", engine.seconds / whole, bar=at_least(0.9))
    report.add("CPU of a round in the engine", engine.seconds / (1 + ROUNDS), unit=" s")
    report.add("a round beside a plain GROUP BY of one column", engine.seconds / (1 + ROUNDS) / plain, unit="×")
