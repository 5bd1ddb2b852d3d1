"""Accuracy first: the least price at which a model is good enough; what it moves, and what it costs."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.errors import InvalidParameter
from tacit.learn import AdditiveClassifier, RidgeRegressor, accuracy_first
from tacit.learn.accuracy import (
    _LOSS_STEPS,
    _MOST_LOSS,
    _ROUNDED,
    _least_loss,
    _loss,
    _prices,
    _shortened,
    in_ball,
    sums_move,
    sums_of,
)
from tacit.learn.moments import GRID, design, scaled

WIDTH = 30
HOSTILE = st.sampled_from([math.nan, math.inf, -math.inf, 1e308, -1e308, 1.0, -1.0]) | st.floats()


def synthetic(seed: int, rows: int = 10_000) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    table = rng.normal(size=(rows, WIDTH))
    table /= np.linalg.norm(table, axis=1, keepdims=True)
    slope = rng.normal(size=WIDTH)
    return table, np.clip(3 * table @ slope / np.linalg.norm(slope) + rng.normal(0, 0.1, rows), -1, 1)


@settings(max_examples=50, deadline=None)
@given(st.lists(HOSTILE, min_size=4, max_size=4), HOSTILE)
def test_no_row_moves_the_sums_further_than_it_is_charged_for(cells, goal):
    columns = [np.array([cell]) for cell in cells]
    row = in_ball(design(scaled([(-1, 1)] * 4, list("abcd")), columns)[:, 1:])
    truth = scaled([(-1, 1)], ["y"])[0].steps(np.array([goal]))[:, 0]
    assert int((row**2).sum()) <= GRID**2
    assert int(np.abs(sums_of(row, truth)).sum()) <= sums_move(4)


def test_rows_that_nobody_shortens_are_noticed():
    row = design(scaled([(-1, 1)] * 4, list("abcd")), [np.ones(1)] * 4)[:, 1:]
    assert int(np.abs(sums_of(row, np.array([GRID]))).sum()) > sums_move(4)


@pytest.mark.parametrize("seed", range(4))
def test_no_row_moves_the_excess_further_than_it_is_charged_for(seed):
    """What the comparison sees, of weights anywhere in the ball, with the best that there is without each row."""
    rng = np.random.default_rng(seed)
    rows = in_ball(np.rint(rng.uniform(-1, 1, (30, 3)) * 3 * GRID))
    truth = np.rint(rng.choice([-1, 1], 30) * GRID * rng.choice([0.1, 1.0]))
    weights = _shortened(rng.normal(size=3) * 9)

    def excess(kept: np.ndarray) -> int:
        return round(_LOSS_STEPS * (_loss(weights, rows[kept], truth[kept]) - _least_loss(rows[kept], truth[kept])))

    whole = excess(np.arange(30))
    moved = max(abs(whole - excess(np.delete(np.arange(30), place))) for place in range(30))
    assert moved <= _LOSS_STEPS * _MOST_LOSS + 2 * _ROUNDED
    assert whole >= 0


def test_it_is_as_good_as_asked_for_far_less_than_the_lectures_pay():
    """n = 10⁴, d = 30, α = .05: the lectures' link pays 11.8 in all."""
    spent = []
    for seed in range(3):
        table, truth = synthetic(seed)
        model = accuracy_first(RidgeRegressor(features=[(-1, 1)] * WIDTH, target=(-1, 1)), alpha="0.05").fit(
            table, truth
        )
        rows, goal = in_ball(np.rint(table * GRID)), np.rint(truth * GRID)
        assert model.is_good_
        assert (_loss(model.weights_, rows, goal) - _least_loss(rows, goal)) / len(rows) <= 0.05
        spent.append(float(model.spent_.epsilon))
        last = _prices(Fraction(20))[model.tellings_ - 1]
        assert model.spent_.epsilon == last + model.comparing_.epsilon + Fraction(1, 20)
        assert model.reserved_.epsilon > model.spent_.epsilon
        assert float(np.mean((model.predict(table) - truth) ** 2)) < float(np.mean(truth**2))
    assert max(spent) < 5.9
    assert min(spent) > 0.05


def test_what_cannot_be_reached_says_so():
    table, truth = synthetic(1, rows=60)
    model = accuracy_first(RidgeRegressor(features=[(-1, 1)] * WIDTH, target=(-1, 1)), alpha="0.01", most="0.2")
    model.fit(table, truth)
    assert model.tellings_ <= len(_prices(Fraction(1, 5)))
    assert model.reserved_.epsilon >= model.spent_.epsilon


@pytest.mark.parametrize("options", [{"alpha": 0}, {"alpha": 5}, {"alpha": math.nan}, {"most": "0.01"}], ids=str)
def test_bad_input_is_refused_in_our_own_words(options):
    table, truth = synthetic(1, rows=20)
    with pytest.raises(InvalidParameter):
        accuracy_first(RidgeRegressor(features=[(-1, 1)] * WIDTH), **options).fit(table, truth)
    with pytest.raises(InvalidParameter):
        accuracy_first(AdditiveClassifier()).fit(table, truth)  # type: ignore[arg-type]
