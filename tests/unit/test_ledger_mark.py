"""The high-water mark: whole or ignored, and locked."""

from __future__ import annotations

import errno
import fcntl
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tacit.errors import LedgerError
from tacit.ledger import lock
from tacit.ledger.mark import SLOT, SYNC_EVERY, HighWaterMark, Point


def point(seq: int) -> Point:
    return Point(seq, f"{seq:064x}")


@pytest.fixture
def mark(tmp_path: Path) -> Iterator[HighWaterMark]:
    opened = HighWaterMark(tmp_path / "mark", create=True)
    yield opened
    opened.close()


def test_a_new_mark_is_blank(mark: HighWaterMark) -> None:
    assert mark.is_blank()
    assert mark.read() is None


def test_the_newest_of_two_slots_is_read(mark: HighWaterMark) -> None:
    for seq in range(5):
        mark.write(point(seq))
        assert mark.read() == point(seq)
    assert not mark.is_blank()


@pytest.mark.parametrize("damage", range(0, SLOT, 7))
def test_a_torn_write_leaves_the_mark_before_it(mark: HighWaterMark, damage: int) -> None:
    mark.write(point(1))
    before = mark.path.read_bytes().ljust(2 * SLOT, b"\0")
    mark.write(point(2))
    after = mark.path.read_bytes()
    mark.path.write_bytes(before[:SLOT] + before[SLOT : SLOT + damage] + after[SLOT + damage :])
    assert mark.read() in (point(1), point(2))
    mark.path.write_bytes(before[:SLOT] + after[SLOT : SLOT + damage] + before[SLOT + damage :])
    assert mark.read() in (point(1), point(2))


@pytest.mark.parametrize("byte", range(13, 110))
def test_a_changed_mark_is_not_believed(mark: HighWaterMark, byte: int) -> None:
    mark.write(point(7))
    data = bytearray(mark.path.read_bytes())
    data[byte] ^= 1
    mark.path.write_bytes(data)
    assert mark.read() in (None, point(7))  # a flip beyond the record changes nothing
    assert byte > 13 + 1 + 64 + 17 or mark.read() is None


def test_setting_the_mark_back_takes_both_slots(mark: HighWaterMark) -> None:
    for seq in (8, 9):
        mark.write(point(seq))
    mark.overwrite(point(3))
    assert mark.read() == point(3)


def test_a_mark_is_forced_to_disk_at_least_every_so_often(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mark = HighWaterMark(tmp_path / "mark", create=True)
    synced: list[float] = []
    now = 0.0
    monkeypatch.setattr("tacit.ledger.mark.time.monotonic", lambda: now)
    monkeypatch.setattr("tacit.ledger.mark.os.fdatasync", lambda _: synced.append(now))
    mark.sync()
    for step in range(100):
        now = step * SYNC_EVERY / 10
        mark.write(point(step))
    assert 8 <= len(synced) <= 11
    mark.close()
    assert synced[-1] == now


def test_the_lock_admits_one_at_a_time(mark: HighWaterMark) -> None:
    other, inside, order = HighWaterMark(mark.path, create=False), threading.Event(), []

    def second() -> None:
        inside.wait()
        with other.locked():
            order.append("second")

    waiting = threading.Thread(target=second)
    waiting.start()
    with mark.locked():
        inside.set()
        waiting.join(0.2)
        order.append("first")
    waiting.join()
    assert order == ["first", "second"]


@pytest.mark.parametrize("replace", [True, False])
def test_a_mark_deleted_or_replaced_while_open_is_noticed(mark: HighWaterMark, replace: bool) -> None:
    mark.path.unlink()
    if replace:
        mark.path.write_bytes(b"")
    with pytest.raises(LedgerError, match="deleted or replaced"), mark.locked():
        pass


@pytest.mark.parametrize("code", [errno.ENOLCK, errno.EOPNOTSUPP, errno.EINVAL])
def test_a_file_system_without_locks_is_refused(
    mark: HighWaterMark, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    def unsupported(_descriptor: int, _operation: int) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(fcntl, "flock", unsupported)
    with pytest.raises(LedgerError, match="cannot be locked") as refused, mark.locked():
        pass
    assert "local disk" in refused.value.hint


@pytest.mark.parametrize("kind", ["nfs4", "cifs", "9p", "fuse.sshfs"])
def test_a_network_file_system_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    device = os.stat(tmp_path).st_dev
    mounts = tmp_path / "mountinfo"
    mounts.write_text(
        "21 1 0:999 / /proc rw - proc proc rw\n"
        f"30 1 {os.major(device)}:{os.minor(device)} / /data\\040here rw,relatime shared:1 - {kind} host:/x rw\n"
    )
    monkeypatch.setattr(lock, "MOUNTS", mounts)
    with pytest.raises(LedgerError, match=kind):
        lock.refuse_network(tmp_path)


def test_a_local_file_system_is_welcome(tmp_path: Path) -> None:
    lock.refuse_network(tmp_path)


def test_a_system_that_does_not_tell_its_mounts_is_believed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lock, "MOUNTS", tmp_path / "absent")
    lock.refuse_network(tmp_path)
