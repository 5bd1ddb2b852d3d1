"""Every mechanism, as the conformance suite sees it: a new one joins by one entry in `CASES`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conformance import mechanism_laws as laws
from tacit.core import Adjacency, Loss
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
    Thresholdout,
)
from tacit.mechanisms.above_threshold import ThresholdLanes
from tacit.mechanisms.thresholdout import HoldoutLanes
from tacit.noise import Source

ADD, REPLACE = Adjacency.ADD_REMOVE, Adjacency.REPLACE
Outcomes = NDArray[np.int64]
Event = Callable[[Outcomes], NDArray[np.bool_]]
MILLION = 10**6


@dataclass(frozen=True)
class Case:
    """How one mechanism is put to the test.

    `costing(loss, sensitivity)` is its own; `audited(epsilon)`, where given, is a split of that price which an audit
    can see better. `inputs` are two neighbours as far apart as `sensitivity` allows, and one whose law shows the
    scale. `run(mechanism, input, times, source)` draws outcomes, coded as whole numbers. `event` is the set of outcomes
    that tells the neighbours apart best, likelier for the first. `law(mechanism)` is the exact law for the third input.
    """

    name: str
    costing: Callable[[Loss, Any], Any]
    sensitivity: int
    epsilon: Fraction
    inputs: tuple[Any, Any, Any]
    run: Callable[[Any, Any, int, Source], Outcomes]
    event: Event
    law: Callable[[Any], laws.Chances]
    draws: int = MILLION
    delta: Fraction = Fraction(0)
    audited: Callable[[Fraction], Any] | None = None

    def build(self, epsilon: Fraction) -> Any:
        if self.audited is not None:
            return self.audited(epsilon)
        return self.costing(Loss(epsilon, self.delta), self.sensitivity)

    def __str__(self) -> str:
        return self.name


def same(value: int, times: int) -> Outcomes:
    return np.full(times, value, dtype=np.int64)


# outputs from 0 down are exp(epsilon) times as likely for 0 as for 3
LAPLACE = Case(
    name="Laplace",
    costing=Laplace.costing,
    sensitivity=3,
    epsilon=Fraction(2),
    inputs=(0, 3, 0),
    run=lambda m, value, times, source: laws.folded(m.release(same(value, times), source), 40),
    event=lambda outcomes: outcomes <= 40,
    law=lambda m: laws.fold(laws.laplace(m.scale), 0, 40),
)

GAUSSIAN = Case(
    name="Gaussian",
    costing=lambda loss, sensitivity: Gaussian.costing(loss, sensitivity, dimension=1),
    sensitivity=3,
    epsilon=Fraction(2),
    delta=Fraction(1, 10),
    inputs=(3, 0, 3),
    run=lambda m, value, times, source: laws.folded(m.simulate(value, times, source=source)[:, 0], 20),
    event=lambda outcomes: outcomes >= 20 + 5,
    law=lambda m: laws.fold(laws.gaussian(m.sigma), 3, 20),
)

# two values that move by (30, 40); what shows it best is 3x + 4y
GAUSSIAN_VECTOR = Case(
    name="Gaussian, two values",
    costing=lambda loss, sensitivity: Gaussian.costing(loss, sensitivity, dimension=2),
    sensitivity=50,
    epsilon=Fraction(2),
    delta=Fraction(1, 10),
    inputs=([30, 40], [0, 0], [30, 40]),
    run=lambda m, values, times, source: laws.folded(m.simulate(values, times, source=source) @ np.array([3, 4]), 900),
    event=lambda outcomes: outcomes >= 900 + 395,
    law=lambda m: np.bincount(
        laws.folded(np.add.outer(3 * (laws.NUMBERS + 30), 4 * (laws.NUMBERS + 40)).ravel(), 900),
        weights=np.multiply.outer(laws.gaussian(m.sigma), laws.gaussian(m.sigma)).ravel(),
        minlength=1801,
    ),
)

RANDOMISED_RESPONSE = Case(
    name="RandomisedResponse",
    costing=RandomisedResponse.costing,
    sensitivity=1,
    epsilon=Fraction(2),
    inputs=(1, 0, 1),
    run=lambda m, value, times, source: m.release(same(value, times), source),
    event=lambda outcomes: outcomes == 1,
    law=lambda m: np.array([float(m.flip), float(1 - m.flip)]),
)

KARY_RESPONSE = Case(
    name="KaryResponse",
    costing=lambda loss, sensitivity: KaryResponse.costing(loss, sensitivity, categories=5),
    sensitivity=1,
    epsilon=Fraction(2),
    inputs=(2, 3, 2),
    run=lambda m, value, times, source: m.release(same(value, times), source),
    event=lambda outcomes: outcomes == 2,
    law=lambda m: np.array([float(m.stray)] * 2 + [float(1 - m.lie)] + [float(m.stray)] * 2),
)


def choose(mechanism: Any, scores: list[int], times: int, source: Source) -> Outcomes:
    chosen: Outcomes = mechanism.simulate(np.array(scores), times, source=source)
    return chosen


# an outcome of probability p loses about epsilon − p: p must be small, and so the draws many
EXPONENTIAL = Case(
    name="Exponential",
    costing=lambda loss, sensitivity: Exponential.costing(loss, sensitivity, adjacency=REPLACE),
    sensitivity=1,
    epsilon=Fraction(3),
    inputs=([0] * 28, [-1] + [1] * 27, [0, -1, 0, 1, 2]),
    run=choose,
    event=lambda outcomes: outcomes == 0,
    law=lambda m: laws.exponential(np.array([0, -1, 0, 1, 2]), m.rate),
    draws=4 * MILLION,
)

EXPONENTIAL_MONOTONE = Case(
    name="Exponential, monotone",
    costing=lambda loss, sensitivity: Exponential.costing(loss, sensitivity, adjacency=ADD, monotone=True),
    sensitivity=1,
    epsilon=Fraction(3),
    inputs=([0, 1], [0, 2], [0, 1]),
    run=choose,
    event=lambda outcomes: outcomes == 0,
    law=lambda m: laws.exponential(np.array([0, 1]), m.rate),
    draws=4 * MILLION,
)

PERMUTE_AND_FLIP = Case(
    name="PermuteAndFlip",
    costing=lambda loss, sensitivity: PermuteAndFlip.costing(loss, sensitivity, adjacency=REPLACE),
    sensitivity=1,
    epsilon=Fraction(3),
    inputs=([7, 7, 0], [6, 8, 0], [7, 6, 7, 5]),
    run=choose,
    event=lambda outcomes: outcomes == 0,
    law=lambda m: laws.permute_and_flip(np.array([7, 6, 7, 5]), m.rate),
)

PERMUTE_AND_FLIP_MONOTONE = Case(
    name="PermuteAndFlip, monotone",
    costing=lambda loss, sensitivity: PermuteAndFlip.costing(loss, sensitivity, adjacency=ADD, monotone=True),
    sensitivity=1,
    epsilon=Fraction(3),
    inputs=([7, 7, 0], [7, 8, 0], [7, 7, 6]),
    run=choose,
    event=lambda outcomes: outcomes == 0,
    law=lambda m: laws.permute_and_flip(np.array([7, 7, 6]), m.rate),
)

NOISY_MAX = Case(
    name="NoisyMax",
    costing=lambda loss, sensitivity: NoisyMax.costing(loss, sensitivity, adjacency=REPLACE),
    sensitivity=1,
    epsilon=Fraction(3),
    inputs=([5, 5, 5, 5, 5], [4, 6, 6, 6, 6], [5, 4, 5, 3]),
    run=choose,
    event=lambda outcomes: outcomes == 0,
    law=lambda m: laws.noisy_max(np.array([5, 4, 5, 3]), m.scale),
)

NOISY_MAX_MONOTONE = Case(
    name="NoisyMax, monotone",
    costing=lambda loss, sensitivity: NoisyMax.costing(loss, sensitivity, adjacency=ADD, monotone=True),
    sensitivity=1,
    epsilon=Fraction(3),
    inputs=([5, 5, 5, 5], [5, 6, 6, 6], [5, 5, 4]),
    run=choose,
    event=lambda outcomes: outcomes == 0,
    law=lambda m: laws.noisy_max(np.array([5, 5, 4]), m.scale),
)


def first_hit(mechanism: AboveThreshold, values: tuple[int, ...], times: int, source: Source) -> Outcomes:
    """In each of many runs, which value was the first found above; their number if none was."""
    lanes = ThresholdLanes(mechanism, times, source=source)
    hits = np.array([lanes.ask(value) for value in values] + [np.ones(times, dtype=np.bool_)])
    return hits.argmax(axis=0)


# four values just below the threshold 10 and one on it; the neighbour's are one higher, its last one lower
ABOVE_THRESHOLD = Case(
    name="AboveThreshold",
    costing=lambda loss, sensitivity: AboveThreshold.costing(
        loss, sensitivity, threshold=10, hits=1, adjacency=REPLACE
    ),
    audited=lambda epsilon: AboveThreshold(
        10, 1, threshold_scale=4 / epsilon, query_scale=2 / (epsilon * Fraction(3, 4)), adjacency=REPLACE
    ),
    sensitivity=1,
    epsilon=Fraction(5),
    inputs=((9, 9, 9, 9, 10), (10, 10, 10, 10, 9), (9, 9, 9, 9, 10)),
    run=first_hit,
    event=lambda outcomes: outcomes == 4,
    law=lambda m: laws.first_hit((-1, -1, -1, -1, 0), m.threshold_scale, m.query_scale),
)

ABOVE_THRESHOLD_MONOTONE = Case(
    name="AboveThreshold, monotone",
    costing=lambda loss, sensitivity: AboveThreshold.costing(
        loss, sensitivity, threshold=10, hits=1, adjacency=ADD, monotone=True
    ),
    sensitivity=1,
    epsilon=Fraction(4),
    inputs=((9, 9, 9, 9, 10), (10, 10, 10, 10, 10), (9, 9, 9, 9, 10)),
    run=first_hit,
    event=lambda outcomes: outcomes == 4,
    law=lambda m: laws.first_hit((-1, -1, -1, -1, 0), m.threshold_scale, m.query_scale),
)


def which_hits(mechanism: AboveThreshold, values: tuple[int, ...], times: int, source: Source) -> Outcomes:
    """In each of many runs, which values were found above, as a number in binary."""
    lanes = ThresholdLanes(mechanism, times, source=source)
    return sum((lanes.ask(value).astype(np.int64) << place for place, value in enumerate(values)), start=np.int64(0))


# six below and then two above: what one threshold for all of a run gives away
ABOVE_THRESHOLD_TWICE = Case(
    name="AboveThreshold, two hits",
    costing=lambda loss, sensitivity: AboveThreshold.costing(
        loss, sensitivity, threshold=10, hits=2, adjacency=REPLACE
    ),
    audited=lambda epsilon: AboveThreshold(
        10, 2, threshold_scale=8 / epsilon, query_scale=4 / (epsilon * Fraction(7, 8)), adjacency=REPLACE
    ),
    sensitivity=1,
    draws=6 * MILLION,
    epsilon=Fraction(5),
    inputs=((9,) * 6 + (10, 10), (10,) * 6 + (9, 9), (9,) * 6 + (10, 10)),
    run=which_hits,
    event=lambda outcomes: outcomes == 0b11 << 6,
    law=lambda m: laws.hits((-1,) * 6 + (0, 0), 2, threshold_scale=m.threshold_scale, query_scale=m.query_scale),
)


def gap_after_misses(mechanism: AboveThreshold, values: tuple[int, ...], times: int, source: Source) -> Outcomes:
    """2 + how far above the last value is found, all others being below; 1 where it is not, 0 where another was."""
    lanes = ThresholdLanes(mechanism, times, source=source)
    early = np.any([lanes.ask(value) for value in values[:-1]], axis=0)
    gaps = lanes.gaps(values[-1])
    return np.where(early, 0, 2 + np.minimum(gaps, 20))


ABOVE_THRESHOLD_GAP = Case(
    name="AboveThreshold, with its gap",
    costing=lambda loss, sensitivity: AboveThreshold.costing(
        loss, sensitivity, threshold=10, hits=1, adjacency=REPLACE
    ),
    audited=lambda epsilon: AboveThreshold(
        10, 1, threshold_scale=4 / epsilon, query_scale=2 / (epsilon * Fraction(3, 4)), adjacency=REPLACE
    ),
    sensitivity=1,
    epsilon=Fraction(5),
    inputs=((9,) * 5 + (11,), (10,) * 5 + (10,), (9,) * 5 + (11,)),
    run=gap_after_misses,
    event=lambda outcomes: outcomes >= 3,  # by at least one: where the gap says more than the hit
    law=lambda m: laws.gap_after_misses(
        (-1,) * 5 + (1,), threshold_scale=m.threshold_scale, query_scale=m.query_scale, most=20
    ),
)


def both_tellings(mechanism: GradualRelease, value: int, times: int, source: Source) -> Outcomes:
    coarse, fine = mechanism.release(same(value, times), source)
    return 41 * laws.folded(coarse, 20) + laws.folded(fine, 20)


# the finer telling, from 0 down, says all there is; the coarser one must not add to it
GRADUAL_RELEASE = Case(
    name="GradualRelease",
    costing=lambda loss, sensitivity: GradualRelease.costing([Loss(loss.epsilon / 2), loss], sensitivity),
    sensitivity=2,
    epsilon=Fraction(2),
    inputs=(0, 2, 0),
    run=both_tellings,
    event=lambda outcomes: outcomes % 41 <= 20,
    law=lambda m: laws.coarsened(m.scales[1], m.scales[0], reach=20),
)


def contradicted(mechanism: Thresholdout, holdouts: tuple[int, ...], times: int, source: Source) -> Outcomes:
    """Which holdout mean was the first to contradict a training mean of 0, and with what answer, folded."""
    lanes = HoldoutLanes(mechanism, times, source=source)
    outcome = same(41 * len(holdouts), times)
    for place, holdout in enumerate(holdouts):
        before = lanes.left
        answers = lanes.ask(0, holdout=holdout)
        hit = lanes.left < before
        outcome[hit] = 41 * place + laws.folded(answers[hit], 20)
    return outcome


def contradicted_law(mechanism: Thresholdout) -> laws.Chances:
    hits = laws.first_hit((-1, -1, -1, -1, 0), mechanism.test.threshold_scale, mechanism.test.query_scale)
    noise = laws.laplace(mechanism.answer.scale)
    answers = [hits[place] * laws.fold(noise, holdout, 20) for place, holdout in enumerate((2, 2, 2, 2, 3))]
    return np.concatenate([*answers, hits[5:]])


def thresholdout_split(epsilon: Fraction) -> Thresholdout:
    test = AboveThreshold(
        3, 1, threshold_scale=4 / epsilon, query_scale=2 / (epsilon * Fraction(3, 5)), adjacency=REPLACE
    )
    return Thresholdout(test, Laplace(1 / (epsilon * Fraction(3, 20))))


# as AboveThreshold, and the answer from the holdout's mean up: three losses at once, so more draws
THRESHOLDOUT = Case(
    name="Thresholdout",
    costing=lambda loss, sensitivity: Thresholdout.costing(loss, sensitivity, threshold=3, hits=1, adjacency=REPLACE),
    audited=thresholdout_split,
    sensitivity=1,
    epsilon=Fraction(5),
    inputs=((2, 2, 2, 2, 3), (3, 3, 3, 3, 2), (2, 2, 2, 2, 3)),
    run=contradicted,
    event=lambda outcomes: (outcomes >= 41 * 4 + 20 + 3) & (outcomes < 41 * 5),
    law=contradicted_law,
    draws=2 * MILLION,
)

CASES = (
    LAPLACE,
    GAUSSIAN,
    GAUSSIAN_VECTOR,
    RANDOMISED_RESPONSE,
    KARY_RESPONSE,
    EXPONENTIAL,
    EXPONENTIAL_MONOTONE,
    PERMUTE_AND_FLIP,
    PERMUTE_AND_FLIP_MONOTONE,
    NOISY_MAX,
    NOISY_MAX_MONOTONE,
    ABOVE_THRESHOLD,
    ABOVE_THRESHOLD_MONOTONE,
    ABOVE_THRESHOLD_TWICE,
    ABOVE_THRESHOLD_GAP,
    GRADUAL_RELEASE,
    THRESHOLDOUT,
)
