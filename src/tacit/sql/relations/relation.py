"""A relation: SQL to select from, and what is publicly known of its rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlglot import exp

from tacit.policy import ColumnType, Owner, TablePolicy
from tacit.sql.relations.parts import spelled
from tacit.sql.scope import Source


@dataclass(frozen=True, slots=True)
class Relation:
    """Rows that each belong to one unit.

    `table` describes them as if they were a table of the policy: its columns go by the names they have in `sql`, and
    its caps bound what one unit brings after all joins. `remaining` is what of WHERE was not used up by the joins.
    """

    sql: exp.Expression
    table: TablePolicy
    sql_types: Mapping[str, str]  # by the column's name, folded
    sources: tuple[Source, ...]
    owner: Owner | None
    remaining: exp.Expression | None = None

    @property
    def text(self) -> str:
        """The same for the same rows."""
        return self.sql.sql(dialect="duckdb")

    def spelled(self, owner: exp.Expression) -> exp.Expression:
        """The owner of a row in the one spelling that the policy gives it."""
        kind = ColumnType.from_sql(self.sql_types.get((self.table.unit_column or "").casefold(), "varchar"))
        return spelled(owner, self.table.unit_form, is_text=kind is ColumnType.TEXT)
