"""Greedy Mondrian: column and cut are chosen by what they save, coarsely while groups are large, then finely."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.util import find_spec

import numpy as np

from tacit.release.anonymise.methods.halving import SMALL, Progress, halve
from tacit.release.anonymise.methods.recoding import local
from tacit.release.anonymise.methods.refining import refine
from tacit.release.anonymise.models.family import Rules
from tacit.release.anonymise.partition import Partition, boxed
from tacit.release.anonymise.values.columns import Column
from tacit.release.anonymise.values.tuples import Ints, Tuples

WORTH = 300_000  # tuples
WIDEST = 4096  # values of a column that the compiled way counts


def greedy(tuples: Tuples, columns: Sequence[Column], *, rules: Rules, progress: Progress) -> Partition:
    """Split for as long as it lessens the loss and every class keeps to the models.

    Cuts follow the order of a column's values, and cells of a column with a hierarchy are its groups. So where there is
    one the table is also taken up the hierarchies, and what loses less is published.
    """
    cut = boxed(tuples, columns, _classes(tuples, columns, rules=rules, progress=progress))
    if not any(column.climbs for column in columns):
        return cut
    climbed = local(tuples, columns, rules=rules, progress=progress)
    return min(climbed, cut, key=lambda partition: _lost(tuples, partition))


def _lost(tuples: Tuples, partition: Partition) -> float:
    size = np.bincount(partition.classes, weights=tuples.size, minlength=partition.number)
    return sum(float((size * cells.loss).sum()) for cells in partition.cells)


def _classes(tuples: Tuples, columns: Sequence[Column], *, rules: Rules, progress: Progress) -> Ints:
    """By numba where it is installed and k is all that is asked; else by numpy, level by level."""
    scales = [column.scale for column in columns]
    narrow = max(column.size for column in columns) <= WIDEST
    if rules.only_sizes and narrow and _compiler_pays(tuples.size.size):
        from tacit.release.anonymise.methods.compiled import split

        classes = split(tuples, scales, k=rules.least, small=SMALL)
        progress(1.0)
        return classes
    group = halve(tuples, scales, rules=rules, limit=SMALL, progress=lambda done: progress(done * 0.4))
    return refine(tuples, scales, rules=rules, group=group, progress=lambda done: progress(0.4 + done * 0.6))


def _compiler_pays(tuples: int) -> bool:
    """Whether numba is there, and either loaded already or quicker even when it must be: loading takes 0.7 s."""
    return "numba" in sys.modules or (tuples >= WORTH and find_spec("numba") is not None)
