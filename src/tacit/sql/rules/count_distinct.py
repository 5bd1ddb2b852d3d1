"""Count distinct values, a few of each unit."""

from __future__ import annotations

from sqlglot import exp

from tacit.sql.expressions.numeric.arithmetic import integer
from tacit.sql.rules.facts import Facts, called, keyed_hash, name, nested, selected
from tacit.sql.rules.own_rows import OWNER


def keep_distinct(tree: exp.Select, facts: Facts) -> exp.Select:
    """Keep at most max_values distinct values of a unit in a group, by keyed hash.

    Before:   SELECT "id" AS u, "dept" AS k0, "drug" AS v0 FROM "visits"
    After:    SELECT u, k0, v0 FROM (SELECT u, k0, v0, ROW_NUMBER() OVER (PARTITION BY u, k0 ORDER BY
              HASH('…', u, k0, v0), v0) AS r FROM (SELECT DISTINCT u, k0, v0 FROM (…) AS owned WHERE NOT v0 IS NULL)
              AS each) AS ranked WHERE r <= 5
    Ensures:  one unit moves the number of distinct values by at most max_values in a group.
    Refuses:  nothing.
    """
    value = facts.measures[0].value or "v0"
    present = exp.Not(this=exp.Is(this=name(value), expression=exp.null()))
    if facts.unit is None:
        rows = selected([*(name(key) for key in facts.keys), name(value)], nested(tree, "owned"))
        return rows.where(present, copy=False)
    columns = [OWNER, *facts.keys, value]
    each = selected(map(name, columns), nested(tree, "owned")).distinct(copy=False).where(present, copy=False)
    order = [exp.Ordered(this=keyed_hash(facts, *columns)), exp.Ordered(this=name(value))]
    rank = exp.Window(
        this=exp.RowNumber(),
        partition_by=[name(c) for c in (OWNER, *facts.keys)],
        order=exp.Order(expressions=order),
    )
    ranked = selected([*map(name, columns), called(rank, "r")], nested(each, "each"))
    kept = exp.LTE(this=name("r"), expression=integer(facts.max_values))
    return selected(map(name, columns), nested(ranked, "ranked")).where(kept, copy=False)


def count_distinct(tree: exp.Select, facts: Facts) -> exp.Select:
    """How many distinct values there are in each group.

    Before:   SELECT u, k0, v0 FROM … AS ranked
    After:    SELECT k0, COUNT(DISTINCT v0) AS m0 FROM (…) AS bounded GROUP BY k0
    Ensures:  a 64-bit whole number without NULL.
    Refuses:  nothing.
    """
    measure = facts.measures[0]
    counted = exp.Count(this=exp.Distinct(expressions=[name(measure.value or "v0")]))
    result = selected([*map(name, facts.keys), called(counted, measure.name)], nested(tree, "bounded"))
    return result.group_by(*map(name, facts.keys), copy=False) if facts.keys else result
