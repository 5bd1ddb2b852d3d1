"""Values and texts as they are typed on a command line."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path

from tacit.core import rational
from tacit.errors import InvalidParameter

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_WORDS: dict[str, bool | None] = {"true": True, "false": False, "null": None}


def typed_value(text: str) -> object:
    """What a value for `?` means: a number, true, false or null if it reads as one, else text. So is '30' in quotes."""
    if len(text) >= 2 and text[0] == text[-1] == "'":
        return text[1:-1].replace("''", "'")
    if _NUMBER.fullmatch(text):
        number = rational(text, "the value")
        return int(number) if number.denominator == 1 else number
    return _WORDS.get(text.lower(), text)


def typed_values(texts: Sequence[str]) -> list[object]:
    """The values of all `?`, in the order in which they were given; see `typed_value`."""
    return [typed_value(text) for text in texts]


def sql_text(typed: str | None, file: Path | None) -> str:
    """The question: as typed, from a file, or from standard input where neither is given (or `-`)."""
    if typed is not None and file is not None:
        raise InvalidParameter("a question is typed and a file is named: give one of them")
    if file is not None and str(file) != "-":
        return _read(file)
    if typed is not None and typed != "-":
        return typed
    if sys.stdin.isatty():
        raise InvalidParameter(
            "there is no question", hint='type it, as in "DP-SELECT 0.5 COUNT(*) FROM visits", or name a file with -f'
        )
    return sys.stdin.read()


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError):
        raise InvalidParameter(f"{file.name} cannot be read: there is no such file, or it is not UTF-8 text") from None
