"""Planning is free, and bounded all the same: by what the question stands for, and before anything is charged."""

from __future__ import annotations

import random

import pytest

from conformance.sql_hostile import WIDTH, counted_nodes, hostile, nested, nested_world, wide_world
from tacit.curator import Session
from tacit.curator.jobs import job_plan
from tacit.errors import QueryRefused, TacitError
from tacit.sql import bind, parse
from tacit.sql.expressions.names import scope, written
from tacit.sql.parsing import planning_budget
from tacit.sql.planning import planner
from tacit.sql.planning.work import work_of

ANA = Session("ana")
MOST_NODES = 1_000_000  # made and dropped again while one statement is planned
LARGE = "the question is too large to plan"


@pytest.fixture(scope="module")
def curator(tmp_path_factory):
    return wide_world().curator(tmp_path_factory.mktemp("wide"))


def cube(kind, count, *, select="COUNT(*)", where="TRUE"):
    keys = ", ".join(f"{kind}{i}" for i in range(count))
    return f"DP-SELECT 1 DELTA 1e-6 {select} FROM t WHERE {where} GROUP BY CUBE ({keys})"


def explained(curator, text):
    with counted_nodes() as made:
        curator.explain(text, session=ANA)
    return made[0]


def test_a_cube_of_eight_columns_is_planned_within_the_budget(curator):
    assert explained(curator, cube("s", 8)) < MOST_NODES


@pytest.mark.parametrize("kind", ["b", "s", "n"])
def test_a_cube_of_eight_columns_with_some_conditions_is_allowed(curator, kind):
    text = cube(kind, 8, select="COUNT(*), SUM(n1)", where="n2 = 1 AND n3 < 3")
    assert work_of(bind(parse(text), curator.policy, schema=curator._schema)) < planning_budget.MOST


def test_each_set_of_a_cube_has_its_sql_written_once(curator, monkeypatch):
    written = []
    before = planner.statements
    monkeypatch.setattr(planner, "statements", lambda *a, **k: written.append(1) or before(*a, **k))
    curator.explain(cube("s", 4), session=ANA)
    assert len(written) == 16


@pytest.mark.parametrize(
    "text",
    [
        cube("b", 8, where=" AND ".join(f"n0 <> {i}" for i in range(800))),
        cube("b", 7, where=" OR ".join(f"n{i % WIDTH} = {i}" for i in range(800))),
        cube("b", 8, select=", ".join(f"SUM(n0 + {i})" for i in range(50))),
        f"DP-SELECT 1 COUNT(*) FROM {'(SELECT * FROM ' * 50}t{')' * 50}",
        "DP-SELECT 1 "
        + ", ".join(f"MEDIAN(n0 + {i})" for i in range(100))
        + f" FROM {'(SELECT * FROM ' * 12}t{')' * 12}",
    ],
    ids=["a wide WHERE", "a wide OR", "many sums", "nested subqueries", "many statements over them"],
)
def test_what_stands_for_too_much_is_refused_before_it_is_planned_or_charged(curator, text):
    before = curator.balance("ana")
    for ask in (curator.explain, curator.ask):
        with counted_nodes() as made, pytest.raises(QueryRefused, match=LARGE):
            ask(text, session=ANA)
        assert made[0] < MOST_NODES / 2
    assert curator.balance("ana") == before


def test_a_batch_has_a_budget_for_all_its_questions(curator, monkeypatch):
    many = [f"SELECT COUNT(*) FROM t WHERE n0 = {i % 4} AND n1 < {i}" for i in range(30)]
    curator.explain_batch(many, session=ANA, epsilon=1)
    monkeypatch.setattr(job_plan, "MOST_IN_BATCH", 2_000)
    with pytest.raises(QueryRefused, match=rf"question \d+: {LARGE}"):
        curator.explain_batch(many, session=ANA, epsilon=1)


def test_two_thousand_plain_counts_are_within_the_budget_of_a_batch(curator):
    asked = parse("DP-SELECT 1 COUNT(*) FROM t WHERE n0 = 1 AND n1 < 3 AND b0")
    bound = bind(asked, curator.policy, schema=curator._schema)
    assert work_of(bound) * job_plan.MAX_QUESTIONS < planning_budget.MOST_IN_BATCH


def test_planning_grows_with_the_question_and_not_with_its_square(curator):
    def nodes(count):
        having = " OR ".join(f"SUM(n1 + {i}) > {i}" for i in range(count))
        return explained(curator, f"DP-SELECT 1 COUNT(*) FROM t GROUP BY n0 HAVING {having}")

    base, once, twice = nodes(1), nodes(40), nodes(80)
    assert twice - base < 2.3 * (once - base)


def test_no_text_makes_planning_work_without_end(curator):
    rng = random.Random("hostile")
    seen = {"planned": 0, "refused": 0}
    for _ in range(8):
        text = hostile(rng)
        with counted_nodes() as made:
            try:
                curator.explain(text, session=ANA)
                seen["planned"] += 1
            except TacitError:
                seen["refused"] += 1
        assert made[0] < MOST_NODES, text[:500]
    assert min(seen.values()) > 0


def test_without_the_budget_a_small_sibling_of_those_texts_takes_a_tenth_of_all_nodes_already(curator, monkeypatch):
    monkeypatch.setattr(planning_budget.PlanningBudget, "spend", lambda self, nodes: None)
    assert explained(curator, cube("b", 4, where=" AND ".join(f"n0 <> {i}" for i in range(300)))) > MOST_NODES / 10


def doubled(times):
    return f"DP-SELECT 1 SUM({'NULLIF(' * times}x{', 3)' * times}) FROM t"


def test_functions_in_each_other_are_refused_before_they_have_doubled_too_often(tmp_path):
    curator = nested_world().curator(tmp_path)
    assert explained(curator, doubled(4)) < MOST_NODES / 50
    with counted_nodes() as made, pytest.raises(QueryRefused, match="too long: it would be written out again"):
        curator.explain(doubled(12), session=ANA)
    assert made[0] < MOST_NODES / 50


def test_no_short_text_makes_long_sql_without_end(tmp_path):
    curator = nested_world().curator(tmp_path)
    rng, planned = random.Random("nested"), 0
    for _ in range(40):
        text = f"DP-SELECT 1 DELTA 1e-6 {nested(rng)} FROM t"
        with counted_nodes() as made:
            try:
                curator.explain(text, session=ANA)
                planned += 1
            except TacitError:
                pass
        assert made[0] < MOST_NODES, text
    assert planned > 5


def test_what_forgets_that_it_writes_twice_ends_all_the_same(tmp_path, monkeypatch):
    """The limit of one expression, seen from below: nothing that is known reaches it."""
    monkeypatch.setattr(written, "MOST_WRITTEN", 20)
    curator = nested_world().curator(tmp_path)
    curator.explain("DP-SELECT 1 SUM(n) FROM t", session=ANA)
    for long in ("SUM(NULLIF(NULLIF(x, 1), 3) + n)", "COUNT(DISTINCT DATE_TRUNC('month', d) + INTERVAL 40 DAY)"):
        with pytest.raises(QueryRefused, match=LARGE):
            curator.explain(f"DP-SELECT 1 {long} FROM t", session=ANA)


def test_a_planted_doubling_is_noticed(tmp_path, monkeypatch):
    monkeypatch.setattr(scope, "_MAX_NULLIFS", 99)
    assert explained(nested_world().curator(tmp_path), doubled(8)) > MOST_NODES / 50
