"""What is counted of linked tables: a parent with the numbers of its children, and children beside their parent.

Sensitivity. The privacy unit is the parent's. A parent's row counts once, whatever children it has; their number, up to
their table's max_rows, is one more of its columns, and a fact about that unit alone. A child's row is joined with the
row it belongs to, and what one unit brings to all cells of a marginal adds up to at most the child's max_rows: where it
has more rows they weigh less (`tacit.sql.workloads.marginals`). Rows that belong to no row of the parent count nowhere.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from tacit.engines import Engine
from tacit.errors import InvalidParameter, QueryRefused
from tacit.policy import ColumnPolicy, ColumnType, Policy, TablePolicy, fold, identifiers
from tacit.release.synthesise.columns import MOST_BINS, MOST_CELLS, MOST_COLUMNS, ColumnKey, chosen_columns, key_of
from tacit.release.synthesise.counting import Axes, JoinedKeys, TablePlan, plan_counts

_PARENT, _CHILD, _NUMBER = "p", "c", "k"


@dataclass(frozen=True, slots=True)
class Family:
    """A table, the key by which others name its rows, and the tables that do."""

    parent: TablePolicy
    key: str
    children: tuple[TablePolicy, ...]


def family_of(policy: Policy, names: Sequence[str]) -> Family:
    """Which of the tables is the parent, and that all the others are linked to it by one key. Refused otherwise."""
    tables = [policy.table(name) for name in names]
    if len({table.name for table in tables}) < max(2, len(tables)):
        raise InvalidParameter("linked tables are two or more, each named once", hint='["patients", "visits"]')
    parents = [table for table in tables if table.link is None or _named(table.link.table, tables) is None]
    links = [table.link for table in tables if table not in parents and table.link is not None]
    if len(parents) != 1 or not all(_named(link.table, parents) for link in links):
        raise QueryRefused(
            f"{', '.join(table.name for table in tables)} are not one table and others that are linked to it",
            hint='a link is unit = "patient_id -> patients.id" in the policy: name a table and those linked to it',
        )
    if len({fold(link.key) for link in links}) > 1:
        raise QueryRefused(f"{parents[0].name} is linked to by several keys", hint="name one of the tables at a time")
    for table in tables:
        if table.max_rows is None:
            raise QueryRefused(
                f"max_rows is not declared for {table.name}: nobody said how many rows of one unit count",
                hint=f"add max_rows = … to [tables.{table.name}], or run tacit calibrate",
            )
    return Family(parents[0], links[0].key, tuple(table for table in tables if table is not parents[0]))


def _named(name: str, tables: Sequence[TablePolicy]) -> TablePolicy | None:
    return next((table for table in tables if fold(table.name) == fold(name)), None)


def columns_of_each(
    policy: Policy, family: Family, named: Mapping[str, Sequence[str]]
) -> dict[str, tuple[ColumnPolicy, ...]]:
    """The columns to make of each table: those that are named, or all but keys."""
    tables = (family.parent, *family.children)
    unknown = [name for name in named if _named(name, tables) is None]
    if unknown:
        raise InvalidParameter(f"{unknown[0][:60]} is none of the tables that are made")
    asked = {fold(name): tuple(columns) for name, columns in named.items()}
    chosen = {}
    for table in tables:
        keys = identifiers(policy.tables, table)
        names = asked.get(fold(table.name), ())
        taken = [name for name in names if fold(name) in keys]
        if taken:
            raise QueryRefused(f"{taken[0]} is a key: those of synthetic rows are made up", hint="leave it out")
        free = tuple(column.name for column in table.visible if fold(column.name) not in keys)
        if not names and not free:
            raise QueryRefused(f"{table.name} has no column that a row could be made of")
        chosen[table.name] = chosen_columns(table, names or free)
    return chosen


def plan_parent(
    typed: Policy, engine: Engine, family: Family, *, columns: Mapping[str, Sequence[ColumnPolicy]]
) -> TablePlan:
    """The parent's columns and the number of children in each table: all marginals of one or two of them."""
    parent = family.parent
    keys = [key_of(parent, column, alias=_PARENT) for column in columns[parent.name]]
    relation = f"{_quoted(parent.name)} AS {_PARENT}"
    for index, child in enumerate(family.children):
        alias = f"{_NUMBER}{index}"
        relation += f" LEFT JOIN {_numbers(child)} AS {alias} ON {_same(family, child, alias)}"
        keys.append(_number_key(child, alias, taken=[key.column.name for key in keys]))
    _refuse_many(parent, len(keys))
    axes = [each for size in (1, 2) for each in itertools.combinations(range(len(keys)), size)]
    return plan_counts(typed, engine, parent, keys=keys, axes=axes, most=MOST_CELLS, joined=JoinedKeys(relation))


def plan_child(
    typed: Policy, engine: Engine, family: Family, child: TablePolicy, *, columns: Mapping[str, Sequence[ColumnPolicy]]
) -> TablePlan:
    """A child's columns, then the parent's, then their number: each of the child's alone, and with every other.

    What the parent's columns are among themselves is known from the parent.
    """
    keys = [key_of(child, column, alias=_CHILD) for column in columns[child.name]]
    own = len(keys)
    keys += [key_of(family.parent, column, alias=_PARENT) for column in columns[family.parent.name]]
    keys.append(_number_key(child, _NUMBER, taken=[key.column.name for key in keys]))
    _refuse_many(child, len(keys))
    relation = (
        f"{_quoted(child.name)} AS {_CHILD}"
        f" JOIN {_quoted(family.parent.name)} AS {_PARENT} ON {_same(family, child, _CHILD)}"
        f" JOIN {_numbers(child)} AS {_NUMBER} ON {_same(family, child, _NUMBER)}"
    )
    axes, joined = child_axes(own, len(keys)), JoinedKeys(relation, own)
    return plan_counts(typed, engine, child, keys=keys, axes=axes, most=MOST_CELLS, joined=joined)


def child_axes(own: int, columns: int) -> list[Axes]:
    """Each of the first `own` columns, and each of them with every other."""
    return [*((one,) for one in range(own)), *((one, other) for one in range(own) for other in range(one + 1, columns))]


def _number_key(child: TablePolicy, alias: str, *, taken: Sequence[str]) -> ColumnKey:
    """The number of children as a column: each number a cell, or a few of them together where there may be many.

    Beside a child it is never NULL; written so, its cells are those that it has beside the parent.
    """
    most = child.max_rows or 0
    width = most // MOST_BINS + 1
    name = f"number of {child.name}"
    while name in taken:
        name += "_"
    column = ColumnPolicy(name, type="integer", lower=0, upper=most, null=0)
    return ColumnKey(column, ColumnType.INTEGER, f"FLOOR(COALESCE({alias}.n, 0) / {width})", width=Fraction(width))


def _numbers(child: TablePolicy) -> str:
    """How many rows each parent has in a child's table."""
    key = _quoted(child.unit_column or "")
    return f"(SELECT {key}, COUNT(*) AS n FROM {_quoted(child.name)} GROUP BY {key})"


def _same(family: Family, child: TablePolicy, alias: str) -> str:
    return f"{alias}.{_quoted(child.unit_column or '')} = {_PARENT}.{_quoted(family.key)}"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _refuse_many(table: TablePolicy, columns: int) -> None:
    if columns > MOST_COLUMNS:
        raise QueryRefused(
            f"{table.name} has {columns} columns with those that it is linked by: at most {MOST_COLUMNS} are made",
            hint="name those you need",
        )
