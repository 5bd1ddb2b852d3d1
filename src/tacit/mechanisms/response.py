"""What the local mechanisms share: the price of a lie's rarity, and the rarest lie for a price."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from tacit.core import Number, probability
from tacit.core.enclosure import DIGITS, double_above, down, exp_below, log_above, rounded_up, up
from tacit.errors import InvalidParameter
from tacit.mechanisms.accuracy.response import response_reach
from tacit.mechanisms.limits import at_least
from tacit.noise import IntArray, whole_numbers

_DEAREST = 1024  # a lie once in exp(1024) answers is as rare as anyone can want; more ε buys nothing
_BITS = 64


def log_ratio(ratio: Fraction) -> Fraction:
    """The price ln(ratio) of an outcome so much likelier for one neighbour, rounded up to 24 digits."""
    near_one = max(0, ratio.denominator.bit_length() - (ratio.numerator - ratio.denominator).bit_length())
    return rounded_up(log_above(ratio, DIGITS + near_one // 3))  # the logarithm has that many zeros to begin with


def rarest_lie(epsilon: Fraction, *, others: int) -> Fraction:
    """The least chance of a lie, spread evenly over `others` values, that costs no more than `epsilon`.

    (1 − lie) / (lie / others) ≤ exp(ε) says lie ≥ others / (others + exp(ε)). That is rounded up to a dyadic number,
    64 binary digits finer than its distance from 0 and from saying nothing.
    """
    spent = min(epsilon, Fraction(_DEAREST))
    small = max(0, spent.denominator.bit_length() - spent.numerator.bit_length())  # −log2(ε), about
    bits = _BITS + small + 2 * others.bit_length() + math.ceil(float(spent) / math.log(2))
    digits = bits // 3 + 20  # decimal ones, to match
    exact = up(digits).divide(others, down(digits).add(others, exp_below(spent, digits)))
    lie = Fraction(math.ceil(Fraction(exact) * (1 << bits)), 1 << bits)
    more = Fraction(1, 1 << bits)
    while log_ratio((1 - lie) * others / lie) > epsilon:  # by a hair, where ε itself has many digits
        lie, more = lie + more, 2 * more
    return lie


def answers(values: int | Sequence[int] | IntArray, *, categories: int) -> IntArray:
    """Answers in [0, categories). Runs where the answers are known; the message repeats none of them."""
    truth = whole_numbers(values)
    if truth.size and (truth.min() < 0 or truth.max() >= categories):
        raise InvalidParameter(f"an answer is not one of the {categories} that can be given: they count from 0")
    return truth


def response_error(lie: Fraction, stray: Fraction, *, respondents: int, confidence: Number, categories: int) -> float:
    """How far, with this confidence, no estimated count strays from the truth, whatever the truth; rounded up."""
    failing = 1 - probability(confidence, "the confidence")
    people = at_least(respondents, 1, what="the number of respondents")
    reach = response_reach(people, lie, stray, chance=failing, categories=categories)
    return double_above(Fraction(reach) / (1 - lie - stray))
