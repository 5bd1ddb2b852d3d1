"""A small world for tests of the SQL room and the curator: a table in a real DuckDB, a policy, and plans over both."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from tacit.core import Loss
from tacit.curator import Curator
from tacit.engines import Exact, Limits
from tacit.engines.duckdb import DuckDB, build
from tacit.engines.sources import Exposed
from tacit.ledger import SqliteLedger
from tacit.noise import SYSTEM, Source
from tacit.policy import AnalystPolicy, BudgetPolicy, Dataset, Policy, TablePolicy, ViewPolicy
from tacit.sql import AtEpsilon, BoundQuery, Parameters, Plan, bind, parse, plan

BUDGET = BudgetPolicy(1000, Fraction(1, 10))
ANALYSTS = (AnalystPolicy("ana", 1000), AnalystPolicy("bob", 1000))


@dataclass(frozen=True)
class World:
    """A policy and an engine with its tables in it."""

    policy: Policy
    engine: DuckDB

    def bound(self, text: str, parameters: Parameters = ()) -> BoundQuery:
        return bind(parse(text, parameters), self.policy, schema=self.engine.schema())

    def plan(self, text: str, parameters: Parameters = ()) -> Plan:
        """The plan at the price that stands in the text."""
        bound = self.bound(text, parameters)
        assert isinstance(bound.query.price, AtEpsilon)
        price = Loss(bound.query.price.epsilon, bound.query.delta or 0)
        return plan(bound, self.policy, price=price)

    def exact(self, made: Plan) -> list[Exact]:
        """What the engine returns for every statement of a plan."""
        return [self.engine.execute(statement.sql("duckdb")) for statement in made.statements]

    def curator(self, directory: Path, *, source: Source = SYSTEM) -> Curator:
        """A curator with a ledger of its own."""
        return Curator(self.policy, self.engine, SqliteLedger(directory / "d.ledger", create=True), source=source)


def policy_of(
    tables: Iterable[TablePolicy],
    *,
    budget: BudgetPolicy = BUDGET,
    analysts: Sequence[AnalystPolicy] = ANALYSTS,
    views: Sequence[ViewPolicy] = (),
    **dataset: Any,
) -> Policy:
    return Policy(Dataset("d", "d.duckdb", **dataset), budget, tables=tables, analysts=analysts, views=views)


def world(policy: Policy, *statements: str) -> World:
    """The policy over the tables that `statements` make."""

    def fill(connection: Any) -> Exposed:
        for statement in statements:
            connection.execute(statement)
        return Exposed(tuple(table.name for table in policy.tables))

    return World(policy, build(fill, Limits(threads=1)))
