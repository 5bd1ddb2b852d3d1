"""Rows with two owners, `units = ["rider", "driver"]`: what may be declared of them, and what is refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from tacit.errors import QueryRefused
from tacit.policy.reading.fault import Fault, KeyPath
from tacit.policy.reading.names import column_name, fold
from tacit.policy.reading.types import ColumnType, kind_name
from tacit.policy.tables.column import ColumnPolicy
from tacit.policy.tables.link import link_of

_EXAMPLE = 'write units = ["rider", "driver"]: the two columns that say whose a row is'
IDENTIFIERS = (ColumnType.TEXT, ColumnType.INTEGER)  # what tells two people apart for sure, and is compared
_BOTH = "cannot be: each row has two owners, units"
_WHY = {  # keys that speak of what one owner brings
    "unit": f"{_BOTH}; a table has unit or units",
    "null_unit": f"{_BOTH}; a row without one of them is left out",
    "max_groups": f"{_BOTH}; max_rows counts over all groups together",
    "max_distinct": _BOTH,
    "bounding": f"{_BOTH}; of a pair's rows some are kept",
    "public_totals": _BOTH,
    "cut": _BOTH,
}
ASKABLE = "COUNT, SUM, AVG, VARIANCE, STDDEV, MEDIAN and quantiles of this table alone, WHERE and GROUP BY public keys"


def units_of(value: object, path: KeyPath) -> tuple[str, ...]:
    """The two columns, as they were typed; none where the table has one owner."""
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise Fault(f"must be a list of two columns: it is {kind_name(value)}", path=path, hint=_EXAMPLE)
    if not value:
        return ()
    names = tuple(column_name(name, (*path, index)) for index, name in enumerate(value))
    if len(names) != 2:
        raise Fault(f"must be two columns: there are {len(names)}", path=path, hint=_EXAMPLE)
    if fold(names[0]) == fold(names[1]):
        raise Fault("must be two columns: it is one, twice", path=path, hint='write unit = "…" for one owner')
    if any(link_of(name) is not None for name in names):
        raise Fault("cannot be links: both columns hold the identifiers themselves", path=path, hint=_EXAMPLE)
    return names


class _Table(Protocol):
    """What is declared of a table; its other keys go by their names."""

    @property
    def name(self) -> str: ...
    @property
    def units(self) -> tuple[str, ...]: ...
    @property
    def columns(self) -> tuple[ColumnPolicy, ...]: ...


def check_two_owners(table: _Table, untouched: Mapping[str, object]) -> None:
    """Refuse, of a table with two owners, what is missing and what makes no sense of it; and the reverse."""
    if not table.units:
        for key in ("max_partners", "max_hubs"):
            if getattr(table, key) is not None:
                raise Fault("cannot be: only rows with two owners, units, have partners", path=(table.name, key))
        return
    for key, why in _WHY.items():
        if getattr(table, key) != untouched.get(key):
            raise Fault(why, path=(table.name, key))
    needed = {
        "max_rows": "how many rows of two people together count",
        "max_partners": "how many partners nearly everybody has at most",
    }
    for key, what in needed.items():
        if getattr(table, key) is None:
            raise Fault(f"is missing: {what}", path=(table.name, key), hint=f"add {key} = …")
    for column in table.columns:
        if column.unit_total is not None:
            raise Fault(_BOTH, path=(table.name, "columns", column.name, "unit_total"))


def in_words(units: Sequence[str]) -> str:
    """Both owners, as an answer names whom it hides."""
    return " or ".join(units)


def two_owners_refused(name: str, units: Sequence[str], *, what: str = "this") -> QueryRefused:
    """The refusal, before any charge, of whatever would take one of the two for the owner of a row."""
    return QueryRefused(
        f"{what} is refused for {name}: its rows have two owners, {in_words(units)}, "
        "and what one of them brings depends on the rows of others",
        hint=f"{ASKABLE}, can be asked",
    )
