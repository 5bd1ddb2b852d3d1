"""A refusal speaks in the analyst's words: no name of the parser's own ever reaches a message."""

from __future__ import annotations

import ast
import itertools
import re
from functools import cache
from pathlib import Path

import duckdb
import pytest
from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB

import tacit
from conformance.sql_world import World, policy_of, world
from tacit.errors import TacitError
from tacit.policy import ColumnPolicy, TablePolicy
from tacit.sql.expressions.names import spoken

WORD = re.compile(r"[A-Z][A-Z0-9_]{2,}")
ARGUMENTS = ("", "s", "n", "d", "s, 'x'", "n, 2", "'day', d, d", "s, 1, 2", "d, d", "n, m, 3, 4", "s, s")
PLACES = (
    "COUNT(*) FROM t WHERE {} = 'x'",
    "COUNT(*) FROM t WHERE {}",
    "SUM({}) FROM t",
    "{} AS k, COUNT(*) FROM t GROUP BY k",
    "{} FROM t",
    "COUNT(*) FROM (SELECT uid, {} AS k FROM t) AS q WHERE k = 1",
    "COUNT(*) FROM (SELECT uid, {} AS k FROM t GROUP BY uid) AS q WHERE k = 1",
    "COUNT(*) FROM t HAVING {} > 1",
)
OPERATORS = (
    "s || d", "s || n", "n & m", "n | m", "~n", "n << 1", "n >> 1", "n ^ 2", "n ** 2", "n @> m", "n // 0", "n % -1",
    "s ~ 'x('", "s ~* 'x'", "s !~ 'x'", "s SIMILAR TO '('", "s GLOB 'x*'", "s COLLATE NOCASE", "s -> 'x'",
    "n IS DISTINCT FROM s", "n <=> s", "n IS NOT DISTINCT FROM s", "s[1]", "s[1:2]", "[n, m]", "{'a': n}", "(n, m)",
    "n::DATE", "CAST(s AS INT)", "TRY_CAST(s AS INT)", "d AT TIME ZONE 'UTC'", "INTERVAL 1 DAY", "s LIKE d",
    "n BETWEEN 'a' AND 3", "n IN ('a')", "(n, m) IN (1, 2)", "x -> x + 1", "n = ANY (SELECT 1)", "NOT s", "-s", "s + 1",
    "COUNT(*) OVER ()", "ROW_NUMBER() OVER (ORDER BY n)", "CASE WHEN n THEN s ELSE n END", "s IS JSON", "s ^@ n",
    "n != s", "s ->> '$.x'", "n == s", "n LIKE 'x'", "EXISTS (SELECT 1)", "s LIKE 'x' ESCAPE 'ab'", "#1", "n.a.b",
    "COLUMNS(*)", "* EXCLUDE (n)", "@n",
    "OVERLAY(s PLACING 'x' FROM 1)", "d + INTERVAL 1 DAY", "d - 3", "d OVERLAPS d", "s NOT LIKE ANY ('a', 'b')", "?",
)  # fmt: skip


@cache
def vocabulary() -> frozenset[str]:
    """The words of our own sentences: those of every text in the source, the names of functions among them."""
    found: set[str] = set()
    for file in (Path(tacit.__file__).parent / "sql").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
                found |= set(WORD.findall(node.value))
    return frozenset(found)


@cache
def small() -> World:
    columns = [
        ColumnPolicy("s"),
        ColumnPolicy("n", lower=0, upper=9, step=1),
        ColumnPolicy("m", lower=0, upper=9, step=1),
        ColumnPolicy("d", type="date", lower="2020-01-01", upper="2020-12-31"),
        ColumnPolicy("flag"),
    ]
    table = TablePolicy("t", "uid", columns=columns, max_rows=2, max_groups=2, max_distinct=2)
    made = "CREATE TABLE t (uid BIGINT, s VARCHAR, n INTEGER, m INTEGER, d DATE, flag BOOLEAN)"
    return world(policy_of([table]), made)


def strange_words(text: str) -> set[str]:
    """The words of a refusal, in capitals, that were neither typed nor are ours; none where nothing is refused."""
    try:
        small().plan(text)
    except TacitError as error:
        return set(WORD.findall(error.message)) - set(WORD.findall(text.upper())) - vocabulary()
    return set()


@cache
def functions() -> tuple[str, ...]:
    """Every function that the parser or DuckDB knows by a name."""
    parser = DuckDB.Parser
    known = set(parser.FUNCTIONS) | set(parser.FUNCTION_PARSERS)
    with duckdb.connect() as connection:
        known |= {
            row[0].upper() for row in connection.execute("SELECT function_name FROM duckdb_functions()").fetchall()
        }
    return tuple(sorted(name for name in known if re.fullmatch(r"[A-Z_0-9]+", name)))


@pytest.mark.parametrize("part", range(8))
def test_no_function_is_called_by_a_name_that_nobody_typed(part):
    """Each with a few of the arguments and places, so that over all of them every pair is met."""
    pairs = list(itertools.product(ARGUMENTS, PLACES))
    for index, name in enumerate(functions()[part::8]):
        for arguments, place in pairs[index % 5 :: 5]:
            text = f"DP-SELECT 1 DELTA 1e-6 {place.format(f'{name}({arguments})')}"
            assert strange_words(text) == set(), text


def test_no_operator_is_called_by_a_name_that_nobody_typed():
    for written, place in itertools.product(OPERATORS, PLACES):
        text = f"DP-SELECT 1 DELTA 1e-6 {place.format(written)}"
        assert strange_words(text) == set(), text


@pytest.mark.parametrize("written", ["INSTR(d, 'a')", "strftime(n, '%Y')", "s || d", "n IS DISTINCT FROM s"])
def test_a_parser_that_forgets_what_was_typed_is_noticed(written, monkeypatch):
    monkeypatch.setattr(spoken, "_typed", lambda node: node.sql_name() if isinstance(node, exp.Func) else "")
    monkeypatch.setattr(spoken, "_SIGNS", {kind: kind.__name__.upper() for kind in spoken._SIGNS})
    assert any(strange_words(f"DP-SELECT 1 DELTA 1e-6 {place.format(written)}") for place in PLACES)


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("SUBSTR(d, 1) = 'x'", "SUBSTR"),
        ("substring(d, 1) = 'x'", "SUBSTRING"),
        ("s || (n / 3) = 'x'", "||"),
        ("soundex(s) = 'x'", "SOUNDEX"),
        ("n IS DISTINCT FROM s", "integer is compared with text"),
    ],
)
def test_a_refusal_names_what_was_typed(written, said):
    with pytest.raises(TacitError) as refused:
        small().plan(f"DP-SELECT 1 COUNT(*) FROM t WHERE {written}")
    assert said in refused.value.message
