"""The split of a statement's epsilon: exactly all of it, to everyone something, and more to who needs more."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from tacit.sql.planning.split import FLOOR, GRAIN, split

POWERS = st.sampled_from([1.0, 0.5])


def weights(most=12):
    entries = st.one_of(st.just(0.0), st.floats(1e-9, 1e9), st.just(np.inf), st.just(np.nan))
    return st.tuples(st.integers(1, 5), st.integers(1, most)).flatmap(
        lambda shape: arrays.arrays(np.float64, shape, elements=entries)
    )


@settings(max_examples=200, deadline=None)
@given(table=weights(), power=POWERS)
def test_shares_add_up_to_exactly_one_and_none_is_empty(table, power):
    shares = split(table, power)
    assert sum(shares, Fraction(0)) == 1
    assert len(shares) == table.shape[1]
    least = Fraction(int(FLOOR * GRAIN / table.shape[1]) - 1, GRAIN)
    assert all(share > 0 and share >= least for share in shares)


@settings(max_examples=100, deadline=None)
@given(row=st.lists(st.floats(1e-3, 1e3), min_size=2, max_size=8), power=POWERS)
def test_of_one_output_the_measurement_that_matters_more_gets_no_less(row, power):
    shares = split(np.array([row]), power)
    ranked = sorted(range(len(row)), key=lambda place: row[place])
    rounding = Fraction(len(row), GRAIN)  # what is left over goes to one of the largest
    for less, more in itertools.pairwise(ranked):
        assert shares[less] <= shares[more] + rounding


@settings(max_examples=50, deadline=None)
@given(row=st.lists(st.floats(1e-2, 1e2), min_size=2, max_size=6), scale=st.floats(1e-3, 1e3), power=POWERS)
def test_the_unit_of_an_output_does_not_matter(row, scale, power):
    one, other = split(np.array([row]), power), split(np.array([row]) * scale, power)
    assert all(abs(a - b) <= Fraction(len(row) + 1, GRAIN) for a, b in zip(one, other, strict=True))


def test_the_split_beats_equal_shares_where_the_needs_differ():
    table = np.array([[1.0, 100.0]])
    shares = np.array([float(share) for share in split(table, 1.0)])
    assert float((table @ (1 / shares)).max()) < float((table @ np.array([2.0, 2.0])).max()) * 0.8


@pytest.mark.parametrize("table", [np.zeros((2, 3)), np.full((1, 3), np.inf), np.full((2, 2), np.nan)])
def test_where_no_share_helps_all_get_the_same(table):
    shares = split(table, 1.0)
    assert max(shares) - min(shares) <= Fraction(len(shares), GRAIN)


def test_many_measurements_still_share_exactly():
    shares = split(np.abs(np.random.default_rng(1).normal(size=(50, 300))), 0.5)
    assert sum(shares, Fraction(0)) == 1
    assert min(shares) > 0


@pytest.mark.parametrize(("power", "best"), [(1.0, 10 / 11), (0.5, 100 ** (2 / 3) / (100 ** (2 / 3) + 1))])
def test_one_output_of_two_measurements_has_the_best_shares_of_all(power, best):
    """100 / x^power + 1 / (1 − x)^power is least where the slopes agree."""
    shares = split(np.array([[100.0, 1.0]]), power)
    assert float(shares[0]) == pytest.approx((1 - FLOOR) * best + FLOOR / 2, abs=2 / GRAIN)
