"""Rules: plain functions from one SQL tree to the next. Each tuple below is one way through, in order."""

from collections.abc import Callable

from sqlglot import exp

from tacit.sql.rules.add_per_unit import add_per_unit
from tacit.sql.rules.add_up import add_up
from tacit.sql.rules.clamp import clamp
from tacit.sql.rules.count_distinct import count_distinct, keep_distinct
from tacit.sql.rules.facts import Facts, GridFacts, MeasureFacts, Spread, UnitFacts, grids_of
from tacit.sql.rules.keep_public_keys import keep_public_keys
from tacit.sql.rules.own_rows import own_rows
from tacit.sql.rules.sample_groups import sample_groups
from tacit.sql.rules.sample_rows import sample_rows
from tacit.sql.rules.snap import snap
from tacit.sql.rules.tally import tally
from tacit.sql.rules.weigh_groups import weigh_groups

Rule = Callable[[exp.Select, Facts], exp.Select]

GRID_RULES: tuple[Rule, ...] = (clamp, snap)
ROW_RULES: tuple[Rule, ...] = (keep_public_keys, own_rows, *GRID_RULES)
SUM_RULES: tuple[Rule, ...] = (*ROW_RULES, sample_rows, add_per_unit, sample_groups, weigh_groups, add_up)
DISTINCT_RULES: tuple[Rule, ...] = (*ROW_RULES, keep_distinct, sample_groups, count_distinct)
TALLY_RULES: tuple[Rule, ...] = (*ROW_RULES, sample_rows, sample_groups, tally)
RULES: tuple[Rule, ...] = tuple(dict.fromkeys((*SUM_RULES, *DISTINCT_RULES, *TALLY_RULES)))


def apply(rules: tuple[Rule, ...], tree: exp.Select, *, facts: Facts) -> exp.Select:
    """The tree after every rule, in order."""
    for rule in rules:
        tree = rule(tree, facts)
    return tree


__all__ = [
    "DISTINCT_RULES",
    "GRID_RULES",
    "ROW_RULES",
    "RULES",
    "SUM_RULES",
    "TALLY_RULES",
    "Facts",
    "GridFacts",
    "MeasureFacts",
    "Rule",
    "Spread",
    "UnitFacts",
    "apply",
    "grids_of",
]
