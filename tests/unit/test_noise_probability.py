"""Binary digits of probabilities, against an independent implementation to 240 digits and beyond."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from tacit.core.enclosure import exp_interval
from tacit.noise.categorical import _boundary
from tacit.noise.coarsening import unchanged
from tacit.noise.probability import Enclosed, Probability, Ratio, exp_minus, logistic_minus, tanh_half

BITS = 240
EACH = 1500
FUNCTIONS: dict[str, tuple[Callable[[Fraction], Probability], Callable[[mpmath.mpf], mpmath.mpf]]] = {
    "exp(−x)": (exp_minus, lambda x: mpmath.exp(-x)),
    "1 / (1 + exp(x))": (logistic_minus, lambda x: 1 / (1 + mpmath.exp(x))),
    "tanh(x / 2)": (tanh_half, lambda x: mpmath.tanh(x / 2)),
}


def _rationals(count: int) -> Iterator[Fraction]:
    """Numbers of every size from 2^-60 to 2^7, with simple and with crooked denominators."""
    chance = random.Random(20)
    for _ in range(count):
        denominator = chance.choice([1, 2, 3, 10, chance.randrange(1, 10**6), chance.randrange(1, 1 << 64)])
        yield Fraction(int(2 ** chance.uniform(-60, 7) * denominator) + 1, denominator)


def _floor(value: mpmath.mpf, bits: int) -> int:
    return int(mpmath.floor(mpmath.ldexp(value, bits)))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_digits_agree_with_an_independent_implementation(name: str) -> None:
    ours, theirs = FUNCTIONS[name]
    with mpmath.workprec(BITS + 200):
        for x in _rationals(EACH):
            expected = theirs(mpmath.mpf(x.numerator) / x.denominator)
            assert ours(x).digits(BITS) == _floor(expected, BITS), x


def test_digits_of_a_ratio_are_those_of_long_division() -> None:
    chance = random.Random(21)
    for _ in range(EACH):
        denominator = chance.randrange(1, 1 << chance.randrange(1, 200))
        ratio = Fraction(chance.randrange(denominator + 1), denominator)
        rest, digits = ratio, 0
        if ratio == 1:
            continue
        for _ in range(BITS):
            rest *= 2
            digits = 2 * digits + int(rest)
            rest -= int(rest)
        assert Ratio(ratio).digits(BITS) == digits


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("bits", [1, 2, 3, 16, 80, 144, 1000])
def test_few_digits_are_the_beginning_of_many(name: str, bits: int) -> None:
    for x in _rationals(50):
        probability = FUNCTIONS[name][0](x)
        assert probability.digits(bits) == probability.digits(bits + 77) >> 77


@pytest.mark.parametrize("bits", [1, 16, 80, 400])
@pytest.mark.parametrize("x", ["1e5", "1e9", "1e17", "1e18", "1e300"])
def test_near_certainties_cost_no_more_than_others(x: str, bits: int) -> None:
    power = Fraction(x)
    assert tanh_half(power).digits(bits) == (1 << bits) - 1
    assert logistic_minus(power).digits(bits) == 0
    assert exp_minus(power).digits(bits) == 0


@pytest.mark.parametrize("x", ["1e-5", "1e-9", "1e-18", "1e-100"])
def test_probabilities_next_to_one_half_and_to_one_keep_their_digits(x: str) -> None:
    power = Fraction(x)
    with mpmath.workprec(1000):
        exact = mpmath.mpf(power.numerator) / power.denominator
        for ours, theirs in FUNCTIONS.values():
            assert ours(power).digits(500) == _floor(theirs(exact), 500)


def test_certainty_is_no_irrational_number() -> None:
    assert exp_minus(Fraction(0)) == Ratio(Fraction(1))


@pytest.mark.parametrize("precision", [5, 24, 29, 100])
def test_an_interval_holds_the_number_it_encloses(precision: int) -> None:
    with mpmath.workprec(1000):
        for x in _rationals(200):
            for power in (x, -x):
                low, high = exp_interval(power, precision)
                exact = mpmath.exp(mpmath.mpf(power.numerator) / power.denominator)
                assert mpmath.mpf(str(low)) < exact < mpmath.mpf(str(high))
                assert mpmath.mpf(str(high)) - mpmath.mpf(str(low)) < exact * 200 * mpmath.mpf(10) ** (2 - precision)


def test_a_wide_interval_is_narrowed_until_the_digits_are_settled() -> None:
    asked: list[int] = []
    root = tanh_half(Fraction(1))
    assert isinstance(root, Enclosed)

    def enclose(precision: int) -> tuple[object, object]:
        asked.append(precision)
        return root.enclose(max(1, precision // 8))

    assert Enclosed(enclose).digits(200) == root.digits(200)  # type: ignore[arg-type]
    assert len(asked) > 1


@pytest.mark.parametrize("scores", [[0, 1, 2], [3, 3, 1, 3], [0, 0, 5, 5], [7]])
@pytest.mark.parametrize("rate", [Fraction(1), Fraction(2, 7)], ids=str)
def test_boundaries_of_a_choice_agree_with_an_independent_implementation(scores: list[int], rate: Fraction) -> None:
    gaps = np.array([max(scores) - score for score in scores], dtype=np.uint64)
    with mpmath.workprec(BITS + 200):
        weights = [mpmath.exp(-mpmath.mpf(int(gap)) * rate.numerator / rate.denominator) for gap in gaps]
        for last in range(len(scores)):
            expected = mpmath.fsum(weights[: last + 1]) / mpmath.fsum(weights)
            if last + 1 == len(scores):
                expected = mpmath.mpf(1)
            assert _boundary(gaps, last, rate).digits(BITS) == _floor(expected, BITS)


def test_a_rational_boundary_is_recognised() -> None:
    gaps = np.array([0, 5, 0, 5, 5, 0], dtype=np.uint64)
    assert _boundary(gaps, 1, Fraction(1)) == Ratio(Fraction(1, 3))
    assert _boundary(gaps, 5, Fraction(1)) == Ratio(Fraction(1))
    assert isinstance(_boundary(gaps, 2, Fraction(1)), Enclosed)


def test_the_chance_that_coarsening_adds_nothing_agrees_with_an_independent_implementation() -> None:
    with mpmath.workprec(BITS + 400):
        for fine, more in zip(_rationals(300), _rationals(600), strict=False):
            coarse = fine + more
            q1, q2 = (mpmath.exp(-mpmath.mpf(scale.denominator) / scale.numerator) for scale in (coarse, fine))
            expected = ((1 - q1) / (1 - q2)) ** 2 * q2 / q1
            if expected > mpmath.mpf(2) ** -100:  # where the precision above is enough for the comparison
                assert unchanged(fine, coarse).digits(BITS) == _floor(expected, BITS), (fine, coarse)
