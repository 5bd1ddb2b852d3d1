"""No row can make generated arithmetic overflow: an engine that fails on a row tells that the row is there."""

from __future__ import annotations

import itertools
from fractions import Fraction

import duckdb
import pytest

from conformance.sql_questions import EDGES, Rng, question
from conformance.sql_ranges import Unproved, prove
from conformance.sql_relational import family
from conformance.sql_tables import random_table
from conformance.sql_world import policy_of, world
from tacit.errors import TacitError
from tacit.policy import ColumnPolicy, TablePolicy
from tacit.sql.emitting import postgres_words
from tacit.sql.expressions.numeric import arithmetic
from tacit.sql.expressions.numeric.arithmetic import Width

DIALECTS = ("duckdb", "postgres", "spark")
BOB = "CASE WHEN name = 'Bob' AND ill THEN {0} WHEN 1 = 0 THEN -{0} ELSE 0 END"
FRACTIONS = ("1.073741823", "2.147483647", "4611686018.427387903", "9223372036.854775807", "0.1073741823", "1e-30")
ROUNDED = ("FLOOR({})", "CEIL({})", "ROUND({})", "ROUND({}, 1)", "ABS(FLOOR({}))", "ABS({}) % 0.7", "-({})")
POSITIONS = (
    "SUM({0}) FROM t",
    "COUNT(*) FROM t WHERE {0} > 0",
    "COUNT(*) FILTER (WHERE {0} = 1) FROM t",
    "COUNT(DISTINCT {0}) FROM t",
    "AVG(CASE WHEN {0} > 0 THEN 1 ELSE 0 END) FROM t",
    "SUM(COALESCE({0}, 1)) FROM t",
    "{0}, COUNT(*) FROM t GROUP BY 1",
    "COUNT(*) FROM (SELECT uid, SUM({0}) AS v FROM t GROUP BY uid) AS q WHERE v > 0",
)


@pytest.fixture(scope="module")
def people():
    columns = [
        ColumnPolicy("name"),
        ColumnPolicy("ill"),
        ColumnPolicy("bal", lower=-1_000_000, upper=1_000_000, step=1),
    ]
    return world(
        policy_of([TablePolicy("t", "uid", columns=columns, max_rows=2, max_groups=2)]),
        "CREATE TABLE t (uid INTEGER, name VARCHAR, ill BOOLEAN, bal BIGINT)",
        "INSERT INTO t VALUES (1, 'Bob', TRUE, 1000001), (2, 'Ann', FALSE, -1000001), (3, 'Cem', NULL, NULL)",
    )


def failures(over, text):
    """What DuckDB says to the plan of a question; nothing where it is refused to everybody."""
    try:
        made = over.plan(text)
    except TacitError:
        return []
    found = []
    for statement in made.statements:
        try:
            over.engine._connection.cursor().execute(statement.sql("duckdb")).fetchall()
        except duckdb.Error as error:
            found.append(f"{text}: {error}")
    return found


@pytest.mark.parametrize("position", POSITIONS)
def test_a_constant_at_the_edge_of_a_type_fails_for_nobody(people, position):
    start = POSITIONS.index(position)
    values = [BOB.format(edge) for edge in FRACTIONS] + [f"bal / {edge}" for edge in (*EDGES, "1e30")][start::8]
    texts = [form.format(value) for form in ROUNDED for value in values]
    asked = [f"DP-SELECT 1 DELTA 1e-6 {position.format(text)}" for text in texts]
    assert [found for text in asked for found in failures(people, text)] == []


def test_the_very_questions_that_told_whether_bob_is_ill_are_answered(people):
    first = people.plan(f"DP-SELECT 1 SUM(FLOOR({BOB.format('1.073741823')})) FROM t")
    assert [exact.integers("m0").tolist() for exact in people.exact(first)] == [[1]]
    other = people.plan("DP-SELECT 1 SUM(FLOOR(bal / 9223372036854775807)) FROM t")
    assert [exact.integers("m0").tolist() for exact in people.exact(other)] == [[-1]]


# ── rounding ─────────────────────────────────────────────────────────────────────────────────────────────────────────


HALVES = ("-2.5", "-1.5", "-0.5", "-0.25", "0", "0.25", "0.5", "1.5", "2.5", "NULL")


@pytest.mark.parametrize(
    ("bounds", "form"),
    [
        (("-3", "3", "0.25"), "ROUND(x)"),
        (("-3", "3", "0.25"), "ROUND(x / 5, 1)"),
        (("-3", "3", "0.25"), "ROUND(x * 10, -1)"),
        (("-3", "0", "0.25"), "ROUND(x)"),
        (("0", "3", "0.25"), "ROUND(x)"),
        (("-3", "3", "0.25"), "ROUND(ROUND(x * 4) / 8)"),
        (("-3", "3", "0.25"), "ROUND(x / 3)"),
        (("-3", "3", "0.25"), "ROUND(-2.5)"),
        (("-3", "3", "0.25"), "ROUND(CASE WHEN x < 0 THEN -2.5 ELSE 2.5 END)"),
    ],
)
def test_halves_are_rounded_away_from_zero_as_duckdb_itself_does(bounds, form):
    low, high, step = bounds
    over = world(
        policy_of([TablePolicy("t", "row", columns=[ColumnPolicy("x", lower=low, upper=high, step=step)])]),
        "CREATE TABLE t (x DECIMAL(8,4))",
        f"INSERT INTO t VALUES {', '.join(f'({cell})' for cell in HALVES)}",
    )
    made = over.plan(f"DP-SELECT 1 SUM({form}) FROM t")
    held = f"GREATEST(LEAST(x, {high}), {low})"
    truth = form.replace("x", f"(CASE WHEN x IS NOT NULL THEN {held} END)")
    (wanted,) = over.engine._connection.cursor().execute(f"SELECT SUM({truth}) FROM t").fetchone()
    (exact,) = over.exact(made)
    assert exact.integers("m0").tolist()[0] * made.measurements[0].measure.step == pytest.approx(Fraction(str(wanted)))


# ── what each node can be ────────────────────────────────────────────────────────────────────────────────────────────


LONGEST = 100_000  # characters of a query: one in a hundred has more, and is looked at where there is time


def unproved(table, rng, *, questions, longest=LONGEST):
    """The nodes that can overflow, over so many questions and all dialects."""
    schema = table.world.engine.schema()
    by_row = table.world.policy.tables[0].unit_column is None
    found = []
    while questions:
        text = question(rng, by_row=by_row)
        try:
            statements = [(statement.sql(d), d) for d in DIALECTS for statement in table.world.plan(text).statements]
        except TacitError:  # refused, before anything is charged
            continue
        if max(len(sql) for sql, _ in statements) > longest:
            continue
        questions -= 1
        for sql, dialect in statements:
            try:
                assert prove(sql, dialect, schema) > 1
            except Unproved as error:
                found.append(f"{text}: {error}")
    return found


@pytest.mark.parametrize("seed", [1, 101, 201, 301])
def test_no_node_of_a_generated_query_can_leave_its_type(seed):
    rng = Rng(seed)
    table = random_table(rng, rows=3, units=2)
    assert unproved(table, rng, questions=12) == []


@pytest.mark.heavy
@pytest.mark.parametrize("seed", range(403, 408))
def test_no_node_of_many_more_generated_queries_can_leave_its_type(seed):
    rng = Rng(seed)
    table = random_table(rng, rows=3, units=2)
    assert unproved(table, rng, questions=20, longest=10**9) == []


RELATIONAL = (
    """
SELECT SUM(spent) FROM (SELECT person, SUM(total) AS spent FROM orders GROUP BY person) AS q WHERE spent / 7 > 3
SELECT AVG(mean), COUNT(*) FROM (SELECT person, AVG(total) AS mean FROM orders GROUP BY person) AS q
SELECT SUM(FLOOR(mean / 9223372036854775807)) FROM (SELECT person, AVG(total / 3) AS mean FROM orders GROUP BY 1) AS q
SELECT SUM(ROUND(total / 1073741823)) FROM orders JOIN people ON person = people.id WHERE age * 2147483647 > total
SELECT COUNT(*) FROM (SELECT person, ROW_NUMBER() OVER (PARTITION BY person ORDER BY total) AS r FROM orders) AS q
    WHERE r * 9223372036854775807 > 2
SELECT SUM(s) FROM (SELECT order_id, SUM(price * 1073741823) OVER (PARTITION BY order_id) AS s FROM items) AS q
SELECT SUM(x) FROM (SELECT person, total AS x FROM orders UNION ALL SELECT person, total FROM notes) AS q
SELECT COUNT(*) FROM orders o WHERE EXISTS (SELECT 1 FROM notes n WHERE n.person = o.person
    AND n.total * 4611686018427387904 > o.total / 3)
SELECT kind, SUM(price), STDDEV(price) FROM items JOIN orders ON order_id = orders.id GROUP BY kind
SELECT MAX(FLOOR(age / 4.3)), SUM(spent * age) FROM spenders
SELECT COUNT(*) FROM people WHERE 3 <= (SELECT COUNT(*) FROM orders WHERE person = people.id)
""".strip()
    .replace("\n    ", " ")
    .split("\n")
)


@pytest.mark.parametrize("bounding", ["sample", "weigh"])
@pytest.mark.parametrize("text", RELATIONAL)
def test_no_node_of_a_query_over_several_tables_can_leave_its_type(text, bounding):
    over = family(1, bounding=bounding).world
    for statement, dialect in itertools.product(
        over.plan(f"DP-{text.replace('SELECT', 'SELECT 1', 1)}").statements, DIALECTS
    ):
        assert prove(statement.sql(dialect), dialect, over.engine.schema()) > 3


def narrow(patch):
    """Every number is taken to fit the narrowest type."""
    patch.setattr(arithmetic, "width_of", lambda *ends: Width.INT)


def never_wider_than_64_bits(patch):
    whole = arithmetic.width_of
    patch.setattr(arithmetic, "width_of", lambda *ends: min(whole(*ends), Width.BIGINT))


def shifted_before_it_is_widened(patch):
    """FLOOR as it once was: what is divided is moved above zero in whatever type it has."""
    add, subtract = arithmetic.add, arithmetic.subtract

    def plain(number, by):
        if by == 0:
            return number
        made = (add if by > 0 else subtract)(number, arithmetic.constant(abs(by)))
        kind = arithmetic.exp.Add if by > 0 else arithmetic.exp.Sub
        sql = kind(this=arithmetic.operand(number.sql), expression=arithmetic.integer(abs(by)))
        return arithmetic.replace(made, sql=sql)

    patch.setattr(arithmetic, "shift", plain)


@pytest.mark.parametrize("planted", [narrow, never_wider_than_64_bits, shifted_before_it_is_widened])
def test_a_node_that_is_not_widened_is_noticed(planted, monkeypatch):
    planted(monkeypatch)
    for seed in range(60):
        rng = Rng(seed)
        if unproved(random_table(rng, rows=1, units=1), rng, questions=8):
            return
    pytest.fail("no node was found that can overflow")


COLUMNS = {"t": {"i": "INTEGER", "b": "BIGINT", "h": "HUGEINT", "d": "DOUBLE", "c": "DECIMAL(18,4)"}}
TOO_NARROW = (
    ("SELECT i + 1 AS x FROM t", DIALECTS),
    ("SELECT -i AS x FROM t", DIALECTS),
    ("SELECT ABS(b) AS x FROM t", DIALECTS),
    ("SELECT CAST(b AS INT) AS x FROM t", DIALECTS),
    ("SELECT CAST(d AS BIGINT) AS x FROM t", DIALECTS),
    ("SELECT CASE WHEN i > 0 THEN 65536 ELSE 1 END * 65536 AS x FROM t", DIALECTS),
    ("SELECT CASE WHEN b < 4611686018427387904 THEN b ELSE 0 END * 2 AS x FROM t", DIALECTS),
    ("SELECT CASE WHEN b > 5 THEN b ELSE 5 END + CASE WHEN b < -5 THEN 0 ELSE 1 END AS x FROM t", DIALECTS),
    ("SELECT SUM(b * b) AS x FROM t", DIALECTS),
    ("SELECT SUM(h) AS x FROM t", ("duckdb",)),
    ("SELECT SUM(CASE WHEN i > 0 THEN 1073741824 ELSE 0 END) AS x FROM t", ("postgres", "spark")),
    ("SELECT b % i AS x FROM t", DIALECTS),
    ("SELECT s.n * 33554432 AS x FROM (SELECT SUM(b) AS n FROM t) AS s WHERE s.n < 100", ("duckdb",)),
    ("SELECT 1 AS x FROM t WHERE EXISTS (SELECT 1 FROM t AS o WHERE o.b + t.b > 0)", DIALECTS),
    ("SELECT COUNT(*) AS n FROM t GROUP BY i * i", DIALECTS),
    ("SELECT i - PMOD(i, 1000) AS x FROM t WHERE i < 0", ("spark",)),
    ("SELECT PMOD(i, 1000) + 2147483000 AS x FROM t WHERE i < 0", ("spark",)),
    ("SELECT (i - i % 1000 - 2000000000) * 15 AS x FROM t WHERE i >= 2000000000", DIALECTS),
)


@pytest.mark.parametrize(("sql", "dialects"), TOO_NARROW)
def test_a_query_that_can_overflow_is_not_proved(sql, dialects):
    for dialect in dialects:
        with pytest.raises(Unproved):
            prove(sql, dialect, COLUMNS)


TOO_SMALL = (  # PostgreSQL fails where a double that is not zero becomes one
    "SELECT d / 2 AS x FROM t",
    "SELECT d / CAST('1e34' AS DOUBLE PRECISION) AS x FROM t",
    "SELECT d * CAST('0.5' AS DOUBLE PRECISION) AS x FROM t",
    "SELECT d * d AS x FROM t",
    "SELECT CASE WHEN ABS(d) < CAST('1e-290' AS DOUBLE PRECISION) THEN 0 ELSE d / 1e34 END AS x FROM t",
    "SELECT (CAST(c AS DOUBLE PRECISION) - CAST(0.3 AS DOUBLE PRECISION)) / 1e300 AS x FROM t",
)


@pytest.mark.parametrize("sql", TOO_SMALL)
def test_a_query_that_can_underflow_is_not_proved_for_postgresql(sql):
    with pytest.raises(Unproved):
        prove(sql, "postgres", COLUMNS)


HELD = (
    "SELECT CASE WHEN ABS(d) < CAST('1e-260' AS DOUBLE PRECISION) THEN 0 ELSE d / 1e34 END AS x FROM t",
    "SELECT d * CAST(i AS BIGINT) + d * 3 AS x FROM t",
    "SELECT CAST(b AS DOUBLE PRECISION) / CAST('1e280' AS DOUBLE PRECISION) AS x FROM t",
    "SELECT CAST(-(CAST(i AS NUMERIC) - c) AS DOUBLE PRECISION) / 1e290 AS x FROM t",
    "SELECT LN(CASE WHEN d > 1 THEN d ELSE 1 END) / CAST('1e200' AS DOUBLE PRECISION) AS x FROM t WHERE d < 9",
)


@pytest.mark.parametrize("sql", HELD)
def test_a_query_that_cannot_underflow_is_proved_for_postgresql(sql):
    assert prove(sql, "postgres", COLUMNS) > 3


def test_a_quotient_that_is_not_held_away_from_underflow_is_noticed(monkeypatch):
    """The planted bug: only a constant that is written out was seen, and none that is cast."""
    over = world(
        policy_of([TablePolicy("t", "row", columns=[ColumnPolicy("x", lower=0, upper=10**35, step=10**34)])]),
        "CREATE TABLE t (x DOUBLE)",
    )
    text = "DP-SELECT 1 SUM(x) FROM t"
    (statement,) = over.plan(text).statements
    assert prove(statement.sql("postgres"), "postgres", over.engine.schema()) > 3
    monkeypatch.setattr(postgres_words, "_constant", lambda node: float(node.this) if node.is_number else None)
    (statement,) = over.plan(text).statements
    with pytest.raises(Unproved, match="too small"):
        prove(statement.sql("postgres"), "postgres", over.engine.schema())


LONG = (  # AGE in CORR has several hundred thousand letters
    pytest.param(
        "DP-SELECT 1 CORR(EXTRACT(YEAR FROM AGE((d + INTERVAL '1 day'), d)), m) FROM t", marks=pytest.mark.heavy
    ),
    "DP-SELECT 1 SUM(DATE_SUB('year', DATE_TRUNC('quarter', d), tb)) FROM t",
)


@pytest.mark.parametrize("text", LONG)
def test_no_query_is_too_long_to_be_proved(text):
    table = random_table(Rng(2), rows=3, units=2)
    (statement,) = table.world.plan(text).statements
    assert len(statement.sql("spark")) > 15_000
    assert all(prove(statement.sql(dialect), dialect, table.world.engine.schema()) > 100 for dialect in DIALECTS)


UNSIGNED = {"t": {"k": "UTINYINT", "u": "UBIGINT", "w": "UHUGEINT", "h": "HUGEINT", "c": "DECIMAL(38,10)"}}


@pytest.mark.parametrize("column", ["k", "u"])
def test_an_unsigned_column_is_widened_by_duckdb_where_a_constant_is_below_zero(column):
    clamp = f"CASE WHEN t.{column} < -10 THEN -10 WHEN t.{column} > -5 THEN -5 ELSE t.{column} END"
    assert prove(f"SELECT CAST({clamp} AS BIGINT) AS x FROM t", "duckdb", UNSIGNED) > 3


@pytest.mark.parametrize("condition", ["t.w < -5", "t.w > -5 AND t.k = 3", "t.h > 2.5", "t.h = t.c"])
def test_a_comparison_whose_common_type_does_not_hold_both_sides_is_not_proved(condition):
    with pytest.raises(Unproved):
        prove(f"SELECT 1 AS x FROM t WHERE {condition}", "duckdb", UNSIGNED)


@pytest.mark.parametrize("condition", ["w < -5", "h > 2.5", "h = c"])
def test_duckdb_itself_fails_on_such_a_comparison(condition):
    with duckdb.connect() as connection:
        columns = ", ".join(f"{name} {kind}" for name, kind in UNSIGNED["t"].items())
        connection.execute(f"CREATE TABLE t ({columns})")
        connection.execute(f"INSERT INTO t VALUES (1, 1, {(1 << 128) - 1}, {(1 << 127) - 1}, 1)")
        with pytest.raises(duckdb.ConversionException):
            connection.execute(f"SELECT 1 AS x FROM t WHERE {condition}").fetchall()


WIDE_ENOUGH = (
    "SELECT CAST(CASE WHEN i < 0 THEN 0 WHEN i > 9 THEN 9 ELSE i END AS BIGINT) * 1000000000 AS x FROM t",
    "SELECT CAST(FLOOR(CASE WHEN d < 0 THEN 0 WHEN d > 9 THEN 9 ELSE d END * 100 + 0.5) AS BIGINT) AS x FROM t",
    "SELECT CASE WHEN NOT (b > 5 OR b < -5) THEN b * 2 END AS x FROM t",
    "SELECT s.x + 1 AS x FROM (SELECT CASE WHEN b > 5 AND b < 7 THEN b END AS x FROM t) AS s",
    "SELECT SUM(s.x) AS x FROM (SELECT CASE WHEN b > 9 AND b < 7 THEN 5 END AS x FROM t) AS s",
    "SELECT (i - i % 1000 - 2000000000) * 14 AS x FROM t WHERE i >= 2000000000",
)


@pytest.mark.parametrize("sql", WIDE_ENOUGH)
def test_a_query_that_cannot_overflow_is_proved(sql):
    assert all(prove(sql, dialect, COLUMNS) > 3 for dialect in DIALECTS)
