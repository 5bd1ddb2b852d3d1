"""What the policy says that an empty cell counts as, it counts as everywhere."""

from __future__ import annotations

from datetime import date
from fractions import Fraction

import pytest

from conformance.sql_world import policy_of, world
from tacit.policy import ColumnPolicy, TablePolicy

COLUMNS = [
    ColumnPolicy("n", lower=0, upper=9, step=1, null=3, domain="range"),
    ColumnPolicy("x", lower=0, upper=9, step="0.5", null=Fraction("1.5")),
    ColumnPolicy("c", lower=0, upper=9, step="0.01", null=Fraction("1.25")),
    ColumnPolicy("m", lower=0, upper=9, step="0.5", null=Fraction("0.5")),
    ColumnPolicy("g", domain=["a", "b"], null="b"),
    ColumnPolicy("s", type="text", null="none"),
    ColumnPolicy("flag", type="boolean", null=True),
    ColumnPolicy("d", type="date", null=date(2020, 2, 2)),
    ColumnPolicy("e"),
]
CREATE = """CREATE TABLE {} (uid INTEGER, n INTEGER, x DOUBLE, c DECIMAL(18,4), m INTEGER, g VARCHAR, s VARCHAR,
    flag BOOLEAN, d DATE, e INTEGER)"""
ROWS = "(1, 5, 2.5, 2.5, 2, 'a', 'z', FALSE, DATE '2021-01-01', 1)"
FILLED = "(2, 3, 1.5, 1.25, 0.5, 'b', 'none', TRUE, DATE '2020-02-02', 1)"
EMPTY = "(2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1)"


def over(cells, *, m="INTEGER"):
    tables = [TablePolicy("t", "uid", columns=COLUMNS, max_rows=3, max_groups=3), TablePolicy("p", public=True)]
    return world(
        policy_of(tables),
        CREATE.format("t").replace("m INTEGER", f"m {m}"),
        f"INSERT INTO t VALUES {ROWS}, {cells}",
        "CREATE TABLE p AS SELECT 3 AS e3, 'none' AS s3, 1 AS e",
    )


@pytest.fixture(scope="module")
def worlds():
    """The same table with an empty cell in every column, and with what it counts as in its place."""
    return over(EMPTY), over(FILLED, m="DOUBLE")


CONDITIONS = """
n = 3
n > 2
n + 0 > 2
n IN (3, 4)
n BETWEEN 3 AND 4
n IS NULL
NOT n IS NULL
x = 1.5
x < 2
c = 1.25
c < 1.2500001
c IN (1.25)
COALESCE(c, 7) > 2
m = 0.5
m < 1
s = 'none'
LOWER(s) LIKE 'n%'
LENGTH(s) = 4
flag
NOT flag
(n > 2) IS TRUE
d = DATE '2020-02-02'
EXTRACT(MONTH FROM d) = 2
CASE n WHEN 3 THEN 1 ELSE 0 END = 1
n = x * 2
n > x
n IN (SELECT e3 FROM p)
s IN (SELECT s3 FROM p)
EXISTS (SELECT 1 FROM t AS o WHERE o.uid = t.uid AND o.n = 3)
n = (SELECT MAX(n) FROM t AS o WHERE o.uid = t.uid)
""".strip().split("\n")
QUESTIONS = """
SUM(n), AVG(n), COUNT(n), COUNT(*) FROM t
COUNT(x), COUNT(g), COUNT(s), COUNT(flag), COUNT(d), COUNT(c) FROM t
COUNT(DISTINCT n), COUNT(DISTINCT s), COUNT(DISTINCT flag), COUNT(DISTINCT d), COUNT(DISTINCT c) FROM t
SUM(flag), SUM(x), SUM(c), SUM(m), AVG(x), VARIANCE(x), MEDIAN(n), MIN(n), MAX(x) FROM t
COUNT(*) FILTER (WHERE n = 3), SUM(CASE WHEN s = 'none' THEN n ELSE 0 END), COUNT_IF(flag) FROM t
n, COUNT(*) FROM t GROUP BY n
g, COUNT(*), SUM(x) FROM t GROUP BY g
s, COUNT(*) FROM t GROUP BY s
d, flag, COUNT(*) FROM t GROUP BY d, flag
c, COUNT(*) FROM t GROUP BY c
MODE(g), HISTOGRAM(flag), TOP_K(n, 2) FROM t
SUM(v), COUNT(v) FROM (SELECT uid, n AS v FROM t) AS q WHERE v = 3
COUNT(*), SUM(k) FROM (SELECT uid, n, COUNT(*) AS k FROM t GROUP BY uid, n) AS q WHERE n = 3
SUM(v) FROM (SELECT uid, MIN(n) AS v, MAX(s) AS w FROM t GROUP BY uid) AS q WHERE w = 'none'
SUM(v), COUNT(*) FROM (SELECT uid, n AS v FROM t UNION ALL SELECT uid, n FROM t) AS q
COUNT(*) FROM (SELECT DISTINCT uid, s FROM t) AS q WHERE s = 'none'
SUM(r) FROM (SELECT uid, ROW_NUMBER() OVER (PARTITION BY uid ORDER BY n) AS r FROM t) AS q
COUNT(*) FROM t JOIN p ON t.n = p.e3
s3, COUNT(*) FROM t JOIN p ON t.s = p.s3 GROUP BY s3
COUNT(a.n), COUNT(b.n), SUM(b.x), COUNT(b.s) FROM t AS a LEFT JOIN t AS b ON a.uid = b.uid AND b.n > 4
COUNT(v), COUNT(w) FROM (SELECT a.uid, b.n AS v, b.s AS w FROM t a LEFT JOIN t b ON a.uid = b.uid AND b.n > 4) AS q
""".strip().split("\n")


def found(world, text):
    made = world.plan(f"DP-SELECT 1 DELTA 1e-6 {text}")
    return [sorted(zip(*(map(str, exact.keys(n)) for n in exact.names), strict=True)) for exact in world.exact(made)]


@pytest.mark.parametrize("text", [*(f"COUNT(*) FROM t WHERE {each}" for each in CONDITIONS), *QUESTIONS])
def test_an_empty_cell_is_what_it_counts_as(worlds, text):
    empty, filled = worlds
    assert found(empty, text) == found(filled, text)


def test_without_a_word_in_the_policy_an_empty_cell_is_left_out(worlds):
    (exact,) = worlds[0].exact(worlds[0].plan("DP-SELECT 1 COUNT(*) FROM t WHERE e IS NULL OR e <> 1"))
    assert exact.integers("m0").tolist() == [0]
