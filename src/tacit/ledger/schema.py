"""The tables of the SQLite ledger, and how a connection to them is opened."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path

from tacit.errors import LedgerError

APPLICATION = 0x7AC17  # in the file's header, so that no other database is taken for a ledger
SETTINGS = (
    "synchronous = FULL",
    "fullfsync = ON",
    "foreign_keys = ON",
    "trusted_schema = OFF",
    "wal_autocheckpoint = 0",
)
PATIENCE = 5.0  # seconds to wait for a program that holds the database without holding our lock


def _amount(column: str, *, rest: str = "") -> str:
    """A column that can hold only `p/q` with q > 0: never a sign, a point, a letter."""
    shape = f"{column} GLOB '[0-9]*/[1-9]*' AND {column} NOT GLOB '*[^0-9/]*' AND {column} NOT GLOB '*/*/*'"
    return f"{column} TEXT {rest} CHECK ({shape})"


# The outcome index makes a second settlement impossible; the request index, a second charge for one request.
TABLES = (
    f"""CREATE TABLE entry (
    seq INTEGER PRIMARY KEY CHECK (seq >= 0), at INTEGER NOT NULL CHECK (at >= 0),
    act TEXT NOT NULL CHECK (act IN ('open', 'charge', 'settle', 'fail', 'accept', 'carry', 'adopt')),
    dataset TEXT, analyst TEXT, groups TEXT, {_amount("epsilon")}, {_amount("delta")}, {_amount("rho")},
    {_amount("slack")}, plan_hash TEXT, policy_version TEXT, request_id TEXT, kind TEXT, note TEXT,
    charge INTEGER REFERENCES entry (seq), digest TEXT, asked TEXT,
    state TEXT NOT NULL CHECK (LENGTH(state) = 64 OR state = ''), prev TEXT NOT NULL, hash TEXT NOT NULL UNIQUE,
    CHECK (act <> 'charge' OR (dataset IS NOT NULL AND analyst IS NOT NULL AND groups IS NOT NULL
        AND epsilon IS NOT NULL AND delta IS NOT NULL AND slack IS NOT NULL AND plan_hash IS NOT NULL)),
    CHECK ((charge IS NOT NULL) = (act IN ('settle', 'fail')) AND (charge IS NULL OR charge < seq))) STRICT""",
    "CREATE UNIQUE INDEX outcome ON entry (charge) WHERE charge IS NOT NULL",
    "CREATE UNIQUE INDEX request ON entry (dataset, analyst, request_id) WHERE request_id IS NOT NULL",
    "CREATE INDEX spender ON entry (dataset, analyst, at) WHERE act = 'charge'",
    f"""CREATE TABLE account (
    dataset TEXT NOT NULL, scope TEXT NOT NULL CHECK (scope IN ('total', 'analyst', 'group')), name TEXT NOT NULL,
    span INTEGER CHECK (span IS NULL OR (span > 0 AND scope = 'analyst')), since INTEGER NOT NULL CHECK (since >= 0),
    {_amount("epsilon", rest="NOT NULL")}, {_amount("delta", rest="NOT NULL")}, {_amount("rho")},
    {_amount("slack", rest="NOT NULL")}, {_amount("grain")}, grains INTEGER CHECK (grains >= 0),
    CHECK ((grain IS NULL) = (grains IS NULL)), PRIMARY KEY (dataset, scope, name)) STRICT, WITHOUT ROWID""",
    """CREATE TABLE answer (
    charge INTEGER NOT NULL REFERENCES entry (seq), member INTEGER NOT NULL CHECK (member >= 0), dataset TEXT NOT NULL,
    key TEXT, family TEXT, data_version TEXT, audience TEXT, facts TEXT, body BLOB NOT NULL,
    PRIMARY KEY (charge, member)) STRICT""",
    "CREATE INDEX shelf_key ON answer (dataset, key) WHERE key IS NOT NULL",
    "CREATE INDEX shelf_family ON answer (dataset, family) WHERE family IS NOT NULL",
)
TABLES_HASH = hashlib.sha256("\n".join(sorted(TABLES)).encode()).hexdigest()
FIRST_TABLES_HASH = "07b54ee3b7b0db4567149ac34e1e70d0ecb68d4f53848385f4bdd277099cabe2"


def connect(path: Path) -> sqlite3.Connection:
    """Open an existing file so that a COMMIT that returns has reached the disk."""
    if sqlite3.sqlite_version_info < (3, 37):
        raise LedgerError(f"the ledger needs SQLite 3.37 or newer: this is {sqlite3.sqlite_version}")
    uri = f"{path.absolute().as_uri()}?mode=rw"
    connection = sqlite3.connect(uri, uri=True, timeout=PATIENCE, isolation_level=None, check_same_thread=False)
    with ExitStack() as undo:
        undo.callback(connection.close)
        connection.row_factory = sqlite3.Row
        if not is_blank(connection) and _pragma(connection, "application_id") != APPLICATION:
            raise LedgerError("the file is not a ledger: it is a database of something else")
        journal = _pragma(connection, "journal_mode = WAL")
        for setting in SETTINGS:
            connection.execute(f"PRAGMA {setting}")
        if journal != "wal" or _pragma(connection, "synchronous") != 2:
            raise LedgerError("the ledger cannot be written durably: this SQLite has no write-ahead log here")
        undo.pop_all()
    return connection


def create(connection: sqlite3.Connection) -> None:
    """Make the tables, inside the caller's transaction."""
    connection.execute(f"PRAGMA application_id = {APPLICATION}")
    for statement in TABLES:
        connection.execute(statement)


def checkpoint(connection: sqlite3.Connection) -> bool:
    """Move the write-ahead log into the database, synced, and empty it. Whether a reader kept it from being emptied.

    Only under the ledger's lock: SQLite before 3.51.3 could lose a commit to a checkpoint at the same instant.
    """
    connection.execute("PRAGMA busy_timeout = 0")
    try:
        return bool(_pragma(connection, "wal_checkpoint(TRUNCATE)"))
    finally:
        connection.execute(f"PRAGMA busy_timeout = {int(PATIENCE * 1000)}")


def is_blank(connection: sqlite3.Connection) -> bool:
    """Whether the file holds nothing at all yet."""
    (objects,) = connection.execute("SELECT COUNT(*) FROM sqlite_schema").fetchone()
    return bool(objects == 0)


def is_ours(connection: sqlite3.Connection) -> bool:
    """Whether the file has exactly our tables and indexes: a trigger, or a check less, is a way to cheat."""
    return _has(connection, TABLES_HASH)


def is_first_format(connection: sqlite3.Connection) -> bool:
    """Whether the file has exactly the tables and indexes of the first format, which `carried` turns into ours."""
    return _has(connection, FIRST_TABLES_HASH)


def _has(connection: sqlite3.Connection, tables: str) -> bool:
    rows = connection.execute("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL").fetchall()
    return _pragma(connection, "application_id") == APPLICATION and _hash(str(row[0]) for row in rows) == tables


def _hash(statements: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(sorted(statements)).encode()).hexdigest()


def _pragma(connection: sqlite3.Connection, name: str) -> str | int:
    value: str | int = connection.execute(f"PRAGMA {name}").fetchone()[0]
    return value
