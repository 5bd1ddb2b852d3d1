"""What is computed from answers sees them and nothing else: the same answers give the same bytes, whoever is there."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from conformance.sql_hospital import BY_SEX, COUNTS, OVER_COUNTS, hospital
from tacit.curator import Session, answering
from tacit.errors import TacitError

ANA = Session("ana")
FEW = settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
FAILING = (  # each for another reason
    "SELECT CAST(town AS INTEGER) AS t, n FROM b",
    "SELECT nope FROM a",
    "SELECT RANDOM() AS r FROM a",
    "SELECT CAST(ward AS DATE) AS d FROM a",
    "SELECT * FROM a, stays",
    "SELECT MAX(LENGTH(REPEAT('x', 1000000000))) AS x FROM a",
    "SELECT n FROM a WHERE ward = (SELECT patient FROM stays)",
)
WITH = f"WITH a AS ({COUNTS}), b AS (SELECT town, COUNT(*) AS n FROM stays GROUP BY town), c AS ({BY_SEX})"


@pytest.fixture(scope="module")
def neighbours(tmp_path_factory):
    worlds = [hospital(reuse=False), hospital(reuse=False, without="p7")]
    return [world.curator(tmp_path_factory.mktemp("ledger")) for world in worlds]


def shown(curator, text: str) -> str:
    """All that leaves, but for what says when and where it is on record."""
    try:
        found = curator.ask(text, session=ANA).to_dict()
    except TacitError as error:
        return f"{type(error).__name__}: {error.message} {error.hint}"
    found.pop("left")
    found.pop("receipt")
    return json.dumps(found)


@given(st.sampled_from((*OVER_COUNTS, *FAILING)))
@FEW
def test_the_same_answers_give_the_same_bytes_whoever_is_in_the_data(neighbours, over):
    one, other = neighbours
    text = f"{WITH} DP-SELECT 1 {over.removeprefix('SELECT ')}"
    answers: list[object] = []
    read = answering.read_job

    def once(*args, **named):
        answers.append(read(*args, **named) if not answers else answers[0])
        return answers[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(answering, "read_job", once)
        found = [shown(curator, text) for curator in (one, other)]
    assert found[0] == found[1]


@pytest.mark.parametrize("over", FAILING)
def test_a_refusal_is_the_same_whoever_is_in_the_data(neighbours, over):
    text = f"{WITH} DP-SELECT 1 {over.removeprefix('SELECT ')}"
    spent = [curator.balance("ana").total.spent for curator in neighbours]
    found = [shown(curator, text) for curator in neighbours]
    if found[0].startswith("{"):  # charged, and shown as the answer itself
        columns = [json.loads(each)["columns"] for each in found]
        assert columns[0] == columns[1]
        return
    assert found[0] == found[1]
    assert [curator.balance("ana").total.spent for curator in neighbours] == spent


@given(
    st.lists(
        st.sampled_from(
            ["ward", "n", "RANK() OVER (ORDER BY n DESC) AS r", "n * 2 AS m", "UPPER(ward) AS u", "SUM(n) OVER () AS s"]
        ),
        min_size=1,
        max_size=4,
        unique=True,
    ),
    st.sampled_from(["", "WHERE n > 250", "WHERE ward IN (SELECT ward FROM wards WHERE beds > 25)"]),
    st.sampled_from(["", "ORDER BY 1", "ORDER BY n DESC LIMIT 2"]),
)
@FEW
def test_whatever_is_computed_the_charge_is_the_questions_own(neighbours, items, where, order):
    curator = neighbours[0]
    before = curator.balance("ana").total.spent.epsilon
    text = f"WITH a AS ({COUNTS}) DP-SELECT 1/7 {', '.join(items)} FROM a {where} {order}"
    found = curator.ask(text, session=ANA)
    assert found.cost.epsilon == curator.balance("ana").total.spent.epsilon - before
    alone = curator.prepare(f"DP-SELECT 1/7 {COUNTS.removeprefix('SELECT ')}", session=ANA)
    asked = curator.prepare(text, session=ANA)
    assert asked.loss == alone.loss
    assert asked.event == alone.event
    assert [statement.canonical for piece in asked.pieces for statement in piece.plan.runs] == [
        statement.canonical for piece in alone.pieces for statement in piece.plan.runs
    ]
