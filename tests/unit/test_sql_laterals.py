"""LATERAL and APPLY by several equalities, with and without rows inside: what DuckDB itself says."""

from __future__ import annotations

import pytest

from conformance.sql_world import policy_of, world
from tacit.policy import ColumnPolicy, TablePolicy

TIED = "v.who = p.id AND v.kind = p.kind"
ASKED = (  # as it is asked; and in DuckDB's own words where they differ
    (f"COUNT(*) FROM people p, LATERAL (SELECT COUNT(*) AS n FROM visits v WHERE {TIED}) l WHERE l.n = 0", None),
    (f"COUNT(*) FROM people p JOIN LATERAL (SELECT v.cost FROM visits v WHERE {TIED}) l ON TRUE", None),
    (f"COUNT(*) FROM people p LEFT JOIN LATERAL (SELECT v.cost FROM visits v WHERE {TIED}) l ON TRUE", None),
    (f"SUM(l.cost) FROM people p, LATERAL (SELECT v.cost FROM visits v WHERE {TIED}) l", None),
    (f"SUM(l.top) FROM people p CROSS JOIN LATERAL (SELECT MAX(v.cost) AS top FROM visits v WHERE {TIED}) l", None),
    (
        f"SUM(l.n) FROM people p CROSS JOIN LATERAL (SELECT COUNT(*) AS n FROM visits v WHERE {TIED}) l WHERE l.n < 2",
        None,
    ),
    (
        f"COUNT(*) FROM people p OUTER APPLY (SELECT v.cost FROM visits v WHERE {TIED}) l",
        f"COUNT(*) FROM people p LEFT JOIN LATERAL (SELECT v.cost FROM visits v WHERE {TIED}) l ON TRUE",
    ),
    (
        f"SUM(l.cost) FROM people p CROSS APPLY (SELECT v.cost FROM visits v WHERE {TIED} ORDER BY v.cost LIMIT 1) l",
        f"SUM(l.cost) FROM people p, LATERAL (SELECT v.cost FROM visits v WHERE {TIED} ORDER BY v.cost LIMIT 1) l",
    ),
)


@pytest.fixture(scope="module")
def there():
    caps = {"max_rows": 500, "max_groups": 5}
    columns = [ColumnPolicy("cost", lower=0, upper=99, step=1), ColumnPolicy("kind", domain=["x", "y"])]
    policy = policy_of(
        [
            TablePolicy("people", "id", columns=[ColumnPolicy("kind", domain=["x", "y"])], **caps),
            TablePolicy("visits", "who -> people.id", columns=columns, **caps),
        ]
    )
    made = world(
        policy,
        "CREATE TABLE people AS SELECT i AS id, if(i % 2 = 0, 'x', 'y') AS kind FROM range(30) AS made(i)",
        "CREATE TABLE visits AS SELECT i % 23 AS who, if(i % 3 = 0, 'x', 'y') AS kind, i % 90 AS cost"
        " FROM range(150) AS made(i)",
    )
    yield made
    made.engine.close()


@pytest.mark.parametrize(("asked", "plain"), ASKED)
def test_a_lateral_join_is_what_the_engine_says(there, asked, plain):
    (truth,) = there.engine._connection.cursor().execute(f"SELECT {plain or asked}").fetchone()
    made = there.plan(f"DP-SELECT 1 {asked}")
    (exact,) = there.exact(made)
    assert exact.integers("m0").tolist()[0] * made.measurements[0].measure.step == truth
