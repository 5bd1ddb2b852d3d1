"""Local recoding: from the values up the hierarchies, whatever can stand as a class leaves, and the rest climbs on."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tacit.release.anonymise.methods.halving import SMALL, Progress, halve
from tacit.release.anonymise.methods.joining import joined
from tacit.release.anonymise.methods.refining import refine
from tacit.release.anonymise.models.family import Rules
from tacit.release.anonymise.partition import Partition, boxed
from tacit.release.anonymise.values.columns import Column
from tacit.release.anonymise.values.tuples import Bools, Floats, Ints, Tuples, chosen, tally, whole

FINEST = 4  # doublings of the intervals of a column without a hierarchy, between its values and `*`
WORK = 100_000_000  # tuples looked at, over all combinations of levels; what is left then is cut as Mondrian cuts
LARGEST = 1 << 62


@dataclass(frozen=True, slots=True, eq=False)
class _Rung:
    """One level of a column: the group of each value, how many groups there are, and what a row loses on average."""

    group: Ints
    number: int
    loss: float


def local(tuples: Tuples, columns: Sequence[Column], *, rules: Rules, progress: Progress) -> Partition:
    """Take the combinations of levels in the order of what they lose; at each, groups within the models leave.

    A row so leaves at about the cheapest combination at which enough others are left beside it, and each class is
    published as the smallest groups that hold it. Rows that are left over join the classes where that costs least.
    """
    ladders = [_ladder(column, codes, tuples.size) for column, codes in zip(columns, tuples.codes, strict=True)]
    classes = np.full(tuples.size.size, -1, dtype=np.int64)
    left, count, work = np.arange(classes.size), 0, 0
    for levels in _cheapest_first(ladders):
        work += left.size
        gone, group, number = _leaving(tuples, left, [ladder[at] for ladder, at in zip(ladders, levels, strict=True)],
                                       rules=rules)  # fmt: skip
        if number:
            classes[left[gone]] = count + group
            count, left = count + number, left[~gone]
            progress(1 - left.size / classes.size)
        if not tuples.size[left].any():
            break
        if work > WORK:
            _cut(tuples, columns, classes, left, rules=rules)
            break
    return boxed(tuples, columns, joined(tuples, columns, classes, rules=rules))


def _cut(tuples: Tuples, columns: Sequence[Column], classes: Ints, left: Ints, *, rules: Rules) -> None:
    """Part those that are left without trying more combinations, where they keep to the models among themselves."""
    rest = chosen(tuples, left)
    if not rules.hold(whole(rest))[0]:
        return
    scales = [column.scale for column in columns]
    group = halve(rest, scales, rules=rules, limit=SMALL, progress=lambda _: None)
    count = int(classes.max()) + 1
    classes[left] = count + refine(rest, scales, rules=rules, group=group, progress=lambda _: None)


def _ladder(column: Column, codes: Ints, size: Ints) -> list[_Rung]:
    """The levels of a hierarchy that differ; of a column that has none, intervals of about as many rows each."""
    weight = np.bincount(codes, weights=size, minlength=column.size).astype(np.float64)
    steps = [level.group for level in column.ladder()]
    if not column.climbs and column.size > 2:
        steps[1:1] = _doublings(weight, gapped=column.gapped)
    rungs: list[_Rung] = []
    for group in steps:
        number = int(group.max()) + 1
        if rungs and rungs[-1].number == number:
            continue
        rungs.append(_Rung(group, number, _mean_loss(column, group, weight)))
    return rungs


def _doublings(weight: Floats, *, gapped: bool) -> list[Ints]:
    """Sixteen intervals, eight, four and two; what is not known stays apart from all of them."""
    known = weight[: weight.size - gapped]
    middle = (np.cumsum(known) - known / 2) / max(float(known.sum()), 1)
    steps = []
    for doubling in range(FINEST, 0, -1):
        group = np.unique(np.floor(middle * 2**doubling), return_inverse=True)[1].astype(np.int64)
        if group[-1] + 1 < known.size:
            steps.append(np.append(group, group[-1] + 1) if gapped else group)
    return steps


def _mean_loss(column: Column, group: Ints, weight: Floats) -> float:
    begins = np.flatnonzero(np.diff(group, prepend=-1))
    ends = np.append(begins[1:], group.size) - 1
    loss = np.minimum(column.scale[ends] - column.scale[begins], 1)
    return float((weight * loss[group]).sum() / max(float(weight.sum()), 1))


def _cheapest_first(ladders: list[list[_Rung]]) -> Iterator[tuple[int, ...]]:
    """Every combination of levels, in the order of loss: a level higher is never cheaper, so the next one is beside."""
    bottom = (0,) * len(ladders)
    waiting, seen = [(0.0, bottom)], {bottom}
    while waiting:
        _, here = heapq.heappop(waiting)
        yield here
        for index, ladder in enumerate(ladders):
            above = (*here[:index], here[index] + 1, *here[index + 1 :])
            if above[index] < len(ladder) and above not in seen:
                seen.add(above)
                loss = sum(one[at].loss for one, at in zip(ladders, above, strict=True))
                heapq.heappush(waiting, (loss, above))


def _leaving(tuples: Tuples, left: Ints, rungs: list[_Rung], *, rules: Rules) -> tuple[Bools, Ints, int]:
    """Which of the tuples that are left can leave, the group of each that does, and how many groups those are."""
    packed, most = np.zeros(left.size, dtype=np.int64), 1
    for rung, codes in zip(rungs, tuples.codes, strict=True):
        if rung.number == 1:
            continue
        if most * rung.number >= LARGEST:
            packed = np.unique(packed, return_inverse=True)[1].astype(np.int64)
            most = left.size
        packed, most = packed * rung.number + rung.group[codes[left]], most * rung.number
    group = np.unique(packed, return_inverse=True)[1]
    rows = np.bincount(group, weights=tuples.size[left])
    leaves = (rows >= rules.least) & (rows > 0)
    if not rules.only_sizes and leaves.any():
        mine = np.flatnonzero(leaves[group])
        number = np.cumsum(leaves) - 1
        held = rules.hold(tally(tuples, number[group[mine]], number=int(leaves.sum()), of=left[mine]))
        leaves[leaves] = held
    gone = leaves[group]
    return gone, (np.cumsum(leaves) - 1)[group[gone]], int(leaves.sum())
