"""Which values of one attribute a question counts: rows of zeros and ones, as ranges or as sets."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.mechanisms.strategy.chain import Chain

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Ranges:
    """Row r counts the values from lows[r] up to, not including, highs[r]."""

    lows: NDArray[np.int64]
    highs: NDArray[np.int64]

    @property
    def count(self) -> int:
        """How many rows there are."""
        return int(self.lows.size)

    def energies(self, chain: Chain) -> Floats:
        """Of each row the part that each level adds to the one above: ‖Π_t b‖², of shape (levels, rows)."""
        return _steps([self._norms(width) for width in chain.widths])

    def _norms(self, width: int) -> Floats:
        """Σ over blocks of (values counted in the block)² / width."""
        first, last = self.lows // width, (self.highs - 1) // width
        head, tail = (first + 1) * width - self.lows, self.highs - last * width
        apart = (head**2 + tail**2) / width + (last - first - 1) * width
        norms: Floats = np.where(first >= last, (self.highs - self.lows) ** 2 / width, apart)
        return norms

    def applied(self, cells: Floats, axis: int) -> Floats:
        """The rows' sums over one axis of the cells."""
        if self.count == 1:
            span = [slice(None)] * cells.ndim
            span[axis] = slice(int(self.lows[0]), int(self.highs[0]))
            alone: Floats = cells[tuple(span)].sum(axis=axis, keepdims=True)
            return alone
        start = np.zeros_like(np.take(cells, [0], axis=axis))
        below = np.concatenate([start, np.cumsum(cells, axis=axis)], axis=axis)
        sums: Floats = np.take(below, self.highs, axis=axis) - np.take(below, self.lows, axis=axis)
        return sums


@dataclass(frozen=True, slots=True, eq=False)
class Sets:
    """Row r counts the values v with mask[r, v]."""

    mask: NDArray[np.bool_]

    @property
    def count(self) -> int:
        """How many rows there are."""
        return int(self.mask.shape[0])

    def energies(self, chain: Chain) -> Floats:
        """Of each row the part that each level adds to the one above, as `Ranges.energies`."""
        rows, values = self.mask.shape
        padded = np.zeros((rows, chain.size))
        padded[:, :values] = self.mask
        norms = []
        for blocks, width in zip(chain.blocks, chain.widths, strict=True):
            norms.append((padded.reshape(rows, blocks, width).sum(axis=2) ** 2).sum(axis=1) / width)
        return _steps(norms)

    def applied(self, cells: Floats, axis: int) -> Floats:
        """The rows' sums over one axis of the cells, as `Ranges.applied`."""
        sums = np.tensordot(cells, self.mask.astype(np.float64), axes=([axis], [1]))
        return np.moveaxis(sums, -1, axis)


Picks = Ranges | Sets


def everything(values: int) -> Ranges:
    """One row that counts every value."""
    return Ranges(np.zeros(1, dtype=np.int64), np.full(1, values, dtype=np.int64))


def each(values: int) -> Ranges:
    """As many rows as values, each of which counts one."""
    return Ranges(np.arange(values), np.arange(values) + 1)


def all_ranges(values: int) -> Ranges:
    """A row for every range of values."""
    lows, highs = np.triu_indices(values)
    return Ranges(lows.astype(np.int64), highs.astype(np.int64) + 1)


def picked(mask: NDArray[np.bool_]) -> Picks:
    """Rows given one by one; as ranges, which are cheaper, where every row is one."""
    edges = np.diff(mask.astype(np.int8), axis=1, prepend=0, append=0)
    if np.all((edges == 1).sum(axis=1) <= 1):
        some = mask.any(axis=1)
        lows, highs = np.argmax(edges == 1, axis=1), np.argmax(edges == -1, axis=1)
        return Ranges(np.where(some, lows, 0), np.where(some, highs, 0))
    return Sets(mask)


def _steps(norms: list[Floats]) -> Floats:
    return np.maximum(np.diff(np.array(norms), axis=0, prepend=0), 0.0)
