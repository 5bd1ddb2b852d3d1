"""Learning: how well private models tell the incomes of Adult apart, at which epsilon, in what time; beside others'.

What a column may hold is declared here as anybody knows it from the census's own description: no row is looked at.
"""

from __future__ import annotations

import csv
import time
from collections.abc import Sequence
from fractions import Fraction
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.learn_peers import beside
from bench.learn_tables import fair, flights, food, randhie
from bench.report import Report, at_least, below
from bench.settings import made
from tacit.core import Loss
from tacit.learn import (
    AdditiveClassifier,
    LogisticClassifier,
    NetworkClassifier,
    RidgeRegressor,
    accuracy_first,
)
from tacit.learn.accuracy.problems import Problem, in_ball, logistic_in_ball, ridge_in_ball
from tacit.learn.accuracy.telling import LOSS_STEPS, cheapest_comparison, excess_moves, rows_at_least
from tacit.learn.sums.moments import GRID
from tacit.mechanisms import Laplace
from tacit.noise import SYSTEM

ADULT = Path(__file__).parents[1] / "../shared/data/adult.data"
FEATURES: dict[str, Any] = {
    "age": (17, 90),
    "workclass": [
        *("Private", "Self-emp-not-inc", "Self-emp-inc", "Federal-gov", "Local-gov", "State-gov", "Without-pay"),
        "Never-worked",
    ],
    "fnlwgt": (10_000, 1_500_000),
    "education": [
        *("Bachelors", "Some-college", "11th", "HS-grad", "Prof-school", "Assoc-acdm", "Assoc-voc", "9th", "7th-8th"),
        *("12th", "Masters", "1st-4th", "10th", "Doctorate", "5th-6th", "Preschool"),
    ],
    "education_num": (1, 16),
    "marital_status": [
        *("Married-civ-spouse", "Divorced", "Never-married", "Separated", "Widowed", "Married-spouse-absent"),
        "Married-AF-spouse",
    ],
    "occupation": [
        *("Tech-support", "Craft-repair", "Other-service", "Sales", "Exec-managerial", "Prof-specialty"),
        *("Handlers-cleaners", "Machine-op-inspct", "Adm-clerical", "Farming-fishing", "Transport-moving"),
        *("Priv-house-serv", "Protective-serv", "Armed-Forces"),
    ],
    "relationship": ["Wife", "Own-child", "Husband", "Not-in-family", "Other-relative", "Unmarried"],
    "race": ["White", "Asian-Pac-Islander", "Amer-Indian-Eskimo", "Other", "Black"],
    "sex": ["Female", "Male"],
    "capital_gain": (0, 99_999),
    "capital_loss": (0, 4_356),
    "hours_per_week": (1, 99),
    "native_country": [
        *("United-States", "Cambodia", "England", "Puerto-Rico", "Canada", "Germany", "Outlying-US(Guam-USVI-etc)"),
        *("India", "Japan", "Greece", "South", "China", "Cuba", "Iran", "Honduras", "Philippines", "Italy", "Poland"),
        *("Jamaica", "Vietnam", "Mexico", "Portugal", "Ireland", "France", "Dominican-Republic", "Laos", "Ecuador"),
        *("Taiwan", "Haiti", "Columbia", "Hungary", "Guatemala", "Nicaragua", "Scotland", "Thailand", "Yugoslavia"),
        *("El-Salvador", "Trinadad&Tobago", "Peru", "Hong", "Holand-Netherlands"),
    ],
}
BARS = {0.1: (0.885, 0.838), 1.0: (0.907, 0.855), 10.0: (0.911, 0.858)}  # AUC, accuracy
SPLITS, DRAWS = 5, 3
DELTA = 1e-6
Table = NDArray[Any]


def run(report: Report) -> None:
    if not ADULT.exists() or find_spec("sklearn") is None:
        report.section("Learn", "left out: it needs scikit-learn, and Adult as ../shared/data/adult.data")
        return
    rows, truth = adult()
    data = rows, truth, list(FEATURES.values())
    report.section("Learn Adult", f"{len(truth):,} rows, 80/20, {SPLITS} splits × {DRAWS} draws, δ = {DELTA}")
    for epsilon, (auc, accuracy) in BARS.items():
        found = scores(data, epsilon, report)
        report.add(f"additive model, ε = {epsilon:g}: AUC", found[0], bar=at_least(auc))
        report.add(f"additive model, ε = {epsilon:g}: accuracy", found[1], bar=at_least(accuracy))
        report.add("CPU of a fit", found[2], unit=" s", bar=below(5))
    beside(report, data, splits=halves(len(truth), report), epsilons=tuple(BARS))
    _other_tables(report)
    _digits(report)
    _accuracy_first(report)


def _other_tables(report: Report) -> None:
    """Other tables, nothing chosen on any but the first: the same defaults, held to what DP-EBM's reach."""
    tables = {
        "randhie, a health insurance experiment": randhie(),
        "fair, a survey of marriages": fair(),
        "food, budgets of households": food(),
        "flights that arrive late": flights(),
        "of our own making, seed 21": made(30_000, 16, 21),
    }
    for name, data in tables.items():
        if data is None:
            continue
        report.section("Learn other tables", f"{name}: {len(data[1]):,} rows, {len(data[2])} columns")
        theirs = beside(report, data, splits=halves(len(data[1]), report), epsilons=tuple(BARS))
        for epsilon in BARS:
            found = scores(data, epsilon, report)
            least = theirs.get(("DP-EBM", epsilon), (0.0, 0.0))
            for what, ours, bar in zip(("AUC", "accuracy"), found[:2], least, strict=True):
                held_to = at_least(round(bar, 3)) if bar else None
                report.add(f"additive model, ε = {epsilon:g}: {what}", ours, bar=held_to)


def _digits(report: Report) -> None:
    """Handwritten digits, by a network: three splits."""
    datasets, linear = (import_module(f"sklearn.{name}") for name in ("datasets", "linear_model"))
    selection = import_module("sklearn.model_selection")
    rows, which = datasets.load_digits(return_X_y=True)
    report.section("Learn digits", "1,797 pictures of 64 points, 80/20, 3 splits, ε = 3, δ = 1e-5")
    found = []
    for split in range(3):
        train, test = selection.train_test_split(np.arange(len(which)), test_size=0.2, random_state=split)
        plain = linear.LogisticRegression(max_iter=400).fit(rows[train] / 16, which[train])
        network = NetworkClassifier(
            epsilon=3, delta="0.00001", features=[(0, 16)] * 64, classes=list(range(10)), rounds=report.share(60)
        )
        network.fit(rows[train], which[train])
        found.append((network.score(rows[test], which[test]), plain.score(rows[test] / 16, which[test])))
    private, without = np.mean(found, axis=0).tolist()
    report.add("network by noisy gradients: accuracy", private)
    report.add("logistic regression without privacy: accuracy", without)
    report.add("the one beside the other", private / without, bar=at_least(0.9))


def _accuracy_first(report: Report) -> None:
    """Made-up rows on the unit sphere; doubling tries .05, .1, .2, … with fresh noise until one is enough.

    It makes the same models, and its comparisons cost less, for it asks fewer questions.
    """
    rows, width = report.share(10_000), 30
    box = [(-1, 1)] * width
    kinds = {"ridge": RidgeRegressor(features=box, target=(-1, 1)), "logistic": LogisticClassifier(features=box)}
    for name, estimator in kinds.items():
        report.section("Accuracy first", f"{name} regression, n = {rows:,}, d = {width}, α = .05, 60 tables")
        spent, doubled, compared = [], [], []
        for table in range(60):
            points, truth = _on_sphere(rows, width, table)
            model = accuracy_first(estimator).fit(points, truth if name == "ridge" else (truth > 0).astype(int))
            spent.append(float(model.spent_.epsilon))
            doubled.append(by_doubling(problem_of(name, points, truth), rows))
            compared.append(float(model.comparing_.epsilon))
        report.add("total ε, mean (the lectures' link: 11.8 on its own table)", np.mean(spent), bar=below(11.8))
        report.add("of which the comparisons", np.mean(compared))
        report.add("doubling beside it, means", np.mean(doubled) / np.mean(spent), unit="×", bar=at_least(2))
        report.add("doubling beside it, medians", np.median(doubled) / np.median(spent), unit="×")


def problem_of(name: str, points: Table, truth: Table) -> Problem:
    """What `accuracy_first` makes of these rows, all of them within the box and the ball."""
    steps = in_ball(np.rint(points * GRID))
    if name == "ridge":
        return ridge_in_ball(steps, np.rint(truth * GRID))
    return logistic_in_ball(steps, np.where(truth > 0, 1.0, -1.0))


def by_doubling(problem: Problem, rows: int, alpha: Fraction = Fraction(1, 20)) -> float:
    """What it costs to double the price, with fresh noise each time, until a model is good enough: run, not worked out.

    It makes the same models of the same sums, and compares as we do, for as few questions as it asks.
    """
    prices = [Fraction(2**turn, 20) for turn in range(9)]
    number = rows_at_least(rows, epsilon=Fraction(1, 50), times=1, source=SYSTEM)
    moves = excess_moves(problem.most_loss)
    comparing = cheapest_comparison(alpha, number, sensitivity=moves, questions=len(prices), most=Fraction(20))
    run, spent = comparing.start(SYSTEM), Fraction(1, 50) + comparing.loss(moves).epsilon
    for price in prices:
        spent += price
        noise = Laplace.costing(Loss(price), problem.moved)
        off = float(noise.scale) / GRID**2
        weights = problem.solved(noise.release(problem.sums, SYSTEM), 1.0 + off, off)
        if run.ask(-round(LOSS_STEPS * (problem.loss(weights) - problem.least))):
            break
    return float(spent)


def _on_sphere(rows: int, width: int, seed: int) -> tuple[Table, Table]:
    """Rows of length one, and a number that one direction says."""
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(rows, width))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    slope = rng.normal(size=width)
    return points, np.clip(3 * points @ slope / np.linalg.norm(slope) + rng.normal(0, 0.1, rows), -1, 1)


def adult() -> tuple[Table, Table]:
    """The rows of Adult, as they are, and who earns more than 50K."""
    with ADULT.open(encoding="utf-8") as lines:
        read = [[cell.strip() for cell in line] for line in csv.reader(lines) if len(line) == len(FEATURES) + 1]
    rows = np.array([line[:-1] for line in read], dtype=object)
    for place, declared in enumerate(FEATURES.values()):
        if isinstance(declared, tuple):
            rows[:, place] = rows[:, place].astype(np.float64)
    return rows, np.array([line[-1] == ">50K" for line in read]).astype(np.int64)


def halves(count: int, report: Report) -> list[tuple[Table, Table]]:
    """Four fifths to learn from and one to judge by, five times."""
    selection = import_module("sklearn.model_selection")
    parts = [selection.train_test_split(np.arange(count), test_size=0.2, random_state=seed) for seed in range(SPLITS)]
    return [(train[: report.share(len(train))], test) for train, test in parts]


def scores(data: tuple[Table, Table, Sequence[Any]], epsilon: float, report: Report) -> tuple[float, float, float]:
    """Mean AUC and accuracy on the fifth that was held back, and the CPU seconds of a fit."""
    metrics = import_module("sklearn.metrics")
    rows, truth, features = data
    found = []
    for train, test in halves(len(truth), report):
        for _ in range(DRAWS):
            began = time.process_time()
            model = AdditiveClassifier(epsilon=epsilon, delta=DELTA, features=list(features), classes=[0, 1])
            model.fit(rows[train], truth[train])
            seconds = time.process_time() - began
            chance = model.predict_proba(rows[test])[:, 1]
            found.append((metrics.roc_auc_score(truth[test], chance), np.mean((chance > 0.5) == truth[test]), seconds))
    auc, accuracy, seconds = np.mean(found, axis=0).tolist()
    return auc, accuracy, seconds
