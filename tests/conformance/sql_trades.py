"""Six trades with tables of their own: a registry of patients, an app, a school board, a power grid,
a telephone company and hotels."""

from __future__ import annotations

from conformance.sql_lists import day, listed, number, time, world_with
from conformance.sql_world import World
from tacit.policy import ColumnPolicy

_WIDE = {"max_groups": 120, "max_rows": 80, "max_distinct": 80}  # nobody here has more: bounding takes nothing


def _time(name: str, lower: str = "2023-01-01", upper: str = "2024-12-31 23:59:59") -> ColumnPolicy:
    return time(name, lower, upper)


_free = ColumnPolicy  # neither bounds nor a list

PRIVATE = {
    "registry": {
        "patients": ("id", [
            listed("sex", "F", "M"), day("dob", "1920-01-01", "2024-12-31"), day("died_on", "2015-01-01",
            "2024-12-31"),
            listed("canton", "BE", "ZH", "VD", "TI"), _free("smoking"), number("height", 120, 210),
            number("weight", 30, 200, "0.1")]),
        "admissions": ("patient_id -> patients.id", [
            day("admitted", "2020-01-01", "2024-12-31"), day("discharged", "2020-01-01", "2025-06-30"),
            listed("ward", "ICU", "Surgery", "Medicine", "Maternity"), _free("icd"), number("cost", 0, 50_000,
            "0.01"),
            _free("emergency"), _free("id")]),
        "labs": ("patient_id -> patients.id", [
            _time("taken_at", "2020-01-01"), listed("test", "crp", "hb", "hba1c"), number("value", 0, 500, "0.1")]),
    },
    "app": {
        "users": ("user_id", [
            _time("signed_up_at", "2023-01-01"), listed("country", "US", "DE", "BR", "IN", "CH"),
            listed("platform", "ios", "android", "web"), _free("referrer"), _free("variant")]),
        "events": ("user_id -> users.user_id", [
            _time("ts"), listed("name", "open", "view_item", "add_to_cart", "checkout", "purchase"),
            _free("screen"), number("duration_ms", 0, 600_000)]),
        "invoices": ("user_id -> users.user_id", [
            day("paid_on", "2023-01-01", "2024-12-31"), number("amount", 0, 500, "0.01"),
            listed("plan", "free", "pro", "team"), _free("refunded")]),
    },
    "schools": {
        "pupils": ("pupil_id", [
            _free("school_id"), ColumnPolicy("grade", lower=1, upper=9, step=1, domain="range"), listed("gender",
            "girl", "boy"),
            day("born", "2005-01-01", "2019-12-31"), _free("language"), _free("special_needs")]),
        "marks": ("pupil_id -> pupils.pupil_id", [
            listed("subject", "maths", "german", "french", "sport"), number("mark", 1, 6, "0.25"),
            day("given_on", "2023-08-01", "2024-07-31")]),
        "absences": ("pupil_id -> pupils.pupil_id", [
            day("day", "2023-08-01", "2024-07-31"), number("lessons", 0, 10), _free("excused")]),
    },
    "grid": {
        "households": ("hh_id", [
            _free("tariff"), listed("heating", "gas", "heat pump", "oil", "wood"), number("persons", 1, 12),
            number("area_m2", 15, 400), _free("postcode"), day("connected_on", "1990-01-01", "2024-12-31")]),
        "readings": ("hh_id -> households.hh_id", [
            _time("read_at", "2023-01-01"), number("kwh", 0, 100, "0.001"), _free("estimated")]),
        "payments": ("hh_id -> households.hh_id", [
            day("due_on", "2023-01-01", "2024-12-31"), day("paid_on", "2023-01-01", "2025-06-30"),
            number("amount_due", 0, 2000, "0.01")]),
    },
    "telephone": {
        "subscribers": ("msisdn", [
            day("activated", "2015-01-01", "2024-12-31"), day("churned", "2020-01-01", "2024-12-31"),
            listed("contract", "prepaid", "postpaid", "business"), number("age", 16, 100), _free("city")]),
        "calls": ("msisdn -> subscribers.msisdn", [
            _time("started"), number("seconds", 0, 7200), _free("cell_id"), _free("roaming"),
            listed("direction", "in", "out")]),
        "tickets": ("msisdn -> subscribers.msisdn", [
            _time("opened"), _time("closed", upper="2025-12-31 23:59:59"), _free("topic"), number("csat", 1, 5)]),
    },
    "hotels": {
        "guests": ("guest_id", [
            listed("tier", "none", "silver", "gold"), _free("nationality"), number("birth_year", 1930, 2008)]),
        "stays": ("guest_id -> guests.guest_id", [
            _free("hotel_id"), day("checkin", "2023-01-01", "2024-12-31"), day("checkout", "2023-01-01",
            "2025-01-31"),
            number("rate", 0, 2000, "0.01"), listed("channel", "direct", "ota", "corporate"), _free("cancelled"),
            _free("id")]),
        "ratings": ("guest_id -> guests.guest_id", [
            _free("hotel_id"), number("stars", 1, 5), _free("comment"), day("rated_on", "2023-01-01",
            "2025-03-31")]),
    },
}  # fmt: skip
PUBLIC = {
    "registry": ("chapters", "population"),
    "app": ("countries", "experiments"),
    "schools": ("schools", "holidays"),
    "grid": ("tariffs", "degree_days"),
    "telephone": ("cells", "targets"),
    "hotels": ("hotels", "seasons"),
}
FILLED = {
    "registry": (
        """CREATE TABLE patients AS SELECT i AS id, ['F', 'M'][1 + i % 2] AS sex,
           DATE '1925-01-01' + (i * 7919 % 35000)::INT AS dob,
           CASE WHEN i % 7 = 3 THEN DATE '2021-01-01' + (i * 37 % 1400)::INT END AS died_on,
           ['BE', 'ZH', 'VD', 'ZH', 'TI'][1 + i % 5] AS canton, ['never', 'former', 'current',
           NULL][1 + i % 4] AS smoking,
           (150 + i * 7 % 45)::INT AS height, ((480 + i * 37 % 600) / 10.0)::DOUBLE AS weight FROM range(600) t(i)""",
        """CREATE TABLE admissions AS SELECT i AS id, (i * 37 + i // 600 * 13) % 560 AS patient_id,
           DATE '2020-01-01' + (i * 104729 % 1700)::INT AS admitted,
           CASE WHEN i % 19 <> 0 THEN DATE '2020-01-01' + (i * 104729 % 1700 + i * 11 % 23)::INT END AS discharged,
           ['ICU', 'Surgery', 'Medicine', 'Medicine', 'Maternity'][1 + (i * i + i // 7) % 5] AS ward,
           ['A15.0', 'C50.9', 'I21.4', 'J18.9', 'E11.9', 'I63.5'][1 + i % 6] AS icd,
           ((i * 7919 % 2500000) / 100.0)::DOUBLE AS cost, i % 3 = 0 AS emergency FROM range(2400) t(i)""",
        """CREATE TABLE labs AS SELECT i AS id, i * 7 % 520 AS patient_id,
           TIMESTAMP '2020-01-01' + to_seconds(i * 104729 % 150000000) AS taken_at,
           ['crp', 'hb', 'hba1c', 'crp'][1 + i % 4] AS test,
           CASE WHEN i % 29 <> 0 THEN ((i * 331 % 3000) / 10.0)::DOUBLE END AS value FROM range(4000) t(i)""",
        """CREATE TABLE chapters AS SELECT * FROM (VALUES ('A', 'Infectious'), ('C', 'Neoplasms'), ('I',
           'Circulatory'),
           ('J', 'Respiratory'), ('E', 'Endocrine')) AS v(letter, chapter)""",
        """CREATE TABLE population AS SELECT * FROM (VALUES ('BE', 1040000), ('ZH', 1560000), ('VD', 820000), ('TI',
           350000))
           AS v(canton, inhabitants)""",
    ),
    "app": (
        """CREATE TABLE users AS SELECT i AS user_id, TIMESTAMP '2023-01-01' + to_seconds(i * 104729 % 40000000)
           AS signed_up_at,
           ['US', 'DE', 'US', 'BR', 'IN', 'CH'][1 + i % 6] AS country, ['ios', 'android',
           'web'][1 + i % 3] AS platform,
           ['google', 'friend', NULL, 'ad', 'google'][1 + i % 5] AS referrer, ['control',
           'treatment'][1 + i // 2 % 2] AS variant
           FROM range(700) t(i)""",
        """CREATE TABLE events AS SELECT i AS event_id, i * 11 % 650 AS user_id,
           TIMESTAMP '2023-01-01' + to_seconds(i * 15485 % 63150000) AS ts,
           ['open', 'view_item', 'open', 'add_to_cart', 'view_item', 'checkout', 'purchase'][1 + i % 7] AS name,
           ['home', 'search', 'item', NULL][1 + i // 3 % 4] AS screen, (i * 7919 % 300000)::INT AS duration_ms
           FROM range(8000) t(i)""",
        """CREATE TABLE invoices AS SELECT i AS invoice_id, i * 3 % 400 AS user_id,
           DATE '2023-01-01' + (i * 37 % 720)::INT AS paid_on, ((i * 331 % 9900) / 100.0)::DOUBLE AS amount,
           ['free', 'pro', 'team', 'pro'][1 + i % 4] AS plan, i % 23 = 0 AS refunded FROM range(2000) t(i)""",
        """CREATE TABLE countries AS SELECT * FROM (VALUES ('US', 'United States', 'Americas'), ('DE', 'Germany',
           'Europe'),
           ('BR', 'Brazil', 'Americas'), ('IN', 'India', 'Asia'), ('CH', 'Switzerland', 'Europe')) AS v(code, title,
           continent)""",
        """CREATE TABLE experiments AS SELECT * FROM (VALUES ('control', 0.5), ('treatment', 0.5)) AS v(variant,
           share)""",
    ),
    "schools": (
        """CREATE TABLE pupils AS SELECT i AS pupil_id, (1 + i % 8)::INT AS school_id, (1 + i * 5 % 9)::INT AS grade,
           ['girl', 'boy'][1 + i // 3 % 2] AS gender, DATE '2007-01-01' + (i * 7919 % 4000)::INT AS born,
           ['de', 'fr', 'it', 'de', 'other', NULL][1 + i % 6] AS language,
           i % 11 = 0 AS special_needs FROM range(2880) t(i)""",
        """CREATE TABLE marks AS SELECT i AS id, i * 7 % 2800 AS pupil_id,
           ['maths', 'german', 'french', 'sport'][1 + i // 5 % 4] AS subject,
           CASE WHEN i % 31 <> 0 THEN (1 + (i * 13 % 21) * 0.25)::DOUBLE END AS mark,
           DATE '2023-08-10' + (i * 37 % 320)::INT AS given_on FROM range(16000) t(i)""",
        """CREATE TABLE absences AS SELECT i AS id, i * 11 % 2700 AS pupil_id,
           DATE '2023-08-10' + (i * 53 % 330)::INT AS day,
           (1 + i % 8)::INT AS lessons, [true, true, false, NULL][1 + i // 2 % 4] AS excused FROM range(9000) t(i)""",
        """CREATE TABLE schools AS SELECT i::INT AS school_id, 'School ' || i AS name,
           ['urban', 'rural', 'urban', 'suburban'][1 + i % 4] AS area, (340 + i * 5)::INT AS capacity FROM range(1,
           9) t(i)""",
        """CREATE TABLE holidays AS SELECT * FROM (VALUES (DATE '2023-10-09', DATE '2023-10-20', 'autumn'),
           (DATE '2023-12-25', DATE '2024-01-05', 'winter'), (DATE '2024-04-01', DATE '2024-04-12', 'spring'))
           AS v(starts, ends, name)""",
    ),
    "grid": (
        """CREATE TABLE households AS SELECT i AS hh_id, ['day', 'night', 'flat', 'day'][1 + i % 4] AS tariff,
           ['gas', 'heat pump', 'oil', 'gas', 'wood'][1 + i % 5] AS heating, (1 + i % 6)::INT AS persons,
           (25 + i * 17 % 250)::INT AS area_m2, ['3000', '3012', '8001', '8050'][1 + i // 2 % 4] AS postcode,
           DATE '1995-01-01' + (i * 31 % 10000)::INT AS connected_on FROM range(500) t(i)""",
        """CREATE TABLE readings AS SELECT i AS id, i * 7 % 480 AS hh_id,
           TIMESTAMP '2023-01-01' + to_seconds(i * 15485 % 63150000) AS read_at,
           CASE WHEN i % 37 <> 0 THEN ((i * 7919 % 40000) / 1000.0)::DOUBLE END AS kwh, i % 13 = 0 AS estimated
           FROM range(8000) t(i)""",
        """CREATE TABLE payments AS SELECT i AS id, i * 3 % 470 AS hh_id,
           DATE '2023-01-01' + (i * 37 % 700)::INT AS due_on,
           CASE WHEN i % 11 <> 0 THEN DATE '2023-01-01' + (i * 37 % 700 + i * 7 % 60)::INT END AS paid_on,
           ((2000 + i * 331 % 60000) / 100.0)::DOUBLE AS amount_due FROM range(2500) t(i)""",
        """CREATE TABLE tariffs AS SELECT * FROM (VALUES ('day', 0.32), ('night', 0.21), ('flat',
           0.27)) AS v(tariff, price_kwh)""",
        """CREATE TABLE degree_days AS SELECT DATE '2023-01-01' + i::INT AS day,
           (i * 7 % 20)::INT AS hdd FROM range(731) t(i)""",
    ),
    "telephone": (
        """CREATE TABLE subscribers AS SELECT 41790000000 + i AS msisdn,
           DATE '2016-01-01' + (i * 31 % 3200)::INT AS activated,
           CASE WHEN i % 3 = 2 THEN DATE '2022-01-01' + (i * 37 % 1000)::INT END AS churned,
           ['prepaid', 'postpaid', 'postpaid', 'business'][1 + i % 4] AS contract, (18 + i * 13 % 70)::INT AS age,
           ['Bern', 'Thun', 'Biel', NULL, 'bern'][1 + i // 2 % 5] AS city FROM range(600) t(i)""",
        """CREATE TABLE calls AS SELECT i AS id, 41790000000 + i * 7 % 580 AS msisdn,
           TIMESTAMP '2023-01-01' + to_seconds(i * 15485 % 62000000) AS started, (i * 53 % 3000)::INT AS seconds,
           ([1, 2, 3, 4, 5, 6, 1, 2, 1, 3, 2, 1, 1][1 + i * 5 % 13])::INT AS cell_id, i % 9 = 0 AS roaming, ['in',
           'out'][1 + i // 2 % 2] AS direction
           FROM range(8000) t(i)""",
        """CREATE TABLE tickets AS SELECT i AS id, 41790000000 + i * 3 % 500 AS msisdn,
           TIMESTAMP '2023-01-01' + to_seconds(i * 104729 % 60000000) AS opened,
           CASE WHEN i % 7 <> 0 THEN TIMESTAMP '2023-01-01' + to_seconds(i * 104729 % 60000000 + i * 8641 % 900000) END
           AS closed,
           ['billing', 'coverage', 'device', 'Billing'][1 + i % 4] AS topic,
           [5, 4, 3, 2, 1, NULL][1 + i // 2 % 6]::INT AS csat FROM range(4500) t(i)""",
        """CREATE TABLE cells AS SELECT i::INT AS cell_id, ['Bern', 'Thun', 'Bern', 'Biel', 'Thun', 'Bern'][i] AS town,
           ['4G', '5G', '5G', '4G', '3G', '5G'][i] AS technology FROM range(1, 7) t(i)""",
        """CREATE TABLE targets AS SELECT * FROM (VALUES ('prepaid', 0.2), ('postpaid', 0.1), ('business', 0.05))
           AS v(contract, max_churn)""",
    ),
    "hotels": (
        """CREATE TABLE guests AS SELECT i AS guest_id, ['none', 'silver', 'none', 'gold'][1 + i % 4] AS tier,
           ['CH', 'DE', 'GB', 'US', 'DE', NULL][1 + i % 6] AS nationality, (1940 + i * 13 % 65)::INT AS birth_year
           FROM range(600) t(i)""",
        """CREATE TABLE stays AS SELECT i AS id, (i * 37 + i // 500 * 3) % 550 AS guest_id,
           (1 + i * 5 % 6)::INT AS hotel_id,
           DATE '2023-01-01' + (i * 53 % 700)::INT AS checkin,
           DATE '2023-01-01' + (i * 53 % 700 + i % 9)::INT AS checkout,
           ((8000 + i * 331 % 40000) / 100.0)::DOUBLE AS rate, ['direct', 'ota', 'corporate',
           'ota'][1 + i // 3 % 4] AS channel,
           i % 10 = 0 AS cancelled FROM range(3000) t(i)""",
        """CREATE TABLE ratings AS SELECT i AS id, i * 3 % 500 AS guest_id, (1 + i * 5 % 6)::INT AS hotel_id,
           (1 + i * 7 % 5)::INT AS stars, ['clean and quiet', 'too loud', NULL,
           'Great breakfast!'][1 + i % 4] AS comment,
           DATE '2023-01-05' + (i * 53 % 750)::INT AS rated_on FROM range(1600) t(i)""",
        """CREATE TABLE hotels AS SELECT i::INT AS hotel_id, ['Alpina', 'Bellevue', 'Central', 'Dom', 'Eden',
           'Flora'][i] AS name,
           ['Zermatt', 'Bern', 'Bern', 'Basel', 'Zermatt', 'Basel'][i] AS town, (30 + i * 10)::INT AS rooms
           FROM range(1, 7) t(i)""",
        """CREATE TABLE seasons AS SELECT * FROM (VALUES (1, 'high'), (2, 'high'), (3, 'high'), (4, 'low'), (5,
           'low'), (6, 'low'),
           (7, 'high'), (8, 'high'), (9, 'low'), (10, 'low'), (11, 'low'), (12, 'high')) AS v(month, season)""",
    ),
}
_LINKED = {  # every table with the column that says whose a row is, the parent last
    "registry": ("admissions.patient_id", "labs.patient_id", "patients.id"),
    "app": ("events.user_id", "invoices.user_id", "users.user_id"),
    "schools": ("marks.pupil_id", "absences.pupil_id", "pupils.pupil_id"),
    "grid": ("readings.hh_id", "payments.hh_id", "households.hh_id"),
    "telephone": ("calls.msisdn", "tickets.msisdn", "subscribers.msisdn"),
    "hotels": ("stays.guest_id", "ratings.guest_id", "guests.guest_id"),
}
_FIRST = {"telephone": 41_790_000_000}  # its units are numbers of telephones


def trade(name: str, *, caps: dict[str, int] = _WIDE, left_out: tuple[str, ...] = ()) -> World:
    """One of the trades."""
    return world_with(PRIVATE[name], PUBLIC[name], [*FILLED[name], *left_out], caps=caps)


def without(name: str, who: int) -> tuple[str, ...]:
    """The statements that take one unit out of a trade, with all that is linked to it."""
    pairs = (each.split(".") for each in _LINKED[name])
    return tuple(f"DELETE FROM {table} WHERE {key} = {_FIRST.get(name, 0) + who}" for table, key in pairs)
