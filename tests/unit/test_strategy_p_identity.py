"""Every cell and a few weighted sums under Laplace noise: what they gain, and that no unit moves them further."""

from __future__ import annotations

import sys
from fractions import Fraction

import numpy as np
import pytest

from support.sources import Seeded
from support.strategies import worst
from tacit.accounting import loss_of
from tacit.mechanisms import Laplace
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
    error_of,
    flat,
    row_variances,
)
from tacit.mechanisms.strategy.matrix import gram
from tacit.mechanisms.strategy.p_identity import _searched, _starts, _total, p_identity


def prefixes(values):
    return Ranges(np.zeros(values, dtype=np.int64), np.arange(1, values + 1))


def workload_of(picks, values):
    return Workload((values,), ((picks(values),),))


PREFIXES = workload_of(prefixes, 40)
RESIDUAL = Strategy(
    (Chain(7, (2, 4)), flat(3)),
    (
        Part((1, 0), Fraction(1, 2), residual=True),
        Part((2, 1), Fraction(1, 4), residual=True),
        Part((2, 1), Fraction(1, 4)),
    ),
)


def strategies():
    yield choose(PREFIXES, noise=Laplace(20)).strategy
    yield choose(Workload((16, 3), ((prefixes(16), each(3)),)), noise=Laplace(20)).strategy
    yield RESIDUAL


@pytest.mark.parametrize(("picks", "values", "gain"), [
    (prefixes, 16, 1.2), (prefixes, 64, 1.2), (prefixes, 256, 1.25), (all_ranges, 64, 1.15), (all_ranges, 256, 1.2),
])  # fmt: skip
def test_fewer_errors_than_of_any_hierarchy(picks, values, gain, monkeypatch):
    workload = workload_of(picks, values)
    found = choose(workload, noise=Laplace(50))
    assert found.strategy.matrix is not None
    assert found.strategy.answers == len(found.strategy.matrix.weights) > values
    assert found.error == pytest.approx(error_of(workload, StrategyNoise.laplace(found.strategy, Fraction(50))))
    monkeypatch.setattr(sys.modules[choose.__module__], "MOST_SEARCHED", 0)
    assert choose(workload, noise=Laplace(50)).error > gain * found.error


def test_where_the_budget_is_large_plain_cells_are_better():
    assert choose(PREFIXES, noise=Laplace(Fraction(1, 8))).strategy.matrix is None


def test_the_search_finds_the_same_again():
    questions = gram(PREFIXES.blocks, PREFIXES.sizes)
    first = repr(p_identity(questions))
    _searched.cache_clear()
    assert repr(p_identity(questions.copy())) == first
    assert repr(p_identity(3 * questions)) == first  # asked three times each


@pytest.mark.parametrize("seed", range(12))
def test_any_sets_of_cells_leave_every_cell_known(seed):
    """Also where nobody asks for most cells, or for all alike, and the weights of the sums would have no end."""
    generator = np.random.default_rng(seed)
    cells = int(generator.integers(1, 40))
    mask = generator.random((int(generator.integers(1, 6)), cells)) < generator.choice([0.02, 0.5, 1.0])
    mask[0, 0] = True
    matrix = p_identity(mask.T.astype(float) @ mask)
    assert (np.diag(matrix.weights) >= 1).all()
    assert (matrix.weights >= 0).all()
    assert (matrix.weights.sum(axis=0) == matrix.absolute_norm).all()
    assert np.isfinite(matrix.covariance()).all()


@pytest.mark.parametrize("start", list(_starts(24)), ids=range(len(list(_starts(24)))))
def test_the_gradient_is_the_slope(start):
    questions = gram(((all_ranges(24),),), (24,))
    value, gradient = _total(start, questions)
    way = np.random.default_rng(3).normal(size=start.shape)
    ahead, behind = (_total(start + sign * 1e-6 * way, questions)[0] for sign in (1, -1))
    assert (ahead - behind) / 2e-6 == pytest.approx(float(gradient @ way.ravel()), rel=1e-5)
    extra = start**2
    weights = np.vstack([np.eye(24), extra]) / (1 + extra.sum(axis=0))
    assert np.abs(weights).sum(axis=0) == pytest.approx(1)
    assert value == pytest.approx(np.trace(np.linalg.inv(weights.T @ weights) @ questions))


# ── what one unit moves ──────────────────────────────────────────────────────────────────────────────────────────────


def spent(noise, moves):
    """The epsilon that moving the cells by this is worth, from the whole numbers that are really measured."""
    pairs = zip(noise.noises, noise.exact(moves), noise.exact(np.zeros_like(moves)), strict=True)
    return sum(Fraction(sum(abs(int(step)) for step in (a - b).ravel().tolist())) / law.scale for law, a, b in pairs)


@pytest.mark.parametrize("index", range(3))
def test_the_dearest_unit_is_worth_exactly_what_is_charged(index):
    strategy, sensitivity = list(strategies())[index], 5
    noise = StrategyNoise.laplace(strategy, Fraction(sensitivity) / Fraction(3, 10))
    assert worst(noise, sensitivity, spent) == loss_of(noise.event(sensitivity)).epsilon == Fraction(3, 10)


@pytest.mark.parametrize("index", range(3))
def test_a_sensitivity_understated_by_one_is_noticed(index, monkeypatch):
    strategy = list(strategies())[index]
    whole = Strategy.absolute_norm
    monkeypatch.setattr(Strategy, "absolute_norm", lambda self, part: whole(self, part) - (whole(self, part) > 1))
    assert worst(StrategyNoise.laplace(strategy, Fraction(5)), 5, spent) > 1


def test_sums_are_held_at_the_ends_of_64_bits_and_move_no_further_there():
    strategy = next(strategies())
    noise = StrategyNoise.laplace(strategy, Fraction(1))
    for value in (2**63 - 1, -(2**63), 2**40, 0):
        full = np.full(40, value, dtype=np.int64)
        one = full.copy()
        one[3] += 1 if value < 2**63 - 1 else -1
        (held,), (wide,) = noise.exact(full), noise.exact(full.astype(object))
        assert held.tolist() == np.clip(wide, -(2**63), 2**63 - 1).tolist()
        moved = noise.exact(one)[0].astype(object) - held.astype(object)
        assert np.abs(moved).sum() <= strategy.absolute_norm(strategy.parts[0])


def test_norms_of_columns_are_exact():
    matrix = Matrix(np.array([[2**40, 1], [-(2**61), 2**62], [2**61, -3]]))
    assert matrix.absolute_norm == max(2**40 + 2**62, 2**62 + 4)


def test_estimates_and_variances_are_those_of_least_squares():
    strategy = next(strategies())
    noise = StrategyNoise.laplace(strategy, Fraction(7))
    histogram = np.arange(40) ** 2
    assert noise.cells(noise.exact(histogram)) == pytest.approx(histogram, abs=1e-6)
    whole = strategy.matrix.weights / np.sqrt(noise.variances[0])
    rows = prefixes(40).applied(np.eye(40), 0)
    expected = np.diag(rows @ np.linalg.inv(whole.T @ whole) @ rows.T)
    assert row_variances(PREFIXES.blocks[0], strategy, noise.variances) == pytest.approx(expected)


def test_answers_are_as_far_off_as_promised():
    """Forty runs of forty prefixes; the mean of their squared errors is within half of what is promised, either way."""
    strategy = next(strategies())
    noise, source = StrategyNoise.laplace(strategy, Fraction(20)), Seeded(4)
    histogram = np.random.default_rng(1).integers(0, 10**6, 40)
    errors = [noise.cells(noise.release(histogram, source)) - histogram for _ in range(40)]
    squared = np.mean([np.sum(apply(PREFIXES.blocks[0], error) ** 2) for error in errors])
    promised = row_variances(PREFIXES.blocks[0], strategy, noise.variances).sum()
    assert 0.5 < squared / promised < 2
