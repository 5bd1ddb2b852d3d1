"""A batch answered as a whole beside its questions one by one: mean squared error at ε = 1, and the time it takes."""

from __future__ import annotations

import itertools
import tempfile
import time
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np

from bench.report import Report, at_least
from tacit.curator import Curator, Session
from tacit.engines.base import UNLIMITED
from tacit.engines.duckdb import build
from tacit.engines.sources import Exposed
from tacit.ledger import SqliteLedger
from tacit.mechanisms import Laplace
from tacit.mechanisms.strategy import (
    StrategyNoise,
    Workload,
    all_ranges,
    apply,
    choose,
    each,
    everything,
)
from tacit.policy import parse_policy

RUNS = 100
CELLS = 1024
QUESTIONS = 200

POLICY = f"""
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
place = {{ lower = 0, upper = {CELLS - 1}, step = 1, domain = "range" }}
""" + "".join(f"b{place} = {{ domain = [0, 1] }}\n" for place in range(8))


def run(report: Report) -> None:
    report.section("batches", "mean squared error at ε = 1, beside the best split of ε over the questions one by one")
    _ranges(report)
    _pairs(report)
    _through_sql(report)


def _ranges(report: Report) -> None:
    workload = Workload((CELLS,), ((all_ranges(CELLS),),))
    start = time.process_time()
    noise = _noise(workload)
    report.add(f"choosing a strategy for {workload.rows:,} ranges, CPU", time.process_time() - start, unit=" s")
    error = _error(workload, noise, report.share(RUNS))
    alone, cells = Laplace(workload.rows).variance, Laplace(1).variance * (CELLS + 2) / 3
    report.add(f"all ranges over {CELLS:,} cells: lower than one by one, times", alone / error, bar=at_least(5))
    report.add("the same: lower than the cells alone, times", cells / error)


def _pairs(report: Report) -> None:
    pairs = list(itertools.combinations(range(8), 2))
    blocks = tuple(tuple(each(2) if place in pair else everything(2) for place in range(8)) for pair in pairs)
    workload = Workload((2,) * 8, blocks)
    error = _error(workload, _noise(workload), report.share(RUNS))
    report.add(
        "all pairs of 8 binary attributes: lower than one by one, times",
        Laplace(len(pairs)).variance / error,
        bar=at_least(1.5),
    )
    report.add("the same: lower than the cells alone, times", Laplace(1).variance * 64 / error)


def _noise(workload: Workload) -> StrategyNoise:
    return StrategyNoise.laplace(choose(workload, noise=Laplace(1)).strategy, Fraction(1))


def _error(workload: Workload, noise: StrategyNoise, runs: int) -> float:
    histogram = np.random.default_rng(1).integers(0, 50, workload.sizes)
    total = 0.0
    for _ in range(runs):
        error = noise.cells(noise.release(histogram)) - histogram
        total += sum(float(np.sum(apply(block, error) ** 2)) for block in workload.blocks)
    return total / runs / workload.rows


def _through_sql(report: Report) -> None:
    """The same from SQL text to answers, with what a policy leaves open: NULLs and values outside of the domain."""
    generator = np.random.default_rng(2)
    ends = np.sort(generator.integers(0, CELLS, (report.share(QUESTIONS), 2)), axis=1).tolist()
    ranges = [f"SELECT COUNT(*) FROM people WHERE place BETWEEN {low} AND {high}" for low, high in ends]
    pairs = [
        f"SELECT b{a}, b{b}, COUNT(*) FROM people GROUP BY b{a}, b{b}" for a, b in itertools.combinations(range(8), 2)
    ]
    with tempfile.TemporaryDirectory() as folder:
        curator, truth = _people(Path(folder))
        for name, questions, bar in (("ranges", ranges, 5), ("pairs of 8 attributes", pairs, 1.5)):
            exact = [
                truth.execute(f"{text} ORDER BY ALL" if "GROUP" in text else text).fetchall() for text in questions
            ]
            times, errors = [], []
            for _ in range(report.share(10)):
                start = time.process_time()
                batch = curator.batch(questions, session=Session("ana"), epsilon=1)
                times.append(time.process_time() - start)
                found = [[row[-1] for row in answer.rows] for answer in batch]
                wanted = [[row[-1] for row in rows] for rows in exact]
                errors += [
                    (f - w) ** 2 for fs, ws in zip(found, wanted, strict=True) for f, w in zip(fs, ws, strict=True)
                ]
            alone = Laplace(len(questions)).variance
            what = f"{len(questions)} {name} asked in SQL"
            report.add(f"{what}: lower than one by one, times", alone / float(np.mean(errors)), bar=at_least(bar))
            report.add(f"{what}: CPU", min(times), unit=" s")
        curator.close()


def _people(folder: Path) -> tuple[Curator, duckdb.DuckDBPyConnection]:
    made = ", ".join(f"CAST((i >> {place}) % 2 AS INTEGER) AS b{place}" for place in range(8))
    table = (
        f"CREATE TABLE people AS SELECT CAST(i * i % {CELLS} AS INTEGER) AS place, {made} FROM range(100000) AS made(i)"
    )

    def fill(connection: duckdb.DuckDBPyConnection) -> Exposed:
        connection.execute(table)
        return Exposed(("people",))

    truth = duckdb.connect()
    truth.execute(table)
    policy = parse_policy(POLICY)
    return Curator(policy, build(fill, UNLIMITED), SqliteLedger(folder / "l.ledger", create=True)), truth
