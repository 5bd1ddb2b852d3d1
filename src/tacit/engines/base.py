"""What every engine offers: generated SQL in, exact columns out."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

from tacit.engines.exact import Exact
from tacit.errors import InvalidParameter
from tacit.policy import LimitsPolicy, Schema


class Engine(Protocol):
    """One opened source. Safe to use from many threads at once; after a fork, open another."""

    @property
    def dialect(self) -> str:
        """What sqlglot calls the SQL this engine speaks."""

    def schema(self) -> Schema:
        """The policy's tables and their columns, with the engine's own names of types. Touches no rows."""

    def execute(self, sql: str) -> Exact:
        """Run one generated SELECT in a snapshot of its own. Whatever goes wrong, the error is `unanswered()`."""

    def interrupt(self) -> None:
        """Stop every question that is running, from any thread; each fails as any other failure does."""

    def close(self) -> None:
        """Give back what the engine holds. Closing twice is no error."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What one engine may use. Chosen by the curator before any question, so a limit tells nothing by being there."""

    threads: int | None = None
    memory: str | None = None  # as the engine writes it: "4GB"
    timeout: float | None = None  # seconds for one question

    def __post_init__(self) -> None:
        if self.threads is not None and self.threads < 1:
            raise InvalidParameter(f"an engine needs at least one thread: got {self.threads}")
        if self.timeout is not None and not (math.isfinite(self.timeout) and self.timeout >= 0.001):
            raise InvalidParameter(f"a timeout must be a millisecond or more: got {self.timeout}")


UNLIMITED = Limits()


def limits_of(declared: LimitsPolicy, *, timeout: float | None = None) -> Limits:
    """What the policy allows; of the time, no more than `timeout` seconds where somebody is in a hurry."""
    if timeout is not None and not timeout <= declared.seconds:  # NaN is not below anything either
        raise InvalidParameter(
            f"the timeout is above what the policy allows: {declared.seconds:g} seconds",
            hint="leave it out, or ask the curator for a longer one in [limits]",
        )
    return Limits(declared.threads, declared.memory, declared.seconds if timeout is None else timeout)
