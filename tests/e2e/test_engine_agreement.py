"""Answers before noise are equal whole numbers on all engines: a thousand questions, and every odd letter and number.

DuckDB's order of a unit's own rows is its own fast hash, so which rows of a heavy unit are kept differs between
engines. Where a plan keeps only some, both engines are given one order here; everything else runs as it always does.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction

import pytest
from sqlglot import exp

from conformance.engine_pairs import Script, cells, comparable, planned, questions, random_script, samples
from conformance.engine_sources import OTHERS, Other
from conformance.sql_words import CONDITIONS, TEXTS
from conformance.sql_world import policy_of
from tacit.core import Loss
from tacit.curator.calibrate import Quantity, Target, plan_calibration
from tacit.engines import Engine
from tacit.errors import EngineError, QueryRefused
from tacit.faces.owner.grids import bound_edges, cap_edges
from tacit.policy import ColumnPolicy, ColumnType, TablePolicy
from tacit.sql import Plan, parse
from tacit.sql.emitting import dialects
from tacit.sql.emitting.dialects import emit
from tacit.sql.expressions.numeric import arithmetic

QUESTIONS = 50  # of each table
TABLES = 2
TABLES_HEAVY = 20  # 1,000 questions of each engine
LETTERS = (
    "ß", "ẞ", "SS", "İ", "i", "I", "ı", "Σ", "σ", "ς", "ŉ", "ǅ", "ǆ", "é", "e\u0301", "É", "Ä", "ä", "Я", "я",
    " x", "x ", "\u00a0x\u3000", "\tx\n", "x", "a%b", "aXb", "a\\%b", "a\\b", "a_b", "a'b", "", "🏔", "🏔x", "A", "a",
    "_", "Z", "[", "zz", "ZZ", "x" * 300,
)  # fmt: skip
JAVAS_OWN = {"ŉ", "Σ"}  # Spark writes two letters for the one, and the other according to where it stands
ASKED_OF_LETTERS = (
    *(f"DP-SELECT 1 DELTA 1e-6 {f}, COUNT(*) FROM t GROUP BY {f}"
      for f in ("s", "UPPER(s)", "LOWER(s)", "TRIM(s)", "LENGTH(s)", "SUBSTRING(s, 1, 1)", "SUBSTRING(s, 2)",
                "LOWER(TRIM(s))", "COALESCE(s, 'none')", "LENGTH(UPPER(s))")),
    *(f"DP-SELECT 1 COUNT(*) FROM t WHERE {c}"
      for c in ("s LIKE 'a%b'", r"s LIKE 'a\%b'", "s LIKE 'a_b'", "s LIKE '_'", "s LIKE ''", "s ILIKE 'É'",
                "s ILIKE 'a%B'", "s ILIKE 'ẞ'", "s ILIKE 'i'", "s < 'a'", "s > 'Z'", "s >= 'é'",
                "s BETWEEN 'A' AND 'z'", "UPPER(s) = 'ẞ'", "s = 'a''b'", "s IN ('é', '')", "NOT s LIKE '%x%'")),
    *(f"DP-SELECT 1 DELTA 1e-6 {f}, COUNT(*) FROM t GROUP BY {f}" for f in TEXTS),
    *(f"DP-SELECT 1 COUNT(*) FROM t WHERE {c}" for c in CONDITIONS),
    "DP-SELECT 1 COUNT(DISTINCT s) FROM t",
    *(f"DP-SELECT 1 COUNT(DISTINCT {pair}) FROM t" for pair in ("s, g", "g, n", "flag, s, m", "uid, g")),
    "DP-SELECT 1 COUNT(DISTINCT UPPER(s)) FROM t",
)  # fmt: skip
NUMBERS = (
    "0",
    "5e-324",
    "-5e-324",
    "1e-310",
    "0.5",
    "1.5",
    "2.5",
    "-0.5",
    "1e308",
    "-1e308",
    "'nan'",
    "'inf'",
    "'-inf'",
)
MOMENTS = ("'infinity'", "'-infinity'", "'0044-03-15 (BC)'", "'12345-06-07'", "'2024-02-29'", "'1969-12-31'", "NULL")
TAME_MOMENTS = ("'0001-01-01'", "'9999-12-31'", "'2024-02-29'", "'1969-12-31'", "'1500-06-07'", "NULL")
ASKED_OF_NUMBERS = (
    *(f"DP-SELECT 1 {f} FROM t" for f in ("SUM(x)", "AVG(x)", "SUM(x * x)", "SUM(ABS(x))", "SUM(ROUND(x))",
                                           "SUM(CASE WHEN x > 0 THEN 1000000 ELSE 0 END * 1000000)", "MEDIAN(x)",
                                           "COUNT(DISTINCT x)", "SUM(FLOOR(x / 0.7))", "SUM(y)", "SUM(x / 3)",
                                           "VAR_POP(x)",
                                           "SUM(CASE WHEN x > 0 THEN 100000 ELSE 0.5 END + 0.00001)")),
    *(f"DP-SELECT 1 COUNT(*) FROM t WHERE {c}" for c in ("x > 0", "x = 0", "x < 1e-200", "x > 1e300", "x = x", "x <> x",
                                                         "n = x", "r = 0.1", "r > 1e-50", "r < 1e200", "x IS NULL")),
    *(f"DP-SELECT 1 DELTA 1e-6 {k}, COUNT(*) FROM t GROUP BY {k}"
      for k in ("x", "r", "n", "d", "ts", "YEAR(d)", "YEAR(ts)", "MONTH(d)", "EXTRACT(DOW FROM d)", "HOUR(ts)",
                "DATE_TRUNC('month', d)", "DATE_TRUNC('week', ts)", "QUARTER(ts)", "DATE_TRUNC('quarter', d)")),
    *(f"DP-SELECT 1 COUNT(*) FROM t WHERE {c}" for c in ("d > '2024-01-01'", "ts < DATE '2024-03-01'", "d IS NULL",
                                                         "YEAR(d) < 0", "YEAR(d) = -43", "DAY(d) = 29",
                                                         "d > TIMESTAMP '2024-02-29 12:00:00'",
                                                         "TIMESTAMP '1969-12-31 00:00:01' > d")),
    *(f"DP-SELECT 1 SUM(s) FROM (SELECT uid, {f} AS s FROM t GROUP BY uid) AS z"  # of each unit's own rows
      for f in ("STDDEV(x)", "VAR_POP(y)", "VARIANCE(x)", "STDDEV_POP(x + y)", "MEDIAN(x)", "MEDIAN(y)",
                "QUANTILE_CONT(x, 0.3)", "STDDEV(DATE_DIFF('day', d, DATE '2030-12-31'))", "AVG(x)")),
    "DP-SELECT 1 SUM(s) FROM (SELECT uid, n, STDDEV(x) AS s, MEDIAN(y) AS m FROM t GROUP BY uid, n) AS z WHERE m < 1",
)  # fmt: skip


@pytest.fixture(params=OTHERS)
def other(request: pytest.FixtureRequest) -> Other:
    return OTHERS[request.param]


@contextmanager
def both(script: Script, other: Other) -> Iterator[tuple[Engine, Engine]]:
    """The same table in DuckDB and in another engine."""
    fitted = other.fitted(script)
    first, second = fitted.world().engine, other.opened(fitted)
    try:
        yield first, second
    finally:
        first.close()
        second.close()


def disagreement(text: str, made: Plan, *, first: Engine, second: Engine) -> str | None:
    """Where two engines differ on a question."""
    for statement in made.runs:
        try:
            left, right = (cells(engine, statement, shared=True) for engine in (first, second))
            if samples(statement):
                cells(second, statement, shared=False)  # its own order: other rows of a unit, but no failure
        except QueryRefused:  # the other has no words for it: refused there, before anything is charged
            return None
        except EngineError:
            return f"{text}: failed"
        if left != right:
            return f"{text}: {left} is not {right}"
    return None


def compared(seed: int, other: Other, *, count: int = QUESTIONS, bias: bool = False) -> list[str]:
    rng = random.Random(seed)
    script = random_script(rng, rows=60, units=7, tame=other.tame)
    with both(script, other) as (first, second):
        found, refused = [], 0
        for text, plan in questions(rng, script, schema=first.schema(), count=count, bias=bias):
            try:
                found.append(disagreement(text, plan, first=first, second=second))
            except QueryRefused:  # before any charge: the other engine has no words for it
                refused += 1
        assert refused <= count / 20
        return [said for said in found if said]


@pytest.mark.parametrize("seed", range(TABLES))
def test_questions_have_equal_whole_numbers_before_noise(seed, other):
    assert compared(seed, other, count=QUESTIONS // 2) == []


@pytest.mark.parametrize("seed", range(100, 100 + TABLES))
def test_what_the_bounds_cut_is_equal_whole_numbers_before_noise(seed, other):
    assert compared(seed, other, count=QUESTIONS // 5, bias=True) == []


@pytest.mark.heavy
@pytest.mark.parametrize("seed", range(TABLES, TABLES + TABLES_HEAVY))
def test_a_thousand_questions_have_equal_whole_numbers_before_noise(seed, other):
    assert compared(seed, other) == []


def script_of(columns: str, lines: list[str], *, policies: list[ColumnPolicy], max_rows: int) -> Script:
    table = TablePolicy("t", "uid", columns=policies, max_rows=max_rows, max_groups=60, max_distinct=60)
    inserted = f"INSERT INTO base VALUES {', '.join(lines)}"
    view = "CREATE VIEW t AS SELECT * FROM base"
    return Script(policy_of([table]), (f"CREATE TABLE base (uid BIGINT, {columns})", inserted, view))


def letters(*, tame: bool = False) -> Script:
    chosen = [text for text in LETTERS if not tame or text not in JAVAS_OWN]
    texts = ["'{}'".format(text.replace("'", "''")) for text in chosen]
    lines = [
        f"({i % 3}, {s}, {('TRUE', 'FALSE', 'NULL')[i % 3]}, {('1', '2', '3', 'NULL')[i % 4]}, {i % 5 - 2}, {i % 7},"
        f" 0.5, {texts[(i + 1) % len(texts)] if i % 4 else 'NULL'})"
        for i, s in enumerate([*texts, "NULL", "NULL", "NULL"])
    ]
    bounded = [ColumnPolicy(name, lower=-3, upper=7, step=step) for name, step in (("n", 1), ("x", "1/2"), ("y", 1))]
    columns = [ColumnPolicy("m", lower=0, upper=5, step=1), *bounded, *map(ColumnPolicy, ("s", "g", "flag"))]
    kinds = "s VARCHAR, flag BOOLEAN, m INTEGER, n BIGINT, x DOUBLE, y DOUBLE, g VARCHAR"
    return script_of(kinds, lines, policies=columns, max_rows=50)


def numbers(*, tame: bool = False) -> Script:
    moments = TAME_MOMENTS if tame else MOMENTS
    lines = [
        f"({i % 4}, {x}, {x}, {(0, 1, 7, 2**62)[i % 4]}, {('0.1', '1e-45', '3e38', 'NULL')[i % 4]}, {d}, {d})"
        for i, (x, d) in enumerate((x, d) for x in NUMBERS for d in moments)
    ]
    columns = [
        ColumnPolicy("x", lower=-2, upper=2, step="1/3"),
        ColumnPolicy("y", lower=-6, upper=6, step=3),
        ColumnPolicy("n"),
        ColumnPolicy("r"),
        ColumnPolicy("d", lower="1970-01-01", upper="2030-12-31", type="date"),
        ColumnPolicy("ts", lower="1970-01-01T00:00:00", upper="2030-12-31T00:00:00", step=60, type="timestamp"),
    ]
    kinds = "x DOUBLE, y DOUBLE, n BIGINT, r FLOAT, d DATE, ts TIMESTAMP"
    return script_of(kinds, lines, policies=columns, max_rows=3)


@pytest.mark.parametrize(("made", "asked"), [(letters, ASKED_OF_LETTERS), (numbers, ASKED_OF_NUMBERS)])
def test_odd_cells_have_equal_whole_numbers_before_noise(made, asked, other):
    script = made(tame=other.tame)
    with both(script, other) as (first, second):
        assert list(answers_differ(asked, script, first=first, second=second)) == []


def test_bounds_that_no_64_bits_or_no_double_hold_are_the_same_everywhere(other):
    """Sail would make decimals of doubles beside a bound of 2^63 or more, and cut a constant off to the next double."""
    far, fine = 13835058055282163685, Fraction(9007199254741055, 2)
    lines = [f"({i % 3}, {x}, {x}, {x})" for i, x in enumerate((*NUMBERS, "NULL", "4503599627370527", "1.2e19"))]
    columns = [
        ColumnPolicy("x", lower=-far, upper=far, step=3, null=far),
        ColumnPolicy("y", lower=-fine, upper=fine, step="1/2", null=fine),
        ColumnPolicy("z", lower=-far, upper=far, step=3, type="integer"),
    ]
    script = script_of("x DOUBLE, y DOUBLE, z DOUBLE", lines, policies=columns, max_rows=2)
    asked = [f"DP-SELECT 1 {f}({c}) FROM t" for c in "xyz" for f in ("SUM", "AVG")]
    asked += [f"DP-SELECT 1 COUNT(*) FROM t WHERE {c}" for c in ("x + x > 1", "ROUND(y, -1) > 0", "ABS(x) % 2 = 1")]
    with both(script, other) as (first, second):
        assert list(answers_differ(asked, script, first=first, second=second)) == []


def answers_differ(asked: Sequence[str], script: Script, *, first: Engine, second: Engine) -> Iterator[str]:
    for text in asked:
        made, other = (planned(text, script.policy, schema=engine.schema()) for engine in (first, second))
        assert made.key == other.key  # one plan, wherever the data lie
        problem = disagreement(text, made, first=first, second=second)
        if problem:
            yield problem


def test_calibration_has_equal_whole_numbers_before_noise(other):
    script = numbers(tame=other.tame)
    targets = [
        Target("t", Quantity.MAX_ROWS, (), cap_edges()),
        Target("t", Quantity.MAX_GROUPS, ("n", "d"), cap_edges()),
        *(
            Target("t", quantity, (column,), bound_edges(kind, upper=quantity is Quantity.UPPER))
            for column, kind in (("x", ColumnType.NUMBER), ("d", ColumnType.DATE), ("ts", ColumnType.TIMESTAMP))
            for quantity in (Quantity.LOWER, Quantity.UPPER)
        ),
    ]
    with both(script, other) as engines:
        found = []
        for engine in engines:
            made = plan_calibration(
                script.policy, targets, schema=engine.schema(), price=Loss(1), coverage=Fraction(9, 10),
                dialect=engine.dialect,
            )  # fmt: skip
            found.append([comparable(engine.execute(text)) for step in made.steps for text in step.sql])
    assert found[0] == found[1]


def test_days_and_seconds_since_1970_are_equal_whole_numbers(other):
    script = numbers(tame=True)
    text = """SELECT CAST(FLOOR(EXTRACT(EPOCH FROM "ts")) AS BIGINT) AS s, CAST("d" - DATE '1970-01-01' AS BIGINT) AS d,
        COUNT(*) AS n FROM "t" GROUP BY 1, 2"""
    with both(script, other) as engines:
        found = [comparable(engine.execute(emit(parse(text).select, engine.dialect))) for engine in engines]
    assert found[0] == found[1]
    assert len(found[0]) == len(TAME_MOMENTS)


@pytest.mark.parametrize(
    ("forgotten", "made", "asked"),
    [
        (exp.Trim, letters, ASKED_OF_LETTERS),
        (exp.Upper, letters, ASKED_OF_LETTERS),
        (exp.Like, letters, ASKED_OF_LETTERS),
        (exp.Extract, numbers, ASKED_OF_NUMBERS),
        (exp.Div, numbers, ASKED_OF_NUMBERS),
        (exp.IsNan, numbers, ASKED_OF_NUMBERS),
        (exp.DataType, numbers, ASKED_OF_NUMBERS),
    ],
)
def test_a_rewrite_that_is_forgotten_is_noticed(forgotten, made, asked, monkeypatch):
    script = made()
    monkeypatch.delitem(dialects._POSTGRES, forgotten)
    with both(script, OTHERS["postgres"]) as (first, second):
        assert any(answers_differ(asked, script, first=first, second=second))


def test_constants_are_wide_enough_for_what_is_made_of_them(monkeypatch):
    """A constant has 32 bits: without a word on its width, a product fails on the rows that are large enough."""
    script = numbers()
    text = "DP-SELECT 1 SUM(CASE WHEN x > 0 THEN 100000 ELSE 0.5 END + 0.00001) FROM t"
    with both(script, OTHERS["postgres"]) as (first, second):
        (statement,) = planned(text, script.policy, schema=first.schema()).statements
        assert cells(first, statement, shared=False) == cells(second, statement, shared=False)
        monkeypatch.setattr(arithmetic, "width_of", lambda *ends: arithmetic.Width.INT)
        (narrow,) = planned(text, script.policy, schema=first.schema()).statements
        with pytest.raises(EngineError):
            cells(first, narrow, shared=False)
