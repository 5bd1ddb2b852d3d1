"""A table as the methods see it: distinct tuples of small whole numbers, how often each occurs, with which secrets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Codes = NDArray[np.int32]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
WIDE = 64  # values of a sensitive column from which on a class is counted by the values it has, not by all there are


@dataclass(frozen=True, slots=True, eq=False)
class SecretSpread:
    """How the values of one sensitive column are spread over tuples, or over classes: (owner, value, count), by owner.

    Its length is that of the rows at most, however many values the column has.
    """

    name: str
    cardinality: int
    start: Ints  # of owner i: pairs start[i] to start[i + 1]
    value: Codes
    count: Ints

    @classmethod
    def of(cls, name: str, cardinality: int, *, owner: Ints, value: Ints, count: Ints, tuples: int) -> SecretSpread:
        """The spread of (owner, value, count) that come in any order."""
        order = np.argsort(owner, kind="stable")
        start = np.zeros(tuples + 1, dtype=np.int64)
        np.cumsum(np.bincount(owner, minlength=tuples), out=start[1:])
        return cls(name, cardinality, start, value[order].astype(np.int32), count[order].astype(np.int64))

    @property
    def owner(self) -> Ints:
        """Whose each pair is."""
        return np.repeat(np.arange(self.start.size - 1), np.diff(self.start))

    def regrouped(self, groups: Ints, *, of: Ints, number: int) -> SecretSpread:
        """The spread by `number` groups, values once and in rising order: `groups[i]` counts owner `of[i]`."""
        pair, mine = self._pairs(groups, of)
        key = mine * self.cardinality + self.value[pair]
        key, order = _sorted(key, limit=number * self.cardinality)
        begins = np.flatnonzero(np.diff(key, prepend=-1))
        count = np.add.reduceat(self.count[pair[order]], begins) if begins.size else np.empty(0, dtype=np.int64)
        owner, value = np.divmod(key[begins], self.cardinality)
        start = np.zeros(number + 1, dtype=np.int64)
        np.cumsum(np.bincount(owner, minlength=number), out=start[1:])
        return SecretSpread(self.name, self.cardinality, start, value.astype(np.int32), count)

    def histogram(self, groups: Ints, *, of: Ints, number: int) -> Ints:
        """Counts of each value in each group: (values, groups). `groups[i]` is where the tuple `of[i]` is counted."""
        pair, mine = self._pairs(groups, of)
        index = self.value[pair].astype(np.int64) * number + mine
        counts = np.bincount(index, weights=self.count[pair], minlength=self.cardinality * number)
        return counts.astype(np.int64).reshape(self.cardinality, number)

    def counted(self, groups: Ints, *, of: Ints, number: int) -> Counts:
        """Whichever of the two is small: a histogram where there are few values or one group, else pairs."""
        narrow = self.cardinality <= WIDE or number == 1
        return (self.histogram if narrow else self.regrouped)(groups, of=of, number=number)

    def _pairs(self, groups: Ints, of: Ints) -> tuple[Ints, Ints]:
        """The places of the pairs of these owners, and the group of each."""
        length = self.start[of + 1] - self.start[of]
        ends = np.cumsum(length)
        total = int(ends[-1]) if ends.size else 0
        pair = np.arange(total) + np.repeat(self.start[of] - ends + length, length)
        return pair, np.repeat(groups, length)


def _sorted(keys: Ints, *, limit: int) -> tuple[Ints, Ints]:
    """The keys, all below `limit`, in rising order, and the place of each: both in one number where they fit."""
    bits = keys.size.bit_length()
    if limit >= 1 << (62 - bits):
        order = np.argsort(keys, kind="stable")
        return keys[order], order
    both = np.sort((keys << bits) | np.arange(keys.size))  # several times as fast as argsort
    return both >> bits, both & ((1 << bits) - 1)


Counts = Ints | SecretSpread  # of classes: (values, *shape), or pairs by class


@dataclass(frozen=True, slots=True, eq=False)
class Tuples:
    """Distinct tuples of quasi-identifiers, one column of `codes` each.

    A tuple that nobody of the table has may still stand for people of the population.
    """

    codes: Codes  # (quasi-identifiers, tuples)
    size: Ints  # rows of the table that have this tuple
    population: Ints | None  # people of the population who have it, where one is known
    sensitive: tuple[SecretSpread, ...]

    @property
    def rows(self) -> int:
        """How many rows the table has."""
        return int(self.size.sum())


def chosen(tuples: Tuples, ids: Ints) -> Tuples:
    """Only these tuples, in this order."""
    spreads = []
    for spread in tuples.sensitive:
        length = spread.start[ids + 1] - spread.start[ids]
        start = np.concatenate([[0], np.cumsum(length)])
        pair = np.arange(int(start[-1])) + np.repeat(spread.start[ids] - start[:-1], length)
        spreads.append(SecretSpread(spread.name, spread.cardinality, start, spread.value[pair], spread.count[pair]))
    people = None if tuples.population is None else tuples.population[ids]
    return Tuples(tuples.codes[:, ids], tuples.size[ids], people, tuple(spreads))


@dataclass(frozen=True, slots=True, eq=False)
class Prior:
    """The values of a sensitive column in the whole table: what every class is compared with."""

    share: Floats  # of each value
    upto: Floats  # of each value and those before it
    area: Floats  # the sum of `upto` over all values before the i-th
    ranked: Codes  # the value of each row, in rising order; of a column of few values it is not needed, and empty

    @classmethod
    def of(cls, counts: Ints) -> Prior:
        """The prior of a column, from its histogram over the whole table, (values, 1)."""
        flat = counts.reshape(counts.shape[0])
        share = np.asarray(flat / max(int(flat.sum()), 1), dtype=np.float64)
        upto = np.cumsum(share)
        ranked = np.repeat(np.arange(flat.size, dtype=np.int32), flat if flat.size > WIDE else 0)
        return cls(share, upto, np.concatenate([[0.0], np.cumsum(upto)]), ranked)


@dataclass(frozen=True, slots=True, eq=False)
class ClassTally:
    """What a model may ask of classes: arrays of one shape, and for each sensitive column how its values are spread."""

    size: Ints
    population: Ints | None
    histogram: Mapping[str, Counts]
    priors: dict[str, Prior] = field(default_factory=dict)  # of a table that is one class, once they were asked for


def tally(tuples: Tuples, groups: Ints, *, number: int, of: Ints | None = None) -> ClassTally:
    """The tally of each of `number` groups; `groups[i]` is the group of tuple `of[i]`, of tuple i if left out."""
    chosen = np.arange(tuples.size.size) if of is None else of
    size = np.bincount(groups, weights=tuples.size[chosen], minlength=number).astype(np.int64)
    people = None
    if tuples.population is not None:
        people = np.bincount(groups, weights=tuples.population[chosen], minlength=number).astype(np.int64)
    counts = {spread.name: spread.counted(groups, of=chosen, number=number) for spread in tuples.sensitive}
    return ClassTally(size, people, counts)


def whole(tuples: Tuples) -> ClassTally:
    """The tally of the table as one class."""
    return tally(tuples, np.zeros(tuples.size.size, dtype=np.int64), number=1)


def prior_of(table: ClassTally, column: str) -> Prior:
    """How often a table that is one class has each value; worked out once."""
    if column not in table.priors:
        counts = table.histogram[column]
        if isinstance(counts, SecretSpread):
            counts = counts.histogram(np.zeros(1, dtype=np.int64), of=np.zeros(1, dtype=np.int64), number=1)
        table.priors[column] = Prior.of(counts)
    return table.priors[column]
