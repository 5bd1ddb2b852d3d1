"""The histogram behind a quantile or a mode."""

from __future__ import annotations

from sqlglot import exp

from tacit.sql.rules.facts import Facts, called, name, nested, selected

CELL, COUNT = "x", "c"


def tally(tree: exp.Select, facts: Facts) -> exp.Select:
    """How many rows of each group have each value.

    Before:   SELECT u, k0, v0 FROM … AS ranked
    After:    SELECT k0, v0 AS x, COUNT(*) AS c FROM (…) AS bounded WHERE NOT v0 IS NULL GROUP BY k0, v0
    Ensures:  one GROUP BY on the public grid; a unit adds at most max_rows to the counts of a group.
    Refuses:  nothing.
    """
    value = facts.measures[0].value or "v0"
    present = exp.Not(this=exp.Is(this=name(value), expression=exp.null()))
    counted = [*map(name, facts.keys), called(name(value), CELL), called(exp.Count(this=exp.Star()), COUNT)]
    histogram = selected(counted, nested(tree, "bounded")).where(present, copy=False)
    return histogram.group_by(*map(name, facts.keys), name(value), copy=False)
