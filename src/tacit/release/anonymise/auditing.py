"""Recompute k, l and t from a table as it is: the check before anything is written, and of any table at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import duckdb
import numpy as np

from tacit.engines.columns import quoted
from tacit.errors import TacitError
from tacit.release.anonymise.distance import Ground
from tacit.release.anonymise.grouping import Code, Grouped, coded, grouped, key_rows, values_of
from tacit.release.anonymise.hierarchy import Hierarchy
from tacit.release.anonymise.models import Model
from tacit.release.anonymise.partition import Partition
from tacit.release.anonymise.sensitive import sensitive_codes
from tacit.release.anonymise.source import ask
from tacit.release.anonymise.tuples import Tally, Tuples


@dataclass(frozen=True, slots=True, eq=False)
class Classes:
    """The classes of a table, read off its cells alone."""

    each: Tally  # one entry a class
    table: Tally  # all of it as one class
    grounds: Mapping[str, Ground]  # how far the values of a sensitive column are apart


def classes_of(
    connection: duckdb.DuckDBPyConnection,
    view: str,
    quasi_identifiers: Sequence[str],
    *,
    sensitive: Sequence[str],
    hierarchies: Mapping[str, Hierarchy],
    distance: str,
) -> Classes:
    """Group a table by its cells. Reads nothing but the table: neither tuples nor classes of a method."""
    kinds = {str(name): str(kind) for name, kind, *_ in ask(connection, f"DESCRIBE SELECT * FROM {quoted(view)}")}
    codes = [
        _code(connection, view, name, kind=kinds[name], table=f"audit{place}")
        for place, name in enumerate(quasi_identifiers)
    ]
    grounds, secrets = sensitive_codes(connection, view, sensitive, hierarchies=hierarchies, distance=distance)
    carried = [f"{code.expression} AS {quoted(name)}" for name, code in secrets.items()]
    joins = " ".join(code.join for code in (*codes, *secrets.values()))
    codes = [replace(code, join="") for code in codes]
    codes[-1] = replace(codes[-1], join=joins)
    sizes = key_rows(connection, view, codes, carried=carried, table="audit")
    found: Grouped = grouped(
        connection, "audit", sizes=sizes, sensitive=[(name, code.size) for name, code in secrets.items()]
    )
    ask(connection, "DROP TABLE audit")
    each = np.arange(found.key.size)
    histograms = {s.name: s.histogram(each, of=each, number=found.key.size) for s in found.sensitive}
    whole = {name: counts.sum(axis=1, keepdims=True) for name, counts in histograms.items()}
    return Classes(Tally(found.size, None, histograms), Tally(found.size.sum(keepdims=True), None, whole), grounds)


def verify(classes: Classes, models: Sequence[Model], *, population: Tally | None) -> None:
    """Refuse a table of which any class breaks any model. A method that got it wrong publishes nothing."""
    for model in models:
        part = classes.each if population is None or model.column is not None else population
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


def _code(connection: duckdb.DuckDBPyConnection, view: str, name: str, *, kind: str, table: str) -> Code:
    if kind.startswith("ENUM"):
        (size,) = ask(connection, f"SELECT len(enum_range(NULL::{kind}))")[0]
        return Code(f"enum_code(s.{quoted(name)})", "", int(str(size)))
    values = values_of(connection, view, name, table=table)
    return coded(connection, values, np.arange(len(values.found)), size=len(values.found))
