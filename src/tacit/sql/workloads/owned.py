"""The rows of a table with their owners, by the rule that every question uses; for work that is not a question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from tacit.policy import ColumnType, NullUnit, Policy, Schema, TablePolicy, lookups, root_of
from tacit.sql.expressions.names.nodes import quoted_column
from tacit.sql.relations import looked_up
from tacit.sql.rules import Facts, UnitFacts
from tacit.sql.rules.facts import called, selected
from tacit.sql.rules.own_rows import own_rows


def owned_table(policy: Policy, name: str) -> TablePolicy:
    """The table, its units spelled as their own table says."""
    table = policy.table(name)
    return replace(table, unit_form=root_of(policy.tables, table).unit_form)


def raw_types(schema: Schema, table: TablePolicy) -> dict[str, str]:
    """The engine's own names of the columns' types, by column, folded."""
    types = next(columns for name, columns in schema.items() if name.casefold() == table.name.casefold())
    return {name.casefold(): kind for name, kind in types.items()}


def unit_facts(table: TablePolicy, schema: Schema) -> UnitFacts | None:
    """How the column that identifies a unit is read; None where a row is one."""
    if table.unit_column is None:
        return None
    return UnitFacts(
        table.unit_column,
        trims=table.unit_form.trims,
        lowers=table.unit_form.lowers,
        null_is_one=table.null_unit is NullUnit.ONE,
        is_text=ColumnType.from_sql(raw_types(schema, table).get(table.unit_column.casefold(), "varchar"))
        is ColumnType.TEXT,
    )


def owned_rows(table: TablePolicy, columns: Sequence[str], *, policy: Policy, schema: Schema) -> exp.Select:
    """The owner `u`, where a unit is not a row, and the columns as v0, v1, …; looked up where another table knows."""
    if lookups(policy.tables, table):
        return looked_up(table, columns, policy=policy, schema=schema)
    listed: list[exp.Expression] = [called(quoted_column(column), f"v{index}") for index, column in enumerate(columns)]
    source = exp.Table(this=exp.to_identifier(table.name, quoted=True))
    tree = selected(listed or [called(exp.Literal.number(1), "one")], source)
    return own_rows(tree, Facts(grids={}, unit=unit_facts(table, schema)))
