"""How far weighted sums of noises stray: never beyond what is stated more often than stated, and not much less often.

False-alarm rate: 1e-9 for each comparison of draws; a reach a fifth too small is noticed at the same rate. The laws of
few terms are also added up number by number, without chance.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from support.sources import Seeded
from tacit.mechanisms import Gaussian, Laplace
from tacit.mechanisms import weighted as module
from tacit.mechanisms.sums import sum_reach
from tacit.mechanisms.weighted import Term, WeightedNoise

FALSE_ALARM = 1e-9
SUMS = 60_000
UNEVEN = np.random.default_rng(7).random(12).tolist()


def laplaces(weights, scale):
    return WeightedNoise.of(Term(weight, Laplace(scale)) for weight in weights)


def gaussians(weights, sigma):
    return WeightedNoise.of(Term(weight, Gaussian(sigma, "1e-6")) for weight in weights)


CASES = {
    "a difference": laplaces([1, -1], 2),
    "in different steps": WeightedNoise.of([Term(0.1, Laplace(30)), Term(-2.0, Laplace("3/2"))]),
    "rare": laplaces([1 / 3] * 9 + [0.7, 0.1], "1/4"),
    "uneven": laplaces(UNEVEN, "1/2"),
    "uneven, smooth": laplaces(UNEVEN, 3),
    "two scales": WeightedNoise.of([*laplaces(UNEVEN[:5], "2/5").terms, *laplaces(UNEVEN[5:], "7/5").terms]),
    "rare Gaussian": gaussians([1 / 3] * 9 + [0.7, 0.1], "1/2"),
    "uneven Gaussian": gaussians(UNEVEN, "3/2"),
    "smooth": WeightedNoise.of([Term(0.01, Laplace(10**6)), Term(3.0, Laplace(900)), Term(1.0, Laplace(1))]),
    "smooth Gaussian": gaussians([1.0, 0.3, 0.2], 300),
    "nearly smooth": WeightedNoise.of([Term(1.0, Laplace(20)), Term(0.37, Laplace(33))]),
    "both laws": WeightedNoise.of([*laplaces(UNEVEN[:5], "2/5").terms, *gaussians(UNEVEN[5:], 2).terms]),
}


def p_value(noise, *, reach, confidence, seed=1):
    """How surprising it is, if the reach is right, that so many sums lie beyond it."""
    source, total = Seeded(seed), np.zeros(SUMS)
    for term in noise.terms:
        for _ in range(term.count):
            total += term.weight * term.noise.release(np.zeros(SUMS, dtype=np.int64), source)
    beyond = int(np.count_nonzero(np.abs(total) > reach * (1 + 1e-12)))
    return float(stats.binom.sf(beyond - 1, SUMS, 1 - confidence))


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("confidence", [0.9, 0.975])
def test_a_weighted_sum_strays_beyond_its_reach_no_more_often_than_stated(name, confidence):
    reach = CASES[name].reach(str(confidence))
    assert p_value(CASES[name], reach=reach, confidence=confidence) > FALSE_ALARM
    assert p_value(CASES[name], reach=0.8 * reach, confidence=confidence) < FALSE_ALARM


def tail(noise, reach):
    """P(|sum| > reach), draw by draw: every combination of up to three terms, as far as any counts."""
    laws = []
    for term in noise.terms:
        numbers = np.arange(-60, 61)
        weights = np.exp(-np.abs(numbers) / float(term.noise.scale))
        laws += [(term.weight * numbers, weights / weights.sum())] * term.count
    values, chances = np.zeros(1), np.ones(1)
    for numbers, law in laws:
        values, chances = np.add.outer(values, numbers).ravel(), np.multiply.outer(chances, law).ravel()
    return float(chances[np.abs(values) > reach * (1 + 1e-12)].sum())


@pytest.mark.parametrize("weights", [[1, -1], [0.5, 2], [1, 1 / 3, 1 / 7], [math.pi, 1, 1]])
@pytest.mark.parametrize("scale", ["1/5", "1", "3"])
@pytest.mark.parametrize("confidence", ["0.75", "0.95", "0.999"])
def test_the_reach_is_at_the_quantile_and_two_per_cent_above_it_at_most(weights, scale, confidence):
    noise, failing = laplaces(weights, scale), float(1 - Fraction(confidence))
    reach = noise.reach(confidence)
    assert tail(noise, reach) <= failing
    assert reach == 0 or tail(noise, 0.98 * reach - 1e-9) > failing


@pytest.mark.parametrize("noise", [Laplace("1/3"), Laplace(4), Gaussian("3/4", "1e-6"), Gaussian(2, "1e-6")], ids=repr)
@pytest.mark.parametrize("count", [1, 2, 7, 30])
def test_of_equal_weights_it_is_that_of_their_sum(noise, count):
    for confidence in ("0.9", "0.95", "0.9999"):
        reach = WeightedNoise((Term(1.0, noise, count),)).reach(confidence)
        assert reach == pytest.approx(sum_reach(noise, count=count, confidence=confidence), abs=1e-9)


def test_signs_order_and_what_counts_for_nothing_do_not_matter():
    terms = [Term(0.5, Laplace(1)), Term(-0.5, Laplace(1)), Term(2.0, Gaussian(1, "1e-6"))]
    for order in itertools.permutations([*terms, Term(0.0, Laplace(9))]):
        assert WeightedNoise.of(order) == WeightedNoise((Term(2.0, terms[2].noise), Term(0.5, Laplace(1), 2)))
    assert WeightedNoise.of([]).reach("0.95") == 0


def test_a_sum_that_takes_too_long_has_no_law_here():
    assert WeightedNoise.of([Term(1.0, Laplace(10)), Term(50.0, Laplace("1/2"))]).reach("0.999") is None


@pytest.mark.parametrize("scale", [1000, 10**4, 10**6])
@pytest.mark.parametrize("confidence", ["0.9", "0.95", "0.9999"])
def test_smooth_noise_strays_as_laplace_s_law_does(scale, confidence):
    """Of two continuous draws, P(|sum| > t) = (1 + t / 2 scale) exp(−t / scale); of weights 1 and 1/3 a like one."""
    failing = float(1 - Fraction(confidence))
    reach = laplaces([1.0, 1.0], scale).reach(confidence) / scale
    assert failing * 0.98 < (1 + reach / 2) * math.exp(-reach) < failing * (1 - 0.1 / scale)  # the lattice is added
    reach = laplaces([1.0, 1 / 3], scale).reach(confidence) / scale
    assert failing * 0.98 < (math.exp(-reach) - math.exp(-3 * reach) / 9) * 9 / 8 < failing * (1 - 0.1 / scale)


@pytest.mark.parametrize("scale", ["1/9", "1/2", "1", "7", "1000"])
def test_noise_drawn_together_with_its_smooth_law_is_never_far_from_it(scale):
    law = Laplace(scale).law.moments
    q = math.exp(-1 / float(Fraction(scale)))
    drawn = np.random.default_rng(3).random(10_000)
    smooth = np.log(drawn) / math.log(q)  # P(|x| ≥ t) = q^t
    whole = np.floor(np.log(drawn * (1 + q) / 2) / math.log(q) + 1e-12)  # the largest k with 2 q^k / (1 + q) ≥ drawn
    assert np.abs(np.maximum(whole, 0) - smooth).max() <= law.smooth.apart


@pytest.mark.parametrize(("name", "value"), [("_OFF", 0.5), ("_FAR", 0.5)])
def test_a_lattice_that_is_sloppy_is_slack_not_wrong(monkeypatch, name, value):
    """However much of the chance is given away, the reach holds: it is the sum of what is given that counts."""
    monkeypatch.setattr(module, name, value / 2)
    module._reach.cache_clear()
    try:
        reach = CASES["uneven"].reach("0.9")
    finally:
        module._reach.cache_clear()
    assert reach >= CASES["uneven"].reach("0.9")


@pytest.mark.parametrize("name", ["in different steps", "smooth", "both laws"])
@pytest.mark.parametrize("exponent", [-1000, -600, 600, 1000])
def test_a_sum_in_another_unit_strays_as_far(name, exponent):
    noise = CASES[name]
    scaled = WeightedNoise.of(Term(term.weight * 2.0**exponent, term.noise, term.count) for term in noise.terms)
    plain = noise.reach("0.95")
    assert scaled.reach("0.95") == (None if plain is None else pytest.approx(plain * 2.0**exponent, rel=1e-12))


@pytest.mark.parametrize("noise", [Laplace(3), Gaussian(3, "1e-6"), Laplace(1)])
def test_weights_that_are_far_apart_add_what_they_are_or_nothing_is_said(noise):
    alone = WeightedNoise.of([Term(1.0, noise), Term(1.0, noise)]).reach("0.95")
    for faint in (1e-100, 1e-170, 1e-260):
        both = WeightedNoise.of([Term(1.0, noise, 2), Term(faint, noise)]).reach("0.95")
        assert both is not None
        assert alone * (1 - 1e-9) <= both <= alone * 1.1
    for weights in ((1e200, 1e-200), (1.0, 5e-324), (1.0, math.inf), (1.0, math.nan), (1.7e308, 1.7e308)):
        assert WeightedNoise.of(Term(weight, noise) for weight in weights).reach("0.95") is None
