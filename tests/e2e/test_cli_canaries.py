"""No cell of the data in anything that is printed: canaries in every cell, and every way of asking for one."""

from __future__ import annotations

import io
import os
import signal
import stat
from pathlib import Path

import pytest

from e2e.cli_clinic import CANARY, NUMBERS, Ran, build, here, tacit
from tacit.faces import log_file
from tacit.faces.cli.main import main

HOSTILE = (
    "DP-SELECT 0.1 * FROM visits",
    "DP-SELECT 0.1 city, secret FROM visits",
    "DP-SELECT 0.1 DELTA 1e-7 city, COUNT(*) FROM visits GROUP BY city",
    "DP-SELECT 0.1 COUNT(CAST(city AS INTEGER)) FROM visits",
    "DP-SELECT 0.1 SUM(city) FROM visits",
    "DP-SELECT 0.1 COUNT(*) FROM visits WHERE city::date = DATE '2024-01-01'",
    "DP-SELECT 0.1 COUNT(*) FROM visits WHERE error(city)",
    "DP-SELECT 0.1 list(city) FROM visits",
    "DP-SELECT 0.1 MIN(city) FROM visits",
    "DP-SELECT 0.1 first(secret) FROM visits",
    "DP-SELECT 0.1 patient_id, COUNT(*) FROM visits GROUP BY patient_id",
    "DP-SELECT 0.1 COUNT(*) FROM (SELECT * FROM visits)",
    "DP-SELECT 0.1 COUNT(*) FROM 'visits.parquet'",
    "DP-SELECT 0.1 COUNT(*) FROM read_parquet('visits.parquet')",
    "DP-SELECT 0.1 COUNT(*) FROM query('SELECT city FROM visits')",
    "SUMMARIZE visits",
    "DESCRIBE visits",
    "PRAGMA storage_info('visits')",
    "EXPLAIN ANALYZE SELECT * FROM visits",
    "SELECT * FROM visits; SELECT 1",
    "DP-SELECT 0.1 COUNT(*) FROM visits WHERE 1 // (age - 18) > 0",
    "DP-SELECT 0.1 MODE(city) FROM visits",
    "DP-SELECT 0.1 MAX(amount) AS most, MEDIAN(age) AS middle FROM visits",
    "DP-SELECT 0.5 dept, AVG(amount) FROM visits GROUP BY dept",
    "EXPLAIN DP-SELECT 0.1 dept, AVG(amount) FROM visits GROUP BY dept",
)


@pytest.fixture(scope="module")
def clinic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("clinic")
    build(directory)
    return directory


def clean(ran: Ran) -> None:
    for text in (ran.out, ran.err):
        assert CANARY not in text, text
        assert not any(number in text for number in NUMBERS), text
        assert "Traceback" not in text, text


@pytest.mark.parametrize("sql", HOSTILE)
def test_no_answer_refusal_or_receipt_holds_a_cell(clinic: Path, sql: str) -> None:
    for form in ("json", "table"):
        ran = here("query", "--as", "ana", "--format", form, sql, cwd=clinic)
        clean(ran)
        assert ran.code in {0, 2, 3}, ran


def test_nothing_else_an_analyst_or_a_curator_sees_holds_a_cell(clinic: Path) -> None:
    (clinic / "drafted").mkdir()
    for ran in (
        here("budget", cwd=clinic),
        here("ledger", "log", "--format", "json", cwd=clinic),
        here("ledger", "verify", cwd=clinic),
        here("check", cwd=clinic),
        here("init", "visits.parquet", "-o", "drafted/new.toml", cwd=clinic),
        here(
            "calibrate", "-e", "0.5", "--delta", "1e-7", "visits.city", "visits.amount", "visits.max_rows", cwd=clinic
        ),
        here("shell", "--as", "ana", cwd=clinic, stdin="\\d\n\\h\n\\log\nDP-SELECT 0.1 COUNT(city) FROM visits;"),
        here(
            "query",
            "--as",
            "ana",
            "--dummy",
            "DP-SELECT 1 DELTA 1e-7 city, COUNT(*) FROM visits GROUP BY 1",
            cwd=clinic,
        ),
    ):
        assert ran.code == 0, ran
        clean(ran)
    assert CANARY not in (clinic / "drafted" / "new.toml").read_text(encoding="utf-8")


def test_a_canary_would_be_seen(clinic: Path) -> None:
    """The check has power: the owner's door shows what the analysts' must not."""
    ran = here("sql", "SELECT * FROM visits LIMIT 1", cwd=clinic)
    with pytest.raises(AssertionError):
        clean(ran)


def test_an_engine_that_fails_says_nothing_charges_and_tells_the_log_alone(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = build(tmp_path)
    cells = [b"fine", b"\xff\xfe" + CANARY.encode()] * 50
    broken = arrow.table({
        "patient_id": [f"{CANARY}-{i}" for i in range(100)],
        "amount": [1.0] * 100,
        "age": [30] * 100,
        "dept": ["CS"] * 100,
        "city": arrow.array(cells, arrow.binary()).view(arrow.string()),
        "secret": ["x"] * 100,
    })  # fmt: skip
    parquet.write_table(broken, tmp_path / "visits.parquet")
    asked = ("query", "-p", path, "--as", "ana", "DP-SELECT 0.5 DELTA 1e-7 city, COUNT(*) FROM visits GROUP BY 1")
    ran = tacit(*asked, cwd=tmp_path, TACIT_LOG=str(tmp_path / "curator.log"))
    clean(ran)
    assert (ran.code, ran.out) == (6, "")
    assert ran.lines[0] == "error: the database could not answer"
    assert len(ran.lines) == 2
    spent = here("budget", "--as", "ana", "--format", "json", cwd=tmp_path).json["total"]["spent"]
    assert spent["epsilon"] == "0.5", "what is charged stays charged"
    log = tmp_path / "curator.log"
    assert "tacit.engine" in log.read_text(encoding="utf-8")
    assert stat.S_IMODE(log.stat().st_mode) == 0o600


def test_what_nobody_expected_is_one_line_and_exit_code_1(
    clinic: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError(f"{CANARY} in a traceback")

    monkeypatch.setattr("tacit.faces.owner.ledger_admin.budget_of", broken)
    monkeypatch.setenv("TACIT_POLICY", str(clinic / "tacit.toml"))
    assert main(["budget"]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.splitlines()[0] == "error: something went wrong inside tacit"
    clean(Ran(1, said.out, said.err))


def test_an_interrupt_is_told_as_one_whatever_an_engine_makes_of_it(
    clinic: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object) -> None:
        try:
            os.kill(os.getpid(), signal.SIGINT)
        except KeyboardInterrupt:
            raise RuntimeError("Query interrupted") from None  # as DuckDB does

    monkeypatch.setattr("tacit.faces.owner.ledger_admin.budget_of", interrupted)
    monkeypatch.setenv("TACIT_POLICY", str(clinic / "tacit.toml"))
    assert main(["budget"]) == 130
    assert capsys.readouterr().err == "error: interrupted: what was charged stays charged\n"
    monkeypatch.undo()
    assert here("budget", cwd=clinic).code == 0, "the next command is not touched by it"


class Full(io.StringIO):
    """A file on a full disk."""

    def write(self, text: str) -> int:
        raise OSError(28, "No space left on device")


def test_a_log_that_cannot_be_written_says_so_and_a_full_one_says_nothing(
    clinic: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ran = here("budget", cwd=clinic, TACIT_LOG=str(clinic / "nowhere" / "log"))
    assert ran.code == 2
    assert "the curator's log cannot be written" in ran.lines[0]
    monkeypatch.setattr(log_file.log, "handlers", [log_file._PrivateFile(Full())])
    log_file.log.warning("%s in a record", CANARY)
    clean(Ran(0, *capsys.readouterr()))
