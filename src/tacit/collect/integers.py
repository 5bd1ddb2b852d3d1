"""Whole numbers as rows of little-endian bytes."""

from __future__ import annotations

import numpy as np

from tacit.collect.reports import Bodies
from tacit.noise import IntArray


def bytes_for(below: int) -> int:
    """How many bytes hold every whole number in [0, below)."""
    return max(1, ((below - 1).bit_length() + 7) // 8)


def bits_for(below: int) -> int:
    """How many bits hold every whole number in [0, below)."""
    return max(1, (below - 1).bit_length())


def to_rows(numbers: IntArray, width: int) -> Bodies:
    """One row of `width` bytes for each number, lowest byte first."""
    words = np.ascontiguousarray(numbers, dtype="<i8").view(np.uint8).reshape(-1, 8)
    return np.ascontiguousarray(words[:, :width])


def from_rows(rows: Bodies) -> IntArray:
    """The number that each row of up to seven bytes holds."""
    words = np.zeros((rows.shape[0], 8), dtype=np.uint8)
    words[:, : rows.shape[1]] = rows
    return words.view("<i8").reshape(-1).astype(np.int64)
