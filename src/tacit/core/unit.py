"""Whose presence is hidden."""

from __future__ import annotations

from dataclasses import dataclass

from tacit.core.adjacency import Adjacency


@dataclass(frozen=True, slots=True)
class PrivacyUnit:
    """One person, household or row. `column` names the identifier; None means that each row is a unit."""

    column: str | None = None
    adjacency: Adjacency = Adjacency.ADD_REMOVE

    @property
    def is_row(self) -> bool:
        """Whether each row is a unit of its own."""
        return self.column is None

    def __str__(self) -> str:
        what = "row" if self.column is None else self.column
        return f"one {what} ({self.adjacency})"
