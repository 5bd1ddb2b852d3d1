"""What the columns of a curator's table may hold, for a model: from the estimator, else from the policy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tacit.errors import InvalidParameter, QueryRefused
from tacit.learn.conventions import is_hashable
from tacit.learn.sums.cells import FeatureCells
from tacit.learn.sums.moments import GRID, Scaled
from tacit.policy import ColumnPolicy, ColumnType, ListDomain, TablePolicy
from tacit.policy.reading.types import type_fits
from tacit.sql.workloads.binned import CodedColumn


def feature_names(table: TablePolicy, target: ColumnPolicy | None, wanted: Sequence[str]) -> list[str]:
    """The columns to learn from: those that are wanted, else all of which anything is declared."""
    if wanted:
        columns = [table.column(name) for name in wanted]
    else:
        columns = [each for each in table.visible if each.bounds is not None or isinstance(each.domain, ListDomain)]
    left_out = None if target is None else target.name
    names = [each.name for each in columns if each.name != left_out]
    if twice := [name for name in names if names.count(name) > 1]:
        raise QueryRefused(f"{twice[0]} is named twice among the features", hint="name each column once")
    if not names and wanted:
        raise QueryRefused(
            f"there is nothing to learn from: {left_out} is what is predicted, and no other column was named",
            hint="name the columns that it is to be predicted from, or none for all",
        )
    if not names:
        raise QueryRefused(
            f"there is nothing to learn from: no other column of {table.name} has bounds or a list of values",
            hint="declare bounds or a domain in the policy",
        )
    return names


def declared_names(features: object) -> list[str]:
    """The columns that an estimator names itself."""
    return list(features) if isinstance(features, Mapping) else []


def declared_features(features: object, columns: Sequence[ColumnPolicy]) -> dict[str, Any]:
    """What the estimator declares of a column, else what the policy does."""
    if features is not None and not isinstance(features, Mapping):
        raise InvalidParameter("features of a table are declared by name", hint="features={'age': (17, 90)}")
    own = dict(features or {})
    return {column.name: own[column.name] if column.name in own else _of_policy(column) for column in columns}


def _of_policy(column: ColumnPolicy) -> object:
    if isinstance(column.domain, ListDomain):
        return list(column.domain.values)
    if column.bounds is None:
        raise QueryRefused(
            f"nobody said what {column.name} may hold: it has neither bounds nor a list of values",
            hint=f"declare {column.name} in the policy, or leave it out of the features",
        )
    return (column.bounds.lower, column.bounds.upper)


def declared_classes(declared: Sequence[Any] | None, target: ColumnPolicy, *, many: bool) -> tuple[Any, ...]:
    """The classes to tell apart: those that were named, else the target's domain."""
    domain = target.domain.values if isinstance(target.domain, ListDomain) else None
    values = tuple(domain or ()) if declared is None else tuple(declared)
    apart = all(map(is_hashable, values)) and len(set(values)) == len(values)
    if len(values) < 2 or (len(values) > 2 and not many) or not apart:
        raise QueryRefused(
            f"{target.name} has not two classes to tell apart: they are declared, not read off the rows",
            hint="name them: classes=['no', 'yes'], or --classes no,yes",
        )
    return values


def coded_column(cells: FeatureCells | Scaled, column: ColumnPolicy, types: Mapping[str, str]) -> CodedColumn:
    """How an engine numbers a column; what its type could not hold is refused here, where no row is read."""
    sql_type = types[column.name.casefold()]
    kind = column.type or ColumnType.from_sql(sql_type)
    if kind is None:
        raise QueryRefused(f"{column.name} cannot be learned from: it is of a type that nobody may ask about")
    values: tuple[Any, ...] = cells.values
    if values and all(type_fits(kind, value) for value in values):
        return CodedColumn(sql_type, values=values)
    if not values and kind in {ColumnType.INTEGER, ColumnType.NUMBER}:
        if isinstance(cells, Scaled):
            return CodedColumn(sql_type, bounds=(cells.lower, cells.upper), steps=GRID)
        return CodedColumn(sql_type, edges=cells.edges)
    raise QueryRefused(
        f"what is declared of {column.name} does not fit its type: it is {kind}",
        hint="numbers have bounds; texts, dates and truth values a list of values of their own type",
    )


def rows_of_a_unit(table: TablePolicy) -> int:
    """How many rows of one unit count."""
    if table.unit_column is None:
        return 1
    if table.max_rows is None:
        raise QueryRefused(
            f"max_rows is not declared for {table.name}: nobody said how many rows of one unit count",
            hint=f"add max_rows = … to [tables.{table.name}], or run tacit calibrate",
        )
    return table.max_rows
