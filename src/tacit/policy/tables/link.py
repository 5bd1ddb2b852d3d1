"""Whose a row is when another table says so: `l_orderkey -> orders.o_orderkey`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from tacit.policy.reading.fault import Fault, KeyPath, shown
from tacit.policy.reading.names import column_name, table_name

_ARROW = re.compile(r"\s*(?:->|→)\s*")


@dataclass(frozen=True, slots=True)
class Link:
    """A column that holds the key of a row of another private table; that row's owner owns this one too."""

    column: str
    table: str
    key: str

    def __str__(self) -> str:
        return f"{self.column} -> {self.table}.{self.key}"


@lru_cache(maxsize=1024)
def link_of(unit: str) -> Link | None:
    """The link that a unit is written as; None if it is a plain column or "row"."""
    sides = _ARROW.split(unit)
    if len(sides) == 1:
        return None
    table, _, key = sides[1].partition(".")
    return Link(sides[0], table, key)


def unit_name(value: object, path: KeyPath) -> str:
    """A unit as the policy writes it: a column, or `column -> table.key`."""
    if not isinstance(value, str) or _ARROW.search(value) is None:
        return column_name(value, path)
    sides = _ARROW.split(value.strip())
    table, dot, key = sides[1].partition(".")
    if len(sides) != 2 or not dot:
        raise Fault(
            f"is not a link: {shown(value)}",
            path=path,
            hint='write unit = "patient_id -> patients.id": a column, and the key of the table that knows its owner',
        )
    return str(Link(column_name(sides[0], path), table_name(table, path), column_name(key, path)))
