"""Four firms with tables of their own: a grocer, a metro, a campus and a utility."""

from __future__ import annotations

from conformance.sql_lists import day, listed, number, time, world_with
from conformance.sql_world import World
from tacit.policy import ColumnPolicy

_WIDE = {"max_groups": 150, "max_rows": 90, "max_distinct": 90}  # nobody here has more: bounding takes nothing
_free = ColumnPolicy  # neither bounds nor a list


def _time(name: str) -> ColumnPolicy:
    return time(name, "2023-01-01", "2025-01-01 23:59:59")


PRIVATE = {
    "grocer": {
        "members": ("member_id", [
            day("joined_on", "2022-01-01", "2024-12-31"), listed("tier", "basic", "silver", "gold"),
            number("birth_year", 1930, 2010), _free("home_shop"), _free("newsletter"), _free("city")]),
        "receipts": ("member_id -> members.member_id", [
            _time("bought_at"), _free("shop_id"), number("total", 0, 500, "0.01"),
            listed("payment", "card", "cash", "app"), _free("coupon"), _free("receipt_id")]),
        "items": ("receipt_id -> receipts.receipt_id", [
            _free("sku"), number("qty", 0, 24), number("price", 0, 100, "0.01"), number("discount", 0, 1, "0.01")]),
    },
    "metro": {
        "cards": ("card_id", [
            listed("kind", "adult", "student", "senior"), day("issued_on", "2020-01-01", "2024-12-31"),
            number("zone", 1, 4)]),
        "rides": ("card_id -> cards.card_id", [
            _time("tap_in"), _time("tap_out"), listed("line", "U1", "U2", "U3", "U4"), _free("origin"),
            _free("destination"), number("fare", 0, 20, "0.05"), number("delay_s", -60, 3600)]),
        "topups": ("card_id -> cards.card_id", [
            _time("paid_at"), number("amount", 0, 200, "0.05"), listed("channel", "web", "kiosk", "app")]),
    },
    "campus": {
        "students": ("student_id", [
            day("enrolled_on", "2019-01-01", "2024-12-31"), listed("degree", "BSc", "MSc", "PhD"),
            day("born", "1980-01-01", "2006-12-31"), _free("international"), _free("country")]),
        "exams": ("student_id -> students.student_id", [
            _free("course"), day("taken_on", "2021-01-01", "2024-12-31"), number("grade", 1, 6, "0.25"),
            number("attempt", 1, 4)]),
        "logins": ("student_id -> students.student_id", [
            _time("at"), number("pages", 0, 300), listed("device", "phone", "laptop", "lab")]),
    },
    "utility": {
        "customers": ("customer_id", [
            listed("contract", "green", "fixed", "flex"), _free("postcode"), day("since", "2015-01-01", "2024-12-31"),
            day("ended", "2015-01-01", "2024-12-31"), _free("heat_pump")]),
        "bills": ("customer_id -> customers.customer_id", [
            day("issued_on", "2022-01-01", "2024-12-31"), number("kwh", 0, 5000), number("amount", 0, 2000, "0.01"),
            day("paid_on", "2022-01-01", "2025-12-31"), _free("method")]),
        "calls": ("customer_id -> customers.customer_id", [
            _time("called_at"), listed("reason", "outage", "billing", "moving", "other"), number("minutes", 0, 120),
            _free("solved")]),
    },
}  # fmt: skip
PUBLIC = {
    "grocer": ("shops", "products", "holidays"),
    "metro": ("stations", "metro_lines", "tariffs"),
    "campus": ("courses", "semesters"),
    "utility": ("regions", "tariff_prices"),
}
FILLED = {
    "grocer": (
        """CREATE TABLE members AS SELECT (i + 1)::BIGINT AS member_id, DATE '2022-01-03' + (i * 37 % 1000)::INT AS
           joined_on, ['basic', 'silver', 'basic', 'gold'][1 + i % 4] AS tier, (1940 + i * 13 % 66)::INT AS birth_year,
           (1 + i * 3 % 6)::INT AS home_shop, i % 3 = 0 AS newsletter,
           ['Basel', 'basel ', 'Bern', 'Chur', NULL][1 + i // 2 % 5] AS city FROM range(500) t(i)""",
        """CREATE TABLE receipts AS SELECT i::BIGINT AS receipt_id, (1 + i * 7 % 470)::BIGINT AS member_id,
           TIMESTAMP '2023-01-01' + to_seconds(i * 48611 % 63000000) AS bought_at, (1 + i * 5 % 6)::INT AS shop_id,
           ((i * 7919 % 18000) / 100)::DECIMAL(10, 2) AS total, ['card', 'cash', 'app', 'card'][1 + i // 5 % 4] AS
           payment, ['WELCOME10', NULL, 'spring24', NULL, 'Spring24'][1 + i % 5] AS coupon FROM range(4000) t(i)""",
        """CREATE TABLE items AS SELECT i * 3 % 4000 AS receipt_id,
           ['A-100', 'A-200', 'B-100', 'C-300', 'B-200'][1 + (i + i // 4000) % 5] AS sku, (1 + i * 5 % 9)::INT AS qty,
           ((i * 331 % 4000) / 100)::DECIMAL(8, 2) AS price, ((i % 4) / 10.0)::DOUBLE AS discount
           FROM range(8000) t(i)""",
        """CREATE TABLE shops AS SELECT i::INT AS shop_id, ['Rhine', 'Mill', 'Gate', 'Old Town', 'Lake', 'Hill'][i] AS
           name, ['Basel', 'Basel', 'Bern', 'Bern', 'Chur', 'Chur'][i] AS city,
           ['north', 'north', 'west', 'west', 'east', 'east'][i] AS region,
           DATE '2019-03-01' + (i * 300)::INT AS opened_on, (200 + i * 50)::INT AS area FROM range(1, 7) t(i)""",
        """CREATE TABLE products AS SELECT * FROM (VALUES ('A-100', 'Apples', 'fruit', 'Bio', 3.50),
           ('A-200', 'Avocado', 'fruit', 'Sol', 2.20), ('B-100', 'Bread', 'bakery', 'Korn', 4.10),
           ('B-200', 'Brioche', 'bakery', 'Korn', 5.90), ('C-300', 'Cheese', 'dairy', 'Alp', 12.40))
           AS v(sku, title, category, brand, list_price)""",
        """CREATE TABLE holidays AS SELECT * FROM (VALUES (DATE '2023-08-01', 'National day'),
           (DATE '2023-12-25', 'Christmas'), (DATE '2024-08-01', 'National day'), (DATE '2024-12-25', 'Christmas'))
           AS v(day, label)""",
    ),
    "metro": (
        """CREATE TABLE cards AS SELECT i AS card_id, ['adult', 'student', 'adult', 'senior'][1 + i % 4] AS kind,
           DATE '2020-01-06' + (i * 41 % 1700)::INT AS issued_on, (1 + i * 3 % 4)::INT AS zone FROM range(450) t(i)""",
        """CREATE TABLE rides AS SELECT i * 11 % 430 AS card_id,
           TIMESTAMP '2023-01-01 05:00:00' + to_seconds(i * 35311 % 63000000) AS tap_in,
           CASE WHEN i % 17 <> 0 THEN TIMESTAMP '2023-01-01 05:00:00' + to_seconds(i * 35311 % 63000000 + 180 + i * 61
           % 5000) END AS tap_out, ['U1', 'U2', 'U3', 'U1', 'U4'][1 + i % 5] AS line, (1 + i * 3 % 8)::INT AS origin,
           (1 + i * 5 % 8)::INT AS destination, ((i * 7 % 120) / 20)::DECIMAL(6, 2) AS fare,
           CASE WHEN i % 23 <> 0 THEN (i * 53 % 1200 - 60)::INT END AS delay_s FROM range(6000) t(i)""",
        """CREATE TABLE topups AS SELECT i * 13 % 440 AS card_id,
           TIMESTAMP '2023-01-02 08:00:00' + to_seconds(i * 90001 % 62500000) AS paid_at,
           ((200 + i * 77 % 1800) / 20)::DECIMAL(6, 2) AS amount, ['web', 'kiosk', 'app'][1 + i // 2 % 3] AS channel
           FROM range(1700) t(i)""",
        """CREATE TABLE stations AS SELECT i::INT AS station_id, ['Airport', 'Bridge', 'Castle', 'Dock', 'Expo',
           'Forum', 'Garden', 'Harbour'][i] AS name, [4, 1, 1, 2, 3, 1, 2, 3][i]::INT AS zone, i % 2 = 0 AS lift
           FROM range(1, 9) t(i)""",
        """CREATE TABLE metro_lines AS SELECT * FROM (VALUES ('U1', 'red', 'Main Works'), ('U2', 'blue', 'Main Works'),
           ('U3', 'green', 'City Rail'), ('U4', 'grey', 'City Rail')) AS v(line, colour, operator)""",
        """CREATE TABLE tariffs AS SELECT * FROM (VALUES ('adult', DATE '2023-01-01', DATE '2023-12-31', 2.60),
           ('adult', DATE '2024-01-01', DATE '2024-12-31', 2.80), ('student', DATE '2023-01-01', DATE '2023-12-31',
           1.80), ('student', DATE '2024-01-01', DATE '2024-12-31', 1.90), ('senior', DATE '2023-01-01', DATE
           '2023-12-31', 2.00), ('senior', DATE '2024-01-01', DATE '2024-12-31', 2.10))
           AS v(kind, valid_from, valid_to, price)""",
    ),
    "campus": (
        """CREATE TABLE students AS SELECT i AS student_id, DATE '2019-02-01' + (i * 31 % 2000)::INT AS enrolled_on,
           ['BSc', 'MSc', 'BSc', 'PhD'][1 + i % 4] AS degree, DATE '1985-01-01' + (i * 7919 % 7600)::INT AS born,
           i % 5 = 0 AS international, ['CH', 'ch', 'DE', 'IT', NULL, 'Ch '][1 + i // 3 % 6] AS country
           FROM range(480) t(i)""",
        """CREATE TABLE exams AS SELECT i * 7 % 470 AS student_id, ['MATH1', 'MATH2', 'PHYS1', 'CHEM1', 'LAW1']
           [1 + (i + i // 470) % 5] AS course, DATE '2021-01-15' + (i * 37 % 1430)::INT AS taken_on,
           CASE WHEN i % 29 <> 0 THEN ((4 + i * 11 % 21) / 4.0)::DOUBLE END AS grade, (1 + i // 11 % 3)::INT AS attempt
           FROM range(3600) t(i)""",
        """CREATE TABLE logins AS SELECT i * 3 % 460 AS student_id,
           TIMESTAMP '2023-01-01 06:00:00' + to_seconds(i * 23027 % 63000000) AS at, (i * 17 % 80)::INT AS pages,
           ['phone', 'laptop', 'lab', 'laptop'][1 + i // 3 % 4] AS device FROM range(5500) t(i)""",
        """CREATE TABLE courses AS SELECT * FROM (VALUES ('MATH1', 'Analysis', 'Science', 6), ('MATH2', 'Algebra',
           'Science', 6), ('PHYS1', 'Mechanics', 'Science', 8), ('CHEM1', 'Chemistry', 'Life', 4), ('LAW1', 'Torts',
           'Law', 3)) AS v(code, title, faculty, ects)""",
        """CREATE TABLE semesters AS SELECT * FROM (VALUES ('HS22', DATE '2022-09-01', DATE '2023-01-31'),
           ('FS23', DATE '2023-02-01', DATE '2023-08-31'), ('HS23', DATE '2023-09-01', DATE '2024-01-31'),
           ('FS24', DATE '2024-02-01', DATE '2024-08-31')) AS v(semester, starts, ends)""",
    ),
    "utility": (
        """CREATE TABLE customers AS SELECT i AS customer_id, ['green', 'fixed', 'flex', 'fixed'][1 + i % 4] AS
           contract, ['4051', '3011', '7000', '4057', NULL][1 + i * 3 % 5] AS postcode,
           DATE '2015-02-01' + (i * 43 % 3300)::INT AS since,
           CASE WHEN i % 5 = 0 THEN DATE '2015-02-01' + (i * 43 % 3300 + i % 250)::INT END AS ended,
           i % 3 = 0 AS heat_pump FROM range(460) t(i)""",
        """CREATE TABLE bills AS SELECT i % 450 AS customer_id,
           make_date((2022 + i // 1800)::INT, (1 + 3 * (i // 450 % 4))::INT, 5) AS issued_on,
           (150 + i * 331 % 2400)::INT AS kwh, ((4000 + i * 7919 % 60000) / 100)::DECIMAL(10, 2) AS amount,
           CASE WHEN i % 12 <> 0 THEN make_date((2022 + i // 1800)::INT, (1 + 3 * (i // 450 % 4))::INT, 5)
           + (i * 13 % 75)::INT END AS paid_on, ['eBill', 'paper', 'ebill', NULL][1 + i // 7 % 4] AS method
           FROM range(5400) t(i)""",
        """CREATE TABLE calls AS SELECT i * 7 % 440 AS customer_id,
           TIMESTAMP '2023-01-01 07:30:00' + to_seconds(i * 77773 % 62800000) AS called_at,
           ['outage', 'billing', 'other', 'moving', 'billing'][1 + i // 2 % 5] AS reason, (i * 19 % 60)::INT AS minutes,
           i % 4 <> 0 AS solved FROM range(1300) t(i)""",
        """CREATE TABLE regions AS SELECT * FROM (VALUES ('4051', 'Basel', 'BS'), ('4057', 'Basel', 'BS'),
           ('3011', 'Bern', 'BE'), ('7000', 'Chur', 'GR')) AS v(postcode, town, canton)""",
        """CREATE TABLE tariff_prices AS SELECT y::INT AS year, c AS contract, (20 + y - 2022 + length(c))::INT AS cents
           FROM range(2022, 2025) t(y), (VALUES ('green'), ('fixed'), ('flex')) AS v(c)""",
    ),
}
_LINKED = {
    "grocer": ("items WHERE receipt_id IN (SELECT receipt_id FROM receipts WHERE member_id = {0})",
               "receipts WHERE member_id = {0}", "members WHERE member_id = {0}"),
    "metro": ("rides WHERE card_id = {0}", "topups WHERE card_id = {0}", "cards WHERE card_id = {0}"),
    "campus": ("exams WHERE student_id = {0}", "logins WHERE student_id = {0}", "students WHERE student_id = {0}"),
    "utility": ("bills WHERE customer_id = {0}", "calls WHERE customer_id = {0}", "customers WHERE customer_id = {0}"),
}  # fmt: skip


def firm(name: str, *, caps: dict[str, int] = _WIDE, left_out: tuple[str, ...] = ()) -> World:
    """One of the firms."""
    return world_with(PRIVATE[name], PUBLIC[name], [*FILLED[name], *left_out], caps=caps)


def without(name: str, who: int) -> tuple[str, ...]:
    """The statements that take one unit out of a firm, with all that is linked to it."""
    return tuple(f"DELETE FROM {each.format(who)}" for each in _LINKED[name])
