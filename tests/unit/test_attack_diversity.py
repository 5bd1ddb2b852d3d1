"""Skewness, similarity and minimality: what diverse classes give away, and what is counted to say so."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from tacit.attack import minimality, similarity, skewness
from tacit.attack.diversity import _given_refused, _laid_out
from tacit.attack.guessing import homogeneity
from tacit.attack.people import KnownColumn, People
from tacit.attack.publications import PublishedRows, as_they_are, k_anonymous
from tacit.errors import InvalidParameter


def test_wongs_two_patients_are_certain_because_their_class_was_not_cut():
    """Two with the illness among seven, the others all different: two people apart from five were kept together."""
    left, right = _given_refused(np.array([2.0, 1, 1, 1, 1, 1]), (2, 5), 0.5)
    assert left.tolist() == [1, 0, 0, 0, 0, 0]
    assert right.tolist() == pytest.approx([0, 0.2, 0.2, 0.2, 0.2, 0.2])


@pytest.mark.parametrize(("secrets", "sizes", "share"), [([3, 2, 1], (2, 4), 0.5), ([2, 2, 2], (3, 3), 0.4)])
def test_what_a_cut_that_was_not_made_tells_is_what_counting_all_layouts_says(secrets, sizes, share):
    """Each layout is weighed by how many sides and secrets of it break the rule, as the formula says it does."""
    people = [secret for secret, times in enumerate(secrets) for _ in range(times)]
    total, sides = 0, np.zeros((2, len(secrets)))
    for layout in set(permutations(people)):
        parts = (layout[: sizes[0]], layout[sizes[0] :])
        counts = np.array([[part.count(secret) for secret in range(len(secrets))] for part in parts])
        broken = int((counts > share * np.array(sizes)[:, None] + 1e-9).sum())
        total += broken
        sides += broken * counts / np.array(sizes)[:, None]
    found = _given_refused(np.array(secrets, dtype=float), sizes, share)
    assert np.allclose(found, sides / total)


def test_a_cut_that_could_not_have_broken_the_rule_tells_nothing():
    assert _given_refused(np.ones(6), (3, 3), 0.5) is None
    assert _given_refused(np.ones(6), (3, 2), 0.5) is None  # rows that were left out: nothing can be counted
    assert sum(_laid_out(4, 10, 5).values()) == pytest.approx(1)


def households(*, secrets: int = 20, blocks: int = 25, seed: int = 1) -> People:
    """In every block two people upstairs who have secret 0, and five others who share none; and as many strangers."""
    draws = np.random.default_rng(seed)
    rows = []
    for block in range(blocks):
        others = 1 + draws.permutation(secrets - 1)[:5]
        rows += [(block, 1, 0), (block, 1, 0), *((block, 0, other) for other in others)]
    rows += [(block, floor, draws.integers(secrets)) for block, floor, _ in list(rows)]
    codes = np.array(rows)
    known = tuple(
        KnownColumn(name, tuple(map(str, range(size))), codes[:, place])
        for place, (name, size) in enumerate((("block", blocks), ("floor", 2)))
    )
    secret = KnownColumn("illness", tuple(f"i{place:02}" for place in range(secrets)), codes[:, 2])
    half = len(rows) // 2
    return People(known, secret, np.arange(half), np.arange(half, len(rows)))


def test_classes_that_were_left_whole_give_those_away_for_whom_they_were():
    people = households()
    rows = k_anonymous(people, 2, method="strict", share=0.5)
    assert homogeneity(rows, people).success == 0
    found = minimality(rows, people, k=2, share=0.5)
    assert found.alarms
    assert found.success == pytest.approx(2 / 7)
    assert found.null < 0.1
    assert "25 of 25 classes" in found.note


def test_classes_that_are_as_small_as_they_may_be_tell_nothing_by_it():
    people = households()
    found = minimality(k_anonymous(people, 4, method="strict", share=0.5), people, k=4, share=0.5)
    assert not found.alarms


def one_class(secrets: dict[str, int], *, rest: dict[str, int]) -> tuple[PublishedRows, People]:
    """People of town 0 with these secrets, of town 1 with others; and forty strangers, half of either town."""
    values = sorted({*secrets, *rest})
    town = [0] * sum(secrets.values()) + [1] * sum(rest.values())
    own = [values.index(v) for part in (secrets, rest) for v, times in part.items() for _ in range(times)]
    strangers = [values.index(list(rest)[i % 2]) for i in range(40)]
    known = KnownColumn("town", ("0", "1"), np.array([*town, *([0, 1] * 20)]))
    secret = KnownColumn("illness", tuple(values), np.array([*own, *strangers]))
    people = People((known,), secret, np.arange(len(town)), np.arange(len(town), len(town) + 40))
    return as_they_are(people), people


def test_a_class_that_is_diverse_and_skewed_gives_its_people_away():
    rows, people = one_class({"rare": 25, "flu": 25}, rest={"flu": 900, "cold": 100})
    found = skewness(rows, people)
    assert found.success == pytest.approx((25 + 0) / people.tried(members=True).size)
    assert found.null == 0
    assert homogeneity(rows, people).success == 0


@pytest.mark.parametrize("alike", [[["gastritis", "ulcer"]], [["cold", "flu"], ["gastritis", "ulcer"]]])
def test_secrets_that_differ_and_mean_the_same_give_people_away(alike):
    rows, people = one_class({"ulcer": 20, "gastritis": 20}, rest={"flu": 20, "cold": 20, "ulcer": 1})
    assert homogeneity(rows, people).success == 0
    found = similarity(rows, people, alike=alike)
    assert found.success == pytest.approx(40 / 81)
    assert found.null == 0


def test_numbers_are_alike_within_a_tenth_of_their_range():
    rows, people = one_class({"30": 20, "35": 20}, rest={"0": 20, "100": 20})
    assert similarity(rows, people).success == pytest.approx(40 / 80)
    rows, people = one_class({"30": 20, "45": 20}, rest={"0": 20, "100": 20})
    assert similarity(rows, people).success == 0


def test_secrets_of_which_nobody_says_what_is_alike_are_not_tried():
    rows, people = one_class({"ulcer": 20}, rest={"flu": 20, "cold": 1})
    with pytest.raises(InvalidParameter, match="lacks what is alike in illness"):
        similarity(rows, people)
    with pytest.raises(InvalidParameter, match="no value 'gout'"):
        similarity(rows, people, alike=[["gout"]])
