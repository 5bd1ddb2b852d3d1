"""Recompute k, l and t from a table as it is: the check before anything is written, and of any table at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import duckdb
import numpy as np

from tacit.engines.columns import quoted
from tacit.errors import TacitError
from tacit.release.anonymise.models.distance import EQUAL, Ground
from tacit.release.anonymise.models.family import DeltaPresence, KMap, Model
from tacit.release.anonymise.partition import Partition
from tacit.release.anonymise.reading.grouping import LARGEST, Code, Grouped, grouped, key_rows, numbered_values
from tacit.release.anonymise.reading.sensitive import sensitive_codes
from tacit.release.anonymise.reading.source import ask
from tacit.release.anonymise.values.hierarchy import Hierarchy
from tacit.release.anonymise.values.tuples import ClassTally, Codes, Ints, Tuples


@dataclass(frozen=True, slots=True, eq=False)
class Classes:
    """The classes of a table, read off its cells alone."""

    each: ClassTally  # one entry a class
    table: ClassTally  # all of it as one class
    grounds: Mapping[str, Ground]  # how far the values of a sensitive column are apart
    labels: Codes  # the number of each class's cell in each column: (quasi-identifiers, classes)


def classes_of(
    connection: duckdb.DuckDBPyConnection,
    view: str,
    quasi_identifiers: Sequence[str],
    *,
    sensitive: Sequence[str],
    hierarchies: Mapping[str, Hierarchy],
    distances: Mapping[str, str],
) -> Classes:
    """Group a table by its cells. Reads nothing but the table: neither tuples nor classes of a method."""
    kinds = {str(name): str(kind) for name, kind, *_ in ask(connection, f"DESCRIBE SELECT * FROM {quoted(view)}")}
    codes = [
        _code(connection, view, name, kind=kinds[name], table=f"audit{index}")
        for index, name in enumerate(quasi_identifiers)
    ]
    secrets: dict[str, Code] = {}
    grounds: dict[str, Ground] = {}
    if set(distances.values()) <= {
        EQUAL
    }:  # any two values are equally far apart: their order does not matter, nor what they are
        for index, name in enumerate(sensitive):
            secrets[name] = numbered_values(connection, view, name, table=f"audited{index}")
            grounds[name] = Ground(EQUAL)
    else:
        asked = {name: kinds[name] for name in sensitive}
        grounds, secrets = sensitive_codes(connection, view, asked, hierarchies=hierarchies, distances=distances)
    carried = [f"{code.expression} AS {quoted(name)}" for name, code in secrets.items()]
    joins = " ".join(code.join for code in (*codes, *secrets.values()))
    codes = [replace(code, join="") for code in codes]
    codes[-1] = replace(codes[-1], join=joins)
    sizes = key_rows(connection, view, codes, carried=carried, table="audit")
    classes: Grouped = grouped(
        connection, "audit", sizes=sizes, sensitive=[(name, code.size) for name, code in secrets.items()]
    )
    ask(connection, "DROP TABLE audit")
    each = np.arange(classes.key.size)
    histograms = {s.name: s.counted(each, of=each, number=classes.key.size) for s in classes.sensitive}
    whole = {s.name: s.histogram(np.zeros_like(each), of=each, number=1) for s in classes.sensitive}
    table = ClassTally(classes.size.sum(keepdims=True), None, whole)
    return Classes(ClassTally(classes.size, None, histograms), table, grounds, classes.codes)


def verify(classes: Classes, models: Sequence[Model], *, population: ClassTally | None) -> None:
    """Refuse a table of which any class breaks any model. A method that got it wrong publishes nothing.

    `population` is asked only by models that compare with one: k is a matter of the published rows alone.
    """
    for model in models:
        compares = isinstance(model, KMap | DeltaPresence)
        part = population if compares and population is not None else classes.each
        kept = model.holds(part, classes.table)
        if not kept.all():
            broken = int(np.count_nonzero(~kept))
            raise TacitError(
                f"nothing is published: {broken} of {kept.size} classes do not satisfy {model}",
                hint="this is a defect of tacit: please report it",
            )


def verify_cells(tuples: Tuples, partition: Partition) -> None:
    """Refuse a table in which a row stands under a cell that does not hold its value."""
    kept = partition.classes >= 0
    mine = partition.classes[kept]
    for codes, cells in zip(tuples.codes, partition.cells, strict=True):
        if not ((cells.low[mine] <= codes[kept]) & (codes[kept] <= cells.high[mine])).all():
            raise TacitError(
                "nothing is published: a row stands under a cell that does not hold its value",
                hint="this is a defect of tacit: please report it",
            )


def verify_rows(
    connection: duckdb.DuckDBPyConnection, view: str, classes: Classes, *, names: Sequence[str], tuples: Tuples,
    partition: Partition,
) -> Ints:  # fmt: skip
    """Refuse a table that is not, cell by cell and row by row, the one the classes were made for.

    Hands back which class of the table each class of the partition reads as: two may read alike.
    """
    for name, cells in zip(names, partition.cells, strict=True):
        if _labels(connection, view, name) != cells.names:
            raise _defect("its cells are not those of its classes")
    kept = partition.classes >= 0
    heights = np.bincount(partition.classes[kept], weights=tuples.size[kept], minlength=partition.number)
    if int(heights.sum()) != int(classes.table.size.sum()):
        raise _defect(f"it has {int(classes.table.size.sum()):,} rows where there should be {int(heights.sum()):,}")
    labels = np.stack([cells.label for cells in partition.cells])
    key = _joint(np.concatenate([labels, classes.labels.astype(np.int64)], axis=1))
    expected = np.bincount(key[: partition.number], weights=heights, minlength=int(key.max()) + 1)
    there = np.bincount(key[partition.number :], weights=classes.each.size, minlength=int(key.max()) + 1)
    if not np.array_equal(expected, there):
        raise _defect("its rows do not stand under the cells of their classes")
    return key[: partition.number]


def _labels(connection: duckdb.DuckDBPyConnection, view: str, name: str) -> tuple[str, ...]:
    """What the numbers of a column's cells stand for; nothing where it is no column of cells."""
    described = ask(connection, f"DESCRIBE SELECT {quoted(name)} FROM {quoted(view)}")
    kind = str(described[0][1])
    if not kind.startswith("ENUM"):
        return ()
    return tuple(str(label) for (label,) in ask(connection, f"SELECT unnest(enum_range(NULL::{kind}))"))


def _joint(labels: Ints) -> Ints:
    """A number for each column of `labels`, the same for the same."""
    sizes = [int(row.max()) + 1 for row in labels]
    joint = np.zeros(labels.shape[1], dtype=np.int64)
    most = 1
    for row, size in zip(labels, sizes, strict=True):
        if most * size >= LARGEST:  # what is there is numbered anew, and is never more than there are columns
            joint = np.unique(joint, return_inverse=True)[1]
            most = int(joint.max()) + 1
        joint, most = joint * size + row, most * size
    return np.unique(joint, return_inverse=True)[1]


def _defect(what: str) -> TacitError:
    return TacitError(f"nothing is published: {what}", hint="this is a defect of tacit: please report it")


def _code(connection: duckdb.DuckDBPyConnection, view: str, name: str, *, kind: str, table: str) -> Code:
    if kind.startswith("ENUM"):
        (size,) = ask(connection, f"SELECT len(enum_range(NULL::{kind}))")[0]
        return Code(f"enum_code(s.{quoted(name)})", "", int(str(size)))
    return numbered_values(connection, view, name, table=table)
