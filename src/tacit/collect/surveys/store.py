"""Reports on disk: one line of JSON each, written down before they are acknowledged."""

from __future__ import annotations

import errno
import json
import os
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tacit.collect.messages import HEAD, head
from tacit.collect.surveys.questionnaire import Survey
from tacit.errors import LedgerError


class ReportStore:
    """Appends reports to a file that holds nothing else: no address, no name, no time.

    A report that does not fit the survey is not kept; that there was one is.
    """

    def __init__(self, survey: Survey) -> None:
        path = survey.reports
        self._lock = threading.Lock()
        self._torn = False
        self.counts = {"kept": 0, "rejected": 0}  # since it was opened
        self._head, self._length = head(survey.protocol, survey.topic), HEAD + survey.protocol.width
        try:
            self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            _end_line(path, self._file)
        except OSError as error:
            raise LedgerError(f"{path.name} cannot be written: {error.strerror}") from None

    def add(self, message: bytes) -> bool:
        """Keep a report; whether it fits. On return it is on disk."""
        fits = len(message) == self._length and message.startswith(self._head)
        line = json.dumps({"report": message.hex()} if fits else {"rejected": 1}) + "\n"
        with self._lock:
            line = "\n" + line if self._torn else line
            self._torn = True  # until the whole line is there: half of one is no report, and must spoil no other
            if os.write(self._file, line.encode()) != len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            self._torn = False
            os.fsync(self._file)
            self.counts["kept" if fits else "rejected"] += 1
        return fits

    def close(self) -> None:
        """Let go of the file; once is enough."""
        file, self._file = self._file, -1
        if file >= 0:
            os.close(file)


def _end_line(path: Path, file: int) -> None:
    """A crash may have left half a line: end it, so that the next report stands on its own."""
    if path.stat().st_size:
        with path.open("rb") as whole:
            whole.seek(-1, os.SEEK_END)
            if whole.read(1) != b"\n":
                os.write(file, b"\n")


def read_lines(path: Path) -> tuple[Counter[bytes], int]:
    """How often each message occurs, and how many lines were rejected or cannot be read."""
    kept: Counter[bytes] = Counter()
    dropped = 0
    for line in _lines(path):
        message = _message(line)
        if message is None:
            dropped += 1
        else:
            kept[message] += 1
    return kept, dropped


def _lines(path: Path) -> Iterator[str]:
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            yield from (line for line in file if line.strip())
    except FileNotFoundError:
        return
    except OSError as error:
        raise LedgerError(f"{path.name} cannot be read: {error.strerror}") from None


def _message(line: str) -> bytes | None:
    try:
        return bytes.fromhex(json.loads(line)["report"])
    except (ValueError, TypeError, KeyError, RecursionError):  # the last for brackets in brackets in brackets …
        return None
