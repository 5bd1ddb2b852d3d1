"""Gaussian strategies beside the least error that any strategy has, and what one unit moves of them."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

from support.sources import Seeded
from support.strategies import worst
from tacit.accounting import zcdp_of
from tacit.mechanisms import Gaussian
from tacit.mechanisms.strategy import (
    Chain,
    Matrix,
    Part,
    Ranges,
    Strategy,
    StrategyNoise,
    Workload,
    all_ranges,
    apply,
    choose,
    each,
    everything,
    flat,
    picked,
    row_variances,
)
from tacit.mechanisms.strategy.matrix import gram, spread_over
from tacit.mechanisms.strategy.optimum import optimal_matrix

DELTA = Fraction(1, 10**6)
SIGMA = Gaussian(5, DELTA)


def prefixes(values):
    return Ranges(np.zeros(values, dtype=np.int64), np.arange(1, values + 1))


def marginals(sizes, ways):
    places = range(len(sizes))
    blocks = [
        tuple(each(size) if place in chosen else everything(size) for place, size in enumerate(sizes))
        for chosen in itertools.combinations(places, ways)
    ]
    return Workload(tuple(sizes), tuple(blocks))


def singular_bound(questions):
    """(Σ singular values)² / cells: no strategy at all has less total error (Li & Miklau, VLDB 2012)."""
    values = np.linalg.eigvalsh(questions)
    return float(np.sqrt(np.maximum(values, 0)).sum() ** 2 / len(questions))


@pytest.mark.parametrize("picks", [all_ranges, prefixes])
@pytest.mark.parametrize("values", [8, 31, 64, 256])
def test_ranges_and_prefixes_are_within_a_fiftieth_of_the_optimum(picks, values):
    """The bound is by duality, so nothing is below it; it is itself no less than that of the singular values."""
    workload = Workload((values,), ((picks(values),),))
    choice = choose(workload, noise=SIGMA)
    questions = gram(workload.blocks, workload.sizes)
    bound = optimal_matrix(questions)[1]
    assert singular_bound(questions) * (1 - 1e-9) <= bound
    assert 1 - 1e-9 <= choice.error / 25 / bound <= 1.02


@pytest.mark.parametrize("values", [64, 200])
def test_weights_do_not_hang_on_the_last_digits_of_the_arithmetic(values):
    """Two machines differ in about the thirteenth digit. Where they differ in the sixth, other weights are noticed."""
    questions = gram(((all_ranges(values),),), (values,))
    found = optimal_matrix(questions)[0]
    for digits, same in ((1e-13, True), (1e-6, False)):
        shaken = questions * (1 + digits * np.random.default_rng(values).uniform(-1, 1, questions.shape))
        assert (repr(optimal_matrix((shaken + shaken.T) / 2)[0]) == repr(found)) is same


@pytest.mark.parametrize("picks", [all_ranges, prefixes])
def test_a_thousand_cells_are_within_a_twentieth_of_the_bound_of_singular_values(picks):
    workload = Workload((1024,), ((picks(1024),),))
    choice = choose(workload, noise=SIGMA)
    assert choice.error / 25 <= 1.05 * singular_bound(gram(workload.blocks, workload.sizes))


@pytest.mark.parametrize(
    "workload", [marginals((2,) * 8, 2), marginals((2,) * 6, 1), marginals((5, 4, 3), 2), marginals((7, 3), 1)]
)
def test_marginals_are_the_optimum(workload):
    choice = choose(workload, noise=SIGMA)
    assert choice.strategy.name == "marginals"
    assert choice.error / 25 <= 1.001 * singular_bound(gram(workload.blocks, workload.sizes))


def test_ranges_beside_another_attribute_are_near_the_optimum():
    workload = Workload((30, 3), ((all_ranges(30), each(3)), (each(30), everything(3))))
    choice = choose(workload, noise=SIGMA)
    assert choice.error / 25 <= 1.03 * optimal_matrix(gram(workload.blocks, workload.sizes))[1]


def test_beyond_a_thousand_cells_hierarchies_of_residuals_take_over():
    workload = Workload((1100, 2), ((prefixes(1100), each(2)),))
    choice = choose(workload, noise=SIGMA)
    assert choice.strategy.matrix is None
    assert choice.strategy.name == "hierarchy"
    summed = row_variances(workload.blocks[0], choice.strategy, noise_of(choice.strategy).variances).sum()
    assert choice.error == pytest.approx(summed)


def noise_of(strategy, rho=Fraction(1, 50), sensitivity=1):
    return StrategyNoise.concentrated(strategy, rho, sensitivity=sensitivity, delta=DELTA)


# ── against plain matrices ───────────────────────────────────────────────────────────────────────────────────────────

RESIDUAL = Strategy(
    (Chain(8, (2, 4)), flat(3)),
    (
        Part((0, 0), Fraction(1, 8), residual=True),
        Part((1, 0), Fraction(1, 4), residual=True),
        Part((2, 1), Fraction(1, 4), residual=True),
        Part((2, 1), Fraction(1, 8)),
        Part((0, 1), Fraction(1, 4), residual=True),
    ),
)


def weighted():
    return choose(Workload((8, 3), ((all_ranges(8), each(3)),)), noise=SIGMA).strategy


def matrix_of(noise):
    """The whole numbers that are really applied to cells: one column for each cell, found by asking for it."""
    sizes = tuple(chain.values for chain in noise.strategy.chains)
    columns = []
    for cell in range(int(np.prod(sizes))):
        one = np.zeros(int(np.prod(sizes)), dtype=np.int64)
        one[cell] = 1
        columns.append([part.ravel() for part in noise.exact(one.reshape(sizes))])
    return [np.array([column[part] for column in columns]).T for part in range(len(noise.noises))]


@pytest.mark.parametrize("strategy", [RESIDUAL, weighted()])
def test_variances_and_estimates_are_those_of_least_squares(strategy):
    noise = noise_of(strategy)
    matrices = matrix_of(noise)
    roots = [matrix / np.sqrt(variance) for matrix, variance in zip(matrices, noise.variances, strict=True)]
    whole = np.vstack(roots)
    block = (all_ranges(8), each(3))
    rows = np.kron(block[0].applied(np.eye(8), 0), np.eye(3))
    expected = np.diag(rows @ np.linalg.pinv(whole.T @ whole) @ rows.T)
    assert row_variances(block, strategy, noise.variances).ravel() == pytest.approx(expected)
    histogram = np.arange(24).reshape(8, 3)
    assert noise.cells(noise.exact(histogram)) == pytest.approx(histogram, abs=1e-6)


def test_variances_over_many_rows_are_those_of_a_few(monkeypatch):
    covariance = np.cov(np.random.default_rng(1).normal(size=(12, 40)))
    mask = picked(np.array([[1, 0, 1], [0, 1, 0], [1, 1, 1]], dtype=bool))
    block = (all_ranges(4), mask)
    few = spread_over(block, covariance, (4, 3))
    monkeypatch.setattr("tacit.mechanisms.strategy.matrix._MOST_WRITTEN", 0)
    assert spread_over(block, covariance, (4, 3)) == pytest.approx(few)


# ── what one unit moves ──────────────────────────────────────────────────────────────────────────────────────────────


PADDED = Strategy((Chain(7, (2, 4)), flat(3)), RESIDUAL.parts)  # with blocks for values that do not exist


def strategies():
    yield RESIDUAL
    yield PADDED
    yield weighted()
    yield choose(marginals((3, 4, 2), 2), noise=SIGMA).strategy
    yield choose(Workload((40,), ((prefixes(40),),)), noise=SIGMA).strategy


def spent(noise, moves):
    """The rho that moving the cells by this is worth, from the whole numbers that are really measured."""
    zero = np.zeros_like(moves)
    pairs = zip(noise.noises, noise.exact(moves), noise.exact(zero), strict=True)
    return sum(
        Fraction(sum(int(step) ** 2 for step in (a - b).ravel().tolist())) / (2 * law.sigma**2) for law, a, b in pairs
    )


@pytest.mark.parametrize("place", range(5))
def test_no_unit_is_worth_more_than_is_paid_and_the_accountant_says_the_same(place):
    strategy = list(strategies())[place]
    rho, sensitivity = Fraction(1, 7), 5
    noise = noise_of(strategy, rho, sensitivity)
    most = worst(noise, sensitivity, spent)
    charged = zcdp_of(noise.event(sensitivity)).rho
    assert most <= charged <= rho
    assert most >= charged * Fraction(999, 1000)  # and some unit is worth as much, so that a hundredth less is noticed


@pytest.mark.parametrize("place", range(5))
def test_a_sensitivity_understated_by_a_hundredth_is_noticed(place, monkeypatch):
    strategy = list(strategies())[place]
    whole = Strategy.squared_norm
    monkeypatch.setattr(Strategy, "squared_norm", lambda self, part: whole(self, part) * Fraction(99, 100) ** 2)
    assert worst(noise_of(strategy, Fraction(1, 7), 5), 5, spent) > Fraction(1, 7)


def test_sums_are_held_at_the_ends_of_64_bits_and_move_no_further_there():
    for strategy in (RESIDUAL, weighted()):
        noise = noise_of(strategy)
        for value in (2**63 - 1, -(2**63), 2**40, 0):
            full = np.full((8, 3), value, dtype=np.int64)
            one = full.copy()
            one[3, 1] += 1 if value < 2**63 - 1 else -1
            whole = noise.exact(full.astype(object))
            for held, wide in zip(noise.exact(full), whole, strict=True):
                assert held.dtype == np.int64
                assert held.tolist() == np.clip(wide, -(2**63), 2**63 - 1).tolist()
            moved = sum(
                int(step) ** 2
                for a, b in zip(noise.exact(one), noise.exact(full), strict=True)
                for step in (a.astype(object) - b.astype(object)).ravel()
            )
            assert moved <= sum(strategy.squared_norm(part) for part in strategy.parts)


def test_two_matrices_are_told_apart_by_what_is_in_them():
    one, other = (Matrix(np.eye(3, dtype=np.int64) * factor) for factor in (5, 6))
    assert str(one) != str(other)
    assert str(one) == str(Matrix(np.eye(3, dtype=np.int64) * 5))
    assert one.squared_norm == 25


def test_gaussian_answers_are_as_far_off_as_promised():
    """Forty runs of forty prefixes; the mean of their squared errors is within half of what is promised, either way."""
    workload = Workload((40,), ((prefixes(40),),))
    choice = choose(workload, noise=SIGMA)
    noise, source = noise_of(choice.strategy), Seeded(4)
    histogram = np.random.default_rng(1).integers(0, 10**6, 40)
    errors = [noise.cells(noise.release(histogram, source)) - histogram for _ in range(40)]
    found = np.mean([np.sum(apply(workload.blocks[0], error) ** 2) for error in errors])
    promised = row_variances(workload.blocks[0], choice.strategy, noise.variances).sum()
    assert promised == pytest.approx(choice.error)
    assert 0.5 < found / promised < 2
