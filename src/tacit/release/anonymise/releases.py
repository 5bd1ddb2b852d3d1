"""Earlier releases of the same people, as the ledger knows them: what one gives away together with this one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tacit.release.anonymise.methods.greedy import greedy
from tacit.release.anonymise.models.family import KAnonymity, Rules
from tacit.release.anonymise.models.wanted import Wanted
from tacit.release.anonymise.partition import Partition
from tacit.release.anonymise.reading.preparing import Prepared, prepare
from tacit.release.anonymise.request import BY_ROW, BY_ROWS, Roles
from tacit.release.anonymise.values.columns import Column
from tacit.release.anonymise.values.tuples import Ints, SecretSpread, Tuples, whole

MOST = 3  # earlier releases that are remade
_NOTE = re.compile(r"anonymise .+: (?P<models>(?:(?!: ).)*); exact values, not DP; qi (?P<names>[^;]*)")


@dataclass(frozen=True, slots=True)
class Earlier:
    """A table of the same dataset that was published before."""

    entry: str  # the ledger's
    at: float  # seconds since 1970
    note: str
    same_table: bool


@dataclass(frozen=True, slots=True)
class Told:
    """One sensitive column: for which share of the people this table leaves one value, and for which both together."""

    column: str
    alone: float
    together: float


@dataclass(frozen=True, slots=True)
class Intersection:
    """What this table and an earlier one give away together, to somebody who knows all quasi-identifiers of both.

    The earlier one is made again from what its entry says of it: greedily, and of the table as it is now. So it is an
    example of what the two may give away, not the most.
    """

    entry: str
    k: int
    quasi_identifiers: tuple[str, ...]
    smallest: int  # rows that any person is among in both
    below: float  # the share of people who are among fewer than the smaller k
    unique: float  # and who stand alone
    told: tuple[Told, ...]


def intersections(prepared: Prepared, partition: Partition, earlier: Sequence[Earlier]) -> tuple[Intersection, ...]:
    """What each of the last few earlier releases of this table gives away together with it, where it can be remade."""
    request = prepared.request
    if request.method in BY_ROW or prepared.tuples.population is not None:  # rows that are alike may be in two classes
        return ()
    intersected = []
    for release in [one for one in earlier if one.same_table][-MOST:]:
        asked = _asked(release.note)
        here = prepared.source.columns() if prepared.source.remote is None else request.roles.quasi_identifiers
        if asked is not None and set(asked[1]) <= set(here) and asked[0] <= prepared.tuples.rows:
            intersected.append(_intersection(prepared, partition, release, k=asked[0], names=asked[1]))
    return tuple(intersected)


def _asked(note: str) -> tuple[int, tuple[str, ...]] | None:
    """The k and the quasi-identifiers of an entry; None where it had no room for all of them."""
    read = _NOTE.match(note)
    k = None if read is None else re.search(r"(?:^|, )k=(\d+)", read["models"])
    if read is None or k is None:
        return None
    return int(k[1]), tuple(read["names"].split(","))


def _intersection(
    prepared: Prepared, partition: Partition, release: Earlier, *, k: int, names: tuple[str, ...]
) -> Intersection:
    roles = prepared.request.roles
    more = tuple(name for name in names if name not in roles.quasi_identifiers)
    both = replace(
        prepared.request, unit=BY_ROWS, wanted=Wanted(k=1), method="greedy",
        roles=Roles(
            quasi_identifiers=(*roles.quasi_identifiers, *more),
            sensitive=tuple(name for name in roles.sensitive if name not in more),
        ),
    )  # fmt: skip
    wide = prepare(prepared.source, both, population=None)
    now = _classes_now(prepared.tuples, partition, wide.tuples)
    then = _classes_then(wide, names, k=k)
    kept = np.flatnonzero(now >= 0)
    pairs, pair = np.unique(np.stack([now[kept], then[kept]]), axis=1, return_inverse=True)
    pair = np.asarray(pair).ravel()
    rows = np.bincount(pair, weights=wide.tuples.size[kept])
    least = min(k, prepared.request.wanted.k or k)
    people = float(rows.sum())
    return Intersection(
        entry=release.entry,
        k=k,
        quasi_identifiers=names,
        smallest=int(rows.min()),
        below=float(rows[rows < least].sum() / people),
        unique=float(rows[rows == 1].sum() / people),
        told=tuple(_told(spread, (now, then), kept, pairs=pairs, rows=rows) for spread in wide.tuples.sensitive),
    )


def _classes_now(tuples: Tuples, partition: Partition, wide: Tuples) -> Ints:
    """The class of each wider tuple in this release: its first columns are this release's."""
    number = tuples.codes.shape[0]
    joint = np.concatenate([tuples.codes, wide.codes[:number]], axis=1)
    same = np.asarray(np.unique(joint, axis=1, return_inverse=True)[1]).ravel()
    classes = np.full(int(same.max()) + 1, -1, dtype=np.int64)
    classes[same[: tuples.size.size]] = partition.classes
    return classes[same[tuples.size.size :]]


def _classes_then(wide: Prepared, names: tuple[str, ...], *, k: int) -> Ints:
    """The class of each wider tuple in the earlier release."""
    index = [wide.request.roles.quasi_identifiers.index(name) for name in names]
    columns: list[Column] = [wide.columns[at] for at in index]
    codes, back = np.unique(wide.tuples.codes[index], axis=1, return_inverse=True)
    back = np.asarray(back).ravel()
    size = np.bincount(back, weights=wide.tuples.size).astype(np.int64)
    narrow = Tuples(codes, size, None, ())
    rules = Rules((KAnonymity(k),), whole(narrow))
    return greedy(narrow, columns, rules=rules, progress=lambda _: None).classes[back]


def _told(spread: SecretSpread, classes: tuple[Ints, Ints], kept: Ints, *, pairs: Ints, rows: Ints) -> Told:
    """Of whom the values that both classes have are one."""
    each = np.arange(pairs.shape[1])
    keys = []
    for mine, which in zip(classes, pairs, strict=True):
        known = spread.regrouped(mine[kept], of=kept, number=int(mine[kept].max()) + 1)
        of_pair = known.regrouped(each, of=which, number=each.size)
        keys.append(of_pair.owner * spread.cardinality + of_pair.value)
    shared = np.intersect1d(keys[0], keys[1], assume_unique=True) // spread.cardinality
    left = np.bincount(shared, minlength=each.size)
    alone = np.bincount(keys[0] // spread.cardinality, minlength=each.size)
    people = float(rows.sum())
    return Told(spread.name, float(rows[alone == 1].sum() / people), float(rows[left == 1].sum() / people))
