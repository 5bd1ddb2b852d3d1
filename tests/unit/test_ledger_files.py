"""A ledger and its files: made, missing, moved, full, forked."""

from __future__ import annotations

import errno
import logging
import os
import shutil
import sqlite3
import stat
import subprocess
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tacit.core import Budget, Loss
from tacit.errors import BudgetExceeded, LedgerError
from tacit.ledger import Answer, BudgetLimits, Charge, Reservation, SqliteLedger, verify_file
from tacit.ledger import desk as desk_module
from tacit.ledger.entries import accounts
from tacit.ledger.group_commit import GroupCommit

CAPS = BudgetLimits(total=Budget(1000), analyst=Budget(1000), window=None, groups=())
CANARY = "canary-Alice-1987"


def charge(epsilon: object = "0.1", **fields: object) -> Charge:
    asked = {
        "dataset": "clinic", "analyst": "ana", "groups": (), "loss": Loss(epsilon), "zcdp": None,
        "plan_hash": "plan", "policy_version": "1", "kind": "query",
    }  # fmt: skip
    return Charge(**(asked | fields))


def charges(path: Path) -> int:
    with SqliteLedger(path, create=False) as ledger:
        assert ledger.verify().sound
        return sum(entry.act == "charge" for entry in ledger.entries(limit=10_000))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.sqlite"


@pytest.fixture
def ledger(path: Path) -> Iterator[SqliteLedger]:
    opened = SqliteLedger(path, create=True)
    yield opened
    with suppress(LedgerError):
        opened.close()


# --- opening


def test_nothing_is_made_unless_asked(path: Path) -> None:
    with pytest.raises(LedgerError, match="no ledger there"):
        SqliteLedger(path, create=False)
    with pytest.raises(LedgerError, match="no ledger there"):
        SqliteLedger(path.parent / "absent" / "ledger.sqlite", create=True)
    assert list(path.parent.iterdir()) == []


def test_a_ledger_is_for_its_owners_eyes(ledger: SqliteLedger, path: Path) -> None:
    ledger.reserve(charge(), CAPS)
    for file in path.parent.iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600, file.name


def test_a_charge_is_there_after_reopening(ledger: SqliteLedger, path: Path) -> None:
    ledger.reserve(charge(), CAPS)
    ledger.close()
    assert charges(path) == 1


def test_the_mark_may_stand_on_another_disk(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    path, mark = tmp_path / "ledger.sqlite", tmp_path / "elsewhere" / "mark"
    with SqliteLedger(path, create=True, mark=mark) as ledger:
        ledger.reserve(charge(), CAPS)
        assert ledger.verify().sound
    assert verify_file(path, mark=mark).sound
    with pytest.raises(LedgerError, match="mark is missing"):
        SqliteLedger(path, create=False)


def test_a_link_leads_to_the_same_ledger(ledger: SqliteLedger, path: Path) -> None:
    link = path.parent / "link.sqlite"
    link.symlink_to(path)
    with SqliteLedger(link, create=False) as other:
        other.reserve(charge(), CAPS)
    assert ledger.balance("clinic", CAPS, analyst="ana").total.spent.epsilon == Loss("0.1").epsilon


def test_another_database_is_not_taken_for_a_ledger_and_not_touched(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE patients (name TEXT)")
    connection.commit()
    connection.close()
    before = path.read_bytes()
    with pytest.raises(LedgerError, match="something else"):
        SqliteLedger(path, create=True)
    assert path.read_bytes() == before


def test_a_file_that_is_no_database_is_refused(path: Path) -> None:
    path.write_bytes(CANARY.encode() * 100)
    with pytest.raises(LedgerError) as refused:
        SqliteLedger(path, create=True)
    assert CANARY not in refused.value.explain()


def test_a_closed_ledger_stays_closed(ledger: SqliteLedger) -> None:
    ledger.close()
    with pytest.raises(LedgerError, match="closed"):
        ledger.reserve(charge(), CAPS)
    with pytest.raises(LedgerError, match="closed"):
        ledger.entries(limit=1)


def test_two_ledgers_of_one_process_on_one_file_keep_one_account(path: Path) -> None:
    one = BudgetLimits(total=Budget(1), analyst=None, window=None, groups=())
    with SqliteLedger(path, create=True) as first, SqliteLedger(path, create=True) as second:
        for ledger in (first, second) * 5:
            ledger.reserve(charge(), one)
        for ledger in (first, second):
            with pytest.raises(BudgetExceeded):
                ledger.reserve(charge(), one)


# --- moved away under our feet


@pytest.mark.parametrize("suffix", ["", "-wal", ".mark"])
@pytest.mark.parametrize("replaced", [True, False])
def test_a_file_deleted_or_replaced_while_open_stops_everything(
    ledger: SqliteLedger, path: Path, suffix: str, replaced: bool
) -> None:
    ledger.reserve(charge(), CAPS)
    target = path.with_name(path.name + suffix)
    copy = path.with_name("copy")
    shutil.copy(target, copy)
    target.unlink()
    if replaced:
        copy.rename(target)
    for _ in range(2):
        with pytest.raises(LedgerError, match="deleted or replaced"):
            ledger.reserve(charge(), CAPS)
    if suffix != ".mark":  # nor is what it says of a balance believed
        with pytest.raises(LedgerError, match="deleted or replaced"):
            ledger.balance("clinic", CAPS, analyst="ana")


def test_a_file_moved_away_during_the_commit_is_noticed(
    ledger: SqliteLedger, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    append = desk_module.book.append

    def move(*args: object, **fields: object) -> object:
        os.rename(path, path.with_name("away"))
        return append(*args, **fields)

    monkeypatch.setattr(desk_module.book, "append", move)
    with pytest.raises(LedgerError, match="deleted or replaced"):
        ledger.reserve(charge(), CAPS)


def test_an_older_state_copied_over_an_open_ledger_is_noticed_or_does_no_harm(ledger: SqliteLedger, path: Path) -> None:
    ledger.reserve(charge(), CAPS)
    files = [path, path.with_name("ledger.sqlite-wal")]
    older = [file.read_bytes() for file in files]
    for _ in range(5):
        ledger.reserve(charge(), CAPS)
    ledger.close()
    with SqliteLedger(path, create=False) as second:
        for file, content in zip(files, older, strict=True):
            with open(file, "r+b") as opened:  # in place: the same file, an older content
                opened.write(content)
                opened.truncate()
        answered = 6
        with suppress(LedgerError):
            for _ in range(3):
                second.reserve(charge(), CAPS)
                answered += 1
    if verify_file(path).sound:  # what SQLite held in memory has been written over the older state
        assert charges(path) == answered


# --- faults


def test_a_full_disk_means_no_answer_and_room_again_means_answers(ledger: SqliteLedger, path: Path) -> None:
    connection = ledger._desk.connection
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    connection.execute(f"PRAGMA max_page_count = {pages}")
    made, refused = 0, ""
    while not refused and made < 1000:
        try:
            ledger.reserve(charge(), CAPS)
            made += 1
        except LedgerError as error:
            refused = error.message
    assert "disk is full" in refused
    connection.execute("PRAGMA max_page_count = 100000")
    ledger.reserve(charge(), CAPS)
    ledger.close()
    assert charges(path) == made + 1


SAID = "the ledger cannot be used: the disk is full"


@pytest.mark.parametrize(
    ("error", "lasting"),
    [
        ("SQLITE_FULL", False), ("SQLITE_IOERR_SHMSIZE", False), ("SQLITE_IOERR_WRITE", True),
        ("SQLITE_IOERR_TRUNCATE", True), ("SQLITE_CANTOPEN", True), ("ENOSPC", True), ("EDQUOT", True),
    ],
)  # fmt: skip
def test_a_full_disk_is_called_so_and_the_advice_fits(
    ledger: SqliteLedger, monkeypatch: pytest.MonkeyPatch, error: str, lasting: bool
) -> None:
    """Whatever SQLite or the system calls it."""

    def fail(*_: object, **__: object) -> None:
        if error.startswith("SQLITE"):
            failed = sqlite3.OperationalError("disk I/O error")
            failed.sqlite_errorname = error
            raise failed
        raise OSError(getattr(errno, error), CANARY)

    with monkeypatch.context() as broken:
        broken.setattr("tacit.ledger.entries.book.reserve", fail)
        broken.setattr("tacit.ledger.failures._is_full", lambda _: True)
        with pytest.raises(LedgerError) as refused:
            ledger.reserve(charge(), CAPS)
    assert refused.value.message == SAID
    assert refused.value.hint.startswith("make room on the disk that holds the ledger")
    if lasting:
        with pytest.raises(LedgerError, match="shut: the disk is full"):
            ledger.reserve(charge(), CAPS)
    else:
        ledger.reserve(charge(), CAPS)


def test_a_disk_with_room_is_not_called_full(ledger: SqliteLedger, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        failed = sqlite3.OperationalError("disk I/O error")
        failed.sqlite_errorname = "SQLITE_IOERR_READ"
        raise failed

    monkeypatch.setattr("tacit.ledger.entries.book.reserve", fail)
    with pytest.raises(LedgerError, match="its database failed") as refused:
        ledger.reserve(charge(), CAPS)
    assert "make room" not in refused.value.hint


@pytest.mark.parametrize("error", ["SQLITE_IOERR_WRITE", "SQLITE_IOERR_FSYNC", "EFBIG"])
def test_what_cannot_be_written_on_a_disk_with_room_has_advice_of_its_own(
    ledger: SqliteLedger, monkeypatch: pytest.MonkeyPatch, error: str
) -> None:
    def fail(*_: object, **__: object) -> None:
        if error == "EFBIG":
            raise OSError(errno.EFBIG, CANARY)
        failed = sqlite3.OperationalError(CANARY)
        failed.sqlite_errorname = error
        raise failed

    monkeypatch.setattr("tacit.ledger.entries.book.reserve", fail)
    with pytest.raises(LedgerError, match=error) as refused:
        ledger.reserve(charge(), CAPS)
    assert "limit on the size of files" in refused.value.hint


def test_a_limit_on_the_size_of_files_is_no_damage(path: Path) -> None:
    """As `ulimit -f` sets it: in a process of its own, that could not raise it again."""
    with SqliteLedger(path, create=True) as opened:
        opened.reserve(charge(), CAPS)
    script = (
        "import resource, signal, sys\n"
        "from pathlib import Path\n"
        "from tacit.errors import LedgerError\n"
        "from tacit.ledger import verify_file\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000))\n"
        "try:\n"
        "    print(verify_file(Path(sys.argv[1])).problems)\n"
        "except LedgerError as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    assert "damaged" not in done.stdout
    assert verify_file(path).sound


@pytest.mark.parametrize("why", ["another database", "nothing there"])
def test_a_ledger_that_does_not_open_leaves_no_thread(path: Path, why: str) -> None:
    if why == "another database":
        path.write_bytes(b"no ledger" * 999)
        path.with_name(path.name + ".mark").touch()
    gone: list[str] = []
    with pytest.MonkeyPatch.context() as watched:
        watched.setattr(GroupCommit, "leave", lambda self: gone.append("left"))
        with pytest.raises(LedgerError):
            SqliteLedger(path, create=False)
    assert gone == ["left"]


def test_a_failed_sync_of_the_mark_shuts_the_ledger_for_good(
    ledger: SqliteLedger, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tacit.ledger.mark.SYNC_EVERY", 0)

    def broken(_: int) -> None:
        raise OSError(5, CANARY)

    with monkeypatch.context() as disk:
        disk.setattr("tacit.ledger.mark.os.fdatasync", broken)
        with pytest.raises(LedgerError, match="EIO"):
            ledger.reserve(charge(), CAPS)
    for act in (lambda: ledger.reserve(charge(), CAPS), lambda: ledger.entries(limit=1)):
        with pytest.raises(LedgerError, match="shut"):
            act()
    assert charges(path) == 1  # charged, not answered


@pytest.mark.skipif(os.geteuid() != 0, reason="needs to become somebody else")
@pytest.mark.parametrize("locked", ["file", "directory"])
def test_a_file_that_may_not_be_written_means_no_answer(tmp_path: Path, locked: str) -> None:
    directory = tmp_path / "ledgers"
    directory.mkdir()
    path = directory / "ledger.sqlite"
    SqliteLedger(path, create=True).close()
    for parent in (tmp_path, *list(tmp_path.parents)[:3]):
        parent.chmod(0o755)
    for file in (path, path.with_name("ledger.sqlite.mark")):
        file.chmod(0o644 if locked == "file" else 0o666)
    directory.chmod(0o755)
    os.seteuid(65534)
    try:
        with pytest.raises(LedgerError):
            SqliteLedger(path, create=True).reserve(charge(), CAPS)
    finally:
        os.seteuid(0)
    assert charges(path) == 0


def test_a_program_that_holds_the_database_is_waited_for_and_then_refused(ledger: SqliteLedger, path: Path) -> None:
    ledger._desk.connection.execute("PRAGMA busy_timeout = 50")
    stranger = sqlite3.connect(path, isolation_level=None)
    stranger.execute("BEGIN IMMEDIATE")
    with pytest.raises(LedgerError, match="another program holds it"):
        ledger.reserve(charge(), CAPS)
    stranger.execute("ROLLBACK")
    stranger.close()
    ledger.reserve(charge(), CAPS)


def test_a_refusal_that_left_a_trace_takes_its_batch_down(
    ledger: SqliteLedger, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def late(view: accounts.View, *_: object, **__: object) -> None:
        view.connection.execute("DELETE FROM account")
        raise BudgetExceeded("after the fact")

    ledger.reserve(charge(), CAPS)
    monkeypatch.setattr("tacit.ledger.entries.book.accounts.after", late)
    with pytest.raises(LedgerError, match="nothing of its batch is kept"):
        ledger.reserve(charge(), CAPS)
    ledger.close()
    assert charges(path) == 1


def test_neither_error_nor_log_repeats_the_databases_words(
    ledger: SqliteLedger, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def chatty(*_: object, **__: object) -> None:
        raise sqlite3.OperationalError(f"near {CANARY!r}: syntax error")

    monkeypatch.setattr("tacit.ledger.entries.book.reserve", chatty)
    with caplog.at_level(logging.DEBUG), pytest.raises(LedgerError) as refused:
        ledger.reserve(charge(), CAPS)
    assert CANARY not in "".join(traceback.format_exception(refused.value))
    assert CANARY not in caplog.text
    assert "the ledger's database failed" in caplog.text


# --- the write-ahead log


def test_a_long_log_is_emptied_and_a_reader_in_the_way_does_no_harm(
    ledger: SqliteLedger, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(desk_module, "LONG_LOG", 1)
    ledger._desk._tidy_at = 1
    wal = path.with_name("ledger.sqlite-wal")
    ledger.reserve(charge(), CAPS)
    assert wal.stat().st_size == 0
    reader = sqlite3.connect(path, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT COUNT(*) FROM entry").fetchone()
    for _ in range(3):
        ledger.reserve(charge(), CAPS)
    assert wal.stat().st_size > 0
    reader.execute("ROLLBACK")
    reader.close()
    ledger.close()
    assert charges(path) == 4


def test_a_ledger_can_be_examined_while_it_is_charged(ledger: SqliteLedger) -> None:
    done = threading.Event()

    def busy() -> None:
        while not done.is_set():
            ledger.reserve(charge("1e-6"), CAPS)

    worker = threading.Thread(target=busy)
    worker.start()
    try:
        for _ in range(20):
            assert ledger.verify().problems == ()
    finally:
        done.set()
        worker.join()


# --- forks


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # from Python 3.12 on
def test_parent_and_child_may_both_go_on_after_a_fork(ledger: SqliteLedger, path: Path) -> None:
    ledger.reserve(charge(), CAPS)
    ready, release = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        try:
            ledger.reserve(charge(), CAPS)
            os.write(ready[1], b".")
            os.read(release[0], 1)  # the parent closes its ledger meanwhile, and must not tidy our log away
            for _ in range(3):
                made = ledger.reserve(charge(), CAPS)
                assert isinstance(made, Reservation)
                ledger.settle(made, [Answer(b"42")])
            os._exit(0)
        finally:
            os._exit(1)
    os.close(ready[1])
    ledger.reserve(charge(), CAPS)
    assert os.read(ready[0], 1) == b"."
    ledger.close()
    os.write(release[1], b".")
    assert os.waitpid(child, 0)[1] == 0
    for descriptor in (ready[0], *release):
        os.close(descriptor)
    assert charges(path) == 6


def test_a_connection_that_did_cross_a_fork_refuses_to_work(
    ledger: SqliteLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tacit.ledger.desk.os.getpid", lambda: -1)
    with pytest.raises(LedgerError, match="another process"):
        ledger.reserve(charge(), CAPS)


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # from Python 3.12 on
def test_forks_amid_charges_lose_nothing(ledger: SqliteLedger, path: Path) -> None:
    made = []

    def busy() -> None:
        for _ in range(100):
            ledger.reserve(charge("1e-6"), CAPS)
            made.append(1)

    workers = [threading.Thread(target=busy) for _ in range(4)]
    for worker in workers:
        worker.start()
    children = []
    for _ in range(5):
        child = os.fork()
        if child == 0:
            try:
                ledger.reserve(charge("1e-6"), CAPS)
                os._exit(0)
            finally:
                os._exit(1)
        children.append(child)
    statuses = [os.waitpid(child, 0)[1] for child in children]
    for worker in workers:
        worker.join()
    assert statuses == [0] * 5
    ledger.close()
    assert charges(path) == len(made) + 5
