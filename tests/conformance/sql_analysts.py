"""A hospital with several linked tables, as analysts find it: patients, their stays, visits, drugs, jobs and clicks."""

from __future__ import annotations

from fractions import Fraction

from conformance.sql_world import World, policy_of, world
from tacit.policy import AnalystPolicy, BudgetPolicy, ColumnPolicy, TablePolicy

WARDS = ["Icu", "Surgery", "Oncology", "Maternity", "Geriatrics", "Cardiology"]
_WIDE = {"max_groups": 60, "max_rows": 40, "max_distinct": 40}  # nobody here has more: bounding takes nothing


def _date(name: str, lower: str, upper: str) -> ColumnPolicy:
    return ColumnPolicy(name, type="date", lower=lower, upper=upper, domain="range")


def _time(name: str, lower: str, upper: str) -> ColumnPolicy:
    return ColumnPolicy(name, type="timestamp", lower=lower, upper=upper, step="1s")


def _number(name: str, lower: int, upper: int, step: str = "1") -> ColumnPolicy:
    return ColumnPolicy(name, lower=lower, upper=upper, step=step)


def _listed(name: str, *values: str) -> ColumnPolicy:
    return ColumnPolicy(name, domain=list(values))


PRIVATE = {
    "patients": ("id", [_listed("sex", "F", "M"), _date("birth", "1920-01-01", "2024-12-31"),
                        _date("died", "2020-01-01", "2025-12-31"), ColumnPolicy("smoker"), _number("height", 100, 220),
                        _number("weight", 20, 200, "0.1"), ColumnPolicy("town")]),
    "admissions": ("patient_id -> patients.id", [
        _listed("ward", *WARDS), _date("admitted", "2022-01-01", "2024-12-31"),
        _date("discharged", "2022-01-01", "2025-06-30"), _listed("kind", "elective", "emergency"),
        _listed("outcome", "home", "transfer", "died"), ColumnPolicy("diagnosis"), _number("cost", 0, 20_000, "0.01")]),
    "visits": ("patient_id -> patients.id", [
        _time("ts", "2022-01-01", "2024-12-31 23:59:59"), _listed("channel", "phone", "clinic", "video"),
        _number("minutes", 0, 120)]),
    "prescriptions": ("admission_id -> admissions.id", [ColumnPolicy("drug"), _number("packs", 0, 20),
                                                        _number("price", 0, 500, "0.01")]),
    "jobs": ("person_id -> patients.id", [
        _listed("sector", "health", "industry", "trade"), _date("started", "2010-01-01", "2024-12-31"),
        _date("ended", "2010-01-01", "2024-12-31"), _number("wage", 500, 20_000), _number("hours", 5, 60)]),
    "events": ("user_id -> patients.id", [
        _time("ts", "2024-01-01", "2024-12-31 23:59:59"), _time("seen", "2024-01-01", "2025-01-31 23:59:59"),
        _listed("event", "view", "cart", "buy"), ColumnPolicy("page"), _number("revenue", 0, 500, "0.01"),
        _listed("variant", "a", "b")]),
}  # fmt: skip
PUBLIC = ("wards", "standard", "calendar", "cpi")
FILLED = (
    """CREATE TABLE patients AS SELECT i AS id, ['F', 'M'][1 + i % 2] AS sex,
       DATE '1930-01-01' + (i * 7919 % 33000)::INT AS birth, i % 3 = 0 AS smoker, (150 + i * 13 % 50)::INT AS height,
       CASE WHEN i % 5 = 0 THEN DATE '2023-01-01' + (i * 37 % 700)::INT END AS died,
       (450 + i * 29 % 600) / 10.0::DOUBLE AS weight, 'town' || (i % 4) AS town FROM range(600) t(i)""",
    f"""CREATE TABLE admissions AS SELECT i AS id, (i * 37 + i // 600 * 11) % 600 AS patient_id,
       {WARDS}[1 + (i * i + i // 7) % 6] AS ward, DATE '2022-01-01' + (i * 17 % 1096)::INT AS admitted,
       CASE WHEN i % 23 <> 0 THEN DATE '2022-01-01' + (i * 17 % 1096 + i * 5 % 21)::INT END AS discharged,
       ['elective', 'emergency'][1 + (i // 3) % 2] AS kind, (i * 7919 % 2000000) / 100.0::DOUBLE AS cost,
       ['home', 'home', 'transfer', 'home', 'died'][1 + i * 3 % 5] AS outcome,
       ['E11.9', 'I10', 'J10.1', 'J18', 'C50', 'S72'][1 + i % 6] AS diagnosis FROM range(1500) t(i)""",
    """CREATE TABLE visits AS SELECT i AS id, i * 7 % 600 AS patient_id, (i * 11 % 90)::INT AS minutes,
       TIMESTAMP '2022-01-01' + to_seconds(i * 104729 % 94600000) AS ts,
       ['phone', 'clinic', 'video'][1 + i % 3] AS channel FROM range(1000) t(i) WHERE i * 7 % 600 % 3 <> 1""",
    """CREATE TABLE prescriptions AS SELECT i AS id, i * 3 % 1500 AS admission_id, 'drug' || (i % 7) AS drug,
       (1 + i % 5)::INT AS packs, (i * 331 % 9000) / 100.0::DOUBLE AS price FROM range(2500) t(i)""",
    """CREATE TABLE jobs AS SELECT i AS id, i * 11 % 600 AS person_id,
       ['health', 'industry', 'trade'][1 + i % 3] AS sector,
       DATE '2012-01-01' + (i * 97 % 4000)::INT AS started, (900 + i * 67 % 7000)::INT AS wage,
       CASE WHEN i % 3 <> 0 THEN DATE '2012-01-01' + (i * 97 % 4000 + 100 + i * 31 % 600)::INT END AS ended,
       (10 + i * 7 % 35)::INT AS hours FROM range(1100) t(i)""",
    """CREATE TABLE events AS SELECT (i * 37 + i // 600 * 11) % 600 AS user_id,
       ['view', 'view', 'cart', 'buy'][1 + i % 4] AS event,
       TIMESTAMP '2024-01-01' + to_seconds(i * 15485863 % 31622400) AS ts,
       TIMESTAMP '2024-01-01' + to_seconds(i * 15485863 % 31622400 + i * 61 % 9000) AS seen,
       ['/shop/12', '/blog/x', '/shop/a', '/about'][1 + i // 4 % 4] AS page,
       CASE WHEN i % 4 = 3 THEN (i * 37 % 30000) / 100.0 ELSE 0 END::DOUBLE AS revenue,
       ['a', 'b'][1 + ((i * 37 + i // 600 * 11) % 600) % 2] AS variant FROM range(4000) t(i)""",
    """CREATE TABLE wards AS SELECT * FROM (VALUES ('Icu', 12, 'North', 900000), ('Surgery', 40, 'North', 2000000),
       ('Oncology', 25, 'South', 3000000), ('Maternity', 30, 'South', 1000000), ('Geriatrics', 50, 'East', 1500000),
       ('Cardiology', 28, 'East', 2500000)) AS v(ward, beds, region, plan)""",
    "CREATE TABLE standard AS SELECT * FROM (VALUES ('0-39', 0.5), ('40-64', 0.3), ('65+', 0.2)) AS v(band, share)",
    "CREATE TABLE calendar AS SELECT DATE '2023-01-01' + i::INT AS day FROM range(60) t(i)",
    "CREATE TABLE cpi AS SELECT i::INT AS year, 80 + 2 * (i - 2010)::INT AS idx FROM range(2010, 2025) t(i)",
)
_LEFT_OUT = (
    "DELETE FROM prescriptions WHERE admission_id IN (SELECT id FROM admissions WHERE patient_id = {who})",
    *(
        f"DELETE FROM {table} WHERE {column} = {{who}}"
        for table, column in (
            ("patients", "id"),
            ("admissions", "patient_id"),
            ("visits", "patient_id"),
            ("jobs", "person_id"),
            ("events", "user_id"),
        )
    ),
)


def analysts_hospital(*, without: int | None = None, caps: dict[str, int] = _WIDE) -> World:
    """The hospital, with a budget that no test reaches the end of; `without` a patient, if one is named."""
    private = [TablePolicy(name, unit, columns=columns, **caps) for name, (unit, columns) in PRIVATE.items()]
    budget = BudgetPolicy(10**9, Fraction(1, 10), default_epsilon=50, default_delta=Fraction(1, 10**6))
    tables = [*private, *(TablePolicy(name, public=True) for name in PUBLIC)]
    left_out = () if without is None else tuple(each.format(who=without) for each in _LEFT_OUT)
    return world(policy_of(tables, budget=budget, analysts=(AnalystPolicy("ana", 10**9),)), *FILLED, *left_out)
