"""One half-width for one number: EXPLAIN, the answer, a batch and a kept answer that is read again all say the same."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from conformance.sql_world import policy_of, world
from tacit.core import Loss
from tacit.curator import Session
from tacit.curator.answer import answer
from tacit.curator.explaining.expected import expected, outputs_of
from tacit.curator.explaining.explain import expected_errors, explain
from tacit.curator.jobs.job_plan import plan_batch
from tacit.curator.measuring.measure import measure
from tacit.curator.measuring.noisy import Noisy
from tacit.curator.reading import read_job
from tacit.mechanisms.weighted import Term, WeightedNoise
from tacit.noise import SYSTEM
from tacit.policy import ColumnPolicy, TablePolicy

ANA = Session("ana")
POLICY = policy_of(
    [
        TablePolicy(
            "staff",
            "row",
            columns=[
                ColumnPolicy("age", type="integer", lower=0, upper=255, step=1, domain="range"),
                ColumnPolicy("dept", domain=["CS", "Bio"]),
                ColumnPolicy("pay", lower=0, upper=100, step="0.5"),
            ],
        )
    ]
)
ROWS = (
    "SELECT CAST(i % 256 AS INTEGER) AS age, ['CS', 'Bio'][1 + i % 2] AS dept, i % 100 AS pay FROM range(600) AS r(i)"
)
LINEAR = [
    "COUNT(*)",
    "SUM(pay) - 2 * COUNT(*)",
    "COUNT_IF(pay > 5) - COUNT_IF(age > 5)",
    "ROUND(SUM(pay) / 7 + COUNT(*) / 3, 1)",
    "COUNT(*), SUM(pay), SUM(pay) + COUNT(*)",
]


@pytest.fixture(scope="module")
def staff():
    return world(POLICY, f"CREATE TABLE staff AS {ROWS}")


@pytest.mark.parametrize("asked", LINEAR)
@pytest.mark.parametrize("epsilon", ["0.01", "1", "6"])
def test_a_question_is_as_far_off_as_explain_says(staff, asked, epsilon):
    plan = staff.plan(f"DP-SELECT {epsilon} {asked} FROM staff")
    stated = explain(plan, "duckdb").errors
    table = answer(plan, measure(plan, staff.exact(plan), public={}, source=SYSTEM))
    rounding = 0.1 if "ROUND" in asked else 0.0  # both ends are rounded, which the value decides
    assert table.errors[0] == pytest.approx(stated, rel=1e-9, abs=rounding + 1e-9)


@pytest.mark.parametrize("epsilon", ["0.01", "1", "6"])
def test_a_sum_is_as_far_off_as_its_noise_and_no_further(staff, epsilon):
    """And not by the sum of what its parts may be off by, as two intervals that each hold more often would be."""
    plan = staff.plan(f"DP-SELECT {epsilon} COUNT_IF(pay > 5) - COUNT_IF(age > 5) FROM staff")
    stated = explain(plan, "duckdb").errors[0]
    noises = [m.added for m in plan.measurements]
    weighed = staff.plan(f"DP-SELECT {epsilon} SUM(pay) - 3 * COUNT(*) FROM staff")
    terms = [Term(w * float(m.step), m.added) for w, m in zip((1, 3), weighed.measurements, strict=True)]
    assert explain(weighed, "duckdb").errors[0] == pytest.approx(
        WeightedNoise.of(terms).reach(plan.confidence), rel=1e-9
    )
    alone = WeightedNoise.of(Term(1.0, noise) for noise in noises)
    assert stated == pytest.approx(alone.reach(plan.confidence), rel=1e-9)
    assert stated < sum(noise.error(Fraction("0.975")) for noise in noises) / 1.3


@pytest.mark.parametrize("epsilon", [1, 5])
def test_a_batch_is_as_far_off_as_explain_says_and_so_when_it_is_read_again(staff, epsilon):
    prefixes = [f"SELECT COUNT(*) FROM staff WHERE age <= {end}" for end in range(3, 255, 4)]
    job = plan_batch(prefixes, POLICY, schema=staff.engine.schema(), session=ANA, price=Loss(epsilon))
    members = read_job(job, staff.engine, public=lambda _: {}, source=SYSTEM)
    for index, question in enumerate(job.answering):
        member = members[question]
        stated = expected_errors(outputs_of(job, index), expected(job.members[question]))
        table = answer(member.plan, member.noisy)
        assert table.errors[0] == pytest.approx(stated, rel=1e-9)
        again = answer(member.plan, Noisy.from_bytes(member.noisy.to_bytes()))
        assert again.errors == table.errors
    assert np.any([member.noisy.columns[0].estimates is not None for member in members])
