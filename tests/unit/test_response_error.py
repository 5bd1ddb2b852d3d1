"""The errors of randomised answers are quantiles of their laws: beside every truth and every coin of few people."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from tacit.errors import InvalidParameter
from tacit.mechanisms import KaryResponse, RandomisedResponse
from tacit.mechanisms.accuracy import response as response_error
from tacit.mechanisms.accuracy.response import _Bound, _Chances, _Table, response_reach

Law = dict[int, Fraction]


def law_of(strayed: int, stray: Fraction, missing: int, lie: Fraction) -> Law:
    """The law of how many stray in less how many are missing, coin by coin."""
    law: Law = {0: Fraction(1)}
    for step, chance in [(1, stray)] * strayed + [(-1, lie)] * missing:
        moved: Law = {}
        for number, part in law.items():
            moved[number] = moved.get(number, Fraction(0)) + part * (1 - chance)
            moved[number + step] = moved.get(number + step, Fraction(0)) + part * chance
        law = moved
    return law


def reach_of(law: Law, mean: Fraction, chance: Fraction) -> Fraction:
    """The least t with P(|D| > t) ≤ chance."""
    best, left = Fraction(0), chance
    for off, part in sorted(((abs(number - mean), part) for number, part in law.items()), reverse=True):
        left -= part
        if left < 0:
            best = max(best, off)
            break
    return best


@pytest.mark.parametrize("people", [1, 2, 5, 9, 16])
@pytest.mark.parametrize("flip", ["1/4", "1/100", "49/100", "1e-9"])
@pytest.mark.parametrize("confidence", ["0.5", "0.9", "0.999"])
def test_the_error_is_the_quantile_at_the_worst_truth(people, flip, confidence):
    mechanism, failing = RandomisedResponse(flip), 1 - Fraction(confidence)
    worst = max(
        reach_of(
            law_of(people - true, mechanism.flip, true, mechanism.flip), (people - 2 * true) * mechanism.flip, failing
        )
        for true in range(people + 1)
    )
    stated = mechanism.error(confidence, respondents=people) * float(1 - 2 * mechanism.flip)
    assert float(worst) <= stated <= float(worst) * (1 + 1e-8)


def truths(people: int, categories: int) -> Iterator[tuple[int, ...]]:
    """Every way to share people out, the larger categories first."""
    for counts in product(range(people + 1), repeat=categories):
        if sum(counts) == people and list(counts) == sorted(counts, reverse=True):
            yield counts


def straying(mechanism: KaryResponse, truth: tuple[int, ...], reach: float) -> Fraction:
    """P(some estimate is off by more than `reach`), over all that the people may say."""
    outcomes: dict[tuple[int, ...], Fraction] = {(0,) * mechanism.categories: Fraction(1)}
    for category, count in enumerate(truth):
        for _ in range(count):
            grown: dict[tuple[int, ...], Fraction] = {}
            for counts, part in outcomes.items():
                for told in range(mechanism.categories):
                    chance = 1 - mechanism.lie if told == category else mechanism.stray
                    said = tuple(number + (place == told) for place, number in enumerate(counts))
                    grown[said] = grown.get(said, Fraction(0)) + part * chance
            outcomes = grown
    n, total = sum(truth), Fraction(0)
    for counts, part in outcomes.items():
        estimates = [(count - n * mechanism.stray) / (1 - mechanism.lie - mechanism.stray) for count in counts]
        total += part * any(abs(e - t) > reach for e, t in zip(estimates, truth, strict=True))
    return total


@pytest.mark.parametrize(("categories", "lie"), [(3, "2/5"), (3, "1/20"), (4, "1/2")])
@pytest.mark.parametrize("confidence", ["0.8", "0.99"])
def test_no_estimate_of_several_strays_whatever_the_truth(categories, lie, confidence):
    mechanism, failing = KaryResponse(categories, lie), 1 - Fraction(confidence)
    reach = mechanism.error(confidence, respondents=5)
    assert all(straying(mechanism, truth, reach) <= failing for truth in truths(5, categories))
    assert any(straying(mechanism, truth, reach * 0.66) > failing for truth in truths(5, categories))


@pytest.mark.parametrize(("lie", "stray"), [("1/4", "1/4"), ("1/50", "1/50"), ("2/5", "1/10"), ("1/100", "1/9900")])
@pytest.mark.parametrize("people", [60, 400])
def test_the_bound_for_many_people_is_above_the_law(people, lie, stray):
    chances = _Chances(people, float(Fraction(lie)), float(Fraction(stray)))
    table, bound = _Table.of(chances), _Bound(chances)
    assert table is not None
    for reach in np.linspace(0.1, 1.0, 19) * chances.far(1e-9):
        members, tails = table.exceeding(reach)
        edges, most = bound.exceeding(reach)
        cells = np.minimum(np.searchsorted(edges[::2], members, side="right") - 1, most.size // 2 - 1)
        assert (most[::2][cells] >= tails - table.slack * 2).all()


def test_a_bound_without_the_distance_to_the_normal_law_is_caught(monkeypatch):
    monkeypatch.setattr(response_error, "_BERRY_ESSEEN", 0.0)
    with pytest.raises(AssertionError):
        test_the_bound_for_many_people_is_above_the_law(60, "1/50", "1/50")


def test_a_quantile_of_one_truth_alone_is_caught(monkeypatch):
    """At half of the people the law is symmetric, and narrower than at none."""
    whole = _Table.exceeding
    middle = slice(8, 9)
    monkeypatch.setattr(_Table, "exceeding", lambda self, reach: tuple(a[middle] for a in whole(self, reach)))
    response_reach.cache_clear()
    with pytest.raises(AssertionError):
        test_the_error_is_the_quantile_at_the_worst_truth(16, "1/100", "0.999")
    response_reach.cache_clear()


@pytest.mark.parametrize("people", [1000, 5000, 20_000, 10**6, 10**12, 10**18])
@pytest.mark.parametrize("confidence", ["0.9", "0.95", "0.999999"])
def test_for_many_people_the_error_is_that_of_a_normal_law(people, confidence):
    """Within four per cent, where Hoeffding's was 1.3 to 1.6 times as wide."""
    from scipy import stats

    mechanism = RandomisedResponse("1/4")
    normal = stats.norm.isf((1 - float(confidence)) / 2) * math.sqrt(float(mechanism.variance(respondents=people)))
    assert normal * 0.99 <= mechanism.error(confidence, respondents=people) <= normal * 1.04


def test_rare_lies_make_small_errors():
    """Hoeffding's bound knew nothing of the flip: it said 24 people where it is 3.6."""
    assert RandomisedResponse("0.01").error("0.95", respondents=300) == pytest.approx(3.58 / 0.98, rel=1e-6)


def test_only_one_of_many_categories_can_hold_everybody():
    """So its errors are hardly larger than if it were asked about alone, not those of a hundred like it."""
    mechanism = KaryResponse(100, "1/5")
    alone = RandomisedResponse("1/5")
    off = mechanism.error("0.95", respondents=1000) * float(1 - mechanism.lie - mechanism.stray)
    assert off <= 1.1 * alone.error("0.95", respondents=1000) * 0.6


@pytest.mark.parametrize("flip", ["1e-300", "0.4999999999999999999999"])
@pytest.mark.parametrize("people", [1, 1000, 10**9])
def test_extreme_lies_have_a_finite_error(flip, people):
    error = RandomisedResponse(flip).error("0.95", respondents=people)
    assert 0 <= error < math.inf
    assert RandomisedResponse(flip).error("0.99", respondents=people) >= error * (1 - 1e-9)  # the search is that fine


@pytest.mark.parametrize("people", [0, -1, 2.5, True])
def test_nobody_is_no_respondent(people):
    with pytest.raises(InvalidParameter):
        RandomisedResponse("1/4").error("0.9", respondents=people)
