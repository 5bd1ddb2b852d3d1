"""Whole numbers, not negative, that add up at every level: from the top down, the nearest that what is above allows.

Where only sums over children are given, the nearest point is found by one sort, and rounded by largest remainders.
Where the totals of children are held as well, both are margins of a table: its nearest real one is found by projecting
on either margin in turn (Dykstra), and rounded by a linear programme. Its corners are whole, for the margins of a table
are totally unimodular: the controlled rounding of the Census's TopDown (Abowd et al., 2022).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tacit.curator.forms.extras import needs
from tacit.errors import EngineError
from tacit.noise import IntArray
from tacit.release.synthesise.fitting.arrays import FloatArray

_ROUNDS = 200
_NEAR = 1e-9
EXTRA = "release"


def whole_levels(
    estimates: Sequence[FloatArray], parents: Sequence[IntArray], *, totals: Sequence[IntArray | None]
) -> list[IntArray]:
    """Of each level the counts (nodes, cells): whole, not negative, adding up; and with the totals that are held."""
    top = estimates[0]
    total = totals[0] if totals[0] is not None else np.maximum(np.rint(top.sum(axis=1)), 0).astype(np.int64)
    group: IntArray = np.zeros(top.shape[1], dtype=np.int64)
    levels = [shared_out(top[0], group, np.asarray(total, dtype=np.int64)).reshape(top.shape)]
    for estimate, above, held in zip(estimates[1:], parents, totals[1:], strict=True):
        if held is None:
            cells = estimate.shape[1]
            groups = (above[:, None] * cells + np.arange(cells)).ravel()
            split = np.bincount(above, minlength=len(levels[-1])) > 0  # what has no children is not shared out
            levels.append(
                shared_out(estimate.ravel(), groups, (levels[-1] * split[:, None]).ravel()).reshape(estimate.shape)
            )
        else:
            levels.append(_held(estimate, above, levels[-1], held))
    return levels


def shared_out(values: FloatArray, groups: IntArray, totals: IntArray) -> IntArray:
    """The totals of groups shared out among their members: the nearest to `values`, not negative, then rounded."""
    near = nearest(values, groups, totals)
    floors = np.floor(near + _NEAR).astype(np.int64)
    left = totals - np.bincount(groups, floors, minlength=totals.size).astype(np.int64)
    order = np.lexsort((floors - near, groups))  # in each group the largest remainder first
    rank = _ranks(groups[order])
    floors[order] += rank < left[groups[order]]
    if not np.array_equal(np.bincount(groups, floors, minlength=totals.size).astype(np.int64), totals):
        raise EngineError("counts were shared out wrongly")
    return floors


def nearest(values: FloatArray, groups: IntArray, totals: IntArray | FloatArray) -> FloatArray:
    """In each group the nearest point whose entries are not negative and add up to its total."""
    order = np.lexsort((-values, groups))
    falling, sorted_groups = values[order], groups[order]
    rank = _ranks(sorted_groups)
    sums = np.cumsum(falling)
    before = (sums - falling)[rank == 0]  # of each group, what was added up before it
    firsts = sorted_groups[rank == 0]
    start: FloatArray = np.zeros(int(totals.size))
    start[firsts] = before
    excess = (sums - start[sorted_groups] - totals[sorted_groups]) / (rank + 1)
    inside = falling > excess
    last: IntArray = np.full(int(totals.size), -1, dtype=np.int64)
    np.maximum.at(last, sorted_groups[inside], np.flatnonzero(inside))
    level: FloatArray = np.full(int(totals.size), np.inf)  # a group with nothing to share has nothing inside
    level[last >= 0] = excess[last[last >= 0]]
    out: FloatArray = np.maximum(values - level[groups], 0.0)
    return out


def _ranks(sorted_groups: IntArray) -> IntArray:
    """The index of each member in its group, where groups stand one after another."""
    if not sorted_groups.size:
        return sorted_groups
    starts = np.flatnonzero(np.r_[True, sorted_groups[1:] != sorted_groups[:-1]])
    sizes = np.diff(np.r_[starts, sorted_groups.size])
    ranks: IntArray = np.arange(sorted_groups.size) - np.repeat(starts, sizes)
    return ranks


def _held(estimate: FloatArray, above: IntArray, whole: IntArray, totals: IntArray) -> IntArray:
    """The children of every node, whose totals are given beside the cells of their parent."""
    children: IntArray = np.zeros(estimate.shape, dtype=np.int64)
    for parent in range(len(whole)):
        mine = np.flatnonzero(above == parent)
        children[mine] = table_with_margins(estimate[mine], totals[mine], whole[parent])
    return children


def table_with_margins(values: FloatArray, rows: IntArray, columns: IntArray) -> IntArray:
    """The table of whole numbers near `values`, not negative, whose rows and columns have these sums."""
    if values.shape[1] == 1:
        return rows[:, None].copy()
    if len(values) == 1:
        return columns[None, :].copy()
    near = _dykstra(values, rows, columns)
    return _rounded(near, rows, columns)


def _dykstra(values: FloatArray, rows: IntArray, columns: IntArray) -> FloatArray:
    shape = values.shape
    by_row, by_column = (np.indices(shape)[axis].ravel() for axis in (0, 1))
    near = values.ravel().astype(np.float64)
    first: FloatArray = np.zeros(near.size)
    second: FloatArray = np.zeros(near.size)
    for _ in range(_ROUNDS):
        on_rows = nearest(near + first, by_row, rows)
        first = near + first - on_rows
        after = nearest(on_rows + second, by_column, columns)
        second = on_rows + second - after
        moved, near = float(np.abs(after - near).max()), after
        if moved < _NEAR:
            break
    return near.reshape(shape)


def _rounded(near: FloatArray, rows: IntArray, columns: IntArray) -> IntArray:
    """The corner of the least distance: one step up from the floor, more steps up, or steps down, each at its price."""
    optimize, sparse = needs("scipy.optimize", extra=EXTRA), needs("scipy.sparse", extra=EXTRA)
    floors = np.floor(near + _NEAR).astype(np.int64)
    part = np.clip(near - floors, 0.0, 1.0).ravel()
    size = floors.size
    by_row, by_column = (np.indices(floors.shape)[axis].ravel() for axis in (0, 1))
    ones = np.ones(size)
    sums = sparse.vstack(
        [
            sparse.csr_matrix((ones, (by_row, np.arange(size))), shape=(len(rows), size)),
            sparse.csr_matrix((ones, (by_column, np.arange(size))), shape=(len(columns), size)),
        ]
    )
    wanted = np.concatenate([rows - floors.sum(axis=1), columns - floors.sum(axis=0)])
    solved = optimize.linprog(
        np.concatenate([1 - 2 * part, ones, ones]),
        A_eq=sparse.hstack([sums, sums, -sums]),
        b_eq=wanted,
        bounds=np.stack([np.zeros(3 * size), np.concatenate([ones, np.full(size, np.inf), floors.ravel()])], axis=1),
        method="highs-ds",
    )
    if solved.x is None:
        raise EngineError("no table has these margins")
    once, up, down = np.rint(solved.x).astype(np.int64).reshape(3, *floors.shape)
    rounded: IntArray = floors + once + up - down
    exact = np.array_equal(rounded.sum(axis=1), rows) and np.array_equal(rounded.sum(axis=0), columns)
    if not exact or int(rounded.min()) < 0:
        raise EngineError("no table has these margins")
    return rounded
