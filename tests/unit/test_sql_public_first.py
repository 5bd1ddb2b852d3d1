"""A public table with people joined from it: groups that nobody is in are answered, and no row of nobody counts."""

from __future__ import annotations

import random
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import duckdb
import pytest
import sqlglot

from conformance.sql_noiseless import switch_off
from conformance.sql_world import policy_of, world
from tacit.curator import Curator, Session
from tacit.errors import QueryRefused
from tacit.policy import AnalystPolicy, BudgetPolicy, ColumnPolicy, TablePolicy
from tacit.sql.expressions import absent
from tacit.sql.expressions.absent import Worth
from tacit.sql.relations.rewriting import public_first, unowned_rows

ANA = Session("ana")
FILLED = """
CREATE TABLE people AS SELECT i AS id, ['F', 'M'][1 + i % 2] AS sex, i % 13 AS pay,
    ['north', 'south', 'west', NULL, 'nowhere'][1 + i % 5] AS town FROM range(60) AS made(i);
CREATE TABLE visits AS SELECT i AS number, i * 7 % 60 AS who, ['x', 'y'][1 + i % 2] AS kind, i * 5 % 12 AS cost,
    DATE '2024-01-01' + (i % 5)::INT AS day, ['north', 'south', NULL][1 + i % 3] AS place FROM range(90) AS made(i);
CREATE TABLE towns AS SELECT * FROM (VALUES ('north', 12, 'cold'), ('south', 3, 'warm'), ('west', 7, 'cold'),
    ('east', 40, 'warm'), ('up', 0, 'thin')) AS made(town, size, air);
CREATE TABLE days AS SELECT DATE '2023-12-30' + i::INT AS date FROM range(9) AS made(i)
"""


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Curator]:
    wide = {"max_groups": 60, "max_rows": 60, "max_distinct": 60}
    people = [
        ColumnPolicy("sex", domain=["F", "M"]),
        ColumnPolicy("pay", lower=0, upper=12, step=1),
        ColumnPolicy("town", domain=["north", "south", "west", "nowhere"]),
    ]
    visits = [
        ColumnPolicy("kind", domain=["x", "y"]),
        ColumnPolicy("cost", lower=0, upper=12, step=1),
        ColumnPolicy("day", type="date", lower="2023-12-25", upper="2024-01-10", domain="range"),
        ColumnPolicy("place"),
    ]
    policy = policy_of(
        [
            TablePolicy("people", "id", columns=people, **wide),
            TablePolicy("visits", "who -> people.id", columns=visits, **wide),
            TablePolicy("towns", public=True),
            TablePolicy("days", public=True),
        ],
        budget=BudgetPolicy(10**6, Fraction(1, 10), default_epsilon=1, default_delta=Fraction(1, 10**6)),
        analysts=[AnalystPolicy("ana", 10**6)],
    )
    with pytest.MonkeyPatch.context() as patch:
        switch_off(patch)
        yield world(policy, FILLED).curator(tmp_path_factory.mktemp("ledger"))


@pytest.fixture(scope="module")
def plain() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        connection.execute(FILLED)
        yield connection


def _as_written(text: str, asked: Curator, plain: duckdb.DuckDBPyConnection) -> bool:
    """Whether the answer has the rows that DuckDB has, and besides them only groups of nothing."""
    left = [tuple(map(_cell, row)) for row in asked.ask(text, session=ANA).rows]
    for row in plain.execute(text).fetchall():
        same = next((each for each in left if _alike(each, row)), None)
        if same is None:
            return False
        left.remove(same)
    return "AVG" in text or all(set(row[1:]) <= {0.0} for row in left)


def _alike(mine: tuple[object, ...], plain: tuple[Any, ...]) -> bool:
    """Whether a row is that of DuckDB; of nobody an average may be anything."""
    pairs = zip(mine, plain, strict=True)
    return all(one == _cell(other) or (other is None and place) for place, (one, other) in enumerate(pairs))


def _cell(value: Any) -> object:
    """Numbers as doubles, and the sum of nothing is zero here; a day as it is written."""
    if value is None or isinstance(value, (int, float, Fraction)):
        return round(float(value or 0), 6)
    return str(value)[:10]


# ── questions as people write them ───────────────────────────────────────────────────────────────────────────────────

SEEN = "FROM towns t LEFT JOIN visits v ON v.place = t.town"
QUESTIONS = f"""
SELECT t.town, COUNT(v.day) AS n {SEEN} GROUP BY t.town
SELECT air, COUNT(kind) AS n, SUM(cost) AS c {SEEN} GROUP BY air
SELECT t.air, COUNT(v.who) AS n FROM visits v RIGHT JOIN towns t ON v.place = t.town GROUP BY t.air
SELECT t.air, COUNT(v.who) AS n FROM visits v RIGHT OUTER JOIN towns t ON v.place = t.town GROUP BY ALL
SELECT t.town, COUNT(p.sex) AS n FROM towns t LEFT OUTER JOIN people p USING (town) GROUP BY t.town
SELECT town, SUM(pay) AS n FROM towns LEFT JOIN people USING (town) GROUP BY town
SELECT air, COALESCE(SUM(pay), 0) AS n FROM people RIGHT JOIN towns USING (town) GROUP BY air
SELECT UPPER(t.air) AS a, COUNT(v.kind) AS n {SEEN} GROUP BY a
SELECT DATE_TRUNC('month', d.date) AS m, COUNT(v.kind) AS n FROM days d LEFT JOIN visits v ON v.day = d.date GROUP BY m
SELECT d.date, COUNT(DISTINCT v.who) AS n FROM days d LEFT JOIN visits v ON v.day = d.date GROUP BY 1
SELECT t.town, COUNT(*) AS n {SEEN} WHERE v.kind = 'x' GROUP BY t.town
SELECT t.town, COUNT(*) AS n {SEEN} WHERE v.cost > 3 AND (v.kind = 'x' OR v.cost < 9) GROUP BY 1
SELECT t.town, COUNT(*) FILTER (WHERE v.kind = 'x') AS n {SEEN} GROUP BY t.town
SELECT t.town, COUNT_IF(v.kind = 'x') AS n {SEEN} GROUP BY t.town
SELECT t.town, SUM(CASE WHEN v.kind = 'x' THEN 1 ELSE 0 END) AS n {SEEN} GROUP BY t.town
SELECT t.town, SUM(CASE v.kind WHEN 'x' THEN v.cost WHEN 'y' THEN 1 END) AS n {SEEN} GROUP BY 1
SELECT t.town, COUNT(CASE WHEN v.kind = 'x' THEN 1 END) AS n {SEEN} GROUP BY t.town
SELECT t.town, SUM(IF(v.cost > 3, 1, 0)) AS n {SEEN} GROUP BY t.town
SELECT t.town, SUM(COALESCE(v.cost, 0)) AS n {SEEN} GROUP BY t.town
SELECT t.town, AVG(v.cost) AS n {SEEN} AND v.kind = 'x' GROUP BY t.town
SELECT t.town, COUNT(v.kind) AS n {SEEN} AND t.size > 5 GROUP BY t.town HAVING COUNT(v.kind) >= 0
SELECT t.town, COUNT(*) AS n {SEEN} JOIN people p ON p.id = v.who GROUP BY t.town
SELECT t.town, COUNT(p.sex) AS n {SEEN} LEFT JOIN people p ON p.id = v.who GROUP BY t.town
SELECT t.town, COUNT(v.kind) AS n FROM towns t LEFT JOIN (SELECT * FROM visits WHERE cost > 3) v ON v.place = t.town \
GROUP BY 1
WITH v AS (SELECT who, place, kind FROM visits WHERE cost > 3) \
SELECT t.town, COUNT(kind) AS n FROM towns t LEFT JOIN v ON v.place = t.town GROUP BY t.town
SELECT COUNT(v.kind) AS n, SUM(v.cost) AS c {SEEN}
SELECT d.date, COUNT(v.kind) AS n FROM days d LEFT JOIN visits v ON v.day <= d.date AND v.day > d.date - 2 GROUP BY 1
SELECT e.town, COUNT(v.kind) AS n FROM (VALUES ('north'), ('up')) AS e(town) LEFT JOIN visits v ON v.place = e.town \
GROUP BY 1
SELECT e.town, SUM(CASE WHEN cost > 3 THEN 1 ELSE 0 END) AS n FROM (VALUES ('north'), ('up')) AS e(town) \
LEFT JOIN visits v ON v.place = e.town GROUP BY e.town
"""


@pytest.mark.parametrize("text", QUESTIONS.replace("\\\n", "").strip().splitlines())
def test_a_report_over_a_public_table_is_answered_as_it_is_written(
    text: str, asked: Curator, plain: duckdb.DuckDBPyConnection
) -> None:
    assert _as_written(text, asked, plain)


@pytest.mark.parametrize(
    "text",
    [
        f"SELECT t.town, COUNT(*) AS n {SEEN} GROUP BY t.town",
        f"SELECT t.town, SUM(t.size) AS n {SEEN} GROUP BY t.town",
        f"SELECT t.town, SUM(COALESCE(v.cost, 1)) AS n {SEEN} GROUP BY t.town",
        f"SELECT t.town, AVG(COALESCE(v.cost, 0)) AS n {SEEN} GROUP BY t.town",
        f"SELECT t.town, COUNT(COALESCE(v.kind, 'none')) AS n {SEEN} GROUP BY t.town",
        f"SELECT t.town, SUM(GREATEST(v.cost, t.size)) AS n {SEEN} GROUP BY t.town",
        f"SELECT t.town, COUNT(CONCAT(v.kind, t.air)) AS n {SEEN} GROUP BY t.town",
        f"SELECT t.town, SUM(CASE WHEN v.kind = 'x' THEN 0 ELSE 1 END) AS n {SEEN} GROUP BY 1",
        f"SELECT t.town, COUNT(v.kind) AS n {SEEN} WHERE v.kind IS NULL GROUP BY t.town",
        f"SELECT t.town, COUNT(v.kind) AS n {SEEN} WHERE COALESCE(v.cost, 0) < 3 GROUP BY 1",
        f"SELECT v.kind, COUNT(v.cost) AS n {SEEN} GROUP BY v.kind",
        f"SELECT COALESCE(v.kind, t.air) AS k, COUNT(v.cost) AS n {SEEN} GROUP BY k",
        "SELECT e.town, COUNT(*) AS n FROM (VALUES ('up')) AS e(town) LEFT JOIN visits v ON place = e.town GROUP BY 1",
    ],
)
def test_rows_of_nobody_that_would_count_are_refused(text: str, asked: Curator) -> None:
    spent = asked.balance("ana").total.spent
    with pytest.raises(QueryRefused, match="depends on everybody") as refusal:
        asked.ask(text, session=ANA)
    assert refusal.value.hint
    assert asked.balance("ana").total.spent == spent


# ── drawn questions ──────────────────────────────────────────────────────────────────────────────────────────────────

FROMS = (
    "towns t LEFT JOIN visits v ON v.place = t.town",
    "visits v RIGHT JOIN towns t ON v.place = t.town",
    "towns t LEFT JOIN visits v ON v.place = t.town AND v.cost > 3 AND t.size > 0",
    "towns t LEFT JOIN (SELECT who, kind, cost, place, day FROM visits WHERE kind = 'x') v ON v.place = t.town",
    "towns t LEFT JOIN visits v ON v.place = t.town LEFT JOIN people p ON p.id = v.who AND p.pay > 4",
    "towns t LEFT JOIN visits v ON v.place = t.town JOIN people p ON p.id = v.who",
    "people p JOIN visits v ON v.who = p.id RIGHT JOIN towns t ON t.town = v.place",
    "towns t JOIN towns s ON s.air = t.air LEFT JOIN visits v ON v.place = s.town",
)
KEYS = ("t.town", "t.air", "t.size > 5", "UPPER(t.air)", "CASE WHEN t.size > 5 THEN 'big' ELSE 'small' END")
PARTS = (
    "v.cost", "v.kind", "t.size", "1", "0", "NULL", "v.cost + 1", "v.cost * t.size", "COALESCE(v.cost, 0)",
    "COALESCE(v.cost, t.size)", "NULLIF(v.cost, 3)", "(v.kind = 'x')::INT", "GREATEST(v.cost, 2)", "ABS(v.cost)",
    "CASE WHEN v.kind = 'x' THEN 1 ELSE 0 END", "CASE WHEN v.kind = 'x' THEN 0 ELSE 1 END", "IF(v.kind IS NULL, 1, 0)",
    "CASE WHEN v.kind IS NOT NULL THEN v.cost END", "CASE WHEN t.size > 5 THEN 1 ELSE v.cost END",
    "CASE v.kind WHEN 'x' THEN 1 ELSE 0 END", "CASE t.air WHEN 'cold' THEN 0 ELSE v.cost END", "IFNULL(v.cost, 2)",
)  # fmt: skip
CONDITIONS = (
    "v.kind = 'x'", "v.kind <> 'x'", "NOT v.cost > 3", "v.cost IN (1, 2, 3)", "v.cost NOT IN (1, 2)", "v.kind IS NULL",
    "v.kind IS NOT NULL", "t.size > 5", "v.cost BETWEEN 2 AND t.size", "v.cost > 3 OR t.size > 5", "v.kind LIKE 'x%'",
    "v.cost > 3 AND t.size > 5", "COALESCE(v.cost, 0) = 0", "(v.cost > 3) IS TRUE", "NOT (v.kind = 'x' OR v.cost > 3)",
    "v.cost IS DISTINCT FROM 3", "CASE WHEN v.kind = 'x' THEN TRUE ELSE FALSE END", "v.day > DATE '2024-01-02'",
)  # fmt: skip
CALLS = (
    "COUNT({})",
    "SUM({})",
    "AVG({})",
    "COUNT(DISTINCT {})",
    "COUNT(*) FILTER (WHERE {})",
    "COUNT_IF({})",
    "COUNT(*)",
)


def _drawn(chance: random.Random) -> str:
    call = chance.choice(CALLS)
    part = chance.choice(CONDITIONS if "WHERE" in call or "_IF" in call else PARTS)
    if call in {"SUM({})", "AVG({})"} and part in {"v.kind"}:
        part = "v.cost"
    where = f" WHERE {chance.choice(CONDITIONS)}" if chance.random() < 0.4 else ""
    key = chance.choice(KEYS)
    group = chance.choice([key, "k", "1"])
    return f"SELECT {key} AS k, {call.format(part)} AS n FROM {chance.choice(FROMS)}{where} GROUP BY {group}"


def _wrong(asked: Curator, plain: duckdb.DuckDBPyConnection, seeds: range) -> tuple[list[str], int]:
    """Drawn questions that are answered otherwise than DuckDB answers them, and how many are answered."""
    wrong, answered = [], 0
    for seed in seeds:
        text = _drawn(random.Random(seed))
        try:
            same = _as_written(text, asked, plain)
        except QueryRefused:
            continue
        answered += 1
        if not same:
            wrong.append(text)
    return wrong, answered


def test_what_is_answered_is_what_is_written(asked: Curator, plain: duckdb.DuckDBPyConnection) -> None:
    wrong, answered = _wrong(asked, plain, range(400))
    assert not wrong
    assert answered > 150


@pytest.mark.parametrize(
    ("home", "name", "planted"),
    [
        (unowned_rows, "worth", lambda node, of_people: Worth.NULL),
        (unowned_rows, "worth", lambda node, of_people: Worth.ZERO),
        (absent, "_first", lambda node, of_people: Worth.NULL),
        (absent, "_case", lambda node, of_people: Worth.ZERO),
        (absent, "_STRICT", (*absent._STRICT, sqlglot.exp.Greatest, sqlglot.exp.Concat)),
        (public_first, "_columns_of_people", lambda *given: lambda column: True),
    ],
    ids=["null", "zero", "coalesce", "case", "greatest", "columns"],
)
def test_rows_of_nobody_that_count_are_noticed(
    home: object,
    name: str,
    planted: object,
    asked: Curator,
    plain: duckdb.DuckDBPyConnection,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(home, name, planted)
    if name in {"_first", "_case", "_STRICT"}:
        place = {"_first": sqlglot.exp.Coalesce, "_case": (sqlglot.exp.Case, sqlglot.exp.If)}.get(name, absent._STRICT)
        reading = absent._strict if name == "_STRICT" else planted
        monkeypatch.setattr(absent, "_READINGS", ((place, reading), *absent._READINGS))
    assert _wrong(asked, plain, range(400, 700))[0]
