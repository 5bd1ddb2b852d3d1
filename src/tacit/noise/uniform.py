"""Whole numbers, each as likely as the next."""

from __future__ import annotations

from typing import overload

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidParameter
from tacit.noise.size import how_many, whole
from tacit.noise.source import SYSTEM, Source

_WORD = 1 << 64


@overload
def uniform_integer(below: int, size: None = None, *, source: Source = SYSTEM) -> int: ...
@overload
def uniform_integer(below: int, size: int, *, source: Source = SYSTEM) -> NDArray[np.int64]: ...
def uniform_integer(below: int, size: int | None = None, *, source: Source = SYSTEM) -> int | NDArray[np.int64]:
    """A whole number in [0, below), each with the same probability: words in the uneven last part are drawn again."""
    below = whole(below, "the range")
    if not 0 < below <= 1 << 63:
        raise InvalidParameter(f"the range is empty or too wide: [0, {below})", hint="choose 1 ≤ below ≤ 2^63")
    words = source.draw(8 * how_many(size)).view(np.uint64).copy()
    limit = _WORD - _WORD % below  # the largest multiple of `below` that fits
    if limit < _WORD:
        while (again := np.flatnonzero(words >= np.uint64(limit))).size:
            words[again] = source.draw(8 * again.size).view(np.uint64)
    values = (words % np.uint64(below)).astype(np.int64)
    return int(values[0]) if size is None else values
