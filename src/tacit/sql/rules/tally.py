"""The histogram behind a quantile or a mode."""

from __future__ import annotations

from sqlglot import exp

from tacit.sql.expressions.names.printing import copied
from tacit.sql.rules.facts import Facts, called, name, nested, selected

CELL, COUNT = "x", "c"


def tally(tree: exp.Select, facts: Facts) -> exp.Select:
    """How many rows of each group have each value.

    Before:   SELECT u, k0, v0 FROM … AS ranked
    After:    SELECT k0, v0 AS x, COUNT(*) AS c FROM (…) AS bounded WHERE NOT v0 IS NULL GROUP BY k0, v0
    Ensures:  one GROUP BY on the public grid, or on public bins of it (x is then the name of a bin, in place of v0); a
              unit adds at most max_rows to the counts of a group.
    Refuses:  nothing.
    """
    value = facts.measures[0].value or "v0"
    present = exp.Not(this=exp.Is(this=name(value), expression=exp.null()))
    bins = facts.measures[0].bins
    cell = name(value) if bins is None else bins[0].named(name(value), bins[1])
    counted = [*map(name, facts.keys), called(cell, CELL), called(exp.Count(this=exp.Star()), COUNT)]
    histogram = selected(counted, nested(tree, "bounded")).where(present, copy=False)
    return histogram.group_by(*map(name, facts.keys), copied(cell), copy=False)
