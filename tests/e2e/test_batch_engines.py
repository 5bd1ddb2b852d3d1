"""The histogram that a batch shares, where a unit has many rows: every engine counts the same cells."""

from __future__ import annotations

import numpy as np
import pytest

import tacit
from conformance.engine_pairs import Script
from conformance.engine_sources import OTHERS
from conformance.sql_world import policy_of, world
from e2e.people_with_gaps import COLUMNS
from tacit.core import Loss
from tacit.curator import Session
from tacit.curator.jobs.job_plan import plan_batch
from tacit.curator.jobs.pieces import Joint
from tacit.curator.reading import histograms
from tacit.sql.rules import Spread

VISITS = (  # from 1 to 28 of each, some cells missing or outside of their domains
    "CREATE TABLE t (name VARCHAR, age INTEGER, dept VARCHAR, insured BOOLEAN, seen DATE)",
    *(
        f"INSERT INTO t VALUES ('p{i % (1 + i % 15)}', {10 + i * 7 % 40 if i % 17 else 'NULL'},"
        f" {('NULL', repr('CS'), repr('Art'), repr('other'))[i % 4]}, {('TRUE', 'FALSE', 'NULL')[i * i % 3]}, NULL)"
        for i in range(120)
    ),
)
QUESTIONS = (
    "SELECT COUNT(*) FROM t",
    "SELECT dept, COUNT(*) FROM t GROUP BY dept",
    "SELECT insured, COUNT(*) FROM t GROUP BY insured",
    "SELECT COUNT(*) FROM t WHERE age < 30",
)


@pytest.mark.parametrize("name", sorted(OTHERS))
def test_every_engine_weighs_units_by_their_rows_alike(name: str) -> None:
    policy = policy_of([tacit.TablePolicy("t", "name", columns=COLUMNS, max_groups=1, max_rows=6)])
    found = []
    for engine in (world(policy, *VISITS).engine, OTHERS[name].opened(Script(policy, VISITS))):
        schema = engine.schema()
        planned = plan_batch(QUESTIONS, policy, schema=schema, session=Session("ana"), price=Loss(1))
        (joint,) = planned.pieces
        assert isinstance(joint, Joint)
        assert joint.plan.caps.spread is Spread.WEIGH_ROWS
        found.append(histograms(joint, engine.execute(joint.plan.statements[0].sql(engine.dialect)))[0])
        engine.close()
    assert found[0].sum() > 0
    assert found[0].sum() % 1024  # somebody has more rows than count, and is weighed down
    assert np.array_equal(found[0], found[1])
