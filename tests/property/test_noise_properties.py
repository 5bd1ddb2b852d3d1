"""What holds for every probability, word and sum in the room of noise."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from support.sources import Scripted, Seeded, Then, words16, words64
from tacit.noise import (
    bernoulli,
    categorical,
    discrete_gaussian,
    geometric,
    keep_each,
    saturating_add,
    two_sided_geometric,
    uniform_integer,
    whole_numbers,
)
from tacit.noise.coins import flip, flip_exp
from tacit.noise.probability import Probability, Ratio, exp_minus, logistic_minus, tanh_half

EVERY = settings(max_examples=300, deadline=None)
LOWEST, HIGHEST = -(2**63), 2**63 - 1
int64s = st.one_of(st.integers(LOWEST, HIGHEST), st.sampled_from([LOWEST, LOWEST + 1, -1, 0, 1, HIGHEST - 1, HIGHEST]))
rates = st.builds(Fraction, st.integers(1, 10**12), st.integers(1, 10**12))
chances = st.builds(
    lambda one, other: Fraction(min(one, other), max(one, other)), st.integers(0, 2**40), st.integers(1, 2**40)
)
probabilities = st.one_of(
    chances.map(Ratio),
    rates.map(exp_minus),
    rates.map(logistic_minus),
    rates.map(tanh_half),
)
seeds = st.integers(0, 2**32)


@EVERY
@given(probabilities, st.integers(1, 200), st.integers(1, 200))
def test_digits_go_on_where_they_left_off(probability: Probability, bits: int, more: int) -> None:
    assert probability.digits(bits + more) >> more == probability.digits(bits)
    assert 0 <= probability.digits(bits) <= 1 << bits


@EVERY
@given(rates, st.integers(16, 120))
def test_the_three_functions_agree_with_each_other(rate: Fraction, bits: int) -> None:
    """With q = exp(−x): 1 / (1 + exp(x)) = q / (1 + q), and tanh(x / 2) = 1 − 2q / (1 + q)."""
    unit = 1 << bits
    q = Fraction(exp_minus(rate).digits(bits), unit)
    logistic = Fraction(logistic_minus(rate).digits(bits), unit)
    tanh = Fraction(tanh_half(rate).digits(bits), unit)
    assert abs(logistic - q / (1 + q)) <= Fraction(2, unit)
    assert abs(tanh - (1 - 2 * logistic)) <= Fraction(4, unit)


@EVERY
@given(probabilities, st.integers(0, 2**16 - 1), st.binary(min_size=8, max_size=8), st.integers(1, 16))
def test_a_flip_compares_the_whole_uniform_with_the_probability(
    probability: Probability, word: int, more: bytes, chunk: int
) -> None:
    source = Scripted([words16(word), more])
    digits = (word >> (16 - chunk)) << 64 | int.from_bytes(more)
    assume(digits != probability.digits(chunk + 64))  # a tie of 64 digits and more would need a third draw
    assert bool(flip(probability, 1, source=source, chunk=chunk)[0]) == (digits < probability.digits(chunk + 64))


@EVERY
@given(st.lists(rates, min_size=1, max_size=20), seeds)
def test_the_margin_changes_nothing_but_the_time(given_rates: list[Fraction], seed: int) -> None:
    doubles = np.array([float(rate) for rate in given_rates])
    quick = flip_exp(doubles, given_rates.__getitem__, source=Seeded(seed))
    exact = flip_exp(doubles, given_rates.__getitem__, source=Seeded(seed), margin=1.0)
    assert quick.tolist() == exact.tolist()


@EVERY
@given(st.lists(int64s, min_size=1, max_size=12), rates, st.integers(0, 2**64 - 1))
def test_a_choice_is_the_one_whose_boundary_lies_above_the_uniform(
    scores: list[int], rate: Fraction, word: int
) -> None:
    chosen = categorical(np.array(scores), rate, source=Then(words64(word), Seeded(word)))
    with mpmath.workprec(300):
        weights = [mpmath.exp(-mpmath.mpf(max(scores) - s) * rate.numerator / rate.denominator) for s in scores]
        point, whole = mpmath.mpf(word) / 2**64, mpmath.fsum(weights)
        below = mpmath.fsum(weights[:chosen]) / whole
        above = mpmath.fsum(weights[: chosen + 1]) / whole
        assert below < point + mpmath.mpf(2) ** -64
        assert point < above or chosen + 1 == len(scores)


@EVERY
@given(st.lists(st.tuples(int64s, int64s), max_size=20))
def test_a_saturating_sum_is_the_true_one_held_at_the_ends(pairs: list[tuple[int, int]]) -> None:
    values, added = (np.array([pair[side] for pair in pairs], dtype=np.int64) for side in (0, 1))
    expected = [min(max(value + more, LOWEST), HIGHEST) for value, more in pairs]
    assert saturating_add(values, added).tolist() == expected


@EVERY
@given(st.lists(st.integers(-(2**70), 2**70), max_size=20))
def test_whole_numbers_are_the_true_ones_held_at_the_ends(values: list[int]) -> None:
    assert whole_numbers(values).tolist() == [min(max(value, LOWEST), HIGHEST) for value in values]


@EVERY
@given(st.lists(st.tuples(int64s, int64s), min_size=1, max_size=10))
def test_holding_at_the_ends_never_moves_neighbours_apart(pairs: list[tuple[int, int]]) -> None:
    first, second = ([3 * pair[side] for pair in pairs] for side in (0, 1))
    held = zip(whole_numbers(first).tolist(), whole_numbers(second).tolist(), strict=True)
    assert all(abs(one - other) <= 3 * abs(pair[0] - pair[1]) for (one, other), pair in zip(held, pairs, strict=True))


@EVERY
@given(st.integers(1, 2**63), seeds)
def test_a_whole_number_lies_in_its_range(below: int, seed: int) -> None:
    draws = uniform_integer(below, 20, source=Seeded(seed))
    assert draws.min() >= 0
    assert int(draws.max()) < below


@EVERY
@given(st.builds(Fraction, st.integers(1, 2**56), st.integers(1, 2**20)), seeds)
def test_every_scale_up_to_the_largest_can_be_drawn(scale: Fraction, seed: int) -> None:
    assert geometric(scale, size=3, source=Seeded(seed)).min() >= 0
    assert two_sided_geometric(scale, size=3, source=Seeded(seed)).shape == (3,)
    assert scale > 2**46 or discrete_gaussian(scale, size=3, source=Seeded(seed)).shape == (3,)


@EVERY
@given(chances, seeds)
def test_a_coin_and_its_complement_are_settled_by_one_uniform(chance: Fraction, seed: int) -> None:
    coins = bernoulli(chance, 50, source=Seeded(seed))
    likelier = bernoulli((1 + chance) / 2, 50, source=Seeded(seed))
    assert not (coins & ~likelier).any()  # the same uniforms: what is below the chance is below a larger one


@EVERY
@given(st.lists(int64s, min_size=1, max_size=20), rates, seeds)
def test_the_best_is_always_kept(scores: list[int], rate: Fraction, seed: int) -> None:
    kept = keep_each(np.array(scores), rate, source=Seeded(seed))
    assert all(kept[place] for place, score in enumerate(scores) if score == max(scores))
