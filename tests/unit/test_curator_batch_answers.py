"""The answers of a batch: what each question counts, cell by cell, beside what SQL says."""

from __future__ import annotations

import itertools

import pytest

from conformance.sql_clinic import COLUMNS, HALF, clinic, row_clinic
from conformance.sql_world import policy_of, world
from tacit.core import Loss
from tacit.curator import Session
from tacit.curator.jobs.job_plan import plan_batch
from tacit.curator.jobs.pieces import Joint
from tacit.policy import ColumnPolicy, TablePolicy
from tacit.sql.workloads import workload

ANA = Session("ana")


def planned(made, questions, epsilon):
    return plan_batch(questions, made.policy, schema=made.engine.schema(), session=ANA, price=Loss(epsilon))


@pytest.fixture
def by_row(tmp_path):
    return row_clinic().curator(tmp_path)


PEOPLE = """
    CREATE TABLE people AS
    SELECT CASE WHEN i % 17 = 0 THEN NULL ELSE CAST(10 + i * 7 % 40 AS INTEGER) END AS age,
           CASE WHEN i % 13 = 0 THEN NULL ELSE ['CS', 'Econ', 'Art', 'other'][1 + i % 4] END AS dept,
           CASE WHEN i % 11 = 0 THEN NULL ELSE i % 3 = 0 END AS insured,
           CASE WHEN i % 19 = 0 THEN NULL ELSE DATE '2023-12-20' + CAST(i % 40 AS INTEGER) END AS seen,
           CASE WHEN i % 23 = 0 THEN NULL ELSE CAST(i % 6 AS INTEGER) END AS floor,
           'n' || i % 7 AS name
    FROM range(900) AS made(i)"""
PEOPLE_COLUMNS = (
    ColumnPolicy("age", lower=18, upper=40, step=1, domain="range"),
    ColumnPolicy("dept", domain=["CS", "Econ", "Bio", "other"]),
    ColumnPolicy("insured"),
    ColumnPolicy("seen", type="date", lower="2024-01-01", upper="2024-01-20", domain="range"),
    ColumnPolicy("floor", domain=[1, 3, 4]),
    ColumnPolicy("name"),
)
CONDITIONS = (
    "age < 30", "age >= 18", "age > 40", "age <> 25", "NOT age = 25", "25 <= age", "age BETWEEN 20 AND 33",
    "age IN (18, 20, 40)", "age NOT IN (19, 20)", "age IS NULL", "age IS NOT NULL", "age < 30.5",
    "age < 20 OR age > 30",
    "dept = 'CS'", "dept <> 'CS'", "dept IN ('Econ', 'other')", "NOT dept IN ('Econ')", "dept IS NULL",
    "insured", "NOT insured", "insured IS NULL", "insured IS NOT TRUE", "insured = FALSE",
    "seen < DATE '2024-01-09'", "seen = DATE '2024-01-20'", "seen >= DATE '2024-01-02'",
    "floor = 3", "floor <> 3", "floor IN (1, 4)", "floor IS NOT NULL",
)  # fmt: skip


@pytest.fixture(scope="module")
def people():
    return world(policy_of([TablePolicy("people", "row", columns=PEOPLE_COLUMNS)]), PEOPLE)


def true_count(made, condition):
    return int(made.engine.execute(f"SELECT COUNT(*) AS n FROM people WHERE {condition}").integers("n")[0])


def test_without_noise_every_answer_is_what_sql_says(people, tmp_path):
    """Rows outside the domains and NULLs among them; in pairs, so that every two columns meet."""
    pairs = list(itertools.pairwise(CONDITIONS)) + list(zip(CONDITIONS, CONDITIONS[13:], strict=False))
    asked = [*CONDITIONS, *(f"{a} AND ({b})" for a, b in pairs if " OR " not in a)]
    for few in _batched(asked, 12):
        questions = [f"SELECT COUNT(*) FROM people WHERE {condition}" for condition in few]
        made = planned(people, [*questions, "SELECT COUNT(*) FROM people"], 100_000)
        assert any(isinstance(piece, Joint) for piece in made.pieces)
        place = tmp_path / str(len(list(tmp_path.iterdir())))
        place.mkdir()
        curator = people.curator(place)
        batch = curator.batch([*questions, "SELECT COUNT(*) FROM people"], session=ANA, epsilon=500)
        found = [answer.rows[0][0] for answer in batch]
        wanted = [true_count(people, condition) for condition in few]
        assert found == pytest.approx([*wanted, 900], abs=0.6), few


def _batched(items, size):
    return [items[start : start + size] for start in range(0, len(items), size)]


def test_groups_come_in_the_order_of_a_single_question(people, tmp_path):
    questions = [
        "SELECT dept, insured, COUNT(*) AS n FROM people WHERE age < 30 GROUP BY insured, dept",
        "SELECT dept, COUNT(*) FROM people GROUP BY dept HAVING COUNT(*) > 100 ORDER BY 2 DESC LIMIT 2",
        "SELECT age, COUNT(*) FROM people WHERE age IN (20, 21) GROUP BY age",
        "SELECT COUNT(*) FROM people WHERE dept = 'CS' AND age < 30",
    ]
    assert isinstance(planned(people, questions, 500).pieces[0], Joint)
    curator = people.curator(tmp_path)
    batch = curator.batch(questions, session=ANA, epsilon=450)
    for question, answer in zip(questions, batch, strict=True):
        single = curator.ask(question.replace("SELECT", "DP-SELECT 100 FRESH", 1), session=ANA)
        assert answer.columns == single.columns
        assert [row[:-1] for row in answer.rows] == [row[:-1] for row in single.rows]
        assert [row[-1] for row in answer.rows] == pytest.approx([row[-1] for row in single.rows], abs=0.6)


def test_what_where_leaves_out_is_not_shown(people, tmp_path):
    batch = people.curator(tmp_path).batch(
        [
            "SELECT age, COUNT(*) FROM people WHERE age IN (20, 21) GROUP BY age",
            "SELECT COUNT(*) FROM people WHERE age < 30",
        ],
        session=ANA,
        epsilon=1,
    )
    rows = dict(zip([row[0] for row in batch[0].rows], zip(batch[0].rows, batch[0].errors, strict=True), strict=True))
    assert sorted(rows) == [20, 21]
    assert rows[20][1][1] > 0


@pytest.mark.parametrize("kind", ["UTINYINT", "TINYINT", "UBIGINT", "BIGINT", "HUGEINT"])
def test_whole_numbers_of_every_size_find_their_cells(kind, tmp_path):
    columns = [ColumnPolicy("x", lower=0, upper=5, step=1, domain="range"), ColumnPolicy("y", domain=[0, 7])]
    made = world(
        policy_of([TablePolicy("people", "row", columns=columns)]),
        f"CREATE TABLE people AS SELECT CAST(i % 9 AS {kind}) AS x, CAST(i % 10 AS {kind}) AS y FROM range(90) AS r(i)",
    )
    conditions = ["x < 3", "x >= 3", "y <> 7 AND x >= 3", "y IS NOT NULL", "y = 0", "x = 5 AND y = 7"]
    questions = [f"SELECT COUNT(*) FROM people WHERE {condition}" for condition in conditions]
    assert isinstance(planned(made, questions, 500).pieces[0], Joint)
    batch = made.curator(tmp_path).batch(questions, session=ANA, epsilon=500)
    assert [answer.rows[0][0] for answer in batch] == pytest.approx([true_count(made, c) for c in conditions], abs=0.6)


def test_conditions_that_nobody_can_meet_count_nobody(by_row):
    never = ["age < 20 AND age > 30 AND insured", "insured AND NOT insured AND age < 30"]
    batch = by_row.batch([f"SELECT COUNT(*) FROM visits WHERE {text}" for text in never], session=ANA, epsilon=1)
    assert [answer.rows[0][0] for answer in batch] == [0, 0]


def test_answers_that_should_add_up_do(by_row):
    batch = by_row.batch(
        [
            "SELECT COUNT(*) FROM visits WHERE age < 40",
            "SELECT COUNT(*) FROM visits WHERE NOT age < 40",
            "SELECT COUNT(*) FROM visits WHERE age IS NOT NULL",
            "SELECT insured, COUNT(*) FROM visits WHERE age < 40 GROUP BY insured",
            "SELECT COUNT(*) FROM visits WHERE age < 40 AND insured IS NULL",
        ],
        session=ANA,
        epsilon=HALF,
    )
    young, old, known, insured, open_ = ([row[-1] for row in answer.rows] for answer in batch)
    assert young[0] + old[0] == pytest.approx(known[0])
    assert sum(insured) + open_[0] == pytest.approx(young[0])


@pytest.mark.parametrize(
    "condition",
    ["age = 17", "age < 10", "age > 95", "age IN (20, 99)", "dept < 'D'", "floor < 3", "floor = 2",
     "name = 'n1'", "age < 30 OR insured", "dept LIKE 'C%'"],
)  # fmt: skip
def test_a_condition_that_cuts_a_cell_in_two_is_not_taken_for_one(people, condition):
    """It stays in the WHERE of the histogram, or the question stands alone; either way the count is right."""
    bound = people.bound(f"SELECT COUNT(*) FROM people WHERE {condition}")
    found = workload.fitting(bound)
    assert found.rest is not None
    assert not found.masks


@pytest.mark.parametrize(
    "question",
    ["SELECT SUM(age) FROM people", "SELECT COUNT(age) FROM people", "SELECT COUNT(*) + 1 FROM people",
     "SELECT COUNT(*) FILTER (WHERE insured) FROM people", "SELECT name, COUNT(*) FROM people GROUP BY name",
     "SELECT age > 30, COUNT(*) FROM people GROUP BY age > 30"],
)  # fmt: skip
def test_what_is_no_sum_of_cells_does_not_fit(people, question):
    assert workload.fitting(people.bound(question)) is None


def test_numbers_that_may_lie_between_two_cells_do_not_fit():
    columns = (ColumnPolicy("weight", lower=0, upper=9, step=1, domain="range"), *COLUMNS[1:5])
    made = clinic(columns=columns)
    assert workload.fitting(made.bound("SELECT weight, COUNT(*) FROM visits GROUP BY weight")) is None
    assert not workload.fitting(made.bound("SELECT COUNT(*) FROM visits WHERE weight < 5")).masks


def test_one_kept_answer_goes_by_the_name_that_each_question_of_a_batch_gives_it(by_row):
    questions = ["SELECT COUNT(*) AS here FROM visits", "SELECT COUNT(*) AS there FROM visits"]
    for reused in (None, "the same questions"):
        batch = by_row.batch(questions, session=ANA, epsilon=1)
        assert batch.reused == reused
        assert [answer.columns for answer in batch] == [("here",), ("there",)]
