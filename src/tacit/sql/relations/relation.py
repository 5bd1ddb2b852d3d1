"""A relation: SQL to select from, and what is publicly known of its rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlglot import exp

from tacit.policy import ColumnType, Owner, TablePolicy, fold
from tacit.sql.expressions.cells import identified
from tacit.sql.expressions.names.nodes import quoted_column
from tacit.sql.expressions.names.printing import text_of
from tacit.sql.expressions.names.scope import ScopeSource
from tacit.sql.relations.joining.parts import spelled
from tacit.sql.relations.joining.two_owners import PairFacts


@dataclass(frozen=True, slots=True)
class Relation:
    """Rows that each belong to one unit.

    `table` describes them as if they were a table of the policy: its columns go by the names they have in `sql`, and
    its caps bound what one unit brings after all joins. `remaining` is what of WHERE was not used up by the joins.
    """

    sql: exp.Expression
    table: TablePolicy
    sql_types: Mapping[str, str]  # by the column's name, folded
    sources: tuple[ScopeSource, ...]
    owner: Owner | None
    remaining: exp.Expression | None = None
    growth: int = 1  # how many rows one row of a table can have become
    pairs: PairFacts | None = None  # of rows with two owners, of which those of some pairs are kept
    tied: bool = False  # its rows are held to a row outside by a key, which stands in their owner's place

    @property
    def text(self) -> str:
        """A text that is the same for the same rows."""
        return text_of(self.sql)

    @property
    def all_columns(self) -> tuple[str, ...]:
        """Every column that could leave or decide what does: those that analysts may use, the keys, the markers."""
        keys = (internal for source in self.sources for internal, _ in source.keys.values())
        markers = (source.matched for source in self.sources if source.matched is not None)
        return tuple(dict.fromkeys((*(column.name for column in self.table.columns), *keys, *markers)))

    def held(self, name: str) -> exp.Expression:
        """A column of the relation as it may be compared with any other of its kind: no engine converts a cell."""
        column = quoted_column(name)
        return identified(column, self.sql_types.get(name.casefold(), ""))

    @property
    def unit(self) -> exp.Expression:
        """The owner of a row, in its one spelling."""
        return self.spelled(self.held(self.table.unit_column or ""))

    def is_owner(self, key: Owner) -> bool:
        """Whether a key names the owner of a row itself."""
        return self.owner is not None and (key.table, key.column) == (fold(self.owner.table), fold(self.owner.column))

    def spelled(self, owner: exp.Expression) -> exp.Expression:
        """The owner of a row in the one spelling that the policy gives it."""
        kind = ColumnType.from_sql(self.sql_types.get((self.table.unit_column or "").casefold(), "varchar"))
        return spelled(owner, self.table.unit_form, is_text=kind is ColumnType.TEXT)
