"""A row with two owners hides one of them: `check` says which column names the other."""

from __future__ import annotations

import duckdb
import pytest

from tacit.faces.owner.examining import examine
from tacit.policy import Severity, TablePolicy, check_policy
from tacit.policy.budget import BudgetPolicy
from tacit.policy.model import Policy
from tacit.policy.sources.dataset import Dataset
from tacit.policy.tables.column import ColumnPolicy


def suspected(schema, *tables):
    policy = Policy(Dataset("d", "d.duckdb"), BudgetPolicy(1), tables=tables)
    found = check_policy(policy, schema)
    return {(f.path[1], f.path[3]) for f in found if f.level is Severity.WARNING and "not hidden" in f.reason}


@pytest.mark.parametrize(
    ("unit", "column"),
    [
        ("follower", "followed"),
        ("user_id", "user2_id"),
        ("sender", "sendee"),
        ("friend_a", "friend_b"),
        ("Person1", "person2"),
    ],
)
def test_a_second_column_that_goes_by_the_units_name_is_warned_of(unit, column):
    schema = {"t": {unit: "VARCHAR", column: "VARCHAR", "n": "INTEGER"}}
    assert suspected(schema, TablePolicy("t", unit, max_rows=1, max_groups=1)) == {("t", column)}


@pytest.mark.parametrize("kind", ["BIGINT", "VARCHAR"])
@pytest.mark.parametrize(
    ("unit", "column"),
    [
        ("rider", "driver"),
        ("driver_id", "Rider_No"),
        ("sender", "receiver"),
        ("from_account", "to_account"),
        ("buyer", "seller"),
        ("payee", "payer"),
        ("src", "dst"),
        ("patient", "doctor"),
        ("employee", "manager_id"),
    ],
)
def test_the_other_end_of_a_row_is_warned_of_by_its_name_whatever_the_values_are(unit, column, kind):
    schema = {"t": {unit: kind, column: kind, "n": kind, "town": kind, "together": kind}}
    assert suspected(schema, TablePolicy("t", unit, max_rows=1, max_groups=1)) == {("t", column)}


@pytest.mark.parametrize("unit", ["rider_id", "row"])
@pytest.mark.parametrize("column", ["driver_id", "person_code", "citizen_no"])
def test_a_column_that_goes_by_the_name_of_another_table_of_people_is_warned_of(unit, column):
    schema = {
        "trips": {"rider_id": "BIGINT", column: "BIGINT", "trip_id": "BIGINT"},
        "drivers": {"id": "BIGINT"},
        "persons": {"citizen_no": "BIGINT"},
    }
    others = (TablePolicy("drivers", "id"), TablePolicy("persons", "citizen_no"))
    assert suspected(schema, TablePolicy("trips", unit), *others) == {("trips", column)}


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        ("visit_id", "BIGINT"),
        ("city_id", "BIGINT"),
        ("age", "INTEGER"),
        ("followed", "DOUBLE"),
        ("followed", "DATE"),
        ("dept", "VARCHAR"),
    ],
)
def test_what_is_no_key_of_a_unit_is_not(column, kind):
    schema = {"visits": {"follower": "BIGINT", column: kind}, "cities": {"id": "BIGINT"}}
    tables = TablePolicy("visits", "follower"), TablePolicy("cities", public=True)
    assert suspected(schema, *tables) == set()


def test_what_the_policy_says_more_of_is_not():
    """A measure, a column with public values, the unit itself, and what other tables link to."""
    schema = {
        "people": {"person": "BIGINT", "person_age": "BIGINT", "person_kind": "BIGINT", "person_no": "BIGINT"},
        "visits": {"who": "BIGINT"},
    }
    columns = [ColumnPolicy("person_age", lower=0, upper=9, step=1), ColumnPolicy("person_kind", domain=[1, 2])]
    tables = TablePolicy("people", "person", columns=columns), TablePolicy("visits", "who -> people.person_no")
    assert suspected(schema, *tables) == set()


POLICY = """
[dataset]
name = "d"
source = "d.duckdb"
[budget]
epsilon = 1
[tables.trips]
unit = "rider"
max_rows = 1
max_groups = 1
[tables.trips.columns]
city = {}
"""


def told(tmp_path, column):
    with duckdb.connect(str(tmp_path / "d.duckdb")) as connection:
        connection.execute(
            f"CREATE TABLE trips AS SELECT 'p' || i AS rider, {column}, 'c' || (i % 30) AS city FROM range(60) AS r(i)"
        )
    (tmp_path / "d.toml").write_text(POLICY)
    found = examine(tmp_path / "d.toml").findings
    return {finding.path[3] for finding in found if "not hidden" in finding.reason}


def test_values_that_are_identifiers_are_found_whatever_the_column_is_called(tmp_path):
    assert told(tmp_path, "'p' || (59 - i) AS chauffeur") == {"chauffeur"}


@pytest.mark.parametrize(
    "column", ["'x' || i AS chauffeur", "'p' || (i % 5) AS chauffeur", "i AS chauffeur", "NULL::VARCHAR AS chauffeur"]
)
def test_values_that_are_not_or_hardly_are_not(tmp_path, column):
    assert told(tmp_path, column) == set()
