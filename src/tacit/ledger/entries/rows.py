"""What the book asks of a database, whichever it is: text with `?` for values in, rows with named fields out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from typing import Any, Protocol


class Row(Protocol):
    """A row whose fields go by their names."""

    def keys(self) -> Iterable[str]:
        """The names of the fields."""
        ...

    def __getitem__(self, name: str, /) -> Any:
        """The value of the field of that name."""
        ...


class Rows(Protocol):
    """The rows that a statement returned."""

    def fetchone(self) -> Any:
        """The next row, or None."""
        ...

    def __iter__(self) -> Iterator[Any]:
        """The rows that are left."""
        ...


class Connection(Protocol):
    """A connection to the ledger's database, inside of one transaction."""

    @property
    def total_changes(self) -> int:
        """How many rows were written over it so far."""
        ...

    def execute(self, sql: str, values: Any = (), /) -> Rows:
        """Run one statement."""
        ...


class Store(Protocol):
    """One process's hold on a ledger."""

    def transaction(self) -> AbstractContextManager[Connection]:
        """Write, alone. When it ends without an exception, what was written is durable."""
        ...

    def snapshot(self) -> AbstractContextManager[Connection]:
        """Read one state of the ledger."""
        ...

    def close(self) -> None:
        """Let go of the ledger; nothing is written after that."""
        ...
