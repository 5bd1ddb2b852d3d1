"""Mondrian as published, strict and relaxed: the widest column is cut at its median (LeFevre et al., ICDE 2006)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tacit.release.anonymise.methods.halving import Progress
from tacit.release.anonymise.models.family import Rules
from tacit.release.anonymise.partition import Partition, boxed
from tacit.release.anonymise.values.columns import Column
from tacit.release.anonymise.values.tuples import Ints, Tuples, tally


@dataclass(slots=True, eq=False)
class _Group:
    """Tuples that are still together, and the interval each column is known to lie in: not always the narrowest."""

    ids: Ints
    low: Ints
    high: Ints


def strict(tuples: Tuples, columns: Sequence[Column], *, rules: Rules, progress: Progress) -> Partition:
    """Both sides of a cut are apart: equal tuples stay together."""
    return _mondrian(tuples, columns, rules=rules, progress=progress, relaxed=False)


def relaxed(tuples: Tuples, columns: Sequence[Column], *, rules: Rules, progress: Progress) -> Partition:
    """Both sides are of equal size: rows at the median go to either. Takes single rows, not distinct tuples."""
    return _mondrian(tuples, columns, rules=rules, progress=progress, relaxed=True)


def _mondrian(
    tuples: Tuples, columns: Sequence[Column], *, rules: Rules, progress: Progress, relaxed: bool
) -> Partition:
    classes = np.empty(tuples.size.size, dtype=np.int64)
    whole = np.arange(tuples.size.size)
    last = np.array([column.size - 1 for column in columns])
    waiting, count, settled = [_Group(whole, np.zeros_like(last), last)], 0, 0
    while waiting:
        group = waiting.pop()
        sides = _halves(tuples, columns, group, rules=rules, relaxed=relaxed)
        if sides:
            waiting.extend(reversed(sides))
            continue
        classes[group.ids] = count
        count, settled = count + 1, settled + group.ids.size
        progress(settled / whole.size)
    return boxed(tuples, columns, classes)


def _halves(tuples: Tuples, columns: Sequence[Column], group: _Group, *, rules: Rules, relaxed: bool) -> list[_Group]:
    """The two sides of the first cut that is allowed, the widest column first; nothing where none is."""
    allowed = np.ones(len(columns), dtype=np.bool_)
    while allowed.any():
        width = [c.scale[high] - c.scale[low] for c, low, high in zip(columns, group.low, group.high, strict=True)]
        chosen = int(np.argmax(np.where(allowed, width, -1)))
        sides = _cut(tuples, group, chosen, least=rules.least, relaxed=relaxed)
        if sides and (rules.only_sizes or _keep(tuples, sides, rules)):
            return sides
        allowed[chosen] = False
    return []


def _cut(tuples: Tuples, group: _Group, column: int, *, least: int, relaxed: bool) -> list[_Group]:
    codes, size = tuples.codes[column, group.ids], tuples.size[group.ids]
    total = int(size.sum())
    values, index = np.unique(codes, return_inverse=True)
    group.low[column], group.high[column] = values[0], values[-1]
    if total // 2 < least or values.size == 1:
        return []
    upto = np.cumsum(np.bincount(index, weights=size))
    at = int(np.searchsorted(upto, total // 2))
    median = int(values[at])
    after = int(values[min(at + 1, values.size - 1)])
    if relaxed:
        return _evenly(group, codes, column, median=median, after=after, half=total // 2)
    left = codes <= median
    if median == after or upto[at] < least or total - upto[at] < least:
        return []
    return _sides(group, column, (group.ids[left], median), (group.ids[~left], after))


def _evenly(group: _Group, codes: Ints, column: int, *, median: int, after: int, half: int) -> list[_Group]:
    """Rows at the median fill up the left side, those that came last first; the others go to the right."""
    below, at, above = (group.ids[chosen] for chosen in (codes < median, codes == median, codes > median))
    wanted = half - below.size
    stay = at.size - wanted
    left = np.concatenate([below, at[stay:][::-1]])
    right = np.concatenate([above, at[:stay]])
    return _sides(group, column, (left, median), (right, median if stay else after))


def _sides(group: _Group, column: int, left: tuple[Ints, int], right: tuple[Ints, int]) -> list[_Group]:
    one = _Group(left[0], group.low.copy(), group.high.copy())
    other = _Group(right[0], group.low.copy(), group.high.copy())
    one.high[column], other.low[column] = left[1], right[1]
    return [one, other]


def _keep(tuples: Tuples, sides: list[_Group], rules: Rules) -> bool:
    ids = np.concatenate([side.ids for side in sides])
    groups = np.repeat(np.arange(2), [side.ids.size for side in sides])
    return bool(rules.hold(tally(tuples, groups, number=2, of=ids)).all())
