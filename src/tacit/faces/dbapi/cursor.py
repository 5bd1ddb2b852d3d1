"""A cursor: asks one question at a time, and goes over the rows of its answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NoReturn, Protocol, Self

from tacit.curator import Explanation, Release
from tacit.faces.answering import ask_or_explain
from tacit.faces.database import Database
from tacit.faces.dbapi.faults import InterfaceError, NotSupportedError, ProgrammingError, told
from tacit.sql import Parameters

Row = tuple[Any, ...]
Column = tuple[str, str | None, None, None, None, None, None]


class HoldsDoor(Protocol):
    """What a cursor needs of its connection."""

    database: Database
    closed: bool


class DbapiCursor:
    """Rows as tuples, from the first to the last. `release` has the whole answer: error bars, cost, notes, receipt."""

    arraysize = 1

    def __init__(self, connection: HoldsDoor) -> None:
        self.connection = connection
        self.release: Release | None = None
        self.description: list[Column] | None = None
        self.rowcount = -1
        self._rows: Sequence[Row] = ()
        self._at = 0
        self._closed = False

    def execute(self, operation: str, parameters: Parameters = ()) -> Self:
        """Ask, with a value for each `?` or `:name`; it is charged once. EXPLAIN gives the plan's lines, free."""
        self._check_open()
        self.release, self.description, self._rows, self._at, self.rowcount = None, None, (), 0, -1
        if not isinstance(operation, str):
            raise ProgrammingError("the operation is not a text")
        with told():
            answer = ask_or_explain(self.connection.database, operation, parameters or ())
        if isinstance(answer, Explanation):
            self._show(
                [("QUERY PLAN", "text", None, None, None, None, None)], [(line,) for line in str(answer).splitlines()]
            )
            return self
        self.release = answer
        kinds = [shape.kind for shape in answer.shapes]
        self._show(
            [(name, kind, None, None, None, None, None) for name, kind in zip(answer.columns, kinds, strict=True)],
            list(answer.rows),
        )
        return self

    def executemany(self, operation: str, seq_of_parameters: Sequence[Parameters]) -> NoReturn:
        """Refused: each would be an answer of its own, and cost as much."""
        raise NotSupportedError("a question is asked once for each execute: executemany has no answer to give")

    def fetchone(self) -> Row | None:
        """The next row; None after the last."""
        return next(iter(self.fetchmany(1)), None)

    def fetchmany(self, size: int | None = None) -> list[Row]:
        """The next rows."""
        self._check_answered()
        start, self._at = self._at, min(len(self._rows), self._at + (self.arraysize if size is None else size))
        return list(self._rows[start : self._at])

    def fetchall(self) -> list[Row]:
        """All rows that are left."""
        return self.fetchmany(len(self._rows))

    def __iter__(self) -> Iterator[Row]:
        return self

    def __next__(self) -> Row:
        row = self.fetchone()
        if row is None:
            raise StopIteration
        return row

    def close(self) -> None:
        """Forget the answer."""
        self._closed, self._rows, self.release = True, (), None

    def setinputsizes(self, sizes: object) -> None:
        """Nothing to do."""

    def setoutputsize(self, size: object, column: object = None) -> None:
        """Nothing to do."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _show(self, description: list[Column], rows: Sequence[Row]) -> None:
        self.description, self._rows, self.rowcount = description, rows, len(rows)

    def _check_open(self) -> None:
        if self._closed or self.connection.closed:
            raise InterfaceError("the cursor is closed")

    def _check_answered(self) -> None:
        self._check_open()
        if self.description is None:
            raise InterfaceError("nothing was asked yet")
