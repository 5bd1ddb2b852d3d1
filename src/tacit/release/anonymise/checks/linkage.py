"""A linkage attack on the result: somebody who knows the quasi-identifiers of real people looks for their rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from tacit.release.anonymise.partition import Partition
from tacit.release.anonymise.values.tuples import Codes, Floats, Ints, SecretSpread, Tuples

MOST = 2_000  # tuples looked for
NOTHING: Mapping[tuple[str, ...], SecretSpread] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class LearntByLinkage:
    """What the attack learns of one sensitive column.

    `guessed` is how often the most frequent value among the candidates is the right one; `blind` how often the most
    frequent value of the whole table is, which takes no table of rows to know.
    """

    column: str
    certain: float  # the share of people all of whose candidates have one and the same value
    guessed: float
    blind: float


@dataclass(frozen=True, slots=True)
class Wider:
    """The same attack by somebody who also knows columns that are published as they are."""

    columns: tuple[str, ...]
    found_before: float  # the share with one candidate only
    found_after: float


@dataclass(frozen=True, slots=True)
class Linkage:
    """What the attack finds, before and after."""

    people: int  # looked for
    everyone: bool  # or an even selection
    found_before: float  # the share with one candidate only
    found_after: float
    fewest: int  # candidates of anybody, after
    chance: float  # of picking the right candidate, on average, after
    learnt_before: tuple[LearntByLinkage, ...]
    learnt_after: tuple[LearntByLinkage, ...]
    wider: tuple[Wider, ...] = ()


def attack(tuples: Tuples, partition: Partition, known: Mapping[tuple[str, ...], SecretSpread] = NOTHING) -> Linkage:
    """Look for people of the table with all their quasi-identifiers known; and again with what else may be `known`.

    A person's candidates are the rows whose every cell covers the person's value, whichever class they are in. People
    are taken evenly over the table, two thousand at most.
    """
    there = np.flatnonzero(tuples.size > 0)
    targets, weight = _targets(tuples, there)
    kept = np.flatnonzero(partition.classes >= 0)
    heights = np.bincount(partition.classes[kept], weights=tuples.size[kept], minlength=partition.number)
    matched = [_matches(tuples.codes[:, target], partition) for target in targets]
    candidates = np.array([heights[classes].sum() for classes in matched])
    present = partition.classes[targets] >= 0  # who was suppressed has no row to be found
    before = tuples.size[targets]
    spread_before, spread_after = [], []
    each = np.arange(targets.size)
    looked = np.repeat(each, [classes.size for classes in matched])
    fitting = np.concatenate(matched)
    for spread in tuples.sensitive:
        own = spread.regrouped(each, of=targets, number=targets.size)
        classes = spread.regrouped(partition.classes[kept], of=kept, number=partition.number)
        seen = classes.regrouped(looked, of=fitting, number=targets.size)
        common = int(spread.histogram(np.zeros(there.size, dtype=np.int64), of=there, number=1)[:, 0].argmax())
        spread_before.append(_learnt(spread.name, own, own, common=common, weight=weight))
        spread_after.append(_learnt(spread.name, own, seen, common=common, weight=weight))
    matches = candidates[present]
    return Linkage(
        people=int(weight.sum()),
        everyone=int(weight.sum()) == tuples.rows,
        found_before=float(weight[before == 1].sum() / weight.sum()),
        found_after=float(weight[present & (candidates == 1)].sum() / weight.sum()),
        fewest=int(matches.min()) if matches.size else 0,
        chance=float((weight[present] / np.maximum(matches, 1)).sum() / weight.sum()),
        learnt_before=tuple(spread_before),
        learnt_after=tuple(spread_after),
        wider=tuple(
            _wider(columns, spread, targets, (looked, fitting), kept=kept, partition=partition, weight=weight)
            for columns, spread in known.items()
        ),
    )


def _wider(
    columns: tuple[str, ...], spread: SecretSpread, targets: Ints, matched: tuple[Ints, Ints], *, kept: Ints,
    partition: Partition, weight: Floats,
) -> Wider:  # fmt: skip
    """Of a target's people those whose combination of these columns one candidate has, among all of the target's."""
    number = targets.size
    own = spread.regrouped(np.arange(number), of=targets, number=number)
    classes = spread.regrouped(partition.classes[kept], of=kept, number=partition.number)
    seen = classes.regrouped(matched[0], of=matched[1], number=number)
    there = seen.owner * spread.cardinality + seen.value
    key = own.owner * spread.cardinality + own.value
    index = np.minimum(np.searchsorted(there, key), max(there.size - 1, 0))
    candidates = np.where(there[index] == key, seen.count[index], 0) if there.size else np.zeros(key.size)
    present = partition.classes[targets][own.owner] >= 0
    people = weight / np.maximum(np.bincount(own.owner, weights=own.count, minlength=number), 1)
    stands = people[own.owner] * own.count  # for how many of those looked for each combination stands
    total = float(weight.sum())
    before, after = own.count == 1, present & (candidates == 1)
    return Wider(columns, float(stands[before].sum() / total), float(stands[after].sum() / total))


def _targets(tuples: Tuples, there: Ints) -> tuple[Ints, Floats]:
    """Tuples of people to look for, and for how many people each stands."""
    if there.size <= MOST:
        return there, tuples.size[there].astype(np.float64)
    rows = np.linspace(0, tuples.rows - 1, MOST).astype(np.int64)
    index = np.searchsorted(np.cumsum(tuples.size[there]), rows, side="right")
    ids, weight = np.unique(there[index], return_counts=True)
    return ids, weight.astype(np.float64)


def _matches(person: Codes, partition: Partition) -> Ints:
    """The classes of which every cell covers the person's value."""
    left = np.arange(partition.number)
    for code, cells in zip(person, partition.cells, strict=True):
        left = left[(cells.low[left] <= code) & (code <= cells.high[left])]
    return left


def _learnt(name: str, own: SecretSpread, seen: SecretSpread, *, common: int, weight: Floats) -> LearntByLinkage:
    """`own`: what the people of each target really have; `seen`: what their candidates have. `common`: the table's."""
    total = float(weight.sum())
    certain = np.diff(seen.start) == 1
    right = _share(own, _commonest(seen))
    blind = _share(own, np.full(weight.size, common, dtype=np.int64))
    return LearntByLinkage(
        name,
        float(weight[certain].sum() / total),
        float((weight * right).sum() / total),
        float((weight * blind).sum() / total),
    )


def _commonest(seen: SecretSpread) -> Ints:
    """The most frequent value of each target's candidates, the first of several; of nobody the first of all."""
    order = np.lexsort((seen.value, -seen.count, seen.owner))
    held = np.diff(seen.start) > 0
    commonest = np.zeros(held.size, dtype=np.int64)
    commonest[held] = seen.value[order[seen.start[:-1][held]]]
    return commonest


def _share(own: SecretSpread, value: Ints) -> Floats:
    """How many of each target's people have the value that is guessed."""
    right = own.value == value[own.owner]
    size = np.bincount(own.owner, weights=own.count, minlength=value.size)
    return np.asarray(
        np.bincount(own.owner, weights=own.count * right, minlength=value.size) / np.maximum(size, 1), dtype=np.float64
    )
