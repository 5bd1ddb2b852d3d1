"""The optimal full-domain generalisation: one level for each column, the least loss of all that satisfy the models."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tacit.errors import InvalidParameter
from tacit.release.anonymise.methods.halving import Progress
from tacit.release.anonymise.models.family import KAnonymity, KMap, LDiversity, Rules
from tacit.release.anonymise.partition import SUPPRESSED, Partition, numbered
from tacit.release.anonymise.values.columns import ClassLabels, Column, HierarchyLevel
from tacit.release.anonymise.values.tuples import Bools, Floats, Ints, Tuples, tally

LARGEST = 2_000_000  # combinations of levels
_UNKNOWN, _KEPT, _BROKEN = 0, 1, 2


@dataclass(slots=True, eq=False)
class _Lattice:
    """Every combination of levels, a bound on its loss, and what is known of it."""

    ladders: list[list[HierarchyLevel]]
    node: Ints  # (nodes, columns)
    bound: Floats  # what a row loses on average if none is suppressed: exactly that, and never more than it does
    known: Ints


@dataclass(frozen=True, slots=True, eq=False)
class _Found:
    loss: float
    node: int
    classes: Ints


def optimal(
    tuples: Tuples, columns: Sequence[Column], *, rules: Rules, suppression: float, progress: Progress
) -> Partition:
    """Search in the order of loss. What one combination tells of those above and below it is not looked at again.

    A coarser table keeps every model that a finer one keeps, if no row is suppressed; with suppression that is so
    for models that a class cannot lose by growing. For others nothing is concluded from one combination to the next.
    """
    lattice = _lattice(tuples, columns)
    grows = all(isinstance(model, KAnonymity | KMap | LDiversity) for model in rules.models)
    monotone = suppression == 0 or grows
    most = math.floor(suppression * tuples.rows)
    best: _Found | None = None
    for count, at in enumerate(np.argsort(lattice.bound, kind="stable")):
        if best is not None and lattice.bound[at] >= best.loss:
            break
        if monotone and lattice.known[at] == _UNKNOWN:
            _climb(tuples, lattice, int(at), rules=rules, most=most)
        if lattice.known[at] != _BROKEN:
            candidate = _tried(tuples, lattice, int(at), rules=rules, most=most)
            if candidate is not None and (best is None or candidate.loss < best.loss):
                best = candidate
        progress(count / lattice.bound.size)
    if best is None:
        raise InvalidParameter("no combination of levels satisfies the models", hint="ask for less, or suppress more")
    return _published(tuples, lattice, best)


def _lattice(tuples: Tuples, columns: Sequence[Column]) -> _Lattice:
    ladders = [column.ladder() for column in columns]
    number = math.prod(len(ladder) for ladder in ladders)
    if number > LARGEST:
        raise InvalidParameter(
            f"there are {number:,} combinations of levels, more than {LARGEST:,}", hint="use fewer levels, or greedy"
        )
    node = np.indices([len(ladder) for ladder in ladders]).reshape(len(ladders), -1).T
    bound = np.zeros(node.shape[0])
    for index, ladder in enumerate(ladders):
        codes = tuples.codes[index]
        mean = [float((tuples.size * level.loss[level.group[codes]]).sum()) / tuples.rows for level in ladder]
        bound += np.array(mean)[node[:, index]]
    return _Lattice(ladders, node, bound, np.full(node.shape[0], _UNKNOWN))


def _climb(tuples: Tuples, lattice: _Lattice, at: int, *, rules: Rules, most: int) -> None:
    """From a combination up to the top by single steps, cheapest first; then halve the path to find where it turns."""
    path = [at]
    tops = np.array([len(ladder) - 1 for ladder in lattice.ladders])
    strides = np.append(np.cumprod((tops + 1)[::-1])[::-1][1:], 1)
    while True:
        here = lattice.node[path[-1]]
        steps = [path[-1] + int(strides[index]) for index in np.flatnonzero(here < tops)]
        steps = [step for step in steps if lattice.known[step] == _UNKNOWN]
        if not steps:
            break
        path.append(min(steps, key=lambda step: float(lattice.bound[step])))
    low, high = 0, len(path)
    while low < high:
        middle = (low + high) // 2
        node = lattice.node[path[middle]]
        if _tried(tuples, lattice, path[middle], rules=rules, most=most) is not None:
            lattice.known[(lattice.node >= node).all(axis=1)] = _KEPT
            high = middle
        else:
            lattice.known[(lattice.node <= node).all(axis=1)] = _BROKEN
            low = middle + 1


def _tried(tuples: Tuples, lattice: _Lattice, at: int, *, rules: Rules, most: int) -> _Found | None:
    """The classes of a combination and their loss; None if more rows than allowed would have to go."""
    packed = np.zeros(tuples.size.size, dtype=np.int64)
    for codes, ladder, height in zip(tuples.codes, lattice.ladders, lattice.node[at], strict=True):
        level = ladder[height]
        packed = packed * len(level.label) + level.group[codes]
        if len(level.label) > 1:
            packed = np.unique(packed, return_inverse=True)[1]
    number = int(packed.max()) + 1
    keeps: Bools = rules.hold(tally(tuples, packed, number=number))
    gone = tuples.size[~keeps[packed]].sum()
    if gone > most or (gone and not _still(tuples, packed, keeps, rules=rules)):
        return None
    kept_loss = 0.0
    for codes, ladder, height in zip(tuples.codes, lattice.ladders, lattice.node[at], strict=True):
        level = ladder[height]
        kept_loss += float((tuples.size * level.loss[level.group[codes]])[keeps[packed]].sum())
    loss = (kept_loss + float(gone) * len(lattice.ladders)) / tuples.rows
    return _Found(loss, at, np.where(keeps[packed], packed, SUPPRESSED))


def _still(tuples: Tuples, classes: Ints, keeps: Bools, *, rules: Rules) -> bool:
    """Whether the classes that stay also keep to the models beside one another, without those that go."""
    stay = np.flatnonzero(keeps[classes])
    if not stay.size:
        return False
    rest = tally(tuples, np.zeros(stay.size, dtype=np.int64), number=1, of=stay)
    part = tally(
        tuples, numbered(np.where(keeps[classes], classes, SUPPRESSED))[stay], number=int(keeps.sum()), of=stay
    )
    return bool(Rules(rules.models, rest).hold(part).all())


def _published(tuples: Tuples, lattice: _Lattice, best: _Found) -> Partition:
    classes = numbered(best.classes)
    number = int(classes.max()) + 1
    member = np.zeros(number, dtype=np.int64)
    member[classes[classes >= 0]] = np.flatnonzero(classes >= 0)  # any tuple of a class stands for it
    cells = []
    for codes, ladder, height in zip(tuples.codes, lattice.ladders, lattice.node[best.node], strict=True):
        cells.append(ClassLabels.at(ladder[height], ladder[height].group[codes[member]]))
    return Partition(classes, tuple(cells))
