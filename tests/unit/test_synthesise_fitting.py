"""The mathematics behind synthetic tables, each piece beside what it should be."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.sources import Seeded
from tacit.mechanisms.strategy.lbfgs import minimised
from tacit.release.synthesise.fitting.arrays import FloatArray, fitted_to, projected
from tacit.release.synthesise.fitting.chance import Chance
from tacit.release.synthesise.fitting.compression import (
    compression_of,
    held_within,
    likeliest_apart,
    ordered_bins,
    pair_cells,
    rare_together,
)
from tacit.release.synthesise.fitting.estimation import fitted_tree
from tacit.release.synthesise.fitting.hybrid import (
    ModelSettings,
    Pairs,
    Singles,
    _affordable,
    expected_distance,
    pair_errors,
)
from tacit.release.synthesise.fitting.junction_tree import beliefs, rows_from, spread, summed, tree_of, tree_size
from tacit.release.synthesise.fitting.mixture import fitted_mixture
from tacit.release.synthesise.fitting.shrinkage import shrunk
from tacit.release.synthesise.fitting.swaps import swapped

SIZES = (2, 3, 4, 2)
PAIRS = [(0, 1), (1, 2), (2, 3), (0, 3)]


@given(st.lists(st.floats(-5, 5), min_size=1, max_size=9), st.floats(0.1, 7))
def test_a_projection_is_the_nearest_point_of_the_simplex(values: list[float], total: float) -> None:
    point = np.array(values)
    found = projected(point, total)
    assert found.min() >= 0
    assert found.sum() == pytest.approx(total)
    for corner in np.eye(point.size) * total:  # by convexity, no corner lies on the near side
        assert (point - found) @ (corner - found) <= 1e-6


def test_fitting_gives_a_table_the_margins_that_are_wanted() -> None:
    rows, columns = np.array([0.2, 0.8]), np.array([0.5, 0.3, 0.2])
    found = fitted_to(np.ones((2, 3)), rows, columns)
    assert np.allclose(found, np.outer(rows, columns))


def test_the_marginals_of_a_tree_are_those_of_the_whole_law() -> None:
    random = np.random.default_rng(1)
    tree = tree_of(SIZES, PAIRS)
    assert tree.cells == tree_size(SIZES, PAIRS)
    potentials = [random.normal(size=tree.shape(place)) * 3 for place in range(len(tree.cliques))]
    whole = np.exp(sum(spread(each, axes, (0, 1, 2, 3)) for each, axes in zip(potentials, tree.cliques, strict=True)))
    found, log_mass = beliefs(tree, potentials)
    assert log_mass == pytest.approx(np.log(whole.sum()))
    for table, axes in zip(found, tree.cliques, strict=True):
        assert np.allclose(table, summed(whole / whole.sum(), (0, 1, 2, 3), axes))


def test_a_fitted_tree_has_the_pairs_that_it_was_given() -> None:
    random = np.random.default_rng(2)
    whole = random.random(SIZES) ** 3
    whole /= whole.sum()
    ones = [summed(whole, (0, 1, 2, 3), (axis,)) for axis in range(4)]
    pairs = {pair: summed(whole, (0, 1, 2, 3), pair) for pair in PAIRS}
    tree = tree_of(SIZES, PAIRS)
    found, _ = fitted_tree(tree, ones, pairs, sigmas=dict.fromkeys(pairs, 0.0), rows=1.0, steps=400)
    for pair, table in pairs.items():
        home = tree.home(pair)
        assert np.abs(summed(found[home], tree.cliques[home], pair) - table).max() < 1e-4


def test_rows_drawn_from_a_tree_have_its_marginals_and_siblings_are_independent() -> None:
    """In sorted order, systematic sampling would make the two children of one column rise together."""
    sizes, pairs = (2, 5, 5), [(0, 1), (0, 2)]
    tree = tree_of(sizes, pairs)
    marginals = [np.full(tree.shape(place), 1 / np.prod(tree.shape(place))) for place in range(len(tree.cliques))]
    rows = rows_from(tree, marginals, number=20_000, chance=Chance(Seeded(3)))
    for pair in pairs:
        counts = np.bincount(rows[:, pair[0]] * 5 + rows[:, pair[1]], minlength=10)
        assert np.abs(counts - 2_000).max() <= 2
    siblings = np.bincount(rows[:, 1] * 5 + rows[:, 2], minlength=25)
    assert np.abs(siblings - 800).max() < 6.5 * np.sqrt(800)  # once in 10^9 by chance; comonotone ones are off by 3,200


def test_lbfgs_finds_the_minimum_of_a_quadratic() -> None:
    random = np.random.default_rng(4)
    half = random.normal(size=(30, 30))
    matrix, goal = half @ half.T + np.eye(30), random.normal(size=30)
    found = minimised(lambda x: (float(x @ matrix @ x / 2 - goal @ x), matrix @ x - goal), np.zeros(30), steps=300)
    assert np.allclose(found, np.linalg.solve(matrix, goal), atol=1e-4)


def test_shrinkage_keeps_a_signal_and_drops_noise() -> None:
    random = np.random.default_rng(5)
    rows, columns = np.full(15, 1 / 15), np.full(12, 1 / 12)
    signal = np.outer(np.repeat([1.0, -1.0, 0.0], 5), np.repeat([1.0, -1.0], 6)) * 1e-3
    noise = random.normal(size=(15, 12)) * 1e-4
    nothing, rank = shrunk(np.outer(rows, columns) + noise / 2, rows, columns, sigma=1e-4)
    assert (rank, np.abs(nothing).max()) == (0, 0)
    found, rank = shrunk(np.outer(rows, columns) + signal + noise, rows, columns, sigma=1e-4)
    assert rank == 1
    assert np.linalg.norm(found - signal) < 0.7 * np.linalg.norm(noise)


def test_a_mixture_finds_the_pairs_of_a_mixture() -> None:
    random = np.random.default_rng(6)
    parts = [random.dirichlet(np.ones(size), size=3) for size in (4, 5, 3)]
    ones = [part.mean(axis=0) for part in parts]
    pairs = {(a, b): parts[a].T @ parts[b] / 3 for a, b in itertools.combinations(range(3), 2)}
    found = fitted_mixture(
        pairs, ones, weights=dict.fromkeys(pairs, 1.0), components=8, steps=800, chance=Chance(Seeded(7))
    )
    assert max(np.abs(found.pair(*pair) - table).sum() / 2 for pair, table in pairs.items()) < 0.02


def test_swaps_bring_pairs_nearer_and_leave_columns_alone() -> None:
    random = np.random.default_rng(8)
    rows = random.integers(0, 3, size=(4_000, 3))
    target = np.eye(3) / 3
    found = swapped(rows, {(0, 1): target}, sizes=(3, 3, 3), sweeps=6, chance=Chance(Seeded(9)))
    for axis in range(3):
        assert np.array_equal(np.bincount(found[:, axis]), np.bincount(rows[:, axis]))
    assert np.mean(found[:, 0] == found[:, 1]) > 0.7, "a third of them before"


@given(st.lists(st.floats(0, 1), min_size=1, max_size=40), st.integers(1, 12))
def test_bins_are_neighbours_and_no_more_than_asked(chances: list[float], most: int) -> None:
    array = np.array(chances)
    bins = ordered_bins(array, most=most)
    assert bins[0] == 0
    assert set(np.diff(bins)) <= {0, 1}
    assert bins[-1] + 1 <= max(most, 1) or array.size <= most
    made = compression_of(bins, array)
    assert np.allclose(np.bincount(bins, weights=made.within), 1)


def test_rare_values_share_a_bin() -> None:
    assert rare_together(np.array([0.5, 0.01, 0.4, 0.02]), least=0.1).tolist() == [0, 2, 1, 2]
    assert rare_together(np.array([0.5, 0.5]), least=0.1).tolist() == [0, 1]
    assert rare_together(np.array([0.0, 0.0]), least=0.1).tolist() == [0, 0]


@pytest.mark.parametrize("sizes", [(1_000,) * 60, (1_000, 1_000), (900, 3, 700, 2, 40), (5, 6)])
def test_all_pairs_together_are_held_within_their_limit_however_much_a_policy_lists(sizes: tuple[int, ...]) -> None:
    random = np.random.default_rng(5)
    chances = [random.dirichlet(np.ones(size)) for size in sizes]
    fine = [compression_of(np.arange(size), chance) for size, chance in zip(sizes, chances, strict=True)]
    ordered = [index % 2 == 0 for index in range(len(sizes))]
    held = held_within(fine, chances, ordered, cells=30_000)
    assert pair_cells([each.size for each in held]) <= 30_000
    assert pair_cells(sizes) == sum(one * other for one, other in itertools.combinations(sizes, 2))
    for old, new, chance in zip(fine, held, chances, strict=True):
        assert new.shrunk(chance).sum() == pytest.approx(1)
        assert new is old or new.size == max(each.size for each in held), "none is coarser than it must be"
    likely = likeliest_apart(np.array([0.1, 0.4, 0.05, 0.3, 0.15]), most=3)
    assert likely.tolist() == [2, 0, 2, 1, 2]


def test_mixtures_are_fitted_with_no_more_work_than_is_affordable() -> None:
    settings = ModelSettings(mixtures=3, components=140, steps=1_500)
    assert _affordable(354, settings) == (3, 140)
    for cells in (800, 1_500, 3_000, 60_000):
        mixtures, components = _affordable(cells, settings)
        assert (mixtures, components) == (1, 10) or cells**2 * 1_500 * mixtures * components <= 4.0e11


def pairs_of(truth: FloatArray, sigma: float) -> tuple[Pairs, Singles]:
    """A pair of columns as it was measured, with its margins known almost exactly."""
    size, random = len(truth), np.random.default_rng(3)
    ones = (truth.sum(axis=1), truth.sum(axis=0))
    noisy = truth + sigma * random.standard_normal(truth.shape)
    bins = tuple(compression_of(np.arange(size), one) for one in ones)
    pairs = Pairs(ones, {(0, 1): truth}, {(0, 1): noisy}, {(0, 1): sigma}, {(0, 1): 1})
    return pairs, Singles(1e4, 1e4, ones, (1e-9, 1e-9), bins)


def test_an_error_says_what_a_model_is_seen_to_miss() -> None:
    size, sigma = 12, 1e-4
    flat = np.full((size, size), 1 / size**2)
    truth = 0.9 * flat + 0.1 * np.eye(size) / size
    pairs, singles = pairs_of(truth, sigma)
    good, bad = (pair_errors(pairs, singles, {(0, 1): modelled})[0, 1] for modelled in (truth, flat))
    missed = float(np.abs(truth - flat).sum() / 2)
    noise = expected_distance(sigma, size**2)
    assert missed > 5 * noise, "else nothing could be told"
    assert missed <= bad < 3 * missed, "the squared distance is known; as total variation it is at most that"
    assert good < 1.5 * noise
