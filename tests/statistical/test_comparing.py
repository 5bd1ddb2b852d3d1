"""Private tests of hypotheses: their p-values are what they say where nothing is there to find, noise and all."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

from support.sources import Seeded
from tacit.accounting import zcdp_of
from tacit.core import GaussianEvent, Loss
from tacit.errors import InvalidParameter
from tacit.learn import (
    benjamini_hochberg,
    compare_means,
    compare_proportions,
    correlation,
    independence,
    measure_counts,
)
from tacit.learn.hypotheses.comparing import HypothesisTest, chi_squared_tail
from tacit.learn.sums.moments import GRID
from tacit.mechanisms import Gaussian

TABLES = 150
MOST = 30  # of 150 p-values below .05: more than that has probability 2e-10
PRICE = {"epsilon": "0.1"}


def counted(*columns: np.ndarray, values: Any, seed: int, quiet: bool) -> tuple[np.ndarray, float]:
    found = measure_counts(*columns, values=values, **PRICE, source=Seeded(seed))
    return found.counts, 0.0 if quiet else found.noise


def tried(name: str, seed: int, *, effect: float = 0, quiet: bool = False) -> HypothesisTest:
    """One table, one test. `quiet`: as if there were no noise in it."""
    rng = np.random.default_rng(seed)
    count, group = 3_000, rng.integers(0, 2, 3_000)
    if name == "independence":
        one = rng.choice(3, count, p=[0.5, 0.3, 0.2])
        other = np.where(rng.random(count) < effect, one, rng.choice(4, count, p=[0.4, 0.3, 0.2, 0.1]))
        return independence(*counted(one, other, values=[range(3), range(4)], seed=seed, quiet=quiet))
    if name == "proportions":
        outcome = (rng.random(count) < 0.3 + effect * group).astype(int)
        return compare_proportions(*counted(group, outcome, values=[[0, 1], [0, 1]], seed=seed, quiet=quiet))
    if name == "means":
        values = rng.normal(5 + 6 * effect * group, 2, count)
        return compare_means(values, group, bounds=(0, 10), named=[0, 1], **PRICE, source=Seeded(seed))[0]
    values = rng.normal(5, 2, count)
    others = 3 * effect * (values - 5) + rng.normal(3, 1.5, count)
    return correlation(values, others, bounds=((0, 10), (-2, 8)), **PRICE, source=Seeded(seed))[0]


@pytest.mark.parametrize("name", ["independence", "proportions", "means", "correlation"])
def test_p_values_are_what_they_say_where_nothing_is_there(name):
    found = np.array([tried(name, seed).p_value for seed in range(TABLES)])
    assert (found < 0.05).sum() <= MOST
    assert stats.kstest(found, "uniform").pvalue > 1e-9
    strong = [tried(name, seed, effect=0.3).p_value for seed in range(10)]
    assert np.median(strong) < 0.01  # and what is there is found


@pytest.mark.parametrize("name", ["independence", "proportions"])
def test_p_values_that_know_nothing_of_the_noise_are_noticed(name):
    found = np.array([tried(name, seed, quiet=True).p_value for seed in range(TABLES)])
    assert (found < 0.05).sum() > MOST


def test_estimates_hold_within_what_they_say():
    """Of 60 intervals at 95 %, fewer than 45 hold with probability 2e-9."""
    found = [tried("proportions", seed, effect=0.2) for seed in range(60)]
    assert sum(abs(each.estimate - 0.2) <= each.off for each in found) >= 45


def test_false_discoveries_among_private_p_values_are_held_for_nothing_more():
    p_values = [tried("proportions", seed, effect=0.3 if seed < 8 else 0).p_value for seed in range(40)]
    believed = benjamini_hochberg(p_values, 0.05)
    assert believed[:8].sum() >= 6
    assert believed[8:].sum() <= 3


def test_tests_cost_what_their_noise_does():
    rng = np.random.default_rng(1)
    values, group = rng.normal(5, 2, 100), rng.integers(0, 2, 100)
    table = measure_counts(group, group, values=[[0, 1], [0, 1]], epsilon=1)
    assert table.loss == Loss(1, Fraction(1, 10**6))
    assert isinstance(table.event, GaussianEvent)
    _, event = compare_means(values, group, bounds=(0, 10), named=[0, 1], epsilon=1)
    _, other = correlation(values, values, bounds=((0, 10), (0, 10)), epsilon=1)
    for each in (event, other):  # mu² = 2 rho; at ε = 1 and δ = 1e-6 the joint law gives mu = 0.2367
        assert math.sqrt(2 * float(zcdp_of(each).rho)) == pytest.approx(0.2367, rel=0.02)


def released(monkeypatch: Any, run: Any) -> list[np.ndarray]:
    """The exact numbers that noise was added to."""
    heard: list[np.ndarray] = []
    release = Gaussian.release

    def listening(self: Gaussian, values: Any, source: Any) -> Any:
        heard.append(np.array(values, dtype=object))
        return release(self, values, source)

    with monkeypatch.context() as patched:
        patched.setattr(Gaussian, "release", listening)
        run()
    return heard


@pytest.mark.parametrize("value", [1e300, -math.inf, math.nan, 5.0, 10.0, 0.0, 1e-300])
@pytest.mark.parametrize("group", [0, 1, 2, None])
def test_one_row_moves_what_is_released_no_further_than_is_charged(value, group, monkeypatch):
    bounds = (0, 10)

    def moved(run: Any, most: list[int]) -> None:
        less, more = (released(monkeypatch, lambda rows=rows: run(rows)) for rows in (slice(0, 3), slice(0, 4)))
        far = [int(((one - other) ** 2).sum()) for one, other in zip(less, more, strict=True)]
        assert [one <= other for one, other in zip(far, most, strict=True)] == [True] * len(most)

    values, groups = np.array([3.0, 8.0, 5.0, value]), np.array([0, 1, 1, group], dtype=object)
    moved(
        lambda rows: compare_means(values[rows], groups[rows], bounds=bounds, named=[0, 1]), [2 * GRID**2, GRID**4 // 4]
    )
    moved(lambda rows: correlation(values[rows], -values[rows], bounds=(bounds, bounds)), [GRID**4 * 6])
    moved(lambda rows: measure_counts(groups[rows], values[rows], values=[[0, 1], [5.0, 10.0]]), [1])


@pytest.mark.parametrize("value", ["x", b"0", None, 0.5, 10**30, Decimal(1), ("a",)])
def test_no_row_of_a_list_decides_how_others_are_read(value, monkeypatch):
    """numpy would make texts of all groups, were one of them a text: then none of them was declared."""
    groups, values = [0, 1] * 20, [1.0, 2] * 20
    for run, most in (
        (lambda more: measure_counts(groups + more, values=[[0, 1]]), 1),
        (lambda more: measure_counts(groups + more, groups + more, values=[[0, 1], [0, 1]]), 1),
        (lambda more: compare_means(values + [2.0] * len(more), groups + more, bounds=(0, 4), named=[0, 1]), GRID**4),
    ):
        less, more = (released(monkeypatch, lambda added=added, run=run: run(added)) for added in ([], [value]))
        assert all(((one - other) ** 2).sum() <= most for one, other in zip(less, more, strict=True))


def test_tails_are_those_of_the_law():
    for freedom in (1, 2, 3, 6, 9):
        for statistic in (0.0, 0.3, 4.0, 30.0):
            exact = stats.chi2.sf(statistic, freedom)
            assert chi_squared_tail(statistic, freedom) == pytest.approx(exact, rel=1e-9)


BAD: dict[str, Any] = {
    "counts of unknown noise": lambda: independence([[1, 2], [3, 4]]),
    "a row of counts": lambda: independence([1, 2], noise=1),
    "NaN among counts": lambda: independence([[1, math.nan], [3, 4]], noise=1),
    "negative noise": lambda: independence([[1, 2], [3, 4]], noise=-1),
    "three groups": lambda: compare_proportions([[1, 2], [3, 4], [5, 6]], noise=1),
    "one group": lambda: compare_means([1, 2], [0, 0], bounds=(0, 1), named=[0]),
    "groups of another length": lambda: compare_means([1, 2], [0], bounds=(0, 1), named=[0, 1]),
    "columns of other lengths": lambda: correlation([1], [1, 2], bounds=((0, 1), (0, 1))),
    "text": lambda: correlation(["a"], [1], bounds=((0, 1), (0, 1))),
    "a value twice": lambda: measure_counts([1], values=[[1, 1]]),
    "a column without values": lambda: measure_counts([1], [2], values=[[1, 2]]),
    "counts of other lengths": lambda: measure_counts([1], [2, 2], values=[[1, 2], [1, 2]]),
    "a value by two names": lambda: measure_counts([0], values=[[0, False]]),
    "a column of lists": lambda: measure_counts(np.zeros((3, 2)), values=[[0, 1]]),
    "text for counts": lambda: independence([["a", 2], [3, 4]], noise=1),
    "rows of other lengths": lambda: independence([[1, 2], [3]], noise=1),
    "text for noise": lambda: independence([[1, 2], [3, 4]], noise="much"),
    "text for p-values": lambda: benjamini_hochberg(["small"], 0.05),
    "a seed": lambda: measure_counts([1], values=[[1, 2]], source=5),
    "no delta": lambda: measure_counts([1], values=[[1, 2]], delta=0),
}


@pytest.mark.parametrize("case", BAD, ids=BAD)
def test_bad_input_is_refused_in_our_own_words(case):
    with pytest.raises(InvalidParameter):
        BAD[case]()
