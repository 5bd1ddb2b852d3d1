"""A table as the methods see it: distinct tuples of small whole numbers, how often each occurs, with which secrets."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Codes = NDArray[np.int32]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Spread:
    """How the values of one sensitive column are spread over the tuples: rows of (tuple, value, count), by tuple."""

    name: str
    cardinality: int
    start: Ints  # of tuple i: pairs start[i] to start[i + 1]
    value: Codes
    count: Ints

    @classmethod
    def of(cls, name: str, cardinality: int, *, owner: Ints, value: Ints, count: Ints, tuples: int) -> Spread:
        """From pairs in any order."""
        order = np.argsort(owner, kind="stable")
        start = np.zeros(tuples + 1, dtype=np.int64)
        np.cumsum(np.bincount(owner, minlength=tuples), out=start[1:])
        return cls(name, cardinality, start, value[order].astype(np.int32), count[order].astype(np.int64))

    def histogram(self, groups: Ints, *, of: Ints, number: int) -> Ints:
        """Counts of each value in each group: (values, groups). `groups[i]` is where the tuple `of[i]` is counted."""
        length = self.start[of + 1] - self.start[of]
        ends = np.cumsum(length)
        total = int(ends[-1]) if ends.size else 0
        pair = np.arange(total) + np.repeat(self.start[of] - ends + length, length)
        place = self.value[pair] * number + np.repeat(groups, length)
        found = np.bincount(place, weights=self.count[pair], minlength=self.cardinality * number)
        return found.astype(np.int64).reshape(self.cardinality, number)


@dataclass(frozen=True, slots=True, eq=False)
class Tuples:
    """Distinct tuples of quasi-identifiers, one column of `codes` each.

    A tuple that nobody of the table has may still stand for people of the population.
    """

    codes: Codes  # (quasi-identifiers, tuples)
    size: Ints  # rows of the table that have this tuple
    population: Ints | None  # people of the population who have it, where one is known
    sensitive: tuple[Spread, ...]

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
        spreads.append(Spread(spread.name, spread.cardinality, start, spread.value[pair], spread.count[pair]))
    people = None if tuples.population is None else tuples.population[ids]
    return Tuples(tuples.codes[:, ids], tuples.size[ids], people, tuple(spreads))


@dataclass(frozen=True, slots=True, eq=False)
class Tally:
    """What a model may ask of classes: arrays of one shape, and for each sensitive column (values, *shape)."""

    size: Ints
    population: Ints | None
    histogram: dict[str, Ints]

    def minus(self, other: Tally) -> Tally:
        """What is left when `other` is taken out."""
        people = None if self.population is None or other.population is None else self.population - other.population
        return Tally(
            self.size - other.size,
            people,
            {name: self.histogram[name] - found for name, found in other.histogram.items()},
        )


def tally(tuples: Tuples, groups: Ints, *, number: int, of: Ints | None = None) -> Tally:
    """The tally of each of `number` groups; `groups[i]` is the group of tuple `of[i]`, of tuple i if left out."""
    chosen = np.arange(tuples.size.size) if of is None else of
    size = np.bincount(groups, weights=tuples.size[chosen], minlength=number).astype(np.int64)
    people = None
    if tuples.population is not None:
        people = np.bincount(groups, weights=tuples.population[chosen], minlength=number).astype(np.int64)
    found = {spread.name: spread.histogram(groups, of=chosen, number=number) for spread in tuples.sensitive}
    return Tally(size, people, found)


def whole(tuples: Tuples) -> Tally:
    """The tally of the table as one class."""
    return tally(tuples, np.zeros(tuples.size.size, dtype=np.int64), number=1)
