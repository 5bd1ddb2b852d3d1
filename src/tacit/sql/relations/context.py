"""What a query is read against: the policy, the schema, the names that WITH gives, and how much may be read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from sqlglot import exp

from tacit.errors import PolicyError, QueryRefused
from tacit.policy import Policy, Schema, fold
from tacit.sql.parsing.planning_budget import PlanningBudget
from tacit.sql.relations.deriving.derived import ctes_of

_MAX_READ = 60


@dataclass(slots=True)
class Work:
    """How much of a question has been read: a WITH that is used twice is read twice, and so on, doubling."""

    left: int = _MAX_READ
    notes: list[str] = field(default_factory=list)  # what was left out on the way, for the reader of the answer
    nodes: PlanningBudget = field(default_factory=PlanningBudget)

    def one_more(self) -> None:
        """One more table or subquery."""
        self.left -= 1
        if self.left < 0:
            raise QueryRefused(f"the question is too large: at most {_MAX_READ} tables and subqueries are read")


@dataclass(frozen=True, slots=True)
class Subquery:
    """What WITH names, and the names that were there before it."""

    tree: exp.Expression
    before: Mapping[str, Subquery]
    columns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class QueryContext:
    """What a query is read against: the policy, the schema, its parameters, and the subqueries it has named so far."""

    policy: Policy
    schema: Schema
    parameters: Mapping[str, object]
    named: Mapping[str, Subquery] = field(default_factory=dict)
    work: Work = field(default_factory=Work)
    views: frozenset[str] = frozenset()  # those that are being read, folded
    names_only: bool = False  # nothing of what is read will run
    nested: bool = False  # what is read stands in another query: rows with two owners are refused there
    tied: frozenset[str] = frozenset()  # columns of a subquery, folded, that are held to keys of the row outside

    def inside(self, select: exp.Query) -> QueryContext:
        """The context with what this select's WITH names; each of those sees the ones before it."""
        named = dict(self.named)
        for cte in ctes_of(select):
            self._refuse_itself(cte, named)
            columns = tuple(column.name for column in cte.args["alias"].columns)
            named[fold(cte.alias)] = Subquery(cte.this, dict(named), columns)
        return replace(self, named=named)

    def _refuse_itself(self, cte: exp.CTE, named: Mapping[str, Subquery]) -> None:
        name = fold(cte.alias)
        tables, views = ({fold(each.name) for each in self.policy.tables}, {fold(v.name) for v in self.policy.views})
        known = name in named or name in tables | views
        if not known and any(fold(table.name) == name for table in cte.this.find_all(exp.Table)):
            raise QueryRefused(
                f"{cte.alias} reads from itself: recursion is refused, for what one unit brings could not be bounded",
                hint="write out as many levels as are needed",
            )

    def beneath(self, view: str) -> QueryContext:
        """What a view is read against: the curator's words, none of the analyst's."""
        if fold(view) in self.views:
            raise PolicyError(f"the view {view} reads from itself", hint="a view reads from tables and other views")
        return replace(self, parameters={}, named={}, views=self.views | {fold(view)})
