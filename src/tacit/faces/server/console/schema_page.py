"""Data: the tables that may be asked about, and all that is public of them."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from fractions import Fraction

from starlette.responses import Response

from tacit.core import decimal_text
from tacit.faces.catalogue import CatalogueColumn, CatalogueTable
from tacit.faces.server.console.guard import Console, Visit
from tacit.policy import ListDomain, Policy, TablePolicy

_MANY = 400  # values of a domain that a page lists


@dataclass(frozen=True, slots=True)
class DescribedColumn:
    """A column of the catalogue, with the values of its domain where the policy lists them."""

    column: CatalogueColumn
    values: tuple[str, ...]
    left_out: int


@dataclass(frozen=True, slots=True)
class DescribedTable:
    """A table of the catalogue with its columns."""

    table: CatalogueTable
    columns: tuple[DescribedColumn, ...]


async def data(console: Console, visit: Visit) -> Response:
    """The public view of the data, the same for everybody."""
    await asyncio.to_thread(console.hub.check_policy)
    hub = console.hub
    tables = [_table(table, hub.policy) for table in hub.catalogue]
    return console.page("data.html", visitor=visit.visitor, tables=tables, policy=hub.policy, here="/data")


def _table(table: CatalogueTable, policy: Policy) -> DescribedTable:
    declared = next((one for one in policy.tables if one.name == table.name), None)
    return DescribedTable(table, tuple(_column(column, declared) for column in table.columns))


def _column(column: CatalogueColumn, table: TablePolicy | None) -> DescribedColumn:
    declared = None if table is None else next((one for one in table.visible if one.name == column.name), None)
    if declared is None or not isinstance(declared.domain, ListDomain):
        return DescribedColumn(column, (), 0)
    values = [decimal_text(value) if isinstance(value, Fraction) else str(value) for value in declared.domain.values]
    return DescribedColumn(column, tuple(values[:_MANY]), max(0, len(values) - _MANY))
