"""Questions for rows: answered from synthetic ones, paid for once, and refused before a charge where they must be."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import tacit
from support.synthetic import COLUMNS, policy, rows
from tacit.errors import QueryRefused, TacitError
from tacit.policy import ColumnPolicy


@pytest.fixture
def db(tmp_path: Path) -> Iterator[tacit.Database]:
    with tacit.open(policy(tmp_path, rows(3_000)), analyst="ana") as opened:
        yield opened


def left(db: tacit.Database) -> object:
    return db.budget.left.epsilon if db.budget.left is not None else None


def test_rows_are_synthetic_paid_once_and_then_free(db: tacit.Database) -> None:
    first = db.query("DP-SELECT 20 * FROM t")
    assert first.columns == ("town", "age", "ok")
    assert first.cost.epsilon == 20
    assert "synthetic" in first.notes[0]
    assert 2_500 < len(first) < 3_500
    some = db.query("DP-SELECT 5 age AS years, town FROM t x WHERE ok AND x.age > ? ORDER BY years DESC LIMIT 3", [3])
    assert (some.columns, some.reused, left(db)) == (("years", "town"), "the same synthetic table", 80)
    ages = sorted((age for town, age, ok in first if ok and age is not None and age > 3), reverse=True)
    assert [age for age, _ in some] == ages[:3], "it is a look at the same rows"
    assert db.query("DP-SELECT 20 * FROM t WHERE age > 99").rows == ()
    assert left(db) == 80
    again = db.query("DP-SELECT 1 FRESH town FROM t LIMIT 1")
    assert (again.cost.epsilon, left(db)) == (1, 79)


def test_explaining_rows_is_free_and_names_their_columns(db: tacit.Database) -> None:
    said = db.explain("DP-SELECT 1 town AS place, ok FROM t")
    assert said.outputs == ("place", "ok")
    assert [shape.kind for shape in said.shapes] == ["text", "boolean"]
    assert said.loss.epsilon == 1
    assert left(db) == 100


@pytest.mark.parametrize(
    "sql",
    [
        "DP-SELECT 1 nope FROM t",
        "DP-SELECT 1 * FROM nope",
        "DP-SELECT 1 unit FROM t",
        "DP-SELECT 1 town FROM t WHERE nope > 1",
        "DP-SELECT 1 town FROM t WHERE age > 'x' || town AND (",
        "DP-SELECT 1 town FROM t WHERE town",
        "DP-SELECT 1 * FROM t, t AS u",
        "DP-SELECT 1 * FROM t WHERE town = (SELECT 1)",
        "DP-SELECT 1 town FROM t WHERE getenv('HOME') = ''",
        "DP-SELECT 1 town FROM t WHERE random() < 0.5",
        "DP-SELECT 1 town, COUNT(*) FROM t",
        "DP-SELECT 1 *, town FROM t",
        "DP-SELECT WITHIN 5 town FROM t",
        "DP-SELECT 1 CONFIDENCE 0.9 town FROM t",
        "SELECT town FROM t",
        "DP-SELECT 1 * FROM 't.csv'",
    ],
)
def test_what_makes_no_sense_is_refused_and_costs_nothing(db: tacit.Database, sql: str) -> None:
    with pytest.raises(TacitError):
        db.query(sql)
    assert left(db) == 100


def test_columns_without_a_domain_are_left_out_unless_they_are_asked_for(tmp_path: Path) -> None:
    declared = policy(tmp_path, [], columns=(*COLUMNS, ColumnPolicy("free", type="text")))
    (tmp_path / "t.csv").write_text("unit,town,age,ok,free\n1,a,2,true,secret\n")
    with tacit.open(declared, analyst="ana") as db:
        assert db.query("DP-SELECT 1 town, age FROM t LIMIT 1").cost.epsilon == 1
        for sql in ("DP-SELECT 1 * FROM t", "DP-SELECT 1 free FROM t", "DP-SELECT 1 town FROM t WHERE free = 'x'"):
            with pytest.raises(QueryRefused, match="free has no public domain"):
                db.query(sql)
        assert left(db) == 99


def test_neighbours_are_told_the_same_before_anything_is_paid(tmp_path: Path) -> None:
    said = []
    for data in (rows(40), rows(40)[2:]):
        with tacit.open(policy(tmp_path, data), analyst="ana") as db:
            said.append(db.explain("DP-SELECT 1 * FROM t WHERE age > 3").to_json())
    assert said[0] == said[1]
