"""Sums of 64-bit whole numbers that stop at the ends instead of wrapping round."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tacit.errors import InvalidParameter
from tacit.noise.geometric import IntArray, WideArray

LOWEST = int(np.iinfo(np.int64).min)
HIGHEST = int(np.iinfo(np.int64).max)


def saturating_add(values: IntArray, noise: IntArray) -> IntArray:
    """Add noise to values, held at the ends of 64 bits: an overflow error would be a release of its own."""
    total = np.add(values, noise)  # wraps
    wrapped = ((values ^ total) & (noise ^ total)) < 0
    return np.where(wrapped, np.where(noise < 0, LOWEST, HIGHEST), total)


def whole_numbers(values: int | Sequence[int] | IntArray | WideArray) -> IntArray:
    """Whole numbers as a 64-bit array, held at its ends. Anything that is not a whole number is refused."""
    if isinstance(values, np.ndarray):
        if values.dtype.kind == "b" or values.dtype.kind not in "iu":
            raise InvalidParameter(f"only whole numbers can be given noise: got an array of {values.dtype}")
        if values.dtype == np.uint64:
            return np.minimum(values, np.uint64(HIGHEST)).astype(np.int64)
        return values.astype(np.int64, copy=False)
    items = values if isinstance(values, Sequence) and not isinstance(values, (str, bytes)) else [values]
    for item in items:
        if isinstance(item, bool) or not isinstance(item, (int, np.integer)):
            raise InvalidParameter(f"only whole numbers can be given noise: got a {type(item).__name__}")
    return np.array([min(max(int(item), LOWEST), HIGHEST) for item in items], dtype=np.int64)
