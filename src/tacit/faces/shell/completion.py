"""Completion from the public schema and the language: nothing in it was read from a row."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from tacit.faces.catalogue import Catalogue
from tacit.faces.completions import candidates
from tacit.faces.shell.commands import NAMED

_WORD = re.compile(r"[\\\w.\-]+$")


class _Words(Completer):
    """Completes the word before the cursor, columns of the table in FROM first."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        match = _WORD.search(document.text_before_cursor)
        word = match.group() if match else ""
        if not word:
            return
        for text, kind in self._candidates(document.text):
            if text.casefold().startswith(word.casefold()) and text.casefold() != word.casefold():
                yield Completion(text, start_position=-len(word), display_meta=kind)

    def _candidates(self, text: str) -> Iterator[tuple[str, str]]:
        if text.lstrip().startswith("\\"):
            yield from ((f"\\{name}", command.short) for name, command in NAMED.items())
            yield from ((table.name, "table") for table in self._catalogue)
        named = (table.name for table in self._catalogue if _names(text, table.name))
        yield from candidates(self._catalogue, first=next(named, ""))


def _names(text: str, table: str) -> bool:
    return re.search(rf"\bfrom\s+{re.escape(table)}\b", text, re.IGNORECASE) is not None


def completer(catalogue: Catalogue) -> Completer:
    """Words of the language, tables and visible columns."""
    return _Words(catalogue)
