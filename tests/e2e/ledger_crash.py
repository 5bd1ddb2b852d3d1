"""Crash a ledger on purpose: killed at every system call, failed at every write, or with the power cut.

usage: ledger_crash.py (kill|fail|power) (ledger|answer-first|unsynced|careless) [--checkpoints] [--every N] [--first K]

One line of JSON tells how many moments were tried, and at which of them more had been released than charged, or the
ledger would not open again, or did not verify.
"""

from __future__ import annotations

import argparse
import errno
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from ledger_power import Disk, record
from ledger_tracer import CAN_FAIL, KILL, Call, run

from tacit.core import Budget, Loss
from tacit.errors import LedgerError
from tacit.ledger import Answer, BudgetLimits, Charge, Keep, Reservation, SqliteLedger, desk, group_commit

QUESTIONS = 3
CAPS = BudgetLimits(total=Budget(10), analyst=Budget(10), window=None, groups=(("staff", Budget(10)),))
KEEP = Keep(key="key", family="family", data_version="1", audience=None, facts="{}")
CHARGE = Charge(
    dataset="clinic", analyst="ana", groups=("staff",), loss=Loss("0.1"), zcdp=None, plan_hash="plan",
    policy_version="1", kind="query",
)  # fmt: skip
WRITES = ("write", "pwrite64", "ftruncate", "fsync", "fdatasync")
SYNCS = ("fsync", "fdatasync")
FORGIVEN = "fdatasync of directory"  # SQLite shrugs when it cannot sync a directory; the ledger syncs it with fsync


def analyst(directory: Path, *, twin: str, checkpoints: bool) -> None:
    """Ask a few questions. A byte in `released` is an answer that has left the building."""
    # The tracer sees one thread: the ledger's own work is done in it, as it is where no thread can be started.
    group_commit._begin, group_commit.STAY = (lambda work: work()), 0
    released = os.open(directory / "released", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    ledger = SqliteLedger(directory / "ledger.sqlite", create=True)
    if checkpoints:
        ledger._desk._tidy_at = desk.LONG_LOG = 1  # empty the write-ahead log after every commit
    if twin == "unsynced":
        ledger._desk.connection.execute("PRAGMA synchronous = OFF")
    for _ in range(QUESTIONS):
        try:
            if twin == "answer-first":
                os.write(released, b".")
            reservation = ledger.reserve(CHARGE, CAPS)
            assert isinstance(reservation, Reservation)
            if twin != "answer-first":
                os.write(released, b".")
            ledger.settle(reservation, [Answer(b"about 42", KEEP)])
        except LedgerError:
            if twin == "careless":
                os.write(released, b".")  # otherwise: a stubborn analyst asks on, of the same open ledger
    try:
        ledger.close()
    except LedgerError:
        return


def judge(directory: Path, *, released: int) -> str | None:
    """What is wrong with a ledger after a crash."""
    try:
        with SqliteLedger(directory / "ledger.sqlite", create=True) as ledger:
            charged = ledger.balance("clinic", CAPS, analyst="ana").total.spent.epsilon / CHARGE.loss.epsilon
            verdict = ledger.verify()
            if charged < released:
                return f"{released} released, {charged} charged"
            if not verdict.sound:
                return verdict.problems[0]
            ledger.reserve(CHARGE, CAPS)  # and it still works
    except LedgerError as error:
        return error.message
    return None


def killed(base: Path, work: Callable[[Path], None], *, moments: slice) -> Iterator[tuple[str, str | None]]:
    dry = _fresh(base)
    count = run(lambda: work(dry), lambda call: None)
    for moment in range(1, count + 1)[moments]:
        directory = _fresh(base)
        name = ""

        def visit(call: Call, moment: int = moment) -> str | None:
            nonlocal name
            if call.result is None and call.index == moment:
                name = call.name
                return KILL
            return None

        run(lambda directory=directory: work(directory), visit)
        if name:
            yield f"{moment} {name}", judge(directory, released=_released(directory))


def failed(base: Path, work: Callable[[Path], None], *, moments: slice) -> Iterator[tuple[str, str | None]]:
    """One write or sync fails once. Nothing is released for it; after a failed sync nothing is released at all."""
    dry, calls = _fresh(base), 0

    def counting(call: Call) -> None:
        nonlocal calls
        calls += _ledgers(call)

    run(lambda: work(dry), counting)
    for moment in range(1, calls + 1)[moments]:
        for code in (errno.EIO, errno.ENOSPC, errno.EROFS):
            directory, seen, before, name = _fresh(base), 0, 0, ""

            def visit(call: Call, moment: int = moment, code: int = code, directory: Path = directory) -> int | None:
                nonlocal seen, before, name
                seen += _ledgers(call)
                if seen == moment and not name and _ledgers(call):
                    name, before = f"{call.name} of {os.path.basename(call.path(call.args[0]))}", _released(directory)
                    return code
                return None

            run(lambda directory=directory: work(directory), visit)
            after, problem = _released(directory), judge(directory, released=_released(directory))
            if problem is None and name.startswith(SYNCS) and after > before and name != FORGIVEN:
                problem = f"{after - before} released after a failed sync"
            yield f"{moment} {name} {errno.errorcode[code]}", problem


class Judged:
    """What is wrong with each image of a disk. Many moments leave the same one, which is judged once."""

    def __init__(self, base: Path) -> None:
        self._base = base
        self._verdicts: dict[object, str | None] = {}

    def __call__(self, image: dict[str, bytes], *, released: int) -> str | None:
        key = (released, frozenset(image.items()))
        if key not in self._verdicts:
            directory = _fresh(self._base)
            for name, content in image.items():
                (directory / name).write_bytes(content)
            self._verdicts[key] = judge(directory, released=released)
        return self._verdicts[key]


def unpowered(base: Path, work: Callable[[Path], None], *, moments: slice) -> Iterator[tuple[str, str | None]]:
    directory = _fresh(base)
    steps = record(lambda: work(directory), directory=directory, releases=directory / "released")
    disk, judged = Disk(), Judged(base)
    chosen = range(1, len(steps) + 1)[moments]
    for moment, step in enumerate(steps, start=1):
        disk.do(step)
        if moment in chosen:
            for kind, image in enumerate(disk.images()):
                yield f"{moment}.{kind} {step[0]} {step[1]}", judged(image, released=disk.released)


def _ledgers(call: Call) -> bool:
    if call.result is not None or call.name not in WRITES:
        return False
    return not call.path(call.args[0]).endswith("/released")


def _fresh(base: Path) -> Path:
    shutil.rmtree(base, ignore_errors=True)
    base.mkdir()
    return base


def _released(directory: Path) -> int:
    path = directory / "released"
    return path.stat().st_size if path.exists() else 0


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("crash", choices=("kill", "fail", "power"))
    parser.add_argument("twin", choices=("ledger", "answer-first", "unsynced", "careless"))
    parser.add_argument("--checkpoints", action="store_true")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--first", type=int, default=1)
    chosen = parser.parse_args()
    # A killed process loses nothing that it wrote, and the power cut is simulated: memory will do for a disk.
    shelf = Path("/dev/shm") if os.access("/dev/shm", os.W_OK) else None
    base = Path(tempfile.mkdtemp(dir=shelf)) / "directory"

    def work(directory: Path) -> None:
        analyst(directory, twin=chosen.twin, checkpoints=chosen.checkpoints)

    try:
        if chosen.crash == "fail" and not CAN_FAIL:
            print(json.dumps({"unable": "this processor's calls cannot be failed"}))
            return
        judge(_fresh(base), released=0)  # what is imported when it is first used is not imported again at each moment
        crash = {"kill": killed, "fail": failed, "power": unpowered}[chosen.crash]
        outcomes = list(crash(base, work, moments=slice(chosen.first - 1, None, chosen.every)))
    except OSError as error:
        print(json.dumps({"unable": error.strerror}))
        return
    finally:
        shutil.rmtree(base.parent, ignore_errors=True)
    problems = [f"{moment}: {problem}" for moment, problem in outcomes if problem]
    print(json.dumps({"moments": len(outcomes), "problems": problems}))


if __name__ == "__main__":
    main()
