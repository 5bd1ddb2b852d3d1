"""Keep at most max_groups groups of a unit."""

from __future__ import annotations

from sqlglot import exp

from tacit.sql.expressions.names.printing import copied
from tacit.sql.expressions.numeric import arithmetic
from tacit.sql.expressions.numeric.arithmetic import MOST_ROWS, Whole, Width, integer
from tacit.sql.rules.facts import Facts, Spread, called, keyed_hash, name, nested, selected
from tacit.sql.rules.own_rows import OWNER

RANK, NUMBER, TIES = "g", "r", "t"


def sample_groups(tree: exp.Select, facts: Facts) -> exp.Select:
    """Rank the groups a unit touches by a keyed hash, and keep the first max_groups.

    Before:   SELECT u, k0, m0 FROM … AS pairs
    After:    SELECT u, k0, m0 FROM (SELECT u, k0, m0, DENSE_RANK() OVER (PARTITION BY u ORDER BY HASH('…', u, k0), k0)
              AS g FROM (…) AS spread) AS ranked WHERE g <= 10
    Ensures:  a unit is in at most max_groups groups, chosen by the unit and its keys alone. Where groups are ranked by
              their hash alone, which sorts much faster, t counts the ties among those kept: where it is zero for all,
              the result is the same to the last row; where it is not, it is not used (see `Statement.settled`).
    Refuses:  nothing.
    """
    if facts.spread is not Spread.SAMPLE:
        return tree
    columns = [item.alias_or_name for item in tree.expressions]
    order = [exp.Ordered(this=keyed_hash(facts, OWNER, *facts.keys))]
    ranks: dict[str, exp.Expression] = {RANK: exp.DenseRank()}
    if facts.hash_only:
        ranks[NUMBER] = exp.RowNumber()
    else:
        order += [exp.Ordered(this=name(key)) for key in facts.keys]
    windows = [
        called(
            exp.Window(this=rank, partition_by=[name(OWNER)], order=exp.Order(expressions=[copied(o) for o in order])),
            alias,
        )
        for alias, rank in ranks.items()
    ]
    ranked = selected([*map(name, columns), *windows], nested(tree, "spread"))
    kept = selected(map(name, columns), nested(ranked, "ranked"))
    if facts.hash_only:
        number, dense = (Whole(name(each), 1, MOST_ROWS, Width.BIGINT) for each in (NUMBER, RANK))
        kept = kept.select(called(arithmetic.subtract(number, dense).sql, TIES), copy=False)
    return kept.where(exp.LTE(this=name(RANK), expression=integer(facts.max_groups)), copy=False)
