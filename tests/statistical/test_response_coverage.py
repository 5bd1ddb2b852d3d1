"""As many estimates lie within the stated error as it says: simulated, at a false-alarm rate of 1e-9 a comparison."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from support.laws import FALSE_ALARM
from support.sources import Seeded
from tacit.core import Adjacency
from tacit.mechanisms import KaryResponse, NoisyMax, RandomisedResponse

RUNS = 20_000


def kept(off: np.ndarray, reach: float) -> int:
    return int((off <= reach).sum())


def too_few(within: int, confidence: float) -> bool:
    """Whether so few of the runs would lie within less than once in a billion times, were the confidence true."""
    return bool(stats.binom.cdf(within, RUNS, confidence) < FALSE_ALARM)


@pytest.mark.parametrize("flip", ["1/4", "1/50"])
@pytest.mark.parametrize("true", [0, 100, 300])
def test_the_error_of_a_yes_or_no_covers(flip, true):
    mechanism, people = RandomisedResponse(flip), 300
    truth = (np.arange(people) < true).astype(np.int64)
    yes = mechanism.release(np.tile(truth, (RUNS, 1)), Seeded(3)).sum(axis=1)
    off = np.abs((yes - people * float(mechanism.flip)) / float(1 - 2 * mechanism.flip) - true)
    reach = mechanism.error("0.95", respondents=people)
    assert not too_few(kept(off, reach), 0.95)
    assert too_few(kept(off, reach * 0.7), 0.95)  # and a narrower one would be noticed


@pytest.mark.parametrize("shares", [(1, 0, 0, 0), (0.4, 0.3, 0.2, 0.1)])
def test_the_error_of_all_categories_covers(shares):
    mechanism, people = KaryResponse(4, "1/3"), 200
    counts = [round(share * people) for share in shares]
    truth = np.repeat(np.arange(4), counts)
    told = mechanism.release(np.tile(truth, (RUNS, 1)), Seeded(4))
    reported = np.stack([(told == category).sum(axis=1) for category in range(4)], axis=1)
    stray, width = float(mechanism.stray), float(1 - mechanism.lie - mechanism.stray)
    off = np.abs((reported - people * stray) / width - np.array(counts)).max(axis=1)
    reach = mechanism.error("0.95", respondents=people)
    assert not too_few(kept(off, reach), 0.95)
    assert too_few(kept(off, reach * 0.6), 0.95)


@pytest.mark.parametrize("candidates", [2, 10, 100])
@pytest.mark.parametrize("scale", [1, 30])
def test_the_largest_noisy_score_is_as_near_the_best_as_it_says(candidates, scale):
    mechanism = NoisyMax(scale, adjacency=Adjacency.REPLACE)
    reach = mechanism.error("0.9", candidates=candidates)
    behind = mechanism.simulate(np.array([reach + 1] + [0] * (candidates - 1)), RUNS, source=Seeded(5)) > 0
    assert not too_few(RUNS - int(behind.sum()), 0.9)
    nearer = mechanism.simulate(np.array([int(reach * 0.7)] + [0] * (candidates - 1)), RUNS, source=Seeded(6)) > 0
    assert too_few(RUNS - int(nearer.sum()), 0.9)
