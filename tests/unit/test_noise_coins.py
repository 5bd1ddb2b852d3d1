"""Coins: what each random word decides, at the boundaries where floating point would get it wrong."""

from __future__ import annotations

import itertools
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from support.sources import Constant, Counted, Scripted, Seeded, Then, words16, words64
from tacit.errors import InvalidParameter
from tacit.noise import bernoulli, bernoulli_exp, categorical, keep_each, one_of, uniform_integer
from tacit.noise.categorical import gaps_below_best
from tacit.noise.coins import LazyUniform, first_digits, flip, flip_exp, flip_rows
from tacit.noise.probability import Probability, Ratio, exp_minus, logistic_minus, tanh_half

DYADIC: list[Probability] = [Ratio(Fraction(1, 2)), Ratio(Fraction(5, 8)), Ratio(Fraction(0))]
PROBABILITIES: list[Probability] = [
    Ratio(Fraction(1, 3)),
    Ratio(Fraction(6, 7)),
    exp_minus(Fraction(1)),
    exp_minus(Fraction(1, 1000)),
    logistic_minus(Fraction(1, 10)),
    logistic_minus(Fraction(3)),
    tanh_half(Fraction(2)),
]


@pytest.mark.parametrize("chunk", [1, 2, 3, 4, 8])
def test_every_word_is_decided_by_its_own_digits(chunk: int) -> None:
    """All words of `chunk` bits: below the probability's digits True, above False, and one tie, settled by more."""
    words = words16(*(word << (16 - chunk) for word in range(1 << chunk)))
    for probability in PROBABILITIES:
        threshold = probability.digits(chunk)
        for more, at_the_tie in ((b"\x00" * 8, True), (b"\xff" * 8, False)):
            source = Scripted([words, more])
            coins = flip(probability, 1 << chunk, source=source, chunk=chunk)
            expected = [word < threshold for word in range(1 << chunk)]
            expected[threshold] = at_the_tie
            assert coins.tolist() == expected
            assert source.left == 0


@pytest.mark.parametrize("chunk", [3, 4, 8])
def test_a_tie_with_a_number_that_has_no_more_digits_is_not_below_it(chunk: int) -> None:
    words = words16(*(word << (16 - chunk) for word in range(1 << chunk)))
    for probability in DYADIC:
        source = Scripted([words])  # nothing is left to wait for, so no more digits are drawn
        coins = flip(probability, 1 << chunk, source=source, chunk=chunk)
        assert coins.tolist() == [word < probability.digits(chunk) for word in range(1 << chunk)]
        assert source.left == 0


@pytest.mark.parametrize("chunk", [1, 2, 3])
def test_the_law_of_a_few_bits_is_exact_up_to_the_mass_of_ties(chunk: int) -> None:
    """Every combination of words for three coins at once: each outcome's true probability lies within the ties."""
    probabilities = PROBABILITIES[:3]
    combinations = np.array(list(itertools.product(range(1 << chunk), repeat=3)), dtype=np.uint16).T
    size = combinations.shape[1]
    first = np.ascontiguousarray(combinations << np.uint16(16 - chunk)).tobytes()
    heads = first_digits(probabilities, chunk)
    tied = (combinations == heads[:, np.newaxis]).any(axis=0)
    coins = flip_rows(probabilities, heads, size=size, source=Then(first, Constant(0)), chunk=chunk)
    exact = [Fraction(p.digits(200), 1 << 200) for p in probabilities]
    for outcome in itertools.product([False, True], repeat=3):
        hits = (coins == np.array(outcome)[:, np.newaxis]).all(axis=0)
        true = Fraction(1)
        for chance, up in zip(exact, outcome, strict=True):
            true *= chance if up else 1 - chance
        settled = Fraction(int((hits & ~tied).sum()), size)
        unsettled = Fraction(int(tied.sum()), size)
        assert settled - Fraction(1, 1 << 190) <= true <= settled + unsettled + Fraction(1, 1 << 190)


def test_a_tie_is_extended_for_as_long_as_it_lasts() -> None:
    probability = exp_minus(Fraction(2, 7))
    digits = probability.digits(16 + 3 * 64)
    pieces = [(digits >> shift & ((1 << 64) - 1)).to_bytes(8) for shift in (128, 64, 0)]
    below = (int.from_bytes(pieces[2]) - 1).to_bytes(8)
    above = (int.from_bytes(pieces[2]) + 1).to_bytes(8)
    for last, expected in ((below, True), (above, False)):
        source = Scripted([words16(digits >> 192), pieces[0], pieces[1], last])
        assert flip(probability, 1, source=source).tolist() == [expected]
        assert source.left == 0


@pytest.mark.parametrize("byte", [0, 255])
def test_certainties_come_true_whatever_is_drawn(byte: int) -> None:
    assert bernoulli(1, 5, source=Constant(byte)).all()
    assert bernoulli_exp(0, 5, source=Constant(byte)).all()
    assert not bernoulli(0, 5, source=_then(Constant(byte))).any()


def _then(source: Constant) -> Seeded | Constant:
    """All zeros would tie with an impossibility for ever, so let something follow."""
    return source if source._byte else Seeded(1)


def test_a_uniform_remembers_its_digits_between_questions() -> None:
    uniform = LazyUniform(0b10, 2, Scripted([b"\x80" + b"\x00" * 7]))
    assert uniform.below(Ratio(Fraction(3, 4)))
    assert not uniform.below(Ratio(Fraction(5, 9)))  # 0.10|1000… = 0.625
    assert uniform.below(Ratio(Fraction(2, 3)))


@pytest.mark.parametrize("rate", ["1e-18", "1/1000", "1/3", "1", "7/2", "20", "40"])
@pytest.mark.parametrize("offset", [-3, -2, -1, 1, 2, 3])
def test_words_next_to_the_boundary_are_decided_exactly(rate: str, offset: int) -> None:
    exact = Fraction(rate)
    boundary = exp_minus(exact).digits(64)
    word = boundary + offset
    if not 0 <= word < 1 << 64:
        pytest.skip("the boundary lies at the end of the words")
    coins = flip_exp(np.array([float(exact)]), lambda _: exact, source=Scripted([words64(word)]))
    assert coins.tolist() == [word < boundary]


def test_doubles_alone_would_decide_such_words_wrongly() -> None:
    """The power of the test above: without a margin the double is trusted, and some word goes the wrong way."""
    wrong = 0
    for numerator in range(1, 200):
        exact = Fraction(numerator, 97)
        word = exp_minus(exact).digits(64) - 1
        coins = flip_exp(
            np.array([float(exact)]), lambda _, exact=exact: exact, source=Scripted([words64(word)]), margin=-1.0
        )
        wrong += not coins[0]
    assert wrong > 0


def test_doubles_and_exact_digits_decide_alike() -> None:
    rates = [Fraction(n, 31) for n in range(1, 301)]
    doubles = np.array([float(rate) for rate in rates])
    quick = flip_exp(doubles, rates.__getitem__, source=Seeded(5))
    exact = flip_exp(doubles, rates.__getitem__, source=Seeded(5), margin=1.0)
    assert quick.tolist() == exact.tolist()
    assert 0 < quick.sum() < 300


@pytest.mark.parametrize("scores", [[0, 1, 2], [0, -700, 3, 3], [10**6, 0], [2**63 - 1, -(2**63), 2**63 - 3]])
@pytest.mark.parametrize("rate", [Fraction(1, 3), Fraction(2)], ids=str)
def test_a_choice_is_decided_exactly_next_to_every_boundary(scores: list[int], rate: Fraction) -> None:
    with mpmath.workprec(400):
        gaps = [max(scores) - score for score in scores]
        weights = [mpmath.exp(-mpmath.mpf(gap) * rate.numerator / rate.denominator) for gap in gaps]
        reach = [mpmath.fsum(weights[: last + 1]) / mpmath.fsum(weights) for last in range(len(scores))]
        cuts = [min(int(mpmath.floor(mpmath.ldexp(cut, 64))), (1 << 64) - 1) for cut in reach[:-1]]
        words = {word for cut in cuts for word in range(cut - 2, cut + 3) if 0 <= word < 1 << 64 and word not in cuts}
        for word in words | {0, (1 << 64) - 1} - set(cuts):
            expected = next(i for i, cut in enumerate([*cuts, 1 << 64]) if word < cut)
            assert categorical(np.array(scores), rate, source=Scripted([words64(word)])) == expected


def test_a_choice_by_doubles_and_by_exact_digits_is_the_same() -> None:
    scores = np.array([5, 1, 4, 4, 0, 6, -2])
    quick = [categorical(scores, Fraction(1, 2), source=Seeded(i)) for i in range(300)]
    exact = [categorical(scores, Fraction(1, 2), source=Seeded(i), margin=1.0) for i in range(300)]
    assert quick == exact
    assert len(set(quick)) > 4


def test_a_word_at_the_top_does_not_fall_off_the_end() -> None:
    assert categorical(np.array([3, 3, 3]), 1, source=Scripted([words64((1 << 64) - 1)])) == 2
    assert categorical(np.array([3]), 1, source=Scripted([words64((1 << 64) - 1)])) == 0


@pytest.mark.parametrize("rate", ["1e300", Fraction(10**400), "1e-300", Fraction(1, 10**400)])
def test_extreme_rates_neither_warn_nor_fail(rate: str | Fraction) -> None:
    scores = np.array([0, -(2**63), 2**63 - 1])
    steep = Fraction(rate) > 1
    chosen = {categorical(scores, rate, margin=margin) for margin in (2.0**-40, 1.0) for _ in range(20)}
    assert chosen <= {0, 1, 2}
    assert not steep or chosen == {2}
    assert keep_each(scores, rate).tolist() == [not steep, not steep, True]


def test_gaps_do_not_overflow() -> None:
    assert gaps_below_best(np.array([-(2**63), 2**63 - 1, 0])).tolist() == [2**64 - 1, 0, 2**63 - 1]


@pytest.mark.parametrize("below", [3, 7, 10**6, (1 << 63) - 1, 3 << 61])
def test_words_in_the_uneven_last_part_are_drawn_again(below: int) -> None:
    limit = (1 << 64) - (1 << 64) % below
    source = Scripted([words64(limit - 1, limit), words64((1 << 64) - 1), words64(below)])
    assert uniform_integer(below, 2, source=source).tolist() == [below - 1, 0]
    assert source.left == 0


@pytest.mark.parametrize("below", [1, 2, 1 << 20, 1 << 63])
def test_no_word_is_wasted_on_a_power_of_two(below: int) -> None:
    source = Scripted([words64((1 << 64) - 1)])
    assert uniform_integer(below, source=source) == below - 1


def test_one_of_picks_a_marked_place() -> None:
    marked = np.array([False, True, False, True])
    assert one_of(marked, source=Scripted([words64(0)])) == 1
    assert one_of(marked, source=Scripted([words64(1)])) == 3
    with pytest.raises(InvalidParameter, match="nothing to choose from"):
        one_of(np.array([False, False]))


def test_what_a_coin_asks_for_does_not_depend_on_how_it_falls() -> None:
    for byte in (1, 254):
        source = Counted(Constant(byte))
        bernoulli("1/3", 100, source=source)
        assert source.asked == [200]
