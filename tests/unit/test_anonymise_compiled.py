"""The compiled way of greedy Mondrian makes the cuts of the other; without a compiler it is plain, slow Python."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from tacit.release.anonymise.methods import compiled, greedy
from tacit.release.anonymise.models.family import KAnonymity, Rules
from tacit.release.anonymise.partition import Partition
from tacit.release.anonymise.values.coding import column
from tacit.release.anonymise.values.columns import Column
from tacit.release.anonymise.values.tuples import Tuples, whole


def table(rows: int, number: int) -> tuple[Tuples, list[Column]]:
    rng = np.random.default_rng(number)
    raw = np.stack([(rng.random(rows) ** 2 * size).astype(np.int64) for size in (30, 9, 5, 2, 1)])
    codes, counts = np.unique(raw, axis=1, return_counts=True)
    columns, dense = [], []
    for values in codes:
        different, at = np.unique(values, return_inverse=True)
        columns.append(column("c", different.tolist(), counts=different, hierarchy=None)[0])
        dense.append(at)
    return Tuples(np.stack(dense).astype(np.int32), counts.astype(np.int64), None, ()), columns


def loss(tuples: Tuples, found: Partition) -> float:
    rows = np.bincount(found.classes, weights=tuples.size)
    return float(sum((cells.loss * rows).sum() for cells in found.cells))


@pytest.mark.parametrize("k", [1, 2, 5, 20, 200, 900])
def test_both_ways_lose_the_same(k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    tuples, columns = table(900, k)
    rules = Rules((KAnonymity(k),), whole(tuples))
    monkeypatch.setattr(greedy, "_compiler_pays", lambda _: False)
    by_levels = greedy.greedy(tuples, columns, rules=rules, progress=lambda _: None)
    scales = [made.scale for made in columns]
    classes = compiled.split(tuples, scales, k=k, small=greedy.SMALL)
    sizes = np.bincount(classes, weights=tuples.size)
    assert sizes.min() >= k
    assert sizes.sum() == 900
    monkeypatch.setattr(greedy, "_compiler_pays", lambda _: True)
    one_by_one = greedy.greedy(tuples, columns, rules=rules, progress=lambda _: None)
    assert np.array_equal(one_by_one.classes, classes)
    assert loss(tuples, one_by_one) == pytest.approx(loss(tuples, by_levels), rel=0.05, abs=1e-9)


def test_what_is_not_for_it_goes_the_other_way(monkeypatch: pytest.MonkeyPatch) -> None:
    tuples, columns = table(300, 1)
    monkeypatch.setattr(greedy, "_compiler_pays", lambda _: True)
    monkeypatch.setattr(greedy, "WIDEST", 10)
    monkeypatch.setattr(compiled, "split", lambda *_, **__: pytest.fail("a wide column is not counted"))
    greedy.greedy(tuples, columns, rules=Rules((KAnonymity(5),), whole(tuples)), progress=lambda _: None)


def test_few_codes_are_sorted_by_insertion_and_stay_in_order_when_equal() -> None:
    codes = np.array([3, 1, 2, 1, 3, 0], dtype=np.int32)
    assert compiled._order(codes).tolist() == [5, 1, 3, 2, 0, 4]
    many = np.random.default_rng(2).integers(0, 9, 100).astype(np.int32)
    assert compiled._order(many).tolist() == np.argsort(many, kind="stable").tolist()


def test_the_compiler_is_loaded_only_where_that_pays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(greedy, "find_spec", lambda _: object())
    monkeypatch.delitem(sys.modules, "numba", raising=False)
    assert not greedy._compiler_pays(greedy.WORTH - 1)
    assert greedy._compiler_pays(greedy.WORTH)
    monkeypatch.setattr(greedy, "find_spec", lambda _: None)
    assert not greedy._compiler_pays(greedy.WORTH)
    monkeypatch.setitem(sys.modules, "numba", greedy)
    assert greedy._compiler_pays(5), "it is there already"
