"""The high-water mark: how far the ledger has come, kept outside of it, so that an older copy is noticed.

The mark is written after each commit, under the lock that the commit was made under. So:

- it is never ahead of the ledger, whatever is killed and whenever the power goes: a mark that is ahead means that
  the ledger was rolled back;
- it may be behind, by the commits that a killed process did not live to mark. Whoever comes next checks that the
  chain runs through the mark, and moves it up.

A write to this file survives the death of any process. It is forced to the disk at most every `SYNC_EVERY` seconds
while charges are made, and on closing: a fsync for every charge would double its price. What escapes the mark is
therefore exactly this: an older copy put in place *after a power cut*, which lacks only entries made since the last
sync, before the ledger was opened again.
"""

from __future__ import annotations

import hashlib
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from tacit.errors import LedgerError
from tacit.ledger.lock import held

SLOT = 512  # bytes: one sector, so that one slot is written whole or not at all
SYNC_EVERY = 1.0
_RECORD = re.compile(rb"tacit mark 1 (\d{1,18}) ([0-9a-f]{64}) ([0-9a-f]{16})\n\0*")


@dataclass(frozen=True, slots=True)
class Point:
    """A point of the chain: the number of an entry, and its hash."""

    seq: int
    hash: str


class HighWaterMark:
    """Two slots, written in turn: a torn write spoils one, and the other still stands. Also the file that is locked."""

    def __init__(self, path: Path, *, create: bool) -> None:
        self.path = path
        self._fd = os.open(path, os.O_RDWR | os.O_CLOEXEC | (os.O_CREAT if create else 0), 0o600)
        self._identity = identity(path)
        self._slot = 0
        self._dirty = False
        self._synced = time.monotonic()

    @contextmanager
    def locked(self) -> Iterator[None]:
        """The right to write the ledger."""
        with held(self._fd):
            if identity(self.path) != self._identity or os.fstat(self._fd).st_nlink == 0:
                raise LedgerError("the ledger's mark was deleted or replaced while in use", hint=HINT)
            yield

    def read(self) -> Point | None:
        """The newest whole record; None where there is none."""
        data = os.pread(self._fd, 2 * SLOT, 0)
        points = {0: _parse(data[:SLOT]), 1: _parse(data[SLOT:])}
        slot, newest = max(points.items(), key=lambda item: -1 if item[1] is None else item[1].seq)
        self._slot = 1 - slot
        return newest

    def is_blank(self) -> bool:
        """Whether nothing was ever written here, as in the moment before a ledger is made."""
        return not os.pread(self._fd, 2 * SLOT, 0).strip(b"\0")

    def write(self, point: Point, *, sync: bool = False) -> None:
        """Move the mark, over the older of the two slots."""
        body = b"tacit mark 1 %d %s" % (point.seq, point.hash.encode())
        record = body + b" " + _check(body) + b"\n"
        if os.pwrite(self._fd, record.ljust(SLOT, b"\0"), self._slot * SLOT) != SLOT:
            raise OSError("short write")
        self._slot = 1 - self._slot
        self._dirty = True
        if sync or time.monotonic() - self._synced >= SYNC_EVERY:
            self.sync()

    def overwrite(self, point: Point) -> None:
        """Set the mark back, in both slots: only by an explicit act of the owner."""
        for _ in range(2):
            self.write(point, sync=True)

    def sync(self) -> None:
        """Force it to the disk."""
        if self._dirty:
            os.fdatasync(self._fd)
            self._dirty = False
        self._synced = time.monotonic()

    def close(self) -> None:
        """Sync, and let go of the file."""
        try:
            self.sync()
        finally:
            os.close(self._fd)


HINT = "restore the newest ledger; or, knowing what is lost, `tacit ledger accept`"


def identity(path: Path | str) -> tuple[int, int] | None:
    """Which file stands under this name now; None if there is none."""
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino


def sync_directory(directory: Path) -> None:
    """Make names that were created in `directory` survive a power cut."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _check(body: bytes) -> bytes:
    return hashlib.sha256(body).hexdigest()[:16].encode()


@lru_cache(maxsize=16)  # one of the two slots is what it was
def _parse(slot: bytes) -> Point | None:
    match = _RECORD.fullmatch(slot)
    if match is None or _check(slot[: match.start(3) - 1]) != match[3]:
        return None
    return Point(int(match[1]), match[2].decode())
