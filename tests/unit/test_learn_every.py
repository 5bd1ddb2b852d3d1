"""What holds of every estimator: hostile rows are refused in our words; a neighbour moves only what was paid for."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from support.sources import Seeded
from tacit.errors import InvalidParameter
from tacit.learn import (
    AdditiveClassifier,
    GaussianBayesClassifier,
    KMeansClusters,
    LogisticClassifier,
    NaiveBayesClassifier,
    NeighbourVotesClassifier,
    NetworkClassifier,
    PrincipalComponents,
    RidgeRegressor,
    TreeClassifier,
)
from tacit.learn.accuracy.first import AccuracyFirst
from tacit.learn.sums.cells import numbers_of
from tacit.learn.sums.moments import GRID, scaled
from tacit.mechanisms import AboveThreshold, Gaussian, GradualRelease, Laplace

FEATURES: list[Any] = [(0, 10), ["a", "b"]]
MODELS: dict[str, Any] = {
    "additive": lambda **given: AdditiveClassifier(**{"rounds": 4, **given}),
    "bayes": NaiveBayesClassifier,
    "gaussian bayes": GaussianBayesClassifier,
    "logistic": LogisticClassifier,
    "votes": NeighbourVotesClassifier,
    "tree": TreeClassifier,
    "network": lambda **given: NetworkClassifier(**{"rounds": 3, **given}),
    "ridge": lambda **given: RidgeRegressor(target=(0, 1), **given),
    "components": PrincipalComponents,
    "clusters": lambda **given: KMeansClusters(3, **given),
}
WITHOUT_CLASSES = {"ridge", "components", "clusters"}


def rows(count: int = 60) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    return np.array([rng.uniform(0, 10, count), rng.choice(["a", "b"], count)], dtype=object).T, rng.integers(
        0, 2, count
    )


def changed(row: int, column: int, value: Any) -> np.ndarray:
    table, _ = rows()
    table[row, column] = value
    return table


class Twice:
    """A frame two of whose columns have one name."""

    columns = ("p", "p")

    def __getitem__(self, name: str) -> np.ndarray:
        return np.zeros((3, 2))


def hostile() -> Iterator[tuple[str, Any, Any, dict[str, Any]]]:
    table, truth = rows()
    for value in (math.nan, None, math.inf, -1e300, 10**400, -(10**400), Decimal("1e5000")):
        yield f"the number {str(value)[:12]}", changed(3, 0, value), truth, {}
    for value in (None, "never declared", math.nan, ("a",), ["a"], 5):
        yield f"the category {value!r}", changed(3, 1, value), truth, {}
    yield "text where a number is declared", changed(0, 0, "much"), truth, {}
    yield "a constant target", table, np.zeros(60, dtype=int), {}
    yield "a constant target, no classes declared", table, np.zeros(60, dtype=int), {"classes": None}
    yield "one row", table[:1], truth[:1], {}
    yield "no rows", table[:0], truth[:0], {}
    yield "rows of other lengths", [[1, "a"], [3]], [0, 1], {}
    yield "two columns of one name", Twice(), [0, 1, 0], {}
    yield "fewer targets than rows", table, truth[:5], {}
    yield "a class never declared", table, np.where(np.arange(60) == 3, 7, truth), {}
    yield "long doubles beyond all doubles", np.full((60, 2), np.longdouble("1e4000")), truth, {}
    yield "complex targets", table, truth * 1j, {}
    yield "a target that is a list", table, np.array([[0], [1, 2]] * 30, dtype=object), {}
    yield "dates for numbers", np.full((60, 2), np.datetime64("2020-01-01")), truth, {}
    yield "NaN among targets", table, np.where(np.arange(60) == 3, math.nan, truth), {}
    yield "targets of several types", table, np.array([0, "x", None] * 20, dtype=object), {"classes": None}
    for declared in (5, "ab", [0], [0, 0], [[0], [1]], [[0], [1, 2]]):
        yield f"classes {declared!r}", table, truth, {"classes": declared}
    for entry in (None, 5, (1, 0), (0, math.inf), (math.nan, 1), {"edges": 5}, {"edges": [2, 1]}, {"edges": "ab"}):
        yield f"features {entry!r}", table, truth, {"features": [entry, ["a", "b"]]}
    for source in (5, np.random.default_rng(1), "system"):
        yield f"source {type(source).__name__}", table, truth, {"source": source}
    for epsilon in (0, math.nan, "much", None, 1e-300):
        yield f"epsilon {epsilon!r}", table, truth, {"epsilon": epsilon}


@pytest.mark.parametrize("name", MODELS)
def test_whatever_is_given_is_learned_from_or_refused_in_our_own_words(name):
    """Never an exception from the middle of numpy, and no warning either."""
    for what, table, truth, options in hostile():
        given = {"features": FEATURES, **({} if name in WITHOUT_CLASSES else {"classes": [0, 1]}), **options}
        if name in WITHOUT_CLASSES:
            given.pop("classes", None)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                MODELS[name](**given).fit(table, truth)
        except InvalidParameter:
            continue
        except Exception as error:
            pytest.fail(f"{what}: {type(error).__name__}: {error}")


UNITS: dict[str, Any] = {
    "too few": [1],
    "a table": np.zeros((60, 2)),
    "NaN": np.full(60, math.nan),
    "nobody": [None] * 60,
    "lists": [[1]] * 60,
    "a text": "a" * 60,
    "a number": 5,
    "pairs with NaN": [(1, math.nan)] * 60,
    "not a number, in decimals": [Decimal("NaN")] * 60,
    "a signalling one": [Decimal("sNaN")] * 60,
}


@pytest.mark.parametrize("units", UNITS.values(), ids=UNITS)
@pytest.mark.parametrize("name", MODELS)
def test_units_that_are_none_are_refused_in_our_own_words(name, units):
    given = {"features": FEATURES, **({} if name in WITHOUT_CLASSES else {"classes": [0, 1]})}
    with pytest.raises(InvalidParameter):
        MODELS[name](**given).fit(*rows(), units=units)


# ── neighbours ───────────────────────────────────────────────────────────────────────────────────────────────────────


class Overheard:
    """What noise is added to, and the same noise whatever that is: of two neighbours all else must be the same."""

    def __init__(self, monkeypatch: Any, *, same: list[np.ndarray] | None = None) -> None:
        self.exact: list[np.ndarray] = []
        self.told: list[np.ndarray] = []

        def release(_: Any, values: Any, __: Any = None) -> Any:
            exact = np.array(values)
            self.exact.append(exact)
            answer = exact if same is None else same[len(self.told)]
            self.told.append(answer)
            return answer

        for kind in (Gaussian, Laplace):
            monkeypatch.setattr(kind, "release", release)


def learnt(value: Any) -> Any:
    """All that a model holds, to the last bit."""
    if isinstance(value, np.ndarray):
        return value.shape, [learnt(each) for each in value.ravel().tolist()]
    if isinstance(value, tuple):
        return [learnt(each) for each in value]
    return value.hex() if isinstance(value, float) else repr(value)


def held(model: Any) -> dict[str, Any]:
    return {name: learnt(value) for name, value in vars(model).items() if name.endswith("_")}


def neighbours() -> Iterator[tuple[np.ndarray, np.ndarray]]:
    table, truth = rows()
    yield table[:-1], truth[:-1]
    for value, sort, label in ((1e300, "never declared", 1), (math.nan, None, 0), (10.0, "b", 1), (-5, "a", 0)):
        last = np.array([[value, sort]], dtype=object)
        yield np.vstack([table[:-1], last]), np.append(truth[:-1], label)


@pytest.mark.parametrize("name", MODELS)
def test_the_same_releases_make_the_same_model_of_neighbours_byte_for_byte(name, monkeypatch):
    """Nothing of the rows comes into a model but through what noise was added to: no count, no shape, no order."""
    given = {"features": FEATURES, **({} if name in WITHOUT_CLASSES else {"classes": [0, 1]})}
    with monkeypatch.context() as patched:
        first = Overheard(patched)
        model = MODELS[name](**given, source=Seeded(5)).fit(*rows())
    for table, truth in neighbours():
        with monkeypatch.context() as patched:
            heard = Overheard(patched, same=first.told)
            other = MODELS[name](**given, source=Seeded(5)).fit(table, truth)
        assert len(heard.exact) == len(first.exact)
        assert [part.shape for part in heard.exact] == [part.shape for part in first.exact]
        assert all(part.dtype.kind == "i" for part in heard.exact), "noise is added to whole numbers alone"
        assert held(other) == held(model)


def test_a_model_that_looks_at_the_number_of_rows_is_noticed(monkeypatch):
    fit = NaiveBayesClassifier.fit

    def looking(self: Any, table: Any, truth: Any) -> Any:
        self.seen_ = len(table)
        return fit(self, table, truth)

    monkeypatch.setattr(NaiveBayesClassifier, "fit", looking)
    with pytest.raises(AssertionError):
        test_the_same_releases_make_the_same_model_of_neighbours_byte_for_byte("bayes", monkeypatch)


@pytest.mark.parametrize("kind", ["ridge", "logistic"])
def test_accuracy_first_knows_of_neighbours_what_it_was_told(kind, monkeypatch):
    """With the same tellings and the same answers to its comparisons."""
    box: list[Any] = [(0, 10), (0, 1)]
    rng = np.random.default_rng(1)
    table, goal = rng.uniform(0, 1, (80, 2)), rng.integers(0, 2, 80)
    told: list[Any] = []

    def tellings(self: GradualRelease, values: Any, _: Any) -> list[np.ndarray]:
        if not told:
            told.append([np.array(values) // (index + 1) for index in range(len(self.scales))])
        return list(told[0])

    class Counting:
        hits_left = 1

        def ask(self, _: int) -> bool:
            self.hits_left = 0
            return True

    monkeypatch.setattr(GradualRelease, "release", tellings)
    monkeypatch.setattr(AboveThreshold, "start", lambda _, __: Counting())
    monkeypatch.setattr(Laplace, "release", lambda _, values, __: np.array([70]))
    estimator: Any = (
        RidgeRegressor(features=box, target=(0, 1))
        if kind == "ridge"
        else LogisticClassifier(features=box, classes=[0, 1])
    )
    models = [AccuracyFirst(estimator).fit(table[:count], goal[:count]) for count in (80, 79)]
    assert (models[0].weights_ == models[1].weights_).all()
    assert models[0].spent_ == models[1].spent_
    assert models[0].reserved_ == models[1].reserved_


# ── how rows are read ────────────────────────────────────────────────────────────────────────────────────────────────

BIG = 2**53 + 1
PLAIN: list[list[Any]] = [[1, "a"], [2, "b"], [True, "a"], [BIG, "b"], [0.5, "a\0"], [1, "a"]]
CODED: list[Any] = [[1, 2, BIG], ["a", "b", "a\0"]]


@pytest.mark.parametrize("last", [["x", "a"], [0.25, "a"], [b"x", b"a"], [None, None], [10**30, 5], ["1", "2"]])
@pytest.mark.parametrize("name", MODELS)
def test_no_row_of_a_list_decides_how_others_are_read(name, last, monkeypatch):
    """numpy makes texts of a list with one text in it, and doubles of one with a fraction: categories would be lost."""
    given = {"features": CODED, **({} if name in WITHOUT_CLASSES else {"classes": [0, 1]})}
    truth = [0, 1, 0, 1, 1, 0]
    with monkeypatch.context() as patched:
        first = Overheard(patched)
        MODELS[name](**given, source=Seeded(5)).fit(PLAIN, truth)
    with monkeypatch.context() as patched:
        heard = Overheard(patched, same=first.told)
        MODELS[name](**given, source=Seeded(5)).fit([*PLAIN, last], [*truth, 1])
    moved = [np.abs(one - other).sum() for one, other in zip(first.exact, heard.exact, strict=True)]
    with monkeypatch.context() as patched:
        cells = Overheard(patched, same=first.told)
        MODELS[name](**given, source=Seeded(5)).fit(np.array([*PLAIN, last], dtype=object), np.array([*truth, 1]))
    same = [np.abs(one - other).sum() for one, other in zip(first.exact, cells.exact, strict=True)]
    assert moved == same  # what an array of the very cells has it move


def test_lists_that_numpy_makes_alike_are_noticed(monkeypatch):
    monkeypatch.setattr("tacit.learn.conventions.array_of", lambda values, _: np.asarray(values))
    with pytest.raises(AssertionError):
        test_no_row_of_a_list_decides_how_others_are_read("bayes", ["x", "a"], monkeypatch)


@pytest.mark.parametrize("values", [[1, 1.0], [1, True, 2], [0, False], ["a", np.str_("a")], [[1], 2], [(1, [2]), 3]])
@pytest.mark.parametrize("name", MODELS)
def test_a_category_by_two_names_is_refused(name, values):
    """A cell that is two of them at once would count twice."""
    given = {} if name in WITHOUT_CLASSES else {"classes": [0, 1]}
    with pytest.raises(InvalidParameter, match=r"twice|none"):
        MODELS[name](features=[(0, 10), values], **given).fit(*rows())


@pytest.mark.parametrize("name", MODELS)
def test_what_a_frame_calls_missing_is_unknown_and_no_refusal(name):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"n": pandas.array([1, None, 3, 4], dtype="Int64"), "c": ["a", None, "b", "a"]})
    frame["c"] = frame["c"].astype("category")
    given = {} if name in WITHOUT_CLASSES else {"classes": [0, 1]}
    MODELS[name](features={"n": (0, 10), "c": ["a", "b"]}, **given).fit(frame, [0, 1, 0, 1])
    plain = numbers_of(np.array([1, pandas.NA, None, pandas.NaT, 10**400, "2.5"], dtype=object), "n")
    assert plain.tolist()[:1] + plain.tolist()[4:] == [1.0, math.inf, 2.5]
    assert np.isnan(plain[1:4]).all()


class Anything:
    """A cell that says it equals whatever it is compared with."""

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 5


def test_a_cell_is_one_category_at_most_whatever_it_says_of_itself():
    (column,) = scaled([["a", "b", "c"]], ["sort"])
    cells = np.empty(3, dtype=object)
    cells[:] = [Anything(), np.array(["a", "b"]), ["a"]]
    assert ((column.steps(cells) ** 2).sum(axis=1) <= GRID**2).all()


@pytest.mark.parametrize("label", [["x"], {"a": 1}, (1, [2])])
@pytest.mark.parametrize("name", sorted(set(MODELS) - WITHOUT_CLASSES))
def test_a_target_that_cannot_be_looked_up_is_refused(name, label):
    table, _ = rows(3)
    truth = np.empty(3, dtype=object)
    truth[:] = [0, 1, label]
    with pytest.raises(InvalidParameter):
        MODELS[name](features=FEATURES, classes=[0, 1]).fit(table, truth)


# ── what a model says of a row ───────────────────────────────────────────────────────────────────────────────────────


def said(model: Any, table: np.ndarray) -> np.ndarray:
    return np.asarray(model.predict_proba(table) if hasattr(model, "predict_proba") else model.predict(table))


def differs_in_company(name: str) -> int:
    """Of how many of 97 rows something else is said alone, or at another place, in the last bit."""
    rng = np.random.default_rng(3)
    table = rng.uniform(-4, 4, (97, 9))
    model = MODELS[name](epsilon=5, **({} if name in WITHOUT_CLASSES else {"classes": [0, 1]}))
    if name == "ridge":
        model.target = (-4, 4)
    model.fit(table, (table[:, 0] > 0).astype(int))
    whole = said(model, table)
    alone = np.concatenate([said(model, table[[place]]) for place in range(97)])
    later = said(model, table[1:])
    return int((whole != alone).sum() + (whole[1:] != later).sum())


SCORED = ("additive", "bayes", "gaussian bayes", "logistic", "votes", "tree", "ridge", "network")


@pytest.mark.parametrize("name", SCORED)
def test_what_is_said_of_a_row_is_the_same_whoever_else_is_there_to_the_last_bit(name):
    """A search scores rows by it: else one row more would move the scores of others, which nobody paid for."""
    assert differs_in_company(name) == 0


def test_products_of_doubles_that_know_of_other_rows_are_noticed(monkeypatch):
    monkeypatch.setattr("tacit.learn.regression.ridge.weighted", lambda table, weights: table @ weights)
    assert sum(differs_in_company("ridge") for _ in range(5)) > 0
