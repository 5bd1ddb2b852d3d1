"""Weighted sums of all cells, with whole weights: a strategy that need not be made of blocks."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tacit.mechanisms.strategy.blocks import held
from tacit.mechanisms.strategy.picks import Floats, Picks, Ranges
from tacit.noise import IntArray, WideArray

MOST_CELLS = 1024
_MOST_WRITTEN = 1 << 21  # numbers of a block of rows that is written down


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Matrix:
    """Whole weights: a sum in each row, a cell in each column, and at least as many sums as cells, which tell them all.

    Cells that move by v move the sums by Av, whose norm, L1 or L2, is at most ‖v‖₁ times that of the longest column.
    """

    weights: NDArray[np.int64]

    def __repr__(self) -> str:
        digest = hashlib.sha256(np.ascontiguousarray(self.weights).tobytes()).hexdigest()
        return f"Matrix({self.weights.shape[0]} × {self.weights.shape[1]}, {digest})"

    @property
    def squared_norm(self) -> int:
        """The largest squared L2 norm of a column, exactly."""
        squares = self.weights.astype(object) ** 2
        return int(squares.sum(axis=0).max())

    @property
    def absolute_norm(self) -> int:
        """The largest L1 norm of a column, exactly."""
        return int(np.abs(self.weights.astype(object)).sum(axis=0).max())

    def sums(self, cells: IntArray | WideArray) -> IntArray | WideArray:
        """The exact sums, in a row, held at the ends of 64 bits."""
        most = int(np.abs(self.weights).sum(axis=1).max())
        return held(cells.ravel(), lambda part: self.weights @ part, most=most)

    def cells(self, sums: Floats) -> Floats:
        """The cells, in a row, that come nearest to having these sums: least squares."""
        weights = self.weights.astype(np.float64)
        if weights.shape[0] > weights.shape[1]:
            turned, triangle = np.linalg.qr(weights)
            weights, sums = triangle, turned.T @ sums
        return np.asarray(np.linalg.solve(weights, sums), dtype=np.float64)

    def covariance(self) -> Floats:
        """The covariance of the cells' errors, where each sum's error has variance 1: (AᵀA)⁻¹."""
        return _covariance(self)


@lru_cache(maxsize=4)  # the questions of a batch ask for the same, one after another
def _covariance(matrix: Matrix) -> Floats:
    weights = matrix.weights.astype(np.float64)
    square = weights if weights.shape[0] == weights.shape[1] else np.linalg.qr(weights, mode="r")
    inverse = np.linalg.inv(square)
    covariance: Floats = inverse @ inverse.T
    return covariance


def gram(blocks: Sequence[Sequence[Picks]], sizes: Sequence[int]) -> Floats:
    """Σ over all rows of row · rowᵀ, over the cells in order."""
    cells = int(np.prod(sizes))
    total = np.zeros((cells, cells))
    for block in blocks:
        product: Floats = np.ones((1, 1))
        for picks, size in zip(block, sizes, strict=True):
            product = np.asarray(np.kron(product, _gram(picks, size)), dtype=np.float64)
        total += product
    return total


def _gram(picks: Picks, size: int) -> Floats:
    if not isinstance(picks, Ranges):
        mask = picks.mask.astype(np.float64)
        product: Floats = mask.T @ mask
        return product
    counts = np.zeros((size, size))  # counts: ranges by their first and last value
    some = picks.highs > picks.lows
    np.add.at(counts, (picks.lows[some], picks.highs[some] - 1), 1.0)
    from_first = np.cumsum(counts, axis=0)  # those that start no later than i …
    both = np.triu(np.flip(np.cumsum(np.flip(from_first, 1), axis=1), 1))  # … and end no earlier than j
    return both + np.triu(both, 1).T


def spread_over(block: Sequence[Picks], covariance: Floats, sizes: Sequence[int]) -> Floats:
    """rowᵀ C row for every row of a block, in the shape of its attributes' rows."""
    cells = covariance.shape[0]
    counts = [picks.count for picks in block]
    if math.prod(counts) * cells <= _MOST_WRITTEN:
        rows: Floats = np.ones((1, 1))
        for picks, size in zip(block, sizes, strict=True):
            rows = np.asarray(np.kron(rows, picks.applied(np.eye(size), 0)), dtype=np.float64)
        return np.asarray(np.sum((rows @ covariance) * rows, axis=1)).reshape(counts)
    variances = covariance.reshape(*sizes, *sizes)
    for left, picks in zip(range(len(sizes), 0, -1), block, strict=True):
        pair = np.moveaxis(variances, left, 1)  # pair: (values, values again, what is left, rows so far)
        variances = np.moveaxis(_both(picks, pair), 0, -1)
    return variances


def _both(picks: Picks, pair: Floats) -> Floats:
    """Σ over the values that a row counts, and over the same again."""
    if not isinstance(picks, Ranges):
        mask = picks.mask.astype(np.float64)
        half = np.tensordot(mask, pair, axes=([1], [0]))  # half: (rows, values, …)
        sums_of_both: Floats = (half * mask.reshape(*mask.shape, *(1,) * (pair.ndim - 2))).sum(axis=1)
        return sums_of_both
    below = np.zeros((pair.shape[0] + 1, pair.shape[1] + 1, *pair.shape[2:]))
    below[1:, 1:] = np.cumsum(np.cumsum(pair, axis=0), axis=1)
    low, high = picks.lows, picks.highs
    sums: Floats = below[high, high] - below[low, high] - below[high, low] + below[low, low]
    return sums
