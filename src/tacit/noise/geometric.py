"""Geometric and two-sided geometric whole numbers, drawn digit by digit."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import overload

import numpy as np
from numpy.typing import NDArray

from tacit.core import Number
from tacit.noise.coins import CHUNK_BITS, Coins, first_digits, flip, flip_rows
from tacit.noise.probability import Probability, Ratio, exp_minus, logistic_minus, tanh_half
from tacit.noise.scales import MAX_SCALE, fitting_scale
from tacit.noise.size import how_many
from tacit.noise.source import SYSTEM, Source

IntArray = NDArray[np.int64]
WideArray = NDArray[np.object_]  # of Python's own whole numbers, which have no ends
_BLOCK = 1 << 14  # draws made at once: their digits stay in the processor's cache
_FEW = 256  # draws whose digits are weighed in one step; of more, digit by digit is faster
_TOP_HEADROOM = 45  # exp(−45) < 2^−64: how rarely a draw goes beyond its planes
_INT64_MAX = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True)
class _Planes:
    """The coins behind one draw at a given scale.

    The binary digits of a geometric variable are independent: digit j is 1 with probability
    1 / (1 + exp(2^j / scale)). `carry` is the chance of a number beyond all digits, where (memoryless) it starts again.
    """

    coins: tuple[Probability, ...]  # digits from the lowest up, then carry, then sign and zero where two-sided
    heads: NDArray[np.uint16]
    width: int  # at most 62: what is made of the digits fits 64 bits
    weights: IntArray  # of the digits: 1, 2, 4, …

    @property
    def carry(self) -> Probability:
        return self.coins[self.width]


@lru_cache(maxsize=512)
def _planes(scale: Fraction, *, two_sided: bool, chunk: int) -> _Planes:
    width = max(1, int(_TOP_HEADROOM * scale).bit_length())
    coins: list[Probability] = [logistic_minus(Fraction(1 << j) / scale) for j in range(width)]
    coins.append(exp_minus(Fraction(1 << width) / scale))
    if two_sided:
        coins += [Ratio(Fraction(1, 2)), tanh_half(1 / scale)]  # sign; zero
    weights: IntArray = np.left_shift(np.int64(1), np.arange(width, dtype=np.int64))
    return _Planes(tuple(coins), first_digits(coins, chunk), width, weights)


def _draw(planes: _Planes, size: int, *, source: Source, chunk: int) -> tuple[IntArray, Coins]:
    flips = flip_rows(planes.coins, planes.heads, size=size, source=source, chunk=chunk)
    digits = flips[: planes.width]
    numbers: IntArray = planes.weights @ digits if size <= _FEW else _summed(digits)
    for index in np.flatnonzero(flips[planes.width]):
        numbers[index] = _beyond(int(numbers[index]), planes, source)
    return numbers, flips


def _summed(digits: Coins) -> IntArray:
    """The numbers with these binary digits, the lowest first."""
    width, size = digits.shape
    total: NDArray[np.uint32] | NDArray[np.uint64]
    total = np.zeros(size, np.uint32) if width <= 32 else np.zeros(size, np.uint64)
    for row in digits[::-1]:
        np.add(total, total, out=total)
        np.add(total, row, out=total)
    return total.astype(np.int64)


def _beyond(low: int, planes: _Planes, source: Source) -> int:
    """The number whose low digits are `low` and which is known to have higher ones."""
    rounds = 1
    while flip(planes.carry, 1, source=source)[0]:
        rounds += 1
    return min(low + (rounds << planes.width), int(_INT64_MAX))


def _signed(planes: _Planes, size: int, *, source: Source, chunk: int) -> IntArray:
    numbers, flips = _draw(planes, size, source=source, chunk=chunk)
    sign, zero = flips[planes.width + 1], flips[planes.width + 2]
    numbers += numbers < _INT64_MAX  # away from zero: a nonzero draw is ±(1 + geometric)
    numbers *= ~zero
    flip_sign = -sign.astype(np.int64)  # 0 or −1: negation without a branch
    numbers ^= flip_sign
    numbers -= flip_sign
    return numbers


def geometric_array(scale: Number, size: int, *, source: Source, two_sided: bool, chunk: int = CHUNK_BITS) -> IntArray:
    """`size` draws, in blocks that stay in cache."""
    planes = _planes(fitting_scale(scale, most=MAX_SCALE), two_sided=two_sided, chunk=chunk)
    numbers = np.empty(size, dtype=np.int64)
    for start in range(0, size, _BLOCK):
        block = numbers[start : start + _BLOCK]
        if two_sided:
            block[:] = _signed(planes, block.size, source=source, chunk=chunk)
        else:
            block[:] = _draw(planes, block.size, source=source, chunk=chunk)[0]
    return numbers


@overload
def geometric(scale: Number, size: None = None, *, source: Source = SYSTEM) -> int: ...
@overload
def geometric(scale: Number, size: int, *, source: Source = SYSTEM) -> IntArray: ...
def geometric(scale: Number, size: int | None = None, *, source: Source = SYSTEM) -> int | IntArray:
    """Draw k ≥ 0 with probability (1 − q) q^k, q = exp(−1/scale): exact, in fixed work, saturating at 2^63 − 1."""
    numbers = geometric_array(scale, how_many(size), source=source, two_sided=False)
    return int(numbers[0]) if size is None else numbers


@overload
def two_sided_geometric(scale: Number, size: None = None, *, source: Source = SYSTEM) -> int: ...
@overload
def two_sided_geometric(scale: Number, size: int, *, source: Source = SYSTEM) -> IntArray: ...
def two_sided_geometric(scale: Number, size: int | None = None, *, source: Source = SYSTEM) -> int | IntArray:
    """Draw k with probability (1 − q) / (1 + q) · q^|k|, q = exp(−1/scale): the discrete Laplace law.

    Exact for every rational scale up to 2^56, without rejection; the work does not depend on what is drawn.
    """
    numbers = geometric_array(scale, how_many(size), source=source, two_sided=True)
    return int(numbers[0]) if size is None else numbers
