"""What a method makes of the tuples: classes, and how each is published."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tacit.release.anonymise.values.columns import ClassLabels, Column
from tacit.release.anonymise.values.tuples import Ints, Tuples

SUPPRESSED = -1


@dataclass(frozen=True, slots=True, eq=False)
class Partition:
    """The class of each tuple, and how each class reads in each column."""

    classes: Ints  # of each tuple; SUPPRESSED where it is left out
    cells: tuple[ClassLabels, ...]  # of each column

    @property
    def number(self) -> int:
        """How many classes there are."""
        return int(self.cells[0].label.size)


def boxed(tuples: Tuples, columns: Sequence[Column], classes: Ints) -> Partition:
    """Classes published as the intervals they span, each shrunk to what the class holds."""
    low, high = spans(tuples, classes)
    cells = (column.cells(low[index], high[index]) for index, column in enumerate(columns))
    return Partition(classes, tuple(cells))


def spans(tuples: Tuples, classes: Ints) -> tuple[Ints, Ints]:
    """The least and the largest code of each column in each class: (columns, classes)."""
    order = np.argsort(classes, kind="stable")
    order = order[classes[order] >= 0]
    begins = np.flatnonzero(np.diff(classes[order], prepend=-1))
    low, high = (
        np.stack([reduce.reduceat(codes[order], begins) for codes in tuples.codes]).astype(np.int64)
        for reduce in (np.minimum, np.maximum)
    )
    return low, high


def numbered(classes: Ints) -> Ints:
    """The same classes, numbered from 0 without gaps; what is suppressed stays so."""
    kept = classes >= 0
    numbers = np.full(classes.size, SUPPRESSED, dtype=np.int64)
    numbers[kept] = np.unique(classes[kept], return_inverse=True)[1]
    return numbers
