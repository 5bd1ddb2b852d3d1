"""The budget of planning, counted in nodes of SQL: the same for everybody, on every machine, whatever the data hold.

Planning is free of charge, so that it must be bounded by something else. Seconds would be another refusal on a busy
machine; nodes are known from the question and the policy alone, and time and memory grow with them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sqlglot import exp

from tacit.errors import QueryRefused

MOST = 100_000  # nodes of one statement: a few seconds, and less than 300 MB
MOST_IN_BATCH = 300_000  # of all the questions of a batch


@dataclass(slots=True)
class PlanningBudget:
    """What is left of it while the questions of a statement or a batch are read, one after the other."""

    left: int = MOST

    def spend(self, nodes: int) -> None:
        """Take it from the budget. Raises QueryRefused, before anything is charged, where that does not suffice."""
        self.left -= nodes
        if self.left < 0:
            raise QueryRefused(
                "the question is too large to plan: what it stands for is far longer than what was written",
                hint="ask for fewer grouping sets, columns, conditions or subqueries at once",
            )


def size_of(trees: Iterable[exp.Expression | None]) -> int:
    """How many nodes they have."""
    count, waiting = 0, [tree for tree in trees if tree is not None]
    while waiting:
        count += 1
        for value in waiting.pop().args.values():
            if isinstance(value, exp.Expression):
                waiting.append(value)
            elif isinstance(value, list):
                waiting += [each for each in value if isinstance(each, exp.Expression)]
    return count
