"""Canonical text: the same with a copy and without, and the tree that was printed stays what it was."""

from __future__ import annotations

import pytest
import sqlglot
from sqlglot import exp

from conformance.sql_questions import Rng, question
from conformance.sql_questions_relational import question as relational_question
from conformance.sql_relational import family
from conformance.sql_tables import random_table
from tacit.errors import TacitError
from tacit.sql.expressions.names import printing
from tacit.sql.expressions.names.printing import table_named, text_of

ODD = ["trips", 'a"b', "a.b", "select", " ", "Ünï cödé", "'", "--"]


def plans(seed):
    """Statements of every rule, over one table and over joined ones."""
    table = random_table(Rng(seed), rows=3, units=2)
    by_row = table.world.policy.tables[0].unit_column is None
    rng, joined = Rng(seed), family(seed + 1, units=2).world
    asked = [(table.world, question(rng, by_row=by_row, bias=place % 3 == 2)) for place in range(9)]
    asked += [(joined, relational_question(rng)) for _ in range(4)]
    for world, text in asked:
        try:
            yield world.plan(text)
        except TacitError:
            continue


@pytest.mark.parametrize("seed", range(8))
def test_printing_changes_no_tree_and_is_what_the_generator_prints_of_a_copy(seed):
    seen = 0
    for plan in plans(seed):
        for statement in plan.runs:
            for each in (statement, statement.settled):
                if each is None:
                    continue
                seen += 1
                before = repr(each.tree)
                for pretty in (False, True):
                    assert text_of(each.tree, pretty=pretty) == each.tree.sql(dialect="duckdb", pretty=pretty)
                assert repr(each.tree) == before
                assert all(node is each.tree or node.parent is not None for node in each.tree.walk())
    assert seen > 2


def test_a_node_that_the_generator_changes_is_copied_first():
    """DuckDB's generator takes LEFT off a join without a condition, and would leave it off."""
    tree = sqlglot.parse_one("SELECT 1 FROM a LEFT JOIN b", dialect="duckdb")
    before = repr(tree)
    text_of(tree)
    assert repr(tree) == before


def test_were_such_a_node_not_copied_the_tree_would_change(monkeypatch):
    monkeypatch.setattr(printing, "_AS_THEY_ARE", printing._AS_THEY_ARE | {exp.Join})
    tree = sqlglot.parse_one("SELECT 1 FROM a LEFT JOIN b", dialect="duckdb")
    before = repr(tree)
    text_of(tree)
    assert repr(tree) != before


def test_a_part_is_printed_as_if_nothing_stood_around_it():
    tree = sqlglot.parse_one("SELECT CAST(MAP {'a': 1} AS MAP(VARCHAR, INT)) AS m, a + 1 FROM t", dialect="duckdb")
    for node in tree.walk():
        if isinstance(node, exp.Expression):
            assert text_of(node) == node.copy().sql(dialect="duckdb")


@pytest.mark.parametrize("name", ODD)
def test_a_table_of_any_name_is_that_table(name):
    read = sqlglot.parse_one(f"SELECT 1 FROM {text_of(table_named(name))}", dialect="duckdb")
    assert [table.name for table in read.find_all(exp.Table)] == [name]
