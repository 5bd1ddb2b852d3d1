"""Five offices with tables of their own: an insurer, a shop, a transport company, a bank and a personnel office."""

from __future__ import annotations

from conformance.sql_lists import day, listed, number, time, world_with
from conformance.sql_world import World
from tacit.policy import ColumnPolicy

_WIDE = {"max_groups": 120, "max_rows": 80, "max_distinct": 80}  # nobody here has more: bounding takes nothing


def _time(name: str, lower: str = "2022-01-01", upper: str = "2024-12-31 23:59:59") -> ColumnPolicy:
    return time(name, lower, upper)


_free = ColumnPolicy  # neither bounds nor a list

PRIVATE = {
    "insurer": {
        "members": ("id", [
            listed("sex", "F", "M", "X"), day("birth_date", "1920-01-01", "2024-12-31"), _free("region"),
            listed("plan", "basic", "plus", "premium"), day("enrolled_on", "2015-01-01", "2024-12-31"),
            _free("smoker"), number("height_cm", 100, 220), number("weight_kg", 20, 250, "0.1")]),
        "encounters": ("member_id -> members.id", [
            listed("kind", "inpatient", "outpatient", "emergency", "telehealth"), _time("started_at"),
            _time("ended_at", upper="2025-03-31 23:59:59"), _free("icd10"), number("charge", 0, 100_000, "0.01"),
            _free("facility")]),
        "prescriptions": ("member_id -> members.id", [
            _free("drug"), day("filled_on", "2022-01-01", "2024-12-31"), number("days_supply", 0, 180),
            number("cost", 0, 1000, "0.01")]),
    },
    "shop": {
        "customers": ("id", [
            day("signup_date", "2020-01-01", "2024-12-31"), listed("country", "CH", "DE", "FR", "IT", "AT"),
            _free("segment"), number("birth_year", 1930, 2010), _free("newsletter"), _free("email")]),
        "orders": ("customer_id -> customers.id", [
            _time("ordered_at"), listed("status", "placed", "paid", "shipped", "returned", "cancelled"),
            listed("channel", "web", "app", "store"), _free("coupon"), number("discount_pct", 0, 100)]),
        "items": ("order_id -> orders.id", [
            _free("product_id"), number("quantity", 1, 20), number("unit_price", 0, 2000, "0.01")]),
    },
    "transit": {
        "cards": ("id", [listed("kind", "adult", "student", "senior", "child"),
                         day("issued_on", "2018-01-01", "2024-12-31")]),
        "taps": ("card_id -> cards.id", [
            _time("tapped_at", "2024-01-01"), _free("stop_id"), listed("line", "U1", "U2", "U3", "B10", "B20"),
            _free("inbound"), number("fare", 0, 30, "0.01"), number("delay_s", -600, 3600)]),
    },
    "bank": {
        "clients": ("id", [
            day("opened_on", "2000-01-01", "2024-12-31"), _free("city"), listed("risk", "low", "medium", "high"),
            number("income", 0, 500_000), _free("kyc_ok")]),
        "transactions": ("client_id -> clients.id", [
            _time("booked_at", "2023-01-01"), number("amount", -50_000, 50_000, "0.01"),
            listed("currency", "CHF", "EUR", "USD"), _free("mcc"), _free("merchant"), _free("country"),
            _free("is_fraud"), listed("method", "card", "transfer", "cash")]),
    },
    "staff": {
        "employees": ("id", [
            listed("dept", "Sales", "R&D", "Ops", "HR", "Finance"), day("hired_on", "1990-01-01", "2024-12-31"),
            day("left_on", "2015-01-01", "2024-12-31"), listed("gender", "f", "m", "d"), number("grade", 1, 10),
            number("salary", 20_000, 300_000), number("fte", 0, 1, "0.05"), _free("site")]),
        "absences": ("employee_id -> employees.id", [
            listed("kind", "sick", "vacation", "parental", "other"), day("from_day", "2022-01-01", "2024-12-31"),
            day("to_day", "2022-01-01", "2025-12-31")]),
        "reviews": ("employee_id -> employees.id", [number("year", 2020, 2024), number("score", 1, 5, "0.1")]),
    },
}  # fmt: skip
PUBLIC = {
    "insurer": ("chapters", "census"),
    "shop": ("products", "fx"),
    "transit": ("stops", "lines", "weather"),
    "bank": ("mcc_codes", "rates"),
    "staff": ("departments", "calendar"),
}
FILLED = {
    "insurer": (
        """CREATE TABLE members AS SELECT i AS id, ['F', 'M', 'F', 'M', 'X'][1 + i % 5] AS sex,
           DATE '1925-01-01' + (i * 7919 % 36000)::INT AS birth_date,
           ['North', 'South', 'east ', 'West', NULL][1 + i * 3 % 5] AS region,
           ['basic', 'plus', 'basic', 'premium'][1 + i % 4] AS plan,
           DATE '2015-01-01' + (i * 31 % 3600)::INT AS enrolled_on, i % 4 = 0 AS smoker,
           (145 + i * 7 % 55)::INT AS height_cm, ((450 + i * 37 % 700) / 10.0)::DOUBLE AS weight_kg
           FROM range(600) t(i)""",
        """CREATE TABLE encounters AS SELECT i AS id, (i * 37 + i // 600 * 11) % 600 AS member_id,
           ['inpatient', 'outpatient', 'emergency', 'outpatient', 'telehealth'][1 + (i * i + i // 7) % 5] AS kind,
           TIMESTAMP '2022-01-01' + to_seconds(i * 104729 % 90000000) AS started_at,
           CASE WHEN i % 17 <> 0 THEN TIMESTAMP '2022-01-01' + to_seconds(i * 104729 % 90000000 + i * 8641 % 1500000)
           END
           AS ended_at, ['I21.4', 'E11.9', 'J18.0', 'C50', 'S72.0', 'I10', 'E11.2'][1 + i % 7] AS icd10,
           ((i * 7919 % 3000000) / 100.0)::DOUBLE AS charge,
           ['St. Mary', 'City General', 'Lakeside'][1 + i % 3] AS facility FROM range(2400) t(i)""",
        """CREATE TABLE prescriptions AS SELECT i AS id, i * 7 % 500 AS member_id,
           ['Metformin', 'metformin', 'Aspirin', 'Atorvastatin', 'Insulin glargine'][1 + i % 5] AS drug,
           DATE '2022-01-01' + (i * 37 % 1090)::INT AS filled_on, [30, 30, 90, 14,
           NULL][1 + i // 3 % 5]::INT AS days_supply,
           ((i * 331 % 20000) / 100.0)::DOUBLE AS cost FROM range(3000) t(i)""",
        """CREATE TABLE chapters AS SELECT * FROM (VALUES ('I', 'circulatory'), ('E', 'endocrine'), ('J',
           'respiratory'),
           ('C', 'neoplasms'), ('S', 'injury')) AS v(letter, title)""",
        """CREATE TABLE census AS SELECT * FROM (VALUES ('North', 1200), ('South', 800), ('West', 1500))
           AS v(region, population)""",
    ),
    "shop": (
        """CREATE TABLE customers AS SELECT i AS id, DATE '2020-01-01' + (i * 31 % 1600)::INT AS signup_date,
           ['CH', 'DE', 'CH', 'FR', 'IT', 'AT', 'DE'][1 + i % 7] AS country,
           ['gold', 'silver', 'bronze', NULL][1 + i % 4] AS segment, (1940 + i * 13 % 65)::INT AS birth_year,
           i % 3 = 0 AS newsletter, 'user' || i || ['@gmail.com', '@bluewin.ch', '@web.de'][1 + i % 3] AS email
           FROM range(700) t(i)""",
        """CREATE TABLE orders AS SELECT i AS id, (i * 37 + i // 500 * 3) % 650 AS customer_id,
           TIMESTAMP '2022-01-01' + to_seconds(i * 104729 % 94000000) AS ordered_at,
           ['placed', 'paid', 'shipped', 'shipped', 'returned', 'cancelled'][1 + i % 6] AS status,
           ['web', 'app', 'store', 'web'][1 + i // 3 % 4] AS channel,
           ['SPRING24', NULL, 'VIP', NULL, 'spring24'][1 + i % 5] AS coupon, (i * 5 % 40)::INT AS discount_pct
           FROM range(2500) t(i)""",
        """CREATE TABLE items AS SELECT i * 3 % 2500 AS order_id, (1 + i * 7 % 12)::INT AS product_id,
           (1 + i % 4)::INT AS quantity,
           ((199 + i * 331 % 40000) / 100.0)::DOUBLE AS unit_price FROM range(5000) t(i)""",
        """CREATE TABLE products AS SELECT i::INT AS product_id, 'Product ' || i AS name,
           ['Shoes', 'Hats', 'Bags'][1 + i % 3] AS category, (10 + i * 5)::INT AS list_price FROM range(1, 13) t(i)""",
        "CREATE TABLE fx AS SELECT * FROM (VALUES ('CH', 1.0), ('DE', 0.95), ('FR', 0.95)) AS v(country, rate)",
    ),
    "transit": (
        """CREATE TABLE cards AS SELECT i AS id, ['adult', 'student', 'adult', 'senior', 'child'][1 + i % 5] AS kind,
           DATE '2018-01-01' + (i * 31 % 2500)::INT AS issued_on FROM range(500) t(i)""",
        """CREATE TABLE taps AS SELECT i AS id, i * 7 % 480 AS card_id,
           TIMESTAMP '2024-01-01' + to_seconds(i * 15485 % 31000000) AS tapped_at, (1 + i * 3 % 8)::INT AS stop_id,
           ['U1', 'U2', 'U3', 'B10', 'B20', 'U1'][1 + i % 6] AS line, i // 2 % 2 = 0 AS inbound,
           ([2.6, 4.2, 0, 3.1][1 + i % 4])::DOUBLE AS fare,
           (i * 53 % 1500 - 200)::INT AS delay_s FROM range(6000) t(i)""",
        """CREATE TABLE stops AS SELECT i::INT AS stop_id, ['Main', 'Harbour', 'Museum', 'Park', 'Zoo', 'Airport',
           'Mill',
           'Hill'][i] AS name, [1, 1, 1, 2, 2, 3, 2, 3][i]::INT AS zone, 47.0 + i * 0.01 AS lat, 8.0 + i * 0.02 AS lon
           FROM range(1, 9) t(i)""",
        """CREATE TABLE lines AS SELECT * FROM (VALUES ('U1', 'metro', 800), ('U2', 'metro', 800), ('U3', 'metro', 600),
           ('B10', 'bus', 90), ('B20', 'bus', 90)) AS v(line, mode, capacity)""",
        """CREATE TABLE weather AS SELECT DATE '2024-01-01' + i::INT AS day, (i * 7 % 13)::INT AS rain_mm,
           (i * 11 % 30 - 5)::INT AS temp FROM range(366) t(i)""",
    ),
    "bank": (
        """CREATE TABLE clients AS SELECT i AS id, DATE '2005-01-01' + (i * 31 % 7000)::INT AS opened_on,
           ['Zürich', 'Basel', 'Genève', 'zürich', NULL][1 + i % 5] AS city,
           ['low', 'low', 'medium', 'high'][1 + i % 4] AS risk, (20000 + i * 9973 % 150000)::INT AS income,
           i % 9 <> 0 AS kyc_ok FROM range(500) t(i)""",
        """CREATE TABLE transactions AS SELECT i AS id, (i * 7 + i // 500) % 490 AS client_id,
           TIMESTAMP '2023-01-01' + to_seconds(i * 15485 % 62000000) AS booked_at,
           ((i * 7919 % 400000 - 250000) / 100.0)::DOUBLE AS amount, ['CHF', 'EUR', 'CHF',
           'USD'][1 + i % 4] AS currency,
           [5411, 5812, 4111, 6011, 5999][1 + i % 5]::INT AS mcc,
           ['COOP-1234 Basel', 'MIGROS ZH', 'SBB CFF FFS', 'Amazon *Mktp', 'PayPal *Uber'][1 + i // 2 % 5] AS merchant,
           ['CH', 'CH', 'DE', 'US', NULL][1 + i % 5] AS country, i % 41 = 0 AS is_fraud,
           ['card', 'transfer', 'card', 'cash'][1 + i // 5 % 4] AS method FROM range(6000) t(i)""",
        """CREATE TABLE mcc_codes AS SELECT * FROM (VALUES (5411, 'Groceries'), (5812, 'Restaurants'), (4111,
           'Transport'),
           (6011, 'ATM'), (5999, 'Misc')) AS v(mcc, label)""",
        "CREATE TABLE rates AS SELECT * FROM (VALUES ('CHF', 1.0), ('EUR', 0.95), ('USD', 0.9)) AS v(currency, chf)",
    ),
    "staff": (
        """CREATE TABLE employees AS SELECT i AS id, ['Sales', 'R&D', 'Ops', 'HR', 'Finance', 'Ops'][1 + i % 6] AS dept,
           DATE '1995-01-01' + (i * 31 % 10500)::INT AS hired_on,
           CASE WHEN i % 6 = 5 THEN DATE '2020-01-01' + (i * 37 % 1700)::INT END AS left_on,
           ['f', 'm', 'm', 'f', 'd'][1 + i % 5] AS gender, (1 + i * 3 % 10)::INT AS grade,
           (35000 + i * 9973 % 120000)::INT AS salary, ([1, 1, 0.8, 0.5])[1 + i % 4]::DOUBLE AS fte,
           ['Bern', 'Zug', 'bern', NULL][1 + i // 2 % 4] AS site FROM range(500) t(i)""",
        """CREATE TABLE absences AS SELECT i AS id, i * 7 % 480 AS employee_id,
           ['sick', 'vacation', 'sick', 'parental', 'other'][1 + i % 5] AS kind,
           DATE '2022-01-01' + (i * 37 % 1050)::INT AS from_day,
           CASE WHEN i % 23 <> 0 THEN DATE '2022-01-01' + (i * 37 % 1050 + i * 11 % 19)::INT END AS to_day
           FROM range(2500) t(i)""",
        """CREATE TABLE reviews AS SELECT i % 490 AS employee_id, (2020 + i // 490)::INT AS year,
           ((10 + i * 7 % 41) / 10.0)::DOUBLE AS score FROM range(2450) t(i)""",
        """CREATE TABLE departments AS SELECT * FROM (VALUES ('Sales', 'Bern', 90), ('R&D', 'Zug', 80), ('Ops',
           'Bern', 170),
           ('HR', 'Zug', 85), ('Finance', 'Bern', 84)) AS v(dept, location, plan_headcount)""",
        """CREATE TABLE calendar AS SELECT DATE '2022-01-01' + i::INT AS day,
           dayofweek(DATE '2022-01-01' + i::INT) IN (0, 6) AS weekend
           FROM range(1096) t(i)""",
    ),
}


def office(name: str, *, caps: dict[str, int] = _WIDE, left_out: tuple[str, ...] = ()) -> World:
    """One of the offices."""
    return world_with(PRIVATE[name], PUBLIC[name], [*FILLED[name], *left_out], caps=caps)


def without(name: str, who: int) -> tuple[str, ...]:
    """The statements that take one unit out of an office, with all that is linked to it."""
    left_out = {
        "insurer": (
            "encounters WHERE member_id = {0}",
            "prescriptions WHERE member_id = {0}",
            "members WHERE id = {0}",
        ),
        "shop": (
            "items WHERE order_id IN (SELECT id FROM orders WHERE customer_id = {0})",
            "orders WHERE customer_id = {0}",
            "customers WHERE id = {0}",
        ),
        "transit": ("taps WHERE card_id = {0}", "cards WHERE id = {0}"),
        "bank": ("transactions WHERE client_id = {0}", "clients WHERE id = {0}"),
        "staff": ("absences WHERE employee_id = {0}", "reviews WHERE employee_id = {0}", "employees WHERE id = {0}"),
    }
    return tuple(f"DELETE FROM {each.format(who)}" for each in left_out[name])
