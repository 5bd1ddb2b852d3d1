"""What lists of questions share that are asked of several worlds: how those are declared, made, and filled by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path

import duckdb
import pytest

from conformance.sql_noiseless import switch_off
from conformance.sql_world import World, policy_of, world
from tacit.curator import Curator
from tacit.curator.computing import computing
from tacit.policy import AnalystPolicy, BudgetPolicy, ColumnPolicy, TablePolicy

Private = Mapping[str, tuple[str, list[ColumnPolicy]]]  # by a table's name: whose rows it has, and its columns


def day(name: str, lower: str, upper: str) -> ColumnPolicy:
    """A date whose every day is a public value."""
    return ColumnPolicy(name, type="date", lower=lower, upper=upper, domain="range")


def time(name: str, lower: str, upper: str = "2024-12-31 23:59:59") -> ColumnPolicy:
    """A timestamp, to the second."""
    return ColumnPolicy(name, type="timestamp", lower=lower, upper=upper, step="1s")


def number(name: str, lower: int, upper: int, step: str = "1") -> ColumnPolicy:
    """A number between two ends."""
    return ColumnPolicy(name, lower=lower, upper=upper, step=step)


def listed(name: str, *values: str) -> ColumnPolicy:
    """A text with its public values."""
    return ColumnPolicy(name, domain=list(values))


def world_with(private: Private, public: Sequence[str], statements: Sequence[str], *, caps: Mapping[str, int]) -> World:
    """A world of these tables, with a budget that no test reaches the end of."""
    tables = [TablePolicy(table, unit, columns=columns, **caps) for table, (unit, columns) in private.items()]
    tables += [TablePolicy(table, public=True) for table in public]
    budget = BudgetPolicy(10**9, Fraction(1, 10), default_epsilon=50, default_delta=Fraction(1, 10**6))
    return world(policy_of(tables, budget=budget, analysts=(AnalystPolicy("ana", 10**9),)), *statements)


def noiseless(
    names: Sequence[str], of: Callable[[str], World], folder: Callable[[str], Path]
) -> Iterator[dict[str, Curator]]:
    """A curator of each world, who adds no noise; errors are simulated elsewhere."""
    with pytest.MonkeyPatch.context() as patch:
        switch_off(patch)
        patch.setattr(computing, "draws_for", lambda *given: 0)
        yield {name: of(name).curator(folder(name)) for name in names}


def filled(statements: Mapping[str, Sequence[str]]) -> Iterator[dict[str, duckdb.DuckDBPyConnection]]:
    """The same worlds in plain DuckDB."""
    opened = {name: duckdb.connect(":memory:") for name in statements}
    for name, connection in opened.items():
        connection.execute("SET TimeZone = 'UTC'")
        for statement in statements[name]:
            connection.execute(statement)
    yield opened
    for connection in opened.values():
        connection.close()
