"""Batches where a unit has many rows: what is shared, what one unit moves, and what is gained."""

from __future__ import annotations

import importlib
import random
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from conformance.sql_clinic import clinic, row_clinic
from conformance.sql_ranges import prove
from conformance.sql_sets import _spent, rho_paid_for
from conformance.sql_world import policy_of, world
from tacit.core import Loss
from tacit.curator import Session
from tacit.curator.jobs.job_plan import plan_batch
from tacit.curator.jobs.pieces import Joint
from tacit.curator.reading import histograms
from tacit.mechanisms import Laplace
from tacit.mechanisms.strategy import Strategy, Workload, each, everything, picked
from tacit.policy import BudgetPolicy, ColumnPolicy, TablePolicy
from tacit.sql.rules import Spread
from tacit.sql.workloads.cover import covering
from tacit.sql.workloads.workload import fitting, joined

weighing = importlib.import_module("tacit.sql.rules.weigh_groups")  # whose rule has its name
ANA = Session("ana")
DELTA = Fraction(1, 10**6)
FIVE = (  # what a ward asks of its visits on a Monday
    "SELECT COUNT(*) FROM visits",
    "SELECT dept, COUNT(*) FROM visits GROUP BY dept",
    "SELECT insured, COUNT(*) FROM visits GROUP BY insured",
    "SELECT COUNT(*) FROM visits WHERE age >= 65",
    "SELECT dept, COUNT(*) FROM visits WHERE age BETWEEN 30 AND 64 GROUP BY dept",
)


def planned(made, questions, epsilon=1, delta=0):
    return plan_batch(questions, made.policy, schema=made.engine.schema(), session=ANA, price=Loss(epsilon, delta))


@pytest.mark.parametrize("delta", [0, DELTA])
def test_five_questions_about_people_with_many_visits_share_one_histogram(delta):
    made = planned(clinic(max_rows=6, max_groups=5), FIVE, 1, delta)
    (piece,) = made.pieces
    assert isinstance(piece, Joint)
    assert piece.gain > 1.5  # before units were bounded over all cells together, they were asked alone
    assert piece.plan.caps.spread is Spread.WEIGH_ROWS
    assert piece.plan.caps.max_rows == 18  # the second question, alone, counts six rows of a unit in each of three


def test_no_question_counts_less_of_a_unit_than_it_would_alone():
    """One visit in each of three departments, of which each counts one alone; beside a total, too."""
    made = clinic(max_rows=1, max_groups=3)
    cells = joined([fitting(made.bound(question)) for question in FIVE[:2]])
    assert cells.histogram.total_rows == 3


def test_their_answers_are_right_and_say_how_much_of_a_person_counts(tmp_path):
    """Forty patients with five visits each, of which eighteen would count. Beyond twenty deviations: 1e-10."""
    made = clinic(max_rows=6, max_groups=5)
    batch = made.curator(tmp_path).batch(FIVE, session=ANA, epsilon=60)
    exact = made.engine.execute("SELECT dept AS d, COUNT(*) AS n FROM visits WHERE dept <> 'Art' GROUP BY 1")
    assert batch[0].rows[0][0] == pytest.approx(200, abs=30)
    wanted = dict(zip(exact.keys("d"), exact.integers("n"), strict=True))
    assert {row[0]: row[1] for row in batch[1].rows} == pytest.approx(wanted, abs=22)
    said = "counts at most 18 rows of a unit over all groups (weigh by max_rows / rows), a cell being a group"
    assert said in batch[1].notes


def test_what_a_shared_histogram_counts_of_many_rows_serves_the_same_batch_and_no_question_alone(tmp_path):
    """One bound over all cells is not each question's own: they are other numbers."""
    curator = clinic(max_rows=6, max_groups=5).curator(tmp_path)
    assert curator.batch(FIVE[:2], session=ANA, epsilon=1).reused is None
    assert curator.batch(FIVE[:2], session=ANA, epsilon=1).reused is not None
    alone = [curator.ask(question.replace("SELECT", "DP-SELECT 0.01"), session=ANA) for question in FIVE[:2]]
    assert [answer.reused for answer in alone] == [None, None]


def test_where_each_row_is_a_person_it_serves_each_question_alone(tmp_path):
    curator = row_clinic().curator(tmp_path)
    curator.batch(FIVE[:2], session=ANA, epsilon=1)
    alone = [curator.ask(question.replace("SELECT", "DP-SELECT 0.01"), session=ANA) for question in FIVE[:2]]
    assert [answer.reused for answer in alone] == ["the same question"] * 2


def test_a_unit_with_more_rows_than_count_is_weighed_down_and_not_cut(tmp_path):
    """Five visits each, of which three count: every cell keeps three fifths, so that proportions stay."""
    made = clinic(max_rows=1, max_groups=5)
    (piece,) = planned(made, FIVE).pieces
    (cells,) = histograms(piece, made.engine.execute(piece.plan.statements[0].sql("duckdb")))
    assert cells.sum() == 200 * int(1024 * 3 / 5)


@pytest.mark.parametrize("max_rows", [1, 6, 10**6, 2**31 - 1])
def test_no_node_of_the_shared_query_can_leave_its_type(max_rows):
    made = clinic(max_rows=max_rows, max_groups=5)
    joint = next(piece for piece in planned(made, FIVE).pieces if isinstance(piece, Joint))
    for dialect in ("duckdb", "postgres", "spark"):
        assert prove(joint.plan.statements[0].sql(dialect), dialect, made.engine.schema()) > 3


def test_without_max_groups_the_questions_say_how_many_rows_count():
    (piece,) = planned(
        clinic(max_groups=None, max_rows=3), [FIVE[0], FIVE[3], "SELECT COUNT(*) FROM visits WHERE insured"], 1
    ).pieces
    assert isinstance(piece, Joint)
    assert piece.plan.measurements[0].l1 == 3 * 1024


# ── which questions cover all cells ──────────────────────────────────────────────────────────────────────────────────


def rows(*bits):
    return picked(np.array([bits], dtype=bool))


def test_the_least_bound_of_a_question_that_counts_everything_is_taken():
    workload = Workload((3, 2), ((each(3), everything(2)), (everything(3), everything(2)), (rows(1, 0, 0), each(2))))
    assert covering(workload, [12, 4, 1]) == 4


def test_questions_that_share_the_cells_between_them_add_up():
    workload = Workload((4,), ((rows(1, 1, 0, 0),), (rows(0, 0, 1, 0),), (rows(0, 0, 1, 1),)))
    assert covering(workload, [3, 3, 3]) == 6


def test_what_nobody_counts_needs_no_one():
    workload = Workload((4,), ((rows(1, 1, 0, 0),), (rows(1, 0, 0, 0),)))
    assert covering(workload, [3, 2]) == 3


# ── one unit ─────────────────────────────────────────────────────────────────────────────────────────────────────────

COLUMNS = (
    ColumnPolicy("age", lower=0, upper=9, step=1, domain="range"),
    ColumnPolicy("dept", domain=["a", "b", "c"]),
    ColumnPolicy("ill"),
)
POOL = (
    "SELECT COUNT(*) FROM t",
    "SELECT dept, COUNT(*) FROM t GROUP BY dept",
    "SELECT ill, dept, COUNT(*) FROM t GROUP BY ill, dept",
    "SELECT age, COUNT(*) FROM t GROUP BY age",
    *(f"SELECT COUNT(*) FROM t WHERE age < {age}" for age in range(1, 10)),
    *(f"SELECT COUNT(*) FROM t WHERE age >= {age} AND ill" for age in range(0, 9, 2)),
    "SELECT COUNT(*) FROM t WHERE dept <> 'a'",
    "SELECT COUNT(*) FROM t WHERE ill IS NULL",
)


def hospital(rng):
    """Few units: most have few rows, one very many, one all in one cell. NULLs, and values outside of the domains."""
    rows = [("u1", 4, "'b'", "TRUE")] * 9
    for unit in (0, 2, 3, 4, 5, 6):
        for _ in range(rng.choice((1, 2, 3, 5, 40 if unit == 0 else 8))):
            dept, ill = rng.choice(["NULL", "'a'", "'b'", "'c'", "'z'"]), rng.choice(["NULL", "TRUE", "FALSE"])
            rows.append((f"u{unit}", rng.choice(["NULL", *range(-2, 12)]), dept, ill))
    groups, most = rng.choice((None, 1, 2, 6)), rng.choice((1, 2, 3, 7))
    bounding = rng.choice(("auto", "weigh")) if groups is None else rng.choice(("auto", "weigh", "sample"))
    table = TablePolicy("t", "id", columns=COLUMNS, max_groups=groups, max_rows=most, bounding=bounding)
    budget = BudgetPolicy(1000, Fraction(1, 10), accounting=rng.choice(("approximate", "zcdp", "zcdp")))
    values = ", ".join(f"('{unit}', {age}, {dept}, {ill})" for unit, age, dept, ill in rows)
    return world(
        policy_of([table], budget=budget, adjacency=rng.choice(("add/remove", "replace"))),
        "CREATE TABLE t AS SELECT id, CAST(age AS INTEGER) AS age, dept, CAST(ill AS BOOLEAN) AS ill"
        f" FROM (VALUES {values}) AS v(id, age, dept, ill)",
    )


def moved(made, joint):
    """For every unit the histogram with all and that without it."""
    sql = joint.plan.statements[0].sql("duckdb")
    (whole,) = histograms(joint, made.engine.execute(sql))
    for unit in range(7):
        without = sql.replace('FROM "t"', f"FROM (SELECT * FROM \"t\" WHERE id <> 'u{unit}')", 1)
        assert without != sql
        (other,) = histograms(joint, made.engine.execute(without))
        yield whole, other


def tries(seeds):
    """For every unit and shared histogram: what was seen, and whether it, or what is measured of it, moves too far."""
    for seed in seeds:
        rng = random.Random(seed)
        made = hospital(rng)
        questions = rng.sample(POOL, rng.randrange(2, 9))
        price = rng.choice(((1, 0), (Fraction(1, 3), DELTA), (8, 0), (8, DELTA)))
        if made.policy.table("t").max_groups is None:  # groups are refused there, whoever asks
            questions = [text for text in POOL if "GROUP" not in text and text in {*questions, POOL[0], POOL[7]}]
        for joint in planned(made, questions, *price).pieces:
            if not isinstance(joint, Joint):
                continue
            seen = {joint.plan.caps.spread, joint.strategy.name, type(joint.noise.noises[0]).__name__}
            steps = made.policy.adjacency.steps
            pure = isinstance(joint.noise.noises[0], Laplace)
            limit = joint.loss.epsilon / steps if pure else rho_paid_for(joint)
            for whole, other in moved(made, joint):
                too_far = np.abs(whole - other).sum() > joint.plan.measurements[0].l1
                yield seen, bool(too_far or _spent(joint.noise, whole, other) > limit)


def test_no_unit_moves_a_shared_histogram_by_more_than_is_claimed():
    tried = list(tries(range(30)))
    assert not any(too_far for _, too_far in tried)
    assert len(tried) > 100
    assert set().union(*(seen for seen, _ in tried)) >= {Spread.WEIGH_ROWS, "weighted sums", "Laplace", "Gaussian"}


def _by_roots(patch):
    """Weights by the root of how many groups a unit touches, as fits another norm."""
    by_rows = weighing._shares
    patch.setattr(weighing, "_shares", lambda facts: by_rows(replace(facts, spread=Spread.WEIGH_L2)))


def _a_hundredth_less(patch):
    whole = Strategy.squared_norm
    patch.setattr(Strategy, "squared_norm", lambda self, part: whole(self, part) * Fraction(98, 100))


@pytest.mark.parametrize("plant", [_by_roots, _a_hundredth_less])
def test_a_sensitivity_that_is_too_small_is_noticed(plant, monkeypatch):
    plant(monkeypatch)
    assert any(too_far for _, too_far in tries(range(30)))
