"""Secrets of as many values as there are rows: the same numbers as the histograms give, in time of the rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.errors import InvalidParameter
from tacit.release.anonymise import anonymise
from tacit.release.anonymise.models.distance import EQUAL, HIERARCHICAL, ORDERED
from tacit.release.anonymise.models.family import (
    AlphaAnonymity,
    BetaLikeness,
    EntropyDiversity,
    LDiversity,
    Model,
    RecursiveDiversity,
    TCloseness,
)
from tacit.release.anonymise.values import tuples
from tacit.release.anonymise.values.tuples import ClassTally, SecretSpread

pd = pytest.importorskip("pandas")
VALUES = 7
LEVELS = ((0, 0, 0, 1, 1, 2, 2), (0, 0, 0, 0, 0, 1, 1), (0,) * VALUES)
MODELS: tuple[Model, ...] = (
    LDiversity(2, "s"),
    EntropyDiversity(1.7, "s"),
    RecursiveDiversity(2, 1.5, "s"),
    RecursiveDiversity(3, 2, "s"),
    TCloseness(0.2, "s", EQUAL),
    TCloseness(0.2, "s", ORDERED),
    TCloseness(0.2, "s", HIERARCHICAL, LEVELS),
    TCloseness(0.2, "s", HIERARCHICAL, LEVELS[:2]),
    BetaLikeness(0.7, "s"),
    AlphaAnonymity(0.5, "s"),
)
histograms = st.lists(st.lists(st.integers(0, 5), min_size=VALUES, max_size=VALUES).filter(any), min_size=1, max_size=8)


def pairs(counts: np.ndarray) -> SecretSpread:
    """The same as pairs of a class and a value."""
    value, owner = np.nonzero(counts)
    return SecretSpread.of(
        "s", counts.shape[0], owner=owner, value=value, count=counts[value, owner], tuples=counts.shape[1]
    ).regrouped(np.arange(counts.shape[1]), of=np.arange(counts.shape[1]), number=counts.shape[1])


@pytest.fixture
def _all_are_wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuples, "WIDE", 0)


@pytest.mark.usefixtures("_all_are_wide")
@pytest.mark.parametrize("model", MODELS, ids=str)
def test_pairs_measure_what_histograms_measure(model: Model) -> None:
    @settings(max_examples=100, deadline=None)
    @given(classes=histograms)
    def measured_alike(classes: list[list[int]]) -> None:
        counts = np.array(classes, dtype=np.int64).T
        size = counts.sum(axis=0)
        table = ClassTally(size.sum(keepdims=True), None, {"s": counts.sum(axis=1, keepdims=True)})
        wide, narrow = ClassTally(size, None, {"s": pairs(counts)}), ClassTally(size, None, {"s": counts})
        assert model.measured(wide, table) == pytest.approx(model.measured(narrow, table), abs=1e-12)
        assert model.holds(wide, table).tolist() == model.holds(narrow, table).tolist()

    measured_alike()


def people(rows: int) -> pd.DataFrame:
    rng = np.random.default_rng(7)
    age = rng.integers(18, 90, rows)
    pay = np.round(np.exp(rng.normal(10, 0.5, rows) + age / 90), 2)
    return pd.DataFrame({"age": age, "town": rng.integers(0, 30, rows).astype(str), "pay": pay})


def farthest(cells: pd.DataFrame, column: str) -> float:
    """The ordered distance of each class from the table by its definition; the largest."""
    ranks = cells[column].rank(method="dense").astype(int) - 1
    size = int(ranks.max()) + 1
    whole = np.cumsum(np.bincount(ranks, minlength=size)) / len(cells)
    found = 0.0
    for _, mine in ranks.groupby([cells["age"], cells["town"]], observed=True):
        part = np.cumsum(np.bincount(mine, minlength=size)) / len(mine)
        found = max(found, float(np.abs(part - whole)[:-1].sum() / (size - 1)))
    return found


@pytest.mark.parametrize("method", ["greedy", "strict", "local", "microaggregate"])
@pytest.mark.parametrize("t", [0.12, 0.3])
def test_classes_are_close_to_the_table_on_a_secret_of_as_many_values_as_rows(method: str, t: float) -> None:
    result = anonymise(people(1500), ["age", "town"], k=5, sensitive="pay", t=t, distance=ORDERED, method=method)
    assert farthest(result.to_pandas(), "pay") <= t + 1e-6
    assert result.report.utility.classes > 1
    assert result.report.linkage.learnt_after[0].certain == 0


def test_the_work_on_a_numeric_secret_grows_with_the_rows_and_not_with_their_square(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Counted in cells that are looked at, since time depends on the machine."""
    looked = []
    counted = SecretSpread.counted

    def counting(self: SecretSpread, groups: np.ndarray, *, of: np.ndarray, number: int) -> object:
        made = counted(self, groups, of=of, number=number)
        looked.append(made.value.size if isinstance(made, SecretSpread) else made.size)
        return made

    monkeypatch.setattr(SecretSpread, "counted", counting)
    work = []
    for rows in (1_000, 8_000):
        looked.clear()
        anonymise(people(rows), ["age", "town"], k=10, sensitive="pay", t=0.2, distance=ORDERED)
        work.append(sum(looked) / rows)
    assert work[1] < 3 * work[0], "eight times the rows, a few times the levels"


def test_a_missing_secret_is_a_value_of_its_own_except_in_an_order() -> None:
    table = people(60).assign(pay=[None, 1.5, 2.5] * 20)
    assert anonymise(table, ["age"], k=3, sensitive="pay", l=2).report.homogeneity_after[0].least_values >= 2
    with pytest.raises(InvalidParameter, match="pay has nulls: what is not known has no place in an order"):
        anonymise(table, ["age"], k=3, sensitive="pay", t=0.5, distance=ORDERED)
