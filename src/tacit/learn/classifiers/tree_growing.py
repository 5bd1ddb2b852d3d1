"""Which question parts the rows of a node best, as far as noisy counts can tell."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tacit.learn.sums.cells import FeatureCells, offsets
from tacit.learn.sums.routing import Split
from tacit.noise import IntArray

Floats = NDArray[np.float64]
_DOUBTFUL = 2.0  # times what noise alone parts, that a question has to beat
_FEWEST = 2.0  # rows on either side, in standard deviations of their noise
_CLEAR = 3.0  # rows of a category, likewise
_COARSE = 10  # groups that the cells of a number are asked about in


def coarse(cells: Sequence[FeatureCells]) -> IntArray:
    """A group for each cell, feature after feature: neighbouring cells of numbers share one, at most ten a number.

    A cut is judged by the sum of all on one side of it, whose noise is that of as many groups: few of them tell more.
    """
    groups, first = [], 0
    for each in cells:
        mine = np.arange(each.size)
        if each.is_ordered and each.size - 1 > _COARSE:
            mine = np.append(np.arange(each.size - 1) * _COARSE // (each.size - 1), _COARSE)  # the last is what misses
        groups.append(mine + first)
        first += int(mine[-1]) + 1
    return np.concatenate(groups)


def best_split(counts: Floats, cells: Sequence[FeatureCells], *, groups: IntArray, noise: float) -> Split:
    """The question that parts a node's classes best; one to which all say the same where none beats the noise.

    `counts` are by class and group, feature after feature. Groups of numbers are cut once, in their order. Categories
    are cut by how often they are of the node's commonest class; those that noise alone could have filled stay together.
    """
    starts = offsets(cells)
    everybody = np.maximum(counts.sum(axis=1) / len(cells), 0.0)
    best, split = 0.0, Split(0, (0,) * cells[0].size)
    for feature, each in enumerate(cells):
        group = groups[starts[feature] : starts[feature + 1]]
        mine = counts[:, group[0] : group[-1] + 1]
        parts = [[cell] for cell in range(mine.shape[1])] if each.is_ordered else _by_share(mine, everybody, noise)
        left = np.cumsum(np.stack([mine[:, part].sum(axis=1) for part in parts], axis=1), axis=1)[:, :-1]
        held = np.cumsum([len(part) for part in parts])[:-1]
        gains = _gains(left, everybody, variance=noise * noise * held)
        if gains.size and gains.max() > best:
            right = np.ones(mine.shape[1], dtype=np.int64)
            right[[cell for part in parts[: int(gains.argmax()) + 1] for cell in part]] = 0
            best, split = float(gains.max()), Split(feature, tuple(right[group - group[0]].tolist()))
    return split


def _by_share(counts: Floats, everybody: Floats, noise: float) -> list[list[int]]:
    """The cells of categories, by how often they are of the node's commonest class: those in doubt first, as one."""
    common, held = int(everybody.argmax()), counts.sum(axis=0)
    clear = held > _CLEAR * noise * np.sqrt(len(everybody)) + 1
    share = np.where(clear, counts[common] / np.where(clear, held, 1.0), -1.0)
    doubtful = np.flatnonzero(~clear).tolist()
    sure = [[int(cell)] for cell in np.argsort(share, kind="stable") if clear[cell]]
    return [doubtful, *sure] if doubtful else sure


def _gains(left: Floats, everybody: Floats, *, variance: Floats) -> Floats:
    """How much purer both sides are than the node (Gini, in rows), less what noise does; none where a side is noise."""
    sides = [np.maximum(side, 0.0) for side in (left, everybody[:, None] - left)]
    sizes = [side.sum(axis=0) for side in sides]
    classes, total = everybody.size, max(float(everybody.sum()), 1.0)
    pure = sum((side**2).sum(axis=0) / np.maximum(size, 1.0) for side, size in zip(sides, sizes, strict=True))
    gain = np.asarray(pure) - float((everybody**2).sum()) / total
    doubt = _DOUBTFUL * (classes - 1) * variance * sum(1 / np.maximum(size, 1.0) for size in sizes)
    enough = np.minimum(*sizes) >= _FEWEST * np.sqrt(classes * variance) + 1
    result: Floats = np.where(enough, gain - doubt, 0.0)
    return result


def shares_of(noisy: IntArray, *, noise: float) -> Floats:
    """The share of each class at each leaf; of a leaf that noise alone could have filled, about that of all."""
    counts = np.maximum(noisy.astype(np.float64), 0.0)
    everybody = noisy.sum(axis=0, dtype=np.float64).clip(min=1.0)
    prior = everybody / everybody.sum()
    result: Floats = (counts + (1 + noise) * prior) / (counts.sum(axis=1, keepdims=True) + 1 + noise)
    return result
