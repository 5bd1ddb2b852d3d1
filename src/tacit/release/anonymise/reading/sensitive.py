"""Sensitive columns in whole numbers, in an order that the distances between their values are told from."""

from __future__ import annotations

from collections.abc import Mapping

import duckdb
import numpy as np

from tacit.errors import InvalidParameter
from tacit.release.anonymise.models.distance import EQUAL, HIERARCHICAL, ORDERED, Ground
from tacit.release.anonymise.reading.grouping import Code, coded, ranked_values, values_of
from tacit.release.anonymise.values.coding import column
from tacit.release.anonymise.values.columns import Column
from tacit.release.anonymise.values.hierarchy import Hierarchy, Order, Tree

_IN_ORDER = ("DATE", "TIMESTAMP", "DECIMAL", "FLOAT", "DOUBLE", "HUGEINT", "BIGINT", "INTEGER", "SMALLINT", "TINYINT")


def sensitive_codes(
    connection: duckdb.DuckDBPyConnection,
    view: str,
    columns: Mapping[str, str],
    *,
    hierarchies: Mapping[str, Hierarchy],
    distances: Mapping[str, str],
) -> tuple[dict[str, Ground], dict[str, Code]]:
    """For each column, given with its type, how far its values are apart, and their codes.

    Where a hierarchy says nothing of their distance the engine puts them in order, and none of them is read here. A
    missing value is one of its own, except where values must be in order: it has no place in one.
    """
    grounds, codes = {}, {}
    for index, (name, kind) in enumerate(columns.items()):
        table, hierarchy, distance = f"secret{index}", hierarchies.get(name), distances[name]
        if distance == EQUAL or (distance == ORDERED and hierarchy is None and _in_order(kind)):
            codes[name], missing = ranked_values(connection, view, name, table=table)
            grounds[name] = Ground(distance)
        else:
            grounds[name], codes[name], missing = _read(connection, view, name, (hierarchy, distance), table=table)
        if missing and distance == ORDERED:
            raise InvalidParameter(
                f"{name} has nulls: what is not known has no place in an order",
                hint="use the equal distance, fill them in, or leave those rows out first",
            )
    return grounds, codes


def _in_order(kind: str) -> bool:
    return kind.removeprefix("U").startswith(_IN_ORDER)


def _read(
    connection: duckdb.DuckDBPyConnection, view: str, name: str, wanted: tuple[Hierarchy | None, str], *, table: str
) -> tuple[Ground, Code, bool]:
    hierarchy, distance = wanted
    values = values_of(connection, view, name, table=table)
    alike = np.zeros(values.counts.size, dtype=np.int64)
    coded_column, numbers = column(name, values.distinct, counts=alike, hierarchy=hierarchy)
    levels: tuple[tuple[int, ...], ...] = ()
    if distance == ORDERED:
        _refuse_alphabet(coded_column, hierarchy)
    if distance == HIERARCHICAL and hierarchy is not None:
        ladder = coded_column.ladder()  # of one value it has no step: all of it is one group, at no distance
        levels = tuple(tuple(level.group.tolist()) for level in (ladder[1:] or ladder))
    return Ground(distance, levels), coded(connection, values, numbers, size=coded_column.size), values.missing


def _refuse_alphabet(coded: Column, hierarchy: Hierarchy | None) -> None:
    """Words are in no order until somebody says so, and that of the alphabet would put `flu` beside `gout`."""
    if coded.numeric or coded.size <= 2 or isinstance(hierarchy, Order | Tree):  # two are in order either way
        return
    raise InvalidParameter(
        f"{coded.name}: an ordered distance needs an order, and words have none of their own",
        hint=f"give {coded.name} an Order or a Tree, or use the equal distance",
    )
