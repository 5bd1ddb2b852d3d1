"""Whoever only reads a ledger reads one state of it, the newest, in the place where it was opened."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tacit.core import Budget, Loss
from tacit.errors import LedgerError
from tacit.ledger import BudgetLimits, Charge, SqliteLedger

CAPS = BudgetLimits(total=Budget(9), analyst=None, window=None, groups=())
CHARGE = Charge(
    dataset="clinic",
    analyst="ana",
    groups=(),
    loss=Loss("0.1"),
    zcdp=None,
    plan_hash="p",
    policy_version="v",
    kind="query",
)


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[SqliteLedger]:
    """Open, with one charge."""
    with SqliteLedger(tmp_path / "d.ledger", create=True) as opened:
        opened.reserve(CHARGE, CAPS)
        yield opened


def spent(ledger: SqliteLedger) -> float:
    return float(ledger.balance("clinic", CAPS, analyst="ana").total.spent.epsilon)


def test_an_older_state_put_back_into_an_open_ledger_is_refused(ledger: SqliteLedger, tmp_path: Path) -> None:
    """Every seal is right, of the entries and of the accounts: only the mark knows of more."""
    with closing(sqlite3.connect(tmp_path / "d.ledger")) as raw, closing(sqlite3.connect(tmp_path / "older")) as older:
        raw.backup(older)
        ledger.reserve(CHARGE, CAPS)
        assert spent(ledger) == 0.2
        raw.execute("ATTACH ? AS older", (str(tmp_path / "older"),))
        with raw:
            for table in ("account", "entry"):
                raw.execute(f"DELETE FROM main.{table}")
                raw.execute(f"INSERT INTO main.{table} SELECT * FROM older.{table}")
        with pytest.raises(LedgerError, match="rolled back"):
            spent(ledger)


def test_a_ledger_that_was_moved_away_is_not_read_on(ledger: SqliteLedger, tmp_path: Path) -> None:
    shutil.move(tmp_path / "d.ledger", tmp_path / "elsewhere")
    with pytest.raises(LedgerError):
        spent(ledger)
    shutil.move(tmp_path / "elsewhere", tmp_path / "d.ledger")
    assert spent(ledger) == 0.1


def test_one_reading_sees_one_state_of_the_ledger(ledger: SqliteLedger, tmp_path: Path) -> None:
    count = "SELECT COUNT(*) FROM entry"
    with SqliteLedger(tmp_path / "d.ledger", create=False) as other, ledger._desk.snapshot() as at:
        before = at.execute(count).fetchone()[0]
        other.reserve(CHARGE, CAPS)
        assert at.execute(count).fetchone()[0] == before
    assert spent(ledger) == 0.2
