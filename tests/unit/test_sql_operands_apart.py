"""A condition that is a side of another stands in parentheses: engines read `a = b = c` in ways of their own."""

from __future__ import annotations

import pytest
from sqlglot import exp

from conformance.sql_questions import Rng, question
from conformance.sql_tables import random_table
from conformance.sql_words import CONDITIONS
from conformance.sql_world import policy_of, world
from tacit.errors import TacitError
from tacit.policy import ColumnPolicy, TablePolicy
from tacit.sql.expressions.text import texts

LOOSE = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ, exp.NullSafeNEQ, exp.Like, exp.ILike,
         exp.Is, exp.In, exp.Between, exp.Not, exp.And, exp.Or)  # fmt: skip
SIDES = ("this", "expression", "low", "high")


def bare_conditions(tree: exp.Expression) -> list[str]:
    """The conditions that are a side of a comparison or of arithmetic, with nothing around them."""
    found = []
    for node in tree.walk():
        is_holder = isinstance(node, (exp.Binary, exp.In, exp.Between)) and not isinstance(
            node, (exp.Connector, exp.Dot)
        )
        sides = [node.args.get(side) for side in SIDES] if is_holder else []
        found += [f"{side.sql()} in {node.sql()}" for side in sides if isinstance(side, LOOSE)]
    return found


def trees(plan):
    for statement in plan.statements:
        yield statement.tree
        if statement.settle is not None:
            yield statement.settle().tree


@pytest.mark.parametrize("seed", range(6))
def test_no_condition_of_a_generated_query_is_a_bare_side_of_another(seed):
    rng = Rng(seed)
    table = random_table(rng, rows=2, units=2)
    found, asked = [], 0
    while asked < 60:
        try:
            plan = table.world.plan(question(rng, by_row=table.world.policy.tables[0].unit_column is None))
        except TacitError:
            continue
        asked += 1
        found += [bare for tree in trees(plan) for bare in bare_conditions(tree)]
    assert found == []


FLAGGED = policy_of([TablePolicy("t", "row", columns=[ColumnPolicy("flag"), ColumnPolicy("s")])])
FORMS = ("{} = flag", "flag <> {}", "{} > flag", "flag IS DISTINCT FROM {}", "{} IN (TRUE, flag)", "NOT {} = flag",
         "{} IS NULL", "{} BETWEEN flag AND TRUE", "CASE WHEN flag THEN {} ELSE flag END = flag")  # fmt: skip


def answered(texts_asked):
    """How many of these conditions are answered, and what stands bare in any of them."""
    over = world(FLAGGED, "CREATE TABLE t (flag BOOLEAN, s VARCHAR)", "INSERT INTO t VALUES (TRUE, '%'), (FALSE, 'Bo')")
    count, found = 0, []
    for text in texts_asked:
        try:
            plan = over.plan(f"DP-SELECT 1 COUNT(*) FROM t WHERE {text}")
        except TacitError:
            continue
        count += 1
        found += [bare for tree in trees(plan) for bare in bare_conditions(tree)]
        if not found:
            over.exact(plan)
    return count, found


def test_whether_a_text_holds_another_can_be_compared_with_a_column():
    count, found = answered(form.format(each) for form in FORMS for each in CONDITIONS)
    assert count > 100
    assert found == []


def test_a_bare_side_is_noticed(monkeypatch):
    monkeypatch.setattr(texts.exp, "paren", lambda node, **_: node)
    _, found = answered(["flag = STARTS_WITH(s, '%')"])
    assert found
