"""The last, fine cuts of greedy Mondrian: every cut of every column is tried, many small groups side by side."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.release.anonymise.methods.halving import Progress
from tacit.release.anonymise.models.family import Rules
from tacit.release.anonymise.values.tuples import WIDE, Bools, ClassTally, Floats, Ints, Tuples, tally

STEP = 1  # doublings between the widths of batches
BATCH = 1 << 15  # tuples looked at together: what stays in the processor's cache
NARROW = 64  # numbers in a slot: with fewer, accumulate is quicker than a loop over slots
SPREAD = 1 << 22  # cells of a batch's histograms
TRIES = 8  # cuts of a group that are held against the models where a secret has too many values for running histograms
_Points = NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class _Batch:
    """Groups of about the same number of tuples side by side, filled up with their first tuple at weight nothing.

    A double changes no interval, since it falls on the same side of every cut as its original.
    """

    which: Ints  # places of these groups in the list of groups
    ids: Ints  # (groups, slots)
    real: Bools  # (groups, slots): not a filling
    size: Ints  # (groups, slots)
    people: Ints | None  # of the population, (groups, slots)
    histogram: dict[str, Ints] | None  # of the sensitive columns that matter, (values, groups, slots); None: too many


@dataclass(slots=True, eq=False)
class _Best:
    """For each group of a batch the cheapest cut so far."""

    cost: Floats
    column: Ints
    last: Ints


def refine(tuples: Tuples, scales: list[Floats], *, rules: Rules, group: Ints, progress: Progress) -> Ints:
    """Cut each group for as long as a cut that the models allow makes the loss smaller; the class of each tuple.

    The loss of a group is its rows times the sum of its intervals, all of them shrunk to what the group holds.
    """
    order = np.argsort(group, kind="stable").astype(np.int64)
    length = np.bincount(group)
    start = np.cumsum(length) - length
    length, start = length[length > 0], start[length > 0]
    points = np.stack([scale[codes] for scale, codes in zip(scales, tuples.codes, strict=True)], axis=1)
    points32 = np.ascontiguousarray(points, dtype=np.float32)
    finished = [np.empty((2, 0), dtype=np.int64)]
    while start.size:
        halves = [np.empty((2, 0), dtype=np.int64)]
        whole = _too_small(tuples, order, start=start, length=length, least=rules.least)
        finished.append(np.stack([start[whole], length[whole]]))
        start, length = start[~whole], length[~whole]
        for batch in _batches(tuples, order, start=start, length=length, columns=rules.columns):
            best = _cheapest(tuples, points32, batch, rules=rules)
            done = batch.which[best.column < 0]
            finished.append(np.stack([start[done], length[done]]))
            halves.append(_part(tuples, order, batch, best=best, start=start))
        start, length = np.concatenate(halves, axis=1)
        progress(1 - int(length.sum()) / order.size)
    ranges = np.concatenate(finished, axis=1)
    ranges = ranges[:, np.argsort(ranges[0])]
    classes = np.empty(order.size, dtype=np.int64)
    classes[order] = np.repeat(np.arange(ranges.shape[1]), ranges[1])
    return classes


def _too_small(tuples: Tuples, order: Ints, *, start: Ints, length: Ints, least: int) -> Bools:
    """Which groups nothing can be cut off from."""
    upto = np.concatenate([[0], np.cumsum(tuples.size[order])])
    rows = upto[start + length] - upto[start]
    return np.asarray((rows < 2 * max(least, 1)) | (length == 1))


def _batches(tuples: Tuples, order: Ints, *, start: Ints, length: Ints, columns: frozenset[str]) -> Iterator[_Batch]:
    wide = 1 << (STEP * np.ceil(np.log2(length) / STEP)).astype(np.int64)
    spreads = [spread for spread in tuples.sensitive if spread.name in columns]
    values = max((spread.cardinality for spread in spreads), default=1)
    running = values <= WIDE
    values = values if running else 1
    for slots in np.unique(wide):
        these = np.flatnonzero(wide == slots)
        step = max(1, min(BATCH, SPREAD // values) // int(slots))
        for first in range(0, these.size, step):
            which = these[first : first + step]
            real = np.arange(slots) < length[which][:, None]
            ids = order[start[which][:, None] + np.where(real, np.arange(slots), 0)]
            people = None if tuples.population is None else np.where(real, tuples.population[ids], 0)
            seat, of = np.flatnonzero(real), ids[real]
            batches = {
                spread.name: spread.histogram(seat, of=of, number=ids.size).reshape(-1, *ids.shape)
                for spread in (spreads if running else ())
            }
            size = np.where(real, tuples.size[ids], 0)
            yield _Batch(which, ids, real, size, people, batches if running else None)


def _cheapest(tuples: Tuples, points: _Points, batch: _Batch, *, rules: Rules) -> _Best:
    groups, slots = batch.ids.shape
    held = points[batch.ids]
    loss = (held.max(axis=1) - held.min(axis=1)).sum(axis=1, dtype=np.float64)
    total = batch.size.sum(axis=1)
    best = _Best(total * loss * (1 - 1e-6), np.full(groups, -1), np.zeros(groups, dtype=np.int64))
    rows = np.arange(groups)
    bits = int(slots).bit_length() - 1
    every: list[tuple[Floats, Ints]] = []  # of each column what each cut costs, and the last code left of it
    for column, codes in enumerate(tuples.codes):
        mine = codes[batch.ids]
        key = np.sort((mine.astype(np.uint64) << np.uint64(bits)) | np.arange(slots, dtype=np.uint64), axis=1)
        slot = (key & np.uint64(slots - 1)).astype(np.int64) + (rows * slots)[:, None]
        code = (key >> np.uint64(bits)).astype(np.int64)
        left = np.cumsum(batch.size.ravel()[slot], axis=1)[:, :-1]
        allowed = (code[:, :-1] != code[:, 1:]) & (left >= rules.least) & (total[:, None] - left >= rules.least)
        if batch.histogram is not None and not rules.only_sizes:
            allowed = _keeping(batch, batch.histogram, slot, rules=rules, allowed=allowed)
        if batch.histogram is not None and not allowed.any():
            continue
        cost = _cost(points[batch.ids.ravel()[slot.T]], left, total)
        cost[~allowed] = np.inf
        if batch.histogram is None:
            every.append((cost, code[:, :-1]))
            continue
        at = cost.argmin(axis=1)
        costs = cost[rows, at]
        better = costs < best.cost
        best.cost[better], best.column[better], best.last[better] = costs[better], column, code[rows, at][better]
    return best if batch.histogram is not None else _tried(tuples, batch, every, best=best, rules=rules)


def _tried(tuples: Tuples, batch: _Batch, every: list[tuple[Floats, Ints]], *, best: _Best, rules: Rules) -> _Best:
    """Of each group the cheapest cut that the models allow, of the `TRIES` cheapest there are.

    Held against the models one by one: in time of the rows of the group, however many values the secrets have.
    """
    cost, last = (np.concatenate(each, axis=1) for each in zip(*every, strict=True))
    width = every[0][0].shape[1]
    cheapest = np.argpartition(cost, min(TRIES, cost.shape[1]) - 1, axis=1)[:, :TRIES]
    rows = np.arange(cost.shape[0])
    cheapest = np.take_along_axis(cheapest, np.argsort(cost[rows[:, None], cheapest], axis=1), axis=1)
    waiting = np.ones(rows.size, dtype=np.bool_)
    for chosen in cheapest.T:
        waiting &= cost[rows, chosen] < best.cost
        if not waiting.any():
            break
        mine = np.flatnonzero(waiting)
        column, upto = chosen[mine] // width, last[mine, chosen[mine]]
        right = tuples.codes[column[:, None], batch.ids[mine]] > upto[:, None]
        half = (np.arange(mine.size)[:, None] * 2 + right)[batch.real[mine]]
        halves = tally(tuples, half, number=mine.size * 2, of=batch.ids[mine][batch.real[mine]])
        kept = rules.hold(halves).reshape(-1, 2).all(axis=1)
        cut = mine[kept]
        best.cost[cut] = cost[cut, chosen[cut]]
        best.column[cut], best.last[cut] = column[kept], upto[kept]
        waiting[cut] = False
    return best


def _cost(held: _Points, left: Ints, total: Ints) -> Floats:
    """The loss of each cut: after slot i of each group, (groups, slots - 1). `held`: (slots, groups, columns)."""
    ones = np.ones(held.shape[2], dtype=np.float32)
    before = ((_running(np.maximum, held) - _running(np.minimum, held)) @ ones)[:-1]
    back = held[::-1]
    after = ((_running(np.maximum, back) - _running(np.minimum, back)) @ ones)[::-1][1:]
    return np.asarray(left * before.T + (total[:, None] - left) * after.T, dtype=np.float64)


def _running(take: np.ufunc, held: _Points) -> _Points:
    """The largest, or least, of each slot and those before it. Slot by slot unless a slot holds next to nothing."""
    if held[0].size < NARROW:
        return np.asarray(take.accumulate(held, axis=0), dtype=np.float32)
    running = held.copy()
    for slot in range(1, held.shape[0]):
        take(running[slot], running[slot - 1], out=running[slot])
    return running


def _keeping(batch: _Batch, histogram: dict[str, Ints], slot: Ints, *, rules: Rules, allowed: Bools) -> Bools:
    """Of the allowed cuts those that leave both sides within the models."""
    kept = np.zeros(allowed.shape, dtype=np.bool_)
    row, at = np.nonzero(allowed)

    def summed(counts: Ints) -> tuple[Ints, Ints]:
        upto = np.cumsum(counts.ravel()[slot], axis=1)
        return upto[row, at], upto[row, -1]

    size = summed(batch.size)
    people = (None, None) if batch.people is None else summed(batch.people)
    sums = {name: [summed(counts) for counts in values] for name, values in histogram.items()}
    ends = {name: np.stack([pair[0] for pair in pairs]) for name, pairs in sums.items()}
    rest = {name: np.stack([pair[1] - pair[0] for pair in pairs]) for name, pairs in sums.items()}
    left = ClassTally(size[0], people[0], ends)
    right = ClassTally(
        size[1] - size[0], None if people[0] is None or people[1] is None else people[1] - people[0], rest
    )
    kept[row, at] = rules.hold(left) & rules.hold(right)
    return kept


def _part(tuples: Tuples, order: Ints, batch: _Batch, *, best: _Best, start: Ints) -> Ints:
    """Put the tuples of each group that is cut in order, left side first; the (start, length) of both sides."""
    cut = np.flatnonzero(best.column >= 0)
    ids, real, begin = batch.ids[cut], batch.real[cut], start[batch.which[cut]]
    side = (tuples.codes[best.column[cut][:, None], ids] > best.last[cut][:, None]).astype(np.int8)
    side[~real] = 2
    sorted_ids = np.take_along_axis(ids, np.argsort(side, axis=1, kind="stable"), axis=1)
    order[(begin[:, None] + np.arange(ids.shape[1]))[real]] = sorted_ids[real]
    left, right = (side == 0).sum(axis=1), (side == 1).sum(axis=1)
    return np.concatenate([np.stack([begin, left]), np.stack([begin + left, right])], axis=1)
