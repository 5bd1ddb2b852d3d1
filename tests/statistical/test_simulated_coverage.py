"""Simulated error bars hold the truth as often as they say: false alarm 1e-9, and too narrow a law is noticed.

The noise of an answer is drawn, and then drawn again around it as for an error bar. For what is linear in the answer
the promise is exact: each of 200 draws and the noise itself come from one law, so that of 201 places the noise is
within the first 191 with probability 191/201. Each run is one trial.
"""

from __future__ import annotations

import functools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from conformance.sql_hospital import COUNTS, hospital
from support.sources import Seeded
from tacit.curator.computing.redrawing import redrawn
from tacit.curator.computing.simulated import simulated
from tacit.curator.measuring.noisy import Noisy, NoisyColumn
from tacit.engines.answers.process import Computed
from tacit.mechanisms import Laplace
from tacit.sql.postprocessing.tracing import Trace

FALSE_ALARM = 1e-9
TRIALS, DRAWS = 700, 200
TRUTH = np.array([310, 295, 301, 120, 55, 719], dtype=np.int64)
COMPUTED = {
    "difference": lambda n: n[..., 0] - n[..., 1],
    "running total": lambda n: n[..., :4].sum(axis=-1),
    "share": lambda n: 100.0 * n[..., 2] / n.sum(axis=-1),
    "ratio": lambda n: n[..., 5] / n[..., 3],
    "logarithm": lambda n: np.log(n[..., 0]) - np.log(n[..., 3]),
    "power": lambda n: n[..., 3] ** 3,
    "exponential": lambda n: np.exp(n[..., 4] / 40),
    "greatest": lambda n: n[..., :3].max(axis=-1),
}
TRACES = (Trace("key", clean=True), Trace("value"))


@functools.cache
def plan():
    return hospital().plan(f"DP-SELECT 1 {COUNTS.removeprefix('SELECT ')}")


def trial(compute, number: int, factor: Fraction) -> bool:
    """Whether the interval of one answer holds the truth; the noise is drawn again at `factor` times its scale."""
    made = plan()
    (measurement,) = made.measurements
    assert isinstance(measurement.noise, Laplace)
    whole = (TRUTH / float(measurement.step)).round().astype(np.int64)  # in steps of the measurement
    column = NoisyColumn("n", measurement.step, numbers=measurement.noise.release(whole, Seeded(2 * number)))
    noisy = Noisy(tuple((str(i),) for i in range(TRUTH.size)), (column,), False)
    told = replace(measurement, noise=Laplace(measurement.noise.scale * factor))
    (band,) = redrawn(replace(made, measurements=(told,)), noisy, draws=DRAWS, source=Seeded(2 * number + 1))
    released = column.numbers * float(measurement.step)
    drawn = compute(band.value.reshape(DRAWS, TRUTH.size))
    value = float(compute(released))
    found = simulated(
        Computed(("key", "value"), ("VARCHAR", "DOUBLE"), (("x", value),)),
        Computed(("draw", "key", "value"), (), tuple((d, "x", float(v)) for d, v in enumerate(drawn))),
        traces=TRACES,
        draws=DRAWS,
        hidden=0,
        confidence=Fraction(19, 20),
        note="",
    )
    width = found.errors[1][0]
    assert width is not None
    return abs(value - float(compute(whole * float(measurement.step)))) <= width


def p_value(covered: int, share: float) -> float:
    """The chance of no more successes among the trials, by Chernoff's bound."""
    found = covered / TRIALS
    if found >= share:
        return 1.0
    divergence = (found * math.log(found / share) if found else 0.0) + (1 - found) * math.log((1 - found) / (1 - share))
    return math.exp(-TRIALS * divergence)


@pytest.mark.parametrize("name", COMPUTED)
def test_the_interval_holds_the_truth_as_often_as_it_says(name):
    covered = sum(trial(COMPUTED[name], number, Fraction(1)) for number in range(TRIALS))
    assert p_value(covered, 0.95) > FALSE_ALARM


@pytest.mark.parametrize("name", ["difference", "share"])
def test_a_law_that_is_too_narrow_is_noticed(name):
    covered = sum(trial(COMPUTED[name], number, Fraction(6, 10)) for number in range(TRIALS))
    assert p_value(covered, 0.95) < FALSE_ALARM


def test_the_same_place_in_the_order_is_as_likely_as_it_is_said_to_be():
    """Of the runs in which an order is said to be sure with probability 0.8, four fifths have the true one."""
    rng = np.random.default_rng(5)
    scale, runs = 4.0, 4_000
    centre = rng.uniform(-40, 40, size=runs)  # any gap as likely as any other
    noise = rng.laplace(scale=scale, size=(runs, 2))
    gap = centre + noise[:, 0] - noise[:, 1]
    again = gap[:, None] + rng.laplace(scale=scale, size=(runs, DRAWS)) - rng.laplace(scale=scale, size=(runs, DRAWS))
    sure = (np.sign(again) == np.sign(gap)[:, None]).mean(axis=1)
    near = (sure > 0.7) & (sure < 0.9)
    assert near.sum() > 100
    held = (np.sign(centre) == np.sign(gap))[near].mean()
    assert abs(held - sure[near].mean()) < 6.2 * math.sqrt(0.25 / near.sum())  # 1e-9, by Hoeffding
