"""What one question may use of the machine: chosen by the curator beforehand, whatever the data hold."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta

from tacit.policy.reading.fault import Fault, KeyPath, shown
from tacit.policy.reading.readers import count, duration, hold, optional, text

TIMEOUT = timedelta(minutes=10)
_MEMORY = re.compile(r"[1-9]\d{0,5} ?(MB|GB|TB)")


@dataclass(frozen=True, slots=True, init=False)
class LimitsPolicy:
    """Time for each statement of a question; memory and threads of the engine that runs it.

    A limit that is reached is an error, and an error is a release. So limits are set where no question that is let
    through reaches them; and they promise nothing, so that they do not count for the policy's version.
    """

    timeout: timedelta
    memory: str | None
    threads: int | None

    def __init__(
        self, *, timeout: timedelta | str = TIMEOUT, memory: str | None = None, threads: int | None = None
    ) -> None:
        hold(self, (), _READERS, timeout=timeout, memory=memory, threads=threads)

    @property
    def seconds(self) -> float:
        """The timeout in seconds."""
        return self.timeout.total_seconds()


def _memory(value: object, path: KeyPath) -> str:
    said = text(value, path)
    if _MEMORY.fullmatch(said) is None:
        raise Fault(f"is not an amount of memory: {shown(said)}", path=path, hint='write it as "512MB" or "4GB"')
    return said.replace(" ", "")


_READERS = {"timeout": duration, "memory": optional(_memory), "threads": optional(count)}
