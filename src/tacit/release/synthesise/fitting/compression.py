"""Few cells in place of many: ordered columns in bins of equal noisy mass, rare values together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tacit.noise import IntArray
from tacit.release.synthesise.fitting.arrays import FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Compression:
    """For each cell of a column the bin it is in, and how likely it is within that bin."""

    bins: IntArray
    within: FloatArray

    @property
    def size(self) -> int:
        """How many bins there are."""
        return int(self.bins.max()) + 1

    def shrunk(self, cells: FloatArray) -> FloatArray:
        """The sums over the cells of each bin."""
        sums: FloatArray = np.bincount(self.bins, weights=cells, minlength=self.size).astype(np.float64)
        return sums


def compression_of(bins: IntArray, chances: FloatArray) -> Compression:
    """The bins, with the chances that a noisy histogram gives their cells; equal ones where it saw nothing."""
    size = int(bins.max()) + 1
    mass = np.bincount(bins, weights=chances, minlength=size)
    number = np.bincount(bins, minlength=size)
    least = 1e-300  # below, a quotient would lose its digits
    return Compression(bins, np.where(mass[bins] > least, chances / np.maximum(mass[bins], least), 1.0 / number[bins]))


def ordered_bins(chances: FloatArray, *, most: int) -> IntArray:
    """At most so many bins of neighbours, with as equal a mass as heavy cells allow."""
    if chances.size <= most:
        return np.arange(chances.size)
    low, high = 0.0, float(chances.sum()) * (1 + 1e-9)
    for _ in range(40):
        middle = (low + high) / 2
        if int(_greedy(chances, middle)[-1]) + 1 <= most:
            high = middle
        else:
            low = middle
    return _greedy(chances, high)


def _greedy(chances: FloatArray, most: float) -> IntArray:
    """Bins from left to right, each filled up to this mass."""
    bins = np.zeros(chances.size, dtype=np.int64)
    number, mass = 0, 0.0
    for cell, chance in enumerate(chances.tolist()):
        if mass > 0 and mass + chance > most:
            number, mass = number + 1, 0.0
        bins[cell] = number
        mass += chance
    return bins


def rare_together(chances: FloatArray, *, least: float) -> IntArray:
    """A bin for each value at least so likely, and one for all the others."""
    rare = chances < least
    if rare.sum() <= 1 or rare.all():
        return np.arange(chances.size) if not rare.all() else np.zeros(chances.size, dtype=np.int64)
    bins = np.cumsum(~rare) - 1
    return np.where(rare, int((~rare).sum()), bins)


def likeliest_apart(chances: FloatArray, *, most: int) -> IntArray:
    """At most so many bins: one for each of the likeliest values, and one for all the others."""
    if chances.size <= most:
        return np.arange(chances.size)
    bins = np.full(chances.size, most - 1, dtype=np.int64)
    kept = np.sort(np.argsort(-chances, kind="stable")[: most - 1])
    bins[kept] = np.arange(kept.size)
    return bins


def pair_cells(sizes: Sequence[int]) -> int:
    """How many cells all pairs of columns of these sizes have together."""
    return (sum(sizes) ** 2 - sum(size**2 for size in sizes)) // 2


def held_within(
    bins: Sequence[Compression], chances: Sequence[FloatArray], ordered: Sequence[bool], *, cells: int
) -> tuple[Compression, ...]:
    """The bins as they are where all pairs of columns have at most so many cells together; else the finest that do.

    Then no column has more than a number of bins that is the same for all. What a policy lists, however long, takes up
    no more memory than this.
    """
    sizes = [each.size for each in bins]
    low, high = 1, max(sizes)
    while low < high:
        middle = (low + high + 1) // 2
        fits = pair_cells([min(size, middle) for size in sizes]) <= cells
        low, high = (middle, high) if fits else (low, middle - 1)
    found = []
    for old, chance, is_ordered in zip(bins, chances, ordered, strict=True):
        coarse = ordered_bins if is_ordered else likeliest_apart
        found.append(old if old.size <= low else compression_of(coarse(chance, most=low), chance))
    return tuple(found)
