"""Noise without ends: the same draws as in 64 bits where those hold them, and the same law beyond."""

from __future__ import annotations

import sys
from fractions import Fraction
from functools import partial

import numpy as np
import pytest

from support.laws import FALSE_ALARM, p_value_of_successes
from support.sources import Counted, Seeded
from tacit.errors import InvalidParameter
from tacit.mechanisms import Gaussian, Laplace
from tacit.mechanisms.strategy import Strategy, StrategyNoise, flat
from tacit.mechanisms.strategy.plan import Part
from tacit.noise import (
    MAX_SCALE,
    MAX_SIGMA,
    MAX_WIDE_SCALE,
    discrete_gaussian,
    two_sided_geometric,
    wide_discrete_gaussian,
    wide_numbers,
    wide_two_sided_geometric,
)
from tacit.noise.coins import flip_exp

DRAWS = 20_000
TINY = [Fraction(1, 10**400), Fraction(1, 1000)]
SCALES = [Fraction(1, 3), Fraction(1), Fraction(355, 113), Fraction(10**6), Fraction(1 << 31), Fraction(1 << 40)]
BEYOND = [1 << 57, 1 << 64, 3 << 90, MAX_WIDE_SCALE]


def whole(*numbers):
    found = np.empty(len(numbers), dtype=object)
    found[:] = numbers
    return found


@pytest.mark.parametrize("scale", [*SCALES, Fraction(MAX_SCALE)], ids=str)
def test_wide_draws_are_those_of_64_bits_where_these_hold_them(scale):
    narrow = two_sided_geometric(scale, size=20_000, source=Seeded(5))
    assert wide_two_sided_geometric(scale, 20_000, source=Seeded(5)).tolist() == narrow.tolist()


@pytest.mark.parametrize("sigma", [*SCALES, Fraction(MAX_SIGMA)], ids=str)
def test_wide_gaussians_are_those_of_64_bits_where_these_hold_them(sigma):
    narrow = discrete_gaussian(sigma, size=20_000, source=Seeded(5))
    assert wide_discrete_gaussian(sigma, 20_000, source=Seeded(5)).tolist() == narrow.tolist()


@pytest.mark.parametrize("draw", [wide_two_sided_geometric, wide_discrete_gaussian])
@pytest.mark.parametrize("scale", TINY, ids=str)
def test_scales_too_small_to_matter_end_without_a_warning(draw, scale):
    assert not draw(scale, 100).any()


@pytest.mark.parametrize("far", [Fraction(1, 10), Fraction(1), Fraction(4)], ids=str)
@pytest.mark.parametrize("scale", BEYOND, ids=str)
@pytest.mark.parametrize("factor", [Fraction(1), Fraction(7, 10), Fraction(13, 10)], ids=str)
def test_noise_beyond_64_bits_follows_its_law_and_a_wrong_scale_is_noticed(scale, far, factor):
    drawn = min(scale * factor, Fraction(MAX_WIDE_SCALE))
    within = sum(abs(number) <= far * scale for number in wide_two_sided_geometric(drawn, DRAWS).tolist())
    fits = p_value_of_successes(within, DRAWS, 1 - float(np.exp(-float(far)))) > FALSE_ALARM
    if drawn == scale:
        assert fits
    elif far == 1:
        assert not fits


@pytest.mark.parametrize("sigma", BEYOND, ids=str)
@pytest.mark.parametrize("factor", [Fraction(1), Fraction(7, 10)], ids=str)
def test_gaussians_beyond_64_bits_follow_their_law_and_a_wrong_sigma_is_noticed(sigma, factor):
    within = sum(abs(number) <= sigma for number in wide_discrete_gaussian(sigma * factor, DRAWS).tolist())
    assert (p_value_of_successes(within, DRAWS, 0.6826894921370859) > FALSE_ALARM) == (factor == 1)


@pytest.mark.parametrize("sigma", [1 << 50, 1 << 90], ids=str)
def test_a_wide_gaussian_decided_by_doubles_is_the_one_decided_by_exact_digits(sigma, monkeypatch):
    quick = wide_discrete_gaussian(sigma, 200, source=Seeded(7)).tolist()
    monkeypatch.setattr(sys.modules["tacit.noise.wide"], "flip_exp", partial(flip_exp, margin=1.0))
    assert wide_discrete_gaussian(sigma, 200, source=Seeded(7)).tolist() == quick


def test_both_halves_of_a_wide_draw_are_random():
    lows = [abs(number) & 1 for number in wide_two_sided_geometric(1 << 100, DRAWS).tolist()]
    assert p_value_of_successes(sum(lows), DRAWS, 0.5) > FALSE_ALARM


@pytest.mark.parametrize("scale", [1 << 60, 1 << 100])
def test_the_work_of_a_wide_draw_does_not_depend_on_it(scale):
    asked = set()
    for start in range(40):
        source = Counted(Seeded(start))
        wide_two_sided_geometric(scale, 1, source=source)
        asked.add(tuple(source.asked))
    assert len(asked) == 1


@pytest.mark.parametrize("draw", [wide_two_sided_geometric, wide_discrete_gaussian])
@pytest.mark.parametrize("scale", [MAX_WIDE_SCALE + 1, 0, -1, "nan", 10**400])
def test_a_scale_beyond_all_use_is_refused(draw, scale):
    with pytest.raises(InvalidParameter):
        draw(scale, 1)


# ── the mechanisms ───────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("value", [0, 2**63, -(2**63) - 1, 2**100, -(2**120)])
@pytest.mark.parametrize("noise", [Laplace(3), Gaussian(3, "1e-6")], ids=["Laplace", "Gaussian"])
def test_what_has_no_end_is_held_at_none(noise, value):
    released = noise.release(whole(value, value), Seeded(1))
    assert released.dtype == object
    assert all(type(number) is int and abs(number - value) < 100 for number in released.tolist())


@pytest.mark.parametrize("noise", [Laplace(3), Gaussian(3, "1e-6")], ids=["Laplace", "Gaussian"])
def test_the_type_that_leaves_is_the_type_that_was_given_whatever_the_value(noise):
    """Were it to follow the value, it would tell on which side of 2^63 the exact one lies."""
    for value in (0, 2**63 - 1, 2**63, 2**80):
        assert noise.release(whole(value)).dtype == object
    for value in (0, 2**63 - 1, 2**63, 2**80):
        assert noise.release([value]).dtype == np.int64


@pytest.mark.parametrize(
    "noise", [Laplace(MAX_SCALE + 1), Gaussian(MAX_SIGMA + 1, "1e-6")], ids=["Laplace", "Gaussian"]
)
def test_noise_that_64_bits_do_not_hold_is_refused_for_numbers_of_64_bits(noise):
    with pytest.raises(InvalidParameter, match="64-bit"):
        noise.release([1])
    assert noise.release(whole(1)).shape == (1,)


@pytest.mark.parametrize("cell", [1.0, True, None, "1", Fraction(1), np.int64(1)], ids=repr)
def test_only_whole_numbers_get_noise(cell):
    with pytest.raises(InvalidParameter, match="whole numbers"):
        wide_numbers(whole(1, cell))


def test_a_wide_release_has_no_more_values_than_its_price_covers():
    with pytest.raises(InvalidParameter, match="too many values"):
        Gaussian(3, "1e-6", dimension=1).release(whole(1, 2))


def test_a_strategy_adds_up_beyond_64_bits():
    cells = np.full((4, 3), 2**70, dtype=object)
    parts = (Part((0, 0), Fraction(1, 2)), Part((1, 1), Fraction(1, 2)))
    noise = StrategyNoise.laplace(Strategy((flat(4), flat(3)), parts), Fraction(1, 1000))
    released = noise.release(cells, Seeded(1))
    assert all(part.dtype == object for part in released)
    assert int(released[0].ravel()[0]) == 12 * 2**70
    estimates = noise.cells(released)
    assert estimates.dtype == np.float64
    assert np.allclose(estimates, 2.0**70)
