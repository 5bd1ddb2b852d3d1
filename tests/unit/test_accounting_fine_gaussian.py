"""Gaussian noise on samples: never below what exact sums give, close to them, and to another accountant."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from tacit.accounting import compose_numerically, fine_gaussian, loss_of, numerical_delta, renyi_to_dp, zcdp_of
from tacit.accounting.fine_gaussian import fine_profile
from tacit.accounting.renyi import curve_of
from tacit.core import ComposedEvent, FineGaussianEvent, GaussianEvent, SampledEvent
from tacit.errors import InvalidParameter

EPSILONS = (0.0, 0.1, 0.5, 1.0, 2.0, 4.0)


def discrete(sigma: float, shift: int) -> np.ndarray:
    """The discrete Gaussian's law around `shift`, on whole numbers around zero."""
    reach = int(13 * sigma) + abs(shift) + 12
    law = np.exp(-((np.arange(-reach, reach + 1) - shift) ** 2) / (2 * sigma**2))
    return law / law.sum()


def pair(sigma: float, shift: int, q: float) -> tuple[np.ndarray, np.ndarray]:
    """With the unit, which is in the sample with probability q, and without it."""
    without = discrete(sigma, 0)
    reach = (without.size - 1) // 2
    numbers = np.arange(-reach - abs(shift), reach + abs(shift) + 1)
    laws = [np.exp(-((numbers - at) ** 2) / (2 * sigma**2)) for at in (0, shift)]
    laws = [law / law.sum() for law in laws]
    return (1 - q) * laws[0] + q * laws[1], laws[0]


def exact_delta(pairs: list[tuple[np.ndarray, np.ndarray]], epsilon: float) -> float:
    """The worse of both directions, by the sum over all outcomes of all rounds."""
    within, without = np.ones(1), np.ones(1)
    for one, other in pairs:
        within, without = np.outer(within, one).ravel(), np.outer(without, other).ravel()
    ways = ((within, without), (without, within))
    return max(float(np.maximum(one - math.exp(epsilon) * other, 0).sum()) for one, other in ways)


def event(sigma: float, shift: int, q: float) -> SampledEvent:
    inner = FineGaussianEvent(Fraction(shift**2) / (2 * Fraction(sigma) ** 2), Fraction(sigma) ** 2)
    return SampledEvent(Fraction(q), inner)


CASES = [
    [(12.0, 8, 0.25)],
    [(12.0, 24, 0.05)],
    [(40.0, 10, 0.9)],
    [(9.0, 9, 1.0)],
    [(12.0, 6, 0.5), (12.0, 6, 0.5)],
    [(9.0, 12, 0.1), (14.0, 3, 1.0)],
]


def covers(case: list[tuple[float, int, float]]) -> None:
    rounds = ComposedEvent(tuple((event(*each), 1) for each in case))
    for epsilon in EPSILONS:
        true = exact_delta([pair(*each) for each in case], epsilon)
        assert true * (1 - 1e-9) <= float(numerical_delta([rounds], Fraction(epsilon)))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_no_delta_is_below_the_exact_sum_over_all_outcomes(case):
    covers(case)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_it_is_close_to_that_sum_where_the_grid_is_fine(case):
    finer = [(sigma * 60, shift * 60, q) for sigma, shift, q in case]
    rounds = ComposedEvent(tuple((event(*each), 1) for each in finer))
    for epsilon in EPSILONS[:4]:
        true = exact_delta([pair(*each) for each in case], epsilon)
        assert float(numerical_delta([rounds], Fraction(epsilon))) <= 1.06 * true + 1e-9


def lower_dots(mine: np.ndarray, *_: Any) -> np.ndarray:
    return np.append(mine, 0.0)


PLANTED = {
    "losses are rounded down": ("_split", lower_dots),
    "rounding takes no variance": ("rounding_that_loses", lambda *_: Fraction(-30)),
    "a sample is half as likely": ("plain", lambda sampled: (sampled.probability / 2, sampled.event)),
    "only what is added counts": ("_removed", fine_gaussian._added),
}


@pytest.mark.parametrize("planted", PLANTED)
def test_a_planted_error_is_caught(planted, monkeypatch):
    name, wrong = PLANTED[planted]
    monkeypatch.setattr(fine_gaussian, name, wrong)
    if name == "rounding_that_loses":
        monkeypatch.setattr(fine_gaussian, "lost_by_rounding", lambda *_: Fraction(0))
    with pytest.raises(AssertionError):  # noqa: PT012 - whichever case shows it
        for case in CASES:
            covers(case)


def test_all_of_the_rows_cost_the_closed_form():
    """1,000 rounds of mu = 1/50 on everybody are one of mu = √(2/5): Balle & Wang's profile."""
    wide = ComposedEvent(((FineGaussianEvent(Fraction(1, 5000), Fraction(10**8)), 1000),))
    mu = math.sqrt(0.4)
    for epsilon in (0.5, 1.0, 2.0):
        above, below = (math.erfc((epsilon / mu + half) / math.sqrt(2)) / 2 for half in (-mu / 2, mu / 2))
        true = above - math.exp(epsilon) * below
        assert true <= float(numerical_delta([wide], Fraction(epsilon))) <= 1.01 * true


@pytest.mark.parametrize(
    ("q", "mu", "times"), [("0.01", 1.0, 1000), ("0.25", 0.3, 60), ("0.001", 1.5, 5000), ("0.5", 2.0, 4)]
)
def test_another_accountant_says_nearly_the_same(q, mu, times):
    from dp_accounting.pld.privacy_loss_distribution import from_gaussian_mechanism

    rounds = SampledEvent(Fraction(q), FineGaussianEvent(Fraction(mu) ** 2 / 2, Fraction(10**10)))
    theirs = from_gaussian_mechanism(
        1 / mu, sampling_prob=float(q), value_discretization_interval=1e-4, use_connect_dots=True
    ).self_compose(times)
    ours = compose_numerically([ComposedEvent(((rounds, times),))], "1e-5").epsilon
    assert 0.9995 < float(ours) / theirs.get_epsilon_for_delta(1e-5) < 1.003
    assert ours < renyi_to_dp(curve_of(ComposedEvent(((rounds, times),))), Fraction("1e-5")).epsilon


def test_what_is_too_coarse_is_added_up_as_a_curve():
    coarse = FineGaussianEvent(Fraction(1, 2), Fraction(1))
    assert fine_profile({coarse: 1}) is None
    plain = numerical_delta([GaussianEvent(Fraction(1, 2))], 1)
    assert numerical_delta([coarse], 1) == plain


def test_a_delta_that_is_too_small_for_doubles_is_refused_or_a_curve():
    rounds = ComposedEvent(((SampledEvent(Fraction(1, 10), FineGaussianEvent(Fraction(1, 2), Fraction(10**8))), 50),))
    with pytest.raises(InvalidParameter, match="too fine"):
        compose_numerically([rounds], "1e-30")


def test_fine_noise_is_gaussian_noise_to_every_other_accountant():
    fine, plain = FineGaussianEvent(Fraction(1, 9), Fraction(100)), GaussianEvent(Fraction(1, 9))
    assert zcdp_of(fine) == zcdp_of(plain)
    assert curve_of(SampledEvent(Fraction(1, 7), fine)) == curve_of(SampledEvent(Fraction(1, 7), plain))
    with pytest.raises(InvalidParameter, match="no \\(epsilon, delta\\) of its own"):
        loss_of(fine)
    nothing = FineGaussianEvent(Fraction(0), Fraction(1))
    assert numerical_delta([nothing], 0) == 0


@pytest.mark.parametrize(("rho", "variance"), [(-1, 1), (1, 0), (1, -1)])
def test_noise_that_cannot_be_is_refused(rho, variance):
    with pytest.raises(InvalidParameter):
        FineGaussianEvent(Fraction(rho), Fraction(variance))


@pytest.mark.parametrize(("q", "rho"), list(product(["1e-9", "1/2", "1"], ["1e-12", "400"])))
def test_extremes_have_a_delta_between_nothing_and_one(q, rho):
    profile = fine_profile({SampledEvent(Fraction(q), FineGaussianEvent(Fraction(rho), Fraction(10**9))): 3000})
    assert profile is not None
    found = [profile.delta(epsilon) for epsilon in (0.0, 1.0, 50.0)]
    assert 1 >= found[0] >= found[1] >= found[2] > 0
