"""The contract of the command line: JSON keys, exit codes, two lines for an error. Real processes where it counts."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from e2e.cli_clinic import Ran, build, here, tacit

BY_DEPT = "DP-SELECT 0.5 dept, COUNT(*) AS n FROM visits GROUP BY dept"


@pytest.fixture(scope="module")
def clinic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("clinic")
    build(directory)
    return directory


def refused(ran: Ran, code: int, said: str) -> None:
    assert ran.code == code, ran
    assert ran.out == ""
    assert 1 <= len(ran.lines) <= 2, ran.err
    assert ran.lines[0].startswith("error: ")
    assert said in ran.lines[0]
    assert all(line.startswith("hint: ") for line in ran.lines[1:])


def test_a_question_prints_one_json_object_with_the_promised_keys(clinic: Path) -> None:
    ran = tacit("query", "-p", "tacit.toml", "--as", "ana", "--format", "json", BY_DEPT, cwd=clinic)
    assert (ran.code, ran.err) == (0, "")
    answer = ran.json
    assert ran.out.count("\n") == 1
    promised = {"columns", "rows", "errors", "confidence", "epsilon", "delta", "left", "reused", "receipt"}
    assert promised <= answer.keys()
    assert answer["columns"] == ["dept", "n"]
    assert [row[0] for row in answer["rows"]] == ["CS", "Econ", "Bio"]
    assert all(isinstance(row[1], int) for row in answer["rows"])
    assert [[None, bar[1] > 0] for bar in answer["errors"]] == [[None, True]] * 3
    assert answer["confidence"] == 0.95
    assert (answer["epsilon"], answer["delta"], answer["reused"]) == ("0.5", "0", None)
    assert answer["left"]["epsilon"] == "3.5"
    assert len(answer["receipt"]["entry"]) == 64
    # and again: the same answer, free
    again = here("query", "-p", "tacit.toml", "--as", "ana", "--format", "json", BY_DEPT, cwd=clinic).json
    assert again["rows"] == answer["rows"]
    assert (again["epsilon"], again["reused"]) == ("0", "the same question")
    assert again["left"] == answer["left"]


def test_an_explanation_prints_price_errors_and_sql_and_costs_nothing(clinic: Path) -> None:
    before = here("budget", "--as", "ana", "--format", "json", cwd=clinic).json
    ran = tacit("explain", "--as", "ana", "--format", "json", BY_DEPT.replace("0.5", "1/3"), cwd=clinic)
    assert (ran.code, ran.err) == (0, "")
    assert {"epsilon", "delta", "errors", "sql"} <= ran.json.keys()
    assert (ran.json["epsilon"], ran.json["delta"]) == ("1/3", "0")
    assert ran.json["errors"][0] is None
    assert ran.json["errors"][1] > 0
    assert ran.json["sql"].startswith("SELECT")
    assert here("budget", "--as", "ana", "--format", "json", cwd=clinic).json == before


@pytest.mark.parametrize(
    ("run", "sql", "code", "said"),
    [
        (here, "DP-SELECT 0.1 city FROM visits", 3, "synthetic rows need a delta"),
        (here, "DROP TABLE visits", 3, "DROP is refused"),
        (tacit, "DP-SELECT 0.1 SUM(secret) FROM visits", 3, "unknown column 'secret'"),
        (tacit, "DP-SELECT 9 COUNT(*) FROM visits", 4, "does not cover this question"),
    ],
)
def test_a_refusal_has_its_exit_code_and_two_lines(
    clinic: Path, run: Callable[..., Ran], sql: str, code: int, said: str
) -> None:
    refused(run("query", "--as", "ana", sql, cwd=clinic), code, said)


def test_a_policy_that_is_wrong_exits_with_5(clinic: Path) -> None:
    (clinic / "wrong.toml").write_text("[dataset]\nname = 3\n", encoding="utf-8")
    refused(tacit("query", "-p", "wrong.toml", "--as", "ana", BY_DEPT, cwd=clinic), 5, "wrong.toml:")
    refused(here("query", "--as", "nobody", BY_DEPT, cwd=clinic), 5, "no analyst 'nobody'")


def test_a_command_line_that_is_wrong_exits_with_2(clinic: Path) -> None:
    refused(here("query", "--as", "ana", "--bogus", cwd=clinic), 2, "no such option")
    refused(here("query", BY_DEPT, cwd=clinic), 2, "no analyst is named")


def test_the_environment_names_policy_and_analyst_and_questions_come_from_files_or_a_pipe(clinic: Path) -> None:
    (clinic / "q.sql").write_text("SELECT COUNT(*) AS n FROM visits WHERE dept = ? AND age > ?", encoding="utf-8")
    ran = here(
        *("query", "-f", "q.sql", "-v", "CS", "-v", "20", "--epsilon", "0.1", "--format", "csv"),
        cwd=clinic.parent,
        TACIT_POLICY=str(clinic / "tacit.toml"),
        TACIT_ANALYST="ana",
    )
    assert (ran.code, ran.out) == (2, ""), "a file is looked for where the command runs"
    ran = tacit(
        *("query", "-v", "CS", "-v", "20", "--epsilon", "0.1", "--format", "csv"),
        cwd=clinic.parent,
        stdin=(clinic / "q.sql").read_text(encoding="utf-8"),
        TACIT_POLICY=str(clinic / "tacit.toml"),
        TACIT_ANALYST="ana",
    )
    assert ran.code == 0, ran
    assert ran.out.splitlines()[0] == "n,n_error"


def test_one_request_id_is_one_charge(clinic: Path) -> None:
    asked = ("query", "--as", "ben", "--format", "json", "--request-id", "r-1")
    fresh = "DP-SELECT 0.2 FRESH COUNT(*) AS n FROM visits"
    first, second = (here(*asked, fresh, cwd=clinic).json for _ in range(2))
    assert first["rows"] == second["rows"]
    assert (first["epsilon"], second["epsilon"], second["reused"]) == ("0.2", "0", "the same request")
    refused(here(*asked, fresh.replace("0.2", "0.3"), cwd=clinic), 3, "stands for another question")


def test_the_budget_is_exact_text_for_total_analysts_and_groups(clinic: Path) -> None:
    report = here("budget", "--format", "json", cwd=clinic).json
    assert report["dataset"] == "clinic"
    assert report["analysts"].keys() == {"ana", "ben"}
    assert (
        report["groups"]["students"]["spent"] == report["analysts"]["ben"]["spent"] == {"epsilon": "0.2", "delta": "0"}
    )
    assert report["groups"]["students"]["left"]["epsilon"] == "0.8"
    assert report["total"]["cap"] == {"epsilon": "10", "delta": "0.000001"}
    log = here("ledger", "log", "--as", "ben", "--format", "json", cwd=clinic).json
    assert [entry["act"] for entry in log] == ["settle", "charge"]
    assert (log[1]["epsilon"], log[1]["outcome"], log[1]["request_id"]) == ("0.2", "settle", "r-1")


def test_dummy_rows_cost_nothing_and_say_so(clinic: Path) -> None:
    before = here("budget", "--format", "json", cwd=clinic).json
    ran = here("query", "--as", "ana", "--dummy", "--format", "json", BY_DEPT.replace("0.5", "3"), cwd=clinic)
    assert ran.code == 0, ran
    assert ran.json["epsilon"] == "0"
    assert ran.json["notes"][0].startswith("dummy data: made up")
    assert ran.json["receipt"]["entry"] == "dummy data"
    assert here("budget", "--format", "json", cwd=clinic).json == before


def test_answers_are_written_in_every_format(clinic: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    refused(here("query", "--as", "ana", "--format", "parquet", BY_DEPT, cwd=clinic), 2, "parquet is not printed")
    ran = here("query", "--as", "ana", "--format", "parquet", "-o", "n.parquet", BY_DEPT, cwd=clinic)
    assert (ran.code, ran.out) == (0, "")
    assert ran.err.startswith("wrote n.parquet")
    assert parquet.read_table(clinic / "n.parquet").column_names == ["dept", "n", "n_error"]
    table = here("query", "--as", "ana", BY_DEPT, cwd=clinic).out
    assert "dept" in table.splitlines()[0]
    assert "hides one patient_id" in table
    markdown = here("query", "--as", "ana", "--format", "markdown", BY_DEPT, cwd=clinic).out
    assert markdown.startswith("| dept | n |\n")


def test_a_tampered_ledger_is_found(tmp_path: Path) -> None:
    build(tmp_path)
    assert here("query", "--as", "ana", BY_DEPT, cwd=tmp_path).code == 0
    sound = here("ledger", "verify", "--format", "json", cwd=tmp_path)
    assert (sound.code, sound.json["sound"]) == (0, True)
    with closing(sqlite3.connect(tmp_path / "clinic.ledger")) as connection:
        triggers = [name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'")]
        for trigger in triggers:
            connection.execute(f"DROP TRIGGER {trigger}")
        connection.execute("UPDATE entry SET epsilon = '1/100' WHERE act = 'charge'")
        connection.commit()
    ran = here("ledger", "verify", cwd=tmp_path)
    assert ran.code == 7
    assert ran.lines[0].startswith("error: the ledger is not sound")
    assert json.loads(here("ledger", "verify", "--format", "json", cwd=tmp_path).out)["sound"] is False
