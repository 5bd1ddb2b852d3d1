"""No number or text at the end of its type makes a question fail: not in its row, and not in a column's statistics.

DuckDB works some functions out of a column's least and greatest cell while it plans, whatever CASE holds those off.
`FAILING` are those that fail so: whatever we write for DuckDB is none of them. A newer DuckDB that does so for more of
them is noticed here.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

import duckdb
import pytest
from sqlglot import exp

from conformance import sql_dates, sql_questions, sql_words
from conformance.sql_world import World, policy_of, world
from tacit.errors import TacitError
from tacit.policy import ColumnPolicy, TablePolicy

WHOLE = {name: (-(1 << bits - 1), (1 << bits - 1) - 1) for name, bits in (
    ("TINYINT", 8), ("SMALLINT", 16), ("INTEGER", 32), ("BIGINT", 64), ("HUGEINT", 128),
)}  # fmt: skip
UNSIGNED = {name: (0, (1 << bits) - 1) for name, bits in (("UTINYINT", 8), ("UBIGINT", 64), ("UHUGEINT", 128))}
NUMBERS: dict[str, tuple[object, ...]] = {
    **WHOLE,
    **UNSIGNED,
    "DECIMAL(4,1)": ("-999.9", "999.9"),
    "DECIMAL(18,3)": ("-" + "9" * 15 + ".999", "9" * 15 + ".999"),
    "DECIMAL(38,37)": ("-9." + "9" * 37, "9." + "9" * 37),
    "FLOAT": ("'-inf'", "'nan'", "1e-45", "3.4e38"),
    "DOUBLE": ("'-inf'", "'nan'", "5e-324", "1.7976931348623157e308"),
}
TEXTS = ("''", "repeat(chr(1114111), 3000)", "'a,%_\\'", "chr(1)")


def _columns() -> list[ColumnPolicy]:
    bounded = [ColumnPolicy(f"x{place}", lower=0, upper=10, step="0.5") for place in range(len(NUMBERS))]
    return [*bounded, *(ColumnPolicy(f"b{place}") for place in range(len(NUMBERS))), ColumnPolicy("s")]


def _made(cell: int | None) -> Iterator[str]:
    """The table: one row with the cell of this number of every type, or all of them and a plain one."""
    listed = ", ".join(f"x{place} {kind}, b{place} {kind}" for place, kind in enumerate(NUMBERS))
    yield f"CREATE TABLE t (uid INTEGER, s VARCHAR, {listed})"
    for row in range(4) if cell is None else [cell]:
        cells = [f"{ends[row % len(ends)]}" for ends in NUMBERS.values() for _ in range(2)]
        yield f"INSERT INTO t VALUES ({row}, {TEXTS[row]}, {', '.join(cells)})"
    if cell is None:
        yield f"INSERT INTO t VALUES (9, 'Bio', {', '.join('3' for _ in range(2 * len(NUMBERS)))})"


@pytest.fixture(scope="module")
def there() -> Iterator[World]:
    made = world(policy_of([TablePolicy("t", "uid", columns=_columns(), max_rows=2, max_groups=2)]), *_made(None))
    yield made
    made.engine.close()


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[duckdb.DuckDBPyConnection]]:
    """The same rows as files, whose groups have statistics, and tables of one row, whose least cell is the greatest."""
    made = []
    for cell in (None, 0, 1):
        connection = duckdb.connect()
        for statement in _made(cell):
            connection.execute(statement)
        file = tmp_path_factory.mktemp("ends") / "t.parquet"
        if cell is None:  # there is no such number in a file of 128 bits: as a double it is another column
            connection.execute(f"COPY t TO '{file}' (FORMAT parquet)")
            kinds = ", ".join(f"CAST(x{i} AS {kind}) AS x{i}, CAST(b{i} AS {kind}) AS b{i}"
                              for i, kind in enumerate(NUMBERS) if "HUGE" not in kind)  # fmt: skip
            huge = ", ".join(f"0::{kind} AS x{i}, 0::{kind} AS b{i}"
                             for i, kind in enumerate(NUMBERS) if "HUGE" in kind)  # fmt: skip
            connection.execute(
                f"DROP TABLE t; CREATE VIEW t AS SELECT uid, s, {kinds}, {huge} FROM read_parquet('{file}')"
            )
        made.append(connection)
    yield made
    for connection in made:
        connection.close()


def _texts(rng: random.Random) -> Iterator[str]:
    """Every form of the generators over columns of one type, another for each form."""
    forms = [form for form in sql_questions.FORMS if form not in sql_dates.NUMBERS]
    for form in forms:
        yield f"SUM({form}) FROM t" if rng.random() < 0.5 else f"COUNT(*) FROM t WHERE {form} > 3"
    yield from (f"{form} FROM t" for form in sql_questions.AGGREGATES if form not in sql_dates.AGGREGATES)
    for condition in ("b = †", "b <= †", "b IN (0, †)", "b = x", "b > 1e37", "b BETWEEN -1 AND †"):
        yield from [f"COUNT(*) FROM t WHERE {condition}"] * 4
    for key in ("b", "FLOOR(x / 2)", "x % 2", "ROUND(x)", "x // 4", "CASE WHEN b > 0 THEN 'high' ELSE 'low' END"):
        yield from [f"{key}, COUNT(*) FROM t GROUP BY 1"] * 3
    yield from (f"COUNT(DISTINCT {text}) FROM t" for text in (*sql_words.TEXTS, *sql_words.ENGINE_TEXTS))
    yield from (f"COUNT(*) FROM t WHERE {condition}" for condition in sql_words.CONDITIONS)


def _written(rng: random.Random) -> Iterator[str]:
    for form in _texts(rng):
        place = rng.randrange(len(NUMBERS))
        signs = {"#": f"x{place}", "°": f"x{place}", "§": f"b{place} > 2", "¢": rng.choice(sql_questions.CONSTANTS),
                 "†": rng.choice(sql_questions.EDGES)}  # fmt: skip
        text = re.sub("[#°§¢†]", lambda sign, signs=signs: signs[sign.group()], form)
        yield re.sub(r"\b([xbm])\b(?!')", lambda name, place=place: f"{name[1].replace('m', 'x')}{place}", text)


def test_no_question_fails_on_a_cell_at_the_end_of_its_type(there, stored) -> None:
    found, planned = [], 0
    for text in _written(random.Random("statistics")):
        try:
            statements = there.plan(f"DP-SELECT 1 DELTA 1e-6 {text}").statements
        except TacitError:  # refused to everybody
            continue
        planned += 1
        for statement in statements:
            sql = f"SELECT SUM(HASH(every)::HUGEINT) FROM ({statement.sql('duckdb')}) AS every"
            for connection in (there.engine._connection.cursor(), *stored):
                try:
                    connection.execute(sql).fetchall()
                except duckdb.Error as error:
                    found.append(f"{text}: {error}")
    assert found == []
    assert planned > 150


FAILING = {  # functions that DuckDB fails to work out of the first or last cell of a type, whatever holds them off
    "DATE": (("'5877642-06-25 (BC)'", "'5881580-07-10'"), ("WEEK", "ISOYEAR", "YEARWEEK"), ("epoch_us", "epoch_ns")),
    "TIMESTAMP": (("'290309-12-22 (BC) 00:00:00'", "'294247-01-10 04:00:54.775806'"), (), ("epoch_ms", "epoch_ns")),
}
PARTS = (
    "YEAR", "MONTH", "DAY", "DECADE", "CENTURY", "MILLENNIUM", "QUARTER", "DOW", "ISODOW", "DOY", "ERA", "EPOCH",
    "HOUR", "MINUTE", "SECOND", "JULIAN", "WEEK", "ISOYEAR", "YEARWEEK",
)  # fmt: skip
OTHERS = (
    "epoch_us", "epoch_ms", "epoch_ns", "last_day", "monthname", "dayname", "strftime('%Y', {})", "CAST({} AS VARCHAR)",
    "CAST({} AS TIMESTAMP)", "{} + INTERVAL 1 MONTH", "date_diff('day', DATE '2000-01-01', {})",
)  # fmt: skip


@pytest.mark.parametrize("kind", FAILING)
def test_what_an_engine_works_out_of_statistics_is_known(kind) -> None:
    """With the cells of a table; whoever writes another function for DuckDB finds out here that it may fail."""
    ends, parts, calls = FAILING[kind]
    connection = duckdb.connect()
    connection.execute(f"CREATE TABLE t AS SELECT UNNEST([{', '.join(f'{end}::{kind}' for end in ends)}]) AS x")
    failing = set()
    for name in (*PARTS, *OTHERS):
        value = f"date_part('{name}', x)" if name in PARTS else name.format("x") if "{" in name else f"{name}(x)"
        guarded = f"CASE WHEN x BETWEEN DATE '2000-01-01' AND DATE '2030-01-01' THEN CAST({value} AS VARCHAR) END"
        try:
            connection.execute(f"SELECT COUNT({guarded}) FROM t").fetchall()
        except duckdb.BinderException:
            continue
        except duckdb.Error:
            failing.add(name)
    connection.close()
    assert failing == {*parts, *calls}


def test_none_of_those_is_ever_written(there) -> None:
    """A part or a function that fails on statistics has no place in generated SQL."""
    moments = policy_of([TablePolicy("t", "uid", columns=[
        ColumnPolicy("d", type="date", lower="2020-01-01", upper="2020-03-31"), ColumnPolicy("e", type="date"),
    ], max_rows=1, max_groups=1)])  # fmt: skip
    over = world(moments, "CREATE TABLE t (uid INTEGER, d DATE, e DATE)")
    parts = {name for _, names, calls in FAILING.values() for name in (*names, *(call.upper() for call in calls))}
    seen = set()
    for number in (*sql_dates.NUMBERS, *(f"COUNT(DISTINCT {each})" for each in sql_dates.MOMENTS)):
        text = number.replace("@", "d").replace("#", "1").replace("§", "d > DATE '2020-01-01'").replace("†", "3")
        text = text if text.startswith("COUNT") else f"SUM({text})"
        try:
            statements = over.plan(f"DP-SELECT 1 DELTA 1e-6 {text} FROM t").statements
        except TacitError:
            continue
        for statement in statements:
            seen |= {str(node.this).upper() for node in statement.tree.find_all(exp.Extract, exp.Anonymous)}
    over.engine.close()
    assert "YEAR" in seen or "MONTH" in seen
    assert not seen & parts
