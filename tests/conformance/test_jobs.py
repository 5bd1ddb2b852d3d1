"""Every kind of job, audited whole by the product's own auditor: charged, read, noisy and shown, on two neighbours.

A claim is broken wrongly with probability 1e-3 a job, and sources are seeded. So few answers certify little of an
honest job; noise that repeats itself is caught in every one of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pytest

from support.sources import Seeded
from tacit.attack import Certificate, audit
from tacit.core import Loss
from tacit.curator import Curator, Session
from tacit.curator.calibrate import Quantity, Target, calibrate, plan_calibration
from tacit.engines import Engine, open_engine
from tacit.learn import NaiveBayesClassifier
from tacit.learn.curated.fitting import TableLearner
from tacit.learn.curated.plans import FitRequest
from tacit.ledger import Ledger, SqliteLedger
from tacit.noise import Source
from tacit.policy import AnalystPolicy, BudgetPolicy, ColumnPolicy, Dataset, Policy, TablePolicy
from tacit.release.publishing import Publisher
from tacit.release.synthesise import SynthesisRequest

CLAIMED = 0.5
ANA = Session("ana")
COLUMNS = (
    ColumnPolicy("age", type="integer", lower=0, upper=9),
    ColumnPolicy("town", type="text", domain=["a", "b", "c"]),
    ColumnPolicy("ill", type="text", domain=["no", "yes"]),
)
ROWS = [(unit, unit % 10, "abc"[unit % 3], ("no", "yes")[unit % 2]) for unit in range(12)]
ADDED = [(99, 9, "a", "yes")] * 3  # of one unit, which may bring three


@dataclass(frozen=True)
class Side:
    """One of the neighbours: its engine, and a ledger that pays for whatever is asked."""

    policy: Policy
    engine: Engine
    ledger: Ledger

    def curator(self, source: Source) -> Curator:
        return Curator(self.policy, self.engine, self.ledger, source=source)


class Stuck:
    """Bits that start anew, the same, with every job: the noise has its law, and hides nobody."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._bits = Seeded(self._seed)

    def again(self) -> None:
        self._bits = Seeded(self._seed)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._bits, name)


Ask = Callable[[Side, Source, Curator], tuple[object, ...]]


def shown(release: Any) -> tuple[object, ...]:
    return tuple(None if cell is None else str(cell) for row in release.rows for cell in row)


def asked(text: str) -> Ask:
    return lambda side, source, curator: shown(curator.ask(text, session=ANA))


def batched(side: Side, source: Source, curator: Curator) -> tuple[object, ...]:
    questions = ["SELECT COUNT(*) FROM t", "SELECT town, COUNT(*) FROM t GROUP BY town"]
    found = curator.batch(questions, session=ANA, epsilon=CLAIMED, fresh=True)
    return tuple(cell for answer in found.answers for cell in shown(answer))


def calibrated(side: Side, source: Source, curator: Curator) -> tuple[object, ...]:
    targets = (
        Target("t", Quantity.MAX_ROWS, edges=(1, 2, 4, 8)),
        Target("t", Quantity.UPPER, ("age",), edges=(2, 5, 9)),
    )
    made = plan_calibration(
        side.policy,
        targets,
        schema=side.engine.schema(),
        price=Loss("1/2"),
        coverage=Fraction(19, 20),
        dialect="duckdb",
    )
    found = calibrate(made, side.policy, engine=side.engine, ledger=side.ledger, fresh=True, source=source)
    return (str(found.measured),)


def synthesised(side: Side, source: Source, curator: Curator) -> tuple[object, ...]:
    request = SynthesisRequest("t", "1/2", "1e-6", columns=("town", "ill"), fresh=True)
    paid = Publisher(side.policy, side.engine, side.ledger, source).publish(request, side.policy.analysts[0])
    return (paid.value.to_bytes().hex(),)


def fitted(side: Side, source: Source, curator: Curator) -> tuple[object, ...]:
    model = NaiveBayesClassifier()
    request = FitRequest("t", "ill", ("town",), epsilon="1/2", fresh=True)
    TableLearner(side.policy, side.engine, side.ledger, source).fit(model, request, "ana")
    return tuple(f"{share:.9f}" for share in model.predict_proba([["a"], ["b"], ["c"]]).ravel())


JOBS: dict[str, Ask] = {
    "question": asked("DP-SELECT 0.5 FRESH COUNT(*), SUM(age) FROM t"),
    "groups": asked("DP-SELECT 0.5 FRESH town, AVG(age) FROM t GROUP BY town"),
    "choice": asked("DP-SELECT 0.5 FRESH MEDIAN(age), MODE(town) FROM t"),
    "sets": asked("DP-SELECT 0.5 FRESH town, COUNT(*) FROM t GROUP BY ROLLUP (town)"),
    "within": asked("DP-SELECT WITHIN 18 FRESH COUNT(*) FROM t"),
    "batch": batched,
    "calibrate": calibrated,
    "synthesise": synthesised,
    "fit": fitted,
}
DRAWS = 36  # of each side: noise that is always the same certifies an epsilon of 0.64 by half of them


@pytest.fixture(scope="module")
def sides(tmp_path_factory) -> Iterator[tuple[Side, Side]]:
    made = [_side(tmp_path_factory.mktemp(f"side{number}"), rows) for number, rows in enumerate((ROWS, ROWS + ADDED))]
    yield made[0], made[1]
    for side in made:
        side.engine.close()
        side.ledger.close()


def _side(base: Path, rows: list[tuple[object, ...]]) -> Side:
    with closing(duckdb.connect(str(base / "t.duckdb"))) as connection:
        connection.execute("CREATE TABLE t (unit INTEGER, age INTEGER, town VARCHAR, ill VARCHAR)")
        connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", rows)
    policy = Policy(
        Dataset("small", "t.duckdb", base=base), BudgetPolicy(10**6, "0.5", default_delta="1e-6", reuse=False),
        tables=[TablePolicy("t", "unit", columns=COLUMNS, max_rows=3, max_groups=1)],
        analysts=[AnalystPolicy("ana", 10**6)],
    )  # fmt: skip
    return Side(policy, open_engine(policy), SqliteLedger(base / "t.ledger", create=True))


def played(sides: tuple[Side, Side], job: str, source: Any) -> Certificate:
    curators = [side.curator(source) for side in sides]

    def once(side: int) -> tuple[object, ...]:
        if isinstance(source, Stuck):
            source.again()
        return JOBS[job](sides[side], source, curators[side])

    return audit(
        lambda side, times: [once(side) for _ in range(times)],
        draws=DRAWS, delta=1e-6, claimed=CLAIMED, false_alarm=1e-3,
    )  # fmt: skip


@pytest.mark.parametrize("job", JOBS)
def test_a_job_gives_away_no_more_than_it_is_charged(sides, job):
    found = played(sides, job, Seeded(1))
    assert not found.violates, found.event


@pytest.mark.parametrize("job", JOBS)
def test_a_job_whose_noise_repeats_itself_is_caught(sides, job):
    seed = 5 if job == "calibrate" else 7  # at which what is chosen differs: of few choices most bits give the same
    assert played(sides, job, Stuck(seed)).violates
