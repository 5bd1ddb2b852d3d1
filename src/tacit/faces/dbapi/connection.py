"""A connection: one analyst's door to one dataset, beside the data or at a server."""

from __future__ import annotations

from pathlib import Path
from typing import Self

from tacit.core import Number
from tacit.faces.database import Database, open_database
from tacit.faces.dbapi import faults
from tacit.faces.dbapi.cursor import DbapiCursor
from tacit.policy import Policy
from tacit.sql import Parameters


class DbapiConnection:
    """Made by `connect`. What was charged stays charged: a rollback gives nothing back."""

    Warning = faults.Warning
    Error = faults.Error
    InterfaceError = faults.InterfaceError
    DatabaseError = faults.DatabaseError
    DataError = faults.DataError
    OperationalError = faults.OperationalError
    IntegrityError = faults.IntegrityError
    InternalError = faults.InternalError
    ProgrammingError = faults.ProgrammingError
    NotSupportedError = faults.NotSupportedError

    def __init__(self, database: Database) -> None:
        self.database = database
        self.closed = False

    def cursor(self) -> DbapiCursor:
        """A new cursor, which has asked nothing yet."""
        self._check_open()
        return DbapiCursor(self)

    def execute(self, operation: str, parameters: Parameters = ()) -> DbapiCursor:
        """A cursor that has asked."""
        return self.cursor().execute(operation, parameters)

    def commit(self) -> None:
        """Nothing to do: what is charged is on record before it is answered."""
        self._check_open()

    def rollback(self) -> None:
        """Nothing is given back."""
        self._check_open()

    def close(self) -> None:
        """Let go of the data, or of the server."""
        if not self.closed:
            self.closed = True
            self.database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _check_open(self) -> None:
        if self.closed:
            raise faults.InterfaceError("the connection is closed")


def connect(
    address: Policy | Path | str,
    *,
    analyst: str | None = None,
    token: str | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    timeout: float | None = None,
    ca: Path | str | None = None,
    fingerprint: str | None = None,
) -> DbapiConnection:
    """As `tacit.open`: a policy's file and an analyst, or a server's address and a token.

    `epsilon` is what a plain SELECT costs; without it, and without a price in the policy, only DP-SELECT is answered.
    """
    with faults.told():
        return DbapiConnection(
            open_database(
                address,
                analyst=analyst,
                token=token,
                default_epsilon=epsilon,
                default_delta=delta,
                timeout=timeout,
                ca=ca,
                fingerprint=fingerprint,
            )
        )
