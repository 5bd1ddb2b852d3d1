"""Interval arithmetic and running sums: whatever rounds, rounds outwards."""

import math
import random
from decimal import Decimal
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.core.enclosure import FINEST, Enclosure, double_above, fraction_above
from tacit.core.running_sum import GRID, added
from tacit.errors import InvalidParameter


def exact(value):
    return mpmath.mpf(value.numerator) / value.denominator


def holds(enclosure, value):
    """Whether the enclosure contains `value`, computed to 80 digits, and is narrow."""
    low, high = mpmath.mpf(str(enclosure.low)), mpmath.mpf(str(enclosure.high))
    return low <= value <= high and high - low <= abs(value) * mpmath.mpf("1e-40") + mpmath.mpf("1e-45")


def some_fractions(count, seed, largest=40):
    chance = random.Random(seed)
    return [Fraction(chance.randint(1, largest * 10**6), chance.randint(1, 10**6)) for _ in range(count)]


@pytest.mark.parametrize("name", ["exp", "log", "sqrt"])
def test_functions_are_enclosed(name):
    with mpmath.workdps(80):
        for x in some_fractions(500, seed=1):
            assert holds(getattr(Enclosure.of(x), name)(), getattr(mpmath, name)(exact(x)))


def test_arithmetic_is_enclosed():
    with mpmath.workdps(80):
        for x, y in zip(some_fractions(300, seed=2), some_fractions(300, seed=3), strict=True):
            a, b = Enclosure.of(x), Enclosure.of(-y)
            assert holds(a + b, exact(x - y))
            assert holds(a * b, exact(-x * y))
            assert holds(a / b, exact(-x / y))
            assert holds(a - y, exact(x - y))


def test_an_enclosure_of_a_third_is_not_a_point():
    third = Enclosure.of(Fraction(1, 3))
    assert third.low < third.high
    assert Fraction(third.low) < Fraction(1, 3) < Fraction(third.high)


def test_published_bounds_are_short_and_on_the_right_side():
    for x in some_fractions(2000, seed=4):
        above, below = Enclosure.of(x).above(), Enclosure.of(x).below()
        assert below <= x <= above
        assert above - below <= x / 10**15
        assert above.denominator <= 10**30


def test_whole_numbers_are_published_exactly():
    assert Enclosure.of(7).above() == 7 == Enclosure.of(7).below()
    assert Enclosure.of(0).exp() == Enclosure.of(1)
    assert Enclosure.of(1).log() == Enclosure.of(0)


def test_a_tiny_positive_bound_is_published_as_the_finest_number():
    tiny = Enclosure.of(-(10**6)).exp()
    assert tiny.above() == Fraction(FINEST)
    assert tiny.below() == 0
    assert fraction_above(Decimal(0)) == 0
    assert fraction_above(-tiny.high) == 0


def test_a_bound_beyond_all_use_is_refused_rather_than_spelled_out():
    with pytest.raises(InvalidParameter, match="too large"):
        Enclosure.of(10**6).exp().above()
    with pytest.raises(InvalidParameter, match="too large"):
        Enclosure.of(10**300).exp().above()


def test_operations_without_an_answer_are_refused():
    with pytest.raises(InvalidParameter, match="zero"):
        Enclosure.of(1) / 0
    with pytest.raises(InvalidParameter, match="positive"):
        Enclosure.of(0).log()
    with pytest.raises(InvalidParameter, match="negative"):
        Enclosure.of(-1).sqrt()


def test_a_running_sum_of_decimals_is_exact():
    total = Fraction(0)
    for _ in range(1000):
        total = added(total, Fraction("1e-300"))
    assert total == Fraction("1e-297")


def test_a_running_sum_of_one_odd_fraction_is_exact():
    total = Fraction(0)
    for _ in range(1009):
        total = added(total, Fraction(1, 1009))
    assert total == 1


def test_a_running_sum_of_hostile_denominators_stays_small_and_never_falls_short():
    chance = random.Random(5)
    total, true = Fraction(0), Fraction(0)
    for _ in range(300):
        cost = Fraction(chance.getrandbits(100) + 1, chance.getrandbits(120) | 1)
        total, true = added(total, cost), true + cost
        assert total.denominator <= GRID
        assert true <= total <= true + Fraction(300, GRID)
    assert true.denominator.bit_length() > 2 * GRID.bit_length()  # the guard was needed


@given(st.fractions())
def test_a_double_above_is_no_lower_and_the_one_before_it_is(value):
    found = double_above(value)
    assert Fraction(found) >= value
    assert Fraction(math.nextafter(found, -math.inf)) < value
