"""Attacks on what is published of a table: look for a person, guess the secret, be certain of it, tell who is there."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tacit.attack.people import Codes, People
from tacit.attack.publications import NoisyTables, Publication, PublishedRows
from tacit.attack.results import AttackResult, against_controls

Bools = NDArray[np.bool_]
_BLOCK = 200  # people looked for at once


def linkage(publication: PublishedRows, people: People) -> AttackResult:
    """Look for the people of a register by all that is known of them: whoever is alone there and fits one row is found.

    The register lists members and others alike, as voters' lists do. Of people who are not in the data, one row may fit
    as well: that is how often being found means nothing.
    """
    alone = [_alone(publication, people, members) for members in (True, False)]
    return against_controls(
        "linkage", publication.name, counted(alone[0]), counted(alone[1]), loss=publication.loss,
        note="alone in the register, and one row alone fits",
    )  # fmt: skip


def inference(publication: Publication, people: People) -> AttackResult:
    """Guess the secret of people from all that is known of them."""
    right = []
    for members in (True, False):
        true = people.secret.codes[people.tried(members=members)]
        right.append(_guessed(publication, people, members) == true)
    return against_controls(
        "inference", publication.name, counted(right[0]), counted(right[1]), loss=publication.loss,
        note=f"the guess at {people.secret.name} is right",
    )  # fmt: skip


def homogeneity(publication: PublishedRows, people: People) -> AttackResult:
    """Be certain of a secret: all rows that fit have the same one. Counted is who it is right about."""
    certain = [_certain([publication], people, members) for members in (True, False)]
    return against_controls(
        "homogeneity", publication.name, counted(certain[0]), counted(certain[1]), loss=publication.loss,
        note="all rows that fit have one secret, and it is right",
    )  # fmt: skip


def intersection(first: PublishedRows, second: PublishedRows, people: People) -> AttackResult:
    """Hold two publications of the same people against each other: the secret must be in both."""
    certain = [_certain([first, second], people, members) for members in (True, False)]
    return against_controls(
        "intersection", f"{first.name}, twice", counted(certain[0]), counted(certain[1]),
        note="one secret alone is left in both, and it is right",
    )  # fmt: skip


def membership(publication: Publication, people: People) -> AttackResult:
    """Tell who is in the data: by a row that fits with its secret, or by how published shares lean (Homer et al. 2008).

    Of shares, the population is known from half of the controls, and the threshold, which one in twenty passes, from a
    quarter; hits are counted among members, and among the last quarter.
    """
    if isinstance(publication, PublishedRows):
        return _rows_that_fit(publication, people)
    half = people.controls.size // 2
    population, rest = people.controls[:half], people.controls[half:]
    tried = (people.tried(members=True), rest[::2], rest[1::2])
    scores = [_leaning(publication, people, who, population) for who in tried]
    cut = np.quantile(scores[2], 0.95)
    return against_controls(
        "membership", publication.name, counted(scores[0] > cut), counted(scores[1] > cut), loss=publication.loss,
        note="the published shares lean towards the person",
    )  # fmt: skip


def _rows_that_fit(publication: PublishedRows, people: People) -> AttackResult:
    hits = []
    for members in (True, False):
        codes = people.secret.codes[people.tried(members=members)]
        hits.append(fitting_rows(publication, people, members=members)[np.arange(codes.size), codes] > 0)
    return against_controls(
        "membership", publication.name, counted(hits[0]), counted(hits[1]), loss=publication.loss,
        note="a row fits, with its secret",
    )  # fmt: skip


def _leaning(publication: NoisyTables, people: People, who: Codes, reference: Codes) -> NDArray[np.float64]:
    """The logarithm of how much likelier each person's cells are in the publication than in the population."""
    total = np.zeros(who.size)
    for index, known in enumerate(people.known):
        table = publication.counts[index]
        if table is None:
            continue
        own = np.zeros(table.shape)
        np.add.at(own, (known.codes[reference], people.secret.codes[reference]), 1)
        released = np.maximum(table, 0.5) / np.maximum(table, 0.5).sum()
        expected = (own + 0.5) / (own + 0.5).sum()
        total += np.log(released / expected)[known.codes[who], people.secret.codes[who]]
    return total


def _alone(publication: PublishedRows, people: People, members: bool) -> Bools:
    fits_one = fitting_rows(publication, people, members=members).sum(axis=1) == 1
    codes = np.stack([known.codes for known in people.known])
    _, inverse, counts = np.unique(codes, axis=1, return_inverse=True, return_counts=True)
    alone: Bools = fits_one & (counts[np.ravel(inverse)[people.tried(members=members)]] == 1)
    return alone


@lru_cache(maxsize=8)  # every attack on rows looks at them so; two publications are held against each other
def fitting_rows(publication: PublishedRows, people: People, *, members: bool) -> NDArray[np.float64]:
    """(person, secret): how many of the published rows that may be the person's have the secret."""
    tried = people.tried(members=members)
    parts = [tried[start : start + _BLOCK] for start in range(0, tried.size, _BLOCK)]
    fits = [publication.candidates([known.codes[part] for known in people.known]) for part in parts]
    return np.concatenate([block @ publication.secrets for block in fits])


def _certain(publications: list[PublishedRows], people: People, members: bool) -> Bools:
    tried = people.tried(members=members)
    left = np.ones((tried.size, len(people.secret.values)), dtype=np.bool_)
    for publication in publications:
        left &= fitting_rows(publication, people, members=members) > 0
    right: Bools = (left.sum(axis=1) == 1) & (left.argmax(axis=1) == people.secret.codes[tried])
    return right


def _guessed(publication: Publication, people: People, members: bool) -> Codes:
    if isinstance(publication, PublishedRows):
        counts = fitting_rows(publication, people, members=members)
        overall = publication.secrets.sum(axis=0)
        return np.asarray(np.argmax(counts + 1e-9 * overall, axis=1), dtype=np.int64)
    return _from_tables(publication, people, people.tried(members=members))


def _from_tables(publication: NoisyTables, people: People, tried: Codes) -> Codes:
    """As if the known columns were independent, given the secret."""
    total = np.zeros((tried.size, len(people.secret.values)))
    tables = [
        (known, table) for known, table in zip(people.known, publication.counts, strict=True) if table is not None
    ]
    for known, table in tables:
        seen = np.maximum(table, 0.5)
        total += np.log(seen)[known.codes[tried]]
        total -= (1 - 1 / len(tables)) * np.log(seen.sum(axis=0))
    return np.asarray(np.argmax(total, axis=1), dtype=np.int64)


def counted(hits: Bools) -> tuple[int, int]:
    """How many guesses were right, and how many there were."""
    return int(np.count_nonzero(hits)), hits.size
