"""One generated query: its tree, and its text for each engine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from sqlglot import exp

from tacit.sql.emitting.dialects import emit
from tacit.sql.expressions.names.printing import CANONICAL, text_of


@dataclass(frozen=True, slots=True)
class Statement:
    """One generated query. `canonical` is its text in one dialect, by which plans are compared and hashed.

    `settled` is the same query with its ties settled: it runs instead where two hashes of one unit turn out equal,
    which `ties` counts. So the result is always that of `settled`, and nearly always as fast as this one. It is written
    by `settle`, and hardly ever needed.
    """

    tree: exp.Select
    columns: tuple[str, ...]
    settle: Callable[[], Statement] | None = field(default=None, repr=False, compare=False)
    canonical: str = field(init=False)
    _texts: dict[str, str] = field(default_factory=dict, init=False, repr=False, compare=False)  # by dialect, each once

    def __post_init__(self) -> None:
        object.__setattr__(self, "canonical", text_of(self.tree))

    @property
    def settled(self) -> Statement | None:
        """The query without ties; None where there can be none."""
        return None if self.settle is None else self.settle()

    def sql(self, dialect: str, *, pretty: bool = False) -> str:
        """The text an engine runs."""
        if dialect == CANONICAL and not pretty:
            return self.canonical
        if pretty:
            return emit(self.tree, dialect, pretty=True)
        if dialect not in self._texts:
            self._texts[dialect] = emit(self.tree, dialect)
        return self._texts[dialect]
