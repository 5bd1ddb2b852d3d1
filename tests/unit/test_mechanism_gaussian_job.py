"""Several Gaussian noises calibrated together: beside the joint law of two, summed over the plane."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from tacit.accounting import zcdp_of, zcdp_to_dp
from tacit.core import ComposedEvent, Loss
from tacit.core.concentrated import rho_within
from tacit.errors import InvalidParameter
from tacit.mechanisms import Gaussian
from tacit.mechanisms.calibration import gaussian_job
from tacit.mechanisms.calibration.gaussian_cost import epsilon_of, moved_values
from tacit.mechanisms.calibration.gaussian_job import rho_of_job
from tacit.mechanisms.calibration.gaussian_profile import mu_within

HALF = Fraction(1, 2)
PAIRS = [
    ((1, HALF), (1, HALF)),
    ((1, Fraction(1, 10)), (3, Fraction(9, 10))),
    ((2, Fraction(2, 3)), (1, Fraction(1, 3))),
]
LOSSES = [Loss("0.5", "1e-6"), Loss(1, "1e-6"), Loss(2, "1e-4"), Loss(4, "1e-3"), Loss(8, "1e-6"), Loss(16, "1e-2")]


def weights(sigma: Fraction) -> tuple[np.ndarray, np.ndarray]:
    numbers = np.arange(-int(14 * sigma) - 12, int(14 * sigma) + 13)
    law = np.exp(-(numbers.astype(float) ** 2) / (2 * float(sigma) ** 2))
    return numbers, law / law.sum()


def delta_of(noises: tuple[Gaussian, ...], moves: tuple[int, ...], epsilon: float) -> float:
    """The delta of two noises whose numbers move so far: the sum of (P − e^ε Q)⁺ over all pairs of outcomes."""
    chances, ratios = [], []
    for noise, move in zip(noises, moves, strict=True):
        numbers, law = weights(noise.sigma)
        chances.append(law)
        ratios.append((-2.0 * numbers * move - move**2) / (2 * float(noise.sigma) ** 2))  # ln Q/P
    ratio = ratios[0][:, None] + ratios[1][None, :]
    return float((chances[0][:, None] * chances[1][None, :] * np.maximum(0.0, -np.expm1(ratio + epsilon))).sum())


@pytest.mark.parametrize("loss", LOSSES, ids=str)
@pytest.mark.parametrize("parts", PAIRS, ids=str)
def test_two_noises_together_keep_the_loss_they_are_calibrated_to(loss, parts):
    noises = Gaussian.jointly(loss, parts)
    for moves in product(*([-moved, 0, moved] for moved, _ in parts)):
        assert delta_of(noises, moves, float(loss.epsilon)) <= float(loss.delta) * (1 + 1e-9)


@pytest.mark.parametrize("loss", LOSSES[:2], ids=str)
@pytest.mark.parametrize("parts", PAIRS, ids=str)
def test_they_spend_most_of_the_delta_that_they_may(loss, parts):
    spent = delta_of(Gaussian.jointly(loss, parts), tuple(moved for moved, _ in parts), float(loss.epsilon))
    by_zcdp = [
        Gaussian.concentrated(rho_within(loss.epsilon, loss.delta) * share, moved, delta=loss.delta)
        for moved, share in parts
    ]
    wasted = delta_of(tuple(by_zcdp), tuple(moved for moved, _ in parts), float(loss.epsilon))
    assert spent >= 0.7 * float(loss.delta)
    assert wasted < 0.35 * float(loss.delta)


@pytest.mark.parametrize(
    "planted", ["the rounding's variance", "what rounding loses", "the discrete law altogether", "a coordinate"]
)
def test_a_planted_calibration_is_caught(planted, monkeypatch):
    """At an ε of several units noise is a number or two, and what is true of the continuous law no longer is."""
    if planted == "the rounding's variance":
        whole = gaussian_job._within
        monkeypatch.setattr(gaussian_job, "_within", lambda *args, s_squared: whole(*args, s_squared=s_squared / 16))
    elif planted == "what rounding loses":
        monkeypatch.setattr(gaussian_job, "lost_by_rounding", lambda s_squared, values: Fraction(0))
        monkeypatch.setattr(gaussian_job, "rounding_for", lambda *_, **__: Fraction(1, 256))
    elif planted == "a coordinate":
        monkeypatch.setattr(gaussian_job, "_within", lambda mu2, v, shares, s_squared: mu2 / (2 * shares[0]))
    else:
        monkeypatch.setattr(gaussian_job, "_rho", lambda epsilon, delta, parts: mu_within(epsilon, delta) ** 2 / 2)
    gaussian_job._rho.cache_clear() if hasattr(gaussian_job._rho, "cache_clear") else None
    with pytest.raises(AssertionError):  # noqa: PT012 - whichever pair shows it
        for loss, parts in product([*LOSSES, *(Loss(e, "1e-2") for e in range(3, 30))], PAIRS):
            test_two_noises_together_keep_the_loss_they_are_calibrated_to(loss, parts)
    monkeypatch.undo()
    gaussian_job._rho.cache_clear()


@pytest.mark.parametrize("epsilon", ["1/100", "1/10", "1", "3", "20"])
@pytest.mark.parametrize("delta", ["1e-3", "1e-6", "1e-12"])
def test_there_is_never_more_noise_than_by_zcdp_and_never_less_than_the_continuous_law_needs(epsilon, delta):
    loss = Loss(epsilon, delta)
    for parts in ([(5000, HALF), (10**6, HALF)], [(1, HALF), (1, HALF)], [(3, Fraction(1, 9)), (70, Fraction(8, 9))]):
        rho = rho_of_job(loss, parts)
        assert (
            rho_within(loss.epsilon, loss.delta)
            <= rho
            <= mu_within(loss.epsilon, loss.delta) ** 2 / 2 * (1 + Fraction(1, 10**8))
        )


def test_a_job_has_seven_per_cent_less_noise_than_by_zcdp():
    rho = rho_of_job(Loss(1, "1e-6"), [(3, HALF), (25_000, HALF)])
    assert (rho / rho_within(Fraction(1), Fraction(1, 10**6))) ** 0.5 > 1.07


def test_what_zcdp_charges_is_the_rho_of_the_noise_that_is_drawn():
    """More than converting the price would give: the noise is less, and nothing of that is hidden."""
    loss, parts = Loss(1, "1e-6"), [(3, HALF), (25_000, HALF)]
    noises = Gaussian.jointly(loss, parts)
    event = ComposedEvent(tuple((noise.event(moved), 1) for noise, (moved, _) in zip(noises, parts, strict=True)))
    rho = zcdp_of(event).rho
    assert rho == sum(
        Fraction(moved) ** 2 / (2 * noise.sigma**2) for noise, (moved, _) in zip(noises, parts, strict=True)
    )
    assert zcdp_to_dp(rho, loss.delta).epsilon > loss.epsilon
    assert rho <= rho_of_job(loss, parts)


def test_a_unit_moves_no_more_numbers_than_its_squared_norm():
    assert [moved_values(Fraction(far)) for far in ("1/2", "1", "1.4", "1.42", "3")] == [1, 1, 1, 2, 9]
    one, many = (epsilon_of(Fraction(4), Fraction(1), delta=Fraction(1, 10**6), dimension=d) for d in (1, 1 << 40))
    assert one == many  # a count that moves by one is a single number, however many groups there are
    assert Gaussian.costing(Loss(1, "1e-6"), 1) == Gaussian(
        Gaussian.costing(Loss(1, "1e-6"), 1, dimension=1).sigma, "1e-6"
    )


@pytest.mark.parametrize("parts", [[], [(1, 1), (1, HALF)], [(0, HALF), (1, HALF)], [(1, 0), (1, 1)]])
def test_a_job_that_is_none_is_refused(parts):
    with pytest.raises(InvalidParameter):
        rho_of_job(Loss(1, "1e-6"), parts)


@pytest.mark.parametrize("loss", [Loss("1e-30", "1e-250"), Loss(10**9, "1e-250"), Loss("1e-30", "0.999")], ids=str)
def test_extreme_losses_have_a_rho(loss):
    for far in (Fraction(1), Fraction(10**30)):
        assert rho_of_job(loss, [(far, HALF), (1, HALF)]) > 0
