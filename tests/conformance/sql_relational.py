"""Several tables owned by one unit, small enough to take every unit out of all of them in turn."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction

from conformance.sql_sensitivity import Violation, _compare, _compare_keys
from conformance.sql_world import World, policy_of
from tacit.engines import Exact
from tacit.engines.base import UNLIMITED
from tacit.engines.duckdb import build
from tacit.engines.sources import Exposed
from tacit.policy import BudgetPolicy, ColumnPolicy, TableDomain, TablePolicy, ViewPolicy
from tacit.sql import Plan

REGIONS = ("r0", "r1", "r2", "r3")
TABLES = ("people", "orders", "items", "notes")
IDENTIFIERS = (  # types of identifiers, and from which number on: as doubles, neighbours would be one
    ("INTEGER", 0),
    ("UHUGEINT", 2**53),
    ("DECIMAL(20,0)", 10**19),
    ("BIGINT", 2**62),
    ("DECIMAL(38,2)", 2**60),
    ("HUGEINT", 2**120),
    ("UBIGINT", 2**63),
)
_OWNED = {  # which rows of each table belong to person ?
    "people": "id IS NOT DISTINCT FROM {unit}",
    "orders": "person IS NOT DISTINCT FROM {unit}",
    "items": "order_id IN (SELECT id FROM orders WHERE person IS NOT DISTINCT FROM {unit})",
    "notes": "person IS NOT DISTINCT FROM {unit}",
}


def policy(*, max_rows: int = 3, max_groups: int = 2, bounding: str = "auto"):
    """People own orders, orders own items; regions are public."""
    caps = {"max_rows": max_rows, "max_groups": max_groups, "bounding": bounding}
    return policy_of(
        [
            TablePolicy(
                "people",
                "id",
                columns=[ColumnPolicy("age", lower=0, upper=90, step=1, domain="range"), ColumnPolicy("region")],
                **caps,
            ),
            TablePolicy(
                "orders",
                "person -> people.id",
                columns=[
                    ColumnPolicy("total", lower=0, upper=50, step="0.5"),
                    ColumnPolicy("kind", domain=["a", "b", "c"]),
                ],
                **caps,
            ),
            TablePolicy(
                "items",
                "order_id -> orders.id",
                columns=[ColumnPolicy("price", lower=-5, upper=20, step=1), ColumnPolicy("tag")],
                **caps,
            ),
            TablePolicy(
                "notes", "person -> people.id", columns=[ColumnPolicy("total", lower=0, upper=9, step=1)], **caps
            ),
            TablePolicy("regions", public=True),
        ],
        budget=BudgetPolicy(1000, Fraction(1, 10)),
        views=[
            ViewPolicy("spending", "SELECT person, SUM(total) AS spent FROM orders GROUP BY person"),
            ViewPolicy("spenders", "SELECT p.id, age, spent FROM people AS p JOIN spending ON p.id = spending.person"),
        ],
    )


@dataclass(frozen=True)
class Family:
    """A world of several tables, and the units in it."""

    world: World
    units: tuple[int, ...]
    identifier: str = "INTEGER"

    def named(self, unit: int) -> str:
        """A unit as it is written in SQL."""
        return f"CAST('{unit}' AS {self.identifier})"

    @contextmanager
    def without(self, unit: int) -> Iterator[None]:
        """All rows of one unit taken out of all tables, for a while."""
        connection = self.world.engine._connection
        for table in reversed(TABLES):  # items are found through orders
            owned = _OWNED[table].format(unit=self.named(unit))
            connection.execute(f"CREATE OR REPLACE TEMP TABLE kept_{table} AS FROM {table} WHERE {owned}")
        for table in reversed(TABLES):
            connection.execute(f"DELETE FROM {table} WHERE {_OWNED[table].format(unit=self.named(unit))}")
        try:
            yield
        finally:
            for table in TABLES:
                connection.execute(f"INSERT INTO {table} FROM kept_{table}")


def family(seed: int, *, units: int = 6, **caps: object) -> Family:
    """Random tables: some people have nothing, some much, some rows have no owner at all; identifiers of every type."""
    rng = random.Random(seed)
    identifier, first = IDENTIFIERS[(seed - 1) % len(IDENTIFIERS)]

    def named(number: int | None) -> str | None:
        return None if number is None else str(first + number)

    people = [
        (named(i), rng.choice([None, *range(-5, 100, 7)]), rng.choice([None, 0, 1, 2]))
        for i in range(units)
        if rng.random() < 0.9
    ]
    orders, items = [], []
    for i in range(units * 3):
        orders.append(
            (
                named(100 + i),
                named(rng.choice([None, *range(units + 1)])),
                rng.choice([None, -3.0, 0.5, 7.25, 60.0]),
                rng.choice("abcd"),
            )
        )
    for _ in range(units * 8):
        items.append(
            (named(rng.choice([None, 999, *range(100, 100 + units * 3)])), rng.randrange(-9, 30), rng.choice("xyz"))
        )
    notes = [(named(rng.randrange(units)), rng.randrange(12)) for _ in range(units * 2)]

    def fill(connection):
        connection.execute(f"CREATE TABLE people (id {identifier}, age INTEGER, region INTEGER)")
        connection.execute(f"CREATE TABLE orders (id {identifier}, person {identifier}, total DOUBLE, kind VARCHAR)")
        connection.execute(f"CREATE TABLE items (order_id {identifier}, price INTEGER, tag VARCHAR)")
        connection.execute(f"CREATE TABLE notes (person {identifier}, total INTEGER)")
        connection.execute("CREATE TABLE regions AS SELECT i AS region, 'r' || i AS name FROM range(4) AS made(i)")
        for table, rows in zip(TABLES, (people, orders, items, notes), strict=True):
            if rows:
                connection.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(rows[0]))})", rows)
        return Exposed((*TABLES, "regions"))

    return Family(World(policy(**caps), build(fill, UNLIMITED)), tuple(range(first, first + units)), identifier)


def check(made: Plan, found: Family) -> int:
    """Every unit taken out in turn; how many there were."""
    whole = _exact(made, found)
    keys = [replace(key, values=REGIONS) if isinstance(key.values, TableDomain) else key for key in made.keys]
    made = replace(made, keys=tuple(keys))
    for unit in found.units:
        with found.without(unit):
            without = _exact(made, found)
        for measurement in made.measurements:
            _compare(made, measurement, whole, without)
        _compare_keys(made, whole, without)
    return len(found.units)


def _exact(made: Plan, found: Family) -> list[Exact]:
    try:
        return found.world.exact(made)
    except Exception as error:
        raise Violation(f"the engine fails: {error}") from None
