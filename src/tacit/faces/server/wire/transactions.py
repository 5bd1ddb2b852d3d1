"""Transactions that are real to the client, and give back no budget: there is nothing else to undo but settings."""

from __future__ import annotations

from dataclasses import dataclass, field

from tacit.faces.server.wire.faults import WireFault
from tacit.faces.server.wire.language.lexer import Lexed

_ENDING = {"commit", "end", "rollback", "abort"}


@dataclass(slots=True)
class Transaction:
    """Where a connection stands: outside (I), inside (T), or inside after an error (E)."""

    status: str = "I"
    savepoints: list[tuple[str, dict[str, str]]] = field(default_factory=list)  # and the settings when they were set
    before: dict[str, str] | None = None  # the settings when it began
    local: dict[str, str | None] = field(default_factory=dict)  # what settings were before SET LOCAL; None: not set
    implied: bool = False  # several statements in one message are a transaction

    @property
    def is_open(self) -> bool:
        """Whether a block was begun."""
        return self.status != "I"

    def check(self, first: str, statement: Lexed) -> None:
        """After an error only the end of the transaction is heard, or the way back to a savepoint."""
        if self.status == "E" and first not in _ENDING and statement.tokens:
            raise WireFault("25P02", "current transaction is aborted, commands ignored until end of transaction block")

    def begin(self, settings: dict[str, str]) -> None:
        """Begin a block, and remember the settings it began with; inside of one nothing changes."""
        if self.status == "I":
            self.status, self.before = "T", dict(settings)

    def fail(self) -> None:
        """An error: a block waits for its end."""
        if self.status == "T":
            self.status = "E"

    def end(self) -> None:
        """End the block, and forget its savepoints and settings."""
        self.status, self.savepoints, self.before, self.local = "I", [], None, {}

    @property
    def has_end(self) -> bool:
        """Whether what runs now is part of a transaction of several statements: a block, or one message of them."""
        return self.is_open or self.implied

    def without_local(self, settings: dict[str, str]) -> dict[str, str]:
        """The settings, with those of SET LOCAL as they were before."""
        kept = {name: value for name, value in settings.items() if name not in self.local}
        return kept | {name: value for name, value in self.local.items() if value is not None}

    def need(self, what: str) -> None:
        """Some statements are for blocks only."""
        if not self.has_end:
            raise WireFault("25P01", f"{what} can only be used in transaction blocks")

    def savepoint(self, name: str) -> int:
        """The index of a savepoint, the newest of that name."""
        for index in range(len(self.savepoints) - 1, -1, -1):
            if self.savepoints[index][0] == name:
                return index
        raise WireFault("3B001", f'savepoint "{name[:60]}" does not exist')
