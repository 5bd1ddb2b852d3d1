"""The ledger in a SQLite file: for one host, any number of processes and threads."""

from __future__ import annotations

import logging
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tacit.ledger.counter import Counter
from tacit.ledger.desk import Clock, SqliteStore, mark_beside, milliseconds
from tacit.ledger.entries.rows import Connection
from tacit.ledger.failures import failure
from tacit.ledger.owner import verify_file
from tacit.ledger.values import Verdict

_log = logging.getLogger("tacit.ledger")
_log.addHandler(logging.NullHandler())  # said to the curator's log, if there is one; never to an analyst's screen


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
            failed = failure(error, self._path.parent, self._mark_path.parent)
            if failed.lasting:
                self._shut = self._shut or failed.reason
            raise failed.error() from None
