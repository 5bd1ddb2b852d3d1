"""A model behind a curator: counted by the engine as arrays are counted, charged before, bounded by the unit."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

import tacit
from conformance.charges import overheard
from tacit.accounting import zcdp_of
from tacit.core import GaussianEvent, Loss, sqrt_above
from tacit.engines import open_engine
from tacit.errors import BudgetExceeded, InvalidParameter, QueryRefused, TacitError, UnknownName
from tacit.learn import AdditiveClassifier, load_model, save_model
from tacit.learn.curated.fitting import TableLearner
from tacit.learn.curated.plans import FitRequest
from tacit.learn.sums.array_rows import ArrayCells
from tacit.learn.sums.cells import offsets
from tacit.learn.sums.engine_rows import EngineCells
from tacit.learn.sums.residuals import CLIP, REACH
from tacit.ledger import SqliteLedger
from tacit.sql.workloads import binned

POLICY = """\
[dataset]
name = "clinic"
source = "clinic.duckdb"
[budget]
epsilon = 20
delta = 1e-4
{budget}
[tables.visits]
unit = "{unit}"
{bounds}
[tables.visits.columns]
age = {{ lower = 0, upper = 100, step = 1 }}
cost = {{ lower = 0, upper = 10000, step = "0.01" }}
ward = {{ domain = ["A", "B", "it's"] }}
ill = {{ domain = ["no", "yes"] }}
note = {{}}
secret = {{ lower = 0, upper = 9, step = 1, hidden = true }}
[analysts.ana]
epsilon = 10
[analysts.bob]
epsilon = 10
"""
HOSTILE = [
    ("p1", 20, 3.5, "A", "yes"),
    ("p1", None, math.nan, None, "no"),
    ("p1", -5, math.inf, "it's", "yes"),
    ("p2", 2_000_000, -math.inf, "never declared", "no"),
    ("p2", 50, 1e300, "a", "no"),
    (None, 40, 12.0, "B", "yes"),
    ("p3", 40, 12.0, "B", None),
    ("p3", 41, 13.0, "B", "perhaps"),
    ("p3", 99, 9_999.99, "B", "yes"),
]


def made(folder: Path, rows: list[tuple[Any, ...]] = HOSTILE, *, unit: str = "row", bounds: str = "", budget: str = ""):
    folder.mkdir(exist_ok=True)
    with duckdb.connect(str(folder / "clinic.duckdb")) as base:
        base.execute(
            "CREATE OR REPLACE TABLE visits (who VARCHAR, age BIGINT, cost DOUBLE, ward VARCHAR, ill VARCHAR, "
            "note VARCHAR, secret INTEGER)"
        )
        for first in range(0, len(rows), 500):
            some = rows[first : first + 500]
            values = ", ".join(["(?, ?, ?, ?, ?, 'x', 1)"] * len(some))
            base.execute(f"INSERT INTO visits VALUES {values}", [cell for row in some for cell in row])
    text = POLICY.format(unit=unit, bounds=bounds, budget=budget)
    (folder / "tacit.toml").write_text(text)
    return folder / "tacit.toml"


def crowd(count: int, seed: int = 5) -> list[tuple[Any, ...]]:
    rng = np.random.default_rng(seed)
    age, cost, ward = rng.integers(0, 101, count), rng.exponential(900, count), rng.choice(["A", "B", "it's"], count)
    odds = (age - 50) / 8 + np.where(ward == "A", 1.5, -1)
    ill = np.where(rng.random(count) < 1 / (1 + np.exp(-odds)), "yes", "no")
    return [(f"p{i}", *each) for i, each in enumerate(zip(age.tolist(), cost.tolist(), ward, ill, strict=True))]


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[tacit.Database]:
    with tacit.open(made(tmp_path), analyst="ana") as database:
        yield database


def counting(folder: Path, rows: list[tuple[Any, ...]], **options: str) -> tuple[EngineCells, Any]:
    policy = tacit.load_policy(made(folder, rows, **options))
    engine = open_engine(policy)
    learner = TableLearner(policy, engine, SqliteLedger(folder / "other.ledger", create=True))
    plan = learner.plan(AdditiveClassifier(delta=1e-6), FitRequest("visits", "ill"))
    return EngineCells(plan.coded, plan.model.cells, engine.execute), plan


def random_round(plan: Any, seed: int) -> tuple[np.ndarray, int, np.ndarray]:
    rng = np.random.default_rng(seed)
    size = int(offsets(plan.model.cells)[-1])
    scores = rng.integers(-REACH, REACH + 1, size) // (1 + seed % 40)
    groups, first = [], 0
    for cells in plan.model.cells:
        groups.append(first + np.arange(cells.size) // 2 % 3)
        first += 3
    return scores, int(rng.integers(-900, 900)), np.concatenate(groups)


def test_an_engine_counts_what_arrays_count(tmp_path):
    rows = [*HOSTILE, *crowd(150)]
    engine, plan = counting(tmp_path, rows)
    known = [row for row in rows if row[4] in {"no", "yes"}]
    table = np.empty((len(known), 3), dtype=object)
    for place, row in enumerate(known):
        table[place] = row[1:4]
    codes = [cells.codes(table[:, place]) for place, cells in enumerate(plan.model.cells)]
    arrays = ArrayCells(plan.model.cells, codes, np.array([row[4] == "yes" for row in known]))
    assert plan.names == ("age", "cost", "ward")
    assert (engine.counts() == arrays.counts()).all()
    for seed in range(6):
        scores, intercept, groups = random_round(plan, seed)
        found = engine.residuals(scores, intercept, groups=groups)
        assert (found == arrays.residuals(scores, intercept, groups=groups)).all()
        assert found.any()


@pytest.mark.parametrize("max_rows", [1, 2])
def test_no_unit_moves_a_histogram_further_than_it_is_charged_for(max_rows, tmp_path):
    compare_without_each_unit(max_rows, tmp_path)


def test_rows_that_nobody_bounds_are_noticed(tmp_path, monkeypatch):
    monkeypatch.setattr(binned, "sample_rows", lambda tree, _: tree)
    with pytest.raises(AssertionError):
        compare_without_each_unit(2, tmp_path)


def compare_without_each_unit(max_rows, tmp_path):
    options = {"unit": "who", "bounds": f"max_rows = {max_rows}"}
    rows = [*HOSTILE, *(("p1", age, 5.0, "A", "yes") for age in range(0, 100, 9))]
    units = {row[0] for row in rows} - {None}
    whole, plan = counting(tmp_path / "whole", rows, **options)
    scores, intercept, groups = random_round(plan, 3)
    before = whole.counts(), whole.residuals(scores, intercept, groups=groups)
    assert before[0].sum() <= max_rows * len(units) * 3
    for unit in units:
        less, _ = counting(tmp_path / f"less {unit}", [row for row in rows if row[0] != unit], **options)
        after = less.counts(), less.residuals(scores, intercept, groups=groups)
        moved = [int(((one - other) ** 2).sum()) for one, other in zip(before, after, strict=True)]
        assert moved[0] <= plan.model.count_moves**2
        assert moved[1] <= plan.model.residual_moves**2
        assert plan.model.residual_moves == max_rows * CLIP * sqrt_above(Fraction(3))


def test_a_fit_is_charged_what_the_noise_it_drew_costs(opened):
    before = opened.budget.left
    with overheard() as heard:
        model = opened.fit(AdditiveClassifier(delta="0.000001", rounds=3), "visits", target="ill")
    (paid,) = heard
    assert paid.charge.loss == Loss(1, Fraction(1, 10**6)) == model.loss_
    assert paid.charge.kind == "fit"
    drawn = [noise.sigma for noise in paid.drawn]
    assert len(drawn) == 1 + 3
    root = sqrt_above(Fraction(3))
    rho = GaussianEvent(root**2 / (2 * drawn[0] ** 2)).rho + sum(
        GaussianEvent((CLIP * root) ** 2 / (2 * sigma**2)).rho for sigma in drawn[1:]
    )
    assert zcdp_of(model.event_).rho == rho
    assert paid.charge.zcdp is not None
    assert rho <= paid.charge.zcdp.rho <= rho * (1 + Fraction(1, 10**9))
    assert opened.budget.left.epsilon == before.epsilon - 1


def test_the_same_fit_again_is_the_same_model_and_free(tmp_path):
    with tacit.open(made(tmp_path, crowd(500)), analyst="ana") as database:
        first = database.fit(AdditiveClassifier(rounds=2), "visits", target="ill", epsilon=3)
        left = database.budget.left
        again = database.fit(AdditiveClassifier(rounds=2), "visits", target="ill", epsilon=3)
        assert database.budget.left == left
        fresh = database.fit(AdditiveClassifier(rounds=2), "visits", target="ill", epsilon=3, fresh=True)
        assert database.budget.left.epsilon == left.epsilon - 3
    assert first.weights_[0].any()  # of so many rows an age says more than noise does: something is left to compare
    assert (again.weights_[0] == first.weights_[0]).all()
    assert again.intercept_ == first.intercept_
    assert (fresh.weights_[0] != first.weights_[0]).any()


def test_no_fit_is_given_again_where_the_policy_has_nothing_reused(tmp_path):
    path = made(tmp_path, crowd(500), budget="reuse = false")
    with tacit.open(path, analyst="ana") as database:
        before = database.budget.left.epsilon
        models = [database.fit(AdditiveClassifier(rounds=2), "visits", target="ill", epsilon=3) for _ in range(2)]
        assert database.budget.left.epsilon == before - 6
    assert models[0].weights_[0].any()
    assert (models[0].weights_[0] != models[1].weights_[0]).any()


def test_it_learns_and_can_be_kept(tmp_path):
    with tacit.open(made(tmp_path, crowd(2_000)), analyst="ana") as database:
        model = database.fit(AdditiveClassifier(epsilon=8, rounds=8), "visits", target="ill")
    others = crowd(1_000, seed=6)
    table = np.array([row[1:4] for row in others], dtype=object)
    assert model.score(table, [row[4] for row in others]) > 0.75
    assert list(model.feature_names_in_) == ["age", "cost", "ward"]
    save_model(model, tmp_path / "model.json")
    assert (load_model(tmp_path / "model.json").predict(table) == model.predict(table)).all()


REFUSED: dict[str, tuple[type[TacitError], dict[str, Any]]] = {
    "no such table": (UnknownName, {"table": "none"}),
    "no such target": (UnknownName, {"target": "none"}),
    "no such feature": (UnknownName, {"features": ["none"]}),
    "a hidden feature": (UnknownName, {"features": ["secret"]}),
    "a feature that nobody declared": (QueryRefused, {"features": ["note"]}),
    "the target among the features alone": (QueryRefused, {"features": ["ill"]}),
    "a target without classes": (QueryRefused, {"target": "ward"}),
    "classes of another type": (QueryRefused, {"classes": [0, 1]}),
    "categories of another type": (QueryRefused, {"declared": {"age": ["old", "young"]}}),
    "bounds of a text": (QueryRefused, {"declared": {"ward": (0, 1)}}),
    "features by place": (InvalidParameter, {"declared": [(0, 1)]}),
    "a feature twice": (QueryRefused, {"features": ["age", "age"]}),
    "no epsilon": (InvalidParameter, {"epsilon": 0}),
    "no delta": (InvalidParameter, {"delta": 0}),
    "more than is left": (BudgetExceeded, {"epsilon": 11}),
    "a name instead of a list": (InvalidParameter, {"features": "age"}),
}


WORDS = {
    "the target among the features alone": "ill is what is predicted, and no other column was named",
    "a feature twice": "age is named twice among the features",
    "a target without classes": "ward has not two classes",
    "classes of another type": "what is declared of ill does not fit its type",
}


@pytest.mark.parametrize("case", REFUSED, ids=REFUSED)
def test_what_cannot_be_is_refused_at_no_charge(case, opened):
    error, wish = REFUSED[case]
    before = opened.budget.left
    model = AdditiveClassifier(classes=wish.get("classes"), features=wish.get("declared"))
    with pytest.raises(error, match=WORDS.get(case, ".")) as refused:
        opened.fit(
            model,
            wish.get("table", "visits"),
            target=wish.get("target", "ill"),
            features=wish.get("features", ()),
            epsilon=wish.get("epsilon"),
            delta=wish.get("delta"),
        )
    assert refused.value.hint or case not in WORDS
    assert opened.budget.left == before
    assert not hasattr(model, "weights_")


def test_several_rows_of_a_person_need_a_bound(tmp_path):
    with tacit.open(made(tmp_path, unit="who"), analyst="bob") as database:
        with pytest.raises(QueryRefused, match="max_rows"):
            database.fit(AdditiveClassifier(), "visits", target="ill")
        with pytest.raises(QueryRefused, match="dummy"):
            database.dummy().fit(AdditiveClassifier(), "visits", target="ill")


def test_an_empty_table_is_learned_from_like_any_other(tmp_path):
    with tacit.open(made(tmp_path, []), analyst="bob") as database:
        model = database.fit(AdditiveClassifier(rounds=2), "visits", target="ill")
    assert np.isfinite(model.predict_proba(np.array([[1, 2.0, "A"]], dtype=object))).all()


def test_the_command_line_fits_and_keeps_a_model(tmp_path, monkeypatch, capsys):
    from tacit.faces.cli.main import main

    made(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(AdditiveClassifier.__init__.__kwdefaults__, "rounds", 2)
    words = ["fit", "visits", "--as", "ana", "--target", "ill", "--features", "age", "-o", "model.json"]
    assert run(main, words) == 0
    assert "cost ε = 1, δ = 0.000001; left ε = 9" in capsys.readouterr().out
    assert load_model(tmp_path / "model.json").predict(np.array([[40]])).tolist()[0] in {"no", "yes"}
    assert run(main, [*words[:-1], "nowhere/model.json"]) == 2
    assert run(main, [*words, "--target", "ward"]) == 3
    assert run(main, [*words, "--eps", "100"]) == 4


def run(main, words: list[str]) -> int:
    try:
        return int(main(words) or 0)
    except SystemExit as done:
        return int(done.code or 0)
