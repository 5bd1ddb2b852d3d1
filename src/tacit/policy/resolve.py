"""A policy's columns given the types that the source says they have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from tacit.policy.model import Policy
from tacit.policy.reading.fault import Fault
from tacit.policy.reading.names import fold, is_column_name
from tacit.policy.reading.types import ColumnType, Schema
from tacit.policy.tables.column import ColumnPolicy
from tacit.policy.tables.table import TablePolicy

# a declared type on the left may stand for a source's type on the right: what is lost is rounded onto the grid
_STANDS_FOR = {(ColumnType.INTEGER, ColumnType.NUMBER), (ColumnType.NUMBER, ColumnType.INTEGER)}


def spelling(known: Iterable[str], name: str) -> str | None:
    """The name as the source spells it."""
    return next((word for word in known if fold(word) == fold(name)), None)


def as_typed(column: ColumnPolicy, sql_type: str) -> ColumnPolicy:
    """The column with a type; raises a fault if what the policy says of it cannot be said of that type."""
    kind = ColumnType.from_sql(sql_type)
    if column.type is not None:
        if column.type is not kind and (column.type, kind) not in _STANDS_FOR:
            raise Fault(f"cannot be {column.type}", path=(column.name, "type"))
        return column
    if kind is ColumnType.INTEGER and not _is_whole(column):
        kind = ColumnType.NUMBER  # a grid finer than the values is allowed, and wasted
    if kind is None and (column.bounds is not None or column.domain is not None):
        raise Fault("cannot have bounds or a domain: tacit does not know its type", path=(column.name,))
    return replace(column, type=kind)


def _is_whole(column: ColumnPolicy) -> bool:
    bounds = column.bounds
    return bounds is None or all(end.denominator == 1 for end in (bounds.lower, bounds.upper, bounds.step))


def resolve_types(policy: Policy, schema: Schema) -> Policy:
    """The same policy with the type of every column filled in, and every column of a public table named.

    Its `version` stays that of what the curator declared. Raises PolicyError where policy and source disagree.
    """
    try:
        resolved = replace(policy, tables=tuple(_table(table, schema) for table in policy.tables))
    except Fault as fault:
        raise (policy.origin.refusal(fault) if policy.origin else fault) from None
    object.__setattr__(resolved, "version", policy.version)
    return resolved


def columns_of(schema: Schema, table: str) -> Mapping[str, str]:
    """The columns of a table of a schema, by name, whatever its case. Raises KeyError where it has none so called."""
    return schema[spelling(schema, table) or table]


def declared_column(table: TablePolicy, name: str, sql_type: str) -> ColumnPolicy:
    """What a policy says of a column; of one that it does not name, the type alone."""
    named = (column for column in table.columns if fold(column.name) == fold(name))
    return next(named, ColumnPolicy(name, type=ColumnType.from_sql(sql_type)))


def linked_keys(policy: Policy, table: TablePolicy) -> frozenset[str]:
    """The columns, folded, by which other tables find the owner of a row: whoever makes rows up gives each its own."""
    links = [other.link for other in policy.tables if other.link is not None]
    return frozenset(fold(link.key) for link in links if fold(link.table) == fold(table.name))


def _table(table: TablePolicy, schema: Schema) -> TablePolicy:
    name = spelling(schema, table.name)
    if name is None:
        raise Fault("is not in the source", path=("tables", table.name), rooted=True)
    source = schema[name]
    try:
        columns = [_column(column, source) for column in table.columns]
    except Fault as fault:
        raise fault.under("tables", table.name, "columns") from None
    for column in table.identifying:
        if spelling(source, column) is None:
            key = "units" if table.units else "unit"
            raise Fault(f"the source has no column {column!r}", path=("tables", table.name, key), rooted=True)
    if table.public:
        named = {fold(column.name) for column in columns}
        others = [other for other in source if fold(other) not in named and is_column_name(other)]
        columns += [ColumnPolicy(other, type=ColumnType.from_sql(source[other])) for other in others]
    return replace(table, columns=tuple(columns))


def _column(column: ColumnPolicy, source: Mapping[str, str]) -> ColumnPolicy:
    name = spelling(source, column.name)
    if name is None:
        raise Fault("is not in the source", path=(column.name,))
    return as_typed(column, source[name])
