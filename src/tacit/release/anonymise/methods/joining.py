"""Tuples that found no class of their own join one: where it costs least, and as long as every model holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tacit.release.anonymise.models.family import KAnonymity, KMap, LDiversity, Rules
from tacit.release.anonymise.partition import numbered, spans
from tacit.release.anonymise.values.columns import Column
from tacit.release.anonymise.values.tuples import Codes, Floats, Ints, Tuples, tally


def joined(tuples: Tuples, columns: Sequence[Column], classes: Ints, *, rules: Rules) -> Ints:
    """The class of each tuple, where some have none yet (-1)."""
    left = np.flatnonzero(classes < 0)
    if not left.size:
        return classes
    classes = classes.copy()
    count = int(classes.max()) + 1
    together = tally(tuples, np.zeros(left.size, dtype=np.int64), number=1, of=left)
    if not count or rules.hold(together)[0]:
        classes[left] = count
        return classes
    if all(isinstance(model, KAnonymity | KMap | LDiversity) for model in rules.models):
        return _one_by_one(tuples, columns, classes, left)
    while not rules.hold(tally(tuples, np.zeros(left.size, dtype=np.int64), number=1, of=left))[0]:
        prices = _prices(columns, _Boxes.of(tuples, classes), tuples.codes[:, left], rows=int(tuples.size[left].sum()))
        left = np.concatenate([left, np.flatnonzero(classes == int(np.argmin(prices)))])
        classes[left] = -1
        classes = numbered(classes)
    classes[left] = int(classes.max()) + 1
    return classes


@dataclass(frozen=True, slots=True, eq=False)
class _Boxes:
    """What each class holds: its rows, and from which code to which in each column, (columns, classes)."""

    size: Floats
    low: Ints
    high: Ints

    @classmethod
    def of(cls, tuples: Tuples, classes: Ints) -> _Boxes:
        low, high = spans(tuples, classes)
        kept = classes >= 0
        size = np.bincount(classes[kept], weights=tuples.size[kept], minlength=low.shape[1])
        return cls(size.astype(np.float64), low, high)


def _one_by_one(tuples: Tuples, columns: Sequence[Column], classes: Ints, left: Ints) -> Ints:
    """Each joins where it costs least: a class keeps these models whoever joins it."""
    boxes = _Boxes.of(tuples, classes)
    for one in left.tolist():
        codes = tuples.codes[:, [one]]
        best = int(np.argmin(_prices(columns, boxes, codes, rows=int(tuples.size[one]))))
        classes[one] = best
        boxes.size[best] += tuples.size[one]
        boxes.low[:, best] = np.minimum(boxes.low[:, best], codes[:, 0])
        boxes.high[:, best] = np.maximum(boxes.high[:, best], codes[:, 0])
    return classes


def _prices(columns: Sequence[Column], boxes: _Boxes, codes: Codes, *, rows: int) -> Floats:
    """What is lost more if tuples of these codes, so many rows, join each class: by all of the class, and by them."""
    price = np.zeros(boxes.size.size)
    for column, mine, low, high in zip(columns, codes, boxes.low, boxes.high, strict=True):
        wider = column.losses(np.minimum(low, mine.min()), np.maximum(high, mine.max()))
        price += (boxes.size + rows) * wider - boxes.size * column.losses(low, high)
    return price
