"""PostgreSQL and Sail: no cell at the end of its type makes a question fail, in its row or in a column's statistics.

PostgreSQL's planner compares constants with the most common cells, with those of a histogram, and with the ends of an
index; Sail's reads the least and greatest cell of a file. DuckDB's are in `test_sql_statistics`.
"""

from __future__ import annotations

import itertools
import os
import random
import re
from collections.abc import Iterator

import duckdb
import psycopg
import pytest
from sqlglot import exp

from conformance import sql_dates, sql_questions, sql_words
from conformance.sql_world import policy_of
from support import sail
from support.postgres import server
from tacit.core import Loss
from tacit.engines import UNLIMITED, Engine
from tacit.errors import EngineError, TacitError
from tacit.policy import ColumnPolicy, Dataset, Policy, TablePolicy
from tacit.sql import bind, parse, plan
from tacit.sql.planning import statements
from tacit.sql.rules.clamp import clamp

POSTGRES = {  # of each type its ends, and what is odd in it
    "SMALLINT": ("-32768", "32767"),
    "INTEGER": ("-2147483648", "2147483647"),
    "BIGINT": ("-9223372036854775808", "9223372036854775807"),
    "NUMERIC(4,1)": ("-999.9", "999.9", "'NaN'"),
    "NUMERIC": ("-1e1000", "1e1000", "1e-1000", "'NaN'", "'Infinity'", "'-Infinity'"),
    "REAL": ("'-Infinity'", "3.4e38", "1e-45", "'NaN'"),
    "DOUBLE PRECISION": ("-1.7976931348623157e308", "'Infinity'", "'NaN'", "5e-324"),
}
SPARK = {
    "SMALLINT": ("-32768", "32767"),
    "INTEGER": ("-2147483648", "2147483647"),
    "BIGINT": ("-9223372036854775808", "9223372036854775807"),
    "DECIMAL(4,1)": ("-999.9", "999.9"),
    "DECIMAL(38,10)": ("-" + "9" * 28 + "." + "9" * 10, "9" * 28 + "." + "9" * 10),
    "FLOAT": ("'-inf'", "3.4e38", "1e-45", "'nan'"),
    "DOUBLE": ("-1.7976931348623157e308", "'inf'", "'nan'", "5e-324"),
}
DAYS = {
    "postgres": ("'4713-01-01 BC'", "'5874897-12-31'", "'infinity'", "'-infinity'"),
    "spark": ("'5877642-06-25 (BC)'", "'5881580-07-10'", "'0001-01-01'", "'9999-12-31'"),
}
TIMES = {
    "postgres": ("'4713-01-01 00:00:00 BC'", "'294276-12-31 23:59:59.999999'", "'infinity'", "'-infinity'"),
    "spark": ("'290309-12-22 (BC) 00:00:00'", "'294247-01-10 04:00:54.775806'", "'0001-01-01'", "'9999-12-31'"),
}
TEXTS = ("''", "repeat(chr(1114111), 3000)", "'a,%_\\'", "chr(1)")


EACH = [4, pytest.param(1, marks=pytest.mark.heavy)]  # so many forms is one looked at


def _policy(kinds: dict[str, tuple[str, ...]]) -> Policy:
    numbers = [ColumnPolicy(f"x{place}", lower=0, upper=10, step="0.5") for place in range(len(kinds))]
    columns = [
        *numbers,
        *(ColumnPolicy(f"b{place}") for place in range(len(kinds))),
        *(ColumnPolicy(name) for name in ("s", "ts", "flag")),
        ColumnPolicy("g", domain=["CS", "Bio"]),
        ColumnPolicy("d", type="date", lower="2020-01-01", upper="2020-03-31", domain="range"),
        ColumnPolicy("e", type="date", lower="1990-01-01", upper="2030-12-31"),
        ColumnPolicy("tb", type="timestamp", lower="2019-01-01T00:00:00", upper="2021-12-31T00:00:00"),
    ]
    return policy_of([TablePolicy("t", "uid", columns=columns, max_rows=2, max_groups=2)])


def _columns(kinds: dict[str, tuple[str, ...]], text: str) -> str:
    numbers = ", ".join(f"x{place} {kind}, b{place} {kind}" for place, kind in enumerate(kinds))
    return f"uid INTEGER, s {text}, g {text}, flag BOOLEAN, d DATE, e DATE, tb TIMESTAMP, ts TIMESTAMP, {numbers}"


def _rows(kinds: dict[str, tuple[str, ...]], dialect: str) -> Iterator[str]:
    """Rows with the ends of every type, each often enough to be a common cell, and plain ones for a histogram."""
    for row in range(24):
        day, time = DAYS[dialect][row % 4], TIMES[dialect][row % 4]
        cells = [ends[row % len(ends)] for ends in kinds.values() for _ in range(2)]
        yield f"({row % 5}, {TEXTS[row % 4]}, 'CS', TRUE, {day}, {day}, {time}, {time}, {', '.join(cells)})"
    for row in range(300):
        day = f"DATE '2020-01-01' + {row % 91}"
        cells = [str(row % 11) for _ in kinds for _ in range(2)]
        moment = "TIMESTAMP '2020-02-03 04:05:06'"
        yield f"({row % 9}, 'Bio', 'Bio', NULL, {day}, {day}, {moment}, {moment}, {', '.join(cells)})"


def in_postgres() -> tuple[Engine, Policy]:
    from tacit.engines.postgres.engine import open_postgres

    url, policy = server().database(), _policy(POSTGRES)
    with psycopg.connect(url) as owner:
        owner.execute(f"CREATE TABLE t ({_columns(POSTGRES, 'TEXT')})".encode())
        owner.execute(f"INSERT INTO t VALUES {', '.join(_rows(POSTGRES, 'postgres'))}".encode())
        for name in (*(f"b{place}" for place in range(len(POSTGRES))), "e", "tb", "d"):
            owner.execute(f"CREATE INDEX ON t ({name})".encode())
        owner.execute("ANALYZE t")
    return open_postgres(Dataset("d", url, engine="postgres"), policy.tables, limits=UNLIMITED), policy


def in_sail(directory) -> tuple[Engine, Policy]:
    from tacit.engines.spark.engine import open_spark

    policy, file = _policy(SPARK), directory / "t.parquet"
    with duckdb.connect() as owner:
        owner.execute(f"CREATE TABLE t ({_columns(SPARK, 'VARCHAR')})")
        owner.execute(f"INSERT INTO t VALUES {', '.join(_rows(SPARK, 'spark'))}")
        owner.execute(f"COPY t TO '{file}' (FORMAT parquet)")
    os.environ["SPARK_REMOTE"] = sail.server()
    return open_spark(Dataset("d", {"t": str(file)}, engine="spark"), policy.tables, limits=UNLIMITED), policy


def _forms() -> Iterator[str]:
    for form in sql_questions.FORMS:
        yield f"SUM({form}) FROM t"
        yield f"COUNT(*) FROM t WHERE {form} > 3"
    yield from (f"{form} FROM t" for form in sql_questions.AGGREGATES)
    for condition in ("b = †", "b <= †", "b IN (0, †)", "b = x", "b > 1e37", "b BETWEEN -1 AND †", "b <> 0.1"):
        yield from [f"COUNT(*) FROM t WHERE {condition}"] * 5
    yield from (f"COUNT(*) FROM t WHERE {condition}" for condition in sql_questions.CONDITIONS)
    yield from (f"{key}, COUNT(*) FROM t GROUP BY 1" for key in sql_questions.KEYS)
    yield from (f"COUNT(DISTINCT {text}) FROM t" for text in (*sql_words.TEXTS, *sql_dates.MOMENTS))


def questions(rng: random.Random, kinds: dict[str, tuple[str, ...]]) -> Iterator[str]:
    """Every form of the generators, over columns of one type, another for each form."""
    for form in _forms():
        place = rng.randrange(len(kinds))
        signs = {"#": "x", "°": "x", "§": "b > 2", "¢": rng.choice(sql_questions.CONSTANTS), "@": rng.choice("de")}
        signs["†"] = rng.choice(sql_questions.EDGES)
        text = re.sub("[#°§¢†@]", lambda sign, signs=signs: signs[sign.group()], form)
        parts = re.split(r"('(?:[^']|'')*')", text)
        named = [part if at % 2 else re.sub(r"\b[xbmnyq]\b", lambda name, place=place: _named(name, place), part)
                 for at, part in enumerate(parts)]  # fmt: skip
        yield "".join(named)


def _named(name: re.Match[str], place: int) -> str:
    return f"{'b' if name.group() == 'b' else 'x'}{place}"


def failures(engine: Engine, policy: Policy, texts: Iterator[str]) -> tuple[list[str], int]:
    """What an engine says to the plans of the questions, and how many of them have one."""
    found, planned = [], 0
    for text in texts:
        try:
            bound = bind(parse(f"DP-SELECT 1 DELTA 1e-6 {text}"), policy, schema=engine.schema())
            runs = plan(bound, policy, price=Loss(1, "1e-6")).statements
        except TacitError:  # refused to everybody
            continue
        planned += 1
        for statement in runs:
            try:
                engine.execute(statement.sql(engine.dialect))
            except EngineError as error:
                found.append(f"{text}: {error!r} {error.__cause__}")
    return found, planned


@pytest.mark.parametrize("each", EACH)
def test_no_question_fails_in_postgresql_on_a_cell_at_the_end_of_its_type(each) -> None:
    engine, policy = in_postgres()
    texts = itertools.islice(questions(random.Random(each), POSTGRES), 0, None, each)
    found, planned = failures(engine, policy, texts)
    engine.close()
    assert found == []
    assert planned > 300 / each


@pytest.mark.parametrize("each", EACH)
def test_no_question_fails_in_sail_on_a_cell_at_the_end_of_its_type(each, tmp_path) -> None:
    engine, policy = in_sail(tmp_path)
    texts = itertools.islice(questions(random.Random(each), SPARK), 0, None, each)
    found, planned = failures(engine, policy, texts)
    engine.close()
    assert found == []
    assert planned > 300 / each


def test_a_cell_that_is_not_held_off_is_noticed(monkeypatch) -> None:
    """The planted bug: values are put on their grid without being clamped first."""

    def unclamped(tree, facts):
        for mark in list(tree.find_all(exp.Anonymous)):
            if mark.this == "GRID":
                mark.set("expressions", [mark.expressions[0], mark.expressions[0].copy()])
        return tree

    rules = tuple(unclamped if rule is clamp else rule for rule in statements.SUM_RULES)
    monkeypatch.setattr(statements, "SUM_RULES", rules)
    engine, policy = in_postgres()
    found, _ = failures(engine, policy, (f"SUM(x{place}) FROM t" for place in range(len(POSTGRES))))
    engine.close()
    assert found
