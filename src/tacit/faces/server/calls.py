"""What is asked of a curator, as a value: it may be done in this process or in another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from tacit.curator import Curator

Method = Literal["ask", "batch", "explain", "explain_batch", "given"]


@dataclass(frozen=True, slots=True)
class Call:
    """A method of the curator and what it is given."""

    method: Method
    arguments: tuple[Any, ...]
    options: Mapping[str, Any] = field(default_factory=dict)

    def on(self, curator: Curator) -> Any:
        """What it comes to."""
        return getattr(curator, self.method)(*self.arguments, **self.options)
