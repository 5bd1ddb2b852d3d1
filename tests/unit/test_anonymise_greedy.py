"""Greedy Mondrian against a plain, slow reading of what it says it does."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tacit.release.anonymise.methods import halving, refining
from tacit.release.anonymise.methods.greedy import greedy
from tacit.release.anonymise.models.family import KAnonymity, LDiversity, Rules
from tacit.release.anonymise.values.coding import column
from tacit.release.anonymise.values.columns import Column
from tacit.release.anonymise.values.tuples import SecretSpread, Tuples, tally, whole


def table(rows: int, sizes: tuple[int, ...], *, rng: np.random.Generator) -> tuple[Tuples, list[Column]]:
    """Distinct tuples of random rows, with a sensitive column of three values."""
    raw = np.stack([(rng.random(rows) ** 2 * size).astype(np.int64) for size in sizes])
    codes, place, counts = np.unique(raw, axis=1, return_inverse=True, return_counts=True)
    place = np.asarray(place).ravel()
    secret = rng.integers(0, 3, rows)
    ones = np.ones(rows, dtype=np.int64)
    spread = SecretSpread.of("s", 3, owner=place, value=secret, count=ones, tuples=counts.size)
    columns = []
    for values in codes:
        different = np.unique(values)
        columns.append(column("c", different.tolist(), counts=different, hierarchy=None)[0])
    dense = np.stack([np.unique(values, return_inverse=True)[1] for values in codes]).astype(np.int32)
    return Tuples(dense, counts.astype(np.int64), None, (spread,)), columns


def cost(tuples: Tuples, columns: list[Column], ids: np.ndarray) -> float:
    """Rows times the sum of the intervals."""
    width = sum(
        c.scale[codes[ids].max()] - c.scale[codes[ids].min()] for c, codes in zip(columns, tuples.codes, strict=True)
    )
    return float(tuples.size[ids].sum() * width)


def slow_refine(tuples: Tuples, columns: list[Column], rules: Rules, ids: np.ndarray) -> float:
    """Try every cut of every column, take the cheapest, and go on: the loss that is left."""
    best, sides = cost(tuples, columns, ids) * (1 - 1e-6), None
    for codes in tuples.codes:
        for last in np.unique(codes[ids])[:-1]:
            left, right = ids[codes[ids] <= last], ids[codes[ids] > last]
            groups = np.repeat([0, 1], [left.size, right.size])
            if not rules.hold(tally(tuples, groups, number=2, of=np.concatenate([left, right]))).all():
                continue
            found = cost(tuples, columns, left) + cost(tuples, columns, right)
            if found < best:
                best, sides = found, (left, right)
    if sides is None:
        return cost(tuples, columns, ids)
    return sum(slow_refine(tuples, columns, rules, side) for side in sides)


def loss_of(tuples: Tuples, columns: list[Column], classes: np.ndarray) -> float:
    return sum(cost(tuples, columns, np.flatnonzero(classes == one)) for one in np.unique(classes))


@pytest.mark.parametrize(("k", "l"), [(1, None), (3, None), (7, None), (4, 2), (6, 3)])
def test_the_fine_cuts_are_those_of_trying_them_all(k: int, l: int | None) -> None:  # noqa: E741
    tuples, columns = table(400, (9, 5, 4, 3), rng=np.random.default_rng(k))
    models = (KAnonymity(k),) if l is None else (KAnonymity(k), LDiversity(l, "s"))
    rules = Rules(models, whole(tuples))
    group = np.arange(tuples.size.size) * 5 // tuples.size.size  # several groups of different lengths
    if not rules.hold(tally(tuples, group, number=5)).all():
        group = np.zeros_like(group)
    scales = [c.scale for c in columns]
    classes = refining.refine(tuples, scales, rules=rules, group=group, progress=lambda _: None)
    assert rules.hold(tally(tuples, classes, number=int(classes.max()) + 1)).all()
    slow = sum(slow_refine(tuples, columns, rules, np.flatnonzero(group == one)) for one in np.unique(group))
    assert loss_of(tuples, columns, classes) == pytest.approx(slow, rel=0.02)  # ties may be broken differently
    for one in np.unique(classes):
        assert np.unique(group[classes == one]).size == 1, "a class lies within one group"


@pytest.mark.parametrize("bins", [4, 256])
def test_the_coarse_cuts_are_next_to_a_median_and_keep_k(bins: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(halving, "BINS", bins)
    tuples, columns = table(3000, (40, 12, 5), rng=np.random.default_rng(1))
    rules = Rules((KAnonymity(5),), whole(tuples))
    scales = [c.scale for c in columns]
    group = halving.halve(tuples, scales, rules=rules, limit=30, progress=lambda _: None)
    sizes = tally(tuples, group, number=int(group.max()) + 1).size
    assert sizes.min() >= 5
    lengths = np.bincount(group)
    assert (lengths <= 30).mean() > (0.9 if bins == 256 else 0.3)
    boxes = [
        [(codes[group == one].min(), codes[group == one].max()) for codes in tuples.codes] for one in range(sizes.size)
    ]
    for one, other in itertools.combinations(boxes, 2):
        assert any(a[1] < b[0] or b[1] < a[0] for a, b in zip(one, other, strict=True)), "groups of cuts lie apart"


def test_a_coarse_cut_leaves_k_rows_on_both_sides() -> None:
    for number in range(20):
        tuples, columns = table(100, (7, 3), rng=np.random.default_rng(number))
        rules = Rules((KAnonymity(40),), whole(tuples))
        group = halving.halve(tuples, [c.scale for c in columns], rules=rules, limit=2, progress=lambda _: None)
        assert np.bincount(group, weights=tuples.size).min() >= 40


def test_the_first_coarse_cut_gains_what_it_says() -> None:
    tuples, columns = table(500, (20, 6), rng=np.random.default_rng(2))
    scales = [c.scale for c in columns]
    binned = halving._binned(tuples, scales)
    place = np.zeros(tuples.size.size, dtype=np.int64)
    cuts = halving._cuts(binned, place, bins=binned.bins, weight=tuples.size, least=1)
    total = int(tuples.size.sum())
    for gain, which, last in zip(cuts.gain[:, 0], cuts.column, cuts.last[:, 0], strict=True):
        codes, scale = tuples.codes[which], scales[which]
        left, right = codes <= last, codes > last
        if not left.any() or not right.any():
            continue
        rows = int(tuples.size[left].sum())
        widths = [scale[codes[side].max()] - scale[codes[side].min()] for side in (left, right)]
        expected = total * (scale[codes.max()] - scale[codes.min()]) - rows * widths[0] - (total - rows) * widths[1]
        assert gain == pytest.approx(expected)
        median = np.sort(np.repeat(codes, tuples.size))[(total + 1) // 2 - 1]
        assert last == median or codes[codes > last].min() == median


def test_greedy_loses_less_than_mondrian() -> None:
    from tacit.release.anonymise.methods.mondrian import strict

    tuples, columns = table(4000, (60, 15, 7, 5), rng=np.random.default_rng(3))
    for k in (2, 5, 20):
        rules = Rules((KAnonymity(k),), whole(tuples))
        ours, theirs = (
            method(tuples, columns, rules=rules, progress=lambda _: None).classes for method in (greedy, strict)
        )
        assert loss_of(tuples, columns, ours) < loss_of(tuples, columns, theirs)


def test_one_class_is_left_whole_when_nothing_can_be_cut() -> None:
    tuples, columns = table(9, (9, 9), rng=np.random.default_rng(4))
    found = greedy(tuples, columns, rules=Rules((KAnonymity(5),), whole(tuples)), progress=lambda _: None)
    assert found.number == 1
    assert np.array_equal(found.classes, np.zeros(tuples.size.size))


def test_progress_runs_from_nothing_to_all() -> None:
    tuples, columns = table(2000, (40, 12, 5), rng=np.random.default_rng(6))
    said: list[float] = []
    greedy(tuples, columns, rules=Rules((KAnonymity(5),), whole(tuples)), progress=said.append)
    assert said == sorted(said)
    assert said[-1] == 1
