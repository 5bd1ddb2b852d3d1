"""Sums over the blocks of chains, and over their residuals: exact on whole numbers, and back onto the cells."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.mechanisms.strategy.chain import Chain
from tacit.mechanisms.strategy.picks import Floats
from tacit.noise import IntArray, WideArray, is_wide

_LOWER = 0xFFFFFFFF
_MOST_ADDED = 1 << 30  # Σ of the sizes of a row's numbers, so that half a cell times that stays within 62 bits


def padded(histogram: IntArray | WideArray, chains: Sequence[Chain]) -> IntArray | WideArray:
    """The cells, and empty ones where a chain has blocks for values that do not exist."""
    cells: NDArray[Any] = np.zeros(tuple(chain.size for chain in chains), dtype=histogram.dtype)
    values = tuple(chain.values for chain in chains)
    cells[tuple(map(slice, values))] = histogram.reshape(values)  # beside Python's own numbers zeros are Python's too
    return cells


def added_up(cells: IntArray | WideArray, shape: tuple[int, ...]) -> IntArray | WideArray:
    """Sums over blocks, held at the ends of 64 bits."""
    return held(cells, lambda part: block_sums(part, shape), most=cells.size)


def residuals(cells: IntArray | WideArray, chains: Sequence[Chain], levels: Sequence[int]) -> IntArray | WideArray:
    """Of each block of these levels its sum times the branching, less the sum of the block that it is cut from.

    In every attribute that is cut at all; so each number is Σ over cells of whole numbers, and says nothing of what
    coarser blocks say.
    """
    factors = [chain.branching[level - 1] if level else 0 for chain, level in zip(chains, levels, strict=True)]
    shape = tuple(chain.blocks[level] for chain, level in zip(chains, levels, strict=True))
    most = math.prod(2 * chain.size for chain in chains)
    return held(cells, lambda part: less_parents(block_sums(part, shape), factors), most=most)


def held(
    cells: IntArray | WideArray, act: Callable[[NDArray[Any]], NDArray[Any]], *, most: int
) -> IntArray | WideArray:
    """`act`, which adds up whole multiples of cells, held at the ends of 64 bits.

    One that wrapped round would move by 2^64 for a single unit; held, it moves by no more than without ends. `most`
    bounds Σ of the sizes of the multiples of one sum. Sums of Python's own whole numbers have no end.
    """
    if is_wide(cells):
        return act(cells)
    if most > _MOST_ADDED:
        whole = act(cells.astype(object))
        ends: IntArray = np.clip(whole, -(1 << 63), (1 << 63) - 1).astype(np.int64)
        return ends
    upper, lower = act(cells >> 32), act(cells & _LOWER)  # neither can overflow
    upper, lower = upper + (lower >> 32), lower & _LOWER
    within = np.clip(upper, -(1 << 31), (1 << 31) - 1)
    total: IntArray = (within << 32) + np.where(upper > within, _LOWER, np.where(upper < within, 0, lower))
    return total


def block_sums(cells: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """Sums over equal blocks of each axis; `shape` is how many there are."""
    for axis, blocks in enumerate(shape):
        split = (*cells.shape[:axis], blocks, cells.shape[axis] // blocks, *cells.shape[axis + 1 :])
        cells = cells.reshape(split).sum(axis=axis + 1)
    return cells


def less_parents(values: NDArray[Any], factors: Sequence[int]) -> NDArray[Any]:
    """Each value times its axis's factor, less the sum of itself and its siblings; an axis of factor 0 stays.

    It is its own transpose, so that it leads back as well.
    """
    for axis, factor in enumerate(factors):
        if factor:
            split = (*values.shape[:axis], values.shape[axis] // factor, factor, *values.shape[axis + 1 :])
            families = values.reshape(split)
            values = (factor * families - families.sum(axis=axis + 1, keepdims=True)).reshape(values.shape)
    return values


def expanded(values: Floats, shape: tuple[int, ...]) -> Floats:
    """Each block's value in every cell of it."""
    for axis, size in enumerate(shape):
        values = np.repeat(values, size // values.shape[axis], axis=axis)
    return values


def scaled(cells: Floats, chains: Sequence[Chain], *, by: Floats, axis: int = 0) -> Floats:
    """Σ_T by[T] · Π_T cells: along one axis after another, each level's block means less those of the level above."""
    if axis == len(chains):
        weighed: Floats = cells * by
        return weighed
    chain = chains[axis]
    result, above = np.zeros(()), np.zeros(())
    for level, (blocks, width) in enumerate(zip(chain.blocks, chain.widths, strict=True)):
        split = (*cells.shape[:axis], blocks, width, *cells.shape[axis + 1 :])
        means = cells.reshape(split).mean(axis=axis + 1)
        if level:
            factor = chain.branching[level - 1]
            above, result = np.repeat(above, factor, axis=axis), np.repeat(result, factor, axis=axis)
        if np.any(by[level]):
            result = result + scaled(means - above, chains, by=by[level], axis=axis + 1)
        elif not level:
            result = np.zeros_like(means)
        above = means
    return result
