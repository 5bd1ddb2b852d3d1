"""Every sampler follows its exact law, and each test would notice a law that is 30 % off.

False-alarm rate: 1e-9 for each comparison, of which there are fewer than 200.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from numpy.typing import NDArray

from support.laws import (
    DRAWS,
    FALSE_ALARM,
    gaussian_cells,
    geometric_cells,
    p_value,
    p_value_of_counts,
    p_value_of_successes,
    two_sided_cells,
)
from tacit.noise import (
    SYSTEM,
    bernoulli,
    bernoulli_exp,
    categorical,
    discrete_gaussian,
    geometric,
    keep_each,
    one_of,
    two_sided_geometric,
    uniform_integer,
)
from tacit.noise.choice import categorical_array, one_of_each_row
from tacit.noise.coarsening import coarsening
from tacit.noise.coins import flip, flip_exp
from tacit.noise.geometric import geometric_array
from tacit.noise.probability import Ratio, exp_minus

SCALES = [Fraction(text) for text in ("1/10", "1/2", "1", "355/113", "10", "1000", "1000000", str(1 << 40))]
SIGMAS = [Fraction(1, 4), *SCALES[1:]]  # at 1/10 a discrete Gaussian leaves zero once in e^50 draws
SLOW_DRAWS = 5_000  # where exact digits are asked for at every turn
SLOWEST_DRAWS = 2_500  # where each turn asks for those of several boundaries
WRONG = [Fraction(7, 10), Fraction(13, 10)]
LAWS = {
    "geometric": (geometric, geometric_cells),
    "two-sided geometric": (two_sided_geometric, two_sided_cells),
    "discrete Gaussian": (discrete_gaussian, gaussian_cells),
}
CASES = [(name, scale) for name in LAWS for scale in (SIGMAS if "Gaussian" in name else SCALES)]


def _enough(scale: Fraction) -> int:
    """How many draws tell a scale from one 30 % off: more where almost every draw is zero."""
    return DRAWS if scale >= Fraction(1, 2) else 5 * DRAWS


@pytest.mark.parametrize(("name", "scale"), CASES, ids=str)
def test_noise_follows_its_law(name: str, scale: Fraction) -> None:
    draw, cells = LAWS[name]
    assert p_value(draw(scale, size=_enough(scale)), cells(scale)) > FALSE_ALARM


@pytest.mark.parametrize("factor", WRONG, ids=str)
@pytest.mark.parametrize(("name", "scale"), CASES, ids=str)
def test_a_wrong_scale_is_noticed(name: str, scale: Fraction, factor: Fraction) -> None:
    draw, cells = LAWS[name]
    assert p_value(draw(scale * factor, size=_enough(scale)), cells(scale)) < FALSE_ALARM


@pytest.mark.parametrize("scale", [Fraction(1000), Fraction(10**6), Fraction(1 << 40), Fraction(1 << 56)], ids=str)
def test_the_lowest_digits_of_wide_noise_follow_their_law(scale: Fraction) -> None:
    with mpmath.workprec(200):
        q = mpmath.exp(-mpmath.mpf(scale.denominator) / scale.numerator)
        chances = [float(q**rest * (1 - q) / (1 - q**64)) for rest in range(64)]
    counts = np.bincount(geometric(scale, size=DRAWS) & 63, minlength=64)
    assert p_value_of_counts(counts, chances) > FALSE_ALARM


def test_the_digits_of_a_draw_are_independent() -> None:
    draws = geometric(1 << 20, size=DRAWS)
    low, high = draws & 7, (draws >> 17) & 7
    joint = np.bincount(8 * low + high, minlength=64).reshape(8, 8)
    product = np.outer(joint.sum(axis=1), joint.sum(axis=0)) / DRAWS
    statistic = float(((joint - product) ** 2 / product).sum())
    assert statistic < 157  # chi-square with 49 degrees of freedom: exceeded with probability 1e-12


@pytest.mark.parametrize("chunk", [1, 2, 3])
@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(1), Fraction(10)], ids=str)
def test_ties_do_not_bend_the_law(scale: Fraction, chunk: int) -> None:
    draws = geometric_array(scale, SLOW_DRAWS, source=SYSTEM, two_sided=True, chunk=chunk)
    assert p_value(draws, two_sided_cells(scale, cells=8)) > FALSE_ALARM


@pytest.mark.parametrize("factor", WRONG, ids=str)
def test_a_wrong_scale_is_noticed_among_ties(factor: Fraction) -> None:
    draws = geometric_array(10 * factor, SLOW_DRAWS, source=SYSTEM, two_sided=True, chunk=2)
    assert p_value(draws, two_sided_cells(Fraction(10), cells=8)) < FALSE_ALARM


@pytest.fixture
def no_headroom(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """One digit only, so that most draws go beyond their digits and start again."""
    module = sys.modules["tacit.noise.geometric"]
    module._planes.cache_clear()
    monkeypatch.setattr(module, "_TOP_HEADROOM", 0)
    yield
    module._planes.cache_clear()


@pytest.mark.usefixtures("no_headroom")
@pytest.mark.parametrize("scale", [Fraction(1), Fraction(5)], ids=str)
def test_draws_that_go_beyond_their_digits_follow_the_law(scale: Fraction) -> None:
    assert p_value(geometric(scale, size=SLOW_DRAWS), geometric_cells(scale, cells=10)) > FALSE_ALARM


@pytest.mark.usefixtures("no_headroom")
@pytest.mark.parametrize("factor", WRONG, ids=str)
def test_a_wrong_scale_is_noticed_beyond_the_digits(factor: Fraction) -> None:
    assert p_value(geometric(5 * factor, size=SLOW_DRAWS), geometric_cells(Fraction(5), cells=10)) < FALSE_ALARM


@pytest.mark.parametrize(
    "chance", ["0", "1", "1/2", "1/3", "0.25", "1/65536", "65535/65536", "1e-5", "0.99999", "355/1130"]
)
def test_a_coin_comes_up_as_often_as_it_should(chance: str) -> None:
    successes = int(bernoulli(chance, DRAWS).sum())
    assert p_value_of_successes(successes, DRAWS, float(Fraction(chance))) > FALSE_ALARM


@pytest.mark.parametrize(("drawn", "claimed"), [("0.35", "1/2"), ("0.65", "1/2"), ("0.007", "0.01"), ("0.013", "0.01")])
def test_a_wrong_chance_is_noticed(drawn: str, claimed: str) -> None:
    successes = int(bernoulli(drawn, DRAWS).sum())
    assert p_value_of_successes(successes, DRAWS, float(Fraction(claimed))) < FALSE_ALARM


@pytest.mark.parametrize("chunk", [1, 2, 3])
@pytest.mark.parametrize("chance", [Fraction(1, 3), Fraction(1, 2), Fraction(1), Fraction(0), Fraction(7, 8)], ids=str)
def test_ties_do_not_bend_a_coin(chance: Fraction, chunk: int) -> None:
    successes = int(flip(Ratio(chance), SLOW_DRAWS, source=SYSTEM, chunk=chunk).sum())
    assert p_value_of_successes(successes, SLOW_DRAWS, float(chance)) > FALSE_ALARM


@pytest.mark.parametrize("rate", ["0", "1e-6", "1/10", "1", "10/3", "8"])
def test_an_exponential_coin_comes_up_as_often_as_it_should(rate: str) -> None:
    successes = int(bernoulli_exp(rate, DRAWS).sum())
    assert p_value_of_successes(successes, DRAWS, float(np.exp(-float(Fraction(rate))))) > FALSE_ALARM


@pytest.mark.parametrize("factor", WRONG, ids=str)
def test_a_wrong_rate_is_noticed(factor: Fraction) -> None:
    successes = int(bernoulli_exp(factor, DRAWS).sum())
    assert p_value_of_successes(successes, DRAWS, float(np.exp(-1))) < FALSE_ALARM


@pytest.mark.parametrize("factor", [Fraction(1), *WRONG], ids=str)
def test_exact_digits_decide_an_exponential_coin_by_the_same_law(factor: Fraction) -> None:
    rates = np.full(SLOW_DRAWS, float(factor))
    successes = int(flip_exp(rates, lambda _: factor, source=SYSTEM, margin=1.0).sum())
    fits = p_value_of_successes(successes, rates.size, float(np.exp(-1))) > FALSE_ALARM
    assert fits == (factor == 1)


@pytest.mark.parametrize("below", [1, 2, 3, 10, 100, 2**16 + 1])
def test_whole_numbers_are_equally_likely(below: int) -> None:
    cells = min(below, 100)
    draws = uniform_integer(below, DRAWS)
    edges = [-(-below * i // cells) for i in range(cells + 1)]
    counts = np.histogram(draws, bins=edges if below > 1 else [0, 1])[0]
    assert draws.min() >= 0
    assert draws.max() < below
    assert counts.sum() == DRAWS
    assert p_value_of_counts(counts, np.diff(edges) / below) > FALSE_ALARM


@pytest.mark.parametrize("below", [3 << 61, (1 << 63) - 1, 1 << 63])
def test_whole_numbers_from_a_huge_range_are_equally_likely(below: int) -> None:
    draws = uniform_integer(below, DRAWS)
    counts = np.bincount((draws // (below // 8 + 1)).astype(np.int64), minlength=8)
    assert p_value_of_counts(counts, [1 / 8] * 8) > FALSE_ALARM


def test_uneven_whole_numbers_are_noticed() -> None:
    careless = np.concatenate([uniform_integer(10, DRAWS // 2), uniform_integer(7, DRAWS // 2)])
    assert p_value_of_counts(np.bincount(careless, minlength=10), [0.1] * 10) < FALSE_ALARM


SCORES = {
    "few": [0, 1, 2, 3],
    "all alike": [5, 5, 5],
    "in any order": [3, -2, 7, 0, 7],
    "at the ends of 64 bits": [-(2**63), 2**63 - 1, 2**63 - 2],
}


def _weights(scores: list[int], rate: Fraction) -> list[float]:
    best = max(scores)
    weights = [mpmath.exp(-mpmath.mpf(best - score) * rate.numerator / rate.denominator) for score in scores]
    return [float(weight / mpmath.fsum(weights)) for weight in weights]


def _choices(scores: list[int], rate: Fraction, *, draws: int, margin: float = 2.0**-40) -> NDArray[np.int64]:
    values = np.array(scores, dtype=np.int64)
    chosen = [categorical(values, rate, source=SYSTEM, margin=margin) for _ in range(draws)]
    return np.bincount(chosen, minlength=len(scores))


@pytest.mark.parametrize("rate", [Fraction(1, 2), Fraction(1, 3)], ids=str)
@pytest.mark.parametrize("name", SCORES)
def test_a_choice_follows_its_weights(name: str, rate: Fraction) -> None:
    counts = _choices(SCORES[name], rate, draws=40_000)
    assert p_value_of_counts(counts, _weights(SCORES[name], rate)) > FALSE_ALARM


@pytest.mark.parametrize("name", SCORES)
def test_a_choice_made_by_exact_digits_follows_its_weights(name: str) -> None:
    counts = _choices(SCORES[name], Fraction(1, 2), draws=SLOWEST_DRAWS, margin=1.0)
    assert p_value_of_counts(counts, _weights(SCORES[name], Fraction(1, 2))) > FALSE_ALARM


@pytest.mark.parametrize("factor", WRONG, ids=str)
@pytest.mark.parametrize("margin", [2.0**-40, 1.0])
def test_a_choice_at_a_wrong_rate_is_noticed(factor: Fraction, margin: float) -> None:
    counts = _choices(SCORES["few"], factor, draws=SLOWEST_DRAWS, margin=margin)
    assert p_value_of_counts(counts, _weights(SCORES["few"], Fraction(1))) < FALSE_ALARM


@pytest.mark.parametrize("rate", [Fraction(1, 2), Fraction(1)], ids=str)
def test_each_score_is_kept_as_often_as_it_should(rate: Fraction) -> None:
    kept = keep_each(np.tile([0, -1, -2, -5], 100_000), rate).reshape(-1, 4).sum(axis=0)
    for gap, successes in zip([0, 1, 2, 5], kept, strict=True):
        assert p_value_of_successes(int(successes), 100_000, float(np.exp(-gap * float(rate)))) > FALSE_ALARM


@pytest.mark.parametrize("factor", WRONG, ids=str)
def test_keeping_at_a_wrong_rate_is_noticed(factor: Fraction) -> None:
    kept = keep_each(np.tile([0, -1], 100_000), factor).reshape(-1, 2).sum(axis=0)
    assert p_value_of_successes(int(kept[1]), 100_000, float(np.exp(-1))) < FALSE_ALARM


def test_one_of_the_kept_is_as_likely_as_the_next() -> None:
    chosen = [one_of(np.array([False, True, True, False, True])) for _ in range(30_000)]
    counts = np.bincount(chosen, minlength=5)
    assert counts[0] == counts[3] == 0
    assert p_value_of_counts(counts[[1, 2, 4]], [1 / 3] * 3) > FALSE_ALARM


def test_flips_of_one_probability_are_independent_of_each_other() -> None:
    coins = flip(exp_minus(Fraction(1, 2)), DRAWS, source=SYSTEM).astype(np.int64)
    both = int((coins[:-1:2] & coins[1::2]).sum())
    assert p_value_of_successes(both, DRAWS // 2, float(np.exp(-1))) > FALSE_ALARM


@pytest.mark.parametrize(("fine", "coarse"), [("1/2", "1"), ("10", "11"), ("3", "1000"), ("1000000", "1099511627776")])
def test_coarsened_noise_follows_the_coarser_law(fine: str, coarse: str) -> None:
    noise = two_sided_geometric(fine, size=DRAWS) + coarsening(fine, coarse, size=DRAWS)
    assert p_value(noise, two_sided_cells(Fraction(coarse))) > FALSE_ALARM


@pytest.mark.parametrize("factor", WRONG, ids=str)
def test_noise_coarsened_to_a_wrong_scale_is_noticed(factor: Fraction) -> None:
    noise = two_sided_geometric(3, size=DRAWS) + coarsening(3, 10 * factor, size=DRAWS)
    assert p_value(noise, two_sided_cells(Fraction(10))) < FALSE_ALARM


@pytest.mark.parametrize("margin", [2.0**-40, 1.0])
@pytest.mark.parametrize("name", SCORES)
def test_many_choices_follow_their_weights(name: str, margin: float) -> None:
    size = SLOWEST_DRAWS if margin == 1 else DRAWS
    chosen = categorical_array(np.array(SCORES[name]), Fraction(1, 2), size=size, source=SYSTEM, margin=margin)
    counts = np.bincount(chosen, minlength=len(SCORES[name]))
    assert p_value_of_counts(counts, _weights(SCORES[name], Fraction(1, 2))) > FALSE_ALARM


@pytest.mark.parametrize("factor", WRONG, ids=str)
def test_many_choices_at_a_wrong_rate_are_noticed(factor: Fraction) -> None:
    counts = np.bincount(categorical_array(np.array(SCORES["few"]), factor, size=DRAWS), minlength=4)
    assert p_value_of_counts(counts, _weights(SCORES["few"], Fraction(1))) < FALSE_ALARM


def test_one_of_each_row_is_as_likely_as_the_next() -> None:
    rows = np.tile(np.array([[True, False, True, True], [False, True, False, False]]), (60_000, 1))
    chosen = one_of_each_row(rows)
    assert (chosen[1::2] == 1).all()
    assert p_value_of_counts(np.bincount(chosen[::2], minlength=4)[[0, 2, 3]], [1 / 3] * 3) > FALSE_ALARM
    assert np.bincount(chosen[::2], minlength=4)[1] == 0
