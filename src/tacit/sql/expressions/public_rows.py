"""Keys that are computed of one public table's columns: its rows list their values, as they list those of a column.

`GROUP BY UPPER(w.region)` has the groups that `SELECT DISTINCT UPPER(region) FROM wards` has, whoever joins it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from tacit.policy import TableDomain
from tacit.sql.expressions.absent import Worth, worth
from tacit.sql.expressions.names.nodes import paren, quoted_column
from tacit.sql.expressions.names.printing import copied, text_of
from tacit.sql.expressions.names.scope import Scope


@dataclass(frozen=True, slots=True)
class ComputedDomain(TableDomain):
    """The values that an expression has in the rows of a public table; `column` is how it is written."""

    sql: exp.Expression = field(repr=False, compare=False)

    def __post_init__(self) -> None:
        """It names no column of the policy."""


@dataclass(frozen=True, slots=True)
class OfRows:
    """A domain of computed values, whose rows they are of, and the condition that a key is one of them."""

    domain: ComputedDomain
    alias: str
    keep: exp.Expression


def of_public_rows(sql: exp.Expression, scope: Scope) -> OfRows | None:
    """What lists the values of an expression over a relation; None where no public table does.

    Where an outer join found no row of the table, the expression must be NULL, as every column is: then it is no key.
    """
    names = {column.name for column in sql.find_all(exp.Column)}
    aliases = {scope.alias_of(name) for name in names}
    source = next((each for each in scope.sources if aliases == {each.alias}), None)
    if source is None or not source.public or source.table is None or sql.find(exp.Query):
        return None
    if source.missing and worth(sql, lambda column: True) is not Worth.NULL:
        return None
    own = exp.Paren(this=copied(sql))
    for column in list(own.find_all(exp.Column)):
        column.replace(quoted_column(scope.origin(column.name)[1]))
    keep = exp.Not(this=exp.Is(this=exp.Paren(this=copied(sql)), expression=exp.null()))
    return OfRows(ComputedDomain(source.table, text_of(own.this), own.this), source.alias, keep)


def _cell(domain: TableDomain) -> exp.Expression:
    """What lists the values of a domain, over its table: a column, or what is computed of columns."""
    return copied(domain.sql) if isinstance(domain, ComputedDomain) else quoted_column(domain.column)


def values_query(domains: Sequence[TableDomain], names: Sequence[str]) -> exp.Select:
    """The values that the rows of one public table have of these domains together, under these names."""
    cells = [_cell(domain) for domain in domains]
    there = [exp.Not(this=exp.Is(this=paren(cell), expression=exp.null())) for cell in cells]
    listed = [exp.alias_(cell, name) for cell, name in zip(cells, names, strict=True)]
    source = exp.Table(this=exp.to_identifier(domains[0].table, quoted=True))
    return exp.select(*listed).distinct().from_(source).where(*there)


def count_query(domains: Sequence[TableDomain]) -> exp.Select:
    """How many they are, as `n`."""
    inner = values_query(domains, [f"k{index}" for index in range(len(domains))])
    rows = exp.Subquery(this=inner, alias=exp.TableAlias(this=exp.to_identifier("f")))
    return exp.select(exp.alias_(exp.Count(this=exp.Star()), "n")).from_(rows)
