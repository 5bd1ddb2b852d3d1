"""The reusable holdout's own experiment: a thousand features chosen by looking at the holdout, naively and through it.

Rows have d features of pure noise and a label that none of them knows. An analyst keeps the features whose correlation
with the label has the same sign and some size in both sets, takes the k that are strongest in training, and lets them
vote. Looked at directly, the holdout praises the vote; fresh rows show a coin. (Dwork and others, NeurIPS 2015.)
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bench.report import Report, below
from tacit.learn import ReusableHoldout

ROWS = FEATURES = 10_000
CHOSEN = 500
REACH = 4.0  # features are clamped to this many standard deviations
PORTS = 29.0  # seconds a repetition takes in the faster of two public ports (stack.md's machine)
CHUNK = 1_000
RUNS = 3
Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class World:
    """Rows that are drawn anew whenever they are looked at: a few features at a time are in memory."""

    seed: int
    rows: int
    features: int
    biased: int = 0  # features that know something of the label

    def labels(self, part: int) -> Floats:
        drawn = np.random.default_rng((self.seed, part)).integers(0, 2, self.rows)
        return (2 * drawn - 1).astype(np.float32)

    def features_of(self, part: int, which: NDArray[np.int64]) -> Floats:
        """One row for each of these features, times the labels; every feature has a stream of its own."""
        labels = self.labels(part)
        block = np.empty((which.size, self.rows), dtype=np.float32)
        for row, feature in zip(block, which.tolist(), strict=True):
            np.random.default_rng((self.seed, part, feature)).standard_normal(out=row, dtype=np.float32)
            if feature < self.biased:
                np.add(row, np.float32(6 / np.sqrt(self.rows)) * labels, out=row)
        np.clip(block, -REACH, REACH, out=block)
        block *= labels
        return block


@dataclass(frozen=True, slots=True)
class Outcome:
    """The accuracies of the vote: as training, holdout and fresh rows see it."""

    train: float
    holdout: float
    fresh: float
    seconds: float


def experiment(world: World, *, reusable: bool, chosen: int = CHOSEN) -> Outcome:
    began = time.process_time()
    limit = 1 / np.sqrt(world.rows)
    told = np.zeros(world.features)
    answers = np.zeros(world.features)
    guard = _guard(world)
    for start in range(0, world.features, CHUNK):
        where = np.arange(start, min(start + CHUNK, world.features))
        products = [world.features_of(part, where) for part in (0, 1)]
        told[where] = products[0].mean(axis=1)
        if reusable:
            answers[where] = [checked.value for checked in guard.check_many(*(block.T for block in products))]
        else:
            answers[where] = products[1].mean(axis=1)
    agree = (np.sign(told) == np.sign(answers)) & (np.minimum(np.abs(told), np.abs(answers)) >= limit)
    candidates = np.flatnonzero(agree)
    best = candidates[np.argsort(-np.abs(told[candidates]), kind="stable")[:chosen]]
    right = [_right(world, part, best, np.sign(told)) for part in range(3)]
    train, holdout, fresh = (float(part.mean()) for part in right)
    if reusable:
        judge = ReusableHoldout(right[0], right[1], budget=world.rows)
        holdout = judge.check_values(right[0], right[1]).value
    return Outcome(train, holdout, fresh, time.process_time() - began)


def _guard(world: World) -> ReusableHoldout:
    noise = 1 / np.sqrt(world.rows)
    rows = np.empty(world.rows)
    return ReusableHoldout(
        rows, rows, threshold=float(4 * noise), noise=float(noise), budget=world.features, bounds=(-REACH, REACH)
    )


def _right(world: World, part: int, best: NDArray[np.int64], signs: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which rows the vote of the best features gets right; a tie is a wrong answer."""
    found: NDArray[np.bool_] = signs[best].astype(np.float32) @ world.features_of(part, best) > 0
    return found


def run(report: Report) -> None:
    size = report.share(ROWS)
    for biased, about in ((0, "none of which knows anything"), (20, "20 of which know something")):
        report.section("holdout", f"{ROWS:,} rows a set, {FEATURES:,} features, {about}; {CHOSEN} chosen to vote")
        for name, reusable in (("directly", False), ("reused", True)):
            seeds = range(1 if size < ROWS or biased else RUNS)
            runs = [experiment(World(seed, size, size, biased), reusable=reusable) for seed in seeds]
            report.add(f"{name}: accuracy on the training set", np.mean([run.train for run in runs]))
            bar = below(0.54) if reusable and not biased else None
            report.add(f"{name}: on the holdout, mean of {len(runs)}", np.mean([run.holdout for run in runs]), bar=bar)
            report.add(f"{name}: on fresh rows", np.mean([run.fresh for run in runs]))
            if reusable:
                least = min(run.seconds for run in runs)
                report.add("CPU beside the faster public port", least / PORTS, unit="×", bar=below(1 / 5))
