"""Whether the data are still what they were: a mark that changes when they do, as far as an engine can tell cheaply."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

from tacit.engines.delta import delta_tables, version
from tacit.errors import EngineError


@dataclass(frozen=True, slots=True)
class DataMark:
    """A state of the data: the same text for the same state, none where it is not known. It never says what changed.

    `at` is when they last changed, in seconds since 1970, where that is known.
    """

    text: str
    at: float | None = None


class Watched(Protocol):
    """An engine that notices when its data change."""

    def mark(self) -> DataMark:
        """The state of the data now. Raises EngineError where tables are no longer those that were opened."""


def mark_of(engine: object) -> DataMark | None:
    """The state of an engine's data; None where it cannot tell one from another."""
    watched: Callable[[], DataMark] | None = getattr(engine, "mark", None)
    mark = None if watched is None else watched()
    return mark if mark is not None and mark.text else None


def changed_tables() -> EngineError:
    """What a question is told whose tables are not those that were opened any more. Nothing was charged."""
    return EngineError(
        "the source has other columns than when it was opened", hint="open it again; nothing was charged"
    )


def mark_of_files(paths: Iterable[str], *, directories: Iterable[str] = ()) -> DataMark:
    """By names, sizes and times. A copy that keeps its time is the same; a file that is gone differs from any.

    A Delta table that they belong to, or that is one of the `directories`, has a version as well: it changes where rows
    are deleted and no file is.
    """
    facts: list[tuple[str, int, int]] = []
    newest, listed = 0.0, tuple(paths)
    for path in listed:
        try:
            status = os.stat(path)
        except OSError:
            facts.append((os.path.basename(path), -1, 0))
            continue
        facts.append((os.path.basename(path), status.st_size, status.st_mtime_ns))
        newest = max(newest, status.st_mtime)
    for table in delta_tables((*listed, *directories)):
        latest, at = version(table)
        facts.append((os.path.basename(table), latest, -1))
        newest = max(newest, at)
    return DataMark(digest(facts), newest or None)


def digest(facts: object) -> str:
    """A short text for these facts."""
    return hashlib.sha256(repr(facts).encode(errors="replace")).hexdigest()[:24]
