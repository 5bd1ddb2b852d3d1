"""The public set of values of a column: listed, a range, or a public table's column."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime

from tacit.policy.reading.fault import Fault, KeyPath, shown
from tacit.policy.reading.names import column_name, meant, table_name
from tacit.policy.reading.types import ColumnType, Value, kind_name, value_of

MAX_DOMAIN = 1_000_000  # values; each one is a group that a question may return


@dataclass(frozen=True, slots=True)
class ListDomain:
    """These values and no others."""

    values: tuple[Value, ...]

    def __repr__(self) -> str:
        more = f", … {len(self.values)} values" if len(self.values) > 5 else ""
        return f"ListDomain({', '.join(map(repr, self.values[:5]))}{more})"


@dataclass(frozen=True, slots=True)
class RangeDomain:
    """Every value of the column's grid from lower to upper."""


@dataclass(frozen=True, slots=True)
class TableDomain:
    """The values that stand in a column of a public table."""

    table: str
    column: str

    def __post_init__(self) -> None:
        table_name(self.table, ("table",))
        column_name(self.column, ("column",))


Domain = ListDomain | RangeDomain | TableDomain
DomainLike = Domain | str | Sequence[Value] | Mapping[str, str]


def domain_of(value: object, path: KeyPath, *, kind: ColumnType | None) -> Domain:
    """A domain from what was typed: a list, "range", or { table = …, column = … }."""
    if isinstance(value, ListDomain):
        return _listed(value.values, path, kind)
    if isinstance(value, RangeDomain | TableDomain):
        return value
    if value == "range":
        return RangeDomain()
    if isinstance(value, Mapping):
        return _from_table(value, path)
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise Fault(
            f"must be a list of values: it is {shown(value) if isinstance(value, str) else kind_name(value)}",
            path=path,
            hint='write domain = ["a", "b"], domain = "range" or domain = { table = "t", column = "c" }',
        )
    return _listed(tuple(value), path, kind)


def _listed(values: tuple[object, ...], path: KeyPath, kind: ColumnType | None) -> ListDomain:
    if not values:
        raise Fault("is empty: no row could be in any group", path=path, hint="list its values, or leave domain out")
    if len(values) > MAX_DOMAIN:
        raise Fault(f"has {len(values)} values: at most {MAX_DOMAIN} are allowed", path=path)
    read = tuple(_read(values, path, kind))
    first = kind_name(read[0])
    if len({*map(kind_name, read)}) == 1 and len({*read}) == len(read):
        return ListDomain(read)
    seen: set[Value] = set()
    for index, value in enumerate(read):
        if kind_name(value) != first:
            raise Fault(
                f"is {kind_name(value)}, the first is {first}", path=(*path, index), hint="list values of one kind"
            )
        if value in seen:
            raise Fault(f"repeats {shown(value)}", path=(*path, index), hint="list each value once")
        seen.add(value)
    return ListDomain(read)


def _read(values: Sequence[object], path: KeyPath, kind: ColumnType | None) -> Iterator[Value]:
    for index, value in enumerate(values):
        plain = type(value) is date or (type(value) is datetime and not value.microsecond and value.tzinfo is None)
        yield value if plain else value_of(value, (*path, index), kind=kind)  # type: ignore[misc]  # as `value_of` would


def _from_table(value: Mapping[str, object], path: KeyPath) -> TableDomain:
    known = ("table", "column")
    for key in value:
        if key not in known:
            raise Fault("is not a key tacit knows", path=(*path, key), hint=meant(key, known))
    for key in known:
        if key not in value:
            raise Fault(f"has no {key}", path=path, hint='write domain = { table = "cities", column = "name" }')
    return TableDomain(table_name(value["table"], (*path, "table")), column_name(value["column"], (*path, "column")))
