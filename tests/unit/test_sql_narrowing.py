# ruff: noqa: DTZ001 - columns have no zone
"""Keys that WHERE rules out are not shown; no group that may hold a row is ever lost."""

import operator
import random
from datetime import date, datetime, timedelta

import pytest
from sqlglot import exp

from conformance.sql_world import policy_of, world
from tacit.curator import Session
from tacit.curator.reading import execute
from tacit.errors import QueryRefused
from tacit.policy import ColumnPolicy, TablePolicy
from tacit.sql.binding import narrowing, own_conditions

COLUMNS = (
    ColumnPolicy("n", type="integer", lower=-10, upper=40, step=1, domain="range"),
    ColumnPolicy("x", type="number", lower=0, upper=20, step="0.25", domain="range"),
    ColumnPolicy("coarse", type="integer", lower=0, upper=60, step=5, domain="range"),
    ColumnPolicy("day", type="date", lower=date(2023, 11, 20), upper=date(2024, 2, 10), domain="range"),
    ColumnPolicy("seen", type="timestamp", lower=date(2024, 1, 1), upper=date(2024, 1, 9), step="10m"),
    ColumnPolicy("taken", type="timestamp", lower=date(2024, 1, 1), upper=date(2024, 1, 9), step="1s"),
    ColumnPolicy("ward", type="text", domain=["ICU", "Surgery", "Oncology"]),
)
TABLE = TablePolicy("t", "id", columns=COLUMNS, max_rows=1, max_groups=1)


def rows(rng: random.Random, count: int) -> list[str]:
    """Cells within the bounds, at their ends, far outside, between steps, and empty."""
    cells = []
    for unit in range(count):
        n = rng.choice([rng.randrange(-10, 41), -11, 41, 1000, -1000, "NULL"])
        x = rng.choice([rng.randrange(0, 2001) / 100, -0.1, 20.1, 1e300, 0.124, "NULL"])
        coarse = rng.choice([rng.randrange(0, 61), 59, 2, 3, -7, 99])
        day = rng.choice([date(2023, 11, 20) + timedelta(rng.randrange(83)), date(1990, 1, 1), date(2030, 1, 1)])
        moment = datetime(2024, 1, 1) + timedelta(seconds=rng.randrange(8 * 86_400))
        seen = rng.choice(
            [moment, datetime(2024, 1, 3, 23, 59, 59, 999_999), datetime(2023, 1, 1), datetime(2025, 1, 1)]
        )
        on_the_hour = moment.replace(minute=0, second=0, microsecond=0)
        taken = on_the_hour + timedelta(microseconds=rng.choice([-999_999, -500_000, -1, 0, 1, 400_000, 999_999]))
        ward = rng.choice(["ICU", "Surgery", "Oncology", "icu", ""])
        cells.append(f"({unit}, {n}, {x}, {coarse}, DATE '{day}', TIMESTAMP '{seen}', TIMESTAMP '{taken}', '{ward}')")
    return cells


NAMES = ("id", "n", "x", "coarse", "day", "seen", "taken", "ward")
TYPES = ("INT", "INT", "DOUBLE", "INT", "DATE", "TIMESTAMP", "TIMESTAMP", "TEXT")
KEYS = {
    "n": ["n", "FLOOR(n / 10) * 10", "n % 4", "ABS(n)", "CASE WHEN n < 7 THEN 0 ELSE n END", "-n"],
    "x": ["FLOOR(x)", "ROUND(x)", "x"],
    "coarse": ["coarse", "coarse // 10"],
    "day": [
        "day",
        "DATE_TRUNC('month', day)",
        "DATE_TRUNC('week', day)",
        "YEAR(day)",
        "MONTH(day)",
        "day + INTERVAL 3 DAY",
    ],
    "seen": [
        "seen::DATE",
        "DATE_TRUNC('day', seen)",
        "DATE_TRUNC('hour', seen)",
        "HOUR(seen)",
        "STRFTIME(seen, '%m-%d')",
    ],
    "taken": [
        "taken::DATE",
        "DATE_TRUNC('hour', taken)",
        "HOUR(taken)",
        "DATE_TRUNC('week', taken)",
        "DATE_TRUNC('hour', taken + INTERVAL 90 MINUTE)",
    ],
    "ward": ["ward", "LOWER(ward)", "LEFT(ward, 1)"],
}


def constant(rng: random.Random, column: str) -> str:
    if column in {"n", "coarse"}:
        return str(rng.choice([rng.randrange(-15, 65), 9.5, -11, 1000]))
    if column == "x":
        return str(rng.choice([rng.randrange(0, 80) / 4, 3.3, 0.124, -5, 99]))
    if column == "day":
        day = date(2023, 11, 1) + timedelta(rng.randrange(120))
        return rng.choice([f"DATE '{day}'", f"'{day}'", f"TIMESTAMP '{day} 00:00:00'"])
    if column == "taken":
        moment = datetime(2024, 1, 1) + timedelta(hours=rng.randrange(-24, 220), seconds=rng.choice([-1, 0, 0, 1]))
        return rng.choice([f"TIMESTAMP '{moment}'", f"'{moment}'", f"TIMESTAMP '{moment}.5'", f"'{moment.date()}'"])
    if column == "seen":
        moment = datetime(2024, 1, 1) + timedelta(minutes=rng.randrange(-3000, 13_000))
        return rng.choice([f"TIMESTAMP '{moment}'", f"'{moment.date()}'", f"DATE '{moment.date()}'"])
    return rng.choice(["'ICU'", "'Surgery'", "'Oncology'"])


def condition(rng: random.Random, column: str) -> str:
    one, two = constant(rng, column), constant(rng, column)
    if column == "ward":
        forms = [f"ward = {one}", f"ward IN ({one}, {two})", f"ward <> {one}", f"ward NOT IN ({one})", f"{one} = ward"]
        return rng.choice(forms)
    forms = [f"{column} {op} {one}" for op in ("<", "<=", ">", ">=", "=")]
    forms += [f"{one} {op} {column}" for op in ("<", ">=")]
    forms += [f"{column} BETWEEN {one} AND {two}", f"{column} IN ({one}, {two})", f"NOT {column} > {one}"]
    forms += [f"({column} < {one} OR {column} > {two})", f"{column} <> {one}"]
    if column == "day":
        forms += ["YEAR(day) = 2024", "YEAR(day) < 2024", "2023 < EXTRACT(YEAR FROM day)", "YEAR(day) >= 2023"]
        forms += ["MONTH(day) = 1", "MONTH(day) IN (12, 1)", "NOT MONTH(day) BETWEEN 2 AND 11"]
    if column in {"day", "seen", "taken"}:
        cuts = [f"DATE_TRUNC('{unit}', {column})" for unit in ("day", "month", "quarter", "year")]
        forms += [
            f"{cut} {op} {one}" for cut in (*cuts, f"CAST({column} AS DATE)") for op in ("<", "<=", ">", ">=", "=")
        ]
    return rng.choice(forms)


def of_the_key(rng: random.Random, column: str, key: str) -> str:
    """A condition on a key itself."""
    if column == "ward":
        one = rng.choice(["'ICU'", "'icu'", "'S'", "'Oncology'"])
        return rng.choice(
            [f"{key} = {one}", f"NOT {key} = {one}", f"({key} = {one} OR {key} = 'Surgery')", f"{key} LIKE 'S%'"]
        )
    dated = column in {"day", "seen", "taken"} and not key.startswith(("YEAR", "MONTH", "HOUR", "STRFTIME"))
    if key.startswith("STRFTIME"):
        return f"{key} = '01-0{rng.randrange(1, 10)}'"
    one, two = (constant(rng, column) if dated else str(rng.randrange(-12, 45)) for _ in range(2))
    forms = [f"{key} {op} {one}" for op in ("<", "<=", ">", ">=", "=", "<>")]
    forms += [f"{key} BETWEEN {one} AND {two}", f"({key} < {one} OR {key} > {two})", f"NOT ({key} = {one} AND n > 3)"]
    return rng.choice([*forms, f"{key} NOT IN ({one}, {two})"])


def asked(rng: random.Random, column: str, key: str, where: str) -> str:
    """One question about it, of the table itself or of a subquery that has the condition."""
    counted = f"DP-SELECT 1 {key} AS k, COUNT(*) FROM"
    return rng.choice(
        [
            f"{counted} t WHERE {where} GROUP BY {key}",
            f"{counted} (SELECT * FROM t WHERE {where}) AS s GROUP BY {key}",
            f"DP-SELECT 1 kk AS k, COUNT(*) FROM (SELECT id, {key} AS kk FROM t WHERE {where}) AS s GROUP BY kk",
        ]
    )


def said_to_be_empty(only) -> set:
    """The public values of a key that are not shown."""
    return {value for value in only.values if value in only.impossible or (only.excluded and only.excluded(value))}


def lost(seed: int, questions: int) -> list[str]:
    """Questions with a group that holds rows and is said to be impossible."""
    rng = random.Random(seed)
    filled = f"INSERT INTO t VALUES {', '.join(rows(rng, 150))}"
    made = world(
        policy_of([TABLE]), f"CREATE TABLE t ({', '.join(map(' '.join, zip(NAMES, TYPES, strict=True)))})", filled
    )
    found, tried = [], 0
    for _ in range(questions):
        column = rng.choice(list(KEYS))
        where = " AND ".join(condition(rng, rng.choice([column, column, "n"])) for _ in range(rng.randrange(1, 3)))
        key = rng.choice(KEYS[column])
        if rng.random() < 0.5:
            where += f" AND {of_the_key(rng, column, key)}"
        text = asked(rng, column, key, where)
        try:
            plan = made.plan(text)
        except QueryRefused:  # a day beside a time of day, a ward that is not in the domain
            continue
        tried += 1
        if not isinstance(plan.keys[0].values, tuple):
            continue
        (statement,) = plan.runs
        exact = execute(statement, made.engine)
        (only,) = plan.keys
        decoded = {only.decode(value) for value in exact.keys("k0")}
        if decoded & said_to_be_empty(only):
            found.append(f"{text}: {decoded & said_to_be_empty(only)}")
    assert tried > questions / 2
    return found


@pytest.mark.parametrize("seed", range(8))
def test_no_group_that_holds_a_row_is_ruled_out(seed):
    assert lost(seed, questions=60) == []


def plain(column: str, key: str, where: str) -> str:
    """The same in plain DuckDB, of a column whose cells are all within its bounds and on its grid."""
    return f"SELECT {key} AS k, COUNT(*) FROM t WHERE {where} AND {column} IS NOT NULL GROUP BY {key}"


def test_what_is_ruled_out_follows_from_the_text_alone_and_the_rest_is_counted_right():
    rng = random.Random(9)
    made = f"CREATE TABLE t ({', '.join(map(' '.join, zip(NAMES, TYPES, strict=True)))})"
    filled = world(policy_of([TABLE]), made, f"INSERT INTO t VALUES {', '.join(rows(rng, 60))}")
    inside = "n BETWEEN -10 AND 40 AND coarse BETWEEN 0 AND 60 AND coarse % 5 = 0 AND ward <> '' AND ward <> 'icu'"
    filled.engine._connection.execute(f"DELETE FROM t WHERE NOT ({inside}) OR n IS NULL")
    empty = world(policy_of([TABLE]), made)
    for _ in range(60):
        column = rng.choice(["n", "coarse", "ward"])
        key, where = rng.choice(KEYS[column]), condition(rng, column)
        text = f"DP-SELECT 1 {key} AS k, COUNT(*) FROM t WHERE {where} GROUP BY {key}"
        plan = filled.plan(text)
        assert plan.keys == empty.plan(text).keys, text
        (only,), (statement,) = plan.keys, plan.runs
        exact = execute(statement, filled.engine)
        counted = {only.decode(k): n for k, n in zip(exact.keys("k0"), exact.integers("m0").tolist(), strict=True)}
        truth = filled.engine._connection.cursor().execute(plain(column, key, where)).fetchall()
        shown = {value: counted.get(value, 0) for value in only.values if value not in said_to_be_empty(only)}
        assert {k: n * plan.measurements[0].step for k, n in shown.items() if n} == dict(truth), text


def test_a_group_that_is_ruled_out_wrongly_would_be_noticed(monkeypatch):
    """Planted: a bound that is met is taken for one that is not."""
    planted = narrowing._Left.at_least
    monkeypatch.setattr(
        narrowing._Left, "at_least", lambda self, value, *, strict: planted(self, value + 1, strict=strict)
    )
    assert any(lost(seed, questions=60) for seed in range(4))


@pytest.mark.parametrize("careless", ["reading", "order"])
def test_a_condition_that_is_tried_carelessly_would_be_noticed(careless, monkeypatch):
    """Planted: conditions are tried on values that were rounded since; and a bound that is met is taken for one not."""
    if careless == "reading":
        monkeypatch.setattr(own_conditions, "_reads_alike", lambda *given: True)
    else:
        monkeypatch.setitem(own_conditions._COMPARED, exp.LTE, operator.lt)
    assert any(lost(seed, questions=150) for seed in range(40))


@pytest.mark.parametrize(
    ("asked", "shown"),
    [
        ("MONTH(day), COUNT(*) FROM t WHERE MONTH(day) <= 2 GROUP BY 1", [1, 2]),
        ("ward, COUNT(*) FROM t WHERE ward = 'ICU' OR ward = 'Surgery' GROUP BY 1", ["ICU", "Surgery"]),
        ("HOUR(seen), COUNT(*) FROM t WHERE HOUR(seen) BETWEEN 8 AND 9 GROUP BY 1", [8, 9]),
        ("k, COUNT(*) FROM (SELECT id, n // 10 AS k FROM t WHERE n >= 20) s GROUP BY k", [2, 3, 4]),
        ("LAST_DAY(day), COUNT(*) FROM t WHERE day >= '2024-01-05' GROUP BY 1", [date(2024, 1, 31), date(2024, 2, 29)]),
        ("ward, COUNT(*) FROM t WHERE ward IN ('ICU', 'Oncology') GROUP BY ward", ["ICU", "Oncology"]),
        (  # 'icu' is not 'ICU', and none of the column's values: a row may have it
            "LOWER(ward), COUNT(*) FROM t WHERE ward <> 'ICU' GROUP BY 1",
            ["icu", "oncology", "surgery"],
        ),
        (
            "taken::DATE, COUNT(*) FROM t WHERE taken::DATE >= '2024-01-08 16:00:01' GROUP BY 1",
            [date(2024, 1, 8), date(2024, 1, 9)],
        ),
        (
            "DATE_TRUNC('hour', taken), COUNT(*) FROM t WHERE taken < '2024-01-01 02:00:00.5' GROUP BY 1",
            [datetime(2024, 1, 1, hour) for hour in (0, 1, 2)],
        ),
        ("n, COUNT(*) FROM t WHERE n > 37 GROUP BY n", [38, 39, 40]),
        ("n, COUNT(*) FROM t WHERE n BETWEEN 3 AND 5 AND coarse > 1 GROUP BY n", [3, 4, 5]),
        ("day, COUNT(*) FROM t WHERE day >= '2024-02-08' GROUP BY day", [date(2024, 2, day) for day in (8, 9, 10)]),
        ("YEAR(day), COUNT(*) FROM t WHERE YEAR(day) = 2024 GROUP BY 1", [2024]),
        ("seen::DATE, COUNT(*) FROM t WHERE seen < '2024-01-03' GROUP BY 1", [date(2024, 1, 1), date(2024, 1, 2)]),
        (
            "taken::DATE, COUNT(*) FROM t WHERE taken::DATE < '2024-01-03' GROUP BY 1",
            [date(2024, 1, 1), date(2024, 1, 2)],
        ),
        (  # half a second later it is nine still
            "DATE_TRUNC('hour', taken), COUNT(*) FROM t WHERE taken > '2024-01-08 22:59:59' GROUP BY 1",
            [*(datetime(2024, 1, 8, hour) for hour in (22, 23)), datetime(2024, 1, 9)],
        ),
        (
            "seen::DATE, COUNT(*) FROM t WHERE seen >= '2024-01-02T00Z' AND seen < '2024-01-03T02:00+01' GROUP BY 1",
            [date(2024, 1, 2), date(2024, 1, 3)],
        ),
        ("n, COUNT(*) FROM t WHERE n > 38 OR ward = 'ICU' GROUP BY n", list(range(-10, 41))),
        ("n, COUNT(*) FROM t WHERE n > 9999 GROUP BY n", [40]),  # beyond its bounds a cell counts as the end
    ],
)
def test_what_where_rules_out_is_not_shown(asked, shown):
    made = world(policy_of([TABLE]), f"CREATE TABLE t ({', '.join(map(' '.join, zip(NAMES, TYPES, strict=True)))})")
    (only,) = made.plan(f"DP-SELECT 1 {asked}").keys
    left = [value for value in only.values if value not in said_to_be_empty(only)]
    assert set(shown) <= set(left)
    assert len(left) <= len(shown) or asked.endswith("9999 GROUP BY n")


# ── through the rooms ────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def curator(tmp_path):
    made = f"CREATE TABLE t ({', '.join(map(' '.join, zip(NAMES, TYPES, strict=True)))})"
    return world(policy_of([TABLE]), made, f"INSERT INTO t VALUES {', '.join(rows(random.Random(1), 90))}").curator(
        tmp_path
    )


@pytest.mark.parametrize(
    ("columns", "found"),
    [
        ("n, COUNT(*) AS c", [38, 39, 40]),
        ("n, COUNT(*) AS c, SUM(COUNT(*)) OVER (ORDER BY n) AS running", [38, 39, 40]),
        ("n, AVG(coarse) AS c, MODE(ward) AS m", [38, 39, 40]),
    ],
)
def test_what_is_computed_sees_only_the_groups_that_where_leaves(curator, columns, found):
    asked = f"DP-SELECT 1 {columns} FROM t WHERE n > 37 GROUP BY n ORDER BY n"
    answer = curator.ask(asked, session=Session("ana"))
    assert [row[0] for row in answer.rows] == found
    assert len(answer.errors) == len(answer.rows)
    if "running" in columns:
        assert answer.rows[-1][2] == sum(row[1] for row in answer.rows)
        assert all(errors[2] > 0 for errors in answer.errors)  # simulated over the same groups
    assert [row[0] for row in curator.ask(asked, session=Session("ana")).rows] == found  # kept, and given again


def test_rollup_and_where_agree_on_the_groups(curator):
    asked = "DP-SELECT 1 n, ward, COUNT(*) AS c, RANK() OVER (ORDER BY COUNT(*)) AS r FROM t"
    answer = curator.ask(f"{asked} WHERE n > 37 AND ward <> 'ICU' GROUP BY ROLLUP (n, ward)", session=Session("ana"))
    assert {row[0] for row in answer.rows} == {38, 39, 40, None}
    assert {row[1] for row in answer.rows} == {"Surgery", "Oncology", None}
