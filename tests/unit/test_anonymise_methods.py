"""The methods over hierarchies, and microaggregation, against exhaustive search."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tacit.errors import InvalidParameter
from tacit.release.anonymise import Bands, Tree
from tacit.release.anonymise.methods import lattice
from tacit.release.anonymise.methods.lattice import optimal
from tacit.release.anonymise.methods.microaggregation import microaggregate
from tacit.release.anonymise.methods.recoding import local
from tacit.release.anonymise.models.family import KAnonymity, LDiversity, Model, Rules, TCloseness
from tacit.release.anonymise.values.coding import column
from tacit.release.anonymise.values.columns import Column
from tacit.release.anonymise.values.tuples import SecretSpread, Tuples, tally, whole


def table(seed: int, rows: int = 200) -> tuple[Tuples, list[Column]]:
    rng = np.random.default_rng(seed)
    ages, towns, sexes = rng.integers(18, 60, rows), rng.integers(0, 6, rows), rng.integers(0, 2, rows)
    raw = np.stack([ages, towns, sexes])
    codes, place, counts = np.unique(raw, axis=1, return_inverse=True, return_counts=True)
    place = np.asarray(place).ravel()
    groups = {str(town): (f"county {town // 2}", f"land {town // 4}") for town in range(6)}
    hierarchies = [Bands((5, 10, 20)), Tree(groups), None]
    columns, dense = [], []
    for values, hierarchy in zip(codes, hierarchies, strict=True):
        different, at, heights = np.unique(values, return_inverse=True, return_counts=True)
        made, numbers = column("c", different.tolist(), counts=heights, hierarchy=hierarchy)
        columns.append(made)
        dense.append(numbers[at])
    secret = rng.integers(0, 3, rows)
    ones = np.ones(rows, dtype=np.int64)
    spread = SecretSpread.of("s", 3, owner=place, value=secret, count=ones, tuples=counts.size)
    return Tuples(np.stack(dense).astype(np.int32), counts.astype(np.int64), None, (spread,)), columns


def exhaustive(tuples: Tuples, columns: list[Column], models: tuple[Model, ...], share: float) -> float:
    """The least loss of all combinations of levels, every one of them tried."""
    best = np.inf
    table_tally = whole(tuples)
    for levels in itertools.product(*(c.ladder() for c in columns)):
        cells = np.stack([level.group[codes] for level, codes in zip(levels, tuples.codes, strict=True)])
        classes = np.asarray(np.unique(cells, axis=1, return_inverse=True)[1]).ravel()
        good = Rules(models, table_tally).hold(tally(tuples, classes, number=int(classes.max()) + 1))[classes]
        gone = int(tuples.size[~good].sum())
        if gone > share * tuples.rows:
            continue
        if gone:
            stay = np.flatnonzero(good)
            again = np.unique(classes[stay], return_inverse=True)[1]
            rest = tally(tuples, np.zeros(stay.size, dtype=np.int64), number=1, of=stay)
            if not Rules(models, rest).hold(tally(tuples, again, number=int(again.max()) + 1, of=stay)).all():
                continue
        loss = sum(level.loss[level.group[codes]] for level, codes in zip(levels, tuples.codes, strict=True))
        best = min(best, float((tuples.size * np.where(good, loss, len(columns))).sum()) / tuples.rows)
    return best


MODELS = (
    (KAnonymity(3),),
    (KAnonymity(10),),
    (KAnonymity(4), LDiversity(2, "s")),
    (KAnonymity(4), TCloseness(0.25, "s", "equal")),
)


@pytest.mark.parametrize("share", [0, 0.05, 0.2])
@pytest.mark.parametrize("models", MODELS, ids=lambda models: ", ".join(map(str, models)))
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_no_combination_of_levels_loses_less(seed: int, models: tuple[Model, ...], share: float) -> None:
    tuples, columns = table(seed)
    rules = Rules(models, whole(tuples))
    found = optimal(tuples, columns, rules=rules, suppression=share, progress=lambda _: None)
    kept = found.classes >= 0
    loss = sum(cells.loss[found.classes[kept]] for cells in found.cells)
    total = float((tuples.size[kept] * loss).sum() + tuples.size[~kept].sum() * len(columns)) / tuples.rows
    assert total == pytest.approx(exhaustive(tuples, columns, models, share))


@pytest.mark.parametrize(("seed", "share"), [(19, 0.35), (30, 0.35), (46, 0.35), (1, 0.2), (25, 0.2)])
@pytest.mark.parametrize("t", [0.12, 0.2])
def test_leaving_rows_out_changes_the_table_the_others_are_held_to(seed: int, share: float, t: float) -> None:
    """With suppression a coarser level may break what a finer one keeps, and t is measured without those who went."""
    tuples, columns = table(seed, rows=60)
    models = (KAnonymity(3), TCloseness(t, "s", "equal"))
    rules = Rules(models, whole(tuples))
    found = optimal(tuples, columns, rules=rules, suppression=share, progress=lambda _: None)
    kept = found.classes >= 0
    loss = sum(cells.loss[found.classes[kept]] for cells in found.cells)
    total = float((tuples.size[kept] * loss).sum() + tuples.size[~kept].sum() * len(columns)) / tuples.rows
    assert total == pytest.approx(exhaustive(tuples, columns, models, share))


def test_few_combinations_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    tuples, columns = table(4, rows=2000)
    looked, real = [], lattice._tried
    monkeypatch.setattr(lattice, "_tried", lambda *a, **b: looked.append(1) or real(*a, **b))
    optimal(tuples, columns, rules=Rules((KAnonymity(25),), whole(tuples)), suppression=0, progress=lambda _: None)
    assert len(looked) < np.prod([len(c.ladder()) for c in columns]) / 2


def test_too_many_combinations_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lattice, "LARGEST", 5)
    tuples, columns = table(1)
    with pytest.raises(InvalidParameter, match="combinations of levels"):
        optimal(tuples, columns, rules=Rules((KAnonymity(2),), whole(tuples)), suppression=0, progress=lambda _: None)


@pytest.mark.parametrize("models", MODELS, ids=lambda models: ", ".join(map(str, models)))
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_local_recoding_loses_no_more_than_the_best_level_for_all(seed: int, models: tuple[Model, ...]) -> None:
    tuples, columns = table(seed, rows=500)
    rules = Rules(models, whole(tuples))
    found = local(tuples, columns, rules=rules, progress=lambda _: None)
    assert rules.hold(tally(tuples, found.classes, number=found.number)).all()
    for codes, cells in zip(tuples.codes, found.cells, strict=True):
        assert (cells.low[found.classes] <= codes).all(), "a cell covers what it stands for"
        assert (codes <= cells.high[found.classes]).all()
    loss = sum(cells.loss[found.classes] for cells in found.cells)
    mine = float((tuples.size * loss).sum()) / tuples.rows
    assert mine < exhaustive(tuples, columns, models, 0)


def test_microaggregation_makes_groups_of_about_k_alike_rows() -> None:
    rng = np.random.default_rng(8)
    codes = np.stack([rng.integers(0, 50, 300), rng.integers(0, 9, 300)]).astype(np.int32)
    tuples = Tuples(codes, np.ones(300, dtype=np.int64), None, ())
    columns = [column("c", list(range(size)), counts=np.ones(size), hierarchy=None)[0] for size in (50, 9)]
    rules = Rules((KAnonymity(7),), whole(tuples))
    found = microaggregate(tuples, columns, rules=rules, progress=lambda _: None)
    sizes = np.bincount(found.classes)
    assert sizes.min() >= 7
    assert sizes.max() < 14
    for one in range(found.number):
        assert float(found.cells[0].text()[one]) == pytest.approx(codes[0][found.classes == one].mean(), rel=1e-5)
    random = rng.permutation(np.arange(300) // 7)
    within = sum(codes[0][found.classes == one].var() * (found.classes == one).sum() for one in range(found.number))
    among = sum(codes[0][random == one].var() * (random == one).sum() for one in range(43))
    assert within < among / 3, "rows of a group are alike"


def test_microaggregation_joins_classes_until_every_model_holds() -> None:
    rng = np.random.default_rng(9)
    codes = rng.integers(0, 30, (1, 120)).astype(np.int32)
    secret = (codes[0] > 14).astype(np.int64)  # alike rows have alike secrets
    ones, each = np.ones(120, dtype=np.int64), np.arange(120)
    spread = SecretSpread.of("s", 2, owner=each, value=secret, count=ones, tuples=120)
    tuples = Tuples(codes, ones, None, (spread,))
    columns = [column("c", list(range(30)), counts=np.ones(30), hierarchy=None)[0]]
    rules = Rules((KAnonymity(5), LDiversity(2, "s")), whole(tuples))
    found = microaggregate(tuples, columns, rules=rules, progress=lambda _: None)
    assert rules.hold(tally(tuples, found.classes, number=found.number)).all()
