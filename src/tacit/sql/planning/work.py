"""How much work it will be to plan a question, known before any of it is done."""

from __future__ import annotations

from tacit.sql.binding.bind import BoundQuery
from tacit.sql.binding.grouping_sets import distinct_sets
from tacit.sql.parsing.planning_budget import PlanningBudget, size_of
from tacit.sql.planning.statements import statement_indices

_EVERY_STATEMENT = 60  # nodes that the smallest of them takes
_EVERY_COLUMN = 12  # a key or a measure is named at every step of the rewriting
_EVERY_MEASURE = 48  # in each grouping set: its noise and its errors, at every price that is tried


def check_work(bound: BoundQuery, budget: PlanningBudget | None = None) -> None:
    """Refuse a question that takes more to plan than is left, with all its grouping sets."""
    (budget or PlanningBudget()).spend(work_of(bound))


def work_of(bound: BoundQuery) -> int:
    """About as many nodes as the statements will have that the question becomes."""
    rows = size_of([bound.relation.sql, bound.where])
    values = size_of(measure.value for measure in bound.measures) + _EVERY_COLUMN * len(bound.measures)
    keys = size_of(key.sql for key in bound.keys) + _EVERY_COLUMN * len(bound.keys)
    statements = 1 + max(statement_indices(bound.measures), default=0)
    if bound.query.bias:  # for each measure two queries more, which hold what is counted and what is brought
        return (1 + 4 * len(bound.measures)) * (_EVERY_STATEMENT + rows + keys + values)
    if bound.sets is None:
        return statements * (_EVERY_STATEMENT + rows + keys) + values
    kept = size_of(key.keep for key in bound.keys)  # all sets count the same rows, by the domains of all keys
    each = statements * (_EVERY_STATEMENT + rows + keys + kept) + values + _EVERY_MEASURE * len(bound.measures)
    return len(distinct_sets(bound.sets)) * each
