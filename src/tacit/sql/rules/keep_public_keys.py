"""Leave out rows whose key is not in the public domain."""

from __future__ import annotations

from sqlglot import exp

from tacit.sql.rules.facts import Facts


def keep_public_keys(tree: exp.Select, facts: Facts) -> exp.Select:
    """Keep the rows whose public keys are in their domain; the marks IN_DOMAIN(…) say how to tell.

    Before:   SELECT "dept" AS k0, IN_DOMAIN("dept" IN ('CS', 'Econ')) FROM "staff"
    After:    SELECT "dept" AS k0 FROM "staff" WHERE ("dept" IN ('CS', 'Econ')) IS TRUE
    Ensures:  a unit's groups outside the domain do not use up its max_groups. Nearly every row is in its domain, and
              an optimizer that sees a bare IN takes it for a filter that leaves few, and joins the wrong way round.
    Refuses:  nothing.
    """
    marks = [item for item in tree.expressions if isinstance(item, exp.Anonymous) and item.this == "IN_DOMAIN"]
    tree.set("expressions", [item for item in tree.expressions if item not in marks])
    for mark in marks:
        tree = tree.where(_unseen(mark.expressions[0]), copy=False)
    return tree


def _unseen(condition: exp.Expr) -> exp.Expr:
    """A list of values, so that no optimizer guesses how many rows it leaves."""
    if not isinstance(condition, exp.In) or not condition.expressions:
        return condition
    return exp.Is(this=exp.Paren(this=condition), expression=exp.true())
