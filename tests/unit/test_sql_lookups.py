"""Whose a row is when another table says so: looked up where it must be, and not where it stands beside it."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pytest

from conformance.sql_world import World
from tacit.engines import UNLIMITED
from tacit.engines.duckdb import build
from tacit.engines.sources import Exposed
from tacit.policy import parse_policy

POLICY = """
[dataset]
name = "clinic"
source = "clinic.duckdb"
[budget]
epsilon = 1000
[tables.patients]
unit = "pid"
max_rows = 100
max_groups = 100
[tables.patients.columns]
age = { lower = 0, upper = 120, step = 1 }
[tables.visits]
unit = "pid -> patients.pid"
max_rows = 100
max_groups = 100
[tables.visits.columns]
cost = { lower = 0, upper = 1000, step = 1 }
[tables.tests]
unit = "vid -> visits.vid"
max_rows = 100
max_groups = 100
[tables.tests.columns]
result = { lower = 0, upper = 100, step = 1 }
[tables.notes]
unit = "tid -> tests.tid"
max_rows = 100
max_groups = 100
[tables.notes.columns]
length = { lower = 0, upper = 100, step = 1 }
"""
TABLES = ("patients", "visits", "tests", "notes")


def filled(connection: duckdb.DuckDBPyConnection) -> Exposed:
    connection.execute("CREATE TABLE patients AS SELECT i AS pid, 20 + i * 7 % 60 AS age FROM range(8) t(i)")
    connection.execute(
        "CREATE TABLE visits AS SELECT i AS vid, i * 5 % 9 AS pid, i * 37 % 900 AS cost FROM range(30) t(i)"
    )
    connection.execute(
        "CREATE TABLE tests AS SELECT i AS tid, i * 7 % 32 AS vid, i * 13 % 90 AS result FROM range(90) t(i)"
    )
    connection.execute("CREATE TABLE notes AS SELECT i * 3 % 95 AS tid, i % 50 AS length FROM range(120) t(i)")
    return Exposed(TABLES)


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    made = World(parse_policy(POLICY), build(filled, UNLIMITED))
    yield made
    made.engine.close()


@pytest.fixture(scope="module")
def raw() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        filled(connection)
        for table, key, above in (("tests", "vid", "visits"), ("notes", "tid", "tests")):  # what nobody owns
            connection.execute(f"DELETE FROM {table} WHERE {key} NOT IN (SELECT {key} FROM {above})")
        yield connection


BESIDE = (  # (the question, how often visits and tests are read)
    ("FROM tests t JOIN visits v ON t.vid = v.vid", 1, 1),
    ("FROM tests t JOIN visits v USING (vid)", 1, 1),
    ("FROM visits NATURAL JOIN tests", 1, 1),
    ("FROM tests t, visits v WHERE v.vid = t.vid AND cost > 100", 1, 1),
    ("FROM tests a JOIN tests b ON a.vid = b.vid WHERE a.result < b.result", 1, 2),
    (
        "FROM notes n JOIN tests t ON n.tid = t.tid JOIN visits v ON t.vid = v.vid JOIN patients p ON p.pid = v.pid",
        1,
        1,
    ),
    ("FROM notes n JOIN tests t ON n.tid = t.tid", 1, 1),
    (
        "FROM tests a JOIN tests b ON a.vid = b.vid JOIN visits v ON v.vid = a.vid",
        1,
        2,
    ),  # asked before visits are there
    ("FROM tests a JOIN visits v ON v.vid = a.vid JOIN tests b ON a.vid = b.vid", 1, 2),
    ("FROM tests t JOIN (SELECT vid, cost FROM visits WHERE cost > 50) v ON t.vid = v.vid", 1, 1),
    ("FROM visits v WHERE EXISTS (SELECT 1 FROM tests t WHERE t.vid = v.vid AND t.result > 50)", 1, 1),
    ("FROM visits v WHERE NOT EXISTS (SELECT 1 FROM tests t WHERE t.vid = v.vid AND t.result > v.cost)", 1, 1),
    ("FROM visits v WHERE v.vid IN (SELECT vid FROM tests WHERE result > 30)", 1, 1),
    ("FROM visits v WHERE v.vid IN (SELECT vid FROM tests GROUP BY vid HAVING SUM(result) > 90)", 1, 1),
    ("FROM visits v WHERE cost > (SELECT MAX(t.result) FROM tests t WHERE t.vid = v.vid)", 1, 1),
    ("FROM tests a WHERE EXISTS (SELECT 1 FROM tests b WHERE b.vid = a.vid AND b.result <> a.result)", 1, 2),
)
AGAIN = "SELECT 1 FROM visits z WHERE z.vid = t.vid AND z.cost > 100"
LOOKED_UP = (
    ("FROM tests", 1, 1),
    ("FROM notes", 1, 1),
    ("FROM visits v LEFT JOIN tests t ON t.vid = v.vid", 2, 1),  # a row without tests has no key
    ("FROM tests a LEFT JOIN tests b ON a.vid = b.vid JOIN visits v ON v.vid = a.vid", 3, 2),  # asked before visits
    ("FROM visits v FULL JOIN tests t ON t.vid = v.vid", 2, 1),
    ("FROM visits v WHERE EXISTS (SELECT 1 FROM tests t JOIN notes n ON n.tid = t.tid WHERE t.vid = v.vid)", 2, 1),
    ("FROM patients p WHERE p.pid IN (SELECT v.pid FROM visits v JOIN tests t ON t.vid = v.vid)", 1, 1),
    (f"FROM visits v WHERE EXISTS (SELECT 1 FROM tests t WHERE t.vid = v.vid AND EXISTS ({AGAIN}))", 3, 1),
)  # fmt: skip


@pytest.mark.parametrize(("body", "visits", "tests"), [*BESIDE, *LOOKED_UP])
def test_an_owner_is_looked_up_only_where_it_does_not_stand_beside_the_row(
    body: str, visits: int, tests: int, world: World, raw: duckdb.DuckDBPyConnection
) -> None:
    plan = world.plan(f"DP-SELECT 1000 COUNT(*) {body}")
    text = plan.statements[0].sql("duckdb")
    assert (text.count('"visits"'), text.count('"tests"')) == (visits, tests), text
    (wanted,) = raw.execute(f"SELECT count(*) {body}").fetchall()
    assert world.exact(plan)[0].integers("m0").tolist() == list(wanted)
    assert wanted[0] > 3


CHAIN = """
[dataset]
name = "chain"
source = "chain.duckdb"
[budget]
epsilon = 1000
[tables.people]
unit = "person"
max_rows = 9
[tables.people.columns]
age = { lower = 0, upper = 99, step = 1 }
[tables.cards]
unit = "card -> people.code"
max_rows = 9
[tables.cards.columns]
colour = {}
[tables.trips]
unit = "card -> cards.card"
max_rows = 9
[tables.trips.columns]
miles = { lower = 0, upper = 99, step = 1 }
"""


def test_a_link_to_a_column_that_is_itself_a_link_is_followed_to_the_owner() -> None:
    """trips.card is cards.card, which is people.code: whose it is, people alone say."""

    def fill(connection: duckdb.DuckDBPyConnection) -> Exposed:
        connection.execute("CREATE TABLE people AS SELECT i % 2 AS person, i AS code, 30 AS age FROM range(6) t(i)")
        connection.execute("CREATE TABLE cards AS SELECT i AS card, 'red' AS colour FROM range(6) t(i)")
        connection.execute("CREATE TABLE trips AS SELECT i % 6 AS card, i AS miles FROM range(60) t(i)")
        return Exposed(("people", "cards", "trips"))

    world = World(parse_policy(CHAIN), build(fill, UNLIMITED))
    for body in ("COUNT(*) FROM trips", "COUNT(*) FROM trips t JOIN cards c ON t.card = c.card"):
        plan = world.plan(f"DP-SELECT 1000 {body}")
        assert '"people"' in plan.statements[0].sql("duckdb")
        assert world.exact(plan)[0].integers("m0").tolist() == [
            18
        ]  # nine of each of two people, not of each of six cards
    world.engine.close()
