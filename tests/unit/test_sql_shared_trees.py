"""Trees that plans share are changed by nobody: a question that mutates one would alter another question's plan.

A tree that stands somewhere is never taken out of it (`loose` gives a copy), no node has two parents once it is built,
and what a bound question and a schema remember is after planning what it was before.
"""

from __future__ import annotations

import random
from importlib import import_module
from pathlib import Path

import pytest
from sqlglot import exp

from conformance.sql_county import county
from conformance.sql_questions import question
from conformance.sql_tables import random_table
from tacit.core import Loss
from tacit.curator import Session
from tacit.errors import TacitError
from tacit.sql import AtEpsilon, parse
from tacit.sql.expressions.names import nodes
from tacit.sql.expressions.names.printing import copied
from tacit.sql.planning import statements
from tacit.sql.planning.planner import Planner
from tacit.sql.postprocessing.binding import bind_statement
from tacit.sql.relations.joining import parts
from tacit.sql.relations.joining.growth import CountedSchema
from unit.test_sql_analysts import cases

ASKED = [case.text for case in cases(Path(__file__).parent / "data" / "sql_county.sql") if case.refused is None][::9]


def worlds():
    """Questions as people write them over linked tables, and of every shape over one."""
    yield county(), ASKED
    for seed in range(3):
        rng = random.Random(seed)
        table = random_table(rng, rows=2, units=2)
        by_row = table.world.policy.tables[0].unit_column is None
        yield table.world, [question(rng, by_row=by_row, rare=not number % 3) for number in range(14)]


def trees_of(bound):
    """Every tree that a bound question holds, which its statements, its ties and other prices are made of again."""
    values = [measure.value for measure in bound.measures]
    keys = [tree for key in bound.keys for tree in (key.sql, key.keep)]
    return [tree for tree in (bound.relation.sql, bound.where, *values, *keys) if tree is not None]


def planned_twice():
    """(a question, what changed while it was planned) for every question that is answered."""
    for world, texts in worlds():
        for text in texts:
            try:
                bounds = bind_statement(parse(text), world.policy, schema=world.engine.schema()).questions
            except TacitError:
                continue
            for bound in bounds:
                if bound.sets is not None:
                    continue
                before = [repr(tree) for tree in trees_of(bound)]
                price = bound.query.price
                epsilon = price.epsilon if isinstance(price, AtEpsilon) else 1
                try:
                    first = Planner(bound, world.policy).at(Loss(epsilon, "1e-6"))
                    second = Planner(bound, world.policy).at(Loss(epsilon, "1e-6"))
                except TacitError:
                    continue
                changed = [old for old, tree in zip(before, trees_of(bound), strict=True) if repr(tree) != old]
                texts_of = [[run.canonical for run in plan.runs] for plan in (first, second)]
                yield text, [*changed, *([text] if texts_of[0] != texts_of[1] else [])], first
        world.engine.close()


def test_planning_leaves_a_bound_question_as_it_was_and_a_second_plan_is_the_first():
    seen = 0
    for text, changed, _ in planned_twice():
        seen += 1
        assert changed == [], text
    assert seen > 40


def test_no_node_of_a_generated_query_stands_in_two_places():
    for text, _, plan in planned_twice():
        for run in plan.runs:
            nodes_seen = list(run.tree.walk())
            assert len({id(node) for node in nodes_seen}) == len(nodes_seen), text
            assert all(
                child.parent is node
                for node in nodes_seen
                for value in node.args.values()
                for child in (value if isinstance(value, list) else [value])
                if isinstance(child, exp.Expression)
            ), text


@pytest.mark.parametrize("planted", ["statements", "clamp"])
def test_a_rule_that_takes_a_tree_of_the_question_itself_is_noticed(planted, monkeypatch):
    if planted == "statements":  # the rules are given the question's own trees
        monkeypatch.setattr(statements, "copied", lambda tree: tree)
    else:  # a rule puts one node in several places
        monkeypatch.setattr(import_module("tacit.sql.rules.clamp"), "copied", lambda tree: tree)
    assert noticed(test_planning_leaves_a_bound_question_as_it_was_and_a_second_plan_is_the_first) or noticed(
        test_no_node_of_a_generated_query_stands_in_two_places
    )


def noticed(test):
    """Whether a test fails, or a tree that was changed before can no longer be planned."""
    try:
        test()
    except (AssertionError, LookupError, AttributeError, ValueError):
        return True
    return False


def test_what_stands_in_a_tree_is_copied_and_what_is_loose_moves():
    tree = exp.Add(this=exp.column("a"), expression=exp.column("b"))
    held = nodes.paren(tree.this)
    assert held.this is not tree.this
    assert tree.this.parent is tree
    loose = exp.column("c")
    assert nodes.paren(loose).this is loose
    assert nodes.aliased(loose, "again").this is not loose
    assert nodes.cast_as(loose, "VARCHAR").this is not loose
    assert nodes.cast_as(exp.column("d"), "VARCHAR").to is not nodes.cast_as(exp.column("d"), "VARCHAR").to


def told(schema, policy):
    return {table.name: repr(parts.base(exp.to_table(table.name), policy, schema=schema)) for table in policy.tables}


def test_what_a_schema_remembers_of_tables_is_the_same_after_any_question(tmp_path):
    world = county()
    curator = world.curator(tmp_path)
    before = told(curator._schema, world.policy)
    assert before == told(world.engine.schema(), world.policy), "and what is said without it"
    for text in ASKED:
        curator.prepare(text, session=Session("ana"))
    assert told(curator._schema, world.policy) == before
    known = parts.base(exp.to_table("stays"), world.policy, schema=curator._schema)
    assert known is parts.base(exp.to_table("stays"), world.policy, schema=curator._schema)
    for shared in (known.types, known.keys):
        with pytest.raises(TypeError):
            shared["id"] = "VARCHAR"
    curator.close()


def test_tables_are_remembered_for_one_policy_alone():
    one, other = county(), county(caps={"max_groups": 2, "max_rows": 3, "max_distinct": 4})
    schema = CountedSchema(one.engine.schema(), dialect="duckdb", count=lambda _: 1, version=lambda: "")
    for world in (one, other, one):
        table = parts.base(exp.to_table("stays", alias="s"), world.policy, schema=schema)
        assert (table.alias, table.table.max_rows) == ("s", world.policy.table("stays").max_rows)
    for world in (one, other):
        world.engine.close()


def test_a_copy_shares_nothing_with_its_tree():
    tree = parse("DP-SELECT 1 COUNT(*) FROM stays WHERE cost > 1 AND ward IN ('ICU', 'x')").select
    assert not {id(node) for node in tree.walk()} & {id(node) for node in copied(tree).walk()}
