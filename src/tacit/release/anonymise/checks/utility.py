"""What anonymising costs: how much less the published table says than the one it was made of."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.release.anonymise.partition import Partition
from tacit.release.anonymise.values.columns import Column
from tacit.release.anonymise.values.tuples import Floats, Ints, Tuples


@dataclass(frozen=True, slots=True)
class ColumnLoss:
    """One column: the mean loss of a cell, the share of the column's entropy that is gone, and its different cells."""

    name: str
    ncp: float
    entropy_loss: float
    values: int
    cells: int


@dataclass(frozen=True, slots=True)
class Utility:
    """The whole table. A loss of 0 is a cell as it was, 1 a cell that says nothing."""

    ncp: float  # normalised certainty penalty: the mean over the cells that are published
    gcp: float  # the same with every suppressed cell counted as 1
    discernibility: float  # the sum of squared class sizes; a suppressed row counts as indistinct from all
    average_class: float  # of the classes as they read, and so are these
    classes: int
    rows: int
    suppressed: int
    columns: tuple[ColumnLoss, ...]


def utility(tuples: Tuples, columns: tuple[Column, ...], partition: Partition, *, published: Ints) -> Utility:
    """Measure a partition against the tuples it was made of. `published`: rows of each class that can be told apart.

    Two classes of a method that read alike are one to whoever reads them.
    """
    kept = partition.classes >= 0
    classes, size, codes = partition.classes[kept], tuples.size[kept], tuples.codes[:, kept]
    heights = np.bincount(classes, weights=size, minlength=partition.number)
    rows, total = float(heights.sum()), float(tuples.size.sum())
    lost = []
    for column, cells, mine in zip(columns, partition.cells, codes, strict=True):
        gone = _entropy_loss(cells.label[classes], mine.astype(np.int64), size)
        ncp = float((heights * cells.loss).sum() / rows)
        lost.append(ColumnLoss(column.name, ncp, gone, column.size, len(cells.names)))
    ncp = float(np.mean([column.ncp for column in lost]))
    out = total - rows
    return Utility(
        ncp=ncp,
        gcp=(ncp * rows + out) / total,
        discernibility=float((published.astype(np.float64) ** 2).sum() + out * total),
        average_class=rows / published.size,
        classes=int(published.size),
        rows=int(rows),
        suppressed=int(out),
        columns=tuple(lost),
    )


def _entropy_loss(label: Ints, code: Ints, size: Ints) -> float:
    """How much of the column's entropy remains unknown to whoever sees the cell: H(value | cell) / H(value)."""
    alone = _entropy(code, size)
    if alone == 0:
        return 0.0
    _, pair = np.unique(label * (int(code.max()) + 1) + code, return_inverse=True)
    return max(0.0, (_entropy(pair, size) - _entropy(label, size)) / alone)


def _entropy(what: Ints, size: Ints) -> float:
    share: Floats = np.bincount(what, weights=size) / float(size.sum())
    share = share[share > 0]
    return float(-(share * np.log2(share)).sum())
