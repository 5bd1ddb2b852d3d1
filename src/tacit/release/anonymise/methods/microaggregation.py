"""Microaggregation by MDAV: groups of k similar rows, each published as its mean (Domingo-Ferrer & Torra 2005)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tacit.release.anonymise.methods.halving import Progress, halve
from tacit.release.anonymise.models.family import Rules
from tacit.release.anonymise.partition import Partition, numbered, spans
from tacit.release.anonymise.values.columns import ClassLabels, Column
from tacit.release.anonymise.values.tuples import Floats, Ints, Tuples, tally

BLOCK = 4_000  # rows among which neighbours are sought: MDAV's time grows with the square


def microaggregate(tuples: Tuples, columns: Sequence[Column], *, rules: Rules, progress: Progress) -> Partition:
    """Takes single rows. Numbers become means, categories their most frequent value."""
    scales = [column.scale for column in columns]
    block = halve(tuples, scales, rules=rules, limit=BLOCK, progress=lambda _: None)
    points = np.stack([_standard(scale[codes]) for scale, codes in zip(scales, tuples.codes, strict=True)], axis=1)
    classes = np.full(tuples.size.size, -1, dtype=np.int64)
    count = 0
    for number in range(int(block.max()) + 1):
        ids = np.flatnonzero(block == number)
        for group in _mdav(points[ids], rules.least):
            classes[ids[group]] = count
            count += 1
        progress((number + 1) / (int(block.max()) + 2))
    classes = _merged(tuples, points, classes, rules=rules)
    low, high = spans(tuples, classes)
    cells = []
    for column, codes, least, most in zip(columns, tuples.codes, low, high, strict=True):
        labels = column.means(codes.astype(np.int64), classes, weight=tuples.size)
        loss = np.minimum(column.scale[most] - column.scale[least], 1)
        cells.append(ClassLabels.of(labels, loss=loss, low=least, high=most))
    return Partition(classes, tuple(cells))


def _standard(values: Floats) -> Floats:
    spread = float(values.std())
    return (values - values.mean()) / spread if spread > 0 else np.zeros_like(values)


def _mdav(points: Floats, k: int) -> list[Ints]:
    """Around the row farthest from the mean, and the one farthest from that, a group of k each; until few are left."""
    left, groups = np.arange(points.shape[0]), []
    while left.size >= 3 * k:
        mean = points[left].mean(axis=0)
        first = points[left[_far(points[left], mean)]]
        chosen = _near(points[left], first, k)
        groups.append(left[chosen])
        left = np.delete(left, chosen)
        chosen = _near(points[left], points[left[_far(points[left], first)]], k)
        groups.append(left[chosen])
        left = np.delete(left, chosen)
    if left.size >= 2 * k:
        chosen = _near(points[left], points[left[_far(points[left], points[left].mean(axis=0))]], k)
        groups.append(left[chosen])
        left = np.delete(left, chosen)
    return [*groups, left] if left.size else groups


def _squares(points: Floats, centre: Floats) -> Floats:
    apart = points - centre
    return np.asarray(np.einsum("ij,ij->i", apart, apart), dtype=np.float64)


def _far(points: Floats, centre: Floats) -> int:
    return int(np.argmax(_squares(points, centre)))


def _near(points: Floats, centre: Floats, k: int) -> Ints:
    return np.argpartition(_squares(points, centre), min(k, points.shape[0]) - 1)[:k]


def _merged(tuples: Tuples, points: Floats, classes: Ints, *, rules: Rules) -> Ints:
    """MDAV knows sizes only: a class that breaks another model joins the nearest one, until none does."""
    classes = classes.copy()
    while True:
        number = int(classes.max()) + 1
        broken = np.flatnonzero(~rules.hold(tally(tuples, classes, number=number)))
        if not broken.size or number == 1:
            return numbered(classes)
        count = np.bincount(classes, minlength=number)
        means = np.stack(
            [np.bincount(classes, weights=column, minlength=number) / count for column in points.T], axis=1
        )
        target, taken = np.arange(number), np.zeros(number, dtype=np.bool_)
        for one in broken:
            if taken[one]:
                continue
            apart = _squares(means, means[one])
            apart[one] = np.inf
            other = int(np.argmin(apart))
            target[one] = target[other]
            taken[other] = True
        classes = numbered(target[classes])
