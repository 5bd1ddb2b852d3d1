"""Run the method that was asked for, and leave out the rows that cost most where that is allowed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from types import MappingProxyType

import numpy as np

from tacit.errors import InvalidParameter
from tacit.release.anonymise.methods.greedy import greedy
from tacit.release.anonymise.methods.halving import Progress
from tacit.release.anonymise.methods.lattice import optimal
from tacit.release.anonymise.methods.microaggregation import microaggregate
from tacit.release.anonymise.methods.mondrian import relaxed, strict
from tacit.release.anonymise.methods.recoding import local
from tacit.release.anonymise.models.family import Rules
from tacit.release.anonymise.partition import SUPPRESSED, Partition
from tacit.release.anonymise.reading.preparing import Prepared
from tacit.release.anonymise.values.columns import Column
from tacit.release.anonymise.values.tuples import Ints, Tuples, chosen, whole

Method = Callable[..., Partition]
METHODS: MappingProxyType[str, Method] = MappingProxyType(
    {"greedy": greedy, "strict": strict, "relaxed": relaxed, "local": local, "microaggregate": microaggregate}
)
TOO_COARSE = 0.5  # a row that loses more than this in a cell on average may be left out


def make(prepared: Prepared, progress: Progress) -> Partition:
    """The classes, by the method of the request."""
    request, tuples, columns = prepared.request, prepared.tuples, prepared.columns
    if request.method == "optimal":
        return optimal(tuples, columns, rules=prepared.rules, suppression=request.suppression, progress=progress)
    method = METHODS[request.method]
    if not request.suppression:
        return method(tuples, columns, rules=prepared.rules, progress=progress)
    if tuples.population is not None:
        raise InvalidParameter("rows are left out beside a population by the optimal method only")
    first = method(tuples, columns, rules=prepared.rules, progress=lambda done: progress(done / 2))
    kept = np.flatnonzero(_kept(tuples, first, most=int(request.suppression * tuples.rows)))
    if kept.size == tuples.size.size:
        return first
    return _again(method, chosen(tuples, kept), columns, kept=kept, prepared=prepared, progress=progress)


def _kept(tuples: Tuples, partition: Partition, *, most: int) -> Ints:
    """Which tuples stay when the classes that say least are left out, at most so many rows."""
    loss = np.mean([cells.loss for cells in partition.cells], axis=0)
    size = np.bincount(partition.classes, weights=tuples.size, minlength=partition.number)
    order = np.argsort(-loss, kind="stable")
    leave = (np.cumsum(size[order]) <= most) & (loss[order] > TOO_COARSE)
    gone = np.zeros(partition.number, dtype=np.bool_)
    gone[order[leave]] = True
    return np.asarray(~gone[partition.classes])


def _again(
    method: Method, rest: Tuples, columns: Sequence[Column], *, kept: Ints, prepared: Prepared, progress: Progress
) -> Partition:
    """Without the rows that were far from all others the classes of the rest are narrower."""
    rules = Rules(prepared.rules.models, whole(rest))
    second = method(rest, columns, rules=rules, progress=lambda done: progress(0.5 + done / 2))
    classes = np.full(prepared.tuples.size.size, SUPPRESSED, dtype=np.int64)
    classes[kept] = second.classes
    return replace(second, classes=classes)
