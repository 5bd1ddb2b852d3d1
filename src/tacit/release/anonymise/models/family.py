"""The privacy models: what every class of a published table must satisfy.

A model that guards secrets names the sensitive column it guards; where it names none, it guards each of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol, SupportsFloat, SupportsIndex

import numpy as np

from tacit.errors import InvalidParameter
from tacit.release.anonymise.models.distance import EQUAL, Ground, known_distance
from tacit.release.anonymise.models.spreads import (
    apart,
    different,
    dominance,
    evenness,
    largest_gain,
    largest_share,
)
from tacit.release.anonymise.values.tuples import Bools, ClassTally, Floats, Ints, prior_of

EVERY = ""  # each sensitive column
SLACK = 1e-9  # for numbers that are not whole: what two ways of adding up may differ by


class Model(Protocol):
    """A requirement on each class, given the table as one class. A list of several kinds is a list of this."""

    @property
    def column(self) -> str | None:
        """The sensitive column it guards; None where it is about sizes."""

    def holds(self, part: ClassTally, table: ClassTally) -> Bools:
        """Which of the classes satisfy it."""

    def measured(self, part: ClassTally, table: ClassTally) -> Floats:
        """How each class stands, in the model's own measure."""


@dataclass(frozen=True, slots=True)
class KAnonymity(Model):
    """Every class has at least k rows (Samarati & Sweeney 1998)."""

    k: int
    column: None = None

    def __post_init__(self) -> None:
        refuse_parts("k", self.k)
        _at_least(self.k, 1, "k")

    def holds(self, part: ClassTally, table: ClassTally) -> Bools:
        """Which classes are large enough; one that nobody is in is not published."""
        return np.asarray((part.size >= self.k) | (part.size == 0))

    def measured(self, part: ClassTally, table: ClassTally) -> Floats:
        """Rows in the class."""
        return part.size.astype(np.float64)

    def __str__(self) -> str:
        return f"k = {self.k}"


@dataclass(frozen=True, slots=True)
class KMap(Model):
    """Every class that is published matches at least k people of the population (Sweeney 2002)."""

    k: int
    column: None = None

    def __post_init__(self) -> None:
        refuse_parts("k of k-map", self.k)
        _at_least(self.k, 1, "k of k-map")

    def holds(self, part: ClassTally, table: ClassTally) -> Bools:
        """Which classes match enough people."""
        return np.asarray((_population(part) >= self.k) | (part.size == 0))

    def measured(self, part: ClassTally, table: ClassTally) -> Floats:
        """People of the population in the class."""
        return _population(part).astype(np.float64)

    def __str__(self) -> str:
        return f"k-map = {self.k}"


@dataclass(frozen=True, slots=True)
class DeltaPresence(Model):
    """Of the people of the population who match a class, between `low` and `high` are in the table (Nergiz 2007)."""

    low: float
    high: float
    column: None = None

    def __post_init__(self) -> None:
        refuse_words("an end of delta-presence", self.low)
        refuse_words("an end of delta-presence", self.high)
        if not 0 <= self.low <= self.high <= 1:
            raise InvalidParameter(f"delta-presence is a range within 0 to 1: got {self.low} to {self.high}")

    def holds(self, part: ClassTally, table: ClassTally) -> Bools:
        """Which classes hide who is in the table, and who is not."""
        share = self.measured(part, table)
        return (share >= self.low - SLACK) & (share <= self.high + SLACK)

    def measured(self, part: ClassTally, table: ClassTally) -> Floats:
        """The share of the class's people who are in the table."""
        return np.asarray(part.size / np.maximum(_population(part), 1), dtype=np.float64)

    def __str__(self) -> str:
        return f"δ-presence within {self.low:g} to {self.high:g}"


@dataclass(frozen=True, slots=True)
class LDiversity(Model):
    """Every class has at least l different values (Machanavajjhala 2006)."""

    l: float  # noqa: E741 - the model's own name for it
    column: str = EVERY

    def __post_init__(self) -> None:
        refuse_words("l", self.l)
        _at_least(self.l, 1, "l")

    def holds(self, part: ClassTally, table: ClassTally) -> Bools:
        """Which classes have enough values."""
        return np.asarray((self.measured(part, table) >= self.l) | (part.size == 0))

    def measured(self, part: ClassTally, table: ClassTally) -> Floats:
        """Different values in the class."""
        return different(part.histogram[self.column]).astype(np.float64)

    def __str__(self) -> str:
        return f"distinct l = {self.l:g} on {self.column or 'every secret'}"


@dataclass(frozen=True, slots=True)
class EntropyDiversity(Model):
    """The values of every class are as spread as l equally frequent ones: exp(entropy) ≥ l."""

    l: float  # noqa: E741 - the model's own name for it
    column: str = EVERY

    def __post_init__(self) -> None:
        refuse_words("l", self.l)
        _at_least(self.l, 1, "l")

    def holds(self, part: ClassTally, table: ClassTally) -> Bools:
        """Which classes are spread enough."""
        return np.asarray((self.measured(part, table) >= self.l - SLACK) | (part.size == 0))

    def measured(self, part: ClassTally, table: ClassTally) -> Floats:
        """The exponential of the class's entropy."""
        return evenness(part.histogram[self.column])

    def __str__(self) -> str:
        return f"entropy l = {self.l:g} on {self.column or 'every secret'}"


@dataclass(frozen=True, slots=True)
class RecursiveDiversity(Model):
    """The most frequent value of a class is less than c times all from the l-th on: r₁ < c (r_l + … + r_m)."""

    l: int  # noqa: E741 - the model's own name for it
    c: float
    column: str = EVERY

    def __post_init__(self) -> None:
        refuse_parts("l of recursive diversity", self.l)
        refuse_words("c", self.c)
        _at_least(self.l, 2, "l of recursive diversity")
        if not self.c > 0:
            raise InvalidParameter(f"c of recursive diversity must be positive: got {self.c}")

    def holds(self, part: ClassTally, table: ClassTally) -> Bools:
        """Which classes have no value that stands out."""
        return np.asarray((self.measured(part, table) < self.c) | (part.size == 0))

    def measured(self, part: ClassTally, table: ClassTally) -> Floats:
        """The most frequent value over all from the l-th on; infinite where there are fewer than l."""
        return dominance(part.histogram[self.column], l=self.l)

    def __str__(self) -> str:
        return f"recursive ({self.c:g}, {self.l})-diversity on {self.column or 'every secret'}"


@dataclass(frozen=True, slots=True)
class TCloseness(Model):
    """The values of every class are within t of the whole table's, in earth mover's distance (Li 2007)."""

    t: float
    column: str = EVERY
    distance: str = EQUAL  # how far two values are apart: equal, ordered or hierarchical
    levels: tuple[tuple[int, ...], ...] = ()  # of a hierarchical one, once the table is read

    def __post_init__(self) -> None:
        refuse_words("t", self.t)
        if not 0 <= self.t <= 1:
            raise InvalidParameter(f"t must lie between 0 and 1: got {self.t}")
        known_distance(self.distance)

    @property
    def ground(self) -> Ground:
        """The distance between the values of the column."""
        return Ground(self.distance, self.levels)

    def holds(self, part: ClassTally, table: ClassTally) -> Bools:
        """Which classes are close enough."""
        return np.asarray((self.measured(part, table) <= self.t + SLACK) | (part.size == 0))

    def measured(self, part: ClassTally, table: ClassTally) -> Floats:
        """How far each class is from the table."""
        return apart(part.histogram[self.column], prior_of(table, self.column), ground=self.ground)

    def __str__(self) -> str:
        return f"t = {self.t:g} ({self.distance}) on {self.column or 'every secret'}"


@dataclass(frozen=True, slots=True)
class BetaLikeness(Model):
    """No value is much likelier in a class than in the table: the relative gain is at most min(β, −ln p) (Cao 2012)."""

    beta: float
    column: str = EVERY

    def __post_init__(self) -> None:
        refuse_words("beta", self.beta)
        if not self.beta > 0:
            raise InvalidParameter(f"beta must be positive: got {self.beta}")

    def holds(self, part: ClassTally, table: ClassTally) -> Bools:
        """Which classes raise no value too much."""
        prior = prior_of(table, self.column)
        share = prior.share
        limit = np.minimum(self.beta, -np.log(np.where(share > 0, share, 1)))
        worst = largest_gain(part.histogram[self.column], prior, beyond=limit)
        return np.asarray((worst <= SLACK) | (part.size == 0), dtype=np.bool_)

    def measured(self, part: ClassTally, table: ClassTally) -> Floats:
        """The largest relative gain of a value."""
        prior = prior_of(table, self.column)
        return largest_gain(part.histogram[self.column], prior, beyond=np.zeros(prior.share.size))

    def __str__(self) -> str:
        return f"β = {self.beta:g} on {self.column or 'every secret'}"


@dataclass(frozen=True, slots=True)
class AlphaAnonymity(Model):
    """No value is more than a share α of a class: with a k beside it, (α, k)-anonymity (Wong 2006)."""

    alpha: float
    column: str = EVERY

    def __post_init__(self) -> None:
        refuse_words("alpha", self.alpha)
        if not 0 < self.alpha <= 1:
            raise InvalidParameter(f"alpha must lie between 0 and 1: got {self.alpha}")

    def holds(self, part: ClassTally, table: ClassTally) -> Bools:
        """Which classes have no dominant value."""
        return self.measured(part, table) <= self.alpha + SLACK

    def measured(self, part: ClassTally, table: ClassTally) -> Floats:
        """The share of the class's most frequent value."""
        return largest_share(part.histogram[self.column])

    def __str__(self) -> str:
        return f"α = {self.alpha:g} on {self.column or 'every secret'}"


@dataclass(frozen=True, slots=True, eq=False)
class Rules:
    """All the models a table is to satisfy together, and the table they are measured against."""

    models: tuple[Model, ...]
    table: ClassTally

    @property
    def least(self) -> int:
        """A class smaller than this fails whatever else it has."""
        return max((model.k for model in self.models if isinstance(model, KAnonymity)), default=1)

    @property
    def columns(self) -> frozenset[str]:
        """The sensitive columns any of them looks at."""
        return frozenset(model.column for model in self.models if model.column is not None)

    @property
    def only_sizes(self) -> bool:
        """Whether the number of rows decides everything."""
        return all(isinstance(model, KAnonymity) for model in self.models)

    def hold(self, part: ClassTally) -> Bools:
        """Which classes satisfy every model."""
        kept = np.ones(part.size.shape, dtype=np.bool_)
        for model in self.models:
            kept &= model.holds(part, self.table)
        return kept


def _population(part: ClassTally) -> Ints:
    if part.population is None:
        raise InvalidParameter(
            "no population is known: k-map and delta-presence compare the table with one",
            hint="name the population's table",
        )
    return part.population


def _at_least(number: float, least: int, what: str) -> None:
    if not number >= least or (isinstance(number, float) and not math.isfinite(number)):
        raise InvalidParameter(f"{what} must be at least {least}: got {number}")


def refuse_parts(what: str, number: object) -> None:
    """A count is a whole number: neither 1.5, nor a word, nor a truth."""
    if isinstance(number, bool) or not isinstance(number, SupportsIndex):
        raise InvalidParameter(f"{what} is a whole number: got {number!r}")


def refuse_words(what: str, number: object) -> None:
    """A measure is a number: neither a word, nor a truth."""
    if isinstance(number, bool) or not isinstance(number, SupportsFloat):
        raise InvalidParameter(f"{what} is a number: got {number!r}")
