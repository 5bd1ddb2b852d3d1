"""What the noise really is: variances of the discrete laws, the shares they call for, and half-widths that hold."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from support.laws import FALSE_ALARM
from support.sources import Seeded
from tacit.mechanisms import Gaussian, Laplace
from tacit.mechanisms.strategy import (
    GAUSSIAN,
    LAPLACE,
    Law,
    Part,
    Ranges,
    Strategy,
    StrategyNoise,
    Workload,
    all_ranges,
    apply,
    choose,
    drawn_half_width,
    each,
    everything,
    flat,
    half_width,
    least_split,
    picked,
    row_variances,
)
from tacit.mechanisms.strategy.law import _table

DELTA = Fraction(1, 10**6)
NINETY_FIVE = Fraction(95, 100)


@pytest.mark.parametrize("share", [Fraction(1), Fraction(1, 3), Fraction(1, 1000)])
@pytest.mark.parametrize("size", [Fraction(1, 50), Fraction(1, 8), Fraction(1, 2), Fraction(3), Fraction(40)])
def test_a_share_has_the_variance_of_the_noise_that_it_gets(size, share):
    laplace = Law.of(Laplace(size)).variance(np.array([float(share)]))
    assert laplace[0] == pytest.approx(Laplace(size / share).variance, rel=1e-9)
    root = Fraction(math.isqrt(int(size * size / share * 10**24)), 10**12)
    gaussian = Law.of(Gaussian(size, DELTA)).variance(np.array([float(share)]))
    assert gaussian[0] == pytest.approx(Gaussian(root, DELTA).variance, rel=1e-6)


@pytest.mark.parametrize("power", [LAPLACE, GAUSSIAN])
def test_variances_fall_and_are_convex_however_much_is_spent(power):
    """So that the best split has one slope; and beyond what a double holds more is still better than less."""
    law = Law(power, 1.0)
    precisions = np.concatenate([np.geomspace(1e-6, 300, 4000), np.geomspace(301, 1e9, 100)])
    variances = law.variance(precisions)
    assert np.all(np.diff(variances) < 0)
    assert variances.min() > 0
    points, slopes = _table(power)
    assert np.all(np.diff(slopes) < 0)
    assert law.variance(np.zeros(1))[0] == math.inf
    middle = np.exp(points[1:-1:100])
    steps = law.variance(middle * (1 - 1e-4)) - law.variance(middle * (1 + 1e-4))
    assert steps / (2e-4 * middle) == pytest.approx(np.exp(slopes[1:-1:100]), rel=1e-3)


@pytest.mark.parametrize("power", [LAPLACE, GAUSSIAN])
@pytest.mark.parametrize("size", [0.02, 0.3, 5.0, 1e4])
def test_no_other_split_is_better(power, size):
    generator = np.random.default_rng(3)
    pulls, sizes = generator.uniform(0, 5, 6), size * generator.uniform(0.5, 2, 6)
    pulls[2] = 0.0

    def total(shares):
        laws = [Law(power, float(s)) for s in sizes]
        some = [place for place in range(6) if pulls[place] > 0]
        return sum(pulls[place] * float(laws[place].variance(shares[place : place + 1])[0]) for place in some)

    best = least_split(pulls, sizes, power=power)
    assert best.sum() == pytest.approx(1)
    assert best[2] == 0
    for _ in range(200):
        other = np.abs(best * (1 + generator.normal(scale=0.02, size=6)))
        assert total(best) <= total(other / other.sum()) * (1 + 1e-6)


# ── what is chosen at a large budget ─────────────────────────────────────────────────────────────────────────────────


def spread(noise, block):
    return row_variances(block, noise.strategy, noise.variances)


def stated(noise, block, confidence):
    told = drawn_half_width if noise.is_drawn else half_width
    return told(spread(noise, block), noise=noise.noises[0], confidence=confidence)


def identity(size):
    return Strategy((flat(size),), (Part((1,), Fraction(1)),))


@pytest.mark.parametrize("epsilon", [2, 3, 4, 5, 8, 16])
def test_at_a_large_budget_ranges_are_no_further_off_than_sums_of_cells(epsilon):
    """By the continuous law a hierarchy seems better; at ε = 8 it was 11.7 times worse."""
    workload = Workload((64,), ((all_ranges(64),),))
    scale = Fraction(1, epsilon)
    found = choose(workload, noise=Laplace(scale))
    cells = StrategyNoise.laplace(identity(64), scale)
    alone = spread(cells, (all_ranges(64),)).sum()
    assert spread(StrategyNoise.laplace(found.strategy, scale), (all_ranges(64),)).sum() <= alone * 1.000001
    continuous = choose(workload, noise=Laplace(1000)).strategy
    if epsilon >= 8:
        assert spread(StrategyNoise.laplace(continuous, scale), (all_ranges(64),)).sum() > 5 * alone


@pytest.mark.parametrize("epsilon", [1, 2, 5, 8, 30])
def test_marginals_at_any_budget_are_no_further_off_than_any_few_parts(epsilon):
    """Against every strategy of one to three marginals at equal shares."""
    pairs = list(itertools.combinations(range(4), 2))
    blocks = tuple(tuple(each(2) if place in pair else everything(2) for place in range(4)) for pair in pairs)
    workload, scale = Workload((2,) * 4, blocks), Fraction(1, epsilon)
    found = choose(workload, noise=Laplace(scale)).error
    for count in (1, 2, 3):
        for levels in itertools.combinations(itertools.product((0, 1), repeat=4), count):
            strategy = Strategy((flat(2),) * 4, tuple(Part(level, Fraction(1, count)) for level in levels))
            known = {tuple(p for p in range(4) if level[p]) for level in levels}
            if all(any(set(pair) <= set(one) for one in known) for pair in pairs):
                noise = StrategyNoise.laplace(strategy, scale)
                assert found <= sum(spread(noise, block).sum() for block in blocks) * 1.0001


# ── half-widths ──────────────────────────────────────────────────────────────────────────────────────────────────────

TWO = Strategy((flat(8),), (Part((0,), Fraction(1, 4)), Part((1,), Fraction(3, 4))))
THREE = Strategy(
    (flat(3), flat(2)), (Part((1, 0), Fraction(1, 2)), Part((0, 1), Fraction(1, 4)), Part((1, 1), Fraction(1, 4)))
)


def cases():
    """Strategies, noise from coarse to smooth, and questions."""
    some = Ranges(np.array([0, 0, 2, 0]), np.array([1, 8, 5, 7]))
    for epsilon in (Fraction(1, 4), 1, 2, 5, 9):
        scale = Fraction(1, 1) / epsilon
        yield StrategyNoise.laplace(identity(8), scale), (some,)
        yield StrategyNoise.laplace(TWO, scale), (some,)
        yield StrategyNoise.laplace(THREE, scale), (each(3), picked(np.array([[1, 1], [0, 1]], dtype=bool)))
    workload = Workload((8,), ((all_ranges(8),),))
    for rho in (Fraction(1, 50), 1, 5, 20):
        for strategy in (identity(8), TWO, choose(workload, noise=Gaussian(5, DELTA)).strategy):
            yield StrategyNoise.concentrated(strategy, rho, sensitivity=1, delta=DELTA), (some,)


@pytest.mark.parametrize("confidence", [Fraction(1, 2), NINETY_FIVE, Fraction(99, 100)])
def test_half_widths_hold_and_are_hardly_wider_than_they_must_be(confidence):
    """20,000 draws of each: the share beyond is binomial, and a false alarm is one in a thousand million.

    None is wider than the quantile of the draws by more than 1.5 steps and a seventh of it; where a half-width is told
    by a variance, the law that strays the most is taken, which at other confidences than 95 % is further off.
    """
    factor = 1.15 if confidence == NINETY_FIVE else 1.45
    trials = 20_000
    beyond = float(1 - confidence)
    allowed = stats.binom.isf(FALSE_ALARM, trials, beyond)
    tight = wide = 0
    for number, (noise, block) in enumerate(cases()):
        bars = stated(noise, block, confidence)
        found = strays(noise, block, trials, seed=number)
        assert np.all((found > bars + 1e-9).sum(axis=0) <= allowed), (number, noise)
        quantiles = np.quantile(found, float(confidence), axis=0)
        wide += np.count_nonzero(bars > factor * quantiles + 1.51)
        tight += bars.size
    assert wide == 0
    assert tight > 100


def strays(noise, block, trials, seed):
    """How far each answer strays, again and again: it is linear in the noise, so each number's share is enough."""
    sizes = tuple(chain.values for chain in noise.strategy.chains)
    parts = noise.exact(np.zeros(sizes, dtype=np.int64))
    source, total = Seeded(seed), 0.0
    for number, (law, part) in enumerate(zip(noise.noises, parts, strict=True)):
        drawn = law.release(np.zeros((trials, part.size), dtype=np.int64), source)
        units = [np.eye(part.size, dtype=np.int64)[index].reshape(part.shape) for index in range(part.size)]
        ones = [[unit if place == number else other for place, other in enumerate(parts)] for unit in units]
        shares = np.array([apply(block, noise.cells(one)).ravel() for one in ones])  # shares: (number, answer)
        total = total + drawn @ shares
    return np.abs(total).reshape(trials, *(picks.count for picks in block))


def test_half_widths_are_those_of_the_law_where_the_budget_is_large():
    """ε = 5, eight of the cells: the law of the sum says one step, and the variance of the continuous law three."""
    noise = StrategyNoise.laplace(identity(64), Fraction(1, 5))
    assert stated(noise, (Ranges(np.array([0]), np.array([8])),), NINETY_FIVE).tolist() == [1.0]


def test_an_answer_without_noise_does_not_stray():
    nothing = Ranges(np.array([0, 3]), np.array([0, 3]))
    for scale in (Fraction(1, 5), Fraction(50)):
        for strategy in (identity(8), TWO):
            noise = StrategyNoise.laplace(strategy, scale)
            assert not stated(noise, (nothing,), NINETY_FIVE).any()
