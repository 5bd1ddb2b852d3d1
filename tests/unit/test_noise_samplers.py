"""Whole-number noise: how digits become numbers, what happens at the ends, what is refused."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from functools import partial

import mpmath
import numpy as np
import pytest

from support.sources import Counted, Scripted, Seeded, Then, words16, words64
from tacit import noise
from tacit.errors import InvalidParameter
from tacit.noise import (
    MAX_SCALE,
    MAX_SIGMA,
    categorical,
    discrete_gaussian,
    geometric,
    saturating_add,
    two_sided_geometric,
    whole_numbers,
)
from tacit.noise.coins import flip_exp
from tacit.noise.geometric import _FEW, _planes, _summed, geometric_array

LARGEST = 2**63 - 1
SMALLEST = -(2**63)
NO = 0xFFFF  # a word above every threshold that is not a certainty


def _scripted(scale: int | Fraction, yes: set[str], *, more: list[bytes], two_sided: bool) -> Scripted:
    """One draw whose coins all fall False, but for those named."""
    planes = _planes(Fraction(scale), two_sided=two_sided, chunk=16)
    names = [str(j) for j in range(planes.width)] + ["carry", "sign", "zero"]
    return Scripted([words16(*(0 if names[row] in yes else NO for row in range(len(planes.coins)))), *more])


@pytest.mark.parametrize("digits", [(), (0,), (1,), (0, 3), (2, 5)])
def test_digits_add_up_to_the_number(digits: tuple[int, ...]) -> None:
    source = _scripted(10, {str(digit) for digit in digits}, more=[], two_sided=False)
    assert geometric(10, source=source) == sum(1 << digit for digit in digits)


@pytest.mark.parametrize(
    ("yes", "number"), [(set(), 1), ({"sign"}, -1), ({"zero"}, 0), ({"zero", "sign", "0"}, 0), ({"1", "sign"}, -3)]
)
def test_sign_and_zero_are_coins_of_their_own(yes: set[str], number: int) -> None:
    assert two_sided_geometric(10, source=_scripted(10, yes, more=[], two_sided=True)) == number


def _zeros_until_settled(scale: int) -> list[bytes]:
    """A carry is so rare that its word, 0, is a tie; the zeros that settle it."""
    planes, bits, zeros = _planes(Fraction(scale), two_sided=False, chunk=16), 16, []
    while planes.carry.digits(bits) == 0:
        zeros.append(bytes(8))
        bits += 64
    return zeros


@pytest.mark.parametrize("scale", [1, 10, 1 << 40])
@pytest.mark.parametrize("rounds", [1, 2, 3])
def test_a_number_beyond_its_digits_starts_again(scale: int, rounds: int) -> None:
    zeros = _zeros_until_settled(scale)
    again = [piece for _ in range(rounds - 1) for piece in (words16(0), *zeros)]
    source = _scripted(scale, {"0", "carry"}, more=[*zeros, *again, words16(NO)], two_sided=False)
    width = _planes(Fraction(scale), two_sided=False, chunk=16).width
    assert geometric(scale, source=source) == 1 + (rounds << width)
    assert source.left == 0


@pytest.mark.parametrize("yes", [{"carry"}, {"carry", "sign"}])
def test_noise_saturates_at_both_ends_of_64_bits(yes: set[str]) -> None:
    zeros = _zeros_until_settled(MAX_SCALE)
    source = _scripted(MAX_SCALE, yes, more=[*zeros, words16(0), *zeros, words16(NO)], two_sided=True)
    assert two_sided_geometric(MAX_SCALE, source=source) == (-LARGEST if "sign" in yes else LARGEST)


def test_one_sided_noise_saturates_too() -> None:
    zeros = _zeros_until_settled(MAX_SCALE)
    source = _scripted(MAX_SCALE, {"carry"}, more=[*zeros, words16(0), *zeros, words16(NO)], two_sided=False)
    assert geometric(MAX_SCALE, source=source) == LARGEST


@pytest.mark.parametrize("chunk", [1, 2])
@pytest.mark.parametrize("scale", [Fraction(1, 100), Fraction(1, 50)], ids=str)
def test_all_words_of_a_few_bits_give_the_law_up_to_the_mass_of_ties(scale: Fraction, chunk: int) -> None:
    """Digit, carry, sign and zero: every combination of their words once, as one vector."""
    planes = _planes(scale, two_sided=True, chunk=chunk)
    rows = len(planes.coins)
    assert rows == 4
    words = np.array(list(itertools.product(range(1 << chunk), repeat=rows)), dtype=np.uint16).T
    tied = (words == planes.heads[:, np.newaxis]).any(axis=0)
    first = np.ascontiguousarray(words << np.uint16(16 - chunk)).tobytes()
    numbers = geometric_array(scale, words.shape[1], source=Then(first, Seeded(3)), two_sided=True, chunk=chunk)
    slack = Fraction(int(tied.sum()), tied.size)
    q = mpmath.exp(-mpmath.mpf(scale.denominator) / scale.numerator)
    for number in (-2, -1, 0, 1, 2):
        settled = Fraction(int(((numbers == number) & ~tied).sum()), tied.size)
        true = float((1 - q) / (1 + q) * q ** abs(number))
        assert float(settled) <= true + 1e-12
        assert true <= float(settled + slack)


@pytest.mark.parametrize("scale", [1, 10, 1000, 1 << 40])
def test_the_work_of_a_draw_does_not_depend_on_it(scale: int) -> None:
    asked = set()
    for start in range(40):
        source = Counted(Seeded(start))
        two_sided_geometric(scale, source=source)
        asked.add(tuple(source.asked))
    assert len(asked) == 1


@pytest.mark.parametrize(
    "sigma", [Fraction(1, 2), Fraction(1), Fraction(22, 7), Fraction(1000), Fraction(1 << 40)], ids=str
)
def test_a_gaussian_decided_by_doubles_is_the_one_decided_by_exact_digits(
    sigma: Fraction, monkeypatch: pytest.MonkeyPatch
) -> None:
    quick = discrete_gaussian(sigma, size=200, source=Seeded(7))
    monkeypatch.setattr(sys.modules["tacit.noise.gaussian"], "flip_exp", partial(flip_exp, margin=1.0))
    assert discrete_gaussian(sigma, size=200, source=Seeded(7)).tolist() == quick.tolist()


def test_what_is_kept_by_doubles_is_what_is_kept_by_exact_digits(monkeypatch: pytest.MonkeyPatch) -> None:
    scores = np.arange(-40, 1).repeat(5)
    quick = noise.keep_each(scores, "1/7", source=Seeded(8))
    monkeypatch.setattr(sys.modules["tacit.noise.categorical"], "flip_exp", partial(flip_exp, margin=1.0))
    assert noise.keep_each(scores, "1/7", source=Seeded(8)).tolist() == quick.tolist()
    assert 0 < quick.sum() < quick.size


@pytest.mark.parametrize("draw", [geometric, two_sided_geometric, discrete_gaussian])
@pytest.mark.parametrize("size", [0, 1, 2, 16_383, 16_384, 16_385, 50_000])
def test_as_many_numbers_come_as_were_asked_for(draw: Callable[..., np.ndarray], size: int) -> None:
    numbers = draw(100, size=size)
    assert numbers.shape == (size,)
    assert numbers.dtype == np.int64
    assert size < 1000 or len(set(numbers.tolist())) > 100
    assert size < 50_000 or (numbers[-1000:] != numbers[0]).any()


@pytest.mark.parametrize("draw", [geometric, two_sided_geometric, discrete_gaussian])
def test_one_number_is_a_python_int(draw: Callable[..., object]) -> None:
    assert type(draw(10)) is int


@pytest.mark.parametrize("scale", ["1e-9", "1e-5", "1e-300", Fraction(1, 10**400), "1/1000"])
@pytest.mark.parametrize("draw", [geometric, two_sided_geometric, discrete_gaussian])
def test_scales_too_small_to_matter_end_without_a_warning(draw: Callable[..., np.ndarray], scale: str) -> None:
    assert not draw(scale, size=100).any()


@pytest.mark.parametrize("scale", [MAX_SCALE, str(MAX_SCALE), Fraction(MAX_SCALE) - Fraction(1, 3)])
def test_the_largest_scale_is_accepted(scale: int) -> None:
    assert np.abs(two_sided_geometric(scale, size=1000)).max() > MAX_SCALE


def test_the_largest_sigma_is_accepted() -> None:
    assert np.abs(discrete_gaussian(MAX_SIGMA, size=1000)).max() > MAX_SIGMA


NOT_POSITIVE = [0, -1, 0.0, -0.0, "-1/3", "0", "-1e-300", Fraction(-1, 10**9), Decimal(0)]
NOT_FINITE = [float("nan"), float("inf"), float("-inf"), "nan", "inf", "-Infinity", Decimal("NaN"), Decimal("Infinity")]
NOT_NUMBERS = [
    True,
    False,
    None,
    "",
    " ",
    "0x1",
    "1e400",
    "1e-400",
    "1_000",
    "one",
    "1/0",
    "ε",
    b"1",
    [1],
    1j,
    "1" * 61,
]
SAMPLERS: dict[str, Callable[[object], object]] = {
    "geometric": geometric,
    "two_sided_geometric": two_sided_geometric,
    "discrete_gaussian": discrete_gaussian,
    "categorical": lambda rate: noise.categorical(np.array([1, 2]), rate),
    "keep_each": lambda rate: noise.keep_each(np.array([1, 2]), rate),
}


@pytest.mark.parametrize("name", SAMPLERS)
@pytest.mark.parametrize("value", NOT_POSITIVE + NOT_FINITE + NOT_NUMBERS, ids=repr)
def test_a_scale_that_is_no_positive_number_is_refused(name: str, value: object) -> None:
    with pytest.raises(InvalidParameter):
        SAMPLERS[name](value)


@pytest.mark.parametrize("value", [*NOT_FINITE, *NOT_NUMBERS, -1, "-1e-9"], ids=repr)
def test_a_chance_or_rate_that_is_no_number_is_refused(value: object) -> None:
    with pytest.raises(InvalidParameter):
        noise.bernoulli(value)
    with pytest.raises(InvalidParameter):
        noise.bernoulli_exp(value)


@pytest.mark.parametrize("chance", ["1.0000001", 2, -0.1])
def test_a_chance_outside_zero_and_one_is_refused(chance: object) -> None:
    with pytest.raises(InvalidParameter, match="between 0 and 1"):
        noise.bernoulli(chance)


@pytest.mark.parametrize("scale", [MAX_SCALE + 1, "1e18", "1e300", Fraction(10**400)])
def test_a_scale_that_would_overflow_is_refused(scale: object) -> None:
    for draw in (geometric, two_sided_geometric):
        with pytest.raises(InvalidParameter, match="too large") as caught:
            draw(scale)
        assert caught.value.hint


@pytest.mark.parametrize("sigma", [MAX_SIGMA + 1, "1e15", "1e300", Fraction(10**400)])
def test_a_sigma_that_would_overflow_is_refused(sigma: object) -> None:
    with pytest.raises(InvalidParameter, match="too large"):
        discrete_gaussian(sigma)


@pytest.mark.parametrize("size", [-1, 1.5, True, "3", np.array([3])])
def test_a_size_that_is_no_count_is_refused(size: object) -> None:
    for draw in (
        lambda: geometric(1, size=size),
        lambda: two_sided_geometric(1, size=size),
        lambda: discrete_gaussian(1, size=size),
        lambda: noise.bernoulli("1/2", size),
        lambda: noise.bernoulli_exp(1, size),
        lambda: noise.uniform_integer(6, size),
    ):
        with pytest.raises(InvalidParameter, match="the size"):
            draw()


@pytest.mark.parametrize("below", [0, -1, 2**63 + 1, 2.0, True, "6", None])
def test_a_range_that_is_no_count_is_refused(below: object) -> None:
    with pytest.raises(InvalidParameter, match="the range"):
        noise.uniform_integer(below)


@pytest.mark.parametrize(
    "scores", [[], np.array([]), [0.5, 1.7], np.array([0.5]), [[1, 2]], ["a"], [True], [None], 3.5]
)
def test_scores_that_are_no_whole_numbers_are_refused(scores: object) -> None:
    for draw in (noise.categorical, noise.keep_each):
        with pytest.raises(InvalidParameter):
            draw(scores, 1)


@pytest.mark.parametrize(
    ("value", "added", "total"),
    [
        (LARGEST, 1, LARGEST),
        (LARGEST, LARGEST, LARGEST),
        (SMALLEST, -1, SMALLEST),
        (SMALLEST, SMALLEST, SMALLEST),
        (LARGEST, SMALLEST, -1),
        (LARGEST, -1, LARGEST - 1),
        (SMALLEST, LARGEST, -1),
        (5, -7, -2),
    ],
)
def test_sums_stop_at_the_ends(value: int, added: int, total: int) -> None:
    sums = saturating_add(np.array([value], dtype=np.int64), np.array([added], dtype=np.int64))
    assert sums.tolist() == [total]
    assert sums.dtype == np.int64


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (7, [7]),
        (np.int32(7), [7]),
        ([1, 2], [1, 2]),
        ((1, np.int64(2)), [1, 2]),
        (range(3), [0, 1, 2]),
        ([10**30, -(10**30)], [LARGEST, SMALLEST]),
        (np.array([2**64 - 1], dtype=np.uint64), [LARGEST]),
        (np.array([-5], dtype=np.int8), [-5]),
        (np.array([1, 2], dtype=">i4"), [1, 2]),
        ([], []),
    ],
)
def test_whole_numbers_are_held_at_the_ends(values: object, expected: list[int]) -> None:
    numbers = whole_numbers(values)
    assert numbers.tolist() == expected
    assert numbers.dtype == np.int64


@pytest.mark.parametrize(
    "values",
    [1.0, True, None, "12", b"12", [1.0], [True], ["1"], np.array([1.0]), np.array([True]), {1: 2}, np.float64(3)],
)
def test_what_is_not_a_whole_number_is_refused(values: object) -> None:
    with pytest.raises(InvalidParameter, match="only whole numbers"):
        whole_numbers(values)


def test_public_names_are_listed_and_exist() -> None:
    assert sorted(noise.__all__) == sorted(set(noise.__all__))
    assert all(hasattr(noise, name) for name in noise.__all__)


def test_a_choice_next_to_a_dyadic_boundary_is_made_at_once() -> None:
    scores = np.array([0, 0, -(2**62)])  # the boundary is 1/2, less exp(−2^62) / 4: no precision ever tells it from 1/2
    for word, chosen in ((2**63 - 1, 0), (2**63, 1)):
        assert categorical(scores, 1, source=Then(words64(word), Seeded(7))) == chosen


@pytest.mark.parametrize("scale", [Fraction(1, 3), 1, 1000, 2**31, MAX_SCALE])
def test_few_draws_are_made_of_their_digits_as_many_are(scale: int | Fraction) -> None:
    planes = _planes(Fraction(scale), two_sided=True, chunk=16)
    digits = np.random.default_rng(7).random((planes.width, _FEW)) < 0.5
    digits[:, :2] = [[True, False]] * planes.width  # the largest number and the least
    assert planes.width <= 62
    assert (planes.weights @ digits).tolist() == _summed(digits).tolist()
    assert (planes.weights @ digits)[:2].tolist() == [2**planes.width - 1, 0]
