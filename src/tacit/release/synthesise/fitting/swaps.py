"""Rows made to fit better: two of them exchange a value where that brings the pairs of columns nearer to their targets.

An exchange leaves every single column as it is.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tacit.noise import IntArray
from tacit.release.synthesise.fitting.arrays import FloatArray
from tacit.release.synthesise.fitting.chance import Chance

_BATCHES = 12
_FLOOR = 1.0


def swapped(
    rows: IntArray,
    targets: Mapping[tuple[int, int], FloatArray],
    *,
    sizes: tuple[int, ...],
    sweeps: int,
    chance: Chance,
) -> IntArray:
    """The rows after so many sweeps over all columns. Targets are chances, by pairs of columns in order."""
    rows = rows.copy()
    if len(rows) < 2 or not targets:
        return rows
    for _ in range(sweeps):
        for axis in range(len(sizes)):
            others = [other for other in range(len(sizes)) if (min(axis, other), max(axis, other)) in targets]
            if others and sizes[axis] > 1:
                _sweep(rows, targets, axis, others, sizes=sizes, chance=chance)
    return rows


def _sweep(
    rows: IntArray,
    targets: Mapping[tuple[int, int], FloatArray],
    axis: int,
    others: list[int],
    *,
    sizes: tuple[int, ...],
    chance: Chance,
) -> None:
    """Every row meets one other, in a few batches; after each the errors are counted anew."""
    number = len(rows)
    offsets = np.concatenate([[0], np.cumsum([sizes[other] for other in others])])
    wide = int(offsets[-1])
    wanted = np.concatenate([_oriented(targets, axis, other) for other in others], axis=1) * number
    inverse = (1.0 / (wanted + _FLOOR)).ravel()
    columns = rows[:, others] + offsets[:-1]  # (rows, others): the column of each value's cell
    order = chance.order(number)
    half = number // 2
    one, two = order[:half], order[half : 2 * half]
    counts = np.zeros(sizes[axis] * wide)
    for column in range(len(others)):
        counts += np.bincount(rows[:, axis] * wide + columns[:, column], minlength=counts.size)
    goal = wanted.ravel()
    batch = max(1, -(-half // _BATCHES))
    for start in range(0, half, batch):
        first, second = one[start : start + batch], two[start : start + batch]
        differ = rows[first, axis] != rows[second, axis]
        first, second = first[differ], second[differ]
        mine, yours = rows[first, axis][:, None] * wide, rows[second, axis][:, None] * wide
        left, right = columns[first], columns[second]
        away, taken = (mine + left, yours + right), (yours + left, mine + right)
        error = counts - goal
        gain = np.zeros(first.size)
        for cell in away:
            gain += ((2 * error[cell] - 1) * inverse[cell] * (left != right)).sum(axis=1)
        for cell in taken:
            gain -= ((2 * error[cell] + 1) * inverse[cell] * (left != right)).sum(axis=1)
        good = gain > 0
        for cell in away:
            counts -= np.bincount(cell[good].ravel(), minlength=counts.size)
        for cell in taken:
            counts += np.bincount(cell[good].ravel(), minlength=counts.size)
        first, second = first[good], second[good]
        rows[first, axis], rows[second, axis] = rows[second, axis], rows[first, axis]


def _oriented(targets: Mapping[tuple[int, int], FloatArray], axis: int, other: int) -> FloatArray:
    return targets[axis, other] if axis < other else targets[other, axis].T
