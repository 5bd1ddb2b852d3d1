"""Who could be found in a published table: prosecutor, journalist and marketer, and how many stand alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.errors import InvalidParameter
from tacit.release.anonymise.models.distance import EQUAL, Ground
from tacit.release.anonymise.models.spreads import apart, different, evenness
from tacit.release.anonymise.values.tuples import ClassTally, Ints, prior_of


@dataclass(frozen=True, slots=True)
class Risk:
    """The chance of pointing at the right row, for three who try.

    prosecutor: knows a person is in the table. journalist: knows only that they are of the population. marketer: wants
    as many right as possible, not anybody in particular.
    """

    smallest: int  # rows of the smallest class
    prosecutor: float  # of the person easiest to find
    journalist: float | None  # the same against the population, where one is known
    marketer: float  # the share of rows matched rightly by guessing within each class: of the population, if known
    sample_unique: float  # the share of rows that are alone in their class
    population_unique: float | None  # the share of rows whose person is alone in the population: counted or estimated
    estimated: bool  # the last number is an estimate (Zayatz 1991)


@dataclass(frozen=True, slots=True)
class Homogeneity:
    """How much a class alone gives away of a sensitive column."""

    column: str
    homogeneous: float  # the share of rows whose class has one value only
    least_values: int
    least_entropy: float  # of any class, as a number of equally frequent values
    farthest: float  # of any class from the table, at most 1
    distance: str = EQUAL  # which measures that


def risk(classes: ClassTally, *, population_size: int | None) -> Risk:
    """The risks of a table with these classes."""
    size = classes.size[classes.size > 0]
    rows = float(size.sum())
    alone = float(size[size == 1].sum() / rows)
    journalist: float | None = None
    unique: float | None = None
    estimated = False
    marketer = float(size.size / rows)
    if classes.population is not None:
        people = classes.population[classes.size > 0]
        journalist = float(1 / people.min())
        unique = float((people == 1).sum() / rows)
        marketer = float((size / people).sum() / rows)
    elif population_size is not None:
        unique, estimated = alone * _zayatz(size, population_size), True
    return Risk(
        smallest=int(size.min()),
        prosecutor=float(1 / size.min()),
        journalist=journalist,
        marketer=marketer,
        sample_unique=alone,
        population_unique=unique,
        estimated=estimated,
    )


def homogeneity(classes: ClassTally, table: ClassTally, column: str, *, ground: Ground | None = None) -> Homogeneity:
    """What the classes give away of one sensitive column."""
    counts = classes.histogram[column]
    values = different(counts)
    measure = ground or Ground(EQUAL)
    return Homogeneity(
        column,
        float(classes.size[values == 1].sum() / classes.size.sum()),
        int(values.min()),
        float(evenness(counts).min()),
        float(apart(counts, prior_of(table, column), ground=measure).max()),
        measure.name,
    )


def _zayatz(size: Ints, population: int) -> float:
    """The chance that a row alone in the sample is alone in the population, if its classes are as the sample's are."""
    fraction = float(size.sum()) / population
    if not 0 < fraction <= 1:
        raise InvalidParameter(f"the population has {population:,} people, fewer than the table has rows")
    heights, classes = np.unique(size, return_counts=True)
    seen_once = classes * heights * fraction * (1 - fraction) ** (heights - 1)
    total = float(seen_once.sum())
    singles = float(classes[heights == 1].sum()) * fraction
    return singles / total if total > 0 else 0.0
