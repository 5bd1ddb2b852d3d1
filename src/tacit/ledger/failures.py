"""Why the ledger's files failed, in our words: no word of the database or the system leaves."""

from __future__ import annotations

import errno
import logging
import os
import sqlite3
from dataclasses import dataclass
from pathlib import Path

from tacit.errors import LedgerError

_log = logging.getLogger("tacit.ledger")

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
_WRITING = frozenset({"SQLITE_IOERR_WRITE", "SQLITE_IOERR_TRUNCATE", "SQLITE_IOERR_FSYNC", "EFBIG", "EIO"})
_UNWRITTEN = (
    "see whether the disk fails, or a limit on the size of files (ulimit -f) is reached; nothing was released, "
    "and what was charged stays charged"
)
_OTHERWISE = "nothing was released; the curator's log has the code"
_NO_ROOM = 1 << 16  # bytes: with less than that, whatever fails to be written fails for want of room


@dataclass(frozen=True, slots=True)
class Failure:
    """Why the ledger cannot be used, what to do, and whether it stays shut.

    `outside`: whatever the ledger holds is not to blame for it.
    """

    reason: str
    hint: str
    lasting: bool
    outside: bool

    def error(self) -> LedgerError:
        """What is raised for it."""
        return LedgerError(f"the ledger cannot be used: {self.reason}", hint=self.hint)


def failure(error: sqlite3.Error | OSError, *places: Path) -> Failure:
    """What an error means, of files in these directories. The log learns its code, never its text."""
    if isinstance(error, OSError):
        code = errno.errorcode.get(error.errno or 0, "unknown")
        _log.error("the ledger's files failed: %s", code)
        full, harmless, family = code in {"ENOSPC", "EDQUOT"}, None, "its files"
    else:
        code = getattr(error, "sqlite_errorname", type(error).__name__)
        _log.error("the ledger's database failed: %s", code)
        base, family = "_".join(code.split("_")[:2]), "its database"
        harmless = _HARMLESS.get(code, _HARMLESS.get(base))
        full = base in {"SQLITE_IOERR", "SQLITE_CANTOPEN"} and any(map(_is_full, places))
    reason = harmless or (_FULL if full else f"{family} failed ({code})")
    hint = _ADVICE.get(reason, _UNWRITTEN if code in _WRITING else _OTHERWISE)
    return Failure(reason, hint, lasting=harmless is None, outside=reason in _ADVICE or code in _WRITING)


def _is_full(directory: Path) -> bool:
    try:
        status = os.statvfs(directory)
    except OSError:
        return False
    return status.f_bavail * status.f_frsize < _NO_ROOM or (status.f_files > 0 and status.f_favail == 0)
