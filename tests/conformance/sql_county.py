"""A county with linked tables of health, incomes, trips and clicks, as five kinds of analysts find it."""

from __future__ import annotations

from fractions import Fraction

from conformance.sql_world import World, policy_of, world
from tacit.policy import AnalystPolicy, BudgetPolicy, ColumnPolicy, TablePolicy

_WIDE = {"max_groups": 60, "max_rows": 40, "max_distinct": 40}  # nobody here has more: bounding takes nothing
_YEARS = ("2022-01-01", "2024-12-31 23:59:59")


def _date(name: str, lower: str, upper: str) -> ColumnPolicy:
    return ColumnPolicy(name, type="date", lower=lower, upper=upper, domain="range")


def _time(name: str) -> ColumnPolicy:
    return ColumnPolicy(name, type="timestamp", lower=_YEARS[0], upper=_YEARS[1], step="1s")


def _number(name: str, lower: int, upper: int, step: str = "1") -> ColumnPolicy:
    return ColumnPolicy(name, lower=lower, upper=upper, step=step)


def _listed(name: str, *values: str) -> ColumnPolicy:
    return ColumnPolicy(name, domain=list(values))


PRIVATE = {
    "persons": ("id", [
        _listed("sex", "F", "M"), _date("born", "1920-01-01", "2024-12-31"), ColumnPolicy("zone_id"),
        _listed("education", "primary", "secondary", "tertiary"), ColumnPolicy("employed"),
        _number("income", 0, 200_000), _number("household_size", 1, 12), ColumnPolicy("occupation"),
        _date("died", "2020-01-01", "2025-12-31")]),
    "stays": ("person_id -> persons.id", [
        _listed("ward", "ICU", "Surgery", "Medicine", "Paediatrics"), _time("admitted_at"), _time("discharged_at"),
        ColumnPolicy("icd"), ColumnPolicy("drg"), _number("cost", 0, 50_000, "0.01"), ColumnPolicy("emergency"),
        _number("followup_months", 0, 24)]),
    "labs": ("stay_id -> stays.id", [
        _listed("test", "crp", "hb", "glucose"), _number("value", 0, 400, "0.1"), _time("taken_at")]),
    "vaccinations": ("person_id -> persons.id", [
        ColumnPolicy("id"), _number("dose", 1, 5), _date("given", "2021-01-01", "2024-12-31"),
        _listed("product", "alpha", "beta")]),
    "trips": ("person_id -> persons.id", [
        _listed("mode", "walk", "bike", "car", "bus", "rail"), _time("started_at"), _time("ended_at"),
        ColumnPolicy("origin"), ColumnPolicy("destination"), _number("km", 0, 300, "0.01"), ColumnPolicy("purpose"),
        _number("fare", 0, 50, "0.01")]),
    "pings": ("trip_id -> trips.id", [
        _time("pinged_at"), _number("lat", 46, 48, "0.0001"), _number("lon", 8, 10, "0.0001"),
        _number("speed", 0, 200, "0.1")]),
    "sessions": ("person_id -> persons.id", [
        _time("started_at"), _time("ended_at"), _listed("device", "phone", "desktop", "tablet"), ColumnPolicy("source"),
        _listed("variant", "control", "test")]),
    "clicks": ("session_id -> sessions.id", [
        _time("clicked_at"), ColumnPolicy("page"), _listed("action", "view", "add", "checkout", "purchase"),
        _number("amount", 0, 1000, "0.01")]),
}  # fmt: skip
PUBLIC = ("zones", "wards", "chapters", "holidays", "tariffs", "prices", "standard")
FILLED = (
    """CREATE TABLE persons AS SELECT i AS id, ['F', 'M'][1 + i % 2] AS sex,
       DATE '1930-01-01' + (i * 7919 % 33000)::INT AS born, (1 + i * 13 % 6)::INT AS zone_id,
       ['primary', 'secondary', 'tertiary', 'secondary'][1 + i % 4] AS education, i % 3 <> 0 AS employed,
       (i * 9973 % 90000)::INT AS income, (1 + i % 5)::INT AS household_size,
       ['nurse', 'driver', 'Teacher ', 'clerk', NULL][1 + i * 3 % 5] AS occupation,
       CASE WHEN i % 7 = 0 THEN DATE '2023-01-01' + (i * 37 % 700)::INT END AS died FROM range(500) t(i)""",
    """CREATE TABLE stays AS SELECT i AS id, (i * 37 + i // 500 * 11) % 500 AS person_id,
       ['ICU', 'Surgery', 'Medicine', 'Paediatrics'][1 + (i * i + i // 7) % 4] AS ward,
       TIMESTAMP '2022-01-01' + to_seconds(i * 104729 % 80000000) AS admitted_at,
       CASE WHEN i % 19 <> 0 THEN TIMESTAMP '2022-01-01' + to_seconds(i * 104729 % 80000000 + i * 8641 % 1500000) END
       AS discharged_at, ['I21.4', 'E11.9', 'J18.0', 'C50', 'S72.0', 'I10'][1 + i % 6] AS icd,
       ['F60A', 'E79B', 'J23Z'][1 + i % 3] AS drg, (i * 7919 % 2000000) / 100.0::DOUBLE AS cost,
       (i // 3) % 2 = 0 AS emergency, (i * 7 % 25)::INT AS followup_months FROM range(1200) t(i)""",
    """CREATE TABLE labs AS SELECT i AS id, i * 3 % 1200 AS stay_id, ['crp', 'hb', 'glucose'][1 + i % 3] AS test,
       (i * 331 % 4000) / 10.0::DOUBLE AS value,
       TIMESTAMP '2022-01-01' + to_seconds(i * 104729 % 90000000) AS taken_at FROM range(2400) t(i)""",
    """CREATE TABLE vaccinations AS SELECT i AS id, i * 3 % 400 AS person_id, (1 + i % 3)::INT AS dose,
       DATE '2021-01-01' + (i * 31 % 1400)::INT AS given, ['alpha', 'beta'][1 + i // 2 % 2] AS product
       FROM range(900) t(i)""",
    """CREATE TABLE trips AS SELECT i AS id, i * 7 % 500 AS person_id,
       ['walk', 'bike', 'car', 'bus', 'rail'][1 + (i + i // 11) % 5] AS mode,
       TIMESTAMP '2022-01-01' + to_seconds(i * 15485 % 94000000) AS started_at,
       TIMESTAMP '2022-01-01' + to_seconds(i * 15485 % 94000000 + 120 + i * 61 % 7000) AS ended_at,
       (1 + i % 6)::INT AS origin, (1 + i // 3 % 6)::INT AS destination, (i * 331 % 6000) / 100.0::DOUBLE AS km,
       ['work', 'shopping', 'leisure', 'school', ' Work'][1 + i % 5] AS purpose,
       (i * 37 % 2000) / 100.0::DOUBLE AS fare FROM range(3000) t(i)""",
    """CREATE TABLE pings AS SELECT i AS id, i * 3 % 3000 AS trip_id,
       TIMESTAMP '2022-01-01' + to_seconds((i * 3 % 3000) * 15485 % 94000000 + i // 1000 * 40) AS pinged_at,
       46.5 + (i * 17 % 10000) / 10000.0::DOUBLE AS lat, 8.5 + (i * 29 % 10000) / 10000.0::DOUBLE AS lon,
       (i * 13 % 1200) / 10.0::DOUBLE AS speed FROM range(4000) t(i)""",
    """CREATE TABLE sessions AS SELECT i AS id, i * 11 % 500 AS person_id,
       TIMESTAMP '2024-01-01' + to_seconds(i * 15485 % 31000000) AS started_at,
       CASE WHEN i % 29 <> 0 THEN TIMESTAMP '2024-01-01' + to_seconds(i * 15485 % 31000000 + i * 61 % 5000) END
       AS ended_at,
       ['phone', 'desktop', 'tablet'][1 + i % 3] AS device,
       ['Google', 'google ', 'mail', 'direct', NULL][1 + i % 5] AS source,
       ['control', 'test'][1 + (i * 11 % 500) % 2] AS variant FROM range(1500) t(i)""",
    """CREATE TABLE clicks AS SELECT i AS id, i * 3 % 1500 AS session_id,
       TIMESTAMP '2024-01-01' + to_seconds((i * 3 % 1500) * 15485 % 31000000 + i // 500 * 30) AS clicked_at,
       ['/home', '/shop/shoes?id=12', '/shop/hats?id=7', '/cart', '/blog/2024/x'][1 + i % 5] AS page,
       ['view', 'view', 'add', 'checkout', 'purchase'][1 + i // 5 % 5] AS action,
       CASE WHEN i // 5 % 5 = 4 THEN (i * 37 % 30000) / 100.0 ELSE 0 END::DOUBLE AS amount FROM range(5000) t(i)""",
    """CREATE TABLE zones AS SELECT * FROM (VALUES (1, 'Altstadt', 'Centre', 12000, 2.5),
       (2, 'Bahnhof', 'Centre', 8000, 1.5), (3, 'Hafen', 'North', 15000, 9.0), (4, 'Wald', 'North', 4000, 30.0),
       (5, 'See', 'South', 9000, 12.0),
       (6, 'Berg', 'South', 2000, 40.0)) AS v(zone_id, name, district, population, area_km2)""",
    """CREATE TABLE wards AS SELECT * FROM (VALUES ('ICU', 12, 'K100', 900000), ('Surgery', 40, 'K200', 2000000),
       ('Medicine', 60, 'K300', 3000000), ('Paediatrics', 20, 'K400', 800000)) AS v(ward, beds, cost_centre, budget)""",
    """CREATE TABLE chapters AS SELECT * FROM (VALUES ('I', 'circulatory'), ('E', 'endocrine'), ('J', 'respiratory'),
       ('C', 'neoplasms'), ('S', 'injury')) AS v(letter, chapter)""",
    """CREATE TABLE holidays AS SELECT * FROM (VALUES (DATE '2023-01-01', 'New Year'), (DATE '2023-12-25', 'Christmas'),
       (DATE '2024-01-01', 'New Year'), (DATE '2024-08-01', 'National')) AS v(day, name)""",
    "CREATE TABLE tariffs AS SELECT * FROM (VALUES ('F60A', 1.8), ('E79B', 0.7), ('J23Z', 1.1)) AS v(drg, weight)",
    "CREATE TABLE prices AS SELECT i::INT AS year, 100 + 3 * (i - 2022)::INT AS cpi FROM range(2022, 2025) t(i)",
    """CREATE TABLE standard AS SELECT * FROM (VALUES ('0-44', 0.55), ('45-64', 0.27), ('65+', 0.18))
       AS v(age_group, weight)""",
)
_LEFT_OUT = (
    "DELETE FROM labs WHERE stay_id IN (SELECT id FROM stays WHERE person_id = {who})",
    "DELETE FROM pings WHERE trip_id IN (SELECT id FROM trips WHERE person_id = {who})",
    "DELETE FROM clicks WHERE session_id IN (SELECT id FROM sessions WHERE person_id = {who})",
    *(f"DELETE FROM {table} WHERE person_id = {{who}}" for table in ("stays", "vaccinations", "trips", "sessions")),
    "DELETE FROM persons WHERE id = {who}",
)


def county(*, without: int | None = None, caps: dict[str, int] = _WIDE) -> World:
    """The county, with a budget that no test reaches the end of; `without` a person, if one is named."""
    private = [TablePolicy(name, unit, columns=columns, **caps) for name, (unit, columns) in PRIVATE.items()]
    budget = BudgetPolicy(10**9, Fraction(1, 10), default_epsilon=50, default_delta=Fraction(1, 10**6))
    tables = [*private, *(TablePolicy(name, public=True) for name in PUBLIC)]
    left_out = () if without is None else tuple(each.format(who=without) for each in _LEFT_OUT)
    return world(policy_of(tables, budget=budget, analysts=(AnalystPolicy("ana", 10**9),)), *FILLED, *left_out)
