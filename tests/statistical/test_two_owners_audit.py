"""The auditor on a hub: what leaves of two graphs that differ in one person tells no more than the price says.

Everything runs: the generated SQL on both graphs, the test, and the noise, or that the answer was withheld. A bound
that is too high is certified once in a million times; the twin whose noise hides one pair alone must be found out.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

from conformance.sql_two_owners import CREATED, distance, planned, trips, without
from conformance.sql_world import world
from tacit.attack import audit
from tacit.curator.measuring.measure import measure
from tacit.errors import AnswerWithheld
from tacit.mechanisms import Laplace
from tacit.noise import SYSTEM
from tacit.sql import Plan

DRAWS = 3_000
WITHHELD = -(10**6)


def graphs(plan: Plan):
    """A hub who is a partner of everybody that has too many, as many as the test lets pass about half of the time."""
    assert plan.test is not None
    most = plan.test.partners
    pairs = [("hub", f"own {each}") for each in range(most)]
    for big in range(plan.test.most - 1):
        pairs.append(("hub", f"big {big}"))
        pairs += [(f"big {big}", f"leaf {big} {each}") for each in range(most + 2)]
    rows = [(*pair, number % 400) for number, pair in enumerate(pairs)]
    return rows, without(rows, "hub")


def drawing(plan: Plan):
    """A draw of what leaves on either side."""
    sides = []
    for rows in graphs(plan):
        cells = ", ".join(f"('{first}', '{second}', {number}, 1, 'a')" for first, second, number in rows)
        made = world(trips(max_rows=1, max_partners=2), CREATED, f"INSERT INTO trips VALUES {cells}")
        sides.append([made.engine.execute(statement.sql("duckdb")) for statement in plan.runs])

    def one(side: int) -> int:
        try:
            return int(measure(plan, sides[side], public={}, source=SYSTEM).columns[0].numbers[0])
        except AnswerWithheld:
            return WITHHELD

    def draw(side: int, times: int, /):
        return np.array([one(side) for _ in range(times)], dtype=np.int64)

    return draw, sides


def test_a_hub_is_told_no_better_than_is_claimed_and_a_noise_for_one_pair_is_found_out():
    plan = planned(trips(max_rows=1, max_partners=2), "DP-SELECT 2 COUNT(*) FROM trips")
    rows, fewer = graphs(plan)
    assert distance(rows, 2) == plan.test.most == distance(fewer, 2) + 1
    draw, sides = drawing(plan)
    moved = abs(int(sides[0][0].integers("m0")[0]) - int(sides[1][0].integers("m0")[0]))
    assert 0 < moved <= plan.test.rows
    honest = audit(draw, draws=DRAWS, delta=float(plan.loss.delta), claimed=2.0)
    assert honest.epsilon <= 2
    (measurement,) = plan.measurements
    narrow = Laplace(measurement.noise.scale / plan.test.pairs)  # as if a person were one pair
    broken = replace(plan, measurements=(replace(measurement, noise=narrow),))
    draw, _ = drawing(broken)
    assert audit(draw, draws=DRAWS, delta=float(Fraction(plan.loss.delta)), claimed=2.0).epsilon > 2
