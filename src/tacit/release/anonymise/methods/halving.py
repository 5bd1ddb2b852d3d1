"""The first, coarse cuts of greedy Mondrian: every large group is cut near a median, all groups of a level at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.release.anonymise.models.family import Rules
from tacit.release.anonymise.values.tuples import Bools, Floats, Ints, Tuples, tally

BINS = 256  # a column with more values is looked at through this many bins; the fine cuts see every value
HALF = 0.5  # less than any row
SMALL = (
    16  # tuples of a group from which on every cut is tried; twice as many lose 2 % less, and take half as long again
)
Progress = Callable[[float], None]


@dataclass(frozen=True, slots=True, eq=False)
class _Binned:
    """All columns as the coarse cuts see them, their bins numbered through: column after column."""

    bins: NDArray[np.int32]  # (columns, tuples)
    begin: Floats  # of each bin: where on its column's scale it begins,
    end: Floats  # and where it ends
    last: Ints  # the last code in it


@dataclass(frozen=True, slots=True, eq=False)
class _Cuts:
    """Every cut that was thought of, for each group: what it gains, its column, and the last code left of it."""

    gain: Floats  # (cuts, groups)
    column: Ints  # (cuts,)
    last: Ints  # (cuts, groups)


def halve(tuples: Tuples, scales: list[Floats], *, rules: Rules, limit: int, progress: Progress) -> Ints:
    """The group of each tuple, after cutting every group of more than `limit` tuples as often as it can be.

    A group is cut where the column's own interval shrinks most, just below or just above its weighted median.
    """
    binned = _binned(tuples, scales)
    group = np.zeros(tuples.size.size, dtype=np.int64)
    groups, active = 1, np.array([tuples.size.size > limit])
    while active.any():
        ids = np.flatnonzero(active[group])
        which = np.flatnonzero(active)
        index = (np.cumsum(active) - 1)[group[ids]]
        bins = binned.bins if ids.size == group.size else binned.bins.take(ids, axis=1)
        cuts = _cuts(binned, index, bins=bins, weight=tuples.size[ids], least=rules.least)
        right = _chosen(tuples, cuts, index, ids=ids, rules=rules)
        cut = np.bincount(index[right], minlength=which.size) > 0
        fresh = np.cumsum(cut) - 1 + groups
        group[ids[right]] = fresh[index[right]]
        active = np.zeros(groups + int(cut.sum()), dtype=np.bool_)
        active[which[cut]], active[fresh[cut]] = True, True
        groups = active.size
        active &= np.bincount(group, minlength=groups) > limit
        progress(1 - np.count_nonzero(active[group]) / group.size)
    return group


def _binned(tuples: Tuples, scales: list[Floats]) -> _Binned:
    bins, begins, ends, lasts, before = [], [], [], [], 0
    for codes, scale in zip(tuples.codes, scales, strict=True):
        bin_of = _bin_of(codes, scale.size, size=tuples.size)
        last = np.flatnonzero(np.diff(bin_of, append=-1))
        first = np.concatenate([[0], last[:-1] + 1])
        bins.append((bin_of + before).astype(np.int32)[codes])
        begins.append(scale[first])
        ends.append(scale[last])
        lasts.append(last)
        before += last.size
    return _Binned(np.stack(bins), np.concatenate(begins), np.concatenate(ends), np.concatenate(lasts))


def _bin_of(codes: NDArray[np.int32], number: int, *, size: Ints) -> Ints:
    """The bin of each code of a column: a bin each, or bins of about as many rows."""
    if number <= BINS:
        return np.arange(number)
    weight = np.cumsum(np.bincount(codes, weights=size, minlength=number))
    spread = np.minimum((weight * BINS / weight[-1]).astype(np.int64), BINS - 1)
    return np.unique(spread, return_inverse=True)[1].astype(np.int64)  # a heavy value may leave bins empty


def _cuts(binned: _Binned, group_of: Ints, *, bins: NDArray[np.int32], weight: Ints, least: int) -> _Cuts:
    """Two cuts of every column for each group, one on either side of the median; the gain is on that column alone.

    One histogram holds all groups and columns end to end, so its running sum only rises, and what is sought in every
    group and column is found in it at once.
    """
    columns, width = bins.shape[0], binned.last.size
    heavy = weight.astype(np.float64)
    total: Floats = np.bincount(group_of, weights=heavy).astype(np.float64)
    cell = (group_of * width + bins).ravel()
    heights = np.bincount(cell, weights=np.tile(heavy, columns), minlength=total.size * width)
    upto = np.cumsum(heights)
    base = np.cumsum(np.repeat(total, columns)).reshape(-1, columns).T - total  # rows before: (columns, groups)

    def reaching(rows: NDArray[np.floating[Any]] | float) -> Ints:
        return np.searchsorted(upto, base + rows).astype(np.int64)

    low, median, high = (reaching(rows) for rows in (HALF, total / 2, total))
    begin, end = binned.begin[low % width], binned.end[high % width]
    at = upto[median] - base
    gains, lasts = [], []
    for left in (at, at - heights[median]):
        inside = reaching(np.maximum(left, HALF)) % width  # the last bin on the left that has rows
        outside = np.minimum(reaching(left + HALF), high) % width  # the first on the right
        gain = total * (end - begin) - left * (binned.end[inside] - begin)
        gain -= (total - left) * (end - binned.begin[outside])
        gain[(left < max(least, 1)) | (total - left < max(least, 1))] = 0
        gains.append(gain)
        lasts.append(binned.last[inside])
    return _Cuts(np.concatenate(gains), np.tile(np.arange(columns), 2), np.concatenate(lasts))


def _chosen(tuples: Tuples, cuts: _Cuts, group_of: Ints, *, ids: Ints, rules: Rules) -> Bools:
    """Which tuples go to the right: of each group the cut that gains most, of those the models allow."""
    gain = cuts.gain.copy()
    right = np.zeros(ids.size, dtype=np.bool_)
    groups = np.arange(gain.shape[1])
    waiting = np.ones(groups.size, dtype=np.bool_)
    while True:
        best = gain.argmax(axis=0)
        waiting &= gain[best, groups] > 0
        if not waiting.any():
            return right
        mine = np.arange(ids.size) if waiting.all() else np.flatnonzero(waiting[group_of])
        group = group_of[mine]
        column, last = cuts.column[best], cuts.last[best, groups]
        side = tuples.codes[column[group], ids[mine]] > last[group]
        if rules.only_sizes:
            right[mine] = side
            return right
        kept = waiting & _allowed(tuples, group, side, ids=ids[mine], rules=rules, number=groups.size)
        right[mine] = side & kept[group]
        gain[best, groups] = 0
        waiting &= ~kept


def _allowed(tuples: Tuples, group_of: Ints, right: Bools, *, ids: Ints, rules: Rules, number: int) -> Bools:
    """Of which groups both halves satisfy the models."""
    halves = rules.hold(tally(tuples, group_of * 2 + right, number=number * 2, of=ids)).reshape(number, 2)
    return np.asarray(halves.all(axis=1), dtype=np.bool_)
