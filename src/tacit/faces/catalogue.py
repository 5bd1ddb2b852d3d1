"""The public schema: tables, visible columns, and what the policy says of them. Made without looking at a row."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from tacit.core import decimal_text
from tacit.errors import UnknownName
from tacit.policy import (
    ColumnPolicy,
    ColumnType,
    ListDomain,
    Policy,
    RangeDomain,
    Schema,
    TableDomain,
    TablePolicy,
    fold,
    resolve_types,
)

_LISTED = 6  # values of a domain that a description repeats


@dataclass(frozen=True, slots=True)
class CatalogueColumn:
    """A column that may be asked about."""

    name: str
    type: str
    known: str
    description: str = ""


@dataclass(frozen=True, slots=True)
class CatalogueTable:
    """A table that may be asked about, and whose presence in it is hidden."""

    name: str
    hides: str
    caps: str
    columns: tuple[CatalogueColumn, ...]
    description: str = ""

    def __str__(self) -> str:
        lines = [f"{self.name}: hides {self.hides}" if self.hides else f"{self.name}: public"]
        lines += [f"  {line}" for line in (self.description, self.caps) if line]
        width = max((len(column.name) for column in self.columns), default=0)
        for column in self.columns:
            said = "; ".join(text for text in (column.known, column.description) if text)
            lines.append(f"  {column.name.ljust(width)}  {column.type}{': ' if said else ''}{said}")
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Catalogue:
    """Everything an analyst may know of the tables before asking."""

    dataset: str
    tables: tuple[CatalogueTable, ...]

    def table(self, name: str) -> CatalogueTable:
        """The table of that name, whatever its case."""
        for table in self.tables:
            if fold(table.name) == fold(name):
                return table
        raise UnknownName(f"there is no table {name[:60]!r}", hint=f"there is {', '.join(t.name for t in self.tables)}")

    def __iter__(self) -> Iterator[CatalogueTable]:
        return iter(self.tables)

    def __str__(self) -> str:
        return "\n\n".join(map(str, self.tables))


def catalogue(policy: Policy, schema: Schema) -> Catalogue:
    """The public schema behind a policy; `schema` lends the types of columns that the policy names."""
    typed = resolve_types(policy, schema)
    return Catalogue(policy.dataset.name, tuple(_table(table, policy) for table in typed.tables))


def _table(table: TablePolicy, policy: Policy) -> CatalogueTable:
    unit = table.privacy_unit(policy.adjacency)
    caps = ""
    if table.units:
        caps = f"at most {table.max_rows} rows of two people, and about {table.max_partners} partners of each"
    elif table.unit_column is not None:
        known = (("max_groups", "groups of a unit"), ("max_rows", "rows of a unit in a group"))
        said = [f"at most {cap} {what}" for key, what in known if (cap := getattr(table, key)) is not None]
        caps = ", ".join(said)
    columns = tuple(_column(column, public=table.public) for column in table.visible if not table.is_unit(column.name))
    if not table.units and table.unit_column is not None:
        columns = (CatalogueColumn(table.unit_column, "unit", "only in COUNT(DISTINCT …)"), *columns)
    return CatalogueTable(table.name, "" if unit is None else str(unit), caps, columns, table.description or "")


def _column(column: ColumnPolicy, *, public: bool) -> CatalogueColumn:
    kind = "only counted" if column.type is None else str(column.type)
    known = "" if public else "; ".join(filter(None, (_bounds(column), _domain(column))))
    return CatalogueColumn(column.name, kind, known, column.description or "")


def _bounds(column: ColumnPolicy) -> str:
    if column.bounds is None or column.type is None:
        return ""
    if column.type.is_numeric:
        return str(column.bounds)
    return f"[{column.lower}, {column.upper}]"


def _domain(column: ColumnPolicy) -> str:
    domain = column.domain
    if isinstance(domain, ListDomain):
        values = [decimal_text(v) if isinstance(v, Fraction) else str(v) for v in domain.values]
        more = f", … {len(values)} values" if len(values) > _LISTED else ""
        return f"one of {', '.join(values[:_LISTED])}{more}"
    if isinstance(domain, RangeDomain):
        return "every value of its grid is a group"
    if isinstance(domain, TableDomain):
        return f"one of {domain.table}.{domain.column}"
    return "its keys are private" if column.type is ColumnType.TEXT else ""
