"""What no mechanism accepts: a parameter that would mean no noise, or noise beyond exact arithmetic."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from tacit.core import Adjacency, Loss, Number, positive
from tacit.errors import InvalidParameter
from tacit.noise import IntArray, whole_numbers
from tacit.noise.size import whole

MAX_COMPARED_SCALE = 1 << 50  # noise that is compared stays below 2^61, but for a chance of exp(−2^11)
_COMPARED = 1 << 61  # values are clamped to ± this first, so that adding such noise never saturates


def spendable(loss: Loss) -> Fraction:
    """The epsilon that a mechanism may spend: greater than zero, since nothing can be released for nothing."""
    return positive(loss.epsilon, "epsilon")


def movement(sensitivity: Number) -> Fraction:
    """A sensitivity: greater than zero, since what no one can move needs no mechanism."""
    return positive(sensitivity, "the sensitivity")


def narrow(scale: Fraction, what: str = "the scale", *, most: int) -> Fraction:
    """A scale whose noise fits 64-bit whole numbers, for values that are given as such."""
    if scale > most:
        raise InvalidParameter(
            f"{what} is too large: noise would overflow 64-bit whole numbers",
            hint="give the values as an array of Python's own whole numbers (dtype=object), which have no end",
        )
    return scale


def at_least(value: int, least: int, *, what: str) -> int:
    """A whole number no smaller than `least`."""
    if (number := whole(value, what)) < least:
        raise InvalidParameter(f"{what} must be at least {least}: got {number}")
    return number


def one_direction(adjacency: Adjacency, *, monotone: bool) -> None:
    """Refuse `monotone` where a neighbour can raise one score while lowering another."""
    if not isinstance(adjacency, Adjacency):
        raise InvalidParameter(f"the adjacency is not one: got {adjacency!r}", hint="name ADD_REMOVE or REPLACE")
    if monotone and adjacency is not Adjacency.ADD_REMOVE:
        raise InvalidParameter(
            "scores are not monotone under replace: one score may rise while another falls",
            hint="use monotone=False, which doubles the noise, or add/remove neighbours",
        )


def one_number(value: int, what: str) -> int:
    """A single whole number, held at the ends of 64 bits."""
    return int(whole_numbers(whole(value, what))[0])


def score_row(scores: Sequence[int] | IntArray) -> IntArray:
    """The scores to choose between: a row of whole numbers that is not empty."""
    values = whole_numbers(scores)
    if values.ndim != 1 or values.size == 0:
        raise InvalidParameter("there is nothing to choose from: give at least one score")
    return values


def comparable(values: IntArray) -> IntArray:
    """Values clamped so that noise added to them cannot saturate; clamping moves no two of them further apart."""
    return np.clip(values, -_COMPARED, _COMPARED)
