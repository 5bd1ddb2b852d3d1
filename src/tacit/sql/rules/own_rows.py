"""Give every row its owner."""

from __future__ import annotations

from sqlglot import exp

from tacit.sql.expressions.names.nodes import quoted_column
from tacit.sql.expressions.names.printing import copied
from tacit.sql.rules.facts import Facts, UnitFacts, called

OWNER = "u"


def own_rows(tree: exp.Select, facts: Facts) -> exp.Select:
    """Carry the privacy unit beside keys and values, in one canonical spelling.

    Before:   SELECT "dept" AS k0, GRID("pay") AS v0 FROM "staff"
    After:    SELECT LOWER(TRIM("id")) AS u, "dept" AS k0, GRID("pay") AS v0 FROM "staff" WHERE NOT "id" IS NULL
    Ensures:  spellings that the policy calls one unit are one unit. A row without a unit is dropped or, where the
              policy says so, belongs to the one unit of all such rows; never is each such row a unit of its own.
    Refuses:  nothing.
    """
    if facts.unit is None:
        return tree
    column = quoted_column(facts.unit.column)
    owner = called(_canonical(column, facts.unit), OWNER)
    tree.set("expressions", [owner, *tree.expressions])
    if facts.unit.null_is_one:
        return tree
    return tree.where(exp.Not(this=exp.Is(this=copied(column), expression=exp.null())), copy=False)


def _canonical(column: exp.Expression, unit: UnitFacts) -> exp.Expression:
    owner: exp.Expression = copied(column)
    if unit.is_text and unit.trims:
        owner = exp.Trim(this=owner)
    if unit.is_text and unit.lowers:
        owner = exp.Lower(this=owner)
    return owner
