"""The clinic of the README in small: one table of visits with every kind of column, and its policy."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from conformance.sql_world import World, policy_of, world
from tacit.policy import ColumnPolicy, TablePolicy

COLUMNS = (
    ColumnPolicy("amount", lower=0, upper=500, step="0.01"),
    ColumnPolicy("age", lower=18, upper=90, step=1, domain="range"),
    ColumnPolicy("dept", domain=["CS", "Econ", "Bio"]),
    ColumnPolicy("city"),
    ColumnPolicy("insured"),
    ColumnPolicy("seen", type="date", lower="2024-01-01", upper="2024-12-31", domain="range"),
    ColumnPolicy("at", type="timestamp"),
    ColumnPolicy("weight"),
    ColumnPolicy("secret", hidden=True),
)
VISITS = """
    CREATE TABLE visits AS
    SELECT 'p' || (i % 40) AS patient_id, (i * 37 % 50000) / 100.0 AS amount, CAST(18 + i * 7 % 73 AS INTEGER) AS age,
           ['CS', 'Econ', 'Bio', 'Art'][1 + i % 4] AS dept, 'city' || (i % 5) AS city, i % 3 = 0 AS insured,
           DATE '2024-01-01' + CAST(i % 366 AS INTEGER) AS seen, TIMESTAMP '2024-01-01 00:00:00' AS at,
           CAST(i AS DOUBLE) AS weight, 'hush' AS secret, 'gone' AS undeclared
    FROM range(200) AS made(i)"""


def visits(**table: Any) -> TablePolicy:
    """The table as the policy has it; what is given takes the place of what is usual."""
    usual: dict[str, Any] = {"unit": "patient_id", "columns": COLUMNS, "max_groups": 2, "max_rows": 3}
    return TablePolicy("visits", **(usual | table))


def clinic(*, dataset: dict[str, Any] | None = None, **table: Any) -> World:
    """Visits, and a public table of cities."""
    policy = policy_of([visits(**table), TablePolicy("cities", public=True)], **(dataset or {}))
    return world(policy, VISITS, "CREATE TABLE cities AS SELECT 'city' || i AS name FROM range(3) AS made(i)")


def row_clinic(**table: Any) -> World:
    """The same visits, each of them a person."""
    return clinic(unit="row", max_groups=1, max_rows=1, **table)


HALF = Fraction(1, 2)
