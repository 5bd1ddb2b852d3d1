"""The additive model: what it may know of a row, what it costs, what it learns, and what it refuses."""

from __future__ import annotations

import json
import math
from contextlib import contextmanager
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.core import Adjacency, GaussianEvent, Loss, sqrt_above
from tacit.errors import InvalidParameter
from tacit.learn import AdditiveClassifier, load_model, save_model
from tacit.learn.classifiers import additive_rounds as rounds
from tacit.learn.classifiers.additive_plan import plan_additive
from tacit.learn.classifiers.additive_shrinking import drawn_back
from tacit.learn.sums.array_rows import ArrayCells, residuals_of
from tacit.learn.sums.cells import cells_of, offsets
from tacit.learn.sums.residuals import CLIP, REACH
from tacit.mechanisms import Gaussian
from tacit.noise import SYSTEM

FEATURES = {"age": (17, 90), "pay": (0, 100_000), "sort": ["a", "b", "c"]}
CELLS = cells_of(FEATURES, list(FEATURES))
DELTA = Fraction(1, 10**6)
HOSTILE = [math.nan, math.inf, -math.inf, 0.0, -0.0, 1e308, -1e308, 5e-324, 16.999999, 90.0, 1e6]
SORTS = ["a", "b", "c", "", "A", None, math.nan, 3, ("a",), "'; --"]


def rows(count: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    age, pay = rng.integers(17, 91, count), rng.exponential(9_000, count)
    sort = rng.choice(["a", "b", "c"], count)
    odds = (age - 50) / 10 + 2 * (pay > 10_000) + np.where(sort == "c", -2, 1)
    table = np.empty((count, 3), dtype=object)
    table[:, 0], table[:, 1], table[:, 2] = age, pay, sort
    return table, (rng.random(count) < 1 / (1 + np.exp(-odds))).astype(int)


def classifier(**options) -> AdditiveClassifier:
    return AdditiveClassifier(**{"delta": DELTA, "features": list(FEATURES.values()), "classes": [0, 1]} | options)


def counted(table: np.ndarray, truth: np.ndarray) -> ArrayCells:
    codes = [cells.codes(table[:, place]) for place, cells in enumerate(CELLS)]
    return ArrayCells(CELLS, codes, truth == 1)


# ── what one row can move ────────────────────────────────────────────────────────────────────────────────────────────


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(HOSTILE) | st.floats(),
    st.sampled_from(HOSTILE) | st.floats(),
    st.sampled_from(SORTS),
    st.integers(0, 1),
    st.integers(0, 2**32 - 1),
)
def test_no_row_moves_a_histogram_further_than_it_is_charged_for(age, pay, sort, truth, seed):
    rng = np.random.default_rng(seed)
    size = int(offsets(CELLS)[-1])
    scores = rng.integers(-REACH, REACH + 1, size)
    pace = rounds._SPARSE if seed % 2 else rounds._AMPLE
    groups = rounds.grouping(CELLS, rng.normal(0, 9, size), pace=pace, source=SYSTEM)
    one = np.empty((1, 3), dtype=object)
    one[0] = [age, pay, None]
    one[0, 2] = sort
    data = counted(one, np.array([truth]))
    moved = data.residuals(scores, int(rng.integers(-REACH, REACH + 1)), groups=groups)
    assert int((data.counts() ** 2).sum()) == len(CELLS)  # √k: one cell of each feature, whatever the row holds
    assert int((moved**2).sum()) <= CLIP**2 * len(CELLS)
    assert moved.dtype == np.int64


def furthest(residuals) -> float:
    """How far one row, added to some others, moves the residuals' sum: in units of what is charged."""
    rng = np.random.default_rng(4)
    score, truth = rng.integers(-REACH, REACH, 400), rng.integers(0, 2, 400) == 1
    sums = [int(residuals(score[:last], truth[:last]).sum()) for last in range(1, 401)]
    return max(abs(after - before) for before, after in pairwise(sums)) / CLIP


def test_residuals_are_clipped_row_by_row():
    assert furthest(residuals_of) <= 1


def test_clipping_the_mean_of_a_batch_is_noticed():
    def clips_the_mean(score, truth):  # of the whole batch, not of each row
        exact = np.where(truth, score < 0, score > 0) * 2 * CLIP * np.where(truth, 1, -1)
        return np.sign(exact.mean()) * min(abs(exact.mean()), CLIP) * np.ones(score.size)

    assert furthest(clips_the_mean) > 1


def test_a_row_that_joins_others_moves_sums_by_its_own_alone():
    table, truth = rows(300)
    size = int(offsets(CELLS)[-1])
    scores, groups = np.arange(size) % 700 - 350, np.arange(size)
    whole, less, one = (
        counted(table[part], truth[part]).residuals(scores, 5, groups=groups)
        for part in (slice(0, 300), slice(0, 299), slice(299, 300))
    )
    assert (whole == less + one).all()


# ── what it costs ────────────────────────────────────────────────────────────────────────────────────────────────────


@contextmanager
def overheard(monkeypatch, factor: float = 1):
    heard = []
    release = Gaussian.release

    def listening(self, values, source):
        drawn = Gaussian(self.sigma * Fraction(factor), self.delta)
        heard.append((drawn.sigma, np.size(values)))
        return release(drawn, values, source)

    with monkeypatch.context() as patched:
        patched.setattr(Gaussian, "release", listening)
        yield heard


def delta_by_hand(heard, epsilon: float) -> float:
    """Balle & Wang's profile of the normal law, for the noise that was drawn: nothing is read off the plan."""
    features = len(CELLS)
    squares = [features / heard[0][0] ** 2, *(CLIP**2 * features / sigma**2 for sigma, _ in heard[1:])]
    mu = math.sqrt(float(sum(squares)))
    above, below = (math.erfc((epsilon / mu + half) / math.sqrt(2)) / 2 for half in (-mu / 2, mu / 2))
    return above - math.exp(epsilon) * below


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), 1, 10])
def test_the_noise_that_is_drawn_costs_what_was_asked_for_and_wastes_nothing(epsilon, monkeypatch):
    table, truth = rows(200)
    with overheard(monkeypatch) as heard:
        model = classifier(epsilon=epsilon).fit(table, truth)
    assert len(heard) == 1 + 60
    assert float(DELTA) * 0.98 < delta_by_hand(heard, float(epsilon)) < float(DELTA)
    assert model.loss_ == Loss(epsilon, DELTA)
    ((counting, once), (learning, times)) = model.event_.parts
    assert (once, times) == (1, 60)
    root = sqrt_above(Fraction(len(CELLS)))
    assert counting == GaussianEvent(root**2 / (2 * heard[0][0] ** 2))
    assert {learning} == {GaussianEvent((CLIP * root) ** 2 / (2 * sigma**2)) for sigma, _ in heard[1:]}


def test_noise_that_is_a_tenth_too_small_is_noticed(monkeypatch):
    table, truth = rows(200)
    with overheard(monkeypatch, factor=0.9) as heard:
        classifier().fit(table, truth)
    assert delta_by_hand(heard, 1.0) > float(DELTA)


def test_rows_of_one_person_and_replaced_people_cost_more_noise():
    plain = plan_additive(CELLS, Loss(1, DELTA))
    several = plan_additive(CELLS, Loss(1, DELTA), rows=3)
    replaced = plan_additive(CELLS, Loss(1, DELTA), adjacency=Adjacency.REPLACE)
    assert several.residual_moves == 3 * plain.residual_moves
    assert float(several.residual_noise.sigma / plain.residual_noise.sigma) == pytest.approx(3, rel=1e-4)
    assert float(replaced.count_noise.sigma / plain.count_noise.sigma) == pytest.approx(2, rel=1e-2)


def test_the_model_is_made_of_what_was_released_and_of_nothing_else(monkeypatch):
    """Whatever the rows are, the same releases make the same model; an exact number of rows would show here."""
    monkeypatch.setattr(
        Gaussian,
        "release",
        lambda _, values, __: np.random.default_rng(np.size(values)).integers(0, 999, np.size(values)),
    )
    monkeypatch.setattr(rounds, "_coins", lambda size, _: np.random.default_rng(size).random(size))
    found = []
    for count in (50, 2_000):
        model = classifier().fit(*rows(count, seed=count))
        found.append(np.concatenate([*model.weights_, [model.intercept_]]))
    assert (found[0] == found[1]).all()


# ── what it learns ───────────────────────────────────────────────────────────────────────────────────────────────────


def test_it_learns_what_there_is_to_learn():
    table, truth = rows(6_000)
    others, hidden = rows(4_000, seed=2)
    model = classifier(epsilon=8)
    guess = model.fit(table, truth).predict_proba(others)
    assert guess.shape == (4_000, 2)
    assert guess.sum(axis=1) == pytest.approx(1)
    right = float(np.mean((guess[:, 1] > 0.5) == hidden))
    assert right > 0.75  # .84 with no privacy; a coin has .5
    assert float(guess[:, 1].mean()) == pytest.approx(float(hidden.mean()), abs=0.06)  # it is calibrated


def wide(count: int, width: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Many columns, of which the first five say something."""
    rng = np.random.default_rng(seed)
    table = rng.normal(0, 1, (count, width))
    return table, (rng.random(count) < 1 / (1 + np.exp(1 - 1.2 * table[:, :5].sum(axis=1)))).astype(int)


def log_loss(model: AdditiveClassifier, width: int) -> float:
    others, hidden = wide(4_000, width, 2)
    return -float(np.log(model.predict_proba(others)[np.arange(4_000), hidden]).mean())


def test_many_columns_do_not_swing(monkeypatch):
    """Every column measures whether everybody's odds should rise. If all of eighty followed, they would overshoot."""
    table, truth = wide(6_000, 80, 1)
    model = AdditiveClassifier(epsilon=20, classes=[0, 1]).fit(table, truth)
    assert log_loss(model, 80) < 0.5  # .36 with no privacy, .66 of whoever knows the shares of the classes alone
    monkeypatch.setattr(rounds.FeatureBlocks, "said_once", lambda _, moves: moves)
    assert (
        log_loss(AdditiveClassifier(epsilon=20, classes=[0, 1]).fit(table, truth), 80) > 0.6
    )  # and it would be noticed


def test_what_noise_alone_explains_is_drawn_back():
    table, truth = wide(6_000, 20, 1)
    model = AdditiveClassifier(epsilon="0.5", classes=[0, 1]).fit(table, truth)
    spread = [float(np.std(weights[6:16])) for weights in model.weights_]  # of the cells between -2 and 2
    assert min(spread[:5]) > 4 * np.mean(spread[5:])
    feature, held = np.repeat([0, 1], 3), np.ones(6)
    blocks = rounds.FeatureBlocks(feature, held)
    clear, loud = np.array([-4.0, 0, 4, -1, 0, 1]), np.array([-1.0, 0, 1, -2, 0, 2])
    around, shift = blocks.centred(np.stack([clear + 1, loud, -loud]))
    kept = drawn_back(around, held, feature, ordered=[False, False])
    assert kept[:3] == pytest.approx(clear[:3] * (1 - 1 / 16))
    assert (kept[3:] == 0).all()
    assert shift == 2


def test_what_these_rows_say_by_chance_is_drawn_back_where_there_is_hardly_any_noise(monkeypatch):
    table, truth = wide(2_000, 12, 1)

    def said_of_nothing() -> float:
        model = AdditiveClassifier(epsilon=100, classes=[0, 1]).fit(table, truth)
        return float(np.mean([np.std(weights[6:16]) for weights in model.weights_[5:]]))

    normal, calls = rounds._normal, []
    assert said_of_nothing() < 0.4
    monkeypatch.setattr(  # other rows might have been drawn: without that, it is noticed
        rounds, "_normal", lambda size, source: normal(size, source) * bool(calls or calls.append(size))
    )
    assert said_of_nothing() > 0.4


def test_little_budget_learns_little():
    table, truth = rows(500)
    model = classifier(epsilon="0.001")
    assert abs(model.fit(table, truth).score(*rows(2_000, seed=3)) - 0.5) < 0.35


@pytest.mark.parametrize(
    ("given", "counts_as"),
    [
        ([1e9, 200_000.0, "a"], [90, 100_000, "a"]),
        ([-5, -1.0, "a"], [17, 0, "a"]),
        ([math.inf, -math.inf, "a"], [90, 0, "a"]),
        ([math.nan, 3.0, "never declared"], [None, 3.0, None]),
        ([20, 3.0, ["no", "value"]], [20, 3.0, math.nan]),
    ],
)
def test_what_lies_outside_is_clamped_and_what_is_unknown_has_a_cell(given, counts_as):
    table, truth = rows(400)
    model = classifier().fit(table, truth)
    pair = np.empty((2, 3), dtype=object)
    for place, values in enumerate((given, counts_as)):
        for column, value in enumerate(values):
            pair[place, column] = value
    left, right = model.predict_proba(pair)[:, 1]
    assert left == right
    assert any("declared bounds" in note for note in model.notes_)


def test_a_constant_target_can_be_learned_where_both_classes_are_declared():
    table, _ = rows(3_000)
    model = classifier(epsilon=5, classes=["no", "yes"])
    assert set(model.fit(table, np.full(3_000, "yes")).predict(table)) == {"yes"}


def test_cells_come_from_what_was_declared():
    age, pay, sort = CELLS
    assert age.edges[:3] == (20, 25, 30)
    assert 50_000 in pay.edges
    assert pay.edges[0] < 20  # a long tail has cells that grow by a ratio
    assert sort.size == 4
    (own,) = cells_of([{"edges": ["0.5", 1, 2]}], ["x"])
    assert own.codes(np.array([0, 0.5, 1.5, 2, 9, math.nan])).tolist() == [0, 1, 2, 3, 3, 4]


# ── bad input ────────────────────────────────────────────────────────────────────────────────────────────────────────

TABLE, TRUTH = rows(40)
BAD = {
    "no rows": (TABLE[:0], TRUTH[:0], {}),
    "one dimension": (TRUTH, TRUTH, {}),
    "text where a number was declared": (TABLE[:, [2, 1, 2]], TRUTH, {}),
    "one class": (TABLE, TRUTH * 0, {"classes": None}),
    "three classes": (TABLE, np.arange(40) % 3, {"classes": None}),
    "a class that nobody declared": (TABLE, TRUTH + 1, {}),
    "a target with NaN": (TABLE, np.where(TRUTH, np.nan, 0.0), {}),
    "fewer targets than rows": (TABLE, TRUTH[1:], {}),
    "no target": (TABLE, None, {}),
    "one declared class": (TABLE, TRUTH, {"classes": [1]}),
    "a column that is not declared": (TABLE, TRUTH, {"features": [(0, 1)]}),
    "bounds the wrong way round": (TABLE, TRUTH, {"features": [(1, 0), (0, 1), ["a"]]}),
    "infinite bounds": (TABLE, TRUTH, {"features": [(0, math.inf), (0, 1), ["a"]]}),
    "a category twice": (TABLE, TRUTH, {"features": [(0, 1), (0, 1), ["a", "a"]]}),
    "something else": (TABLE, TRUTH, {"features": [(0, 1), (0, 1), "abc"]}),
    "features of another kind": (TABLE, TRUTH, {"features": 3}),
    "no epsilon": (TABLE, TRUTH, {"epsilon": 0}),
    "a negative epsilon": (TABLE, TRUTH, {"epsilon": -1}),
    "no delta": (TABLE, TRUTH, {"delta": 0}),
    "NaN for epsilon": (TABLE, TRUTH, {"epsilon": math.nan}),
    "no rounds": (TABLE, TRUTH, {"rounds": 0}),
}


@pytest.mark.parametrize("case", BAD, ids=BAD)
def test_bad_input_is_refused_in_our_own_words_before_any_noise_is_drawn(case, monkeypatch):
    table, truth, options = BAD[case]
    usual = {"features": list(FEATURES.values()), "classes": [0, 1]} | options
    with overheard(monkeypatch) as heard, pytest.raises(InvalidParameter) as refused:
        AdditiveClassifier(**usual).fit(table, truth)
    assert heard == []
    assert "NAN" not in str(refused.value)


@pytest.mark.filterwarnings("ignore:Estimator .* does not inherit")
def test_scikit_learn_finds_its_conventions_kept():
    from sklearn.utils.estimator_checks import check_estimator

    compared = dict.fromkeys(("check_fit_idempotent", "check_supervised_y_2d"), "every fit draws its own noise")
    found = check_estimator(AdditiveClassifier(epsilon=10**5), expected_failed_checks=compared, on_skip=None)
    assert sum(each["status"] == "passed" for each in found) > 40


# ── kept as text ─────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_model_is_saved_as_text_and_predicts_the_same(tmp_path):
    table, truth = rows(300)
    features = {"features": [*list(FEATURES.values())[:2], {"edges": [1, Fraction(1, 3) + 2]}]}
    table[:, 2] = table[:, 1]
    model = AdditiveClassifier(**features, classes=["no", "yes"]).fit(table, np.where(truth, "yes", "no"))
    save_model(model, tmp_path / "model.json")
    again = load_model(tmp_path / "model.json")
    assert (again.predict_proba(table) == model.predict_proba(table)).all()
    assert (again.loss_, again.event_, again.cells_) == (model.loss_, model.event_, model.cells_)
    assert again.get_params() == model.get_params()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        "3",
        '{"format": "tacit model", "version": 2, "kind": "AdditiveClassifier", "holds": {}}',
        '{"format": "tacit model", "version": 1, "kind": "os.system", "holds": {}}',
        '{"format": "tacit model", "version": 1, "kind": "AdditiveClassifier", "holds": {"predict": "x"}}',
        '{"format": "tacit model", "version": 1, "kind": "AdditiveClassifier", "holds": {"classes_": {"eval": "1"}}}',
        '{"format": "tacit model", "version": 1, "kind": "AdditiveClassifier", "holds": ' + "[" * 9_000,
    ],
)
def test_what_is_no_model_is_refused(text, tmp_path):
    (tmp_path / "model.json").write_text(text)
    with pytest.raises(InvalidParameter):
        load_model(tmp_path / "model.json")
    with pytest.raises(InvalidParameter):
        load_model(tmp_path / "none.json")


def test_a_saved_model_holds_no_rows(tmp_path):
    table, truth = rows(100)
    table[0, 0] = 23.456789
    save_model(classifier().fit(table, truth), tmp_path / "m.json")
    text = (tmp_path / "m.json").read_text()
    assert "23.456789" not in text
    assert set(json.loads(text)) == {"format", "version", "kind", "holds"}
