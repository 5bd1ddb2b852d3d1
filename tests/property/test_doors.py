"""No door raises anything but an error of ours, whatever it is given: text, parameters, prices, ids, cells."""

from __future__ import annotations

import datetime
import re
from collections import Counter
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import tacit
from conformance.sql_clinic import clinic, row_clinic
from conformance.sql_questions import Rng, question
from conformance.sql_tables import random_table
from conformance.sql_world import policy_of, world
from tacit.curator import Curator, Session, unexpected
from tacit.errors import EngineError, InvalidParameter, PolicyError, QueryRefused, TacitError
from tacit.policy import ColumnPolicy, TablePolicy

ANA = Session("ana")
TOKEN = re.compile(r"'[^']*'|\"[^\"]*\"|[A-Za-z_][A-Za-z_0-9-]*|\d+(?:\.\d+)?|[^\sA-Za-z0-9_]")
PUNCTUATION = """( ) , . ; * + - / % = < > <> || ' " ? : :a $1 [ ] { } @ # ~ ^ & | ! \\ -- /* */ é"""
KEYWORDS = """NULL TRUE FALSE NOT AND OR IN IS LIKE ILIKE BETWEEN CASE WHEN THEN ELSE END SELECT DP-SELECT FROM
    WHERE GROUP BY HAVING ORDER LIMIT OFFSET DISTINCT ALL UNION EXCEPT INTERSECT JOIN LEFT FULL CROSS
    NATURAL USING ON AS WITH RECURSIVE EXISTS ANY OVER PARTITION ROWS FILTER WITHIN DELTA CONFIDENCE
    FRESH EXPLAIN ROLLUP CUBE GROUPING SETS INTERVAL DATE TIMESTAMP CAST EXTRACT VALUES LATERAL QUALIFY
    WINDOW TABLESAMPLE PIVOT"""
VALUES = """0 1 -1 0.6 0.9999999999999999999999999 1e400 1e-400 9223372036854775807 9223372036854775808 1/0 1/3 'x' ''
    340282366920938463463374607431768211456 '2020-01-01' '99999-01-01' t s u k0 m0 v0 n x y m g d ts flag id uid q"""
FUNCTIONS = """MIN MAX SUM AVG COUNT MEDIAN QUANTILE MODE TOP_K HISTOGRAM STDDEV VAR_POP FLOOR ROUND ABS COALESCE
    EXTRACT LOWER SUBSTRING TRIM LENGTH DATE_TRUNC GROUPING RANK ROW_NUMBER NTILE LAG PERCENTILE_CONT
    COUNT_IF LEAST NULLIF IF SQRT LN RANDOM NOW CONCAT STRFTIME LIST STRUCT_PACK UNNEST GENERATE_SERIES"""
WORDS = [word for words in (PUNCTUATION, KEYWORDS, VALUES) for word in words.split()]
CALLS = FUNCTIONS.split()
INSIDE = [text.split() for text in ("", "x", "x , y", "*", "s", "DISTINCT", "DISTINCT x", "1", "NULL", "x , 1e400")]

FROM = [
    "FROM (SELECT uid, {} AS x, MAX(n) AS n FROM t GROUP BY uid) AS t",
    "FROM (SELECT * FROM t) AS t",
    "FROM t AS t JOIN t AS b ON t.uid = b.uid",
    "FROM t WHERE x > (SELECT {} FROM t AS w WHERE w.uid = t.uid) AND TRUE",
    "FROM t WHERE uid IN (SELECT uid FROM t GROUP BY uid HAVING {} > 1) AND TRUE",
    "FROM (SELECT uid, n, x, {} OVER (PARTITION BY uid) AS y FROM t) AS t",
]


def called(rng):
    return [rng.choice(CALLS), "(", *rng.choice(INSIDE), ")"]


def hostile(rng, *, by_row):
    """A question with some of its words taken out, put in, or exchanged."""
    text = question(rng, by_row=by_row)
    if rng.random() < 0.4:
        text = text.replace("FROM t", rng.choice(FROM).format(" ".join(called(rng))), 1)
    words = TOKEN.findall(text)
    for _ in range(rng.choice((0, 1, 1, 2, 3))):
        place = rng.randrange(len(words))
        kind = rng.randrange(5)
        if kind == 0 and len(words) > 1:
            del words[place]
        elif kind == 1:
            words.insert(place, rng.choice((*WORDS, words[rng.randrange(len(words))])))
        elif kind == 2:
            words[place] = rng.choice(WORDS)
        elif kind == 3:
            words[place : place + 1] = called(rng)
        else:
            other = rng.randrange(len(words))
            words[place], words[other] = words[other], words[place]
    return " ".join(words)


def raw(act):
    """What `act` raised that is no error of ours; None if nothing."""
    try:
        act()
    except TacitError as error:
        error.explain()
    except Exception as error:
        return error
    return None


@pytest.fixture
def unguarded(monkeypatch):
    """Whatever the last guard catches is a fault of its own."""
    caught = []
    monkeypatch.setattr(unexpected, "noted", caught.append)
    yield caught
    assert caught == []


@pytest.mark.parametrize("seed", range(3))
def test_no_text_makes_planning_raise_anything_but_our_errors(seed, unguarded):
    rng, seen = Rng(seed), Counter()
    for _ in range(4):
        table = random_table(rng, rows=6, units=3)
        curator = Curator(table.world.policy, table.world.engine, None)
        by_row = table.world.policy.tables[0].unit_column is None
        for _ in range(60):
            text = hostile(rng, by_row=by_row)
            assert raw(lambda: curator.explain(text, session=ANA)) is None, text  # noqa: B023 - called at once
            assert unguarded == [], text
            seen["tried"] += 1
        table.world.engine.close()
    assert seen["tried"] == 240


CALL_FORMS = (
    "MIN()",
    "MAX()",
    "SUM()",
    "AVG()",
    "COUNT()",
    "COUNT(DISTINCT)",
    "MIN(*)",
    "SUM(DISTINCT)",
    "MIN(age, 2)",
)


@pytest.mark.parametrize("call", CALL_FORMS)
@pytest.mark.parametrize(
    "form",
    [
        "{} FROM visits",
        "SUM(m) FROM (SELECT patient_id, {} AS m FROM visits GROUP BY patient_id) AS q",
        "COUNT(*) FROM visits AS v WHERE age > (SELECT {} FROM visits AS w WHERE w.patient_id = v.patient_id)",
        "COUNT(*) FROM (SELECT patient_id, {} OVER (PARTITION BY patient_id) AS m FROM visits) AS q",
        "COUNT(*) FROM (SELECT patient_id FROM visits GROUP BY patient_id HAVING {} > 1) AS q",
        "dept, COUNT(*) FROM visits GROUP BY dept HAVING {} > 1",
        "dept, COUNT(*) FROM visits GROUP BY dept ORDER BY {}",
    ],
)
def test_an_aggregate_of_nothing_is_refused_wherever_it_stands(form, call, unguarded, tmp_path):
    curator = clinic().curator(tmp_path)
    assert raw(lambda: curator.ask(f"DP-SELECT 1 {form.format(call)}", session=ANA)) is None


@pytest.mark.parametrize("delta", ["0.6", "0.5", "0.4999999", "0.99999"])
@pytest.mark.parametrize("body", ["city, COUNT(*) FROM visits GROUP BY city", "COUNT(*) FROM visits"])
@pytest.mark.parametrize("made", [clinic, row_clinic], ids=["people", "rows"])
def test_a_large_delta_is_a_delta(made, body, delta, tmp_path):
    """A key that one unit holds is shown with a chance below one half even where nothing but its count is asked."""
    release = made().curator(tmp_path).explain(f"DP-SELECT 1 DELTA {delta} {body}", session=ANA)
    assert release.loss.delta == Fraction(delta)


TEXTS = [
    *(None, 5, b"SELECT 1", "", ";", "\x00", "\ud800", "(" * 3000),
    "DP-SELECT 1/0 COUNT(*) FROM visits",
    "DP-SELECT 1 COUNT(*) FROM visits WHERE dept = '\ud800'",
    "DP-SELECT 1e-30 STDDEV(age) FROM visits",
    "DP-SELECT 1e-40 STDDEV(age) FROM visits GROUP BY CUBE(dept, insured)",
    "DP-SELECT 1e300 STDDEV(age) FROM visits",
    "DP-SELECT 1e-35 HISTOGRAM(dept), MODE(age), MEDIAN(age) FROM visits",
    "DP-SELECT 1 CONFIDENCE 0.99999999999999999999999999 COUNT(*) FROM visits GROUP BY CUBE(dept, insured)",
    "DP-SELECT 1 ROUND(AVG(age), -400) FROM visits",
    "DP-SELECT WITHIN 1e-300 COUNT(*) FROM visits",
]


@pytest.mark.parametrize("text", TEXTS, ids=lambda text: ascii(text)[:40])
def test_odd_texts_are_answered_or_refused(text, unguarded, tmp_path):
    curator = row_clinic().curator(tmp_path)
    assert raw(lambda: curator.ask(text, session=ANA)) is None
    assert raw(lambda: curator.batch([text], session=ANA, epsilon=1)) is None


ODD = [None, 5, "x", [None], [float("nan")], [float("inf")], [b"x"], [[1]], {"a": 1}, {1: 2}, [10**400], [-(10**300)],
       ["\ud800"], ["\x00"], [np.int64(5)], [np.float64("nan")], [Decimal("NaN")], [Decimal("1e999999")],
       [datetime.date.min], [datetime.timedelta(1)], [True], [1] * 5000, [1j], [Fraction(1, 10**400)]]  # fmt: skip


@pytest.mark.parametrize("given", ODD, ids=lambda given: ascii(given)[:30])
def test_odd_parameters_are_used_or_refused(given, unguarded, tmp_path):
    curator = row_clinic().curator(tmp_path)
    for body in ("? COUNT(*) FROM visits", "1 COUNT(*) FROM visits WHERE dept = ?", "1 SUM(age * ?) FROM visits",
                 "1 COUNT(*) FROM visits WHERE age < :a", "1 COUNT(*) FROM visits LIMIT ?"):  # fmt: skip
        assert raw(lambda: curator.ask(f"DP-SELECT {body}", given, session=ANA)) is None, body  # noqa: B023


@pytest.mark.parametrize("given", [5, b"x", "", "\ud800", "\x00", "x" * 9999, True, [1]], ids=lambda x: ascii(x)[:20])
def test_odd_request_ids_are_refused_before_any_charge(given, tmp_path):
    curator = row_clinic().curator(tmp_path)
    with pytest.raises(InvalidParameter):
        curator.ask("DP-SELECT 1 COUNT(*) FROM visits", session=ANA, request_id=given)
    assert curator.balance("ana").total.spent.epsilon == 0


@pytest.mark.parametrize("epsilon", [None, "x", 0, -1, float("nan"), True, [1], "1e400", 10**400, "1/0"], ids=ascii)
def test_odd_prices_of_a_batch_are_refused(epsilon, unguarded, tmp_path):
    with pytest.raises(TacitError):
        row_clinic().curator(tmp_path).batch(["SELECT COUNT(*) FROM visits"], session=ANA, epsilon=epsilon)


@pytest.mark.parametrize(
    "given", [None, 5, [], "SELECT 1", [5], [None], [("SELECT 1",)], [()], {"a": 1}, [b"x"]], ids=ascii
)
def test_what_is_no_list_of_questions_is_refused(given, unguarded, tmp_path):
    curator = row_clinic().curator(tmp_path)
    for door in (curator.batch, curator.explain_batch):
        with pytest.raises(TacitError):
            door(given, session=ANA, epsilon=1)


def test_opening_without_an_analyst_says_how_to():
    with pytest.raises(InvalidParameter, match="analyst") as caught:
        tacit.open("x.toml")
    assert "analyst=" in caught.value.hint


@pytest.mark.parametrize("path", [5, b"x.toml", None, ["x.toml"], "\0", "/", ""])
def test_a_policy_that_is_no_path_is_refused_in_words(path):
    with pytest.raises(PolicyError):
        tacit.open(path, analyst="ana")


# ── what only the rows bring about ───────────────────────────────────────────────────────────────────────────────────

DATES = ["2024-01-01", "0001-01-01", "9999-12-31", "0044-03-15 (BC)", "294247-01-01", "infinity", "-infinity"]


@pytest.mark.parametrize("order", ["when", "when DESC", "COUNT(*), when", "2, 1"])
@pytest.mark.parametrize("kind", ["DATE", "TIMESTAMP"])
def test_private_dates_beyond_the_calendar_are_put_in_order(order, kind, unguarded, tmp_path):
    cells = ", ".join(f"(CAST('{date}' AS {kind}))" for date in DATES for _ in range(40))
    made = world(
        policy_of([TablePolicy("t", "row", columns=[ColumnPolicy("when")])]),
        f'CREATE TABLE t AS SELECT "when" FROM (VALUES {cells}, (NULL)) AS v("when")',
    )
    text = f'DP-SELECT 20 DELTA 1e-3 "when", COUNT(*) FROM t GROUP BY "when" ORDER BY {order}'
    release = made.curator(tmp_path).ask(text.replace("when", '"when"').replace('""', '"'), session=ANA)
    found = [str(row[0]) for row in release.rows if row[0] is not None]
    assert len(found) >= 5
    if order == "when":
        wanted = ["-inf", "0044", "0001", "2024", "9999", "2942", "infi"]
        assert [text[:4] for text in found] == [start for start in wanted if start in {text[:4] for text in found}]


def test_an_unforeseen_fault_in_planning_is_a_refusal_and_free(monkeypatch, tmp_path):
    curator = clinic().curator(tmp_path)
    monkeypatch.setattr("tacit.curator.curator.bind_statement", lambda *a, **k: 1 / 0)
    with pytest.raises(QueryRefused, match="did not foresee"):
        curator.ask("DP-SELECT 1 COUNT(*) FROM visits", session=ANA)
    assert curator.balance("ana").total.spent.epsilon == 0


def test_an_unforeseen_fault_in_showing_is_an_error_of_ours(monkeypatch, tmp_path):
    curator = clinic().curator(tmp_path)
    monkeypatch.setattr("tacit.curator.releasing.answer", lambda *a: 1 / 0)
    with pytest.raises(EngineError, match="cannot be shown"):
        curator.ask("DP-SELECT 1 COUNT(*) FROM visits", session=ANA)
