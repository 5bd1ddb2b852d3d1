"""Opening and writing, at the places where a crash or a moved file would show only later."""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tacit.core import Budget, Loss
from tacit.errors import LedgerError
from tacit.ledger import BudgetLimits, Charge, SqliteLedger
from tacit.ledger.desk import mark_beside
from tacit.ledger.mark import HighWaterMark

CAPS = BudgetLimits(total=Budget(100), analyst=None, window=None, groups=())
CHARGE = Charge(
    dataset="d", analyst="ana", groups=(), loss=Loss(1), zcdp=None, plan_hash="p", policy_version="v", kind="query"
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "d.ledger"


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How far the mark had come each time it was forced to the disk."""
    found: list[int] = []
    write, sync = HighWaterMark.write, os.fdatasync
    last: list[int] = []

    def written(mark, point, *, sync=False):
        last.append(point.seq)
        write(mark, point, sync=sync)

    def forced(descriptor):
        found.append(last[-1] if last else -1)
        sync(descriptor)

    monkeypatch.setattr(HighWaterMark, "write", written)
    monkeypatch.setattr("tacit.ledger.mark.os.fdatasync", forced)
    monkeypatch.setattr("tacit.ledger.mark.time.monotonic", lambda: 0.0)  # no sync because it is time for one
    return found


def test_what_a_crash_left_before_there_was_a_ledger_is_no_ledger(path: Path) -> None:
    SqliteLedger(path, create=True).close()
    for each in (path, mark_beside(path)):
        each.write_bytes(b"")
    for _ in range(2):  # the first has made none
        with pytest.raises(LedgerError, match="there is no ledger there"):
            SqliteLedger(path, create=False)
    SqliteLedger(path, create=True).close()


def test_the_first_mark_is_on_the_disk_before_the_first_charge(path: Path, synced: list[int]) -> None:
    with SqliteLedger(path, create=True) as ledger:
        before = list(synced)
        ledger.reserve(CHARGE, CAPS)
    assert before


def test_a_mark_that_a_dead_writer_left_behind_is_moved_and_forced_to_the_disk(path: Path, synced: list[int]) -> None:
    with SqliteLedger(path, create=True) as ledger:
        old = mark_beside(path).read_bytes()
        ledger.reserve(CHARGE, CAPS)
    mark_beside(path).write_bytes(old)
    synced.clear()
    with SqliteLedger(path, create=False):
        assert synced
        assert synced[0] > 0


def test_nothing_is_charged_to_a_file_that_was_moved_away(path: Path) -> None:
    with SqliteLedger(path, create=True) as ledger:
        ledger.reserve(CHARGE, CAPS)
        before = entries(path)
        away = path.with_suffix(".away")
        os.rename(path, away)
        shutil.copy(away, path)
        with pytest.raises(LedgerError):
            ledger.reserve(CHARGE, CAPS)
        os.rename(away, path)
        assert entries(path) == before


def entries(path: Path) -> int:
    with closing(sqlite3.connect(path)) as reader:
        ((count,),) = reader.execute("SELECT COUNT(*) FROM entry").fetchall()
    return int(count)
