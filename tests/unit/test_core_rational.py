"""Numbers as people write them become exact, or are refused by name."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from tacit.core import decimal_text, positive, probability, rational, sqrt_above
from tacit.errors import InvalidParameter


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (0.1, Fraction(1, 10)),
        (1e-9, Fraction(1, 10**9)),
        (1e300, Fraction(10**300)),
        (-0.0, Fraction(0)),
        ("0.1", Fraction(1, 10)),
        ("1/3", Fraction(1, 3)),
        (" 2 / 6 ", Fraction(1, 3)),
        ("-1.5e-3", Fraction(-3, 2000)),
        ("+.5", Fraction(1, 2)),
        ("5.", Fraction(5)),
        ("1E3", Fraction(1000)),
        (7, Fraction(7)),
        (np.int64(7), Fraction(7)),
        (np.uint8(7), Fraction(7)),
        (np.float64(0.1), Fraction(1, 10)),
        (Fraction(22, 7), Fraction(22, 7)),
        (Decimal("0.10"), Fraction(1, 10)),
        (Decimal("1E+3"), Fraction(1000)),
        ("1e300", Fraction(10**300)),
        ("1e-300", Fraction(1, 10**300)),
    ],
    ids=repr,
)
def test_a_number_means_what_it_says(written: object, meant: Fraction) -> None:
    assert rational(written) == meant
    assert type(rational(written)) is Fraction


@pytest.mark.parametrize("value", [True, False, None, b"1", [1], 1j, {}, np.bool_(True), np.float32(1)], ids=repr)
def test_what_is_not_a_number_is_refused(value: object) -> None:
    with pytest.raises(InvalidParameter, match="epsilon is not a number"):
        rational(value, "epsilon")


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "nan",
        "NaN",
        "inf",
        "-Infinity",
        "0x1",
        "1_000",
        "1,5",
        "1e",
        "e5",
        "--1",
        "1/",
        "/2",
        "1/2/3",
        "1.5/2",
        "1/-2",
        "½",
    ],
)
def test_text_that_is_not_a_number_is_refused(text: str) -> None:
    with pytest.raises(InvalidParameter, match="is not a number"):
        rational(text)


@pytest.mark.parametrize(
    "value", [float("nan"), float("inf"), float("-inf"), Decimal("NaN"), Decimal("-Infinity")], ids=repr
)
def test_what_is_not_finite_is_refused(value: object) -> None:
    with pytest.raises(InvalidParameter, match="is not finite"):
        rational(value)


@pytest.mark.parametrize("value", ["1e400", "1e-400", "1e301", "9" * 61, "1e99999999999999999999", 1e308, 5e-324])
def test_numbers_of_absurd_size_are_refused(value: object) -> None:
    with pytest.raises(InvalidParameter, match="too many digits"):
        rational(value)


def test_a_long_text_is_refused_for_its_length_before_it_is_read() -> None:
    with pytest.raises(InvalidParameter, match="too many digits"):
        rational("1" * 100 + "x")


def test_a_signalling_nan_is_refused_by_name() -> None:
    with pytest.raises(InvalidParameter):
        rational(Decimal("sNaN"))


def test_a_refusal_of_a_huge_number_is_still_a_refusal() -> None:
    with pytest.raises(InvalidParameter):
        positive(Fraction(-(10**5000)), "the scale")


def test_a_division_by_zero_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="divides by zero"):
        rational("1/0")


def test_a_refusal_shows_only_the_beginning_of_a_long_text() -> None:
    with pytest.raises(InvalidParameter) as caught:
        rational("9" * 10_000)
    assert len(caught.value.message) < 100


@pytest.mark.parametrize("value", [0, -1, "-1e-300", 0.0])
def test_positive_means_greater_than_zero(value: object) -> None:
    with pytest.raises(InvalidParameter, match="the scale must be greater than zero"):
        positive(value, "the scale")


@pytest.mark.parametrize("value", [0, 1, -0.5, 1.5, "1e300"])
def test_a_probability_lies_strictly_between_zero_and_one(value: object) -> None:
    with pytest.raises(InvalidParameter, match="strictly between 0 and 1"):
        probability(value, "delta")


@pytest.mark.parametrize(
    ("number", "text"),
    [
        ("0", "0"),
        ("7", "7"),
        ("-7", "-7"),
        ("1/2", "0.5"),
        ("-1/8", "-0.125"),
        ("1/3", "1/3"),
        ("-22/7", "-22/7"),
        ("1e-6", "0.000001"),
        ("1e-7", "1e-7"),
        ("-3.25e-9", "-3.25e-9"),
        ("1234567.25", "1234567.25"),
        ("1e20", "100000000000000000000"),
        ("0.1000001", "0.1000001"),
    ],
)
def test_numbers_are_shown_short_and_exact(number: str, text: str) -> None:
    assert decimal_text(Fraction(number)) == text
    assert rational(text) == Fraction(number)


@pytest.mark.parametrize(
    ("square", "root"), [("0", "0"), ("1", "1"), ("4", "2"), ("1/4", "1/2"), ("9/16", "3/4"), ("1e40", "1e20")]
)
def test_perfect_squares_have_their_root(square: str, root: str) -> None:
    assert sqrt_above(Fraction(square)) == Fraction(root)


def test_a_negative_number_has_no_root() -> None:
    with pytest.raises(InvalidParameter):
        sqrt_above(Fraction(-1))
