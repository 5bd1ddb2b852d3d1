"""Mechanisms against their laws, at more parameters than the conformance suite: false-alarm rate 1e-9 each.

Every comparison has its counterpart that must fail: a scale 30 % off, a fair coin that is not, a tie broken unfairly.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from conformance import mechanism_laws as laws
from support.laws import (
    DRAWS,
    FALSE_ALARM,
    gaussian_cells,
    p_value,
    p_value_of_counts,
    p_value_of_successes,
    two_sided_cells,
)
from support.sources import Seeded
from tacit.core import Adjacency
from tacit.mechanisms import (
    AboveThreshold,
    Exponential,
    Gaussian,
    GradualRelease,
    KaryResponse,
    Laplace,
    NoisyMax,
    PermuteAndFlip,
    RandomisedResponse,
)
from tacit.mechanisms.above_threshold import ThresholdLanes

REPLACE = Adjacency.REPLACE
OFF = [Fraction(7, 10), Fraction(13, 10)]
SCORES = np.array([4, 2, 4, 3, 0])
SIX_SIGMA = 6.1  # of a normal: 1e-9


@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(10), Fraction(12345, 7)], ids=str)
def test_laplace_noise_is_two_sided_geometric(scale):
    noise = Laplace(scale).release(np.full(DRAWS, 1000), Seeded(1)) - 1000
    assert p_value(noise, two_sided_cells(scale)) > FALSE_ALARM
    for factor in OFF:
        assert p_value(noise, two_sided_cells(scale * factor)) < FALSE_ALARM


@pytest.mark.parametrize("sigma", [Fraction(1), Fraction(15, 2), Fraction(500)], ids=str)
def test_gaussian_noise_is_the_discrete_gaussian(sigma):
    noise = Gaussian(sigma, "1e-6").release(np.full(DRAWS, -1000), Seeded(2)) + 1000
    assert p_value(noise, gaussian_cells(sigma)) > FALSE_ALARM
    for factor in OFF:
        assert p_value(noise, gaussian_cells(sigma * factor)) < FALSE_ALARM


@pytest.mark.parametrize("flip", [Fraction(1, 100), Fraction(1, 4), Fraction(49, 100)], ids=str)
def test_answers_are_flipped_with_their_chance(flip):
    for truth in (0, 1):
        flipped = int(np.sum(RandomisedResponse(flip).release(np.full(DRAWS, truth), Seeded(3 + truth)) != truth))
        assert p_value_of_successes(flipped, DRAWS, float(flip)) > FALSE_ALARM
        assert p_value_of_successes(flipped, DRAWS, float(flip) * 0.9) < FALSE_ALARM


def test_lies_are_spread_evenly_over_all_other_answers():
    mechanism = KaryResponse(6, "3/10")
    counts = np.bincount(mechanism.release(np.full(DRAWS, 4), Seeded(5)), minlength=6)
    law = [0.06] * 4 + [0.7, 0.06]
    assert p_value_of_counts(counts, law) > FALSE_ALARM
    assert p_value_of_counts(counts, [0.07, *law[1:5], 0.05]) < FALSE_ALARM


def test_estimates_of_a_survey_are_unbiased_with_their_variance():
    mechanism = RandomisedResponse("1/3")
    truth = (np.arange(300) < 90).astype(np.int64)
    yes = mechanism.release(np.tile(truth, (20_000, 1)), Seeded(6)).sum(axis=1)
    estimates = (yes - 100) * 3.0
    variance = float(mechanism.variance(respondents=300))
    assert abs(estimates.mean() - 90) < SIX_SIGMA * math.sqrt(variance / 20_000)
    assert abs(estimates.var() / variance - 1) < SIX_SIGMA * math.sqrt(2 / 20_000)
    assert abs(yes.mean() - 90) > SIX_SIGMA * math.sqrt(variance / 20_000)  # the raw count is biased, and that shows


@pytest.mark.parametrize("rate", [Fraction(1, 5), Fraction(1), Fraction(5, 2)], ids=str)
def test_the_exponential_mechanism_chooses_by_its_weights(rate):
    chosen = np.bincount(Exponential(rate, adjacency=REPLACE).simulate(SCORES, DRAWS, source=Seeded(7)), minlength=5)
    assert p_value_of_counts(chosen, laws.exponential(SCORES, rate)) > FALSE_ALARM
    for factor in OFF:
        assert p_value_of_counts(chosen, laws.exponential(SCORES, rate * factor)) < FALSE_ALARM


@pytest.mark.parametrize("rate", [Fraction(1, 5), Fraction(1), Fraction(5, 2)], ids=str)
def test_permute_and_flip_chooses_by_its_coins(rate):
    chosen = np.bincount(PermuteAndFlip(rate, adjacency=REPLACE).simulate(SCORES, DRAWS, source=Seeded(8)), minlength=5)
    assert p_value_of_counts(chosen, laws.permute_and_flip(SCORES, rate)) > FALSE_ALARM
    for factor in OFF:
        assert p_value_of_counts(chosen, laws.permute_and_flip(SCORES, rate * factor)) < FALSE_ALARM


def test_permute_and_flip_is_a_noisy_max_with_exponential_noise():
    """Drawn quite differently, in floating point: the equivalence on which its proof rests."""
    chosen = np.bincount(PermuteAndFlip(1, adjacency=REPLACE).simulate(SCORES, DRAWS, source=Seeded(9)), minlength=5)
    noisy = SCORES + np.random.default_rng(10).exponential(1.0, size=(DRAWS, 5))
    other = np.bincount(noisy.argmax(axis=1), minlength=5)
    pooled = (chosen + other) / (2 * DRAWS)
    statistic = sum((counts - DRAWS * pooled) ** 2 / (DRAWS * pooled) for counts in (chosen, other)).sum()
    assert statistic < 50  # chi-square with 4 degrees of freedom: 4e-10
    laplace = np.bincount((SCORES + np.random.default_rng(11).laplace(0, 1, (DRAWS, 5))).argmax(axis=1), minlength=5)
    assert ((laplace - chosen) ** 2 / (laplace + chosen)).sum() > 50


@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(2), Fraction(9)], ids=str)
def test_noisy_max_chooses_by_its_noise_and_breaks_ties_evenly(scale):
    chosen = np.bincount(NoisyMax(scale, adjacency=REPLACE).simulate(SCORES, DRAWS, source=Seeded(12)), minlength=5)
    assert p_value_of_counts(chosen, laws.noisy_max(SCORES, scale)) > FALSE_ALARM
    for factor in OFF:
        assert p_value_of_counts(chosen, laws.noisy_max(SCORES, scale * factor)) < FALSE_ALARM


def test_a_noisy_max_that_prefers_the_first_of_a_tie_is_noticed():
    noisy = SCORES + Laplace("1/2").release(np.zeros((DRAWS, 5), dtype=np.int64), Seeded(13))
    first = np.bincount(noisy.argmax(axis=1), minlength=5)
    assert p_value_of_counts(first, laws.noisy_max(SCORES, Fraction(1, 2))) < FALSE_ALARM


@pytest.mark.parametrize("scales", [(Fraction(2), Fraction(4)), (Fraction(8), Fraction(3))], ids=str)
def test_the_first_hit_of_a_run_comes_when_its_law_says(scales):
    values = (-3, -1, -6, 0, -2, 4)
    mechanism = AboveThreshold(0, 1, threshold_scale=scales[0], query_scale=scales[1], adjacency=REPLACE)
    lanes = ThresholdLanes(mechanism, DRAWS, source=Seeded(14))
    hits = np.array([lanes.ask(value) for value in values] + [np.ones(DRAWS, dtype=bool)]).argmax(axis=0)
    counts = np.bincount(hits, minlength=7)
    assert p_value_of_counts(counts, laws.first_hit(values, *scales)) > FALSE_ALARM
    for factor in OFF:
        assert p_value_of_counts(counts, laws.first_hit(values, scales[0] * factor, scales[1])) < FALSE_ALARM
        assert p_value_of_counts(counts, laws.first_hit(values, scales[0], scales[1] * factor)) < FALSE_ALARM


def test_two_tellings_have_the_joint_law_of_their_link():
    mechanism = GradualRelease([5, 2])
    coarse, fine = mechanism.release(np.zeros(DRAWS, dtype=np.int64), Seeded(15))
    counts = np.bincount(25 * laws.folded(coarse, 12) + laws.folded(fine, 12), minlength=625)
    assert p_value_of_counts(counts, laws.coarsened(Fraction(2), Fraction(5), reach=12)) > FALSE_ALARM
    assert p_value_of_counts(counts, laws.coarsened(Fraction(2), Fraction(13, 2), reach=12)) < FALSE_ALARM
    independent = np.multiply.outer(
        laws.fold(laws.laplace(Fraction(5)), 0, 12), laws.fold(laws.laplace(Fraction(2)), 0, 12)
    )
    assert p_value_of_counts(counts, independent.ravel()) < FALSE_ALARM


@pytest.mark.parametrize("mechanism", [Laplace(30), Gaussian(30, "1e-6")], ids=["Laplace", "Gaussian"])
@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.999])
def test_as_many_values_lie_within_the_error_as_it_says(mechanism, confidence):
    noise = np.abs(mechanism.release(np.zeros(DRAWS, dtype=np.int64), Seeded(16)))
    within = np.mean(noise <= mechanism.error(confidence))
    spread = SIX_SIGMA * math.sqrt(confidence * (1 - confidence) / DRAWS)
    assert within >= confidence - spread
    assert np.mean(noise <= mechanism.error(confidence) - 1) <= confidence + spread  # it is the least


@pytest.mark.parametrize(
    "mechanism", [Laplace(30), Laplace("1/2"), Gaussian(30, "1e-6"), Gaussian("1/2", "1e-6")], ids=str
)
def test_the_variance_of_the_noise_is_as_stated(mechanism):
    noise = mechanism.release(np.zeros(DRAWS, dtype=np.int64), Seeded(17)).astype(float)
    fourth = np.mean(noise**4) / mechanism.variance**2
    spread = SIX_SIGMA * math.sqrt((fourth - 1) / DRAWS)
    assert abs(noise.var() / mechanism.variance - 1) < spread
    assert spread < 0.09  # so that 30 % in scale, 69 % in variance, could not pass
