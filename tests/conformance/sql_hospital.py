"""A hospital in small: stays and bookings of patients, and public tables of wards and of a standard population."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from conformance.sql_world import World, policy_of, world
from tacit.policy import BudgetPolicy, ColumnPolicy, TablePolicy, ViewPolicy

WARDS = ("Icu", "Surgery", "Oncology", "Maternity", "Geriatrics", "Cardiology")
COLUMNS = (
    ColumnPolicy("ward", domain=list(WARDS)),
    ColumnPolicy("sex", domain=["F", "M"]),
    ColumnPolicy("age", lower=0, upper=100, step=1, domain="range"),
    ColumnPolicy("days", lower=0, upper=60, step=1),
    ColumnPolicy("admitted", type="date", lower="2024-01-01", upper="2024-12-31", domain="range"),
    ColumnPolicy("town"),
)
_STAYS = f"""
    CREATE TABLE stays AS
    SELECT 'p' || (i % 900) AS patient, {list(WARDS)}[1 + (i * i + i // 7) % 6] AS ward, ['F', 'M'][1 + i % 2] AS sex,
           CAST(i * 7 % 100 AS INTEGER) AS age, CAST(i * 13 % 30 AS INTEGER) AS days,
           DATE '2024-01-01' + CAST(i % 366 AS INTEGER) AS admitted, 'town' || (i % 4) AS town
    FROM range({{rows}}) AS made(i)"""
_BOOKINGS = f"""
    CREATE TABLE bookings AS
    SELECT 'p' || (i % 900) AS patient, {list(WARDS)}[1 + i % 6] AS ward FROM range(1500) AS made(i)"""
_PUBLIC = (
    """CREATE TABLE wards AS SELECT * FROM (VALUES ('Icu', 12, 'North'), ('Surgery', 40, 'North'), ('Oncology', 25,
       'South'), ('Maternity', 30, 'South'), ('Geriatrics', 50, 'East'), ('Cardiology', 28, 'East'))
       AS v(ward, beds, region)""",
    "CREATE TABLE standard AS SELECT * FROM (VALUES ('0-39', 0.5), ('40-64', 0.3), ('65+', 0.2)) AS v(band, share)",
)


def hospital(*, without: str | None = None, rows: int = 1_800, **budget: Any) -> World:
    """The hospital; `without` a patient, if one is named."""
    usual: dict[str, Any] = {"unit": "patient", "max_groups": 2, "max_rows": 2}
    policy = policy_of(
        [
            TablePolicy("stays", columns=COLUMNS, **usual),
            TablePolicy("bookings", columns=COLUMNS[:1], **usual),
            TablePolicy("wards", public=True),
            TablePolicy("standard", public=True),
        ],
        budget=BudgetPolicy(1000, Fraction(1, 10), default_delta=Fraction(1, 10**6), **budget),
        views=[ViewPolicy("old", "SELECT patient, ward, days FROM stays WHERE age >= 65")],
    )
    left_out = (
        [] if without is None else [f"DELETE FROM {name} WHERE patient = '{without}'" for name in ("stays", "bookings")]
    )
    return world(policy, _STAYS.format(rows=rows), _BOOKINGS, *left_out, *_PUBLIC)


COUNTS = "SELECT ward, COUNT(*) AS n FROM stays GROUP BY ward"
BY_SEX = "SELECT ward, sex, COUNT(*) AS n, SUM(days) AS d FROM stays GROUP BY ward, sex"
OVER_COUNTS = (  # queries over one answer, a, whose columns are ward and n
    "SELECT ward, n, 100.0 * n / SUM(n) OVER () AS pct FROM a ORDER BY ward",
    "SELECT ward, RANK() OVER (ORDER BY n DESC, ward) AS r, SUM(n) OVER (ORDER BY ward) AS running FROM a ORDER BY r",
    "SELECT ward, n - LAG(n) OVER (ORDER BY ward) AS change FROM a ORDER BY ward",
    "SELECT ward, AVG(n) OVER (ORDER BY ward ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) AS smooth FROM a ORDER BY ward",
    "SELECT region, SUM(n) AS n, SUM(n) / SUM(beds) AS per_bed FROM a JOIN wards USING (ward) GROUP BY 1 ORDER BY 1",
    """SELECT w.region, a.ward, a.n FROM a JOIN wards w USING (ward)
       QUALIFY ROW_NUMBER() OVER (PARTITION BY w.region ORDER BY a.n DESC, a.ward) = 1 ORDER BY 1""",
    "SELECT CASE WHEN n > 300 THEN 'large' ELSE 'small' END AS size, COUNT(*) AS wards FROM a GROUP BY 1 ORDER BY 1",
    "SELECT UPPER(LEFT(ward, 3)) || ': ' || n AS label FROM a ORDER BY ward",
    "SELECT MAX(n) - MIN(n) AS spread, STDDEV(n) AS sd, ARG_MAX(ward, n) AS largest FROM a",
    "SELECT ward FROM a WHERE n > (SELECT AVG(n) FROM a) ORDER BY ward",
    "SELECT ward, n FROM a UNION ALL SELECT 'all', SUM(n) FROM a ORDER BY n DESC, ward",
    "SELECT ward FROM a EXCEPT SELECT ward FROM wards WHERE beds > 30 ORDER BY ward",
    "SELECT * FROM a ORDER BY n DESC, ward LIMIT 3 OFFSET 1",
    "SELECT COALESCE(NULLIF(n, 0), -1) AS m, CAST(n AS VARCHAR) AS t FROM a ORDER BY ward",
    "SELECT x.ward, y.ward AS other, x.n - y.n AS gap FROM a x JOIN a y ON x.ward < y.ward ORDER BY 1, 2",
    "SELECT w.ward, a.n FROM wards w LEFT JOIN a ON a.ward = w.ward AND w.beds > 30 ORDER BY w.ward",
    "SELECT DISTINCT ON (region) region, a.ward FROM a JOIN wards USING (ward) ORDER BY region, n DESC, a.ward",
    "SELECT STRING_AGG(ward, ', ' ORDER BY n DESC, ward) AS listed FROM a",
)
