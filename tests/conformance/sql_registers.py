"""Four registers of public health with tables of their own: cancers, ambulances, births and laboratories."""

from __future__ import annotations

from conformance.sql_lists import day, listed, number, time, world_with
from conformance.sql_world import World
from tacit.policy import ColumnPolicy

_WIDE = {"max_groups": 120, "max_rows": 80, "max_distinct": 80}  # nobody here has more: bounding takes nothing
_free = ColumnPolicy  # neither bounds nor a list


def _coded(name: str, lower: int, upper: int) -> ColumnPolicy:
    return ColumnPolicy(name, lower=lower, upper=upper, step=1, domain="range")


PRIVATE = {
    "cancers": {
        "persons": ("person_id", [
            listed("sex", "female", "male"), day("born", "1915-01-01", "2010-12-31"),
            day("died", "2010-01-01", "2024-12-31"), _free("death_cause"), _free("education"),
            listed("district", "North", "South", "East", "West", "Centre")]),
        "tumours": ("person_id -> persons.person_id", [
            _free("id"), day("diagnosed", "2012-01-01", "2023-12-31"), _free("site"), number("morphology", 8000, 9999),
            listed("stage", "I", "II", "III", "IV", "X"), number("size_mm", 0, 300), _free("screened"),
            _coded("grade", 1, 4)]),
        "treatments": ("tumour_id -> tumours.id", [
            listed("kind", "surgery", "chemo", "radio", "hormone"), day("started", "2012-01-01", "2024-12-31"),
            day("ended", "2012-01-01", "2024-12-31"), number("dose", 0, 100, "0.5")]),
    },
    "ambulances": {
        "patients": ("pid", [
            number("birth_year", 1920, 2024), listed("gender", "f", "m", "d"), _free("postcode")]),
        "dispatches": ("pid -> patients.pid", [
            _free("id"), time("called_at", "2022-01-01"), time("dispatched_at", "2022-01-01"),
            time("arrived_at", "2022-01-01"), time("hospital_at", "2022-01-01"), _coded("priority", 1, 3),
            _free("reason"), _free("station"), number("lat", 46, 48, "0.001"), number("lon", 6, 10, "0.001"),
            _free("transported"), _free("notes")]),
        "vitals": ("dispatch_id -> dispatches.id", [
            time("taken_at", "2022-01-01"), number("systolic", 40, 260), number("pulse", 20, 220),
            number("spo2", 50, 100)]),
    },
    "births": {
        "mothers": ("mother_id", [
            day("born", "1965-01-01", "2008-12-31"), listed("country", "CH", "PT", "DE", "ER", "other"),
            _free("smoker"), number("height_cm", 130, 200)]),
        "births": ("mother_id -> mothers.mother_id", [
            _free("birth_id"), time("born_at", "2015-01-01"), number("weight_g", 300, 6500), number("weeks", 22, 44),
            number("apgar5", 0, 10), listed("mode", "vaginal", "caesarean", "instrumental"), listed("sex", "f", "m"),
            _free("hospital"), _free("twin")]),
        "checks": ("birth_id -> births.birth_id", [
            day("checked_on", "2015-01-01", "2024-12-31"), number("height_cm", 40, 200, "0.1"),
            number("weight_kg", 1, 120, "0.1"), _free("vision"), _free("dental")]),
    },
    "laboratory": {
        "Patients": ("PatientID", [
            listed("Sex", "F", "M"), day("Date of birth", "1920-01-01", "2024-12-31"), _free("Municipality")]),
        "LabResults": ("PatientID -> Patients.PatientID", [
            _free("SampleNo"), time("TakenAt", "2022-01-01"), time("ResultAt", "2022-01-01", "2025-01-31 23:59:59"),
            listed("Test", "HbA1c", "CRP", "LDL", "Ferritin"), number("Result", 0, 1000, "0.1"), _free("Unit"),
            _free("Abnormal"), _free("Comment")]),
        "vaccinations": ("PatientID -> Patients.PatientID", [
            _free("vaccine"), _coded("dose_no", 1, 5), day("given_on", "2021-01-01", "2024-12-31"), _free("batch")]),
    },
}  # fmt: skip
PUBLIC = {
    "cancers": ("population", "standard_pop", "sites"),
    "ambulances": ("stations", "holidays"),
    "births": ("hospitals", "growth"),
    "laboratory": ("vaccines", "municipalities", "reference_ranges"),
}
FILLED = {
    "cancers": (
        """CREATE TABLE persons AS SELECT i AS person_id, ['female', 'male'][1 + i // 2 % 2] AS sex,
           DATE '1920-01-01' + (i * 7919 % 28000)::INT AS born,
           CASE WHEN i % 4 = 1 THEN DATE '2013-01-01' + (i * 37 % 4300)::INT END AS died,
           CASE WHEN i % 4 = 1 THEN ['C50.9', 'I21', 'C34.1', 'J18.9', NULL][1 + i // 4 % 5] END AS death_cause,
           ['primary', 'secondary', 'tertiary', NULL][1 + i // 3 % 4] AS education,
           ['North', 'South', 'East', 'West', 'Centre'][1 + i % 5] AS district FROM range(700) t(i)""",
        """CREATE TABLE tumours AS SELECT i AS id, i * 7 % 680 AS person_id,
           DATE '2012-01-01' + (i * 104729 % 4300)::INT AS diagnosed,
           ['C50.9', 'C34.1', 'C61', 'C18.7', 'C43.5', 'C20', 'D05.1'][1 + i % 7] AS site,
           (8000 + i * 53 % 1900)::INT AS morphology, ['I', 'II', 'III', 'IV', 'X', NULL][1 + i // 2 % 6] AS stage,
           CASE WHEN i % 13 <> 0 THEN (2 + i * 11 % 110)::INT END AS size_mm, [true, false,
           NULL][1 + i % 3] AS screened,
           (1 + i // 5 % 4)::INT AS grade FROM range(1400) t(i)""",
        """CREATE TABLE treatments AS SELECT i AS id, i * 3 % 1350 AS tumour_id,
           ['surgery', 'chemo', 'radio', 'hormone', 'surgery'][1 + i // 2 % 5] AS kind,
           DATE '2012-01-10' + (i * 3 % 1350 * 104729 % 4300 + i * 17 % 200)::INT AS started,
           CASE WHEN i % 9 <> 0 THEN DATE '2012-01-10' + (i * 3 % 1350 * 104729 % 4300 + i * 17 % 200 + i % 60)::INT END
           AS ended, CASE WHEN i // 2 % 5 IN (1, 2) THEN ((i * 7 % 140) / 2.0)::DOUBLE END AS dose
           FROM range(2600) t(i)""",
        """CREATE TABLE population AS SELECT d AS district, s AS sex, g AS age_group, y::INT AS year,
           (20000 + 137 * y % 91 + length(d) * 331 + length(s) * 97 + ord(g) * 53)::INT AS inhabitants
           FROM (SELECT unnest(['North', 'South', 'East', 'West', 'Centre']) AS d), (SELECT unnest(['female',
           'male']) AS s),
           (SELECT unnest(['0-44', '45-64', '65-74', '75+']) AS g), range(2012, 2024) t(y)""",
        """CREATE TABLE standard_pop AS SELECT * FROM (VALUES ('0-44', 0.55), ('45-64', 0.25), ('65-74', 0.11),
           ('75+', 0.09))
           AS v(age_group, weight)""",
        """CREATE TABLE sites AS SELECT * FROM (VALUES ('C50', 'Breast', true), ('C34', 'Lung', false),
           ('C61', 'Prostate', false), ('C18', 'Colorectal', true), ('C20', 'Colorectal', true), ('C43', 'Melanoma',
           false))
           AS v(code, label, screening)""",
    ),
    "ambulances": (
        """CREATE TABLE patients AS SELECT i AS pid, (1925 + i * 13 % 98)::INT AS birth_year,
           ['f', 'm', 'f', 'm', 'd'][1 + i // 2 % 5] AS gender, ['3011', '3012', '8001', NULL,
           '1201'][1 + i % 5] AS postcode
           FROM range(650) t(i)""",
        """CREATE TABLE dispatches AS SELECT i AS id, (i * 37 + i // 620 * 13) % 620 AS pid, c AS called_at,
           c + to_seconds(20 + i * 7 % 300) AS dispatched_at,
           CASE WHEN i % 17 <> 0 THEN c + to_seconds(20 + i * 7 % 300 + 120 + i * 331 % 1500) END AS arrived_at,
           CASE WHEN i % 3 <> 1 AND i % 17 <> 0 THEN c + to_seconds(2400 + i * 53 % 3000) END AS hospital_at,
           (1 + i // 3 % 3)::INT AS priority,
           ['chest pain', 'fall', 'Stroke', 'traffic accident', 'Fall ', 'dyspnoea'][1 + i % 6] AS reason,
           (1 + i * 5 % 4)::INT AS station, (46.5 + (i * 7 % 900) / 1000.0)::DOUBLE AS lat,
           (7 + (i * 11 % 1900) / 1000.0)::DOUBLE AS lon, i % 3 <> 1 AND i % 17 <> 0 AS transported,
           ['GCS 15, RR 120/80', 'GCS 9; intubated', NULL, 'cpr started 14:05',
           'refused transport'][1 + i // 2 % 5] AS notes
           FROM (SELECT i, TIMESTAMP '2022-01-01' + to_seconds(i * 104729 % 94000000) AS c FROM range(2600) t(i))""",
        """CREATE TABLE vitals AS SELECT i AS id, i * 7 % 2500 AS dispatch_id,
           TIMESTAMP '2022-01-01' + to_seconds(i * 7 % 2500 * 104729 % 94000000 + 900 + i * 7 // 2500 * 300)
           AS taken_at,
           (80 + i * 13 % 120)::INT AS systolic, (45 + i * 17 % 110)::INT AS pulse,
           CASE WHEN i % 11 <> 0 THEN (80 + i * 3 % 21)::INT END AS spo2 FROM range(5000) t(i)""",
        """CREATE TABLE stations AS SELECT * FROM (VALUES (1, 'Bern Nord', 'city', 130000), (2, 'Thun', 'town', 45000),
           (3, 'Langnau', 'rural', 30000), (4, 'Bern Sued', 'city', 90000)) AS v(station, name, region, inhabitants)""",
        """CREATE TABLE holidays AS SELECT * FROM (VALUES (DATE '2022-12-25', 'Christmas'), (DATE '2023-12-25',
           'Christmas'),
           (DATE '2022-08-01', 'National day'), (DATE '2023-08-01', 'National day'), (DATE '2024-08-01',
           'National day'))
           AS v(day, name)""",
    ),
    "births": (
        """CREATE TABLE mothers AS SELECT i AS mother_id, DATE '1972-01-01' + (i * 7919 % 10500)::INT AS born,
           ['CH', 'PT', 'CH', 'DE', 'ER', 'other'][1 + i % 6] AS country, [true, false, false,
           NULL][1 + i // 3 % 4] AS smoker,
           (150 + i * 7 % 35)::INT AS height_cm FROM range(800) t(i)""",
        """CREATE TABLE births AS SELECT i AS birth_id, (i * 11 + i // 760 * 5) % 760 AS mother_id,
           TIMESTAMP '2015-01-01' + to_seconds(i * 104729 % 310000000) AS born_at,
           (1200 + i * 331 % 3600)::INT AS weight_g,
           (28 + i * 7 % 15)::INT AS weeks, CASE WHEN i % 12 <> 0 THEN (3 + i // 2 % 8)::INT END AS apgar5,
           ['vaginal', 'caesarean', 'vaginal', 'instrumental', 'caesarean'][1 + i % 5] AS mode, ['f',
           'm'][1 + i // 4 % 2] AS sex,
           (1 + i * 7 % 5)::INT AS hospital, i % 20 = 3 AS twin FROM range(1600) t(i)""",
        """CREATE TABLE checks AS SELECT i AS id, i * 3 % 1500 AS birth_id,
           least(DATE '2024-12-31', CAST(TIMESTAMP '2015-01-01' + to_seconds(i * 3 % 1500 * 104729 % 310000000) AS DATE)
           + (60 + i * 3 // 1500 * 370 + i % 25)::INT) AS checked_on, ((500 + i * 7 % 900) / 10.0)::DOUBLE AS height_cm,
           CASE WHEN i % 27 <> 0 THEN ((40 + i * 11 % 400) / 10.0)::DOUBLE END AS weight_kg,
           ['normal', 'glasses', 'normal', 'referred', NULL][1 + i // 2 % 5] AS vision, (i % 6)::INT AS dental
           FROM range(4000) t(i)""",
        """CREATE TABLE hospitals AS SELECT * FROM (VALUES (1, 'Inselspital', 'III', 'BE'), (2, 'Spital Thun', 'II',
           'BE'),
           (3, 'USZ', 'III', 'ZH'), (4, 'Triemli', 'II', 'ZH'), (5, 'Birth House', 'I', 'ZH')) AS v(hospital, name,
           level,
           canton)""",
        """CREATE TABLE growth AS SELECT s AS sex, w::INT AS weeks, (w * 130 - 1800 + ord(s) % 7 * 10)::INT AS mean_g,
           (w * 12)::INT AS sd_g FROM (SELECT unnest(['f', 'm']) AS s), range(22, 45) t(w)""",
    ),
    "laboratory": (
        """CREATE TABLE "Patients" AS SELECT i AS "PatientID", ['F', 'M'][1 + i // 3 % 2] AS "Sex",
           DATE '1930-01-01' + (i * 7919 % 32000)::INT AS "Date of birth",
           ['Bern', 'Köniz', 'Thun', 'bern', NULL][1 + i % 5] AS "Municipality" FROM range(600) t(i)""",
        """CREATE TABLE "LabResults" AS SELECT i AS "SampleNo", i * 7 % 570 AS "PatientID", c AS "TakenAt",
           c + to_minutes(30 + i * 53 % 4000) AS "ResultAt", ['HbA1c', 'CRP', 'LDL', 'CRP',
           'Ferritin'][1 + i // 4 % 5] AS "Test",
           CASE WHEN i % 31 <> 0 THEN ((10 + i * 331 % 4000) / 10.0)::DOUBLE END AS "Result",
           ['mg/l', 'MG/L', '%', 'mmol/l'][1 + i % 4] AS "Unit", [true, false, NULL,
           false][1 + i // 3 % 4] AS "Abnormal",
           ['haemolysed', NULL, 'repeat: lipaemic', 'ok', 'Repeat'][1 + i // 2 % 5] AS "Comment"
           FROM (SELECT i, TIMESTAMP '2022-01-01' + to_seconds(i * 15485 % 94000000) AS c FROM range(5000) t(i))""",
        """CREATE TABLE vaccinations AS SELECT i AS id, i * 11 % 590 AS "PatientID",
           ['Comirnaty', 'Spikevax', 'Comirnaty', 'MMR', 'Boostrix'][1 + i // 7 % 5] AS vaccine,
           (1 + i // 590)::INT AS dose_no, DATE '2021-01-01' + (i * 37 % 400 + i // 590 * 300)::INT AS given_on,
           ['PF-0123/A', 'PF-0999/B', 'MO-777', NULL][1 + i % 4] AS batch FROM range(1900) t(i)""",
        """CREATE TABLE vaccines AS SELECT * FROM (VALUES ('Comirnaty', 'Pfizer', 3), ('Spikevax', 'Moderna', 3),
           ('MMR', 'GSK', 2), ('Boostrix', 'GSK', 1)) AS v(vaccine, manufacturer, doses)""",
        """CREATE TABLE municipalities AS SELECT * FROM (VALUES ('Bern', 'BE', 134000), ('Köniz', 'BE', 43000),
           ('Thun', 'BE',
           44000)) AS v(name, canton, inhabitants)""",
        """CREATE TABLE reference_ranges AS SELECT * FROM (VALUES ('HbA1c', 'F', 4.0, 5.7), ('HbA1c', 'M', 4.0, 5.7),
           ('CRP', 'F', 0.0, 5.0), ('CRP', 'M', 0.0, 5.0), ('LDL', 'F', 0.0, 3.4), ('LDL', 'M', 0.0, 3.0),
           ('Ferritin', 'F', 10.0, 120.0), ('Ferritin', 'M', 20.0, 300.0)) AS v(test, sex, low, high)""",
    ),
}
_LINKED = {  # what of one unit is in every table, the parent last
    "cancers": (
        "treatments WHERE tumour_id IN (SELECT id FROM tumours WHERE person_id = {0})",
        "tumours WHERE person_id = {0}",
        "persons WHERE person_id = {0}",
    ),
    "ambulances": (
        "vitals WHERE dispatch_id IN (SELECT id FROM dispatches WHERE pid = {0})",
        "dispatches WHERE pid = {0}",
        "patients WHERE pid = {0}",
    ),
    "births": (
        "checks WHERE birth_id IN (SELECT birth_id FROM births WHERE mother_id = {0})",
        "births WHERE mother_id = {0}",
        "mothers WHERE mother_id = {0}",
    ),
    "laboratory": (
        '"LabResults" WHERE "PatientID" = {0}',
        'vaccinations WHERE "PatientID" = {0}',
        '"Patients" WHERE "PatientID" = {0}',
    ),
}


def register(name: str, *, caps: dict[str, int] = _WIDE, left_out: tuple[str, ...] = ()) -> World:
    """One of the registers."""
    return world_with(PRIVATE[name], PUBLIC[name], [*FILLED[name], *left_out], caps=caps)


def without(name: str, who: int) -> tuple[str, ...]:
    """The statements that take one unit out of a register, with all that is linked to it."""
    return tuple(f"DELETE FROM {each.format(who)}" for each in _LINKED[name])
