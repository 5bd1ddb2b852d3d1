"""What models make of noisy sums, by hand: arithmetic that no accuracy of a model would tell from another."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_allclose

from tacit.core import Loss
from tacit.learn import RidgeRegressor
from tacit.learn.classifiers.bayes_gaussian import GaussianBayesPlan, _laws
from tacit.learn.sums.cells import _rising
from tacit.learn.sums.moments import GRID, Moments, surely_inverted
from tacit.mechanisms import Gaussian
from tacit.noise import SYSTEM

# Of each class its rows: a number within [-1, 1], and whether it is of the one or of the other category.
HERE = [(-0.5, 1, 0), (0.5, 1, 0), (0.25, 1, 0), (0.75, 0, 1)]
THERE = [(0.0, 1, 0), (-0.5, 1, 0)]
IS_NUMBER = np.array([True, False, False])
NO_NOISE = (Fraction(1, 1000), Fraction(1, 1000))


def laws(classes, sigmas, monkeypatch) -> dict[str, np.ndarray]:
    """What is learnt where noise of these deviations happens to be nothing."""
    monkeypatch.setattr(Gaussian, "release", lambda mechanism, values, source: values)
    steps = [np.rint(GRID * np.array(rows).reshape(-1, 3)).astype(np.int64) for rows in classes]
    sums = [[len(rows) * GRID, *rows.sum(axis=0), *(rows**2).sum(axis=0)] for rows in steps]
    noises = tuple(Gaussian(sigma, Fraction(1, 10**6)) for sigma in sigmas)
    plan = GaussianBayesPlan(Loss(1, Fraction(1, 10**6)), noises, (Fraction(1), Fraction(1)))
    return _laws(plan, np.array(sums), IS_NUMBER, SYSTEM)


def test_without_noise_a_class_is_its_mean_its_variance_and_its_share(monkeypatch):
    found = laws([HERE, THERE], NO_NOISE, monkeypatch)
    assert_allclose(found["priors"], np.log([4 / 6, 2 / 6]), rtol=1e-5)
    assert_allclose(found["means"], [[0.25, 0.75, 0.25], [-0.25, 1, 1e-3]], rtol=5e-4)  # never, of so few: hardly ever
    assert_allclose(found["variances"], [[7 / 32, 1, 1], [1 / 16, 1, 1]], rtol=1e-5)


def test_noise_draws_a_class_to_what_is_everybodys_as_far_as_it_has_few_rows(monkeypatch):
    """Noise of four rows counts as four rows of everybody; of squares, twice two do."""
    found = laws([HERE, THERE], (Fraction(4 * GRID), Fraction(2 * GRID**2)), monkeypatch)
    everybody = 0.5 / 6
    means = [(1 + 4 * everybody) / 8, (-0.5 + 4 * everybody) / 6]
    assert_allclose(found["means"][:, 0], means)
    assert_allclose(found["means"][:, 1], [(3 + 4 * 5 / 6) / 8, (2 + 4 * 5 / 6) / 6])
    assert_allclose(found["means"][:, 2], [(1 + 4 / 6) / 8, 1e-3 + 4 / 6 / 4])  # no less than noise could hide
    spread = 1.375 / 6 - everybody**2
    own = [1.125 / 4 - means[0] ** 2, 0.25 / 2 - means[1] ** 2]
    assert_allclose(found["variances"][:, 0], [own[0] / 2 + spread / 2, own[1] / 3 + spread * 2 / 3])


def test_a_class_of_one_value_has_some_width_and_one_of_no_row_is_one_row(monkeypatch):
    found = laws([[(0.5, 1, 0)] * 3, []], NO_NOISE, monkeypatch)
    assert_allclose(found["variances"][:, 0], 0.02**2)
    assert_allclose(found["priors"], np.log([3 / 4, 1 / 4]))
    noisy = laws([[(0.5, 1, 0)] * 4], (NO_NOISE[0], Fraction(2 * GRID**2)), monkeypatch)
    assert_allclose(noisy["variances"][:, 0], 0.02**2)  # half its own, half that of everybody: both have as little


# Of an eigenvalue v as much is taken as noise may have made of it: 16 / v, where the noise of four columns is off by 4.
@pytest.mark.parametrize(("value", "sure"), [(80, 79.8), (8, 6), (5, 1.8), (4.1, 1), (4, 1), (3, 1), (0, 1), (-7, 1)])
def test_an_inverse_is_by_less_than_was_measured_and_by_one_row_at_least(value, sure):
    found = surely_inverted(np.diag([100.0, 200.0, 400.0, value]), sigma=2.0)
    assert_allclose(np.diag(found), [1 / 99.84, 1 / 199.92, 1 / 399.96, 1 / sure])
    turned, _ = np.linalg.qr(np.arange(16).reshape(4, 4) ** 0.5)
    turned_back = (
        turned.T @ surely_inverted(turned @ np.diag([100.0, 200.0, 400.0, value]) @ turned.T, sigma=2.0) @ turned
    )
    assert_allclose(turned_back, found, atol=1e-12)


def test_without_noise_an_inverse_is_the_inverse():
    assert_allclose(surely_inverted(np.diag([4.0, 0.0]), sigma=0.0), np.diag([1 / 4, 1]))


REACH = math.sqrt(3 * math.log(360))  # of noise of one in three columns: in one of twenty draws it may be more


@pytest.mark.parametrize(
    ("least", "sigma", "asked", "ridge"),
    [
        (100.0, 1.0, 0.0, 0.0),  # what was measured is safe
        (2 * REACH, 1.0, 0.0, 0.0),
        (1.5 * REACH, 1.0, 0.0, REACH / 2),  # it may be half of the reach, which is added
        (REACH, 1.0, 0.0, REACH),  # it may be nothing
        (-5.0, 1.0, 0.0, REACH),
        (1.5 * REACH, 1.0, 7.0, 7 + REACH / 2),
        (100.0, 1.0, 7.0, 7.0),
        (15 * REACH, 10.0, 0.0, 5 * REACH),
    ],
)
def test_ridge_is_what_makes_the_least_eigenvalue_safe(least, sigma, asked, ridge):
    products, cross = np.diag([1000.0, least, 1200.0]), np.array([10.0, 20.0, 30.0])
    moments = Moments(products, sigma, cross, sigma, 50.0)
    found = RidgeRegressor(ridge=asked)._solved(moments)
    assert_allclose(found["ridge"], ridge, atol=1e-9)
    assert_allclose(found["weights"], cross / (np.diag(products) + ridge))


def test_a_model_says_what_ridge_it_took():
    rows = np.linspace(-1, 1, 50).reshape(-1, 1)
    quiet = RidgeRegressor(epsilon=10**6, features=[(-1, 1)], target=(-1, 1), ridge=3.0).fit(rows, rows[:, 0])
    assert quiet.ridge_ == 3.0


def test_edges_of_cells_rise_by_round_numbers():
    series = (Fraction(1), Fraction(2), Fraction(5))
    assert _rising(Fraction(1000), series, decades=(0, 2)) == [10, 20, 50, 100, 200, 500]
    assert _rising(Fraction(1000), (Fraction(1), Fraction(9)), decades=(0, 2)) == [10, 90, 100, 900]
    assert _rising(Fraction(1500), series, decades=(0, 1)) == [200, 500, 1000]
    assert _rising(Fraction(999), series, decades=(1, 2)) == [10, 20, 50]
    assert _rising(Fraction(1, 2), series, decades=(0, 1)) == [Fraction(n, 100) for n in (5, 10, 20)]
