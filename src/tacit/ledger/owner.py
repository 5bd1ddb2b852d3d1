"""What the owner can do with a ledger that does not open: examine it, or accept it as it stands."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from tacit.errors import LedgerError
from tacit.ledger import book, fork, schema
from tacit.ledger.carrying import carry_over
from tacit.ledger.desk import Clock, make, mark_beside, milliseconds
from tacit.ledger.group_commit import apart
from tacit.ledger.links import newest
from tacit.ledger.mark import HighWaterMark, Point, identity
from tacit.ledger.values import Verdict, checked
from tacit.ledger.verify import examine


def verify_file(path: str | os.PathLike[str], *, mark: Path | None = None) -> Verdict:
    """Examine a ledger, also one that is too damaged to be opened."""
    database = Path(os.path.realpath(path))
    return apart(lambda: _verified(database, mark or mark_beside(database)))


def _verified(database: Path, mark_path: Path) -> Verdict:
    try:
        if not mark_path.exists():
            with fork.held_off(), closing(schema.connect(database)) as connection:
                return examine(connection, None)
        with _mark(mark_path, create=False) as high_water:
            return _examined(database, high_water)
    except (sqlite3.Error, OSError, LedgerError):
        return Verdict(0, "", ("the ledger cannot be opened: it is missing, damaged, or not a ledger",))


def accept_rollback(
    path: str | os.PathLike[str], note: str, *, mark: Path | None = None, clock: Clock = time.time
) -> str:
    """Take the ledger as it stands for the truth, although its mark says otherwise; on record, with the reason.

    What was charged after the point it was rolled back to is forgotten, and can be spent again. A ledger whose own
    chain or totals do not fit is not accepted.
    """
    checked(note, "the note")
    database = Path(os.path.realpath(path))
    return apart(lambda: _accepted(database, note, mark_path=mark or mark_beside(database), clock=clock))


def _accepted(database: Path, note: str, *, mark_path: Path, clock: Clock) -> str:
    try:
        with _mark(mark_path, create=True) as high_water, high_water.locked():
            if identity(database) is None:
                make(database, clock=clock)
            with closing(schema.connect(database)) as connection:
                made = _accept(connection, note=f"{note}: {_said(high_water)}", now=milliseconds(clock))
                high_water.overwrite(made)
            return made.hash
    except (sqlite3.Error, OSError):
        raise LedgerError("the ledger cannot be accepted: it cannot be read or written") from None


@contextmanager
def _mark(path: Path, *, create: bool) -> Iterator[HighWaterMark]:
    with fork.held_off():
        mark = HighWaterMark(path, create=create)
        try:
            yield mark
        finally:
            mark.close()


def _examined(database: Path, mark: HighWaterMark) -> Verdict:
    stood = mark.read()
    connection = schema.connect(database)
    try:
        return examine(connection, stood)
    finally:
        with mark.locked():  # the last connection to close tidies the write-ahead log away
            connection.close()


def _accept(connection: sqlite3.Connection, *, note: str, now: int) -> Point:
    carry_over(connection, now=now)
    verdict = examine(connection, Point(*newest(connection)))
    if not verdict.sound:
        raise LedgerError(f"the ledger cannot be accepted: {verdict.problems[0]}", hint="restore a sound copy")
    connection.execute("BEGIN IMMEDIATE")
    made = book.append(connection, "accept", now=now, note=note)
    connection.execute("COMMIT")
    return Point(made.seq, made.hash)


def _said(mark: HighWaterMark) -> str:
    stood = mark.read()
    return "there was no readable mark" if stood is None else f"the mark stood at entry {stood.seq}, {stood.hash}"
