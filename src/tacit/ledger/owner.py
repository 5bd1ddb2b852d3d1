"""What the owner can do with a ledger that does not open: examine it, or accept it as it stands."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from tacit.errors import LedgerError
from tacit.ledger import fork, schema
from tacit.ledger.carrying import carry_over
from tacit.ledger.desk import Clock, make, mark_beside, milliseconds
from tacit.ledger.entries import book
from tacit.ledger.entries.links import newest
from tacit.ledger.failures import failure
from tacit.ledger.group_commit import apart
from tacit.ledger.mark import HighWaterMark, Point, identity, sync_directory
from tacit.ledger.values import Verdict, checked
from tacit.ledger.verify import examine

_COPY = "make room where the copy is to lie, or name another place; the ledger is as it was"


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
    except (sqlite3.Error, OSError) as error:
        failed = failure(error, database.parent, mark_path.parent)
        if failed.outside:  # which says nothing of what is in it
            raise failed.error() from None
    except LedgerError:
        pass
    return Verdict(0, "", ("the ledger cannot be opened: it is missing, damaged, or not a ledger",))


def back_up(path: str | os.PathLike[str], copy: Path, *, mark: Path | None = None) -> Verdict:
    """Copy a ledger while charges go on: one state of it in one file, synced, examined, its owner's alone.

    Charges made after this began are not in it. Raises LedgerError where it cannot be made, or is not sound.
    """
    database = Path(os.path.realpath(path))
    backed_up = apart(lambda: _backed_up(database, copy, mark or mark_beside(database)))
    if not backed_up.sound:
        raise LedgerError(f"the copy is not sound: {backed_up.problems[0]}", hint="tacit ledger verify")
    return backed_up


def _backed_up(database: Path, copy: Path, mark_path: Path) -> Verdict:
    try:
        os.close(os.open(copy, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    except OSError as error:
        raise LedgerError(f"{copy.name} cannot be made: {error.strerror}", hint="name a new file") from None
    try:
        with _mark(mark_path, create=False) as high_water, closing(sqlite3.connect(copy)) as target:
            source = schema.connect(database)
            try:
                source.backup(target)
            finally:
                with high_water.locked():  # the last connection to close tidies the write-ahead log away
                    source.close()
            target.execute("PRAGMA journal_mode = DELETE")  # one file, and nothing beside it
            target.row_factory = sqlite3.Row
            verdict = examine(target, Point(*newest(target)))
        _synced(copy)
    except (sqlite3.Error, OSError) as error:
        failed = failure(error, copy.absolute().parent)
        copy.unlink(missing_ok=True)
        what = failed.reason if failed.outside else "it cannot be read, or the copy not written"
        raise LedgerError(f"the ledger cannot be copied: {what}", hint=_COPY) from None
    return verdict


def _synced(copy: Path) -> None:
    descriptor = os.open(copy, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    sync_directory(copy.absolute().parent)


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
                entry = _accept(connection, note=f"{note}: {_said(high_water)}", now=milliseconds(clock))
                high_water.overwrite(entry)
            return entry.hash
    except (sqlite3.Error, OSError) as error:
        failed = failure(error, database.parent, mark_path.parent)
        what = failed.reason if failed.outside else "it cannot be read or written"
        raise LedgerError(f"the ledger cannot be accepted: {what}", hint=failed.hint) from None


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
    entry = book.append(connection, "accept", now=now, note=note)
    connection.execute("COMMIT")
    return Point(entry.seq, entry.hash)


def _said(mark: HighWaterMark) -> str:
    stood = mark.read()
    return "there was no readable mark" if stood is None else f"the mark stood at entry {stood.seq}, {stood.hash}"
