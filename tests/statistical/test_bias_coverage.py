"""Intervals on skewed data: ± of the noise alone misses the truth where bounds bite; WITH BIAS it does not.

A few people have most of the rows, spread over 72 months, and some amounts lie far outside their bounds. The truth is
what the same question says of all rows. Each group of each run is one trial; the intervals promise 95 % of them, and by
the union bound over their parts hold more often than that.
"""

from __future__ import annotations

import functools
import random

import duckdb
import pytest

from conformance.sql_world import World, policy_of, world
from tacit.curator import Session
from tacit.policy import BudgetPolicy, ColumnPolicy, TablePolicy

ANA = Session("ana")
MONTHS, PEOPLE, RUNS, WHOLE_RUNS = 72, 4_000, 4, 200


def rows() -> str:
    """Trips by month: the number of a person's rows follows Pareto's law, as do the amounts."""
    rng = random.Random(11)
    found = []
    for person in range(PEOPLE):
        for _ in range(min(200, int(4 * rng.paretovariate(1.4)))):
            found.append(f"({person}, {rng.randrange(MONTHS)}, {int(10 * rng.paretovariate(1.6))})")
    return f"CREATE TABLE trips AS SELECT * FROM (VALUES {', '.join(found)}) AS made(person, month, pay)"


ROWS = rows()
COLUMNS = (
    ColumnPolicy("month", type="integer", lower=0, upper=MONTHS - 1, step=1, domain="range"),
    ColumnPolicy("pay", type="integer", lower=0, upper=100, step=1),
)
TABLES = {
    "bounding by weight": TablePolicy("trips", "person", columns=COLUMNS, max_groups=12, max_rows=4),
    "bounding by sampling": TablePolicy(
        "trips", "person", columns=COLUMNS, max_groups=12, max_rows=4, bounding="sample"
    ),
    "by row": TablePolicy("trips", "row", columns=COLUMNS),
}
ASKED = {
    "count": "month, COUNT(*) FROM trips GROUP BY month",
    "people": "month, COUNT(DISTINCT person) FROM trips GROUP BY month",
    "sum": "month, SUM(pay) FROM trips GROUP BY month",
    "average": "month, AVG(pay) FROM trips GROUP BY month",
    "whole": "COUNT(*) FROM trips",
}


@functools.cache
def over(way: str) -> World:
    return world(policy_of([TABLES[way]], budget=BudgetPolicy(10**6, "0.5")), ROWS)


def truth(made: World, asked: str) -> dict[object, float]:
    connection: duckdb.DuckDBPyConnection = made.engine._connection
    found = connection.cursor().execute(f"SELECT {asked}").fetchall()
    return {row[:-1]: float(row[-1]) for row in found}


def held(made: World, directory, price: str, asked: str) -> float:
    """The share of intervals that hold the truth, over all groups and runs."""
    exact, curator = truth(made, asked), made.curator(directory)
    trials = good = 0
    for _ in range(RUNS if "GROUP" in asked else WHOLE_RUNS):
        answer = curator.ask(f"DP-SELECT {price} FRESH {asked}", session=ANA)
        for row, errors in zip(answer.rows, answer.errors, strict=True):
            trials += 1
            good += errors[-1] is not None and abs(row[-1] - exact[row[:-1]]) <= errors[-1]
    return good / trials


KINDS = {
    "bounding by weight": ASKED,
    "bounding by sampling": ("count", "people", "sum", "average"),
    "by row": ("sum", "average"),
}
CASES = [(way, kind, "4") for way, kinds in KINDS.items() for kind in kinds]
CASES += [("bounding by weight", "count", "0.5"), ("bounding by weight", "count", "4 DELTA 1e-6")]


@pytest.mark.parametrize(("way", "kind", "price"), CASES)
def test_with_bias_the_interval_holds_the_truth(tmp_path, way, kind, price):
    assert held(over(way), tmp_path, f"{price} WITH BIAS", ASKED[kind]) >= 0.93


def test_without_it_the_interval_holds_nothing_on_such_data(tmp_path):
    """The control: the data are such that bounds bite."""
    assert held(over("bounding by weight"), tmp_path, "8", ASKED["count"]) < 0.2
    assert held(over("by row"), tmp_path, "8", ASKED["sum"]) < 0.2


def test_an_interval_says_something(tmp_path):
    """The control of the first test: an interval that held everything would pass it."""
    made = over("bounding by weight")
    exact = truth(made, ASKED["whole"])
    curator = made.curator(tmp_path)
    asked = f"DP-SELECT 8 FRESH WITH BIAS {ASKED['whole']}"
    widths = sorted(curator.ask(asked, session=ANA).errors[0][0] for _ in range(9))
    assert widths[4] < sum(exact.values())
