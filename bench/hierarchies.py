"""Hierarchical counts: how long a hundred thousand places take, and how far each level is off beside bottom-up."""

from __future__ import annotations

import tempfile
import time
from contextlib import closing
from pathlib import Path

import duckdb
import numpy as np

from bench.report import Report, below
from tacit.engines import open_engine
from tacit.ledger import SqliteLedger
from tacit.policy import AnalystPolicy, BudgetPolicy, ColumnPolicy, Dataset, FileSource, Policy, TablePolicy
from tacit.release.hierarchies import HierarchicalCounts, HierarchyRequest
from tacit.release.publishing import Publisher

LEVELS = ("country", "region", "district")
TOWNS = 100_000
PEOPLE = 2_000_000


def policy_of(base: Path, towns: int, people: int) -> Policy:
    with duckdb.connect() as made:
        made.execute(f"""COPY (SELECT i AS town, i // 20 AS district, i // 1000 AS region, i // 10000 AS country
            FROM range({towns}) AS t(i)) TO '{base}/places.parquet'""")
        made.execute(f"""COPY (SELECT CAST({towns} * power(hash(i) / 18446744073709551616.0, 2) AS BIGINT) % {towns}
            AS town, hash(i + 1) % 5 AS age, hash(i + 2) % 2 AS sex FROM range({people}) AS t(i))
            TO '{base}/people.parquet'""")
    columns = [
        ColumnPolicy("town", type="integer", domain={"table": "places", "column": "town"}),
        ColumnPolicy("age", type="integer", domain=list(range(5)), null=0),
        ColumnPolicy("sex", type="integer", domain=[0, 1], null=0),
    ]
    return Policy(
        Dataset("bench", FileSource((("people", "people.parquet"), ("places", "places.parquet"))), base=base),
        BudgetPolicy(1_000, "1e-3"),
        tables=[TablePolicy("people", "row", columns=columns), TablePolicy("places", public=True)],
        analysts=[AnalystPolicy("ana", 1_000)],
    )


def errors(found: HierarchicalCounts, base: Path) -> list[float]:
    """The root mean square error of the totals of every level."""
    out = []
    with duckdb.connect() as reader:
        names = ("country", "region", "district", "p.town")
        for level in range(len(found.levels)):
            keys = ", ".join(names[:level])
            true = reader.execute(
                f"SELECT {keys + ', ' if keys else ''}COUNT(*) FROM '{base}/people.parquet' p"
                f" JOIN '{base}/places.parquet' l ON p.town = l.town {'GROUP BY ' + keys if keys else ''}"
            ).fetchall()
            known = {row[:-1]: row[-1] for row in true}
            counted = found.counts[level].sum(axis=1).tolist()
            gaps = [count - known.get(path, 0) for path, count in zip(found.paths[level], counted, strict=True)]
            out.append(float(np.sqrt(np.mean(np.square(gaps)))))
    return out


def run(report: Report) -> None:
    towns, people = report.share(TOWNS), report.share(PEOPLE)
    report.section("hierarchies", f"{towns:,} towns by 10 cells, {people:,} people, five levels, epsilon 1")
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        policy = policy_of(base, towns, people)
        with closing(open_engine(policy)) as engine, closing(SqliteLedger(base / "ledger", create=True)) as ledger:
            door, who = Publisher(policy, engine, ledger), policy.analyst("ana")
            asked = {"delta": "1e-9", "levels": LEVELS, "by": ("age", "sex")}
            start = time.process_time()
            found = door.publish(HierarchyRequest("people", "town", 1, **asked), who).value
            report.add(f"{towns:,} places, counted and made consistent: CPU", time.process_time() - start, unit=" s",
                       bar=below(60))  # fmt: skip
            up = door.publish(HierarchyRequest("people", "town", 1, shares=(0, 0, 0, 0, 1), **asked), who).value
        for level, ours, theirs in zip(found.levels, errors(found, base), errors(up, base), strict=True):
            report.add(f"{level}: error of a total", ours, bar=below(theirs) if level in {"all", "country"} else None)
            report.add(f"{level}: bottom-up, the whole price on towns", theirs)
