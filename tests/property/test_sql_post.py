"""Arithmetic over noisy numbers: the interval that is carried along holds the truth."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tacit.sql.binding import post
from tacit.sql.binding.conditions import Condition

VALUES = st.floats(-1e6, 1e6, allow_nan=False)
WIDTHS = st.floats(0, 1e5)
SHARES = st.floats(0, 1)
CONSTANTS = st.fractions(-100, 100, max_denominator=50)
MEASURES = 3

TREES = st.recursive(
    st.one_of(st.builds(post.Ref, st.integers(0, MEASURES - 1)), st.builds(post.Number, CONSTANTS)),
    lambda inner: st.one_of(
        st.builds(post.Sum, inner, inner),
        st.builds(post.Product, inner, inner),
        st.builds(post.Quotient, inner, inner, st.sampled_from([None, Fraction(1)])),
        st.builds(lambda i, a, b: post.Clamped(i, min(a, b), max(a, b)), inner, CONSTANTS, CONSTANTS),
        st.builds(lambda i, a: post.Clamped(i, a, None), inner, CONSTANTS),
        st.builds(post.Root, inner),
        st.builds(post.Absolute, inner),
        st.builds(post.Rounded, inner, st.integers(0, 3)),
    ),
    max_leaves=8,
)


def truth(tree: post.Post, values: list[float]) -> float:
    """The same arithmetic over exact values. NaN where it has no value."""
    match tree:
        case post.Ref(place):
            return values[place]
        case post.Number(value):
            return float(value)
        case post.Sum(left, right):
            return truth(left, values) + truth(right, values)
        case post.Product(left, right):
            return truth(left, values) * truth(right, values)
        case post.Quotient(left, right, least):
            below = truth(right, values)
            nothing = below == 0 if least is None else below < float(least)  # so few rows have no average
            return math.nan if nothing else truth(left, values) / below
        case post.Clamped(inner, low, high):
            held = truth(inner, values)
            return min(max(held, -math.inf if low is None else float(low)), math.inf if high is None else float(high))
        case post.Root(inner):
            return math.sqrt(max(truth(inner, values), 0.0))
        case post.Absolute(inner):
            return abs(truth(inner, values))
        case post.Rounded(inner, places):
            return rounded(truth(inner, values), places)
    raise AssertionError(tree)


def divides(tree: post.Post) -> bool:
    """Whether a quotient stands anywhere in it: its value is NULL where the divisor happens to be."""
    if isinstance(tree, post.Quotient):
        return True
    parts = [getattr(tree, name, None) for name in ("left", "right", "inner")]
    return any(divides(part) for part in parts if part is not None)


def rounded(value: float, places: int) -> float:
    """Halves away from zero, as SQL rounds."""
    scaled = value * 10.0**places
    if not math.isfinite(scaled):
        return value
    whole = math.trunc(scaled)
    return (whole + math.copysign(abs(scaled - whole) >= 0.5, scaled)) / 10.0**places


@settings(max_examples=300, deadline=None)
@given(
    tree=TREES,
    parts=st.lists(st.tuples(VALUES, WIDTHS, SHARES), min_size=MEASURES, max_size=MEASURES),
)
def test_the_interval_of_an_expression_holds_its_true_value(tree, parts):
    bands, values = [], []
    for value, width, share in parts:
        low, high = value - width, value + width
        bands.append(post.Band(np.array([value]), np.array([low]), np.array([high])))
        values.append(min(max(low + share * (high - low), low), high))
    exact = truth(tree, values)
    assume(not math.isnan(exact) and abs(exact) < 1e30)
    band = post.evaluate(tree, bands)
    slack = 1e-6 * max(1.0, abs(exact))
    assert divides(tree) or not np.isnan(band.value).any()
    assert band.low[0] <= exact + slack
    assert band.high[0] >= exact - slack


VARIANCE = post.Sum(
    post.Quotient(post.Ref(2), post.Ref(0), Fraction(1)),
    post.Product(
        post.Number(Fraction(-1)),
        post.Product(
            post.Quotient(post.Ref(1), post.Ref(0), Fraction(1)), post.Quotient(post.Ref(1), post.Ref(0), Fraction(1))
        ),
    ),
)


@settings(max_examples=300, deadline=None)
@given(
    count=st.integers(1, 10**12),
    centre=st.integers(-(2**31), 2**31),
    spread=st.integers(0, 2**31),
    noise=st.integers(1, 2**62),
    off=st.floats(-1, 1),
)
def test_what_doubles_lose_where_large_terms_cancel_is_in_the_interval(count, centre, spread, noise, off):
    """Σx² / n − (Σx / n)² of a trillion large numbers that hardly differ: nearly all of the digits cancel."""
    total = count * centre
    squares = count * (centre * centre + spread * spread) + round(off * noise)
    exact = Fraction(squares, count) - Fraction(total, count) ** 2
    widths = (0.0, 0.0, float(noise))
    points = [np.array([number], dtype=object).astype(np.float64) for number in (count, total, squares)]
    bands = [post.around(p, width) for p, width in zip(points, widths, strict=True)]
    band = post.evaluate(VARIANCE, bands)
    assert abs(Fraction(float(band.value[0])) - exact) <= Fraction(float(band.error[0]))


def test_exact_numbers_have_no_error_however_large():
    large = post.Number(Fraction(10**30))
    assert post.evaluate(post.Sum(large, post.Product(post.Number(Fraction(-1)), large)), []).error.tolist() == [0.0]


def test_halves_are_rounded_away_from_zero():
    halves = np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 0.49999999999999994, -0.49999999999999994, 1e300, np.inf])
    band = post.evaluate(post.Rounded(post.Ref(0), 0), [post.Band(halves, halves, halves)])
    assert band.value.tolist() == [-3, -2, -1, 1, 2, 3, 0, 0, 1e300, np.inf]
    tenths = post.evaluate(post.Rounded(post.Ref(0), 1), [post.Band(halves / 10, halves / 10, halves / 10)])
    assert tenths.value.tolist()[:6] == [-0.3, -0.2, -0.1, 0.1, 0.2, 0.3]


@given(tree=TREES)
def test_renumbering_every_measurement_and_back_changes_nothing(tree):
    there = {place: post.Ref(place + 10) for place in range(MEASURES)}
    back = {place + 10: post.Ref(place) for place in range(MEASURES)}
    assert post.substitute(post.substitute(tree, there), back) == tree
    assert post.refs(post.substitute(tree, there)) == {place + 10 for place in post.refs(tree)}


LINEAR = st.recursive(
    st.integers(0, MEASURES - 1).map(post.Ref),
    lambda inner: st.one_of(
        st.builds(post.Sum, inner, inner),
        st.builds(post.Product, st.integers(-9, 9).map(lambda n: post.Number(Fraction(n, 4))), inner),
    ),
    max_leaves=6,
)


@given(tree=LINEAR, value=VALUES, width=WIDTHS)
def test_a_linear_expression_has_the_same_error_whatever_is_measured(tree, value, width):
    assert post.is_linear(tree)
    errors = []
    for centre in (value, value + 1000.0):
        point = np.array([centre])
        bands = [post.Band(point, point - width, point + width)] * MEASURES
        errors.append(float(post.evaluate(tree, bands).error[0]))
    assert math.isclose(errors[0], errors[1], rel_tol=1e-6, abs_tol=1e-2)


def test_products_and_quotients_of_measurements_are_not_linear():
    one, other = post.Ref(0), post.Ref(1)
    assert not any(map(post.is_linear, (post.Product(one, other), post.Quotient(one, other), post.Root(one))))
    assert post.is_linear(post.Sum(one, post.Product(post.Number(Fraction(2)), other)))


def test_conditions_join_as_in_logic_and_hold_group_by_group():
    counts = post.Band(np.array([1.0, 5.0, 9.0]), np.zeros(3), np.zeros(3))
    over = Condition(">", (post.Ref(0), post.Number(Fraction(2))))
    under = Condition("<=", (post.Ref(0), post.Number(Fraction(5))))
    assert over.holds([counts]).tolist() == [False, True, True]
    assert Condition("AND", parts=(over, under)).holds([counts]).tolist() == [False, True, False]
    assert Condition("OR", parts=(over, under)).holds([counts]).tolist() == [True, True, True]
    assert Condition("NOT", parts=(over,)).holds([counts]).tolist() == [True, False, False]


def test_a_quotient_of_two_that_may_be_anything_may_be_anything():
    same = post.Quotient(post.Ref(0), post.Ref(0))
    tree = post.Quotient(post.Ref(0), post.Quotient(same, same, Fraction(1)))
    band = post.evaluate(tree, [post.Band(np.zeros(1), np.full(1, -1.0), np.full(1, 1.0))])
    assert (band.low[0], band.high[0]) == (-math.inf, math.inf)
