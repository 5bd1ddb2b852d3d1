"""A policy as the keys and values of its file, defaults left out."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from datetime import timedelta
from enum import Enum
from typing import Any

from tacit.core import Bounds
from tacit.policy import keys
from tacit.policy.budget import AnalystPolicy, BudgetPolicy, GroupPolicy
from tacit.policy.limits import LimitsPolicy
from tacit.policy.reading.readers import duration_text
from tacit.policy.server import ServerPolicy
from tacit.policy.sources.dataset import DatabaseSource, Dataset, FileSource
from tacit.policy.sources.text_format import TextFormat
from tacit.policy.tables.column import ColumnPolicy
from tacit.policy.tables.cut import CutShares
from tacit.policy.tables.domain import ListDomain, RangeDomain, TableDomain
from tacit.policy.tables.table import TablePolicy
from tacit.policy.tables.view import ViewPolicy

Plain = dict[str, object]


def plain(
    dataset: Dataset,
    budget: BudgetPolicy,
    *,
    tables: Iterable[TablePolicy],
    analysts: Iterable[AnalystPolicy] = (),
    groups: Iterable[GroupPolicy] = (),
    views: Iterable[ViewPolicy] = (),
    limits: LimitsPolicy | None = None,
    server: ServerPolicy | None = None,
) -> Plain:
    """The mapping that reads back as the same policy. Numbers are exact; what equals its default is not there."""
    whole: Plain = {"dataset": _section(dataset, keys.DATASET), "budget": _section(budget, keys.BUDGET)}
    machine = {
        "limits": {} if limits is None else _section(limits, keys.LIMITS),
        "server": {} if server is None else _section(server, keys.SERVER),
    }
    whole |= {name: set_by_hand for name, set_by_hand in machine.items() if set_by_hand}
    people = (("groups", groups, keys.GROUP), ("analysts", analysts, keys.ANALYST))
    for name, holders, known in people:
        sections = {holder.name: _section(holder, known) for holder in holders}
        if sections:
            whole[name] = sections
    whole["tables"] = {table.name: plain_table(table) for table in tables}
    named = {view.name: _section(view, keys.VIEW) for view in views}
    if named:
        whole["views"] = named
    return whole


def plain_table(table: TablePolicy) -> Plain:
    """One table's keys and values, its columns among them."""
    section = _section(table, keys.TABLE)
    section.pop("columns", None)
    if table.columns:
        section["columns"] = {column.name: plain_column(column) for column in table.columns}
    return section


def plain_column(column: ColumnPolicy) -> Plain:
    """One column's keys and values."""
    return _section(column, keys.COLUMN)


def _section(holder: object, known: tuple[keys.PolicyKey, ...]) -> Plain:
    defaults = inspect.signature(type(holder)).parameters
    values = {name: getattr(holder, name) for name in keys.names_of(known)}
    return {name: _plain(value) for name, value in values.items() if value != defaults[name].default}


def _plain(value: object) -> object:
    for kind, render in _RENDERINGS:
        if isinstance(value, kind):
            return render(value)
    return value


_RENDERINGS: tuple[tuple[type, Callable[[Any], object]], ...] = (
    (Enum, lambda word: word.value),
    (timedelta, duration_text),
    (CutShares, lambda cut: cut.plain()),
    (Bounds, lambda bounds: {"lower": bounds.lower, "upper": bounds.upper}),
    (RangeDomain, lambda _: "range"),
    (ListDomain, lambda domain: list(domain.values)),
    (TableDomain, lambda domain: {"table": domain.table, "column": domain.column}),
    (DatabaseSource, lambda source: source.location),
    (FileSource, lambda source: dict(source.files)),
    (TextFormat, lambda form: form.plain()),
    (tuple, list),
)
