"""Schemas that say nothing: `"public"."orders"` is `orders`, as tools write it that read our catalogue."""

from __future__ import annotations

from typing import TypeVar

from sqlglot import exp

from tacit.policy.reading.names import fold
from tacit.sql.expressions.names.typed import SYNTHETIC

T = TypeVar("T", bound=exp.Expr)
OUR_SCHEMAS = frozenset({"main", "public"})  # what DuckDB calls its tables' schema, and PostgreSQL and our catalogue


def is_in_our_schema(table: exp.Table) -> bool:
    """Whether a name after FROM can be a table of the policy's: it stands alone, or after a schema of ours."""
    return not table.catalog and (not table.db or fold(table.db) in OUR_SCHEMAS)


def without_schemas(tree: T) -> T:
    """The question with its tables named alone, and their columns: but for a table whose name WITH gives to another.

    What was typed as `t SYNTHETIC` is no table of a schema, and is refused with one.
    """
    common = {fold(cte.alias) for cte in tree.find_all(exp.CTE)}
    unaliased = set()
    for table in tree.find_all(exp.Table):
        if not is_in_our_schema(table) or not isinstance(table.this, exp.Identifier):
            continue
        if not table.alias and (table.db or fold(table.name) not in common):
            unaliased.add(fold(table.name))
        if table.db and fold(table.name) not in common and not table.name.startswith(SYNTHETIC):
            table.set("db", None)
    for column in tree.find_all(exp.Column) if unaliased else ():
        ours = not column.catalog and fold(column.db) in OUR_SCHEMAS
        if ours and fold(column.table) in unaliased:
            column.set("db", None)
    return tree
