"""Texts that become longer: only their first characters do, so that no cell can pass an engine's end."""

from __future__ import annotations

import pytest

from conformance.sql_world import policy_of, world
from tacit.policy import ColumnPolicy, TablePolicy
from tacit.sql.expressions.text.texts import MAX_GROWTH, MAX_HELD

LEAST_END = 1 << 30  # bytes: PostgreSQL's longest text
GROWING = (
    "REPLACE(s, 'a', 'bcd')",
    "REPLACE(UPPER(s), 'A', 'bcd')",
    "s || r",
    "s || 'x'",
    "CONCAT(s, r)",
    "CONCAT_WS('-', s, r)",
    "REGEXP_REPLACE(s, '[ab]', 'xyz', 'g')",
    "REGEXP_REPLACE(s, 'a', 'xyz', 'g')",
    "REGEXP_REPLACE(s, '(a)', '\\1\\1')",
    "REPLACE(s || s, 'a', 'bcd')",
)
STAYING = ("s", "LOWER(s)", "REPLACE(s, 'ab', 'c')", "TRANSLATE(s, 'a', 'b')", "REGEXP_EXTRACT(s, '[ab]+')")


@pytest.fixture(scope="module")
def texts():
    """One cell is longer than what is held of it by one letter, and its last letter is a b."""
    columns = [ColumnPolicy("s"), ColumnPolicy("r")]
    return world(
        policy_of([TablePolicy("t", "row", columns=columns)]),
        "CREATE TABLE t (s VARCHAR, r VARCHAR)",
        f"INSERT INTO t VALUES ('a', 'a'), (repeat('a', {MAX_HELD}) || 'b', 'c'), (NULL, 'a')",
    )


def exact(texts, condition: str) -> int:
    plan = texts.plan(f"DP-SELECT 1 COUNT(*) FROM t WHERE {condition}")
    (counted,) = texts.exact(plan)
    return int(counted.integers(plan.measurements[0].column)[0])


def statement(texts, text: str) -> str:
    (made,) = texts.plan(f"DP-SELECT 1 COUNT(*) FROM t WHERE {text} = 'q'").statements
    return made.sql("duckdb")


def test_what_grows_and_is_then_written_in_other_letters_is_within_every_engines_end():
    """Four bytes a letter, and four more for each where an engine changes its case."""
    assert MAX_HELD * MAX_GROWTH * 4 * 4 <= LEAST_END / 4


@pytest.mark.parametrize("text", GROWING)
def test_a_text_that_becomes_longer_is_held_first(texts, text):
    assert f", {MAX_HELD})" in statement(texts, text)


@pytest.mark.parametrize("text", STAYING)
def test_a_text_that_does_not_is_read_as_it_is(texts, text):
    assert str(MAX_HELD) not in statement(texts, text)


def test_shorter_cells_are_what_they_were_and_longer_ones_lose_their_end(texts):
    assert exact(texts, "s || 'x' = 'ax'") == 1
    assert exact(texts, "s LIKE '%b'") == 1
    assert exact(texts, "s || '' LIKE '%b'") == 0
    assert exact(texts, "CONCAT(s, r) = 'a'") == 1  # of the cell that is NULL nothing
