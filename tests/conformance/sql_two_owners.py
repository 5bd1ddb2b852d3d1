"""Rows with two owners for tests: a table of trips, the SQL that is run of it, and the same counted by hand."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import duckdb

from conformance.sql_world import BUDGET, policy_of
from tacit.core import Loss
from tacit.policy import BudgetPolicy, ColumnPolicy, Policy, TablePolicy
from tacit.sql import AtEpsilon, Plan, bind, parse, plan
from tacit.sql.planning.statements import statements

Row = tuple[object, object, int]  # both owners, and what tells rows apart
SCHEMA = {"trips": {"rider": "VARCHAR", "driver": "VARCHAR", "n": "BIGINT", "fare": "BIGINT", "town": "VARCHAR"}}
CREATED = "CREATE TABLE trips (rider VARCHAR, driver VARCHAR, n BIGINT, fare BIGINT, town VARCHAR)"
MOST = 400  # rows that `n` can tell apart


def trips(
    *,
    max_rows: int = 2,
    max_partners: int = 1,
    budget: BudgetPolicy = BUDGET,
    others: Iterable[TablePolicy] = (),
    **more: Any,
) -> Policy:
    """A policy over trips: `n` is a key whose groups are single rows."""
    columns = (
        ColumnPolicy("n", type="integer", lower=0, upper=MOST, domain="range"),
        ColumnPolicy("fare", type="integer", lower=-5, upper=9),
        ColumnPolicy("town", domain=["a", "b"]),
    )
    table = TablePolicy(
        "trips", units=("rider", "driver"), columns=columns, max_rows=max_rows, max_partners=max_partners, **more
    )
    return policy_of([table, *others], budget=budget)


def planned(policy: Policy, text: str, *, schema: Any = None) -> Plan:
    """The plan at the price that stands in the text."""
    bound = bind(parse(text), policy, schema=schema or SCHEMA)
    assert isinstance(bound.query.price, AtEpsilon)
    return plan(bound, policy, price=Loss(bound.query.price.epsilon, bound.query.delta or Fraction(1, 10**6)))


def counting(policy: Policy, text: str, *, partners: int) -> str:
    """The SQL that a plan of this question would run, had it chosen so many partners."""
    bound = bind(parse(text), policy, schema=SCHEMA)
    made = plan(bound, policy, price=Loss(1, Fraction(1, 10**6)))
    measures = [m.measure for m in made.measurements]
    caps = replace(made.caps, partners=partners)
    (statement,) = statements(bound, caps, measures=measures, totals=[None] * len(measures))
    return statement.sql("duckdb")


def filled(connection: duckdb.DuckDBPyConnection, rows: Sequence[Row]) -> duckdb.DuckDBPyConnection:
    """The connection, whose table holds these rows and no others."""
    connection.execute("DELETE FROM trips")
    if rows:
        cells = [cell for row in rows for cell in (*row, row[2] % 3, "ab"[row[2] % 2])]
        connection.execute(f"INSERT INTO trips VALUES {', '.join(['(?, ?, ?, ?, ?)'] * len(rows))}", cells)
    return connection


def kept(connection: duckdb.DuckDBPyConnection, sql: str) -> frozenset[int]:
    """Which rows count: of the groups of single rows, those that are not empty."""
    return frozenset(n for n, count in connection.execute(sql).fetchall() if count)


def without(rows: Iterable[Row], person: object) -> list[Row]:
    """The rows in which a person is neither owner."""
    return [row for row in rows if person not in row[:2]]


def distance(rows: Sequence[Row], few: int) -> int:
    """The least k such that at most k people have more than `few` + k partners, tried one by one."""
    partners: dict[object, set[object]] = {}
    for first, second, _ in rows:
        if first is not None and second is not None:
            partners.setdefault(first, set()).add(second)
            partners.setdefault(second, set()).add(first)
    return next(k for k in range(len(rows) + 1) if sum(len(own) > few + k for own in partners.values()) <= k)
