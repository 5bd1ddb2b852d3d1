"""Groups ranked by their hash alone: the same answer as with ties settled, whatever the hashes are."""

from __future__ import annotations

import sys

import pytest
from sqlglot import exp

from conformance.sql_clinic import clinic
from tacit.curator.reading import execute
from tacit.sql.rules.facts import keyed_hash

QUESTION = "DP-SELECT 1 DELTA 1e-3 city, COUNT(*), SUM(amount) FROM visits GROUP BY city"


def small_hash(facts, *columns):
    """So few values that most groups of a unit tie."""
    return exp.Mod(this=keyed_hash(facts, *columns), expression=exp.Literal.number(2))


@pytest.fixture
def over():
    world = clinic(bounding="sample", max_groups=2, max_rows=2)
    many = "INSERT INTO visits SELECT v.* REPLACE ('city' || i AS city) FROM visits AS v, range(20) AS made(i)"
    world.engine._connection.execute(many)
    return world


def rows(exact, columns):
    return sorted(zip(exact.keys("k0"), *(exact.wide(column).tolist() for column in columns), strict=True))


def test_without_ties_both_rankings_say_the_same(over):
    (statement,) = over.plan(QUESTION).statements
    assert statement.settled is not None
    quick, settled = (over.engine.execute(each.sql("duckdb")) for each in (statement, statement.settled))
    assert not quick.integers("t").any()
    assert rows(quick, statement.columns) == rows(settled, statement.columns)


def test_where_hashes_tie_the_settled_ranking_is_what_counts(over, monkeypatch):
    monkeypatch.setattr(sys.modules["tacit.sql.rules.sample_groups"], "keyed_hash", small_hash)
    (statement,) = over.plan(QUESTION).statements
    quick, settled = (over.engine.execute(each.sql("duckdb")) for each in (statement, statement.settled))
    assert quick.integers("t").any()
    assert rows(quick, statement.columns) != rows(settled, statement.columns)  # or the test would show nothing
    assert rows(execute(statement, over.engine), statement.columns) == rows(settled, statement.columns)
