"""Keep at most max_groups groups of a unit."""

from __future__ import annotations

from sqlglot import exp

from tacit.sql.grid import integer
from tacit.sql.rules.facts import Facts, Spread, keyed_hash, name, nested
from tacit.sql.rules.own_rows import OWNER

PLACE = "g"


def sample_groups(tree: exp.Select, facts: Facts) -> exp.Select:
    """Rank the groups a unit touches by a keyed hash, and keep the first max_groups.

    Before:   SELECT u, k0, m0 FROM … AS pairs
    After:    SELECT u, k0, m0 FROM (SELECT u, k0, m0, DENSE_RANK() OVER (PARTITION BY u ORDER BY HASH('…', u, k0), k0)
              AS g FROM (…) AS spread) AS ranked WHERE g <= 10
    Ensures:  a unit is in at most max_groups groups, chosen by the unit and its keys alone.
    Refuses:  nothing.
    """
    if facts.spread is not Spread.SAMPLE:
        return tree
    columns = [item.alias_or_name for item in tree.expressions]
    order = [
        exp.Ordered(this=keyed_hash(facts, OWNER, *facts.keys)),
        *(exp.Ordered(this=name(key)) for key in facts.keys),
    ]
    place = exp.Window(this=exp.DenseRank(), partition_by=[name(OWNER)], order=exp.Order(expressions=order))
    ranked = exp.select(*(name(c) for c in columns), exp.alias_(place, PLACE)).from_(nested(tree, "spread"))
    kept = exp.LTE(this=name(PLACE), expression=integer(facts.max_groups))
    return exp.select(*(name(c) for c in columns)).from_(nested(ranked, "ranked")).where(kept)
