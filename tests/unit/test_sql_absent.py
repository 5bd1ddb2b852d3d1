"""What an expression is worth in a row that an outer join keeps without a partner, held to what DuckDB makes of it."""

from __future__ import annotations

import random
from itertools import product
from typing import Any

import duckdb
import pytest
import sqlglot

from tacit.sql.expressions import absent
from tacit.sql.expressions.absent import Worth, worth

LEAVES = ("a", "b", "p", "q", "NULL", "0", "1", "2")
TRUTHS = ("NULL", "TRUE", "FALSE", "a = 1", "p > 1", "q IS NULL", "a IS NULL", "b IN (1, p)", "p BETWEEN a AND 2")


def _number(chance: random.Random, depth: int) -> str:
    if depth == 0:
        return chance.choice(LEAVES)
    one, two = _number(chance, depth - 1), _number(chance, depth - 1)
    asked = _truth(chance, depth - 1)
    return chance.choice(
        [
            f"({one} + {two})", f"({one} * {two})", f"-({one})", f"ABS({one})", f"COALESCE({one}, {two})",
            f"CASE WHEN {asked} THEN {one} ELSE {two} END", f"CASE WHEN {asked} THEN {one} END", f"({asked})::INT",
            f"CASE {one} WHEN {two} THEN 0 WHEN 1 THEN {one} ELSE {two} END", f"IF({asked}, {one}, {two})",
            f"GREATEST({one}, {two})", f"NULLIF({one}, {two})", one,
        ]
    )  # fmt: skip


def _truth(chance: random.Random, depth: int) -> str:
    if depth == 0:
        return chance.choice(TRUTHS)
    one, two = _truth(chance, depth - 1), _truth(chance, depth - 1)
    number, other = _number(chance, depth - 1), _number(chance, depth - 1)
    return chance.choice(
        [
            f"({one} AND {two})", f"({one} OR {two})", f"(NOT {one})", f"({number} = {other})", f"({number} < {other})",
            f"({number} IS NULL)", f"({number} IS NOT NULL)", f"({one} IS TRUE)", f"({one} IS NOT TRUE)",
            f"({one} IS FALSE)", f"({number} IN (0, {other}))", f"({number} NOT IN (0, {other}))",
            f"({number} BETWEEN {other} AND 2)", f"({number} IS DISTINCT FROM {other})",
        ]
    )  # fmt: skip


HOLDS = {
    Worth.NULL: {None},
    Worth.FALSE: {False},
    Worth.TRUE: {True},
    Worth.ZERO: {0},
    Worth.NOT_TRUE: {None, False},
}


def _found_otherwise(seeds: range) -> tuple[list[str], set[Worth]]:
    """Expressions that come to something else than is told of them, and what all is told."""
    rows = ", ".join(f"({p}, {q})" for p, q in product(("0", "1", "3", "NULL"), repeat=2))
    otherwise, told = [], set()
    with duckdb.connect() as connection:
        connection.execute(
            f"CREATE TABLE t AS SELECT *, NULL::INT AS a, NULL::INT AS b FROM (VALUES {rows}) AS m(p, q)"
        )
        for seed in seeds:
            chance = random.Random(seed)
            text = chance.choice((_number, _truth))(chance, chance.randint(0, 3))
            found = worth(sqlglot.parse_one(text, dialect="duckdb"), lambda column: column.name in {"a", "b"})
            told.add(found)
            values = {row[0] for row in connection.execute(f"SELECT {text} FROM t").fetchall()}
            if found in HOLDS and not values <= HOLDS[found]:
                otherwise.append(text)
    return otherwise, told


def test_an_expression_is_worth_what_is_told_of_it() -> None:
    otherwise, told = _found_otherwise(range(4_000))
    assert not otherwise
    assert told == set(Worth)


@pytest.mark.parametrize(
    ("kinds", "reading"),
    [
        (sqlglot.exp.Coalesce, absent._strict),
        (sqlglot.exp.Greatest, absent._strict),
        (sqlglot.exp.Is, absent._strict),
        (sqlglot.exp.NullSafeNEQ, absent._strict),
        (sqlglot.exp.Between, absent._strict),
        ((sqlglot.exp.And, sqlglot.exp.Or), absent._strict),
    ],
)
def test_a_worth_that_is_told_wrongly_is_noticed(kinds: Any, reading: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(absent, "_READINGS", ((kinds, reading), *absent._READINGS))
    assert _found_otherwise(range(4_000))[0]


@pytest.mark.parametrize(
    ("text", "comes_to"),
    [
        ("a", Worth.NULL),
        ("p", Worth.ANYTHING),
        ("a IS NULL", Worth.TRUE),
        ("a IS NOT NULL", Worth.FALSE),
        ("(a = 1) IS TRUE", Worth.FALSE),
        ("(a = 1)::INT", Worth.NULL),
        ("p::INT", Worth.ANYTHING),
        ("a = 1 AND p > 1", Worth.NOT_TRUE),
        ("a = 1 OR p > 1", Worth.ANYTHING),
        ("a NOT IN (1, 2)", Worth.NULL),
        ("a IN (SELECT 1 WHERE FALSE)", Worth.ANYTHING),  # FALSE, not NULL: nothing is in an empty table
        ("a NOT IN (SELECT 1 WHERE FALSE)", Worth.ANYTHING),  # TRUE: such a row stays
        ("a BETWEEN 1 AND p", Worth.NULL),
        ("p BETWEEN a AND 2", Worth.ANYTHING),
        ("CASE WHEN a = 1 THEN p ELSE 0 END", Worth.ZERO),
        ("CASE WHEN p = 1 THEN a END", Worth.NULL),
        ("COALESCE(a, 0)", Worth.ZERO),
        ("GREATEST(a, p)", Worth.ANYTHING),
        ("CONCAT(a, p)", Worth.ANYTHING),
    ],
)
def test_what_is_told_of_an_expression(text: str, comes_to: Worth) -> None:
    assert worth(sqlglot.parse_one(text, dialect="duckdb"), lambda column: column.name in {"a", "b"}) is comes_to
