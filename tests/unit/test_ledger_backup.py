"""Copies of a ledger that is in use."""

from __future__ import annotations

import shutil
import stat
import threading
from pathlib import Path

import pytest

import tacit
from e2e.cli_clinic import build, here
from tacit.errors import InvalidParameter, LedgerError, QueryRefused
from tacit.ledger.owner import verify_file
from tacit.policy import load_policy

SQL = "DP-SELECT 0.01 FRESH COUNT(*) AS n FROM visits"


def test_a_copy_made_while_questions_are_charged_is_whole_and_its_owners_alone(tmp_path: Path) -> None:
    policy = build(tmp_path, people=20)
    stop, asked = threading.Event(), []
    with tacit.open(policy, analyst="ana") as db:

        def ask() -> None:
            while not stop.is_set() and len(asked) < 100:
                asked.append(db.query(SQL).receipt.entry)

        thread = threading.Thread(target=ask)
        thread.start()
        try:
            copies = [tmp_path / f"copy-{number}" for number in range(3)]
            counts = [tacit.owner.back_up(policy, copy).entries for copy in copies]
        finally:
            stop.set()
            thread.join(60)
        assert counts == sorted(counts)
        last = tmp_path / "last"
        assert tacit.owner.back_up(policy, last).entries >= 2 * len(asked)
    for copy in (*copies, last):
        assert stat.S_IMODE(copy.stat().st_mode) == 0o600
        (problem,) = verify_file(copy, mark=tmp_path / "no mark").problems
        assert problem.startswith("the mark is missing")
        assert not copy.with_name(copy.name + "-wal").exists()


def test_a_restored_copy_is_noticed_and_taken_up_on_record(tmp_path: Path) -> None:
    policy = build(tmp_path, people=20)
    ledger = load_policy(policy).dataset.ledger_path
    with tacit.open(policy, analyst="ana") as db:
        db.query(SQL)
        tacit.owner.back_up(policy, tmp_path / "copy")
        db.query(SQL)
    shutil.copy(tmp_path / "copy", ledger)
    with pytest.raises(LedgerError), tacit.open(policy, analyst="ana") as db:
        db.query(SQL)
    assert here("ledger", "accept", "--note", "restored", cwd=tmp_path).code == 0
    with tacit.open(policy, analyst="ana") as db:
        assert float(db.budget.total.spent.epsilon) == 0.01
        db.query(SQL)
    assert tacit.owner.verify(policy).sound


def test_a_copy_replaces_nothing_and_needs_a_ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    policy = build(tmp_path, people=20)
    with pytest.raises(LedgerError, match="nothing was ever asked"):
        tacit.owner.back_up(policy, tmp_path / "copy")
    with tacit.open(policy, analyst="ana") as db:
        db.query(SQL)
    there = tmp_path / "there"
    there.write_text("something of mine")
    ran = here("ledger", "backup", there, cwd=tmp_path)
    assert (ran.code, ran.lines[0]) == (7, "error: there cannot be made: File exists")
    assert there.read_text() == "something of mine"
    assert here("ledger", "backup", tmp_path / "no folder" / "copy", cwd=tmp_path).code == 7
    assert "sound: " in here("ledger", "backup", tmp_path / "copy", cwd=tmp_path).out
    monkeypatch.setenv("TACIT_ANALYST", "ana")
    with pytest.raises(QueryRefused):
        tacit.owner.back_up(policy, tmp_path / "another")
    served = policy.read_text().replace("[budget]", 'ledger = "postgresql://localhost/books"\n[budget]', 1)
    policy.write_text(served)
    monkeypatch.delenv("TACIT_ANALYST")
    with pytest.raises(InvalidParameter, match="in PostgreSQL"):
        tacit.owner.back_up(policy, tmp_path / "another")
