"""What is asked of a curator, as a value: it may be done in this process or in another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from tacit.curator import Curator

Method = Literal["ask", "batch", "explain", "explain_batch", "given"]


class Colleagues(Protocol):
    """Whoever answers calls beside this process."""

    @property
    def alive(self) -> int:
        """How many of them there are now."""

    @property
    def restarts(self) -> int:
        """How many died and were started again."""

    def do(self, call: CuratorCall) -> Any:
        """Run a call, and return what the curator's method returns, or raise what it raises."""

    def close(self) -> None:
        """End all processes."""


@dataclass(frozen=True, slots=True)
class CuratorCall:
    """A method of the curator and what it is given."""

    method: Method
    arguments: tuple[Any, ...]
    options: Mapping[str, Any] = field(default_factory=dict)

    def on(self, curator: Curator) -> Any:
        """What the method of this curator returns."""
        return getattr(curator, self.method)(*self.arguments, **self.options)
