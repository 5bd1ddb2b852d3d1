"""Sensitive columns in whole numbers, in an order that the distances between their values are told from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import duckdb
import numpy as np

from tacit.errors import InvalidParameter
from tacit.release.anonymise.columns import Column, column
from tacit.release.anonymise.distance import HIERARCHICAL, ORDERED, Ground
from tacit.release.anonymise.grouping import Code, coded, values_of
from tacit.release.anonymise.hierarchy import Hierarchy, Order, Tree


def sensitive_codes(
    connection: duckdb.DuckDBPyConnection,
    view: str,
    columns: Sequence[str],
    *,
    hierarchies: Mapping[str, Hierarchy],
    distance: str,
) -> tuple[dict[str, Ground], dict[str, Code]]:
    """For each column how far its values are apart, and their codes: by size, by hierarchy, or by name."""
    grounds, codes = {}, {}
    for place, name in enumerate(columns):
        values = values_of(connection, view, name, table=f"secret{place}")
        alike = np.zeros(values.counts.size, dtype=np.int64)
        made, numbers = column(name, values.found, counts=alike, hierarchy=hierarchies.get(name), ends=(None, None))
        levels: tuple[tuple[int, ...], ...] = ()
        if distance == ORDERED:
            _refuse_alphabet(made, hierarchies.get(name))
        if distance == HIERARCHICAL and name in hierarchies:
            ladder = made.ladder()  # of one value it has no step: all of it is one group, at no distance
            levels = tuple(tuple(level.group.tolist()) for level in (ladder[1:] or ladder))
        grounds[name] = Ground(distance, levels)
        codes[name] = coded(connection, values, numbers, size=made.size)
    return grounds, codes


def _refuse_alphabet(made: Column, hierarchy: Hierarchy | None) -> None:
    """Words are in no order until somebody says so, and that of the alphabet would put `flu` beside `gout`."""
    if made.numeric or made.size <= 2 or isinstance(hierarchy, Order | Tree):  # two are in order either way
        return
    raise InvalidParameter(
        f"{made.name}: an ordered distance needs an order, and words have none of their own",
        hint=f"give {made.name} an Order or a Tree, or use the equal distance",
    )
