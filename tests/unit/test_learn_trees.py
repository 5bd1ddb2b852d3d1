"""A tree: it asks what parts the classes, asks nothing of noise, says its rules, and moves no more than is paid for."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.sources import Seeded
from tacit.errors import InvalidParameter
from tacit.learn import AdditiveClassifier, TreeClassifier, load_model, save_model
from tacit.learn.classifiers import tree_growing
from tacit.learn.classifiers.tree_growing import best_split, coarse
from tacit.learn.sums.array_rows import ArrayCells
from tacit.learn.sums.cells import cells_of
from tacit.learn.sums.routing import Split, node_of

FEATURES = [(0, 10), ["a", "b", "c"]]
CELLS = cells_of(FEATURES, ["x", "sort"])
GROUPS = coarse(CELLS)
SIZE = int(GROUPS[CELLS[0].size - 1]) + 1  # of the first feature
HOSTILE = st.sampled_from([math.nan, math.inf, -math.inf, 1e308, -1e308, 5.0]) | st.floats()
LEVELS = [
    [Split(1, (0, 1, 1, 0))],
    [Split(0, (0, 1) * (CELLS[0].size // 2) + (1,) * (CELLS[0].size % 2)), Split(1, (0, 1, 0, 1))],
]


def crossed(count: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """The second class where x is large and the sort is a, or x is small and it is none: nothing adds up to that."""
    rng = np.random.default_rng(seed)
    x, sort = rng.uniform(0, 10, count), rng.choice(["a", "b", "c"], count)
    rows = np.empty((count, 2), dtype=object)
    rows[:, 0], rows[:, 1] = x, sort
    return rows, ((x > 5) == (sort == "a")).astype(int) ^ (rng.random(count) < 0.05)


@settings(max_examples=60, deadline=None)
@given(HOSTILE, st.sampled_from(["a", "c", "z", None, math.nan, 3]), st.integers(0, 2), st.integers(0, 2))
def test_no_row_moves_a_histogram_further_than_it_is_charged_for(x, sort, which, depth):
    columns = [np.array([cell], dtype=object) for cell in (x, sort)]
    data = ArrayCells(
        CELLS, [cells.codes(column) for cells, column in zip(CELLS, columns, strict=True)], np.array([which]), 3
    )
    assert int((data.node_counts(LEVELS[:depth], groups=GROUPS) ** 2).sum()) == len(CELLS)
    assert int((data.leaf_counts(LEVELS[:depth]) ** 2).sum()) == 1


def test_a_row_that_reaches_two_nodes_is_noticed():
    data = ArrayCells(CELLS, [np.array([1, 1]), np.array([0, 0])], np.array([1, 1]), 3)
    assert int((data.node_counts(LEVELS, groups=GROUPS) ** 2).sum()) > len(CELLS)


def test_every_row_reaches_one_leaf():
    rng = np.random.default_rng(2)
    codes = [rng.integers(0, each.size, 500).astype(np.int32) for each in CELLS]
    reached = node_of(LEVELS, codes)
    assert set(reached.tolist()) == {0, 1, 2, 3}
    right = np.isin(codes[1], [1, 2])
    assert ((reached >= 2) == right).all()


def test_it_learns_what_no_sum_of_features_says():
    rows, truth = crossed(6_000)
    others, theirs = crossed(3_000, seed=2)
    tree = TreeClassifier(2, epsilon=2, features=FEATURES, classes=[0, 1], source=Seeded(4)).fit(rows, truth)
    flat = AdditiveClassifier(epsilon=2, features=FEATURES, classes=[0, 1], rounds=20, source=Seeded(4)).fit(
        rows, truth
    )
    assert tree.score(others, theirs) > 0.9  # .95 is the most there is
    assert flat.score(others, theirs) < 0.8
    assert tree.predict_proba(others).sum(axis=1) == pytest.approx(1)


def test_neighbouring_cells_of_a_number_share_a_group_and_nothing_else_does():
    cells = cells_of([(0, 100), ["a", "b"], {"edges": [1, 2, 3]}, {"edges": list(range(40))}], list("wxyz"))
    groups = coarse(cells)
    assert (np.diff(groups) >= 0).all()
    assert set(groups.tolist()) == set(range(int(groups.max()) + 1))
    parts = np.split(groups, np.cumsum([each.size for each in cells])[:-1])
    assert all(not set(one.tolist()) & set(other.tolist()) for one, other in pairwise(parts))
    assert [len(set(part.tolist())) for part in parts] == [11, 3, 5, 11]  # with one of what is missing
    assert all((part == part[-1]).sum() == 1 for part in parts)


def test_it_says_its_rules():
    rows, truth = crossed(6_000)
    tree = TreeClassifier(2, epsilon=4, features=FEATURES, classes=[0, 1], source=Seeded(4)).fit(rows, truth)
    said = tree.rules()
    assert len(said) == 3 + 3 + 4  # questions, their elses, and leaves
    assert any(line.strip().startswith("x0 among from 5") for line in said)
    assert sum("0: " in line and "1: " in line for line in said) == 4


def asked_of_noise() -> int:
    rng = np.random.default_rng(5)
    nodes = [400 / 13 + rng.normal(0, 40, (2, SIZE + 4)) for _ in range(100)]
    return sum(any(best_split(counts, CELLS, groups=GROUPS, noise=40).right) for counts in nodes)


def test_noise_alone_is_seldom_asked_about_and_would_be_without_doubt(monkeypatch):
    """Of 100 nodes of pure noise; these draws are fixed."""
    assert asked_of_noise() <= 30
    monkeypatch.setattr(tree_growing, "_DOUBTFUL", 0.0)
    assert asked_of_noise() >= 45


def test_a_clear_part_is_asked_about_whatever_the_order_of_categories():
    counts = np.full((2, SIZE + 4), 10.0)
    counts[:, SIZE:] = [[900, 10, 900, 0], [10, 900, 10, 0]]
    split = best_split(counts, CELLS, groups=GROUPS, noise=5)
    assert split.feature == 1
    assert split.right[0] == split.right[2] != split.right[1]


def test_it_is_saved_as_text_and_says_the_same(tmp_path):
    rows, truth = crossed(500)
    tree = TreeClassifier(3, features=FEATURES, classes=[0, 1]).fit(rows, truth)
    save_model(tree, tmp_path / "tree.json")
    again = load_model(tmp_path / "tree.json")
    assert (again.predict_proba(rows) == tree.predict_proba(rows)).all()
    assert again.rules() == tree.rules()


@pytest.mark.parametrize("depth", [0, 11, 2.5, True, "3"])
def test_a_depth_that_cannot_be_is_refused(depth: Any):
    with pytest.raises(InvalidParameter, match="depth"):
        TreeClassifier(depth, features=FEATURES, classes=[0, 1]).fit(*crossed(20))
