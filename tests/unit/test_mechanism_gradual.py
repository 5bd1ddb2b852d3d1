"""One answer told ever more precisely: the tellings, their link and their one price."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from support.laws import FALSE_ALARM, p_value, two_sided_cells
from support.sources import Seeded
from tacit.core import LaplaceEvent, Loss
from tacit.errors import InvalidParameter, QueryRefused
from tacit.mechanisms import GradualRelease, Laplace
from tacit.noise.coarsening import coarsening, unchanged

PRICES = [Loss("0.1"), Loss("0.4"), Loss(1)]


def test_all_tellings_cost_what_the_last_one_costs():
    mechanism = GradualRelease.costing(PRICES, 2)
    assert mechanism.scales == (20, 5, 2)
    assert mechanism.loss(2) == Loss(1)
    assert [mechanism.loss(2, tellings=told) for told in (1, 2, 3)] == PRICES
    assert mechanism.event(2, tellings=2) == LaplaceEvent(Fraction(2, 5))


def test_a_run_reveals_the_noisiest_telling_first_and_counts_what_is_spent():
    run = GradualRelease.costing(PRICES, 1).start(np.zeros(100_000, dtype=np.int64), Seeded(1), sensitivity=1)
    assert run.spent == Loss(0)
    seen = []
    for price in PRICES:
        assert run.spent + run.next_price == price
        seen.append(run.reveal().var())
        assert run.spent == price
    assert seen == sorted(seen, reverse=True)
    assert run.revealed == 3
    for ask in (run.reveal, lambda: run.next_price):
        with pytest.raises(QueryRefused, match="everything has been told"):
            ask()


def test_a_run_shows_none_of_its_secrets():
    run = GradualRelease.costing(PRICES, 1).start(12345, Seeded(1), sensitivity=1)
    run.reveal()
    assert repr(run) == "<gradual run, 1 of 3 told>"


def test_every_telling_alone_is_a_laplace_release():
    mechanism = GradualRelease([50, 9, "7/2", "1/3"])
    for scale, telling in zip(
        mechanism.scales, mechanism.release(np.zeros(200_000, dtype=int), Seeded(2)), strict=True
    ):
        assert p_value(telling, two_sided_cells(scale)) > FALSE_ALARM
        assert p_value(telling, two_sided_cells(scale * Fraction(13, 10))) < FALSE_ALARM


def test_an_earlier_telling_adds_nothing_to_a_later_one():
    """Given the last telling, what was added to make the first does not depend on the data."""
    mechanism = GradualRelease([6, 2])
    coarse, fine = mechanism.release(np.zeros(400_000, dtype=np.int64), Seeded(3))
    added = coarse - fine
    for place in (-2, 0, 3):
        share = np.mean(added[fine == place] == 0)
        assert share == pytest.approx(np.mean(added == 0), abs=0.01)


def test_errors_and_variances_are_those_of_laplace():
    mechanism = GradualRelease([50, 9])
    assert mechanism.error("0.9", tellings=1) == Laplace(50).error("0.9")
    assert mechanism.error("0.9", count=10) == Laplace(9).error("0.9", count=10)
    assert mechanism.variances == (Laplace(50).variance, Laplace(9).variance)


def test_a_single_telling_is_a_laplace_release():
    mechanism = GradualRelease.costing(Loss("1/2"), 3)
    assert mechanism == GradualRelease([6])
    (only,) = mechanism.release([10, 20], Seeded(4))
    assert only.tolist() == Laplace(6).release([10, 20], Seeded(4)).tolist()


@pytest.mark.parametrize("scales", [[], [1, 2], [2, 2], [2, 0], [2, -1], [float("inf"), 1]])
def test_scales_must_fall(scales):
    with pytest.raises(InvalidParameter):
        GradualRelease(scales)


@pytest.mark.parametrize("told", [0, 4, -1])
def test_there_is_no_telling_but_those_there_are(told):
    with pytest.raises(InvalidParameter):
        GradualRelease.costing(PRICES, 1).loss(1, tellings=told)


def test_shapes_are_kept():
    tellings = GradualRelease([5, 2, 1]).release(np.zeros((3, 4), dtype=np.int64), Seeded(5))
    assert [telling.shape for telling in tellings] == [(3, 4)] * 3


@pytest.mark.parametrize(("fine", "coarse"), [("1/2", 2), (3, 10), (10, "101/10"), (2**56 - 1, 2**56)])
def test_the_chance_that_coarsening_adds_nothing_is_as_derived(fine, coarse):
    digits = unchanged(Fraction(fine), Fraction(coarse)).digits(60) / 2**60
    assert digits == pytest.approx(
        (math.sinh(0.5 / Fraction(coarse)) / math.sinh(0.5 / Fraction(fine))) ** 2, rel=1e-12
    )


@pytest.mark.parametrize("fine", ["1/3", "2"])
def test_coarsened_noise_has_the_coarser_law_by_convolution(fine):
    """Exactly: the mixture convolved with the finer law is the coarser one, term by term."""
    k = np.arange(-300, 301)

    def law(scale: Fraction) -> np.ndarray:
        q = math.exp(-1 / scale)
        return (1 - q) / (1 + q) * q ** np.abs(k).astype(float)

    small, large = Fraction(fine), Fraction(7)
    stays = unchanged(small, large).digits(60) / 2**60
    mixture = (1 - stays) * law(large)
    mixture[300] += stays
    assert np.convolve(law(small), mixture, mode="same")[100:501] == pytest.approx(law(large)[100:501], rel=1e-9)


def test_noise_cannot_be_made_finer():
    with pytest.raises(InvalidParameter, match="coarsened"):
        coarsening(5, 5, size=1)
    with pytest.raises(InvalidParameter, match="coarsened"):
        coarsening(5, 4, size=1)
