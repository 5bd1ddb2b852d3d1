"""Every other way to a table: none takes rows with two owners for one person's, and none charges before it says so."""

from __future__ import annotations

import duckdb
import pytest

import tacit
from tacit.attack.auditing.queries import audit_query
from tacit.errors import QueryRefused
from tacit.learn import AdditiveClassifier, NaiveBayesClassifier, RidgeRegressor
from tacit.policy import load_policy
from tacit.release.anonymise import anonymise

POLICY = """
[dataset]
name = "town"
source = "town.duckdb"
[budget]
epsilon = 100
delta = 1e-3
default_epsilon = 1
default_delta = 1e-6
[analysts.ana]
epsilon = 50
[tables.trips]
units = ["rider", "driver"]
max_rows = 2
max_partners = 5
[tables.trips.columns]
fare = { type = "integer", lower = 0, upper = 20, domain = "range" }
hour = { type = "integer", lower = 0, upper = 23, domain = "range" }
place = { domain = { table = "places", column = "place" } }
late = { type = "boolean" }
[tables.places]
public = true
[tables.people]
unit = "id"
[tables.people.columns]
age = { type = "integer" }
"""


@pytest.fixture(scope="module")
def town(tmp_path_factory):
    base = tmp_path_factory.mktemp("town")
    with duckdb.connect(str(base / "town.duckdb")) as owner:
        owner.execute("CREATE TABLE places AS SELECT 'a' AS place, 'west' AS part UNION ALL SELECT 'b', 'east'")
        owner.execute("CREATE TABLE people AS SELECT 'p' || i AS id, i AS age FROM range(90) AS made(i)")
        owner.execute(
            "CREATE TABLE trips AS SELECT CASE WHEN i < 7 THEN NULL ELSE 'p' || i END AS rider, 'q' || i AS driver, "
            "i % 21 AS fare, i % 24 AS hour, CASE WHEN i % 2 = 0 THEN 'a' ELSE 'b' END AS place, i % 3 = 0 AS late "
            "FROM range(300) AS made(i)"
        )
    (base / "tacit.toml").write_text(POLICY)
    return base / "tacit.toml"


@pytest.fixture(scope="module")
def db(town):
    with tacit.open(str(town), analyst="ana") as opened:
        yield opened


PRICE = {"epsilon": 1, "delta": "1e-6"}
PLACES = {"target": "place", "features": ["hour"]}
DOORS = {
    "synthesise": lambda db: db.synthesise("trips", **PRICE),
    "synthesise some columns": lambda db: db.synthesise("trips", columns=["fare", "hour"], **PRICE),
    "hierarchy": lambda db: db.hierarchy("trips", "place", levels=["part"], **PRICE),
    "heatmap": lambda db: db.heatmap("trips", "fare", "hour", **PRICE),
    "histogram": lambda db: db.histogram("trips", "fare", **PRICE),
    "responses": lambda db: db.responses("trips", ["place"], **PRICE),
    "workload": lambda db: db.workload("trips", ["hour"], epsilon=1),
    "ridge": lambda db: db.fit(RidgeRegressor(epsilon=1), "trips", target="fare", features=["hour"]),
    "trees": lambda db: db.fit(
        AdditiveClassifier(epsilon=1, delta=1e-6, classes=["a", "b"]), "trips", target="place", features=["hour"]
    ),
    "bayes": lambda db: db.fit(
        NaiveBayesClassifier(epsilon=1, classes=["a", "b"]), "trips", target="place", features=["hour"]
    ),
    "batch": lambda db: db.batch(["SELECT COUNT(*) FROM trips"], epsilon=1, delta="1e-6"),
    "a batch within": lambda db: db.batch(["SELECT COUNT(*) FROM trips"], within=10, delta="1e-6"),
    "explain a batch": lambda db: db.explain_batch(["SELECT COUNT(*) FROM trips"], epsilon=1, delta="1e-6"),
    "rows": lambda db: db.query("DP-SELECT 1 * FROM trips"),
    "some columns": lambda db: db.query("DP-SELECT 1 fare, hour FROM trips WHERE hour > 3"),
    "coins": lambda db: db.query("DP-SELECT 1 DELTA 1e-6 place FROM trips USING RANDOMISED RESPONSE"),
}


@pytest.mark.parametrize("door", DOORS)
def test_a_door_is_shut_before_any_charge(db, door):
    before = db.budget.left
    with pytest.raises(QueryRefused, match="two owners"):
        DOORS[door](db)
    assert db.budget.left == before


@pytest.mark.parametrize("name", ["max_rows", "max_groups", "cut", "fare", "place", "hour"])
def test_nothing_is_calibrated(town, name):
    with pytest.raises(QueryRefused, match="two owners"):
        tacit.owner.calibrate(str(town), f"trips.{name}", epsilon="0.1", delta="1e-6")


def test_what_other_tables_lack_is_calibrated_as_ever(town):
    result = tacit.owner.explain_calibration(str(town), epsilon="0.1")
    assert {step.target.table for step in result.steps} == {"people"}


def test_anonymising_is_refused(town):
    policy = load_policy(town)
    for unit in (None, "row", "rider"):
        with pytest.raises(QueryRefused, match="two owners"):
            anonymise("trips", ["hour"], k=3, unit=unit, policy=policy)


def test_check_counts_rows_without_one_of_their_owners_and_says_nothing_of_a_second(town):
    findings = tacit.owner.check(str(town)).findings
    said = {finding.path[-1]: finding.reason for finding in findings}
    assert said["units"] == "7 of 300 rows belong to nobody: no question counts them"
    assert not any("is not hidden" in finding.reason for finding in findings if "trips" in finding.path)


def test_the_schema_shows_whom_it_hides_and_neither_of_them(db):
    shown = next(table for table in db.schema if table.name == "trips")
    assert "hides one rider or driver" in str(shown)
    assert not any(column.name in {"rider", "driver"} for column in shown.columns)


def test_made_up_rows_are_asked_the_same(db):
    with db.dummy() as dummy:
        assert "two owners" in str(dummy.query("DP-SELECT 20 COUNT(*) FROM trips"))


def test_an_auditor_finds_no_more_than_is_claimed_and_less_noise(town):
    """Movements on made-up neighbours stay within R, and what is certified below the price: once in a million, not."""
    found = audit_query(load_policy(town), "DP-SELECT 8 DELTA 1e-6 COUNT(*), SUM(fare) FROM trips", draws=20_000)
    assert all(0 < moved.found <= moved.planned for moved in found.movements)
    assert found.replayed is not None
    assert found.replayed.epsilon <= 8


def test_an_audit_at_the_door_is_refused(town):
    with pytest.raises(QueryRefused, match="two owners"):
        audit_query(load_policy(town), "DP-SELECT 8 DELTA 1e-6 MEDIAN(fare) FROM trips", door=100)
