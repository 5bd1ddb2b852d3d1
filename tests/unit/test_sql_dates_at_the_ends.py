"""No date that a column can hold makes a question fail: neither the row itself, nor what an optimiser makes of it.

DuckDB works functions out of a column's least and greatest cell while it plans. A cell that a CASE holds off from them
is in those two all the same.
"""

from __future__ import annotations

import re

import duckdb
import pytest

from conformance import sql_dates
from conformance.sql_world import policy_of, world
from tacit.errors import TacitError
from tacit.policy import ColumnPolicy, TablePolicy
from tacit.sql.expressions.dates import instant_numbers

ENDS = (
    ("'5877642-06-25 (BC)'", "'290309-12-22 (BC) 00:00:00'"),
    ("'5881580-07-10'", "'294247-01-10 04:00:54.775806'"),
    ("'2020-02-29'", "'2020-02-29 12:00:00'"),
)
ENDLESS = (("'-infinity'", "'-infinity'"), ("'infinity'", "'infinity'"), ENDS[2])
LEAVES = ("d", "e", "tb", "ts", "tz")
FORMS = (
    *(f"COUNT(DISTINCT {moment}) FROM t" for moment in sql_dates.MOMENTS),
    *(f"SUM({number}) FROM t" for number in sql_dates.NUMBERS),
    *(f"COUNT(*) FROM t WHERE {number} > 3" for number in sql_dates.NUMBERS),
    *(f"COUNT(*) FROM t WHERE {condition}" for condition in sql_dates.CONDITIONS),
    *(f"{key}, COUNT(*) FROM t GROUP BY 1" for key in sql_dates.KEYS),
    *(f"{aggregate} FROM t" for aggregate in sql_dates.AGGREGATES),
)


@pytest.fixture(scope="module")
def people():
    """A table with a row at either end of every type, and a plain one."""
    bounded = {"lower": "2020-01-01", "upper": "2020-03-31"}
    stamps = {"lower": "2020-01-01T00:00:00", "upper": "2020-03-31T00:00:00"}
    columns = [
        ColumnPolicy("m", lower=0, upper=5, step=1),
        ColumnPolicy("n", lower=0, upper=5, step=1),
        ColumnPolicy("d", type="date", **bounded),
        ColumnPolicy("e", type="date"),
        ColumnPolicy("tb", type="timestamp", **stamps),
        ColumnPolicy("ts", type="timestamp"),
        ColumnPolicy("tz", type="timestamp", **stamps),
    ]
    return world(policy_of([TablePolicy("t", "uid", columns=columns, max_rows=2, max_groups=2)]), *made_of(ENDS))


def made_of(ends):
    """The table, of so many rows."""
    columns = "uid INTEGER, m INTEGER, n BIGINT, d DATE, e DATE, tb TIMESTAMP, ts TIMESTAMP, tz TIMESTAMPTZ"
    rows = [f"({i}, {i}, {i}, {d}, {d}, {at}, {at}, {at})" for i, (d, at) in enumerate(ends)]
    return f"CREATE TABLE t ({columns})", f"INSERT INTO t VALUES {', '.join(rows)}"


@pytest.fixture(scope="module")
def others(tmp_path_factory):
    """The same table elsewhere: with cells that have no end, of one row, and as files whose groups have statistics."""
    made = []
    for place, ends in enumerate((ENDLESS, ENDLESS[:1], ENDLESS[1:2], ENDS[:1], ENDS[1:2])):
        for stored in ("table", "file"):
            connection = duckdb.connect()
            connection.execute("SET TimeZone = 'UTC'")
            for statement in made_of(ends):
                connection.execute(statement)
            if stored == "file":
                file = tmp_path_factory.mktemp("ends") / f"{place}.parquet"
                connection.execute(f"COPY t TO '{file}' (FORMAT parquet)")
                connection.execute(f"DROP TABLE t; CREATE VIEW t AS SELECT * FROM read_parquet('{file}')")
            made.append(connection)
    yield made
    for connection in made:
        connection.close()


def failures(over, texts, others=()):
    """What DuckDB says to the plans; nothing where a question is refused to everybody. And how many were planned."""
    found, planned = [], 0
    for text in texts:
        try:
            statements = over.plan(f"DP-SELECT 1 DELTA 1e-6 {text}").statements
        except TacitError:
            continue
        planned += 1
        for statement in statements:
            for connection in (over.engine._connection.cursor(), *others):
                try:  # every cell is looked at, and none taken out: Python has no such dates
                    sql = f"SELECT SUM(HASH(every)::HUGEINT) FROM ({statement.sql('duckdb')}) AS every"
                    connection.execute(sql).fetchall()
                except duckdb.Error as error:
                    found.append(f"{text}: {error}")
    return found, planned


def written():
    """Every form over one of the columns in turn, beside numbers and conditions that are plain."""
    for place, form in enumerate(FORMS):
        signs = {"@": LEAVES[place % len(LEAVES)], "#": "m", "§": "m > 2", "†": "2147483648"}
        yield re.sub("[@#§†]", lambda sign, signs=signs: signs[sign.group()], form)


def test_a_date_at_the_end_of_its_type_fails_nobody(people, others):
    found, planned = failures(people, written(), others)
    assert found == []
    assert planned > 70  # the questions are questions


def test_a_part_that_an_engine_cannot_make_of_every_date_is_noticed(people, monkeypatch):
    engines_own = lambda instant: instant_numbers._taken("WEEK", instant, 1, 53)  # noqa: E731 - the part as it was
    monkeypatch.setitem(instant_numbers.PARTS, "WEEK", engines_own)
    found, _ = failures(people, ["SUM(EXTRACT(WEEK FROM d)) FROM t"])
    assert found
