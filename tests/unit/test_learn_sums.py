"""Models from noisy sums: naive Bayes, ridge regression, principal components, k-means. What a row moves, and costs."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.sources import Seeded
from tacit.accounting import zcdp_of
from tacit.core import ComposedEvent, GaussianEvent, Loss, sqrt_above
from tacit.errors import InvalidParameter
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
from tacit.learn.sums import array_rows
from tacit.learn.sums.array_rows import FAR, SHARES, ArrayCells, ArrayRows
from tacit.learn.sums.cells import cells_of
from tacit.learn.sums.moments import GRID, design, scaled
from tacit.learn.sums.units import rows_of_units
from tacit.mechanisms import Gaussian

FEATURES = [(0, 10), (-1, 1), ["a", "b"]]
MIXED = scaled(FEATURES, ["x", "y", "z"])
CENTRES = np.array([[0] * 4, [GRID // 2] * 4])
HOSTILE = st.sampled_from([math.nan, math.inf, -math.inf, 1e308, -1e308, 5e-324, 10.0, -1.0]) | st.floats()
SORTS = st.sampled_from(["a", "b", "c", None, math.nan, 1, ("a",)])
PRICE = {"epsilon": 1, "delta": Fraction(1, 10**6)}
NOISE_DIFFERS = "every fit draws its own noise"


def one_row(*cells: Any) -> np.ndarray:
    row = np.empty((1, len(cells)), dtype=object)
    for place, cell in enumerate(cells):
        row[0, place] = cell
    return row


def table(count: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows, a number to predict, and a class."""
    rng = np.random.default_rng(seed)
    rows = np.empty((count, 3), dtype=object)
    rows[:, 0], rows[:, 1], rows[:, 2] = (
        rng.uniform(0, 10, count),
        rng.uniform(-1, 1, count),
        rng.choice(["a", "b"], count),
    )
    number = 0.3 * rows[:, 0].astype(float) - rows[:, 1].astype(float) + (rows[:, 2] == "a")
    return rows, number + rng.normal(0, 0.3, count), np.digitize(number, [1.0, 2.5])


MODELS: dict[str, Any] = {
    "bayes": lambda **options: NaiveBayesClassifier(**{"features": FEATURES, "classes": [0, 1, 2]} | options),
    "ridge": lambda **options: RidgeRegressor(**{"features": FEATURES, "target": (-3, 6)} | options),
    "logistic": lambda **options: LogisticClassifier(**{"features": FEATURES, "classes": [0, 1]} | options),
    "tree": lambda **options: TreeClassifier(3, **{"features": FEATURES, "classes": [0, 1, 2]} | options),
    "gaussian": lambda **options: GaussianBayesClassifier(**{"features": FEATURES, "classes": [0, 1, 2]} | options),
    "votes": lambda **options: NeighbourVotesClassifier(**{"features": FEATURES, "classes": [0, 1, 2]} | options),
    "components": lambda **options: PrincipalComponents(2, **{"features": FEATURES} | options),
    "clusters": lambda **options: KMeansClusters(3, **{"features": FEATURES} | options),
}


def fitted(name: str, rows: np.ndarray, number: np.ndarray, sort: np.ndarray, **options: Any) -> Any:
    truth = {"ridge": number, "logistic": np.minimum(sort, 1)}.get(name, sort)
    return MODELS[name](**PRICE | options).fit(rows, truth)


# ── what one row can move ────────────────────────────────────────────────────────────────────────────────────────────


@settings(max_examples=60, deadline=None)
@given(HOSTILE, HOSTILE, SORTS, HOSTILE, st.integers(0, 2**32 - 1))
def test_no_row_moves_a_sum_further_than_it_is_charged_for(x, y, z, goal, seed):
    row = design(MIXED, list(one_row(x, y, z).T))
    target = scaled([(-3, 6)], ["t"])[0].steps(np.array([goal]))[:, 0]
    features = len(MIXED) + 1
    assert np.isfinite(row).all()
    assert (row == np.rint(row)).all()
    assert int((row**2).sum()) <= features * GRID**2
    products = (row.T @ row)[np.triu_indices(row.shape[1])]
    assert int((products**2).sum()) <= GRID**4 * (features**2 + features) // 2
    assert float(((row.T @ target) ** 2).sum()) <= GRID**4 * features
    assert float(target[0] ** 2) <= GRID**2
    moved = ArrayRows(row, None, None, 0).near(CENTRES)
    assert int((moved**2).sum()) <= GRID**2 * features
    rng = np.random.default_rng(seed)
    weights = rng.integers(-FAR, FAR + 1, row.shape[1]) // (1 + seed % 500)
    one = ArrayRows(row, None, np.array([seed % 2]), 2)
    assert int((one.residuals(weights) ** 2).sum()) <= SHARES**2 * GRID**2 * features
    assert int((one.curvature(weights) ** 2).sum()) <= (SHARES // 4) ** 2 * GRID**4 * (features**2 + features) // 2
    summed = one.by_class()
    assert int((summed[:, :5] ** 2).sum()) <= GRID**2 * features
    assert int(((summed[:, [5, 6]] - summed[:, :1] * (GRID // 2)) ** 2).sum()) <= GRID**4 * 2 // 4
    assert int((one.votes(CENTRES) ** 2).sum()) == 1
    cells = cells_of(FEATURES, ["x", "y", "z"])
    codes = [each.codes(column) for each, column in zip(cells, one_row(x, y, z).T, strict=True)]
    assert int((ArrayCells(cells, codes, np.array([1])).class_counts() ** 2).sum()) == len(cells)


def test_no_sum_of_doubles_leaves_what_they_hold_exactly(monkeypatch):
    """One step lost in a sum of ten million rows is one that nobody paid for."""
    assert array_rows.AT_ONCE * GRID**2 * (SHARES // 4) < 2**53
    table, which = np.full((7, 1), 1023.0), np.zeros(7, dtype=np.int64)
    weights = np.array([40])
    whole = ArrayRows(table, None, which, 2).curvature(weights)
    monkeypatch.setattr(array_rows, "AT_ONCE", 3)
    assert (ArrayRows(table, None, which, 2).curvature(weights) == whole).all()
    assert (ArrayRows(table, table[:, 0], None, 0).products() == [7 * 1023**2] * 3).all()


def test_sums_of_rows_are_sums_of_each():
    rows, _, _ = table(200)
    whole = design(MIXED, list(rows.T))
    parts = [ArrayRows(whole[part], None, None, 0).near(CENTRES) for part in (slice(0, 199), slice(199, 200))]
    assert (ArrayRows(whole, None, None, 0).near(CENTRES) == parts[0] + parts[1]).all()


# ── what it costs ────────────────────────────────────────────────────────────────────────────────────────────────────

SQUARED = {  # of how far one row moves each release of four features with the ones: by hand, in steps²
    "bayes": [Fraction(3)],
    "ridge": [Fraction(GRID**4 * 10), Fraction(GRID**4 * 4), Fraction(GRID**4)],
    "logistic": [
        far
        for rounds in (8, 4, 4)
        for far in (Fraction((SHARES // 4) ** 2 * GRID**4 * 10), *[Fraction(SHARES**2 * GRID**2 * 4)] * rounds)
    ],
    "gaussian": [Fraction(GRID**2 * 4), Fraction(GRID**4 * 2, 4)],
    "tree": [Fraction(3)] * 3 + [Fraction(1)],
    "votes": [Fraction(8)],
    "components": [Fraction(GRID**4 * 10)],
    "clusters": [Fraction(GRID**2 * 4)] * 6,
}


def spent(name: str, monkeypatch: Any, factor: float = 1) -> tuple[float, Any, list[Fraction]]:
    """The delta at ε = 1 of the noise that was drawn, by the normal law's own profile."""
    heard: list[Fraction] = []
    release = Gaussian.release

    def listening(self: Gaussian, values: Any, source: Any) -> Any:
        drawn = Gaussian(self.sigma * Fraction(factor), self.delta)
        heard.append(drawn.sigma)
        return release(drawn, values, source)

    with monkeypatch.context() as patched:
        patched.setattr(Gaussian, "release", listening)
        model = fitted(name, *table(100))
    mu = math.sqrt(float(sum(far / sigma**2 for far, sigma in zip(SQUARED[name], heard, strict=True))))
    above, below = (math.erfc((1 / mu + half) / math.sqrt(2)) / 2 for half in (-mu / 2, mu / 2))
    return above - math.e * below, model, heard


@pytest.mark.parametrize("name", MODELS)
def test_the_noise_that_is_drawn_costs_what_was_asked_for(name, monkeypatch):
    delta, model, heard = spent(name, monkeypatch)
    assert 0.85e-6 < delta <= 1e-6  # a small sigma loses some to rounding
    assert model.loss_ == Loss(1, Fraction(1, 10**6))
    parts = model.event_.parts if isinstance(model.event_, ComposedEvent) else ((model.event_, 1),)
    found = [event.rho for event, times in parts for _ in range(times)]
    roots = [sqrt_above(far) for far in SQUARED[name]]
    for rho, root, sigma in zip(found, roots, heard, strict=True):
        assert float(rho) == pytest.approx(float(GaussianEvent(root**2 / (2 * sigma**2)).rho), rel=1e-9)


@pytest.mark.parametrize("name", MODELS)
def test_noise_that_is_a_tenth_too_small_is_noticed(name, monkeypatch):
    assert spent(name, monkeypatch, factor=0.9)[0] > 1.5e-6


# ── what it learns ───────────────────────────────────────────────────────────────────────────────────────────────────


def test_naive_bayes_tells_three_classes_apart():
    rows, _, sort = table(5_000)
    others, _, truth = table(2_000, seed=2)
    model = MODELS["bayes"](epsilon=4).fit(rows, sort)
    assert model.score(others, truth) > 0.65  # .76 with no privacy, a third by chance
    assert model.predict_proba(others).sum(axis=1) == pytest.approx(1)


@pytest.mark.parametrize(("name", "least"), [("gaussian", 0.8), ("votes", 0.8), ("tree", 0.75)])
def test_other_classifiers_tell_three_classes_apart(name, least):
    """With no privacy Gaussian naive Bayes has .89 and votes .91; the commonest class has .46."""
    rows, _, sort = table(8_000)
    others, _, truth = table(2_000, seed=2)
    model = MODELS[name](epsilon=4).fit(rows, sort)
    assert model.score(others, truth) > least
    assert model.predict_proba(others).sum(axis=1) == pytest.approx(1)


def test_ridge_finds_the_line_and_its_intervals_hold():
    """Of 90 intervals at 95 %, fewer than 70 hold with probability 2e-8; without the noise in them far fewer do."""
    true = np.array([0.3, -1.0])
    held = narrow = 0
    for seed in range(45):
        rows, number, _ = table(3_000, seed=seed + 10)
        number = number - (rows[:, 2] == "a")
        model = RidgeRegressor(epsilon="0.5", features=FEATURES[:2], target=(-3, 6)).fit(rows[:, :2], number)
        off = np.abs(model.coef_ - true)
        held += int((off <= model.coef_intervals_).sum())
        narrow += int((off <= 1.96 * 0.3 / math.sqrt(3_000) / np.array([2.9, 0.58])).sum())  # sampling alone
    assert held >= 70
    assert narrow < 70


def test_logistic_finds_the_odds_and_its_intervals_hold():
    """Of 90 intervals at 95 %, fewer than 70 hold with probability 2e-8; without the noise in them far fewer do."""
    true = np.array([0.4, -1.0])
    held = narrow = 0
    for seed in range(45):
        rng = np.random.default_rng(seed)
        rows = np.stack([rng.uniform(0, 10, 4_000), rng.uniform(-1, 1, 4_000)], axis=1)
        truth = rng.random(4_000) < 1 / (1 + np.exp(2 - rows @ true))
        model = LogisticClassifier(epsilon="0.4", features=[(0, 10), (-1, 1)], classes=[False, True]).fit(rows, truth)
        off = np.abs(model.coef_ - true)
        held += int((off <= model.coef_intervals_).sum())
        narrow += int((off <= 1.96 / math.sqrt(4_000 * 0.19) / np.array([2.9, 0.58])).sum())  # sampling alone
    assert held >= 70
    assert narrow < 70


def test_logistic_predicts_what_it_says():
    rows, _, sort = table(8_000)
    others, _, truth = table(2_000, seed=2)
    model = MODELS["logistic"](epsilon=2).fit(rows, np.minimum(sort, 1))
    chance = model.predict_proba(others)
    assert chance.sum(axis=1) == pytest.approx(1)
    assert model.score(others, np.minimum(truth, 1)) > 0.85  # .93 with no privacy
    assert float(chance[:, 1].mean()) == pytest.approx(float(np.minimum(truth, 1).mean()), abs=0.06)
    assert ((model.decision_function(others) > 0) == (model.predict(others) == 1)).all()


def test_the_public_table_of_probabilities_is_the_logistic_function():
    steps = np.arange(-12 * GRID, 12 * GRID + 1, 37, dtype=np.float64)
    rows = ArrayRows(np.stack([np.full(steps.size, float(GRID)), steps], axis=1), None, None, 2)
    shares = rows._shares(np.array([0, GRID]))
    assert np.abs(shares / SHARES - 1 / (1 + np.exp(-steps / GRID))).max() < 5e-4
    assert (np.diff(shares) >= 0).all()
    assert 0 < shares.min() <= shares.max() < SHARES


def test_several_rows_of_a_unit_are_bounded_and_paid_for():
    rows, number, _ = table(60)
    units = np.arange(60) % 7
    few = MODELS["ridge"](max_rows=2).fit(rows, number, units=units)
    ones = MODELS["ridge"]().fit(rows, number)
    assert float(zcdp_of(few.event_).rho) == pytest.approx(float(zcdp_of(ones.event_).rho), rel=1e-3)
    counted = rows_of_units(units, 60, 2)
    assert (counted.most, sorted(counted.kept.tolist())) == (2, list(range(14)))


def held_where_noise_is_large(kind: str) -> int:
    """Of 100 intervals at 95 %, where noise moves eigenvalues by about what they are."""
    true, held = np.linspace(-1, 1, 5), 0
    box: list[Any] = [(-1, 1)] * 5
    for seed in range(20):
        rng = np.random.default_rng(seed)
        rows = rng.uniform(-1, 1, (2_000, 5))
        if kind == "ridge":
            model: Any = RidgeRegressor(epsilon="0.3", features=box, target=(-4, 4), source=Seeded(seed))
            model.fit(rows, rows @ true + rng.normal(0, 0.3, 2_000))
        else:
            model = LogisticClassifier(epsilon="0.15", features=box, classes=[False, True], source=Seeded(seed))
            model.fit(rows, rng.random(2_000) < 1 / (1 + np.exp(-rows @ true)))
        held += int((np.abs(model.coef_ - true) <= model.coef_intervals_).sum())
    return held


@pytest.mark.parametrize("kind", ["ridge", "logistic"])
def test_intervals_hold_where_noise_is_large(kind, monkeypatch):
    """Fewer than 80 of 100 hold with probability 2e-8; those that know nothing of what a ridge pulls seldom do."""
    assert held_where_noise_is_large(kind) >= 80

    def ridged(matrix: np.ndarray, *, sigma: float) -> np.ndarray:
        return np.linalg.inv(matrix + 3 * sigma * math.sqrt(len(matrix)) * np.eye(len(matrix)))

    for room in ("regression.ridge", "classifiers.logistic"):
        monkeypatch.setattr(f"tacit.learn.{room}.surely_inverted", ridged)
    assert held_where_noise_is_large(kind) < 80


@pytest.mark.parametrize(("units", "most"), [(None, 2), ([1, 2], 1), (np.zeros((60, 1)), 1), (None, 0), (None, True)])
def test_units_that_cannot_be_are_refused(units, most):
    rows, number, _ = table(60)
    with pytest.raises(InvalidParameter):
        MODELS["ridge"](max_rows=most).fit(rows, number, units=units)


def test_ridge_explains_what_there_is_to_explain():
    rows, number, _ = table(5_000)
    model = MODELS["ridge"](epsilon=2).fit(rows, number)
    assert 0.8 < model.score(*table(2_000, seed=3)[:2]) < 1
    assert -3 <= model.predict(one_row(1e9, -1e9, "a")).item() <= 6


def test_components_point_where_rows_differ():
    rng = np.random.default_rng(4)
    along = rng.normal(0, 0.4, 20_000)
    rows = np.stack([along, along, 0.05 * rng.normal(size=20_000)], axis=1)
    model = PrincipalComponents(1, features=[(-1, 1)] * 3).fit(rows)
    assert np.abs(model.components_[0] @ np.array([1, 1, 0]) / math.sqrt(2)) > 0.98
    assert model.transform(rows).shape == (20_000, 1)


def test_clusters_are_found():
    rng = np.random.default_rng(5)
    centres = np.array([[-0.6, -0.6], [0.6, 0.6], [0.6, -0.6]])
    which = rng.integers(0, 3, 9_000)
    rows = centres[which] + rng.normal(0, 0.1, (9_000, 2))
    models = [KMeansClusters(3, epsilon=2, features=[(-1, 1)] * 2, rounds=8).fit(rows) for _ in range(20)]
    gaps = [np.sqrt(((model.centres_[:, None] - centres[None]) ** 2).sum(axis=2)).min(axis=0) for model in models]
    # In 200 runs none stopped where two centres share a cluster; at one in five, fewer than seven of twenty are one in
    # 10^7. Started at as many places as there are clusters, one in five did.
    assert sum((gap < 0.15).all() for gap in gaps) > 6
    assert set(models[0].predict(rows).tolist()) <= {0, 1, 2}


# ── bad input, and scikit-learn ──────────────────────────────────────────────────────────────────────────────────────

ROWS, NUMBER, SORT = table(30)
BAD: dict[str, tuple[str, dict[str, Any]]] = {
    "no epsilon": ("ridge", {"epsilon": 0}),
    "no delta": ("clusters", {"delta": 0}),
    "bounds the wrong way round": ("ridge", {"features": [(1, 0), (0, 1), ["a"]]}),
    "bounds too large": ("components", {"features": [(0, 10**400), (0, 1), ["a"]]}),
    "a category twice": ("ridge", {"features": [(0, 1), (0, 1), ["a", "a"]]}),
    "fewer features than columns": ("components", {"features": [(0, 1)]}),
    "text where a number was declared": ("clusters", {"features": [(0, 1)] * 3}),
    "a class that was not declared": ("bayes", {"classes": [0, 1]}),
    "one class": ("bayes", {"classes": [0]}),
    "a negative ridge": ("ridge", {"ridge": -1}),
    "NaN for a ridge": ("ridge", {"ridge": math.nan}),
    "no rounds": ("clusters", {"rounds": 0}),
    "no places": ("votes", {"places": 0}),
    "too many partitions": ("votes", {"partitions": 10**6}),
}


@pytest.mark.parametrize("case", BAD, ids=BAD)
def test_bad_input_is_refused_in_our_own_words(case):
    name, options = BAD[case]
    with pytest.raises(InvalidParameter):
        fitted(name, ROWS, NUMBER, SORT, **options)


@pytest.mark.parametrize("name", MODELS)
def test_models_are_saved_as_text_and_say_the_same(name, tmp_path):
    model = fitted(name, ROWS, NUMBER, SORT)
    save_model(model, tmp_path / "model.json")
    again = load_model(tmp_path / "model.json")
    told = (lambda each: each.transform(ROWS)) if name == "components" else (lambda each: each.predict(ROWS))
    assert (told(again) == told(model)).all()
    assert (again.loss_, again.event_) == (model.loss_, model.event_)


@pytest.mark.filterwarnings("ignore:Estimator .* does not inherit")
@pytest.mark.parametrize(
    "model",
    [
        NaiveBayesClassifier(epsilon=100),
        LogisticClassifier(epsilon=10**6),
        GaussianBayesClassifier(epsilon=1_000),
        NeighbourVotesClassifier(epsilon=1_000),
        TreeClassifier(epsilon=1_000),
        RidgeRegressor(epsilon=10**6),
        PrincipalComponents(1, epsilon=10**6),
        KMeansClusters(2, epsilon=1_000),
    ],
    ids=lambda model: type(model).__name__,
)
def test_scikit_learn_finds_its_conventions_kept(model):
    from sklearn.utils.estimator_checks import check_estimator

    compared = ("check_fit_idempotent", "check_supervised_y_2d", "check_regressors_int")
    arrays = ("check_regressor_data_not_an_array", "check_classifier_data_not_an_array")
    differing = dict.fromkeys((*compared, *arrays), NOISE_DIFFERS)
    found = check_estimator(model, expected_failed_checks=differing, on_skip=None)
    assert sum(each["status"] == "passed" for each in found) > 25
