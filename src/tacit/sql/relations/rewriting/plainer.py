"""A select in the forms that are derived: no LATERAL, no list of VALUES, no text in brackets."""

from __future__ import annotations

from sqlglot import exp

from tacit.sql.relations.rewriting.asof import nearest_as_laterals
from tacit.sql.relations.rewriting.guarded_divisions import guarded
from tacit.sql.relations.rewriting.joined_values import joined_values
from tacit.sql.relations.rewriting.laterals import joined_laterals
from tacit.sql.relations.rewriting.list_first import tables_first
from tacit.sql.relations.rewriting.listed_joins import without_lists
from tacit.sql.relations.rewriting.numbered_rows import values_as_laterals
from tacit.sql.relations.rewriting.slices import with_substrings
from tacit.sql.relations.rewriting.spread_lists import with_spread_lists


def plainer(select: exp.Select) -> exp.Select:
    """The same rows and columns, by joins with subqueries that look at no row outside."""
    select = nearest_as_laterals(with_substrings(tables_first(guarded(select))))
    return joined_values(joined_laterals(values_as_laterals(without_lists(with_spread_lists(select)))))
