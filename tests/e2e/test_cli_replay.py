"""`tacit ledger log` shows the question, and `tacit ledger replay` prices it anew."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tacit.faces.cli.main import main

POLICY = """
[dataset]
name = "clinic"
source = { visits = "visits.parquet" }
[budget]
epsilon = 10
[analysts.ana]
epsilon = 5
[tables.visits]
unit = "row"
[tables.visits.columns]
dept = { domain = ["CS", "Bio"] }
age = { lower = 0, upper = 100, step = 1 }
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    import duckdb

    monkeypatch.chdir(tmp_path)
    duckdb.connect().execute(
        "COPY (SELECT 'CS' AS dept, CAST(i AS INTEGER) AS age FROM range(50) AS t(i)) TO 'visits.parquet'"
    )
    (tmp_path / "tacit.toml").write_text(POLICY, encoding="utf-8")
    return tmp_path


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    code = main(list(arguments))
    out = capsys.readouterr()
    return code, out.out + out.err


def test_the_log_shows_what_was_asked_and_an_auditor_replays_it(
    place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert said(capsys, "query", "--as", "ana", "DP-SELECT 0.5 SUM(age) FROM visits WHERE dept = ?", "-v", "CS")[0] == 0
    code, shown = said(capsys, "ledger", "log")
    assert code == 0
    assert "DP-SELECT 0.5 SUM(age) FROM visits WHERE dept = $1 [$1 = 'CS']" in shown
    plain = json.loads(said(capsys, "ledger", "log", "--format", "json")[1])
    asked = next(entry for entry in plain if entry["act"] == "charge")
    assert asked["questions"] == [
        {"sql": "DP-SELECT 0.5 SUM(age) FROM visits WHERE dept = $1", "parameters": {"1": ["text", "CS"]}}
    ]
    assert (asked["tables"], asked["words"]) == (["visits"], None)
    assert said(capsys, "ledger", "replay") == (0, "1 charges are what their questions cost\n")
    monkeypatch.setattr("tacit.curator.curator.Curator.replay", lambda self, entry: type("R", (), {"agrees": False}))
    code, told = said(capsys, "ledger", "replay")
    assert code == 7
    assert "1 charges are not what their questions cost" in told


def test_the_shells_log_shows_the_question(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from tacit.faces.database import open_database
    from tacit.faces.shell.commands import ShellState, run_command

    with open_database(place / "tacit.toml", analyst="ana") as database:
        database.query("DP-SELECT 0.25 COUNT(*) FROM visits")
        run_command("\\log", ShellState(database))
    assert "DP-SELECT 0.25 COUNT(*) FROM visits" in capsys.readouterr().out


def test_a_replay_is_the_owners(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, "ledger", "replay", "--as", "ana")[0] == 3
