"""A question's beginning that the curator has written once: a subquery with a name."""

from __future__ import annotations

from dataclasses import dataclass

from tacit.policy.reading.names import table_name
from tacit.policy.reading.readers import hold, optional, text


@dataclass(frozen=True, slots=True, init=False)
class ViewPolicy:
    """A named SELECT over the policy's tables. Analysts may read from it as from a subquery; it holds no rows."""

    name: str
    query: str
    description: str | None

    def __init__(self, name: str, query: str, *, description: str | None = None) -> None:
        path = (table_name(name, (name,)),)
        hold(
            self, path, {"query": text, "description": optional(text)}, name=name, query=query, description=description
        )
