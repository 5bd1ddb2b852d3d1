"""Sums of models in engines: what arrays add up, byte for byte, of hostile rows; bounded by the unit; charged."""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

import tacit
from conformance.charges import overheard
from support import sail
from support.postgres import server
from tacit.accounting import zcdp_of
from tacit.core import GaussianEvent, Loss, sqrt_above
from tacit.engines import Engine, open_engine
from tacit.errors import InvalidParameter, QueryRefused
from tacit.learn import (
    GaussianBayesClassifier,
    KMeansClusters,
    LogisticClassifier,
    NaiveBayesClassifier,
    NeighbourVotesClassifier,
    PrincipalComponents,
    RidgeRegressor,
    TreeClassifier,
    load_model,
    save_model,
)
from tacit.learn.classifiers.tree_growing import coarse
from tacit.learn.curated.fitting import TableLearner
from tacit.learn.curated.plans import FitRequest
from tacit.learn.sums.array_rows import FAR, SHARES
from tacit.learn.sums.moments import GRID
from tacit.learn.sums.routing import Split
from tacit.learn.sums.studies import in_arrays
from tacit.ledger import SqliteLedger
from tacit.sql.workloads import binned

POLICY = """\
[dataset]
name = "clinic"
source = {source}
{engine}
[budget]
epsilon = 50
delta = 1e-4
[tables.visits]
unit = "{unit}"
{bounds}
[tables.visits.columns]
age = {{ lower = 0, upper = 100, step = 1 }}
cost = {{ lower = -2, upper = 10000, step = "0.01" }}
dose = {{ lower = 0, upper = "1e18", step = 1000 }}
ward = {{ domain = ["A", "B", "it's"] }}
pay = {{ lower = 0, upper = 50, step = 1 }}
[analysts.ana]
epsilon = 50
"""
NUMBERS = [0.0, -0.0, 5e-324, 1e-300, -1e-300, 1e308, -1e308, math.inf, -math.inf, math.nan, 9_999.99, 4_999.0, None]
WARDS = ["A", "B", "it's", "a", "", "never declared", None]


def rows(count: int, seed: int = 3) -> list[tuple[Any, ...]]:
    rng = np.random.default_rng(seed)
    found: list[tuple[Any, ...]] = []
    for place in range(count):
        odd = place % 3 == 0
        cost = NUMBERS[place // 3 % len(NUMBERS)] if odd else float(rng.uniform(-5, 11_000))
        dose = NUMBERS[place // 7 % len(NUMBERS)] if odd else float(rng.uniform(0, 1e18))
        age = None if place % 11 == 0 else int(rng.integers(-20, 130))
        pay = None if place % 13 == 0 else float(rng.uniform(-5, 60))
        found.append((f"p{place % 9}", age, cost, dose, WARDS[int(rng.integers(len(WARDS)))], pay))
    return found


def _filled(statement: str, base: Any, table: list[tuple[Any, ...]], mark: str) -> None:
    base.execute(statement)
    values = ", ".join([f"({', '.join([mark] * 6)})"] * len(table))
    base.execute(f"INSERT INTO visits VALUES {values}", [cell for row in table for cell in row])


_MADE = (
    "CREATE TABLE visits (who VARCHAR, age BIGINT, cost DOUBLE PRECISION, dose DOUBLE PRECISION, ward VARCHAR, "
    "pay DOUBLE PRECISION)"
)


def written(
    folder: Path, table: list[tuple[Any, ...]], where: str = "duckdb", unit: str = "row", bounds: str = ""
) -> Path:
    """A policy over these rows, in this engine."""
    folder.mkdir(exist_ok=True)
    words = {"source": '"clinic.duckdb"', "engine": ""}
    if where == "postgres":
        import psycopg

        url = server().database()
        with psycopg.connect(url) as owner:
            _filled(_MADE.replace("VARCHAR", "TEXT"), owner, table, "%s")
        words = {"source": f'"{url}"', "engine": 'engine = "postgres"'}
    else:
        with duckdb.connect(str(folder / "clinic.duckdb")) as base:
            _filled(_MADE, base, table, "?")
            base.execute(f"COPY visits TO '{folder}/visits.parquet' (FORMAT parquet)")
    if where == "sail":
        os.environ["SPARK_REMOTE"] = sail.server()
        words = {"source": f'{{ visits = "{folder}/visits.parquet" }}', "engine": 'engine = "spark"'}
    (folder / "tacit.toml").write_text(POLICY.format(unit=unit, bounds=bounds, **words))
    return folder / "tacit.toml"


@contextmanager
def learner(path: Path) -> Iterator[tuple[TableLearner, Engine]]:
    policy = tacit.load_policy(path)
    engine = open_engine(policy)
    with tempfile.TemporaryDirectory() as other:
        yield TableLearner(policy, engine, SqliteLedger(Path(other) / "other.ledger", create=True)), engine


MODELS: dict[str, tuple[Any, dict[str, Any]]] = {
    "logistic": (LogisticClassifier(classes=["A", "B"]), {"target": "ward"}),
    "bayes": (NaiveBayesClassifier(), {"target": "ward"}),
    "gaussian": (GaussianBayesClassifier(), {"target": "ward"}),
    "tree": (TreeClassifier(2), {"target": "ward"}),
    "votes": (NeighbourVotesClassifier(partitions=2, places=4), {"target": "ward"}),
    "ridge": (RidgeRegressor(), {"target": "pay"}),
    "components": (PrincipalComponents(), {}),
    "clusters": (KMeansClusters(3), {}),
}


# about age, cost and dose, for more cells than any of them has
QUESTIONS = [[Split(0, (0,) * 11 + (1,) * 89)], [Split(1, (0, 1) * 50), Split(2, (1, 0, 0) * 40)]]


def sums_of(name: str, data: Any, columns: Any) -> list[np.ndarray]:
    """All that the model may ask for, of whoever adds up."""
    width = sum(getattr(each, "width", 0) for each in columns)
    rng = np.random.default_rng(8)
    centres = rng.integers(-GRID, GRID + 1, (4, width))
    far = rng.integers(-FAR, FAR + 1, width + 1)
    if name == "bayes":
        return [data.class_counts()]
    if name == "tree":
        asked = [data.node_counts(QUESTIONS[:depth], groups=coarse(columns)) for depth in range(3)]
        return [*asked, data.leaf_counts(QUESTIONS)]
    if name == "gaussian":
        return [data.by_class()]
    if name == "votes":
        return [data.votes(centres), data.votes(centres[:1])]
    if name == "logistic":
        small = far // 40
        return [data.residuals(far), data.residuals(small), data.curvature(small)]
    return [data.products(), data.near(centres), data.near(centres[:1])]


def known(name: str, table: list[tuple[Any, ...]]) -> tuple[list[tuple[Any, ...]], Any]:
    """The rows that have a target, and their targets."""
    if name == "logistic":
        kept = [row for row in table if row[4] in {"A", "B"}]
        return kept, np.array([row[4] == "B" for row in kept], dtype=np.int64)
    if name in {"bayes", "gaussian", "tree", "votes"}:
        kept = [row for row in table if row[4] in {"A", "B", "it's"}]
        return kept, np.array([["A", "B", "it's"].index(row[4]) for row in kept])
    if name == "ridge":
        kept = [row for row in table if row[5] is not None]
        return kept, np.array([row[5] for row in kept])
    return table, np.zeros(len(table))


@pytest.mark.parametrize("where", ["duckdb", "postgres", "sail"])
def test_an_engine_adds_up_what_arrays_add_up(where, tmp_path):
    table = rows(120)
    with learner(written(tmp_path, table, where)) as (found, engine):
        for name, (model, wish) in MODELS.items():
            plan = found.plan(model, FitRequest("visits", **wish))
            kept, truth = known(name, table)
            places = {"age": 1, "cost": 2, "dose": 3, "ward": 4, "pay": 5}
            columns = []
            for each in plan.names:
                column = np.empty(len(kept), dtype=object)
                column[:] = [row[places[each]] for row in kept]
                columns.append(column)
            arrays = in_arrays(plan.study, columns, truth, classes=len(plan.classes))
            told = plan.study.columns
            pairs = zip(sums_of(name, plan.rows(engine.execute), told), sums_of(name, arrays, told), strict=True)
            for inside, outside in pairs:
                assert inside.tolist() == outside.tolist(), name
                assert inside.any()


# ── the unit ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def compare_without_each_unit(tmp_path: Path) -> None:
    options = {"unit": "who", "bounds": "max_rows = 2"}
    table = rows(60)
    with learner(written(tmp_path / "whole", table, **options)) as (found, engine):
        plans = {name: found.plan(model, FitRequest("visits", **wish)) for name, (model, wish) in MODELS.items()}
        told = {name: plan.study.columns for name, plan in plans.items()}
        before = {name: sums_of(name, plan.rows(engine.execute), told[name]) for name, plan in plans.items()}
    for unit in ("p0", "p4"):
        rest = [row for row in table if row[0] != unit]
        with learner(written(tmp_path / unit, rest, **options)) as (found, engine):
            for name, (model, wish) in MODELS.items():
                plan = found.plan(model, FitRequest("visits", **wish))
                after = sums_of(name, plan.rows(engine.execute), told[name])
                moved = [int(((a - b).astype(object) ** 2).sum()) for a, b in zip(before[name], after, strict=True)]
                f = len(plan.names) + 1
                products, one = GRID**4 * (f * f + f) // 2, 4  # of one row; and two rows, squared
                most = {
                    "bayes": [f - 1],
                    "gaussian": [GRID**2 * f + GRID**4 * (f - 1)],
                    "tree": [f - 1, f - 1, f - 1, 1],
                    "votes": [1, 1],
                    "logistic": [SHARES**2 * GRID**2 * f] * 2 + [(SHARES // 4) ** 2 * products],
                    "ridge": [products + GRID**4 * (f + 1), GRID**2 * f, GRID**2 * f],
                }.get(name, [products, GRID**2 * f, GRID**2 * f])
                assert [far <= one * bound for far, bound in zip(moved, most, strict=True)] == [True] * len(most), name
                assert any(moved)


def test_no_unit_moves_a_sum_further_than_it_is_charged_for(tmp_path):
    compare_without_each_unit(tmp_path)


def test_rows_that_nobody_bounds_are_noticed(tmp_path, monkeypatch):
    monkeypatch.setattr(binned, "sample_rows", lambda tree, _: tree)
    with pytest.raises(AssertionError):
        compare_without_each_unit(tmp_path)


# ── the price ────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", MODELS)
def test_a_fit_is_charged_what_the_noise_it_drew_costs(name, tmp_path):
    model, wish = MODELS[name]
    path = written(tmp_path, rows(40), unit="who", bounds="max_rows = 3")
    with tacit.open(path, analyst="ana") as database, overheard() as heard:
        fitted = database.fit(type(model)(**model.get_params()), "visits", **wish)
        again = database.fit(type(model)(**model.get_params()), "visits", **wish)
        assert database.budget.left.epsilon == 49  # the second was free
    paid = heard[0]
    assert (paid.charge.kind, paid.charge.loss) == ("fit", Loss(1, Fraction(1, 10**6)))
    f = len(fitted.feature_names_in_) + 1
    products, root = sqrt_above(Fraction(f * f + f, 2)), sqrt_above(Fraction(f))
    moves = {
        "bayes": [3 * sqrt_above(Fraction(f - 1))],
        "ridge": [3 * GRID**2 * products, 3 * GRID**2 * root, Fraction(3 * GRID**2)],
        "components": [3 * GRID**2 * products],
        "clusters": [3 * GRID * root] * 6,
        "gaussian": [3 * GRID * root, 3 * GRID**2 * sqrt_above(Fraction(f - 1, 4))],
        "tree": [3 * sqrt_above(Fraction(f - 1))] * 2 + [Fraction(3)],
        "votes": [3 * sqrt_above(Fraction(2))],
        "logistic": [
            move
            for rounds in (8, 4, 4)
            for move in (3 * SHARES // 4 * GRID**2 * products, *[3 * SHARES * GRID * root] * rounds)
        ],
    }[name]
    drawn = [noise.sigma for noise in paid.drawn]
    rho = sum(GaussianEvent(move**2 / (2 * sigma**2)).rho for move, sigma in zip(moves, drawn, strict=True))
    assert zcdp_of(fitted.event_).rho == rho
    assert paid.charge.zcdp is not None
    assert rho <= paid.charge.zcdp.rho <= rho * (1 + Fraction(1, 10**9))
    save_model(fitted, tmp_path / "model.json")
    kept = load_model(tmp_path / "model.json")
    assert (kept.loss_, kept.event_, kept.notes_) == (again.loss_, again.event_, again.notes_)
    assert any("at most 3 rows" in note for note in again.notes_)


REFUSED: dict[str, tuple[type[Exception], Any, dict[str, Any]]] = {
    "a classifier without a target": (InvalidParameter, LogisticClassifier(), {}),
    "clusters with a target": (InvalidParameter, KMeansClusters(2), {"target": "pay"}),
    "three classes where two are told apart": (QueryRefused, LogisticClassifier(), {"target": "ward"}),
    "a number that is predicted from a text": (QueryRefused, RidgeRegressor(target=(0, 1)), {"target": "ward"}),
    "max_rows of arrays": (InvalidParameter, RidgeRegressor(ridge=-1), {"target": "pay"}),
}


@pytest.mark.parametrize("case", REFUSED, ids=REFUSED)
def test_what_cannot_be_is_refused_at_no_charge(case, tmp_path):
    error, model, wish = REFUSED[case]
    with tacit.open(written(tmp_path, rows(9)), analyst="ana") as database:
        with pytest.raises(error):
            database.fit(model, "visits", **wish)
        assert database.budget.left.epsilon == 50
