"""The neighbour relation: what it means for two databases to differ in one privacy unit."""

from __future__ import annotations

from enum import Enum


class Adjacency(Enum):
    """Which databases count as neighbours. Every sensitivity is stated with one of these."""

    ADD_REMOVE = "add/remove"
    REPLACE = "replace"

    @property
    def steps(self) -> int:
        """How many additions or removals one neighbouring step amounts to."""
        return 1 if self is Adjacency.ADD_REMOVE else 2

    def __str__(self) -> str:
        return self.value
