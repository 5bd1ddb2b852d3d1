"""Estimates stray as far as they say: squared errors follow chi-square, and intervals hold as often as stated.

Every comparison has a false-alarm rate of about 1e-9, and would notice errors that are 15 % off.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from support.laws import FALSE_ALARM, p_value_of_successes
from support.sources import Seeded
from tacit import collect
from tacit.core import Bounds, Loss

REPEATS, PEOPLE, VALUES = 2000, 200, 16
SHARE = 0.25  # of the value that is looked at
ORACLES = {
    "direct": collect.Direct.costing,
    "unary, optimised": collect.Unary.optimised,
    "unary, symmetric": collect.Unary.symmetric,
    "local hash": collect.LocalHash.costing,
    "Hadamard": collect.Hadamard.costing,
    "subset selection": collect.SubsetSelection.costing,
    "projective": collect.Projective.costing,
}
each_oracle = pytest.mark.parametrize("name", ORACLES)


def estimates(protocol: Any, people: Any) -> list[Any]:
    """Independent estimates from the same people, one for each repeat."""
    bodies = protocol.encode(np.tile(people, REPEATS), Seeded(31))
    parts = bodies.reshape(REPEATS, len(people), -1)
    return [protocol.estimate(protocol.tally(part)) for part in parts]


@pytest.fixture(scope="module")
def repeated() -> dict[str, list[Any]]:
    people = np.where(np.arange(PEOPLE) < SHARE * PEOPLE, 3, 5 + np.arange(PEOPLE) % 3)
    return {name: estimates(make(Loss(1), domain=VALUES), people) for name, make in ORACLES.items()}


def spread_p_value(errors: Any, stated: float) -> float:
    statistic = float(((errors / stated) ** 2).sum())
    lower = float(stats.chi2.cdf(statistic, errors.size))
    return 2 * min(lower, 1 - lower)


@each_oracle
def test_estimates_spread_as_their_variance_says(repeated: dict[str, list[Any]], name: str) -> None:
    support = ORACLES[name](Loss(1), domain=VALUES).support
    for value, share in ((3, SHARE), (0, 0.0)):
        errors = np.array([one.values[value] - share for one in repeated[name]])
        stated = support.variance(share, PEOPLE) ** 0.5
        assert spread_p_value(errors, stated) > FALSE_ALARM
        assert spread_p_value(errors, 1.15 * stated) < FALSE_ALARM, "the test has power"
        assert abs(errors.mean()) < 6.2 * stated / REPEATS**0.5, "unbiased"


@each_oracle
def test_intervals_hold_as_often_as_they_say(repeated: dict[str, list[Any]], name: str) -> None:
    """The normal approximation is off by a per cent or so at 200 people, so 95 % may be 93 or 97."""
    held = 0
    for one in repeated[name]:
        low, high = one.interval("0.95")
        held += low[3] <= SHARE <= high[3]
    assert any(p_value_of_successes(held, REPEATS, chance) > FALSE_ALARM for chance in (0.93, 0.95, 0.97))
    assert p_value_of_successes(held, REPEATS, 0.84) < FALSE_ALARM, "errors 30 % too small would be noticed"


def test_intervals_about_a_population_hold_the_luck_of_the_draw_too() -> None:
    """Everybody drawn anew for each repeat: the people's own errors are then too small, the sampled ones are right."""
    protocol = collect.Direct.costing(Loss(5), domain=2)
    people = np.random.default_rng(32).random((REPEATS, PEOPLE)) < SHARE
    bodies = protocol.encode(people.astype(np.int64).ravel(), Seeded(33)).reshape(REPEATS, PEOPLE, 1)
    found = [protocol.estimate(protocol.tally(part)) for part in bodies]
    held = dict.fromkeys((True, False), 0)
    for one in found:
        for kind in held:
            low, high = one.interval("0.95", population=kind)
            held[kind] += bool(low[1] <= SHARE <= high[1])
    assert any(p_value_of_successes(held[True], REPEATS, chance) > FALSE_ALARM for chance in (0.93, 0.95, 0.97))
    assert p_value_of_successes(held[False], REPEATS, 0.84) < FALSE_ALARM
    assert held[False] < held[True]


@pytest.mark.parametrize("kind", [collect.OneBit, collect.Piecewise, collect.Hybrid, collect.LocalLaplace])
def test_means_are_unbiased_in_the_long_run(kind: Any) -> None:
    protocol = kind.costing(Loss(1), bounds=Bounds(0, 20))
    for truth in (0, 7, 20):
        found = protocol.estimate(protocol.tally(protocol.encode(np.full(200_000, truth), Seeded(34))))
        assert abs(found.values[0] - truth) < 6.2 * found.errors[0]
        assert found.errors[0] < 0.15


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [
        ("unary, optimised", 0.95, 1.05),
        ("local hash", 0.95, 1.05),
        ("Hadamard", 1.2, 1.3),
        ("subset selection", 0, 1.03),
    ],
)
def test_mean_squared_errors_are_as_near_the_optimum_as_they_should_be(name: str, low: float, high: float) -> None:
    """1024 values at ε = 1, over enough repeats that the bars are 6 standard deviations away, or nearly so."""
    protocol = ORACLES[name](Loss(1), domain=1024)
    optimum = 4 * np.e / (np.e - 1) ** 2
    people, repeats = 2000, {"unary, optimised": 30, "local hash": 200, "Hadamard": 200, "subset selection": 30}[name]
    source = Seeded(35)
    values = np.arange(people) % 1024
    truth = np.bincount(values, minlength=1024) / people
    found = [protocol.estimate(protocol.tally(protocol.encode(values, source))).values for _ in range(repeats)]
    ratio = float(np.mean((np.array(found) - truth) ** 2)) * people / optimum
    assert low <= ratio <= high
