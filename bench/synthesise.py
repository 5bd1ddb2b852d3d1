"""Synthetic tables: how far their marginals are from the truth, and what a classifier learns from them.

Adult as the literature codes it, where ../shared/data has it, and rows made up here; all through the door: a policy, a
ledger, the engine's counts. The distance is the total variation, averaged over all marginals of two and of three
columns with at most ten thousand cells. The classifier is a logistic regression on indicator columns, trained on
synthetic rows and tested on the real ones.
"""

from __future__ import annotations

import itertools
import resource
import tempfile
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench.report import Report, at_least, below
from tacit.engines import open_engine
from tacit.ledger import SqliteLedger
from tacit.policy import AnalystPolicy, BudgetPolicy, ColumnPolicy, Dataset, FileSource, Policy, TablePolicy
from tacit.release.publishing import Publisher
from tacit.release.synthesise import SynthesisRequest

ADULT = Path(__file__).parents[1] / "../shared/data/adult-codes.csv"
SIZES = (85, 9, 100, 16, 7, 15, 6, 5, 2, 100, 100, 99, 42, 2)
ORDERED = (True, False, True, True, False, False, False, False, False, True, True, True, False, False)
MOST_CELLS = 10_000
DELTA = "1e-9"
RUNS = 3
Codes = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Bars:
    epsilon: str
    two: float
    three: float
    auc: float


BARS = (Bars("0.1", 0.103, 0.152, 0.80), Bars("1", 0.030, 0.053, 0.895), Bars("10", 0.012, 0.029, 0.905))


@dataclass(frozen=True, slots=True)
class Coded:
    """Rows of whole numbers, and how many values each column may have."""

    name: str
    rows: Codes
    sizes: tuple[int, ...]
    ordered: tuple[bool, ...]

    def marginal(self, rows: Codes, axes: tuple[int, ...]) -> NDArray[np.float64]:
        cells = np.zeros(len(rows), dtype=np.int64)
        for axis in axes:
            cells = cells * self.sizes[axis] + rows[:, axis]
        size = int(np.prod([self.sizes[axis] for axis in axes]))
        return np.bincount(cells, minlength=size) / max(1, len(rows))

    def distance(self, made: Codes, ways: int) -> float:
        """The mean total variation over all marginals of so many columns."""
        few = [
            axes
            for axes in itertools.combinations(range(len(self.sizes)), ways)
            if np.prod([self.sizes[axis] for axis in axes]) <= MOST_CELLS
        ]
        gaps = [np.abs(self.marginal(made, axes) - self.marginal(self.rows, axes)).sum() / 2 for axes in few]
        return float(np.mean(gaps))


def adult() -> Coded:
    rows = np.loadtxt(ADULT, delimiter=",", skiprows=1, dtype=np.int64)
    return Coded("adult", rows, SIZES, ORDERED)


def made_up(number: int = 30_000) -> Coded:
    """A table of another kind: a hidden class, seasons, a long tail, a column that two others make, a rare flag."""
    random = np.random.default_rng(7)
    hidden = random.integers(0, 6, number)
    season = (hidden * 2 + random.integers(0, 4, number)) % 12
    spent = np.minimum(random.pareto(1.2, number) * (hidden + 1) * 3, 59).astype(np.int64)
    region = np.where(
        random.random(number) < 0.7, hidden * 4 + random.integers(0, 4, number), random.integers(0, 24, number)
    )
    age = np.clip(random.normal(20 + 8 * hidden, 9), 0, 79).astype(np.int64)
    flag = (random.random(number) < np.where(spent > 20, 0.3, 0.01)).astype(np.int64)
    both = (season // 3 + 4 * (age // 40)) % 8
    label = (random.random(number) < 1 / (1 + np.exp(-(hidden - 2.5 + 0.05 * (age - 40))))).astype(np.int64)
    rows = np.stack([season, spent, region, age, flag, both, random.integers(0, 5, number), label], axis=1)
    return Coded("made up", rows, (12, 60, 24, 80, 2, 8, 5, 2), (True, True, False, True, False, False, False, False))


def hospital(number: int = 50_000) -> Coded:
    """Visits to a hospital: many diagnoses by Zipf's law, hours and months, three columns that only together tell.

    Nothing was ever tuned on it: no setting was tried on it before it was written down, nor changed since.
    """
    random = np.random.default_rng(2026)
    diagnosis = np.minimum(random.zipf(1.3, number) - 1, 179)
    group = diagnosis * 7 % 9
    age = np.clip(random.normal(35 + 5 * group, 18), 0, 104).astype(np.int64)
    sex = (random.random(number) < np.where(group == 4, 0.95, 0.48)).astype(np.int64)
    ward = np.where(random.random(number) < 0.8, group + 3 * (age < 16), random.integers(0, 12, number)) % 12
    month = np.where(group == 2, random.choice([0, 1, 10, 11], number), random.integers(0, 12, number))
    night = random.random(number) < np.where(group > 6, 0.6, 0.2)
    hour = np.where(night, random.integers(20, 30, number) % 24, np.clip(random.normal(11, 3, number), 0, 23))
    stay = np.minimum(random.geometric(1 / (1.5 + group * (age > 60))) - 1, 59)
    cost = np.minimum((stay + 1) * random.lognormal(0.4 * (group % 4), 0.7), 99).astype(np.int64)
    insurance = random.choice(5, number, p=[0.5, 0.25, 0.15, 0.07, 0.03])
    blood = random.choice(8, number, p=[0.37, 0.35, 0.08, 0.06, 0.06, 0.05, 0.02, 0.01])
    odds = -2 + 0.03 * (age - 50) + 0.1 * stay + 1.5 * ((sex == 1) ^ (group % 2 == 1))
    again = (random.random(number) < 1 / (1 + np.exp(-odds))).astype(np.int64)
    columns = [diagnosis, age, sex, ward, month, hour.astype(np.int64), stay, cost, insurance, blood, again]
    sizes = (180, 105, 2, 12, 12, 24, 60, 100, 5, 8, 2)
    ordered = (False, True, False, False, True, True, True, True, False, False, False)
    return Coded("hospital", np.stack(columns, axis=1), sizes, ordered)


def policy_of(coded: Coded, base: Path) -> Policy:
    names = [f"c{place}" for place in range(len(coded.sizes))]
    header = ",".join(names)
    np.savetxt(base / "t.csv", coded.rows, fmt="%d", delimiter=",", header=header, comments="")
    columns = [
        ColumnPolicy(name, type="integer", lower=0, upper=size - 1, domain="range", null=0)
        if ordered
        else ColumnPolicy(name, type="integer", domain=list(range(size)), null=0)
        for name, size, ordered in zip(names, coded.sizes, coded.ordered, strict=True)
    ]
    return Policy(
        Dataset("bench", FileSource((("t", "t.csv"),)), base=base),
        BudgetPolicy(1_000, "1e-3"),
        tables=[TablePolicy("t", "row", columns=columns, rows=round(len(coded.rows), -4))],
        analysts=[AnalystPolicy("ana", 1_000)],
    )


def auc(coded: Coded, made: Codes) -> float:
    from scipy.optimize import minimize
    from scipy.sparse import csr_matrix

    width = len(coded.sizes) - 1
    starts = np.concatenate([[0], np.cumsum(coded.sizes[:width])])

    def indicators(rows: Codes) -> csr_matrix:
        places = (rows[:, :width] + starts[:-1]).ravel()
        lines = np.arange(0, width * len(rows) + 1, width)
        return csr_matrix((np.ones(places.size), places, lines), shape=(len(rows), int(starts[-1])))

    seen, sign = indicators(made), 2 * made[:, width] - 1

    def loss(weights: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        margin = sign * (seen @ weights[:-1] + weights[-1])
        pull = -sign * np.exp(-np.logaddexp(0, margin))
        value = float(np.logaddexp(0, -margin).sum() + 0.5 * weights[:-1] @ weights[:-1])
        return value, np.append(seen.T @ pull + weights[:-1], pull.sum())

    found = minimize(loss, np.zeros(int(starts[-1]) + 1), jac=True, method="L-BFGS-B", options={"maxiter": 150}).x
    rank = np.argsort(np.argsort(indicators(coded.rows) @ found[:-1], kind="stable")) + 1.0
    yes = coded.rows[:, width] == 1
    return float((rank[yes].sum() - yes.sum() * (yes.sum() + 1) / 2) / (yes.sum() * (~yes).sum()))


def synthesised(coded: Coded, epsilon: str, method: str) -> tuple[Codes, float, int]:
    """Rows through the door, the seconds of CPU that the model and they took, and the bytes of the model."""
    with tempfile.TemporaryDirectory() as folder:
        policy = policy_of(coded, Path(folder))
        with (
            closing(open_engine(policy)) as engine,
            closing(SqliteLedger(Path(folder, "ledger"), create=True)) as ledger,
        ):
            start = time.process_time()
            request = SynthesisRequest("t", epsilon, DELTA, method=method)
            model = Publisher(policy, engine, ledger).publish(request, policy.analyst("ana")).value
            table = model.sample()
            spent = time.process_time() - start
    return np.array(table.lists(), dtype=np.int64).T, spent, len(model.to_bytes())


def run(report: Report) -> None:
    there = ADULT.is_file()
    for coded in [*([adult()] if there else []), made_up(), hospital()]:
        barred = coded.name == "adult"
        said = f"{coded.name}: {len(coded.rows):,} rows, {len(coded.sizes)} columns, delta {DELTA}"
        report.section("synthesise", said)
        floor = coded.rows[np.random.default_rng(1).integers(0, len(coded.rows), len(coded.rows))]
        report.add("a bootstrap of the rows: 2-way distance", coded.distance(floor, 2))
        report.add("a bootstrap of the rows: 3-way distance", coded.distance(floor, 3))
        random = np.random.default_rng(2)
        alone = np.stack([random.permutation(column) for column in coded.rows.T], axis=1)
        report.add("columns shuffled, no privacy: 2-way distance", coded.distance(alone, 2))
        report.add("trained on the real rows: AUC", auc(coded, coded.rows))
        for bars in BARS:
            _measured(report, coded, bars, barred=barred)
        if report.long:
            for method in ("mst", "aim"):
                rows, seconds, _ = synthesised(coded, "1", method)
                report.add(f"{method}, ε = 1: 2-way distance", coded.distance(rows, 2))
                report.add(f"{method}, ε = 1: 3-way distance", coded.distance(rows, 3))
                report.add(f"{method}, ε = 1: AUC", auc(coded, rows))
                report.add(f"{method}, ε = 1: CPU", seconds, unit=" s")
    report.add("peak memory", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, unit=" MB", bar=below(500))


def _measured(report: Report, coded: Coded, bars: Bars, *, barred: bool) -> None:
    runs = [synthesised(coded, bars.epsilon, "auto") for _ in range(report.share(RUNS))]
    two, three = (float(np.mean([coded.distance(rows, ways) for rows, _, _ in runs])) for ways in (2, 3))
    learnt = float(np.mean([auc(coded, rows) for rows, _, _ in runs]))
    name = f"ε = {bars.epsilon}, mean of {len(runs)}"
    report.add(f"{name}: 2-way distance", two, bar=below(bars.two) if barred else None)
    report.add(f"{name}: 3-way distance", three, bar=below(bars.three) if barred else None)
    report.add(f"{name}: AUC", learnt, bar=at_least(bars.auc) if barred else None)
    report.add(f"{name}: CPU", max(seconds for _, seconds, _ in runs), unit=" s", bar=below(20) if barred else None)
    report.add(f"{name}: the model", max(size for _, _, size in runs) / 1024, unit=" KB")
