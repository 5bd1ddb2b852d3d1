"""Which strategy is chosen, and that no other one tried by hand would have done better."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

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
    choose,
    each,
    error_of,
    everything,
    flat,
    half_width,
    picked,
    row_variances,
)
from tacit.mechanisms.strategy.matrix import gram
from tacit.mechanisms.strategy.plan import widths
from tacit.mechanisms.strategy.shares import best_shares, total_error, whole_grains
from tacit.mechanisms.strategy.workload import Energies

DELTA = Fraction(1, 10**6)
LAWS = (Law(LAPLACE, 50.0), Law(LAPLACE, 0.3), Law(GAUSSIAN, 100.0), Law(GAUSSIAN, 0.2))
NOISES = (Laplace(50), Laplace(1), Laplace(Fraction(1, 8)), Gaussian(10, DELTA), Gaussian(Fraction(1, 3), DELTA))


def marginals(attributes, ways):
    """All marginals of so many ways over binary attributes."""
    blocks = [
        tuple(each(2) if place in chosen else everything(2) for place in range(attributes))
        for chosen in itertools.combinations(range(attributes), ways)
    ]
    return Workload((2,) * attributes, tuple(blocks))


def given(strategy, noise):
    """The strategy with the noise of all of the budget that `noise` stands for, one unit moving cells by one."""
    if isinstance(noise, Laplace):
        return StrategyNoise.laplace(strategy, noise.scale)
    return StrategyNoise.concentrated(strategy, 1 / (2 * noise.sigma**2), sensitivity=1, delta=noise.delta)


def summed(workload, strategy, noise):
    """The total error by the variance of every single answer."""
    variances = given(strategy, noise).variances
    return sum(row_variances(block, strategy, variances).sum() for block in workload.blocks)


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize(
    "workload",
    [
        Workload((64,), ((all_ranges(64),),)),
        Workload((9, 4), ((all_ranges(9), everything(4)), (everything(9), each(4)))),
        marginals(4, 2),
        marginals(6, 1),
    ],
)
def test_the_promised_error_is_the_error_of_every_answer_added_up(workload, noise):
    choice = choose(workload, noise=noise)
    assert choice.error == pytest.approx(summed(workload, choice.strategy, noise))
    assert choice.error == pytest.approx(error_of(workload, given(choice.strategy, noise)))
    tops = tuple(size > 1 for size in workload.sizes)
    cuts = tuple(flat(size) for size in workload.sizes)
    identity = Strategy(cuts, (Part(tuple(map(int, tops)), Fraction(1)),))
    assert choice.error <= summed(workload, identity, noise) * (1 + 1e-9)


@pytest.mark.parametrize(
    ("workload", "noise", "name"),
    [
        (Workload((10,), ((each(10),),)), Laplace(20), "identity"),
        (Workload((10,), ((everything(10),),)), Laplace(20), "total"),
        (marginals(8, 1), Laplace(20), "marginals"),
        (marginals(8, 2), Gaussian(5, DELTA), "marginals"),
        (Workload((256,), ((all_ranges(256),),)), Laplace(20), "weighted sums"),
        (Workload((300,), ((all_ranges(300),),)), Laplace(20), "hierarchy"),
        (Workload((256,), ((all_ranges(256),),)), Gaussian(5, DELTA), "weighted sums"),
    ],
)
def test_the_strategy_fits_the_questions(workload, noise, name):
    assert choose(workload, noise=noise).strategy.name == name


PREFIXES = Ranges(np.zeros(64, dtype=np.int64), np.arange(1, 65))
SEVERAL = (
    Workload((64,), ((all_ranges(64),),)),
    Workload((64,), ((PREFIXES,),)),
    marginals(8, 2),
    Workload((5, 4), ((each(5), everything(4)), (everything(5), each(4)))),
)


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), 1, 2, 5, 8, 20])
@pytest.mark.parametrize("workload", SEVERAL, ids=["ranges", "prefixes", "pairs", "marginals"])
def test_at_no_price_is_the_choice_worse_than_the_cells_alone(workload, epsilon):
    """From ε = 2 on a cell often has no noise at all, by the discrete law: coarse histograms are a bad choice there."""
    noise = Laplace(1 / Fraction(epsilon))
    questions = gram(workload.blocks, workload.sizes)
    assert choose(workload, noise=noise).error <= float(np.trace(questions)) * noise.variance * (1 + 1e-9)


def test_a_choice_by_the_continuous_law_is_worse_than_the_cells_at_a_high_price(monkeypatch):
    """Defect: shares as if noise were continuous."""
    workload, noise = SEVERAL[0], Laplace(Fraction(1, 8))
    with monkeypatch.context() as patch:
        patch.setattr(Law, "of", lambda noise: Law(LAPLACE, 1e6))
        strategy = choose(workload, noise=noise).strategy
    cells = float(np.trace(gram(workload.blocks, workload.sizes))) * noise.variance
    assert error_of(workload, StrategyNoise.laplace(strategy, noise.scale)) > 5 * cells


def test_single_marginals_are_priced_as_theory_says():
    """Eight marginals of one way under Laplace noise: each with an eighth, and least squares joins their totals."""
    workload, noise = marginals(8, 1), Laplace(1)
    parts = tuple(Part(tuple(int(place == one) for place in range(8)), Fraction(1, 8)) for one in range(8))
    eight = summed(workload, Strategy(tuple(flat(2) for _ in range(8)), parts), noise)
    assert eight / 16 == pytest.approx(Laplace(8).variance * (1 / 2 + 1 / 16))
    assert choose(workload, noise=noise).error < eight  # four marginals of two ways are better still


def test_hierarchies_beat_cells_and_cells_beat_questions_one_by_one():
    values, one = 256, Laplace(1).variance
    choice = choose(Workload((values,), ((all_ranges(values),),)), noise=Laplace(1))
    rows = values * (values + 1) // 2
    assert choice.error / rows / one < (values + 2) / 3 / 2  # the cells alone: the mean length of a range
    assert choice.error / rows / one < rows**2 / 1000


@pytest.mark.parametrize("law", LAWS)
def test_no_round_of_the_descent_makes_it_worse(law):
    workload = Workload((40,), ((all_ranges(40),),))
    cuts = choose(workload, noise=Laplace(50)).strategy.chains
    energy, sizes = Energies(workload).of(cuts), widths(cuts)
    start = np.ones_like(energy)
    found = best_shares(start, energy, sizes=sizes, law=law)
    best = total_error(found, energy, sizes=sizes, law=law)
    assert best <= total_error(start / start.sum(), energy, sizes=sizes, law=law)
    generator = np.random.default_rng(7)
    for _ in range(200):  # no small step away from it is better
        other = np.abs(found * (1 + generator.normal(scale=0.05, size=found.shape)))
        assert total_error(other / other.sum(), energy, sizes=sizes, law=law) > best * (1 - 5e-4)


def test_what_is_not_measured_is_not_promised():
    energy = Energies(Workload((4,), ((each(4),),))).of((flat(4),))
    assert total_error(np.array([1.0, 0.0]), energy, sizes=widths((flat(4),)), law=LAWS[0]) == float("inf")


def test_shares_are_fractions_that_add_up():
    shares = whole_grains(np.array([1e-9, 0.3, 0.7]))
    assert sum(shares) == 1
    assert min(shares) > 0


def test_many_attributes_fall_back_on_the_cells():
    workload = Workload((2,) * 14, (tuple(each(2) for _ in range(14)), tuple(everything(2) for _ in range(14))))
    assert choose(workload, noise=Laplace(1)).strategy.name == "identity"


def test_sets_are_cut_like_ranges():
    mask = np.random.default_rng(5).integers(0, 2, (30, 12)).astype(bool)
    workload = Workload((12,), ((picked(mask),),))
    choice = choose(workload, noise=Laplace(1))
    assert choice.error == pytest.approx(summed(workload, choice.strategy, Laplace(1)))


@pytest.mark.parametrize("confidence", [Fraction(1, 2), Fraction(9, 10), Fraction(95, 100), Fraction(999, 1000)])
def test_a_stated_half_width_holds_for_any_mixture_of_noises(confidence):
    """A numerical finding, repeated: no weights make a sum of Laplace noises stray further than is stated.

    200,000 draws; the share beyond is binomial, and six deviations are allowed: a false alarm in 1e9.
    """
    generator, draws = np.random.default_rng(11), 200_000
    beyond = 1 - float(confidence)
    allowed = beyond + 6 * (beyond * (1 - beyond) / draws) ** 0.5
    for weights in ([1.0], [1, 1], [3, 1], [1] * 5, [5, *[1] * 20], [1] * 60):
        scaled = np.array(weights) / np.sqrt(2 * np.sum(np.square(weights)))
        sums = np.abs(sum(weight * generator.laplace(size=draws) for weight in scaled))
        stated = half_width(np.array(1.0), noise=Laplace(1), confidence=confidence, step=0)
        assert np.mean(sums > stated) <= allowed
    normal = np.abs(generator.normal(size=draws))
    stated = half_width(np.array(1.0), noise=Gaussian(1, DELTA), confidence=confidence, step=0)
    assert np.mean(normal > stated) <= allowed
    assert np.mean(normal > 0.8 * stated) > allowed  # and a narrower one would be noticed
