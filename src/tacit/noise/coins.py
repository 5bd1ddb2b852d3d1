"""Exact coin flips: random digits compared with a probability's own, more drawn on a tie."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tacit.noise.probability import Probability, exp_minus
from tacit.noise.source import Source

Coins = NDArray[np.bool_]
CHUNK_BITS = 16  # digits compared at once; tests shrink it so that ties are common
_EXTEND_BITS = 64
_FLOAT_MARGIN = 2.0**-30  # far above the rounding error of a double exp, far below what would cost time


class LazyUniform:
    """A uniform number in [0, 1) of which only the digits that matter are ever drawn."""

    __slots__ = ("_bits", "_digits", "_source")

    def __init__(self, digits: int, bits: int, source: Source) -> None:
        self._digits, self._bits, self._source = digits, bits, source

    def below(self, probability: Probability) -> bool:
        """Whether the number is smaller than `probability`; draws digits until that is settled.

        Both are known as intervals that shrink together. To wait for the probability's own digits would be to wait
        for ever where it is a hair's breadth from a dyadic number, as exp(0) / (exp(0) + exp(0) + exp(−10²⁰)) is.
        """
        while True:
            low, high = probability.within(self._bits)
            if self._digits < low:
                return True
            if self._digits >= high:
                return False
            more = int.from_bytes(self._source.draw(_EXTEND_BITS // 8).tobytes())
            self._digits = (self._digits << _EXTEND_BITS) | more
            self._bits += _EXTEND_BITS


def flip_rows(
    probabilities: Sequence[Probability],
    heads: NDArray[np.uint16],
    *,
    size: int,
    source: Source,
    chunk: int = CHUNK_BITS,
) -> Coins:
    """A row of `size` flips for each probability. `heads` holds each one's first `chunk` digits."""
    words = source.draw(2 * size * len(probabilities)).view(np.uint16).reshape(len(probabilities), size)
    if chunk < CHUNK_BITS:
        words = words >> np.uint16(CHUNK_BITS - chunk)
    column = heads[:, np.newaxis]
    coins: Coins = words < column
    tied = words == column
    for flat in np.flatnonzero(tied).tolist():
        row, index = divmod(flat, size)
        coins[row, index] = LazyUniform(int(heads[row]), chunk, source).below(probabilities[row])
    return coins


def first_digits(probabilities: Sequence[Probability], chunk: int = CHUNK_BITS) -> NDArray[np.uint16]:
    """The first `chunk` binary digits of each probability; a certainty keeps all its digits below one."""
    return np.array([min(p.digits(chunk), (1 << chunk) - 1) for p in probabilities], dtype=np.uint16)


def flip(probability: Probability, size: int, *, source: Source, chunk: int = CHUNK_BITS) -> Coins:
    """`size` independent flips that come up True with exactly this probability."""
    row = [probability]
    coins: Coins = flip_rows(row, first_digits(row, chunk), size=size, source=source, chunk=chunk)[0]
    return coins


def flip_exp(
    rates: NDArray[np.float64],
    exact_rate: Callable[[int], Fraction],
    *,
    source: Source,
    margin: float = _FLOAT_MARGIN,
) -> Coins:
    """A flip for each rate that is True with probability exp(−rate), exactly.

    `rates` are doubles within 1e-12 · max(1, rate) of the true rates, which `exact_rate(place)` gives. The double
    decides unless the uniform falls within `margin` of it; then exact digits decide. The law owes nothing to rounding.
    """
    words = source.draw(8 * rates.size).view(np.uint64)
    uniform = (words >> np.uint64(11)).astype(np.float64) * 2.0**-53
    chance = np.exp(-rates)
    coins: Coins = uniform < chance
    for index in np.flatnonzero(np.abs(uniform - chance) <= margin):
        threshold = exp_minus(exact_rate(int(index)))
        coins[index] = LazyUniform(int(words[index]), 64, source).below(threshold)
    return coins
