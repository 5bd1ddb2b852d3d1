"""DB-API 2.0 (PEP 249): `tacit.dbapi.connect("tacit.toml", analyst="ana")`, or a server's address and a token.

A question is answered once and charged once; `rollback` gives nothing back.
"""

from __future__ import annotations

from tacit.faces.dbapi.connection import DbapiConnection, connect
from tacit.faces.dbapi.cursor import DbapiCursor
from tacit.faces.dbapi.faults import (
    DatabaseError,
    DataError,
    Error,
    IntegrityError,
    InterfaceError,
    InternalError,
    NotSupportedError,
    OperationalError,
    ProgrammingError,
    Warning,  # noqa: A004 - PEP 249 calls it so
)
from tacit.faces.dbapi.types import (
    BINARY,
    DATETIME,
    NUMBER,
    ROWID,
    STRING,
    Binary,
    Date,
    DateFromTicks,
    Time,
    TimeFromTicks,
    Timestamp,
    TimestampFromTicks,
)

Connection, Cursor = DbapiConnection, DbapiCursor  # PEP 249 calls them so
apilevel = "2.0"
threadsafety = 2  # threads may share the module and connections
paramstyle = "qmark"

__all__ = [
    "BINARY",
    "DATETIME",
    "NUMBER",
    "ROWID",
    "STRING",
    "Binary",
    "Connection",
    "Cursor",
    "DataError",
    "DatabaseError",
    "Date",
    "DateFromTicks",
    "Error",
    "IntegrityError",
    "InterfaceError",
    "InternalError",
    "NotSupportedError",
    "OperationalError",
    "ProgrammingError",
    "Time",
    "TimeFromTicks",
    "Timestamp",
    "TimestampFromTicks",
    "Warning",
    "apilevel",
    "connect",
    "paramstyle",
    "threadsafety",
]
