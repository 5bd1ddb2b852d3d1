"""Strategies against plain matrices: the closed forms must be what linear algebra says."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

from support.sources import Seeded
from tacit.core import Loss
from tacit.errors import InvalidParameter
from tacit.mechanisms import Laplace
from tacit.mechanisms.strategy import (
    Chain,
    Part,
    Ranges,
    Sets,
    Strategy,
    StrategyNoise,
    Workload,
    all_ranges,
    apply,
    chains,
    each,
    everything,
    flat,
    picked,
    row_variances,
)
from tacit.mechanisms.strategy.blocks import padded

HALF = Fraction(1, 2)


def cut(chain, level):
    """The matrix of one level: a row for each block."""
    matrix = np.zeros((chain.blocks[level], chain.size))
    for place in range(chain.size):
        matrix[place // chain.widths[level], place] = 1
    return matrix


def matrix_of(strategy):
    """The whole strategy as a matrix, and the part each of its rows belongs to."""
    rows, parts = [], []
    for place, part in enumerate(strategy.parts):
        block = np.ones((1, 1))
        for chain, level in zip(strategy.chains, part.levels, strict=True):
            block = np.kron(block, cut(chain, level))
        rows.append(block)
        parts += [place] * len(block)
    return np.vstack(rows), np.array(parts)


def rows_of(block, strategy):
    """The rows of a block over the padded cells."""
    whole = np.ones((1, 1))
    for picks, chain in zip(block, strategy.chains, strict=True):
        whole = np.kron(whole, picks.applied(np.eye(chain.values, chain.size), 0))
    return whole


MIXED = Strategy(
    (Chain(7, (2, 4)), flat(3)),
    (
        Part((0, 1), Fraction(1, 8)),
        Part((1, 0), Fraction(1, 4)),
        Part((2, 1), Fraction(1, 2)),
        Part((2, 0), Fraction(1, 8)),
    ),
)
BLOCKS = (
    (all_ranges(7), each(3)),
    (picked(np.array([[1, 0, 1, 0, 0, 0, 1]], dtype=bool)), everything(3)),
    (each(7), picked(np.array([[1, 0, 1], [0, 1, 0]], dtype=bool))),
)


@pytest.mark.parametrize("block", BLOCKS)
def test_the_variance_of_each_answer_is_that_of_least_squares(block):
    variances = [3.0, 0.5, 2.0, 1.0]
    matrix, parts = matrix_of(MIXED)
    weights = np.diag(1 / np.array(variances)[parts])
    rows = rows_of(block, MIXED)
    expected = np.diag(rows @ np.linalg.pinv(matrix.T @ weights @ matrix) @ rows.T)
    assert row_variances(block, MIXED, variances).ravel() == pytest.approx(expected)


def test_the_estimate_is_the_weighted_least_squares_solution():
    noise = StrategyNoise.laplace(MIXED, Fraction(5))
    histogram = np.arange(21).reshape(7, 3)
    noisy = noise.release(histogram, Seeded(1))
    matrix, parts = matrix_of(MIXED)
    roots = np.sqrt(1 / np.array(noise.variances)[parts])
    flat_answers = np.concatenate([values.ravel() for values in noisy])
    expected = np.linalg.lstsq(matrix * roots[:, None], flat_answers * roots, rcond=None)[0]
    assert noise.cells(noisy).ravel() == pytest.approx(expected.reshape(8, 3)[:7].ravel())


def test_what_no_part_measures_is_left_at_its_least_norm():
    strategy = Strategy((flat(4), flat(2)), (Part((1, 0), HALF), Part((0, 1), HALF)))
    noise = StrategyNoise.laplace(strategy, Fraction(1))
    noisy = noise.release(np.arange(8).reshape(4, 2), Seeded(2))
    matrix, _ = matrix_of(strategy)
    answers = np.concatenate([values.ravel() for values in noisy])
    assert noise.cells(noisy).ravel() == pytest.approx(np.linalg.pinv(matrix) @ answers)


def test_every_part_adds_up_the_same_whole_numbers():
    histogram = np.random.default_rng(3).integers(0, 100, (7, 3))
    loud = StrategyNoise(MIXED, tuple(Laplace(Fraction(1, 10_000)) for _ in MIXED.parts))  # noise that is always 0
    matrix, parts = matrix_of(MIXED)
    exact = matrix @ padded(histogram, MIXED.chains).ravel()
    for place, values in enumerate(loud.release(histogram, Seeded(4))):
        assert values.dtype == np.int64
        assert values.ravel().tolist() == exact[parts == place].tolist()
    assert loud.cells(loud.release(histogram, Seeded(5))) == pytest.approx(histogram)


@pytest.mark.parametrize("reach", [1, 6])
def test_the_parts_cost_exactly_the_budget(reach):
    epsilon = Fraction(7, 10)
    noise = StrategyNoise.laplace(MIXED, Laplace.costing(Loss(epsilon), reach).scale)
    assert sum((each_noise.loss(reach).epsilon for each_noise in noise.noises), Fraction(0)) == epsilon
    rho = Fraction(1, 3)
    gaussian = StrategyNoise.concentrated(MIXED, rho, sensitivity=reach, delta=Fraction(1, 10**6))
    spent = sum((each_noise.rho(reach) for each_noise in gaussian.noises), Fraction(0))
    assert rho * (1 - Fraction(1, 10**12)) < spent <= rho


def test_one_row_is_in_one_bar_of_each_part():
    matrix, parts = matrix_of(MIXED)
    for place in range(len(MIXED.parts)):
        assert np.all(matrix[parts == place].sum(axis=0) == 1)


@pytest.mark.parametrize("values", [1, 2, 3, 5, 8, 73, 1024])
def test_chains_of_every_depth_tell_all_values_apart(values):
    found = chains(values)
    assert found[0] == flat(values)
    for chain in found:
        assert chain.size >= values
        assert chain.blocks[0] == 1
        assert chain.size < 2 * values
    assert len({chain.branching for chain in found}) == len(found)


@pytest.mark.parametrize("branching", [(1,), (2,)])
def test_a_chain_that_cannot_tell_its_values_apart_is_refused(branching):
    with pytest.raises(InvalidParameter):
        Chain(3, branching)


def test_shares_that_are_not_the_whole_budget_are_refused():
    with pytest.raises(InvalidParameter):
        Strategy((flat(2),), (Part((1,), HALF), Part((0,), Fraction(1, 3))))


@pytest.mark.parametrize("chain", chains(11))
def test_ranges_and_sets_agree(chain):
    mask = np.array([[low <= v < high for v in range(11)] for low, high in itertools.combinations(range(12), 2)])
    ranges = picked(mask)
    assert isinstance(ranges, Ranges)
    assert ranges.energies(chain) == pytest.approx(Sets(mask).energies(chain))
    cells = np.random.default_rng(1).normal(size=(2, 11, 3))
    assert ranges.applied(cells, 1) == pytest.approx(Sets(mask).applied(cells, 1))
    assert ranges.applied(cells, 1)[0, :, 0] == pytest.approx(mask @ cells[0, :, 0])


def test_a_row_that_counts_nothing_is_nothing():
    empty = picked(np.zeros((1, 5), dtype=bool))
    assert isinstance(empty, Ranges)
    assert not empty.energies(flat(5)).any()
    assert not empty.applied(np.ones((5, 2)), 0).any()


def test_answers_to_a_block_are_sums_of_cells():
    cells = np.random.default_rng(1).normal(size=(7, 3))
    for block in BLOCKS:
        wide = np.kron(block[0].applied(np.eye(7), 0), block[1].applied(np.eye(3), 0))
        assert apply(block, cells).ravel() == pytest.approx(wide @ cells.ravel())


def test_a_workload_counts_its_rows_and_cells():
    workload = Workload((7, 3), BLOCKS)
    assert workload.cells == 21
    assert workload.rows == 28 * 3 + 1 + 7 * 2
    with pytest.raises(InvalidParameter):
        Workload((7,), BLOCKS)
