"""The same policy with wider bounds: what clamping does to an answer shows beside it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from sqlglot import exp

from tacit.policy import ColumnPolicy, Policy
from tacit.sql.expressions.measures import Measure
from tacit.sql.expressions.numeric.grid import grid_columns

MOST_STEPS = 1 << 54  # of a value: a unit's trillion rows of it, weighed, fit 128 bits
WIDER = 1000  # times the width of a column's bounds, added on either side: the midpoint stays where it is


def wider_policy(
    rows: exp.Expression, measures: Iterable[Measure], others: Iterable[exp.Expression | None], policy: Policy
) -> Policy | None:
    """The policy in which the columns that are added up are clamped more widely; None if there is none of them.

    A column that decides in which group a row is, or whether it counts, stays as it is; so do dates, which have no
    sums, and rows that were joined or computed: what is clamped inside them is not seen here.
    """
    if not isinstance(rows, exp.Table):
        return None
    deciding = {name for tree in others if tree is not None for name in grid_columns(tree)}
    summed = {name for m in measures if m.value is not None for name in grid_columns(m.value)} - deciding
    table = policy.table(rows.name)
    wide = [column for column in table.columns if column.name.casefold() in summed and _can_be_wider(column)]
    if not wide:
        return None
    columns = tuple(wider(column) if column in wide else column for column in table.columns)
    tables = (replace(each, columns=columns) if each is table else each for each in policy.tables)
    return replace(policy, tables=tuple(tables))


def _can_be_wider(column: ColumnPolicy) -> bool:
    return column.bounds is not None and not (column.type is not None and column.type.is_temporal)


def wider(column: ColumnPolicy) -> ColumnPolicy:
    """The column with bounds many times as wide around the same midpoint, and NaN where it was."""
    bounds = column.bounds
    if bounds is None:
        return column
    more = WIDER * (bounds.upper - bounds.lower)
    return replace(
        column,
        lower=bounds.lower - more,
        upper=bounds.upper + more,
        nan=column.nan_value,
        domain=None,
        unit_total=None,
    )
