"""The ledger in a SQLite file: for one host, any number of processes and threads."""

from __future__ import annotations

import errno
import logging
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tacit.errors import LedgerError
from tacit.ledger.counter import Counter
from tacit.ledger.desk import Clock, SqliteStore, mark_beside, milliseconds
from tacit.ledger.entries.rows import Connection
from tacit.ledger.owner import verify_file
from tacit.ledger.values import Verdict

_log = logging.getLogger("tacit.ledger")
_log.addHandler(logging.NullHandler())  # said to the curator's log, if there is one; never to an analyst's screen

# What a database can say that leaves its file as it was. After anything else nobody knows what is on the disk
# (a second fsync that succeeds proves nothing about the first), so the ledger stays shut until it is opened anew.
_FULL = "the disk is full"
_HARMLESS = {
    "SQLITE_FULL": _FULL,
    "SQLITE_IOERR_SHMSIZE": _FULL,  # of the index of its log, which is no file of record
    "SQLITE_READONLY": "it is read-only",
    "SQLITE_BUSY": "another program holds it",
    "SQLITE_CONSTRAINT": "the entry breaks the ledger's own rules",
}
_ADVICE = {
    _FULL: "make room on the disk that holds the ledger; nothing was released, and what was charged stays charged",
    "it is read-only": "let the user who runs tacit write the ledger and its directory; nothing was released",
    "another program holds it": "close that program, and ask again; nothing was released",
}
_OTHERWISE = "nothing was released; the curator's log has the code"
_NO_ROOM = 1 << 16  # bytes: with less than that, whatever fails to be written fails for want of room


class SqliteLedger(Counter):
    """Durable debits in one file. Threads share a ledger, and commits; processes each open their own."""

    def __init__(
        self, path: str | os.PathLike[str], *, create: bool, mark: Path | None = None, clock: Clock = time.time
    ) -> None:
        self._path = Path(os.path.realpath(path))
        self._mark_path = mark if mark is not None else mark_beside(self._path)
        self._clock = clock
        super().__init__(create=create)

    def verify(self) -> Verdict:
        """Examine the whole ledger, on a connection of its own: charges go on meanwhile."""
        return verify_file(self._path, mark=self._mark_path)

    def _opened(self, *, create: bool) -> SqliteStore:
        return SqliteStore.open(self._path, self._mark_path, create=create, clock=self._clock)

    def _now(self, at: Connection) -> int:
        return milliseconds(self._clock)

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """No word of the database or the system leaves: only that, and in our words why, the ledger cannot be used."""
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            reason, lasting = _diagnose(error, self._path.parent, self._mark_path.parent)
            if lasting:
                self._shut = self._shut or reason
            raise LedgerError(f"the ledger cannot be used: {reason}", hint=_ADVICE.get(reason, _OTHERWISE)) from None


def _diagnose(error: sqlite3.Error | OSError, *places: Path) -> tuple[str, bool]:
    """Why the ledger cannot be used, and whether it stays shut. The log learns the code, never the text."""
    if isinstance(error, OSError):
        code = errno.errorcode.get(error.errno or 0, "unknown")
        _log.error("the ledger's files failed: %s", code)
        return _FULL if code in {"ENOSPC", "EDQUOT"} else f"its files failed ({code})", True
    code = getattr(error, "sqlite_errorname", type(error).__name__)
    _log.error("the ledger's database failed: %s", code)
    family = "_".join(code.split("_")[:2])
    for known in (code, family):
        if known in _HARMLESS:
            return _HARMLESS[known], False
    full = family in {"SQLITE_IOERR", "SQLITE_CANTOPEN"} and any(map(_is_full, places))
    return _FULL if full else f"its database failed ({code})", True


def _is_full(directory: Path) -> bool:
    try:
        status = os.statvfs(directory)
    except OSError:
        return False
    return status.f_bavail * status.f_frsize < _NO_ROOM or (status.f_files > 0 and status.f_favail == 0)
