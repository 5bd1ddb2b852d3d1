"""Sensitive columns in whole numbers, in an order that the distances between their values are told from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import duckdb
import numpy as np

from tacit.release.anonymise.columns import column
from tacit.release.anonymise.distance import HIERARCHICAL, Ground
from tacit.release.anonymise.grouping import Code, coded, values_of
from tacit.release.anonymise.hierarchy import Hierarchy


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
        if distance == HIERARCHICAL and name in hierarchies:
            levels = tuple(tuple(level.group.tolist()) for level in made.ladder()[1:])
        grounds[name] = Ground(distance, levels)
        codes[name] = coded(connection, values, numbers, size=made.size)
    return grounds, codes
