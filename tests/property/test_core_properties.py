"""What holds for every number, loss and budget."""

from __future__ import annotations

import math
from fractions import Fraction

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tacit.core import NOTHING, Adjacency, Bounds, Budget, Loss, decimal_text, rational, sqrt_above
from tacit.errors import InvalidParameter

EVERY = settings(max_examples=500, deadline=None)
wholes = st.integers(min_value=-(10**12), max_value=10**12)
parts = st.integers(1, 10**9)
fractions = st.builds(Fraction, st.integers(-(10**12), 10**12), parts)
epsilons = st.builds(Fraction, st.integers(0, 10**9), parts)
deltas = st.builds(lambda one, other: Fraction(min(one, other) - 1, max(one, other)), parts, parts)
losses = st.builds(Loss, epsilons, deltas)
anything_positive = st.one_of(
    st.builds(Fraction, st.integers(0, 10**30), st.integers(1, 10**30)),
    st.builds(Fraction, st.integers(0, 10**300), st.integers(1, 10**300)),
)


@EVERY
@given(st.floats(allow_nan=False, allow_infinity=False, min_value=-1e290, max_value=1e290))
def test_a_float_means_the_decimal_it_prints_as(value: float) -> None:
    assume(value == 0 or abs(value) > 1e-290)
    assert rational(value) == Fraction(repr(value))
    assert float(rational(value)) == value


@EVERY
@given(st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**20), max_value=10**20, places=10))
def test_a_decimal_means_itself(value: object) -> None:
    assert rational(value) == Fraction(value)  # type: ignore[arg-type]


@EVERY
@given(st.one_of(fractions, st.decimals(-(10**15), 10**15, places=12).map(Fraction)))
def test_what_is_shown_reads_back(value: Fraction) -> None:
    text = decimal_text(value)
    assume(len(text) <= 60)
    assert rational(text) == value


@EVERY
@given(st.one_of(st.text(max_size=80), st.text(alphabet="0123456789+-./eE \t", max_size=70)))
def test_any_text_is_a_number_or_a_refusal(text: str) -> None:
    try:
        value = rational(text)
    except InvalidParameter:
        return
    assert value == Fraction("".join(text.split()))


@EVERY
@given(anything_positive)
def test_a_root_is_never_too_small_and_hardly_too_large(value: Fraction) -> None:
    root = sqrt_above(value)
    assert root * root >= value
    assert root * root <= value * (1 + Fraction(1, 2**60))


@EVERY
@given(anything_positive)
def test_a_root_is_the_least_on_its_grid(value: Fraction) -> None:
    root = sqrt_above(value)
    assume(root > 0)
    size = (value.numerator.bit_length() - value.denominator.bit_length()) // 2
    step = Fraction(1, 2 ** max(0, 64 - size))
    assert (root / step).denominator == 1
    assert (root - step) ** 2 < value


@EVERY
@given(st.integers(0, 10**30))
def test_the_root_of_a_square_is_exact(value: int) -> None:
    assert sqrt_above(Fraction(value * value)) == value
    assert sqrt_above(Fraction(value * value, 10**10)) >= Fraction(value, 10**5)
    assert math.isqrt(value * value) == value


@EVERY
@given(losses, losses, losses)
def test_losses_add_in_any_order(first: Loss, second: Loss, third: Loss) -> None:
    assert first + second == second + first
    assert (first + second) + third == first + (second + third)
    assert first + NOTHING == first


@EVERY
@given(losses, st.integers(1, 30))
def test_times_is_repeated_addition(loss: Loss, times: int) -> None:
    assert loss * times == times * loss == sum([loss] * times, NOTHING)


@EVERY
@given(losses, losses)
def test_composition_never_costs_less_than_a_part(first: Loss, second: Loss) -> None:
    assert first.within(first + second)
    assert second.within(first + second)


@EVERY
@given(losses, losses, epsilons, deltas)
def test_a_budget_that_covers_both_has_room_for_the_second(
    first: Loss, second: Loss, epsilon: Fraction, delta: Fraction
) -> None:
    budget = Budget(epsilon, delta)
    if first.delta + second.delta <= 1 and budget.covers(first):
        assert budget.covers(first + second) == budget.minus(first).covers(second)


@EVERY
@given(wholes, wholes, st.builds(Fraction, parts, parts))
def test_sensitivity_is_the_most_a_row_can_do(first: int, second: int, step: Fraction) -> None:
    assume(first < second)
    bounds = Bounds(first * step, second * step, step=step)
    assert (bounds.lower_units, bounds.upper_units, bounds.cells) == (first, second, second - first + 1)
    assert bounds.row_sensitivity(Adjacency.ADD_REMOVE) == max(abs(first), abs(second))
    assert bounds.row_sensitivity(Adjacency.REPLACE) == second - first
    assert bounds.row_sensitivity(Adjacency.REPLACE) <= 2 * bounds.row_sensitivity(Adjacency.ADD_REMOVE)
