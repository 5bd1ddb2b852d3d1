"""The owner's door: the lectures' direct look-up, on the owner's own file."""

from __future__ import annotations

import ast
from datetime import date
from pathlib import Path

import duckdb
import pytest

import tacit.engines
from tacit.engines import open_engine, owner, run_owner_sql
from tacit.errors import EngineError, PolicyError
from tacit.policy import BudgetPolicy, Dataset, Policy, TablePolicy
from tacit.policy.sources.dataset import SourceLike


def policy_over(source: SourceLike, base: Path) -> Policy:
    tables = [TablePolicy("staff", "row")]
    return Policy(Dataset("office", source, base=base), BudgetPolicy(1), tables=tables)


@pytest.fixture
def office(tmp_path):
    policy = policy_over("office.duckdb", tmp_path)
    run_owner_sql(policy, "CREATE TABLE staff (name VARCHAR, born DATE, pay INTEGER)")
    run_owner_sql(policy, "INSERT INTO staff VALUES (?, ?, ?)", ["Ann", date(1990, 5, 1), 100])
    run_owner_sql(policy, "INSERT INTO staff VALUES (?, ?, ?)", ["O'Neil; DROP TABLE staff", date(1980, 1, 1), 200])
    return policy


def test_the_owner_makes_fills_and_reads_tables(office):
    columns, rows = run_owner_sql(office, "SELECT name, born FROM staff WHERE pay = ?", [100])
    assert columns == ("name", "born")
    assert rows == [("Ann", date(1990, 5, 1))]


def test_parameters_are_values_not_sql(office):
    _, rows = run_owner_sql(office, "SELECT pay FROM staff WHERE name = ?", ["O'Neil; DROP TABLE staff"])
    assert rows == [(200,)]


def test_a_path_will_do_instead_of_a_policy(office, tmp_path):
    assert run_owner_sql(tmp_path / "office.duckdb", "SELECT count(*) AS n FROM staff") == (("n",), [(2,)])


def test_what_the_owner_wrote_is_what_questions_see(office):
    engine = open_engine(office)
    assert engine.execute("SELECT CAST(sum(pay) AS BIGINT) AS n FROM staff").integers("n").tolist() == [300]
    engine.close()
    run_owner_sql(office, "DELETE FROM staff WHERE pay = 200")
    engine = open_engine(office)
    assert engine.execute("SELECT CAST(sum(pay) AS BIGINT) AS n FROM staff").integers("n").tolist() == [100]
    engine.close()


def test_times_with_a_zone_come_as_text_in_utc(office):
    columns, rows = run_owner_sql(office, "SELECT ?::TIMESTAMPTZ AS t, 1 AS n;", ["2026-01-01 02:00:00+02"])
    assert (columns, rows) == (("t", "n"), [("2026-01-01 00:00:00+00", 1)])


def test_the_owner_is_told_what_the_engine_says(office):
    with pytest.raises(EngineError, match="Could not convert string 'Ann'") as caught:
        run_owner_sql(office, "SELECT CAST(name AS INTEGER) FROM staff")
    assert "\n" not in caught.value.message


def test_a_database_in_use_is_said_to_be_so(office):
    engine = open_engine(office)
    with pytest.raises(EngineError) as caught:
        run_owner_sql(office, "INSERT INTO staff VALUES ('Bob', NULL, 1)")
    assert caught.value.hint == "close what else has the database open"
    engine.close()


def test_files_are_looked_at_but_not_changed(tmp_path):
    (tmp_path / "staff.csv").write_text("name,pay\nAnn,100\n")
    policy = policy_over({"staff": "staff.csv"}, tmp_path)
    assert run_owner_sql(policy, "SELECT * FROM staff WHERE pay = ?", ["100"]) == (("name", "pay"), [("Ann", "100")])
    for change in ("INSERT INTO staff VALUES ('Bob', 1)", "CREATE TABLE more (x INT)", "DELETE FROM staff"):
        with pytest.raises(PolicyError, match="looked at but not changed"):
            run_owner_sql(policy, change)
    with pytest.raises(EngineError):
        run_owner_sql(policy, "WITH x AS (DELETE FROM staff RETURNING name) SELECT name FROM x")
    with pytest.raises(EngineError, match="nobody"):
        run_owner_sql(policy, "SELECT * FROM nobody")


def test_a_variable_of_the_process_is_no_table(office, monkeypatch):
    there = duckdb.connect().sql("SELECT 1 AS a")
    monkeypatch.setattr(owner, "variable", there, raising=False)  # where DuckDB would look for it
    with pytest.raises(EngineError, match="does not exist"):
        run_owner_sql(office, "SELECT * FROM variable")


def test_no_engine_knows_the_owners_door():
    room = Path(tacit.engines.__file__).parent
    importers = {
        path.name
        for path in room.glob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom) and node.module == "tacit.engines.owner"
    }
    assert importers == {"__init__.py"}
