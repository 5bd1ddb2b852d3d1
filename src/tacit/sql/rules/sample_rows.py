"""Keep at most max_rows rows of a unit in a group."""

from __future__ import annotations

from sqlglot import exp

from tacit.sql.rules.facts import Facts, called, keyed_hash, name, nested, selected
from tacit.sql.rules.own_rows import OWNER

RANK = "r"


def sample_rows(tree: exp.Select, facts: Facts) -> exp.Select:
    """Rank a unit's rows in each group by a keyed hash of their own values, and keep the first max_rows.

    Before:   SELECT "id" AS u, "dept" AS k0, … AS v0 FROM "staff"
    After:    SELECT u, k0, v0 FROM (SELECT u, k0, v0, ROW_NUMBER() OVER (PARTITION BY u, k0
              ORDER BY HASH('…', u, k0, v0)) AS r FROM (…) AS owned) AS ranked WHERE r <= 20
    Ensures:  a unit has at most max_rows rows in a group, chosen by its own rows alone: neither storage order nor any
              other unit has a say. Rows that tie have equal values, so it does not matter which of them stays.
              Of rows with two owners, a pair has at most max_rows in all groups together: PARTITION BY u alone.
    Refuses:  nothing.
    """
    if facts.unit is None or not facts.sample_rows:
        return tree
    columns = [item.alias for item in tree.expressions]
    rank = exp.Window(
        this=exp.RowNumber(),
        partition_by=[name(OWNER), *(name(key) for key in facts.keys if not facts.across_groups)],
        order=exp.Order(expressions=[exp.Ordered(this=keyed_hash(facts, *columns)), *_ties(columns, facts)]),
    )
    ranked = selected([*map(name, columns), called(rank, RANK)], nested(tree, "owned"))
    kept = exp.LTE(this=name(RANK), expression=exp.Literal.number(facts.max_rows))
    return selected(map(name, columns), nested(ranked, "ranked")).where(kept, copy=False)


def _ties(columns: list[str], facts: Facts) -> list[exp.Expression]:
    """Values break a tie of hashes, so that not even a collision leaves the choice to the engine."""
    alike = {OWNER, *(() if facts.across_groups else facts.keys)}
    return [exp.Ordered(this=name(column)) for column in columns if column not in alike]
