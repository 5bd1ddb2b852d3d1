"""What a fit is charged covers what one unit really moves: every model, adjacency and accounting, told again."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pytest

import tacit
from conformance.charges import overheard
from conformance.retold import retold, rho_between, told
from support.sources import Seeded
from tacit.accounting import Zcdp, zcdp_of
from tacit.core import Loss
from tacit.engines import open_engine
from tacit.learn import (
    AdditiveClassifier,
    GaussianBayesClassifier,
    KMeansClusters,
    LogisticClassifier,
    NaiveBayesClassifier,
    NeighbourVotesClassifier,
    PrincipalComponents,
    RidgeRegressor,
    TreeClassifier,
)
from tacit.learn.classifiers import logistic
from tacit.learn.classifiers.logistic import Stage
from tacit.learn.curated import fitting
from tacit.learn.curated.fitting import TableLearner
from tacit.learn.curated.plans import FitRequest
from tacit.learn.saving import save_model
from tacit.learn.sums.studies import Declared
from tacit.ledger import SqliteLedger
from tacit.sql.workloads import binned

Row = tuple[Any, ...]
Table = list[Row]
POLICY = """\
[dataset]
name = "clinic"
source = "clinic.duckdb"
adjacency = "{adjacency}"
[budget]
epsilon = 1000
delta = 0.1
accounting = "{accounting}"
[tables.visits]
unit = "{unit}"
{bounds}
[tables.visits.columns]
age = {{ lower = 0, upper = 100, step = 1 }}
cost = {{ lower = -2, upper = 1000, step = "0.01" }}
ward = {{ domain = ["A", "B"] }}
pay = {{ lower = 0, upper = 50, step = 1 }}
[analysts.ana]
epsilon = 1000
"""
PRICE = Loss(3, Fraction(1, 10**6))
MODELS: dict[str, tuple[Callable[[], Any], str | None]] = {  # what it is, and what it predicts
    "additive": (lambda: AdditiveClassifier(rounds=3), "ward"),
    "bayes": (NaiveBayesClassifier, "ward"),
    "gaussian": (GaussianBayesClassifier, "ward"),
    "logistic": (LogisticClassifier, "ward"),
    "tree": (lambda: TreeClassifier(2), "ward"),
    "votes": (lambda: NeighbourVotesClassifier(partitions=2, places=4), "ward"),
    "ridge": (RidgeRegressor, "pay"),
    "components": (PrincipalComponents, None),
    "clusters": (lambda: KMeansClusters(3), None),
}
FAR = [
    ("far", 100, 1000.0, "A", 50),
    ("far", 0, -2.0, "B", 0),
    ("far", 100, 1e300, "B", 50),
    ("far", 0, -math.inf, "A", 0),
]
CROWD: Table = [(f"p{i}", 7 * i % 101, float(i * 37 % 1000), "AB"[i % 3 == 0], i * 11 % 50) for i in range(30)]


def neighbours(adjacency: str, unit: str) -> Iterator[tuple[Table, Table]]:
    """A row at an end of everything is gone, or the other end stands for it; or a unit of many rows is gone.

    Of one end, both labels: what a round has told of it speaks for one of them, and the other then moves all it may.
    """
    if unit == "row":
        for row, other in ((FAR[0], FAR[1]), (FAR[2], FAR[3])):
            yield [*CROWD, row], CROWD if adjacency == "add/remove" else [*CROWD, other]
        return
    for row in (FAR[0], FAR[2]):
        yield [*CROWD, *[row] * 5], CROWD
    yield [*CROWD, *FAR, FAR[0]], CROWD


def written(folder: Path, table: Table, **words: str) -> Path:
    folder.mkdir(exist_ok=True, parents=True)
    with duckdb.connect(str(folder / "clinic.duckdb")) as base:
        base.execute("CREATE OR REPLACE TABLE visits (who VARCHAR, age BIGINT, cost DOUBLE, ward VARCHAR, pay DOUBLE)")
        base.executemany("INSERT INTO visits VALUES (?, ?, ?, ?, ?)", table)
    (folder / "tacit.toml").write_text(POLICY.format(**words))
    return folder / "tacit.toml"


def fitted(path: Path, name: str) -> Any:
    """A model from these rows; what it draws but noise (where centres begin, who is in which part) is one seed's."""
    make, target = MODELS[name]
    policy, model = tacit.load_policy(path), make()
    request = FitRequest("visits", target, (), PRICE.epsilon, PRICE.delta, fresh=True)
    engine = open_engine(policy)
    with closing(engine), closing(SqliteLedger(path.parent / "its.ledger", create=True)) as ledger:
        TableLearner(policy, engine, ledger, Seeded(3)).fit(model, request, "ana")
    return model


def saved(model: Any, folder: Path) -> bytes:
    """All that there is of a model, as it is kept."""
    save_model(model, folder / "model")
    return (folder / "model").read_bytes()


def share_moved(folder: Path, name: str, adjacency: str, unit: str, accounting: str) -> Fraction:
    """What the unit that moves the most moves, in rho, as a share of what was charged."""
    bounds = "" if unit == "row" else "max_rows = 3"
    words = {"adjacency": adjacency, "unit": unit, "accounting": accounting, "bounds": bounds}
    most, models = Fraction(0), []
    for number, (one, other) in enumerate(neighbours(adjacency, unit)):
        first, second = (
            written(folder / f"{number} {side}", table, **words) for side, table in (("one", one), ("other", other))
        )
        with overheard() as heard:
            steps = told(lambda policy=first: models.append(fitted(policy, name)))
        (paid,) = heard
        again = retold(steps, lambda policy=second: models.append(fitted(policy, name)))
        assert saved(models[-1], folder) == saved(models[-2], folder)  # made of noisy numbers, and of nothing else
        most = max(most, rho_between(steps, again))
        assert paid.charge.loss == PRICE
        assert paid.charge.zcdp == zcdp_of(models[-1].event_)
    return most / paid.charge.zcdp.rho


CASES = [
    ("add/remove", "row", "approximate"),
    ("replace", "row", "zcdp"),
    ("add/remove", "who", "zcdp"),
]


@pytest.fixture(autouse=True)
def few_rounds(monkeypatch):
    """Of a logistic model one stage, at the whole price."""
    monkeypatch.setattr(logistic, "STAGES", (Stage(Fraction(1, 5), Fraction(4, 5), 2),))


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize(("adjacency", "unit", "accounting"), CASES)
def test_no_unit_moves_more_than_is_charged(tmp_path, name, adjacency, unit, accounting):
    """And some unit moves much of it: where rows are replaced a half, for what two rows are told apart by is counted
    as if both pulled the same way."""
    share = share_moved(tmp_path, name, adjacency, unit, accounting)
    least = Fraction(1, 20) if name == "logistic" else Fraction(1, 3) if adjacency == "replace" else Fraction(4, 5)
    assert least <= share <= 1


# ── planted ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def units_of_one_row(patch):
    patch.setattr(Declared, "times", property(lambda self: self.adjacency.steps))


def rows_that_nobody_bounds(patch):
    patch.setattr(binned, "sample_rows", lambda tree, _: tree)


def a_replaced_row_as_cheap_as_a_removed_one(patch):
    patch.setattr(Declared, "times", property(lambda self: self.rows))


def a_tenth_of_rho(patch):
    whole = fitting.concentrated
    patch.setattr(fitting, "concentrated", lambda event: Zcdp(whole(event).rho / 10, 0))


@pytest.mark.parametrize("name", ["bayes", "ridge", "clusters"])
@pytest.mark.parametrize(
    ("planted", "case"),
    [
        (units_of_one_row, CASES[2]),
        (rows_that_nobody_bounds, CASES[2]),
        (a_replaced_row_as_cheap_as_a_removed_one, CASES[1]),
        (a_tenth_of_rho, CASES[0]),
    ],
)
def test_a_planted_wrong_charge_is_caught(tmp_path, monkeypatch, name, planted, case):
    planted(monkeypatch)
    with pytest.raises(AssertionError):
        test_no_unit_moves_more_than_is_charged(tmp_path, name, *case)


def test_a_model_that_keeps_an_exact_number_is_caught(tmp_path, monkeypatch):
    """Of a ridge model, how many rows there are."""
    whole = TableLearner.fit

    def looking(self, model, request, analyst):
        whole(self, model, request, analyst)
        model.exact_ = int(self.engine.execute("SELECT COUNT(*) AS n FROM visits").integers("n")[0])

    monkeypatch.setattr(TableLearner, "fit", looking)
    with pytest.raises(AssertionError):
        test_no_unit_moves_more_than_is_charged(tmp_path, "ridge", *CASES[0])
