"""Rows that count nowhere: a note on every answer says which, and `check` tells the curator how many."""

from __future__ import annotations

import duckdb
import pytest

from conformance.sql_clinic import clinic, row_clinic
from tacit.curator import Session
from tacit.faces.owner.examining import examine

ANA = Session("ana")

POLICY = """
[dataset]
name = "d"
source = "d.duckdb"
[budget]
epsilon = 1
delta = 1e-6
[analysts.ana]
epsilon = 1
[tables.people]
unit = "id"
max_groups = 1
max_rows = 1
[tables.visits]
unit = "person -> people.code"
max_groups = 2
max_rows = 3
[tables.visits.columns]
dept = { domain = ["CS", "Econ"] }
floor = { lower = 0, upper = 3, step = 1, domain = "range" }
paid = {}
city = { domain = { table = "cities", column = "name" } }
note = {}
[tables.cities]
public = true
"""
TABLES = """
CREATE TABLE people AS SELECT * FROM (VALUES (1, 'a'), (2, 'b'), (NULL, 'c')) AS p(id, code);
CREATE TABLE cities AS SELECT * FROM (VALUES ('Rome')) AS c(name);
CREATE TABLE visits AS SELECT * FROM (VALUES
    ('a', 'CS', 1, true, 'Rome', 'x'), ('b', 'Art', 9, NULL, 'Bern', 'y'), ('b', NULL, NULL, false, NULL, 'z'),
    ('c', 'CS', 2, true, 'Rome', 'x'), (NULL, 'CS', 2, true, 'Rome', 'x'), ('zz', 'CS', 2, true, 'Rome', 'x')
) AS v(person, dept, floor, paid, city, note);
"""


def told(tmp_path, *, tables=TABLES, policy=POLICY):
    with duckdb.connect(str(tmp_path / "d.duckdb")) as connection:
        connection.execute(tables)
    (tmp_path / "d.toml").write_text(policy)
    found = examine(tmp_path / "d.toml").findings
    return {".".join(map(str, finding.path)): finding.reason for finding in found if " rows " in finding.reason}


def test_check_counts_the_rows_that_no_question_counts(tmp_path):
    said = told(tmp_path)
    assert said["tables.people.unit"].startswith("1 of 3 rows belong to nobody:")
    # of nobody: NULL, a key that no person has, and a key whose person has no id
    assert said["tables.visits.unit"].startswith("3 of 6 rows belong to nobody, 1 of them NULL:")
    of = "tables.visits.columns.{}.domain".format
    for name in ("dept", "floor", "city"):
        assert said[of(name)].startswith("2 of 3 rows have none of the public values (NULL in 1)")
    assert said[of("paid")].startswith("1 of 3 rows have none of the public values (NULL in 1)")
    assert of("note") not in said


def test_check_is_silent_where_every_row_counts(tmp_path):
    whole = TABLES.replace("(NULL, 'c')", "(3, 'c')").replace("NULL, 'CS', 2", "'a', 'CS', 2").replace("'zz'", "'a'")
    whole = whole.replace("'Art', 9, NULL, 'Bern'", "'CS', 3, true, 'Rome'").replace(
        "NULL, NULL, false, NULL", "'CS', 0, false, 'Rome'"
    )
    assert told(tmp_path, tables=whole) == {}


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("COUNT(*) FROM visits", ["rows without a patient_id"]),
        ("dept, COUNT(*) FROM visits GROUP BY dept", ["without a patient_id", "dept is none of its public values"]),
        ("COUNT(*) FROM visits GROUP BY insured", ["insured is none of its public values"]),
        ("age > 30 AS old, COUNT(*) FROM visits GROUP BY old", ["old is none of its public values"]),
        ("HISTOGRAM(dept) FROM visits", ["counts its public values alone"]),
        ("MODE(dept) FROM visits", ["counts its public values alone"]),
        ("dept, COUNT(*) FROM visits GROUP BY ROLLUP (dept)", ["dept is none of its public values"]),
    ],
)
def test_an_answer_says_in_one_note_which_rows_it_leaves_out(tmp_path, body, words):
    curator = clinic().curator(tmp_path)
    notes = curator.ask(f"DP-SELECT 1 {body}", session=ANA).notes
    assert sum(note.startswith("left out") for note in notes) == 1
    assert all(any(word in note for note in notes) for word in words), notes
    assert set(notes) >= {n for n in curator.explain(f"DP-SELECT 1 {body}", session=ANA).notes if "left out:" in n}


def test_a_batch_says_it_too(tmp_path):
    curator = clinic().curator(tmp_path)
    asked = ["SELECT dept, COUNT(*) FROM visits GROUP BY dept", "SELECT COUNT(*) FROM visits"]
    for answer in curator.batch(asked, session=ANA, epsilon=1):
        assert sum(note.startswith("left out") for note in answer.notes) == 1


@pytest.mark.parametrize(
    "body",
    [
        "COUNT(*) FROM visits",
        "city, COUNT(*) FROM visits GROUP BY city",
        "CASE WHEN age > 30 THEN 'old' ELSE 'young' END AS a, COUNT(*) FROM visits GROUP BY a",
    ],
)
def test_nothing_is_said_where_no_row_is_left_out(tmp_path, body):
    notes = row_clinic().curator(tmp_path).ask(f"DP-SELECT 1 DELTA 1e-6 {body}", session=ANA).notes
    assert not any(note.startswith("left out") for note in notes)
    one = clinic(null_unit="one").curator((tmp_path / "one").mkdir() or tmp_path / "one")
    notes = one.ask(f"DP-SELECT 1 DELTA 1e-6 {body}", session=ANA).notes
    assert not any(note.startswith("left out") for note in notes)
