"""One state of the data for all the statements of a question."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol

from tacit.engines.exact import Exact


class State(Protocol):
    """What a plan reads from: an engine, or one state of its data."""

    @property
    def dialect(self) -> str:
        """What sqlglot calls the SQL it speaks."""

    def execute(self, sql: str) -> Exact:
        """Run one generated SELECT; see `Engine`."""


def one_state(engine: State) -> AbstractContextManager[State]:
    """One state of an engine's data, if it can tell one from another: if it has a `snapshot`, until that is left.

    DuckDB needs none: while it is open, nobody can write to its file. Of Parquet, CSV and JSON files, and of Spark's
    tables, there is none to be had.
    """
    snapshot: Callable[[], AbstractContextManager[State]] | None = getattr(engine, "snapshot", None)
    return nullcontext(engine) if snapshot is None else snapshot()
