"""Hostile questions with several EXISTS: the same rows read together, apart, and in plain SQL; no unit moves others.

What is compared is which rows are left, before anything is capped, so that plain DuckDB has to agree.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator
from itertools import islice

import duckdb
import pytest
from sqlglot import exp

from conformance.engine_sources import OTHERS
from conformance.sql_exists import UNITS, Question, hostile, question
from tacit.engines import Engine
from tacit.policy import Policy
from tacit.sql import bind, parse
from tacit.sql.emitting.dialects import emit
from tacit.sql.expressions.names.aliases import qualified
from tacit.sql.relations.correlating import correlated, together
from tacit.sql.rules import GRID_RULES, Facts, apply, grids_of

WHOLE = "WITH t AS (FROM main.t WHERE id IS NOT NULL), u AS (FROM main.u WHERE id IS NOT NULL)"
SEEDS = (1, 132, 1_001)
Rows = list[tuple[int, int]]  # rid, and whose that row is


def drawn(seed: int) -> Iterator[Question]:
    rng = random.Random(seed)
    while True:
        yield question(rng)


def generated(policy: Policy, engine: Engine, asked: Question) -> str:
    """The rows that are left of a question, listed with their owners."""
    bound = bind(parse(asked.private, ()), policy, schema=engine.schema())
    relation = bound.relation
    owner = relation.spelled(exp.column(relation.table.unit_column or "", quoted=True))
    listed = [exp.alias_(exp.column("rid", quoted=True), "rid"), exp.alias_(owner, "owner")]
    rows = exp.select(*listed).from_(relation.sql.copy()).where(owner.is_(exp.null()).not_())
    rows = rows if bound.where is None else rows.where(bound.where.copy())
    facts = Facts(grids=grids_of(relation.table, relation.sql_types))
    return emit(qualified(apply(GRID_RULES, rows, facts=facts)), engine.dialect)


def found(engine: Engine, sql: str) -> Rows:
    exact = engine.execute(sql)
    return sorted(zip(map(int, exact.keys("rid")), map(int, exact.keys("owner")), strict=True))


def plain(connection: duckdb.DuckDBPyConnection, asked: Question) -> list[int]:
    """The same question as plain SQL has it."""
    joined = asked.text.replace("WITH ", ", ", 1) if asked.text.startswith("WITH ") else f" {asked.text}"
    return sorted(rid for (rid,) in connection.execute(WHOLE + joined).fetchall())


@pytest.fixture
def apart(monkeypatch: pytest.MonkeyPatch) -> Callable[[bool], None]:
    """Call it with True, and every EXISTS reads its rows for itself; with False, no longer."""
    places = [sys.modules[name] for name in ("tacit.sql.binding.bind", "tacit.sql.relations.deriving.derived")]

    def switch(on: bool) -> None:
        for place in places:
            monkeypatch.setattr(place, "read_together", (lambda condition: condition) if on else together.read_together)

    return switch


@pytest.fixture(params=SEEDS)
def seed(request: pytest.FixtureRequest) -> int:
    return int(request.param)


def test_drawn_questions_have_the_same_rows_together_apart_and_in_plain_sql(seed, apart) -> None:
    script = hostile(random.Random(seed))
    world = script.world()
    fewer = 0
    for asked in islice(drawn(seed), 60):
        apart(False)
        one = generated(script.policy, world.engine, asked)
        apart(True)
        each = generated(script.policy, world.engine, asked)
        rows = found(world.engine, one)
        assert rows == found(world.engine, each), asked.text
        assert [rid for rid, _ in rows] == plain(world.engine._connection, asked), asked.text
        fewer += one.count("EXISTS") < each.count("EXISTS")
    assert fewer >= 6  # they are questions that are read together
    world.engine.close()


def test_drawn_questions_have_the_same_rows_where_a_units_rows_are_cut(seed, apart, monkeypatch) -> None:
    """Which rows of a unit are looked at is the same, whoever looks: plain SQL has others."""
    monkeypatch.setattr(correlated, "MOST_OWN", 1)
    script = hostile(random.Random(seed))
    world = script.world()
    other = 0
    for asked in islice(drawn(seed), 60):
        apart(False)
        rows = found(world.engine, generated(script.policy, world.engine, asked))
        apart(True)
        assert rows == found(world.engine, generated(script.policy, world.engine, asked)), asked.text
        other += [rid for rid, _ in rows] != plain(world.engine._connection, asked)
    assert other >= 1
    world.engine.close()


def test_taking_one_unit_out_changes_no_row_of_another(seed) -> None:
    script = hostile(random.Random(seed))
    world = script.world()
    statements = [generated(script.policy, world.engine, asked) for asked in islice(drawn(seed), 40)]
    whole = [found(world.engine, sql) for sql in statements]
    for unit in range(UNITS):
        world.engine._connection.execute(f"BEGIN; DELETE FROM t WHERE id = {unit}; DELETE FROM u WHERE id = {unit}")
        for sql, rows in zip(statements, whole, strict=True):
            left = sorted(world.engine._connection.execute(sql).fetchall())
            assert left == [row for row in rows if row[1] != unit], sql
        world.engine._connection.execute("ROLLBACK")
    world.engine.close()


@pytest.mark.parametrize("kind", OTHERS)
def test_other_engines_find_the_same_rows(kind) -> None:
    other = OTHERS[kind]
    script = other.fitted(hostile(random.Random(5)))
    world, engine = script.world(), other.opened(script)
    for asked in islice(drawn(5), 25):
        right = found(world.engine, generated(script.policy, world.engine, asked))
        assert found(engine, generated(script.policy, engine, asked)) == right, asked.text
    world.engine.close()
    engine.close()


def _forgetting_ties(patch: pytest.MonkeyPatch) -> None:
    """Of two values that one column is held to, the last alone counts."""
    looked = together._looked

    def forgetful(condition: exp.Expression) -> object:
        found = looked(condition)
        if found is None:
            return None
        for each in list(found.asked):
            tied = together._tied(each, found.alias, found.groups)
            if tied is not None and len(found.asked) > 1:
                found.asked.remove(each)
                found.ties[found.groups[tied[0]]] = tied[1]
        return found

    patch.setattr(together, "_looked", forgetful)


def _beside_anything(patch: pytest.MonkeyPatch) -> None:
    """Whatever their rows are, and whatever they are held to."""
    patch.setattr(together._Looked, "is_beside", lambda looked, other: looked.groups.keys() == other.groups.keys())


@pytest.mark.parametrize("planted", [_forgetting_ties, _beside_anything])
def test_a_wrong_way_to_read_several_together_is_noticed(planted, monkeypatch) -> None:
    assert any(_differs(seed, planted, monkeypatch) for seed in range(130, 140))


def _differs(seed: int, planted: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether a drawn question has other rows with what is planted."""
    script = hostile(random.Random(seed))
    world = script.world()
    for asked in islice(drawn(seed), 60):
        with monkeypatch.context() as patch:
            planted(patch)
            wrong = generated(script.policy, world.engine, asked)
        right = generated(script.policy, world.engine, asked)
        if wrong != right and found(world.engine, wrong) != found(world.engine, right):
            return True
    return False
