"""Questions that read public tables and nothing else: answered as they are, free of charge and of noise."""

from __future__ import annotations

import pytest

from conformance.sql_world import policy_of, world
from tacit.core import NOTHING
from tacit.curator import Session
from tacit.errors import QueryRefused
from tacit.policy import ColumnPolicy, TablePolicy
from tacit.sql import parse
from tacit.sql.postprocessing.blocks import BlockKind, Blocks
from tacit.sql.postprocessing.public_only import names_public_alone

ANA = Session("ana")


@pytest.fixture
def curator(tmp_path):
    visits = TablePolicy("visits", "uid", columns=[ColumnPolicy("dept", domain=["a", "b"])], max_rows=3, max_groups=2)
    return world(
        policy_of([visits, TablePolicy("depts", public=True)]),
        "CREATE TABLE visits AS SELECT i AS uid, ['a', 'b'][1 + i % 2] AS dept FROM range(100) t(i)",
        "CREATE TABLE depts AS SELECT * FROM (VALUES ('a', 'North', 12), ('b', 'South', 30)) v(dept, side, beds)",
    ).curator(tmp_path)


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("SELECT dept, beds FROM depts ORDER BY beds DESC", (("b", 30), ("a", 12))),
        ("SELECT COUNT(*) AS n, SUM(beds) FROM public.depts", ((2, 42),)),
        ("SELECT side FROM depts WHERE beds > (SELECT AVG(beds) FROM depts)", (("South",),)),
        (
            "WITH d AS (SELECT dept FROM depts) SELECT * FROM d UNION ALL SELECT 'c' ORDER BY 1",
            (("a",), ("b",), ("c",)),
        ),
        ("SELECT (SELECT MAX(beds) FROM depts) AS most", ((30,),)),
    ],
)
def test_they_are_answered_as_they_are(text, rows, curator):
    answer = curator.ask(text, session=ANA)
    assert answer.rows == rows
    assert answer.cost == NOTHING
    assert all(error is None for row in answer.errors for error in row)
    assert "nobody" in answer.footer()
    assert not curator.log("ana")


def test_a_parameter_and_explain_work_there(curator):
    answer = curator.ask("SELECT dept FROM depts WHERE beds > ?", [20], session=ANA)
    assert answer.rows == (("b",),)
    explained = curator.explain("SELECT dept, beds FROM depts", session=ANA)
    assert (explained.outputs, explained.loss) == (("dept", "beds"), NOTHING)
    assert curator.ask("EXPLAIN SELECT dept, beds FROM depts", session=ANA).outputs == ("dept", "beds")


@pytest.mark.parametrize(
    "text",
    [
        "SELECT dept FROM depts WHERE dept IN (SELECT dept FROM visits)",
        "SELECT * FROM depts, visits",
        "SELECT *, (SELECT uid FROM visits LIMIT 1) FROM depts",
        "SELECT uid FROM visits UNION ALL SELECT beds FROM depts",
        "WITH depts AS (SELECT * FROM visits) SELECT * FROM depts",
        "SELECT nothing FROM depts",
        "SELECT * FROM read_csv('depts.csv')",
        "SELECT getenv('HOME') FROM depts",
        "SELECT 1",
    ],
)
def test_what_reads_anything_else_is_no_such_question(text, curator):
    with pytest.raises(QueryRefused):
        curator.ask(text, session=ANA)
    assert not curator.log("ana")


def test_a_price_is_refused_with_what_to_write_instead(curator):
    with pytest.raises(QueryRefused, match="depts is public") as refused:
        curator.ask("DP-SELECT 1 COUNT(*) FROM depts", session=ANA)
    assert refused.value.hint == "write SELECT …: that is free"


def test_a_table_of_people_that_is_taken_for_a_public_one_is_not_read(curator, monkeypatch):
    monkeypatch.setattr(Blocks, "kind", lambda *given: BlockKind.PUBLIC)
    with pytest.raises(QueryRefused):
        curator.ask("SELECT uid FROM visits", session=ANA)


@pytest.mark.parametrize(
    ("text", "alone"),
    [
        ("SELECT * FROM depts", True),
        ('SELECT * FROM "public"."depts" a JOIN depts b ON a.dept = b.dept', True),
        ("WITH d AS (SELECT * FROM depts) SELECT * FROM d", True),
        ("WITH visits AS (SELECT * FROM depts) SELECT * FROM visits", False),  # whichever of them is meant
        ("WITH d AS (SELECT * FROM visits) SELECT * FROM d, depts", False),
        ("SELECT * FROM depts WHERE EXISTS (SELECT 1 FROM visits)", False),
        ("SELECT * FROM depts, beds", False),
        ("SELECT 1", False),
    ],
)
def test_a_door_that_asks_for_a_price_knows_what_has_none(text, alone, curator):
    assert names_public_alone(parse(text), curator.policy) is alone
