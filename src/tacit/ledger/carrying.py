"""A ledger of the first format, carried over into this one: whole, in one transaction, and on record.

The first format sealed every entry, but not what the accounts stood at. So all of it is examined before its totals are
sealed: a total that was changed behind the ledger's back is not made true by carrying it over.
"""

from __future__ import annotations

import sqlite3

from tacit.errors import LedgerError
from tacit.ledger import schema
from tacit.ledger.entries import book
from tacit.ledger.entries.chain import SEALED, state
from tacit.ledger.entries.links import head
from tacit.ledger.entries.rows import Connection
from tacit.ledger.entries.totals import COLUMNS, read_leaves
from tacit.ledger.mark import Point
from tacit.ledger.values import Verdict
from tacit.ledger.verify import examine_rows

_OLD = tuple(name for name in SEALED if name not in {"asked", "state"})
_ANSWER = ("charge", "dataset", "key", "family", "data_version", "audience", "facts", "body")
_ACCOUNT = tuple(name for name in COLUMNS if name not in {"grain", "grains"})  # those are counted when a cap asks
_TABLES = {"entry": (*_OLD, "hash"), "account": _ACCOUNT, "answer": _ANSWER}


def carry_over(connection: sqlite3.Connection, *, now: int) -> None:
    """Turn a SQLite ledger of the first format into one of ours; a ledger of ours is left as it is."""
    if not schema.is_first_format(connection):
        return
    connection.execute("PRAGMA foreign_keys = OFF")  # has no effect within a transaction
    try:
        connection.execute("BEGIN IMMEDIATE")
        try:
            refuse_unsound(examine_rows(connection))
            _rebuild(connection)
            seal_totals(connection, now=now)
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
    finally:
        connection.execute("PRAGMA foreign_keys = ON")


def refuse_unsound(verdict: Verdict) -> None:
    """Refuse a ledger with which something is wrong."""
    if not verdict.sound:
        raise LedgerError(
            f"the ledger cannot be carried over from an older version: {verdict.problems[0]}",
            hint="restore a sound copy",
        )


def seal_totals(connection: Connection, *, now: int) -> Point:
    """Enter that the ledger was carried over, with the first seal of what every account stands at."""
    last = head(connection)
    note = f"carried over after entry {last.seq}: totals are sealed from here on"
    entry = book.append(
        connection, "carry", now=now, last=last, state=state(read_leaves(connection).values()), note=note
    )
    return Point(entry.seq, entry.hash)


def _rebuild(connection: sqlite3.Connection) -> None:
    """The same rows in tables of ours, whose text SQLite keeps: so they are made anew rather than altered."""
    indexes = [row["name"] for row in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'index'")]
    for name in indexes:
        if not name.startswith("sqlite_"):
            connection.execute(f"DROP INDEX {name}")
    for table in _TABLES:
        connection.execute(f"ALTER TABLE {table} RENAME TO {table}_1")
    schema.create(connection)
    added = {"entry": (", state", ", ''"), "answer": (", member", ", 0")}  # each charge had one answer
    for table, columns in _TABLES.items():
        names = ", ".join(columns)
        more, values = added.get(table, ("", ""))
        connection.execute(f"INSERT INTO {table} ({names}{more}) SELECT {names}{values} FROM {table}_1")
    for table in ("answer", "account", "entry"):
        connection.execute(f"DROP TABLE {table}_1")
