"""Batches: how far off they are beside questions one by one, and what an attacker gains from all of them together.

Errors are compared with what was promised by a normal test on independent runs (`AWAY` standard deviations: a false
alarm in a thousand million); attacks by exact binomial intervals at the same rate. Both must notice noise of half the
scale.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from conformance.sql_world import policy_of, world
from support.laws import FALSE_ALARM
from support.sources import Seeded
from tacit.core import Loss
from tacit.curator import Session
from tacit.curator.answer import answer
from tacit.curator.jobs.job_plan import plan_batch
from tacit.curator.jobs.members import estimated, served
from tacit.curator.reading import histograms
from tacit.mechanisms import Laplace
from tacit.mechanisms.strategy import (
    StrategyNoise,
    Workload,
    all_ranges,
    apply,
    choose,
    each,
    everything,
    row_variances,
)
from tacit.mechanisms.strategy.blocks import added_up, padded
from tacit.mechanisms.strategy.plan import bars
from tacit.policy import ColumnPolicy, TablePolicy

AWAY = float(stats.norm.isf(FALSE_ALARM / 2))
CELLS = 1024
RANGES = Workload((CELLS,), ((all_ranges(CELLS),),))
PAIRS = Workload(
    (2,) * 8,
    tuple(
        tuple(each(2) if place in pair else everything(2) for place in range(8))
        for pair in itertools.combinations(range(8), 2)
    ),
)


def squared_errors(workload, noise, runs, seed):
    """The mean squared error over all the workload's answers, in each of several runs."""
    generator, source = np.random.default_rng(seed), Seeded(seed)
    histogram = generator.integers(0, 50, workload.sizes)
    found = []
    for _ in range(runs):
        error = noise.cells(noise.release(histogram, source)) - histogram
        total = sum(float(np.sum(apply(block, error) ** 2)) for block in workload.blocks)
        found.append(total / workload.rows)
    return np.array(found)


def one_by_one(questions):
    """The least mean squared error of questions that are answered each on its own, at ε = 1 for all.

    They are alike and one person moves each by 1, so the best split is the equal one.
    """
    return Laplace(questions).variance


def promised(workload, noise):
    sums = [row_variances(block, noise.strategy, [n.variance for n in noise.noises]).sum() for block in workload.blocks]
    return float(sum(sums)) / workload.rows


@pytest.fixture(scope="module")
def range_noise():
    return StrategyNoise.laplace(choose(RANGES, noise=Laplace(1)).strategy, Fraction(1))


@pytest.fixture(scope="module")
def pair_noise():
    return StrategyNoise.laplace(choose(PAIRS, noise=Laplace(1)).strategy, Fraction(1))


def halved(noise):
    return StrategyNoise(noise.strategy, tuple(Laplace(each_noise.scale / 2) for each_noise in noise.noises))


def is_as_promised(found, expected):
    return abs(found.mean() - expected) < AWAY * found.std(ddof=1) / math.sqrt(found.size)


@pytest.mark.parametrize("name", ["range_noise", "pair_noise"])
def test_the_error_is_the_one_that_is_promised(name, request):
    noise, workload = request.getfixturevalue(name), RANGES if name == "range_noise" else PAIRS
    found = squared_errors(workload, noise, 60, seed=1)
    assert is_as_promised(found, promised(workload, noise))
    assert not is_as_promised(squared_errors(workload, halved(noise), 60, seed=2), promised(workload, noise))


def test_all_ranges_are_five_times_better_than_one_by_one(range_noise):
    """And better than the cells alone by a factor of four, which is the harder comparison."""
    found = squared_errors(RANGES, range_noise, 100, seed=3)
    above = found.mean() + AWAY * found.std(ddof=1) / math.sqrt(found.size)
    assert one_by_one(RANGES.rows) / above > 5
    assert Laplace(1).variance * (CELLS + 2) / 3 / found.mean() > 3.5


def test_pairs_of_attributes_are_half_as_far_off_as_one_by_one(pair_noise):
    """Each pair is one question of four groups; 28 of them share ε. The bar is a factor of 1.5."""
    found = squared_errors(PAIRS, pair_noise, 60, seed=4)
    above = found.mean() + AWAY * found.std(ddof=1) / math.sqrt(found.size)
    assert one_by_one(28) / above > 1.5
    assert one_by_one(28) / above > 8  # what we have; less would be a step back


# ── the attacker ─────────────────────────────────────────────────────────────────────────────────────────────────────

ANA = Session("ana")
POLICY = policy_of(
    [TablePolicy("staff", "row", columns=[
        ColumnPolicy("age", lower=20, upper=27, step=1, domain="range"), ColumnPolicy("dept", domain=["CS", "Bio"])])]
)  # fmt: skip
EVERYONE = "SELECT 20 + i % 8 AS age, ['CS', 'Bio'][1 + i % 2] AS dept FROM range(60) AS made(i)"
TARGET = "SELECT 23 AS age, 'CS' AS dept"
DIFFERENCING = [
    "SELECT COUNT(*) FROM staff WHERE dept = 'CS'",
    "SELECT COUNT(*) FROM staff WHERE dept = 'CS' AND age <> 23",
    "SELECT COUNT(*) FROM staff",
    "SELECT COUNT(*) FROM staff WHERE age <> 23",
    "SELECT COUNT(*) FROM staff WHERE age < 24",
    "SELECT COUNT(*) FROM staff WHERE age < 23",
]
TRIALS = 200_000


@pytest.fixture(scope="module")
def differencing():
    """The plan of the batch, and the cells with and without the target."""
    cells = []
    for rows in (EVERYONE, f"{EVERYONE} UNION ALL {TARGET}"):
        made = world(POLICY, f"CREATE TABLE staff AS SELECT CAST(age AS INTEGER) AS age, dept FROM ({rows})")
        planned = plan_batch(DIFFERENCING, POLICY, schema=made.engine.schema(), session=ANA, price=Loss(1))
        (joint,) = planned.pieces
        cells.append(histograms(joint, made.engine.execute(joint.plan.statements[0].sql("duckdb")))[0])
    assert np.abs(cells[1] - cells[0]).sum() == 1
    return joint, *cells


def noisy(joint, noise, cells, trials, seed):
    """Every part of the strategy, many times over: (trial, bar)."""
    source, chains = Seeded(seed), joint.noise.strategy.chains
    parts = []
    for each_noise, part in zip(noise.noises, joint.noise.strategy.parts, strict=True):
        exact = added_up(padded(cells, chains), bars(chains, part.levels)).ravel()
        parts.append(each_noise.release(np.broadcast_to(exact, (trials, exact.size)).copy(), source))
    return np.concatenate(parts, axis=1)


def log_ratios(joint, seen, without, with_target):
    """What a Bayes attacker who knows everything but the target makes of it: ln P(seen | in) / P(seen | out)."""
    chains = joint.noise.strategy.chains
    total = np.zeros(len(seen))
    start = 0
    for each_noise, part in zip(joint.noise.noises, joint.noise.strategy.parts, strict=True):
        shape = bars(chains, part.levels)
        out, there = (added_up(padded(cells, chains), shape).ravel() for cells in (without, with_target))
        span = seen[:, start : start + out.size]
        total += (np.abs(span - out) - np.abs(span - there)).sum(axis=1) / float(each_noise.scale)
        start += out.size
    return total


def proven_epsilon(inside, outside, threshold):
    """A lower bound on ε from how often each world passes the threshold (Clopper & Pearson)."""
    hits, alarms = int((inside >= threshold).sum()), int((outside >= threshold).sum())
    low = stats.beta.ppf(FALSE_ALARM / 2, hits, inside.size - hits + 1) if hits else 0.0
    high = stats.beta.isf(FALSE_ALARM / 2, alarms + 1, outside.size - alarms) if alarms < outside.size else 1.0
    return math.log(low / high) if low > 0 else 0.0


def audited(joint, noise, without, with_target, statistic):
    inside = statistic(noisy(joint, noise, with_target, TRIALS, seed=5))
    outside = statistic(noisy(joint, noise, without, TRIALS, seed=6))
    return max(proven_epsilon(inside, outside, threshold) for threshold in np.quantile(outside, [0.5, 0.7, 0.9, 0.97]))


def test_six_differencing_questions_give_the_bayes_attacker_no_more_than_epsilon(differencing):
    joint, without, with_target = differencing

    def bayes(seen):
        return np.round(log_ratios(joint, seen, without, with_target), 9)

    ratios = bayes(noisy(joint, joint.noise, with_target, 10_000, seed=7))
    assert np.abs(ratios).max() <= 1 + 1e-9  # no single outcome is worth more than ε
    found = audited(joint, joint.noise, without, with_target, bayes)
    assert found <= 1
    assert found > 0.5  # the attack is no straw man
    assert audited(joint, halved(joint.noise), without, with_target, bayes) > 1


def _answer(joint, member, cells):
    found = estimated(joint, member, [cells], served(joint, member))
    return answer(found.plan, found.noisy)


def test_the_difference_of_two_answers_is_worth_no_more_either(differencing):
    """The attacker sees the released answers alone, and subtracts "A except X" from "A"."""
    joint, without, with_target = differencing
    strategy = joint.noise.strategy
    shapes = [bars(strategy.chains, part.levels) for part in strategy.parts]
    ends = np.cumsum([0, *(math.prod(shape) for shape in shapes)])
    weights = np.zeros(ends[-1])  # weights: the difference is linear in the noisy bars, so ask for each bar's share
    for place in range(ends[-1]):
        unit = np.zeros(ends[-1], dtype=np.int64)
        unit[place] = 1_000
        values = [unit[a:b].reshape(shape) for a, b, shape in zip(ends, ends[1:], shapes, strict=False)]
        cells = joint.noise.cells(values)
        answers = [_answer(joint, member, cells).rows[0][0] for member in (0, 1)]
        weights[place] = (answers[0] - answers[1]) / 1_000
    assert np.abs(weights).sum() > 0

    def difference(seen):
        return seen @ weights

    assert audited(joint, joint.noise, without, with_target, difference) <= 1
    assert audited(joint, halved(joint.noise), without, with_target, difference) > 1


def test_stated_errors_hold_as_often_as_they_say(differencing):
    joint, without, _ = differencing
    misses, trials = np.zeros(len(DIFFERENCING)), 800
    true = [float(apply(block, without.astype(float)).ravel()[0]) for block in joint.cells.workload.blocks]
    source = Seeded(8)
    for _ in range(trials):
        cells = joint.noise.cells(joint.noise.release(without, source))
        for member, exact in enumerate(true):
            table = _answer(joint, member, cells)
            misses[member] += abs(table.rows[0][0] - exact) > table.errors[0][0]
    allowed = stats.binom.isf(FALSE_ALARM, trials, 0.05)
    assert np.all(misses <= allowed)
    assert misses.max() > trials * 0.005  # and they are not stated ten times too wide
