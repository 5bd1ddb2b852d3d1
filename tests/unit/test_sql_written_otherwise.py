"""Forms that are written anew before they are bound: what they cost, what they count, and what of them is refused."""

from fractions import Fraction

import duckdb
import pytest

from conformance.sql_noiseless import switch_off
from conformance.sql_world import policy_of, world
from tacit.core import Bounds
from tacit.curator import Session
from tacit.errors import QueryRefused
from tacit.policy import ColumnPolicy, TablePolicy
from tacit.sql import parse
from tacit.sql.expressions.numeric import grid as g
from tacit.sql.relations.rewriting import guarded_divisions, listed_joins

ANA = Session("ana")
TABLES = (
    TablePolicy(
        "t",
        "id",
        max_rows=3,
        max_groups=3,
        max_distinct=9,
        columns=[
            ColumnPolicy("ward", domain=["a", "b", "c"]),
            ColumnPolicy("x", type="number", lower=-20, upper=20, step="0.25"),
            ColumnPolicy("n", type="integer", lower=0, upper=8, step=1),
            ColumnPolicy("note"),
        ],
    ),
)
FILLED = (
    "CREATE TABLE t (id INT, ward TEXT, x DOUBLE, n INT, note TEXT)",
    """INSERT INTO t SELECT i % 40, ['a', 'b', 'c'][1 + i % 3], (i * 7 % 161 - 80) / 4.0, i % 9,
       CASE WHEN i % 4 <> 0 THEN 'n' || i % 5 END FROM range(80) s(i)""",
)


@pytest.fixture
def curator(tmp_path):
    with pytest.MonkeyPatch.context() as patch:
        switch_off(patch)
        yield world(policy_of(TABLES), *FILLED).curator(tmp_path)


def plainly(text):
    with duckdb.connect() as connection:
        for statement in FILLED:
            connection.execute(statement)
        return connection.execute(text).fetchall()


# ── prices inside ────────────────────────────────────────────────────────────────────────────────────────────────────

INSIDE = (
    "SELECT a.ward, a.n, b.s FROM (DP-SELECT 1 ward, COUNT(*) AS n FROM t GROUP BY ward) AS a"
    " JOIN (DP-SELECT 0.5 ward, SUM(n) AS s FROM t GROUP BY ward) AS b ON a.ward = b.ward"
)


def test_prices_inside_are_one_price_and_it_is_charged(curator):
    before = curator.balance("ana").total.spent.epsilon
    rows = curator.ask(INSIDE, session=ANA).rows
    assert sorted(rows) == sorted(plainly("SELECT ward, COUNT(*), SUM(n) FROM t GROUP BY ward"))
    assert curator.balance("ana").total.spent.epsilon - before == Fraction(3, 2)


@pytest.mark.parametrize(
    "text",
    [
        "WITH a AS (DP-SELECT 1 COUNT(*) AS n FROM t), b AS (DP-SELECT 1/2 DELTA 1e-6 SUM(n) FROM t) SELECT 1 FROM a",
        "SELECT n FROM (dp-select .5 COUNT(*) AS n FROM t) AS a",
    ],
)
def test_prices_inside_add_up(text):
    query = parse(text)
    assert query.price.epsilon == (Fraction(3, 2) if "DELTA" in text else Fraction(1, 2))
    assert query.delta == (Fraction(1, 10**6) if "DELTA" in text else None)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("DP-SELECT 2 n FROM (DP-SELECT 1 COUNT(*) AS n FROM t) AS a", "which one counts"),
        ("SELECT n FROM (DP-SELECT WITHIN 5 COUNT(*) AS n FROM t) AS a", "paid at once"),
        ("SELECT n FROM (DP-SELECT 1 FRESH COUNT(*) AS n FROM t) AS a", "paid at once"),
        ("SELECT n FROM (DP-SELECT -1 COUNT(*) AS n FROM t) AS a", "greater than zero"),
    ],
)
def test_prices_inside_that_are_none_are_refused(text, why):
    with pytest.raises(QueryRefused, match=why):
        parse(text)


# ── numbers ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("lower", "upper"), [(-9, 9), (0, 9), (-9, 0), (3, 6)])
@pytest.mark.parametrize("step", ["0.25", "0.5", "0.1", "0.3"])
@pytest.mark.parametrize("form", ["nearest_even", "nearest"])
def test_a_number_is_made_whole_as_duckdb_does(lower, upper, step, form):
    """Halves of a DOUBLE go to the even number, by CAST; ROUND sends them away from zero."""
    bounds = Bounds(lower, lower + (upper - lower) // Fraction(step) * Fraction(step), step=Fraction(step))
    units = range(int(bounds.lower / bounds.step), int(bounds.upper / bounds.step) + 1)
    grid = g.Grid(g.column("k", bounds, nullable=False, public=False).sql, bounds.step, units[0], units[-1])
    whole = getattr(g, form)(grid)
    sql = whole.sql.sql(dialect="duckdb").replace('GRID("k")', "k")
    plain = "CAST(k * s AS BIGINT)" if form == "nearest_even" else "ROUND(k * s)"
    with duckdb.connect() as connection:
        rows = f"(SELECT k::BIGINT AS k, {step}::DOUBLE AS s FROM range({units[0]}, {units[-1] + 1}) r(k))"
        found = connection.execute(f"SELECT ({sql}) * {int(whole.step)}, {plain} FROM {rows} ORDER BY k").fetchall()
    assert [ours for ours, _ in found] == [theirs for _, theirs in found]
    assert min(ours for ours, _ in found) == whole.low * whole.step
    assert max(ours for ours, _ in found) == whole.high * whole.step


GUARDED = (
    "SELECT SUM(x / n) FROM t WHERE n > 0",
    "SELECT SUM(x / n) FROM t WHERE 1 <= n",
    "SELECT SUM(x / n) FROM t WHERE n <> 0 AND ward = 'a'",
    "SELECT SUM(CASE WHEN n BETWEEN 1 AND 5 THEN x / n ELSE 0 END) FROM t",
    "SELECT SUM(x / n) FILTER (WHERE n >= 2) FROM t",
)


@pytest.mark.parametrize("text", GUARDED)
def test_a_divisor_that_a_condition_keeps_from_zero_may_divide(text, curator):
    ((ours,),), ((theirs,),) = (
        curator.ask(f"DP-{text.replace('SELECT', 'SELECT 9', 1)}", session=ANA).rows,
        plainly(text),
    )
    assert ours == pytest.approx(theirs, abs=0.05)


@pytest.mark.parametrize(
    "text",
    [
        "SUM(x / n) FROM t WHERE n >= 0",
        "SUM(x / n) FROM t WHERE n > 0 OR ward = 'a'",
        "SUM(x / n) FROM t WHERE x > 0",
        "SUM(CASE WHEN n > 0 THEN 1 ELSE x / n END) FROM t",
        "SUM(CASE n WHEN 1 THEN x / n END) FROM t",
        "SUM(x / (n - 3)) FROM t WHERE n > 3",
    ],
)
def test_one_that_no_condition_keeps_from_zero_may_not(text, curator):
    with pytest.raises(QueryRefused, match="divisor may be zero"):
        curator.ask(f"DP-SELECT 1 {text}", session=ANA)


def test_a_condition_that_lets_zero_through_is_noticed(curator, monkeypatch):
    monkeypatch.setitem(guarded_divisions._EXCLUDES_ZERO, guarded_divisions.exp.GTE, lambda end: True)
    with pytest.raises(pytest.fail.Exception):
        test_one_that_no_condition_keeps_from_zero_may_not("SUM(x / n) FROM t WHERE n >= 0", curator)


# ── lists, rows, joins ───────────────────────────────────────────────────────────────────────────────────────────────

LISTED = (
    "SELECT v.y, COUNT(*) AS k FROM t JOIN (VALUES ('a', 'x'), ('b', 'z')) AS v(w, y) ON v.w = t.ward GROUP BY v.y",
    "SELECT COALESCE(y, 'no'), COUNT(*) FROM t LEFT JOIN (VALUES ('a', 'x')) AS v(w, y) ON v.w = t.ward GROUP BY 1",
    "SELECT SUM(v.y) AS k FROM t JOIN (VALUES ('a', 2), ('c', -1)) AS v(ward, y) USING (ward)",
    "WITH v(w, y) AS (VALUES ('a', 2), ('c', 5)) SELECT SUM(n * v.y) FROM t JOIN v ON t.ward = v.w WHERE v.w <> 'a'",
    "SELECT COUNT(DISTINCT (ward, note)) AS k FROM t",
    "SELECT COUNT(DISTINCT (note, ward, n)) AS k FROM t WHERE n > 4",
)


@pytest.mark.parametrize("text", LISTED)
def test_a_list_and_a_row_mean_what_they_mean_in_duckdb(text, curator):
    start = text.index("SELECT ") if text.startswith("SELECT") else text.index(") SELECT ") + 2
    asked = f"{text[:start]}DP-SELECT 9 {text[start + 7 :]}"
    ours = [row for row in curator.ask(asked, session=ANA).rows if row[-1]]
    assert sorted(ours, key=str) == sorted(plainly(text), key=str)


TWICE = "JOIN (VALUES ('a', 1), ('a', 2)) AS v(w, y) ON v.w = t.ward"  # it doubles rows


@pytest.mark.parametrize(
    "join",
    [
        TWICE,
        "JOIN (VALUES ('a', 1), ('b', 2)) AS v(w, y) ON v.w <= t.ward",
        "JOIN (VALUES ('a', 1), ('b', 2)) AS v(w, y) ON v.w = t.ward OR v.y = t.n",
    ],
)
def test_a_list_with_several_partners_makes_several_rows(join, curator):
    ours = curator.ask(f"DP-SELECT 9 COUNT(*) AS n FROM t {join}", session=ANA).rows
    assert list(ours) == plainly(f"SELECT COUNT(*) AS n FROM t {join}")


@pytest.mark.parametrize("side", ["LEFT", "RIGHT"])
def test_an_outer_join_with_a_list_of_several_partners_is_refused(side, curator):
    with pytest.raises(QueryRefused, match="several partners"):
        curator.ask(f"DP-SELECT 1 COUNT(*) FROM t {side} {TWICE}", session=ANA)


def test_a_list_whose_repeats_are_overlooked_is_noticed(curator, monkeypatch):
    monkeypatch.setattr(listed_joins, "_has_repeats", lambda keys: False)
    with pytest.raises(AssertionError):
        test_a_list_with_several_partners_makes_several_rows(TWICE, curator)
