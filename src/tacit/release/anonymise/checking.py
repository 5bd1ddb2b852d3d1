"""Audit any table: which k, l and t it has, with respect to the quasi-identifiers one names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tacit.engines.columns import quoted
from tacit.errors import InvalidParameter
from tacit.release.anonymise.auditing import classes_of
from tacit.release.anonymise.distance import EQUAL
from tacit.release.anonymise.risk import Homogeneity, Risk, homogeneity, risk
from tacit.release.anonymise.source import SOURCE, Source, ask, named, open_source

_CHECKED = "checked"


@dataclass(frozen=True, slots=True)
class Audit:
    """What a table is worth as it stands."""

    rows: int
    classes: int
    quasi_identifiers: tuple[str, ...]
    risk: Risk
    sensitive: tuple[Homogeneity, ...]
    class_sizes: tuple[tuple[int, int], ...]  # (size, how many classes have it)

    @property
    def k(self) -> int:
        """The rows of the smallest class."""
        return self.risk.smallest


def check(
    table: object,
    quasi_identifiers: Sequence[str],
    *,
    sensitive: str | Sequence[str] = (),
    population_size: int | None = None,
) -> Audit:
    """Group a table by its quasi-identifiers and measure what the groups give away. An empty cell is a value."""
    source = open_source(table, as_text=True)
    there = source.columns()
    columns = named((quasi_identifiers,) if isinstance(quasi_identifiers, str) else quasi_identifiers, there, what="qi")
    secrets = named((sensitive,) if isinstance(sensitive, str) else sensitive, there, what="sensitive")
    if not columns:
        raise InvalidParameter("no quasi-identifiers: a table has no k of its own", hint="name the columns")
    view = _without_nulls(source, [*columns, *secrets])
    found = classes_of(source.connection, view, columns, sensitive=secrets, hierarchies={}, distance=EQUAL)
    if not found.each.size.size:
        raise InvalidParameter("the table is empty: there is nothing to check")
    sizes, number = np.unique(found.each.size, return_counts=True)
    return Audit(
        rows=int(found.each.size.sum()),
        classes=int(found.each.size.size),
        quasi_identifiers=tuple(columns),
        risk=risk(found.each, population_size=population_size),
        sensitive=tuple(homogeneity(found.each, found.table, name) for name in secrets),
        class_sizes=tuple(zip(sizes.tolist(), number.tolist(), strict=True)),
    )


def _without_nulls(source: Source, columns: Sequence[str]) -> str:
    """The table, or a view of it in which what is missing reads as an empty text."""
    counts = ", ".join(f"count(*) - count({quoted(name)})" for name in columns)
    missing = ask(source.connection, f"SELECT {counts} FROM {SOURCE}")[0]
    empty = [name for name, count in zip(columns, missing, strict=True) if count]
    if not empty:
        return SOURCE
    texts = ", ".join(f"coalesce({quoted(name)}::VARCHAR, '') AS {quoted(name)}" for name in empty)
    ask(source.connection, f"CREATE TEMP VIEW {_CHECKED} AS SELECT * REPLACE ({texts}) FROM {SOURCE}")
    return _CHECKED
