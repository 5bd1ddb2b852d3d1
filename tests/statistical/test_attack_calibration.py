"""Attacks alarm where there is nothing to find no more often than they say: one in twenty, over two hundred tables.

What is published is of other people than those who are looked for, so every alarm is false. A rate above 5 % is
rejected wrongly with probability 1e-9; an attack that compared with nothing would alarm in nearly all of them.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from support.sources import Seeded
from tacit.attack import (
    averaging,
    differencing,
    guessing,
    longitudinal,
    minimality,
    reconstruction,
    shadow_membership,
    side_channels,
    similarity,
    skewness,
    small_areas,
)
from tacit.attack.asking import noisily
from tacit.attack.people import KnownColumn, People
from tacit.attack.publications import NoisyTables, PublishedRows, as_they_are
from tacit.attack.results import against_chance
from tacit.core import Loss

RUNS, ALARM, FALSE_ALARM = 200, 0.05, 1e-9


def strangers(seed: int, *, rows: int = 400) -> tuple[People, People]:
    """The people whom a publication is of, and other people of the same kind who are looked for in it."""
    draws = np.random.default_rng(seed)
    found = []
    for _ in range(2):
        known = tuple(
            KnownColumn(name, tuple(map(str, range(size))), draws.integers(0, size, rows))
            for name, size in (("age", 20), ("town", 10), ("sex", 2))
        )
        secret = KnownColumn("illness", ("a", "b", "c"), draws.integers(0, 3, rows))
        found.append(People(known, secret, np.arange(200), np.arange(200, rows)))
    return found[0], found[1]


def tables_of(people: People) -> NoisyTables:
    counts = []
    for known in people.known:
        table = np.zeros((len(known.values), 3))
        np.add.at(table, (known.codes[people.members], people.secret.codes[people.members]), 1)
        counts.append(table)
    return NoisyTables("tables", tuple(counts), Loss(1))


def by_rows(attack):
    def run(seed: int) -> bool:
        published, others = strangers(seed)
        return attack(as_they_are(published), others).alarms

    return run


def by_tables(attack):
    def run(seed: int) -> bool:
        published, others = strangers(seed)
        return attack(tables_of(published), others).alarms

    return run


def twice(seed: int) -> bool:
    (first, others), (second, _) = strangers(seed), strangers(10_000 + seed)
    return guessing.intersection(as_they_are(first), as_they_are(second), others).alarms


def about_others(ask):
    """Answers about some people's bits, held against those of others."""

    def run(seed: int) -> bool:
        draws = np.random.default_rng(seed)
        bits, others = draws.random(120) < 0.5, draws.random(120) < 0.5
        return ask(bits, lambda counts: noisily(Fraction(1), source=Seeded(seed))(_of(others, counts)), seed).alarms

    return run


def _of(others, counts):
    """Counts of other people: as many numbers, and nothing to do with those asked about."""
    return np.resize(others.astype(np.int64), counts.shape) + int(np.mean(counts))


def shadows(seed: int) -> bool:
    values = np.random.default_rng(seed).normal(size=120)
    noise = np.random.default_rng(seed + 1)
    found = shadow_membership(
        lambda rows: None, lambda model, rows: values[rows] + noise.normal(size=rows.size), 120, shadows=4,
        source=Seeded(seed),
    )  # fmt: skip
    return found.alarms


def digits(seed: int) -> bool:
    noise = noisily(Fraction(1), source=Seeded(seed + 1))
    return side_channels.floating_digits(noise, against="whole numbers", draws=100, source=Seeded(seed)).alarms


def unmade_cuts(seed: int) -> bool:
    """Classes by town and sex, which nobody cut by age, with the secrets of other people."""
    people, others = strangers(seed)
    town, sex = (known.codes[people.members] for known in people.known[1:])
    cells = np.stack([np.zeros(20, dtype=np.int64), *np.unravel_index(np.arange(20), (10, 2))])
    secrets = np.zeros((20, 3))
    np.add.at(secrets, (town * 2 + sex, others.secret.codes[people.members]), 1)
    rows = PublishedRows(
        "classes", (np.ones((1, 20), bool), np.eye(10, dtype=bool), np.eye(2, dtype=bool)), cells, secrets
    )
    return minimality(rows, people, k=2, share=0.5).alarms


def from_small_areas(seed: int) -> bool:
    """Tables with so much noise that they are of nobody."""
    people, _ = strangers(seed)
    return small_areas(people, epsilon=Fraction(1, 1000), by="least squares", source=Seeded(seed)).alarms


ATTACKS = {
    "floating-point digits": digits,
    "linkage": by_rows(guessing.linkage),
    "homogeneity": by_rows(guessing.homogeneity),
    "skewness": by_rows(skewness),
    "similarity": by_rows(lambda rows, people: similarity(rows, people, alike=[["a", "b"]])),
    "minimality": unmade_cuts,
    "rows from tables": from_small_areas,
    "inference from rows": by_rows(guessing.inference),
    "inference from tables": by_tables(guessing.inference),
    "membership in rows": by_rows(guessing.membership),
    "membership in tables": by_tables(guessing.membership),
    "intersection": twice,
    "differencing": about_others(lambda b, a, s: differencing(b, a, against="x", source=Seeded(s))),
    "averaging": about_others(lambda b, a, s: averaging(b, a, times=3, against="x", source=Seeded(s))),
    "reconstruction": about_others(lambda b, a, s: reconstruction(b, a, questions=200, against="x", source=Seeded(s))),
    "shadows": shadows,
}


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_on_other_people_alarms_no_more_often_than_it_says(name):
    alarms = sum(ATTACKS[name](seed) for seed in range(RUNS))
    assert stats.binom.sf(alarms - 1, RUNS, ALARM) > FALSE_ALARM
    assert alarms <= 0.1 * RUNS  # and is near it


def test_an_attack_that_is_held_against_nothing_alarms_nearly_always():
    alarms = 0
    for seed in range(40):
        published, others = strangers(seed)
        found = guessing.inference(as_they_are(published), others)
        alarms += against_chance("inference", "rows", round(found.success * 200), 200, chance=0.2).alarms
    assert stats.binom.sf(alarms - 1, 40, ALARM) < FALSE_ALARM


def test_reports_drawn_with_a_fair_coin_tell_nothing():
    bits = np.random.default_rng(1).random(400) < 0.5
    other = np.random.default_rng(2).random(400) < 0.5
    found = longitudinal(other, Fraction(1), times=5, remembered=False, source=Seeded(3))
    assert found.alarms  # about those who reported
    assert abs(np.mean(bits == other) - 0.5) < 0.1
