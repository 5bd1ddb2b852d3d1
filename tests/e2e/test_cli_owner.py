"""The owner's commands: drafting, checking, calibrating, and direct look-up as the lectures have it."""

from __future__ import annotations

from pathlib import Path

import pytest

from e2e.cli_clinic import POLICY, build, here

TAX = """\
[dataset]
name = "tax"
source = "tax.duckdb"
[budget]
epsilon = 2
[analysts.ana]
epsilon = 1
[tables.people]
unit = "row"
[tables.people.columns]
salary = { lower = 0, upper = 300000, step = 1 }
prof = {}
"""


def test_a_draft_is_made_from_names_and_types_and_never_overwrites(tmp_path: Path) -> None:
    build(tmp_path)
    assert here("init", "visits.parquet", "cities.csv", "-o", "new.toml", "--name", "clinic", cwd=tmp_path).code == 0
    text = (tmp_path / "new.toml").read_text(encoding="utf-8")
    assert 'source = { visits = "visits.parquet", cities = "cities.csv" }' in text
    assert "amount = {}" in text
    again = here("init", "visits.parquet", "-o", "new.toml", cwd=tmp_path)
    assert again.code == 5
    assert "is there already" in again.err
    assert (tmp_path / "new.toml").read_text(encoding="utf-8") == text


def test_a_draft_is_refused_line_by_line_until_it_is_filled_in(tmp_path: Path) -> None:
    build(tmp_path)
    here("init", "visits.parquet", "-o", "new.toml", cwd=tmp_path)
    ran = here("check", "-p", "new.toml", cwd=tmp_path)
    assert ran.code == 5
    assert ran.out.count("is still blank") == 2
    assert ran.lines[0].startswith("error: the policy has 2 errors: new.toml:")
    path = tmp_path / "new.toml"
    filled = path.read_text(encoding="utf-8").replace('epsilon = "?"', "epsilon = 1")
    path.write_text(filled.replace('unit = "?"', 'unit = "patient_id"'), encoding="utf-8")
    ran = here("check", "-p", "new.toml", "--format", "json", cwd=tmp_path)
    assert ran.code == 0, ran
    said = {finding["message"].partition(": ")[2] for finding in ran.json["findings"]}
    assert any("max_rows: is missing" in message for message in said)


def test_a_policy_that_does_not_fit_its_source_is_found(tmp_path: Path) -> None:
    build(tmp_path)
    (tmp_path / "tacit.toml").write_text(POLICY.replace("amount =", "amounts ="), encoding="utf-8")
    ran = here("check", cwd=tmp_path)
    assert ran.code == 5
    assert "amounts: is not in the source" in ran.lines[0]
    assert ran.lines[1] == 'hint: did you mean "amount"?'
    asked = here("query", "--as", "ana", "DP-SELECT 1 COUNT(*) FROM visits", cwd=tmp_path)
    assert asked.code == 5, "what does not fit is refused before anything is asked"
    assert not (tmp_path / "clinic.ledger").exists()


def test_the_lectures_sql_runs_at_the_owners_door(tmp_path: Path) -> None:
    (tmp_path / "tacit.toml").write_text(TAX, encoding="utf-8")
    assert here("sql", "CREATE TABLE people (name VARCHAR, salary INTEGER, prof VARCHAR)", cwd=tmp_path).code == 0
    for name, salary, prof in (("Li Pu", 150000, "Politician"), ("Sara Lee", 300000, "Rentier")):
        values = ("-v", name, "-v", str(salary), "-v", prof)
        assert here("sql", "INSERT INTO people VALUES (?, ?, ?)", *values, cwd=tmp_path).code == 0
    assert here("sql", "INSERT INTO people VALUES ('A. B. Student', 10000, 'Time')", cwd=tmp_path).code == 0
    rows = here("sql", "--format", "json", "SELECT * FROM people WHERE prof = 'Rentier'", cwd=tmp_path).json
    assert rows == {"columns": ["name", "salary", "prof"], "rows": [["Sara Lee", 300000, "Rentier"]]}
    counted = here("sql", "--format", "csv", "SELECT COUNT(salary) AS n, SUM(salary) AS s FROM people", cwd=tmp_path)
    assert counted.out == "n,s\n3,460000\n"
    private = here("query", "--as", "ana", "--format", "json", "DP-SELECT 1 SUM(salary) FROM people", cwd=tmp_path)
    assert private.code == 0, private
    wrong = here("sql", "SELEC 1", cwd=tmp_path)
    assert (wrong.code, len(wrong.lines)) == (6, 1)


def test_a_database_can_be_made_before_there_is_a_policy(tmp_path: Path) -> None:
    assert here("sql", "-d", "new.duckdb", "CREATE TABLE t AS SELECT 1 AS x, 'a' AS y", cwd=tmp_path).code == 0
    assert here("init", "new.duckdb", cwd=tmp_path).code == 0
    assert 'source = "new.duckdb"' in (tmp_path / "tacit.toml").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "command",
    [
        ("sql", "SELECT * FROM visits"),
        ("check",),
        ("calibrate", "-e", "1"),
        ("ledger", "accept", "--note", "why not"),
    ],
)
def test_what_is_the_owners_is_refused_to_analysts(tmp_path: Path, command: tuple[str, ...]) -> None:
    build(tmp_path)
    for ran in (
        here(*command, "--as", "ana", cwd=tmp_path),
        here(*command, cwd=tmp_path, TACIT_ANALYST="ana"),
    ):
        assert (ran.code, ran.out) == (3, "")
        assert "refused to analysts" in ran.lines[0]
    assert not (tmp_path / "clinic.ledger").exists()


def test_calibration_is_shown_first_and_written_free(tmp_path: Path) -> None:
    path = build(tmp_path)
    bare = POLICY.replace("amount = { lower = 0, upper = 500, step = 0.01 }", "amount = {}  # euros")
    path.write_text(bare.replace("max_groups = 3\nmax_rows = 4\n", ""), encoding="utf-8")
    explained = here("calibrate", "--epsilon", "1", "--explain", "--format", "json", cwd=tmp_path)
    assert explained.json["epsilon"] == "1"
    assert [step["epsilon"] for step in explained.json["quantities"]] == ["0.25"] * 4
    assert not (tmp_path / "clinic.ledger").exists(), "an explanation is free"
    shown = here("calibrate", "--epsilon", "1", "--format", "json", cwd=tmp_path).json
    assert (shown["epsilon"], shown["reused"]) == ("1", False)
    assert "+amount = { lower" in shown["diff"]
    assert "amount = {}  # euros" in path.read_text(encoding="utf-8"), "nothing is written unasked"
    written = here("calibrate", "--epsilon", "1", "--format", "json", "--write", cwd=tmp_path).json
    assert (written["epsilon"], written["reused"]) == ("0", True)
    assert written["measured"] == shown["measured"]
    text = path.read_text(encoding="utf-8")
    assert "# euros; calibrated at ε = 0.5" in text
    assert "max_rows = " in text
    spent = here("budget", "--format", "json", cwd=tmp_path).json
    assert spent["total"]["spent"]["epsilon"] == "1"
    assert spent["analysts"]["ana"]["spent"]["epsilon"] == "0", "it is nobody's own cap that pays"
    log = here("ledger", "log", "--format", "json", cwd=tmp_path).json
    assert [(entry["kind"], entry["analyst"]) for entry in log if entry["act"] == "charge"] == [
        ("calibrate", "curator")
    ]
    done = here("calibrate", "--epsilon", "1", cwd=tmp_path)
    assert (done.code, done.lines[0]) == (5, "error: there is nothing to measure")


def test_a_rolled_back_ledger_is_accepted_only_by_name(tmp_path: Path) -> None:
    build(tmp_path)
    ask = ("query", "--as", "ana", "DP-SELECT 0.5 COUNT(*) FROM visits")
    assert here(*ask, cwd=tmp_path).code == 0
    (tmp_path / "clinic.ledger").unlink()
    assert here(*ask, cwd=tmp_path).code == 7
    assert here("budget", cwd=tmp_path).code == 7
    assert here("ledger", "accept", "--note", "the disk was lost", cwd=tmp_path).code == 0
    log = here("ledger", "log", "--format", "json", cwd=tmp_path)
    assert log.code == 0
    assert here(*ask, cwd=tmp_path).code == 0
