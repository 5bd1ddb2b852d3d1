"""Questions that between them count every cell that any of a workload counts, at the least sum of their bounds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tacit.mechanisms.strategy import Picks, Ranges, Workload

_MOST_LOOKED_AT = 1 << 24  # cells times questions


def covering(workload: Workload, bounds: Sequence[int]) -> int | None:
    """The least sum of bounds that was found, of one question or greedily of several; None where too many to look at.

    A greedy cover may have a larger sum than the least, never one that is too small for its questions.
    """
    counted = [
        [_counted(picks, size) for picks, size in zip(block, workload.sizes, strict=True)] for block in workload.blocks
    ]
    whole = [bound for block, bound in zip(counted, bounds, strict=True) if all(mask.all() for mask in block)]
    if whole:
        return min(whole)
    if workload.cells * len(bounds) > _MOST_LOOKED_AT:
        return None
    return _greedy(counted, bounds, cells=workload.cells)


def _counted(picks: Picks, size: int) -> NDArray[np.bool_]:
    """The values of one attribute that some row counts."""
    if not isinstance(picks, Ranges):
        return np.asarray(picks.mask.any(axis=0))
    steps = np.zeros(size + 1, dtype=np.int64)
    some = picks.highs > picks.lows
    np.add.at(steps, picks.lows[some], 1)
    np.add.at(steps, picks.highs[some], -1)
    return np.asarray(np.cumsum(steps)[:size] > 0)


def _greedy(counted: Sequence[Sequence[NDArray[np.bool_]]], bounds: Sequence[int], *, cells: int) -> int:
    """Again and again the question that counts the most new cells for its bound. What nobody counts needs no one."""
    flat = [_product(block).ravel() for block in counted]
    left = np.zeros(cells, dtype=bool)
    for mask in flat:
        left |= mask
    total = 0
    while left.any():
        gains = [np.count_nonzero(mask & left) / bound for mask, bound in zip(flat, bounds, strict=True)]
        best = int(np.argmax(gains))
        total += bounds[best]
        left &= ~flat[best]
    return total


def _product(masks: Sequence[NDArray[np.bool_]]) -> NDArray[np.bool_]:
    shape = tuple(mask.size for mask in masks)
    product = np.ones(shape, dtype=bool)
    for axis, mask in enumerate(masks):
        product &= mask.reshape([mask.size if index == axis else 1 for index in range(len(shape))])
    return product
