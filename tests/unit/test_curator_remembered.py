"""A kept answer that is asked for again and again: remembered beside its plan, by the entry that holds it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import tacit
from e2e.cli_clinic import build

ASKED = "DP-SELECT 0.1 {}dept, COUNT(*) AS n FROM visits GROUP BY dept ORDER BY dept"
SETS = "DP-SELECT 0.1 {}dept, COUNT(*) AS n FROM visits GROUP BY ROLLUP (dept)"
SHARE = "DP-SELECT 0.1 {}dept, COUNT(*) AS n, n / SUM(n) OVER () AS share FROM visits GROUP BY dept ORDER BY dept"


@pytest.fixture
def db(tmp_path: Path) -> Iterator[tacit.Database]:
    with tacit.open(build(tmp_path, people=50), analyst="ana") as door:
        yield door


@pytest.mark.parametrize("sql", [ASKED, SETS, SHARE])
def test_what_is_remembered_is_what_the_ledger_holds_now(db: tacit.Database, sql: str) -> None:
    first = db.query(sql.format(""))
    again = [db.query(sql.format("")) for _ in range(3)]
    assert all(each.rows == first.rows and each.errors == first.errors and each.reused for each in again)
    assert [each.cost.epsilon for each in again] == [0, 0, 0]
    newer = db.query(sql.format("FRESH "))
    assert newer.rows != first.rows
    later = [db.query(sql.format("")) for _ in range(2)]
    assert all(each.rows == newer.rows and each.receipt.entry == newer.receipt.entry for each in later)


def test_what_is_left_is_never_remembered(db: tacit.Database) -> None:
    db.query(ASKED.format(""))
    before = [db.query(ASKED.format("")).left for _ in range(2)][-1]
    db.query("DP-SELECT 0.5 FRESH COUNT(*) AS n FROM visits")
    after = db.query(ASKED.format("")).left
    assert before is not None
    assert after is not None
    assert float(before.epsilon - after.epsilon) == 0.5


def test_answers_of_other_prices_are_not_taken_for_each_other(db: tacit.Database) -> None:
    dear = db.query(ASKED.replace("0.1", "0.2").format(""))
    cheap = [db.query(ASKED.format("")) for _ in range(2)]
    assert all(each.rows == dear.rows for each in cheap)
    dearer = db.query(ASKED.replace("0.1", "0.4").format(""))
    assert dearer.reused is None
    assert [db.query(ASKED.format("")).rows for _ in range(2)] == [dearer.rows] * 2


def test_what_is_remembered_beside_a_plan_is_what_a_new_plan_says(db: tacit.Database, tmp_path: Path) -> None:
    """The second answer of a plan is made from what the first worked out: all but its numbers are the first's."""
    sql = "DP-SELECT 0.1 FRESH dept, COUNT(*) AS n, AVG(age) AS a FROM visits GROUP BY dept HAVING n > -1000 ORDER BY n"
    first, second = db.query(sql), db.query(sql)
    (tmp_path / "new").mkdir()
    with tacit.open(build(tmp_path / "new", people=50), analyst="ana") as door:
        anew = door.query(sql)
    for each in (second, anew):
        assert each.rows != first.rows
        assert (each.columns, each.shapes, each.notes, each.keys) == (
            first.columns,
            first.shapes,
            first.notes,
            first.keys,
        )
        assert each.receipt.mechanisms == first.receipt.mechanisms
        assert each.receipt.guarantee == first.receipt.guarantee
        assert {row[1] for row in each.errors} == {row[1] for row in first.errors}
