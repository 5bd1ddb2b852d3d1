"""Curves of membership attacks: areas, low false alarms, and what guesses prove; of models and of synthetic tables."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import tacit.attack.curves as curves
from support.sources import Seeded
from tacit.attack import MembershipCurve, membership_curve, synthesiser_curve
from tacit.attack.curves import _area, _student
from tacit.attack.people import KnownColumn, People
from tacit.attack.publications import as_they_are
from tacit.core import Loss
from tacit.errors import InvalidParameter
from tacit.mechanisms import Laplace


def people(rows: int = 160) -> People:
    draws = np.random.default_rng(1)
    columns = [
        KnownColumn(name, tuple(map(str, range(size))), draws.integers(0, size, rows))
        for name, size in (("age", 20), ("town", 10), ("ill", 3))
    ]
    return People(tuple(columns[:2]), columns[2], np.arange(rows - 40), np.arange(rows - 40, rows))


def test_the_area_is_mann_and_whitneys():
    draws = np.random.default_rng(2)
    scores, inside = np.round(draws.normal(size=60), 1), draws.random(60) < 0.4
    expected = stats.mannwhitneyu(scores[inside], scores[~inside]).statistic / (inside.sum() * (~inside).sum())
    assert _area(scores, inside) == pytest.approx(expected)
    assert _area(scores, np.zeros(60, dtype=bool)) == 0.5
    assert all(_student(freedom) >= stats.t.ppf(0.975, freedom) - 1e-9 for freedom in range(1, 40))


def test_a_curve_goes_from_nobody_to_everybody_and_ties_fall_together():
    curve = MembershipCurve(
        against="x", scores=np.array([[3.0, 2, 2, 1]]), inside=np.array([[True, True, False, False]])
    )
    alarms, found = curve.points
    assert alarms.tolist() == [0, 0, 0.5, 1]
    assert found.tolist() == [0, 0.5, 1, 1]
    with pytest.raises(InvalidParameter, match="second model"):
        curve.at()


def noisy_rows(epsilon: int, *, seed: int):
    """A model that tells of every row whether it is in, with noise at this price: what it gives away is known."""
    noise, source = Laplace.costing(Loss(epsilon), 1), Seeded(seed)

    def train(places):
        truth = np.zeros(400, dtype=np.int64)
        truth[places] = 1
        return noise.release(truth, source)

    return train, lambda model, places: model[places].astype(float)


def test_of_a_model_whose_leak_is_known_most_is_proved_and_no_more():
    curve = membership_curve(*noisy_rows(4, seed=3), 400, targets=8, loss=Loss(4), source=Seeded(4))
    assert 0.7 * 4 < curve.certificate.epsilon <= 4
    assert curve.area[1] > 0.8
    found = curve.at(0.05)
    assert found.ceiling is not None
    assert found.low <= found.ceiling
    assert found.success > 0.5


def test_half_the_noise_is_proved_to_be_too_little():
    curve = membership_curve(*noisy_rows(4, seed=5), 400, targets=8, loss=Loss(2), source=Seeded(6))
    assert curve.certificate.violates
    assert "more than the claimed 2" in str(curve)


def test_a_synthesiser_that_is_paid_for_gives_nobody_away():
    curve = synthesiser_curve(people(), 1, rows=120, shadows=4, targets=2, source=Seeded(7))
    assert curve.loss == Loss(1, "1e-6")
    assert not curve.certificate.violates
    assert curve.at().low <= curve.at().ceiling


def test_a_synthesiser_that_hands_its_rows_out_is_caught(monkeypatch):
    monkeypatch.setattr(curves, "synthetic_rows", lambda people, epsilon, *, delta: as_they_are(people))
    curve = synthesiser_curve(people(), 1, rows=160, shadows=4, targets=4, source=Seeded(8))
    assert curve.certificate.violates
    assert curve.area[1] > 0.8


@pytest.mark.parametrize("how", [{"shadows": 2}, {"targets": 1}])
def test_too_few_models_are_no_curve(how):
    with pytest.raises(InvalidParameter, match="4 shadows and 2 targets"):
        membership_curve(lambda places: None, lambda model, places: places, 400, **how)


def test_too_few_rows_are_no_curve():
    with pytest.raises(InvalidParameter, match="a verdict needs 20"):
        membership_curve(lambda places: None, lambda model, places: places, 30)
