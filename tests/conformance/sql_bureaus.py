"""Seven bureaus with tables of their own: clinic, tax office, labour survey, schools, motor insurer, site, rail."""

from __future__ import annotations

from conformance.sql_lists import day, listed, number, time, world_with
from conformance.sql_world import World
from tacit.policy import ColumnPolicy

_WIDE = {"max_groups": 150, "max_rows": 90, "max_distinct": 90}  # nobody here has more: bounding takes nothing


def _time(name: str, lower: str = "2022-01-01", upper: str = "2024-12-31 23:59:59") -> ColumnPolicy:
    return time(name, lower, upper)


_free = ColumnPolicy  # neither bounds nor a list

PRIVATE = {
    "clinic": {
        "patients": ("id", [
            listed("sex", "F", "M"), day("birth_date", "1920-01-01", "2024-12-31"), _free("postcode"),
            listed("blood_group", "A", "B", "AB", "O"), day("deceased_on", "2022-01-01", "2025-12-31"),
            _free("insured"), number("height_cm", 100, 220), number("weight_kg", 20, 250, "0.1")]),
        "admissions": ("patient_id -> patients.id", [
            _time("admitted_at"), _time("discharged_at", upper="2025-06-30 23:59:59"),
            listed("ward", "ICU", "Surgery", "Medicine", "Maternity"), _free("urgency"), _free("diagnosis"),
            number("cost", 0, 50_000, "0.01"), number("icu_days", 0, 60)]),
        "labs": ("admission_id -> admissions.id", [
            _time("taken_at"), listed("analyte", "CRP", "Hb", "Na"), _free("result"), number("value", 0, 500,
           "0.1")]),
    },
    "tax": {
        "taxpayers": ("id", [
            day("born", "1920-01-01", "2010-12-31"), listed("canton", "ZH", "BE", "GE", "TI"),
            listed("marital", "single", "married", "divorced", "widowed"), number("children", 0, 12),
            _free("online"), _free("profession")]),
        "returns": ("taxpayer_id -> taxpayers.id", [
            number("tax_year", 2019, 2024), number("gross", 0, 1_000_000), number("deductions", 0, 200_000),
            number("tax_due", -20_000, 400_000, "0.01"), day("filed_on", "2020-01-01", "2025-12-31"),
            listed("status", "draft", "filed", "assessed", "appealed"), _free("form")]),
    },
    "labour": {
        "persons": ("id", [
            listed("sex", "f", "m"), day("born", "1940-01-01", "2008-12-31"),
            listed("region", "north", "south", "east", "west"), number("education", 0, 8), _free("foreign_born")]),
        "spells": ("person_id -> persons.id", [
            _free("id"), listed("status", "employed", "unemployed", "inactive", "self-employed"),
            day("started_on", "2015-01-01", "2024-12-31"), day("ended_on", "2015-01-01", "2025-12-31"),
            _free("isco"), number("hours", 0, 80, "0.5"), number("wage", 0, 30_000, "0.01"), _free("sector")]),
    },
    "school": {
        "pupils": ("id", [
            day("born", "2005-01-01", "2019-12-31"), _free("school_id"), number("grade", 1, 9), _free("language"),
            _free("free_lunch"), day("enrolled_on", "2012-01-01", "2024-12-31")]),
        "marks": ("pupil_id -> pupils.id", [
            _free("id"), listed("subject", "maths", "german", "french", "sport"), day("given_on", "2022-08-01",
           "2024-07-31"),
            number("mark", 1, 6, "0.25"), _free("teacher")]),
        "absences": ("pupil_id -> pupils.id", [
            day("day", "2022-08-01", "2024-07-31"), number("minutes", 0, 480), _free("excused"), _free("reason")]),
    },
    "motor": {
        "holders": ("id", [
            day("born", "1930-01-01", "2006-12-31"), listed("gender", "F", "M", "N"), _free("zip"),
            listed("tariff", "A", "B", "C"), day("since", "2000-01-01", "2024-12-31"),
            number("no_claims_years", 0, 30)]),
        "claims": ("holder_id -> holders.id", [
            _free("id"), day("occurred_on", "2020-01-01", "2024-12-31"), day("reported_on", "2020-01-01",
           "2025-12-31"),
            day("closed_on", "2020-01-01", "2026-12-31"), listed("peril", "collision", "theft", "hail", "glass"),
            number("paid", 0, 100_000, "0.01"), number("reserve", 0, 100_000, "0.01"), _free("note")]),
        "premiums": ("holder_id -> holders.id", [
            day("due_on", "2020-01-01", "2024-12-31"), number("amount", 0, 5000, "0.05"), _free("settled")]),
    },
    "site": {
        "users": ("id", [
            _time("created_at"), listed("country", "CH", "DE", "FR", "US"), listed("plan", "free", "pro", "team"),
            _free("is_staff"), _free("email")]),
        "events": ("user_id -> users.id", [
            _time("ts"), listed("name", "page_view", "signup", "add_to_cart", "purchase"), _free("url"),
            _free("referrer"), listed("device", "mobile", "desktop", "tablet"), number("revenue", 0, 2000, "0.01"),
            _free("session_id"), _free("campaign")]),
    },
    "rail": {
        "riders": ("id", [
            listed("kind", "adult", "youth", "senior"), number("born_year", 1930, 2015), _free("home_zone")]),
        "trips": ("rider_id -> riders.id", [
            _time("started_at", "2023-01-01"), _time("ended_at", "2023-01-01", "2025-01-01 23:59:59"),
            listed("line", "R1", "R2", "S5", "S9"), _free("from_stop"), _free("to_stop"),
            number("fare", 0, 100, "0.05"), number("transfers", 0, 5), _free("paid_by")]),
        "ratings": ("trip_id -> trips.id", [number("stars", 1, 5), _free("comment")]),
    },
}  # fmt: skip
PUBLIC = {
    "clinic": ("icd", "wards"),
    "tax": ("cantons", "brackets"),
    "labour": ("isco_titles", "regions", "cpi"),
    "school": ("schools", "terms"),
    "motor": ("perils", "zones"),
    "site": ("campaigns", "countries"),
    "rail": ("stops", "lines", "calendar"),
}
FILLED = {
    "clinic": (
        """CREATE TABLE patients AS SELECT i AS id, ['F', 'M'][1 + i % 2] AS sex,
           DATE '1930-01-01' + (i * 7919 % 34000)::INT AS birth_date,
           ['8001', '8004', '3011', ' 3012', NULL][1 + i * 3 % 5] AS postcode,
           ['A', 'O', 'B', 'O', 'AB', 'A', NULL][1 + i % 7] AS blood_group,
           CASE WHEN i % 8 = 0 THEN DATE '2023-06-01' + (i * 37 % 700)::INT END AS deceased_on,
           i % 11 <> 0 AS insured, (145 + i * 7 % 55)::INT AS height_cm,
           ((450 + i * 37 % 700) / 10.0)::DOUBLE AS weight_kg FROM range(500) t(i)""",
        """CREATE TABLE admissions AS SELECT i AS id, (i * 37 + i // 500 * 11) % 500 AS patient_id,
           TIMESTAMP '2022-01-01' + to_seconds(i * 104729 % 90000000) AS admitted_at,
           CASE WHEN i % 19 <> 0 THEN TIMESTAMP '2022-01-01' + to_seconds(i * 104729 % 90000000 + i * 8641 % 1500000)
           END AS discharged_at, ['ICU', 'Surgery', 'Medicine', 'Maternity'][1 + (i * i + i // 7) % 4] AS ward,
           ['elective', 'Urgent', 'emergency', NULL][1 + i // 3 % 4] AS urgency,
           ['I21.4', 'E11.9', 'J18.0', 'C50', 'S72.0', 'I10', 'O80'][1 + i % 7] AS diagnosis,
           ((i * 7919 % 3000000) / 100)::DECIMAL(10, 2) AS cost, (i * 5 % 12)::INT AS icu_days FROM range(1500) t(i)""",
        """CREATE TABLE labs AS SELECT i AS id, i * 3 % 1500 AS admission_id,
           TIMESTAMP '2022-01-02' + to_seconds((i * 3 % 1500) * 104729 % 90000000 + i // 500 * 3600) AS taken_at,
           ['CRP', 'Hb', 'Na'][1 + i % 3] AS analyte,
           ['12.5', '7', '<0.1', 'neg', ' 130 ', NULL, '1e2'][1 + i % 7] AS result,
           ((i * 331 % 4000) / 10.0)::DOUBLE AS value FROM range(3000) t(i)""",
        """CREATE TABLE icd AS SELECT * FROM (VALUES ('I21.4', 'NSTEMI', 'I'), ('E11.9', 'Diabetes', 'E'),
           ('J18.0', 'Pneumonia', 'J'), ('C50', 'Breast cancer', 'C'), ('S72.0', 'Hip fracture', 'S'),
           ('I10', 'Hypertension', 'I'), ('O80', 'Delivery', 'O')) AS v(code, title, chapter)""",
        """CREATE TABLE wards AS SELECT * FROM (VALUES ('ICU', 12, 'North'), ('Surgery', 40, 'North'),
           ('Medicine', 60, 'South'), ('Maternity', 20, 'South')) AS v(ward, beds, building)""",
    ),
    "tax": (
        """CREATE TABLE taxpayers AS SELECT i AS id, DATE '1930-01-01' + (i * 7919 % 27000)::INT AS born,
           ['ZH', 'BE', 'GE', 'ZH', 'TI'][1 + i % 5] AS canton,
           ['single', 'married', 'married', 'divorced', 'widowed'][1 + i * 3 % 5] AS marital,
           (i % 4)::INT AS children, i % 3 <> 0 AS online,
           ['Nurse', 'farmer', 'Lawyer ', 'TEACHER', NULL][1 + i // 2 % 5] AS profession FROM range(600) t(i)""",
        """CREATE TABLE returns AS SELECT i AS id, i % 590 AS taxpayer_id, (2020 + i // 590)::INT AS tax_year,
           (15000 + i * 9973 % 200000)::DECIMAL(12, 2) AS gross, (i * 331 % 20000)::DECIMAL(12, 2) AS deductions,
           (((15000 + i * 9973 % 200000) / 9.0 - 2500))::DECIMAL(12, 2) AS tax_due,
           CASE WHEN i % 13 <> 0 THEN make_date((2021 + i // 590)::INT, 1, 15) + (i * 37 % 300)::INT END AS filed_on,
           ['filed', 'assessed', 'assessed', 'appealed', 'draft'][1 + i % 5] AS status,
           ['F-100', 'F-200', 'f-100'][1 + i % 3] AS form FROM range(2360) t(i)""",
        """CREATE TABLE cantons AS SELECT * FROM (VALUES ('ZH', 'Zürich', 'de', 1.1), ('BE', 'Bern', 'de', 1.5),
           ('GE', 'Genève', 'fr', 1.4), ('TI', 'Ticino', 'it', 1.2)) AS v(canton, name, language, multiplier)""",
        """CREATE TABLE brackets AS SELECT * FROM (VALUES (0, 50000, 'low'), (50000, 100000, 'middle'),
           (100000, 1000001, 'high')) AS v(lower, upper, label)""",
    ),
    "labour": (
        """CREATE TABLE persons AS SELECT i AS id, ['f', 'm'][1 + i % 2] AS sex,
           DATE '1945-01-01' + (i * 7919 % 22000)::INT AS born,
           ['north', 'south', 'east', 'west', 'north'][1 + i % 5] AS region, (i * 5 % 9)::INT AS education,
           i % 4 = 0 AS foreign_born FROM range(600) t(i)""",
        """CREATE TABLE spells AS SELECT i AS id, (i * 7 + i // 600) % 580 AS person_id,
           ['employed', 'unemployed', 'employed', 'inactive', 'self-employed'][1 + i % 5] AS status,
           DATE '2015-02-01' + (i * 37 % 3000)::INT AS started_on,
           CASE WHEN i % 4 <> 0 THEN DATE '2015-02-01' + (i * 37 % 3000 + i * 11 % 700)::INT END AS ended_on,
           ['2411', '5120', '9112', '1330', NULL][1 + i // 5 % 5] AS isco,
           CASE WHEN i % 5 <> 1 THEN ((i * 7 % 90) / 2.0)::DOUBLE END AS hours,
           CASE WHEN i % 5 <> 1 THEN ((200000 + i * 9973 % 900000) / 100.0)::DOUBLE END AS wage,
           ['public', 'Private', 'private', 'NGO'][1 + i // 3 % 4] AS sector FROM range(2400) t(i)""",
        """CREATE TABLE isco_titles AS SELECT * FROM (VALUES ('1', 'Managers'), ('2', 'Professionals'), ('5',
           'Services'),
           ('9', 'Elementary')) AS v(major, title)""",
        """CREATE TABLE regions AS SELECT * FROM (VALUES ('north', 'Norden', 120000), ('south', 'Süden', 90000),
           ('east', 'Osten', 60000), ('west', 'Westen', 30000)) AS v(region, name, population)""",
        "CREATE TABLE cpi AS SELECT i::INT AS year, (100 + 2 * (i - 2015))::INT AS idx FROM range(2015, 2026) t(i)",
    ),
    "school": (
        """CREATE TABLE pupils AS SELECT i AS id, DATE '2008-01-01' + (i * 31 % 3600)::INT AS born,
           (1 + i % 6)::INT AS school_id, (1 + i * 5 % 9)::INT AS grade,
           ['German', 'french', 'Italian', 'german', NULL][1 + i // 3 % 5] AS language, i % 4 = 0 AS free_lunch,
           DATE '2013-08-15' + (i * 37 % 3900)::INT AS enrolled_on FROM range(600) t(i)""",
        """CREATE TABLE marks AS SELECT i AS id, i * 7 % 590 AS pupil_id,
           ['maths', 'german', 'french', 'sport'][1 + (i + i // 590) % 4] AS subject,
           DATE '2022-08-20' + (i * 37 % 690)::INT AS given_on, ((4 + i * 7 % 21) / 4.0)::DOUBLE AS mark,
           ['Frei', 'meier', 'O''Neill', 'Frei '][1 + i % 4] AS teacher FROM range(4000) t(i)""",
        """CREATE TABLE absences AS SELECT i AS id, i * 11 % 550 AS pupil_id,
           DATE '2022-08-20' + (i * 13 % 690)::INT AS day, (i * 45 % 481)::INT AS minutes, i % 5 <> 0 AS excused,
           ['illness', 'Doctor', 'late bus', NULL, 'illness '][1 + i // 2 % 5] AS reason FROM range(2500) t(i)""",
        """CREATE TABLE schools AS SELECT i::INT AS school_id, ['Linden', 'Berg', 'See', 'Wald', 'Dorf',
           'Hof'][i] AS name,
           ['North', 'North', 'South', 'South', 'East', 'East'][i] AS district, (80 + i * 20)::INT AS capacity
           FROM range(1, 7) t(i)""",
        """CREATE TABLE terms AS SELECT * FROM (VALUES ('2022/23', DATE '2022-08-01', DATE '2023-07-31'),
           ('2023/24', DATE '2023-08-01', DATE '2024-07-31')) AS v(term, starts, ends)""",
    ),
    "motor": (
        """CREATE TABLE holders AS SELECT i AS id, DATE '1935-01-01' + (i * 7919 % 25000)::INT AS born,
           ['F', 'M', 'M', 'F', 'N'][1 + i % 5] AS gender,
           ['8001', '8400', '3001', '1200', NULL][1 + i * 3 % 5] AS zip, ['A', 'B', 'B', 'C'][1 + i % 4] AS tariff,
           DATE '2001-01-01' + (i * 31 % 8700)::INT AS since, (i * 7 % 20)::INT AS no_claims_years
           FROM range(600) t(i)""",
        """CREATE TABLE claims AS SELECT i AS id, (i * 7 + i // 400) % 450 AS holder_id,
           DATE '2020-01-05' + (i * 37 % 1800)::INT AS occurred_on,
           DATE '2020-01-05' + (i * 37 % 1800 + i * 11 % 60)::INT AS reported_on,
           CASE WHEN i % 6 <> 0 THEN DATE '2020-01-05' + (i * 37 % 1800 + i * 11 % 60 + i * 13 % 400)::INT END AS
           closed_on,
           ['collision', 'theft', 'hail', 'glass', 'glass'][1 + (i + i // 11) % 5] AS peril,
           CASE WHEN i % 9 <> 0 THEN (i * 7919 % 1500000) / 100 ELSE 0 END::DECIMAL(12, 2) AS paid,
           CASE WHEN i % 6 = 0 THEN (i * 331 % 500000) / 100 ELSE 0 END::DECIMAL(12, 2) AS reserve,
           ['rear-end, parking', 'Hail 2021', NULL, 'stolen at night', 'windscreen'][1 + i % 5] AS note
           FROM range(1800) t(i)""",
        """CREATE TABLE premiums AS SELECT i % 600 AS holder_id, make_date((2020 + i // 600)::INT, (1 + i % 12)::INT, 1)
           AS due_on, ((6000 + i * 331 % 20000) / 20.0)::DOUBLE AS amount,
           i % 7 <> 0 AS settled FROM range(3000) t(i)""",
        """CREATE TABLE perils AS SELECT * FROM (VALUES ('collision', 'own damage'), ('theft', 'crime'),
           ('hail', 'nature'), ('glass', 'own damage')) AS v(peril, grp)""",
        """CREATE TABLE zones AS SELECT * FROM (VALUES ('8', 'Zürich'), ('3', 'Bern'), ('1', 'Romandie'))
           AS v(prefix, zone)""",
    ),
    "site": (
        """CREATE TABLE users AS SELECT i AS id,
           TIMESTAMP '2022-01-01' + to_seconds(i * 104729 % 80000000) AS created_at,
           ['CH', 'DE', 'FR', 'US', 'CH'][1 + i % 5] AS country, ['free', 'free', 'pro', 'team'][1 + i % 4] AS plan,
           i % 50 = 0 AS is_staff, 'u' || i || ['@gmail.com', '@corp.io', '@GMX.net'][1 + i % 3] AS email
           FROM range(700) t(i)""",
        """CREATE TABLE events AS SELECT i AS id, (i * 37 + i // 700 * 3) % 690 AS user_id,
           TIMESTAMP '2023-01-01' + to_seconds(i * 15485 % 63000000) AS ts,
           ['page_view', 'page_view', 'signup', 'add_to_cart', 'purchase'][1 + i // 7 % 5] AS name,
           ['/', '/pricing?ref=a', '/docs/start', '/blog/2024/x', '/checkout'][1 + i % 5] AS url,
           ['https://www.google.com/', 'https://t.co/x', NULL, 'https://news.site/a'][1 + i % 4] AS referrer,
           ['mobile', 'desktop', 'tablet'][1 + i // 2 % 3] AS device,
           CASE WHEN i // 7 % 5 = 4 THEN ((i * 331 % 30000) / 100.0)::DOUBLE END AS revenue,
           's' || (i * 37 + i // 700 * 3) % 690 || '-' || i // 1400 AS session_id,
           ['spring', NULL, 'brand', 'Brand'][1 + i // 3 % 4] AS campaign FROM range(7000) t(i)""",
        """CREATE TABLE campaigns AS SELECT * FROM (VALUES ('spring', 'social', 1200), ('brand', 'search', 900))
           AS v(code, channel, cost)""",
        """CREATE TABLE countries AS SELECT * FROM (VALUES ('CH', 'DACH', 8700), ('DE', 'DACH', 83000), ('FR', 'EU',
           68000),
           ('US', 'AMER', 330000)) AS v(country, region, population)""",
    ),
    "rail": (
        """CREATE TABLE riders AS SELECT i AS id, ['adult', 'youth', 'adult', 'senior'][1 + i % 4] AS kind,
           (1940 + i * 13 % 70)::INT AS born_year, (1 + i % 5)::INT AS home_zone FROM range(500) t(i)""",
        """CREATE TABLE trips AS SELECT i AS id, i * 7 % 480 AS rider_id,
           TIMESTAMP '2023-01-01' + to_seconds(i * 15485 % 62000000) AS started_at,
           TIMESTAMP '2023-01-01' + to_seconds(i * 15485 % 62000000 + 120 + i * 61 % 7000) AS ended_at,
           ['R1', 'R2', 'S5', 'S9', 'R1'][1 + i % 5] AS line, (1 + i * 3 % 8)::INT AS from_stop,
           (1 + i * 5 % 8)::INT AS to_stop, ((i * 37 % 400) / 20.0)::DOUBLE AS fare, (i // 3 % 4)::INT AS transfers,
           ['card', 'app', 'CASH', NULL][1 + i // 2 % 4] AS paid_by FROM range(6000) t(i)""",
        """CREATE TABLE ratings AS SELECT i * 3 % 6000 AS trip_id, (1 + i * 7 % 5)::INT AS stars,
           ['late', 'Too crowded!', NULL, 'nice staff',
           'LATE again'][1 + i // 3 % 5] AS comment FROM range(1500) t(i)""",
        """CREATE TABLE stops AS SELECT i::INT AS stop_id, ['Main', 'Harbour', 'Museum', 'Park', 'Zoo', 'Airport',
           'Mill',
           'Hill'][i] AS name, [1, 1, 1, 2, 2, 3, 2, 3][i]::INT AS zone FROM range(1, 9) t(i)""",
        """CREATE TABLE lines AS SELECT * FROM (VALUES ('R1', 'regional', 400), ('R2', 'regional', 350),
           ('S5', 'suburban', 700), ('S9', 'suburban', 700)) AS v(line, mode, capacity)""",
        """CREATE TABLE calendar AS SELECT DATE '2023-01-01' + i::INT AS day,
           CASE WHEN dayofweek(DATE '2023-01-01' + i::INT) IN (0, 6) THEN 'weekend' ELSE 'workday' END AS kind
           FROM range(731) t(i)""",
    ),
}


def bureau(name: str, *, caps: dict[str, int] = _WIDE, left_out: tuple[str, ...] = ()) -> World:
    """One of the bureaus."""
    return world_with(PRIVATE[name], PUBLIC[name], [*FILLED[name], *left_out], caps=caps)


_LINKED = {
    "clinic": ("labs WHERE admission_id IN (SELECT id FROM admissions WHERE patient_id = {0})",
               "admissions WHERE patient_id = {0}", "patients WHERE id = {0}"),
    "tax": ("returns WHERE taxpayer_id = {0}", "taxpayers WHERE id = {0}"),
    "labour": ("spells WHERE person_id = {0}", "persons WHERE id = {0}"),
    "school": ("marks WHERE pupil_id = {0}", "absences WHERE pupil_id = {0}", "pupils WHERE id = {0}"),
    "motor": ("claims WHERE holder_id = {0}", "premiums WHERE holder_id = {0}", "holders WHERE id = {0}"),
    "site": ("events WHERE user_id = {0}", "users WHERE id = {0}"),
    "rail": ("ratings WHERE trip_id IN (SELECT id FROM trips WHERE rider_id = {0})", "trips WHERE rider_id = {0}",
             "riders WHERE id = {0}"),
}  # fmt: skip


def without(name: str, who: int) -> tuple[str, ...]:
    """The statements that take one unit out of a bureau, with all that is linked to it."""
    return tuple(f"DELETE FROM {each.format(who)}" for each in _LINKED[name])
