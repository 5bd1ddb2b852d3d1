"""A disk that is really full: no answer, the right words, and answers again once there is room."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tacit.core import Budget, Loss
from tacit.errors import LedgerError
from tacit.ledger import BudgetLimits, Charge, SqliteLedger, accept_rollback, verify_file
from tacit.ledger.owner import back_up

CAPS = BudgetLimits(total=Budget(1000), analyst=None, window=None, groups=())
CHARGE = Charge(
    dataset="clinic", analyst="ana", groups=(), loss=Loss("0.001"), zcdp=None, plan_hash="plan", policy_version="1",
    kind="query",
)  # fmt: skip
SIZES = [16, 64, 128, 192, 256]  # kB: full before it is made, while it is made, and later


@pytest.fixture(params=SIZES)
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={request.param}k", "none", str(tmp_path)],
        check=False,
        capture_output=True,
    )
    if made.returncode:
        pytest.skip("no small disk can be mounted here")
    yield tmp_path
    subprocess.run(["umount", "-l", str(tmp_path)], check=True)


def test_a_full_disk_is_told_as_such_and_room_again_means_answers(disk: Path) -> None:
    path, answered = disk / "ledger.sqlite", 0

    def fill() -> None:
        nonlocal answered
        with SqliteLedger(path, create=True) as ledger:
            for _ in range(5000):
                ledger.reserve(CHARGE, CAPS)
                answered += 1

    with pytest.raises(LedgerError, match="the disk is full") as refused:
        fill()
    assert refused.value.hint.startswith("make room on the disk that holds the ledger")
    subprocess.run(["mount", "-o", "remount,size=8m", str(disk)], check=True)
    with SqliteLedger(path, create=True) as ledger:
        ledger.reserve(CHARGE, CAPS)
        spent = ledger.balance("clinic", CAPS, analyst="ana").total.spent.epsilon
        assert spent >= CHARGE.loss.epsilon * (answered + 1)
    assert verify_file(path).sound
    assert os.path.exists(path)


def test_a_ledger_on_a_full_disk_is_not_called_damaged(disk: Path) -> None:
    path, filler = disk / "ledger.sqlite", disk / "filler"
    subprocess.run(["mount", "-o", "remount,size=1m", str(disk)], check=True)
    with SqliteLedger(path, create=True) as ledger:
        ledger.reserve(CHARGE, CAPS)
    filled = subprocess.run(["dd", "if=/dev/zero", f"of={filler}", "bs=4k"], check=False, capture_output=True)
    assert filled.returncode, "until nothing fits any more"
    with pytest.raises(LedgerError, match="the disk is full") as refused:
        verify_file(path)
    assert refused.value.hint.startswith("make room")
    with pytest.raises(LedgerError, match="cannot be copied: the disk is full"):
        back_up(path, disk / "copy.sqlite")
    assert not (disk / "copy.sqlite").exists()
    with pytest.raises(LedgerError, match="cannot be accepted: the disk is full"):
        accept_rollback(path, "why")
    filler.unlink()
    assert verify_file(path).sound
