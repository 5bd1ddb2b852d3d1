"""Noise for whole numbers without ends: Python's own, in arrays of objects."""

from __future__ import annotations

from fractions import Fraction
from typing import TypeGuard

import numpy as np

from tacit.core import Number
from tacit.errors import InvalidParameter
from tacit.noise.coins import CHUNK_BITS, Coins, flip, flip_exp, flip_rows
from tacit.noise.gaussian import _LEAST_SPREAD, _SCALAR_CANDIDATES
from tacit.noise.geometric import _BLOCK, WideArray, _Planes, _planes
from tacit.noise.scales import fitting_scale
from tacit.noise.size import how_many
from tacit.noise.source import SYSTEM, Source

_LIMB = 32  # digits put together at once: as many as fit a machine's word with room to spare


def is_wide(values: object) -> TypeGuard[WideArray]:
    """Whether an array holds Python's own whole numbers. Its type says so, never a value: that would be a release."""
    return isinstance(values, np.ndarray) and values.dtype.kind == "O"


def wide_numbers(values: WideArray) -> WideArray:
    """The same array, if all it holds are whole numbers."""
    for item in values.ravel().tolist():
        if type(item) is not int:
            raise InvalidParameter(f"only whole numbers can be given noise: got a {type(item).__name__}")
    return values


def wide_two_sided_geometric(scale: Number, size: int, *, source: Source = SYSTEM) -> WideArray:
    """`size` draws of the discrete Laplace law, as `two_sided_geometric` makes them, that nothing holds at an end."""
    return _drawn(fitting_scale(scale), how_many(size), source=source)


def wide_discrete_gaussian(sigma: Number, size: int, *, source: Source = SYSTEM) -> WideArray:
    """`size` draws of the discrete Gaussian law, as `discrete_gaussian` makes them, that nothing holds at an end."""
    exact = fitting_scale(sigma, "sigma")
    numbers = np.empty(how_many(size), dtype=object)
    filled = 0
    while filled < numbers.size:
        wanted = min(numbers.size - filled, _BLOCK)
        kept = _accepted(exact, int(1.4 * wanted) + _SCALAR_CANDIDATES, source=source)[:wanted]
        numbers[filled : filled + kept.size] = kept
        filled += kept.size
    return numbers


def _drawn(scale: Fraction, size: int, *, source: Source) -> WideArray:
    planes = _planes(scale, two_sided=True, chunk=CHUNK_BITS)
    numbers = np.empty(size, dtype=object)
    for start in range(0, size, _BLOCK):
        block = numbers[start : start + _BLOCK]
        block[:] = _signed(planes, block.size, source=source)
    return numbers


def _signed(planes: _Planes, size: int, *, source: Source) -> WideArray:
    flips = flip_rows(planes.coins, planes.heads, size=size, source=source)
    numbers = _put_together(flips[: planes.width])
    for index in np.flatnonzero(flips[planes.width]):
        rounds = 1
        while flip(planes.carry, 1, source=source)[0]:  # memoryless: beyond all digits it starts again
            rounds += 1
        numbers[index] += rounds << planes.width
    sign, zero = flips[planes.width + 1], flips[planes.width + 2]
    signs = np.where(zero, 0, 1 - 2 * sign.astype(np.int64)).astype(object)
    signed: WideArray = (numbers + 1) * signs  # away from zero: a nonzero draw is ±(1 + geometric)
    return signed


def _put_together(digits: Coins) -> WideArray:
    """Binary digits, the lowest row first, as whole numbers."""
    numbers = np.zeros(digits.shape[1], dtype=object)
    powers = np.uint64(1) << np.arange(_LIMB, dtype=np.uint64)
    for low in reversed(range(0, len(digits), _LIMB)):
        rows = digits[low : low + _LIMB]
        limb = powers[: len(rows)] @ rows.astype(np.uint64)
        numbers = numbers * (1 << _LIMB) + limb.astype(object)
    return numbers


def _accepted(sigma: Fraction, candidates: int, *, source: Source) -> WideArray:
    """Canonne, Kamath & Steinke's candidates that are kept. A double of one is off by 2^−53 of it, of any size."""
    scale = Fraction(int(sigma) + 1)
    variance = sigma * sigma
    centre = variance / scale
    numbers = _drawn(scale, candidates, source=source)
    distance = (np.abs(numbers).astype(np.float64) - float(centre)) / max(float(sigma), _LEAST_SPREAD)

    def exact_rate(index: int) -> Fraction:
        return (abs(int(numbers[index])) - centre) ** 2 / (2 * variance)

    kept: WideArray = numbers[flip_exp(distance * distance / 2, exact_rate, source=source)]
    return kept
