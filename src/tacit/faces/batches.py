"""The statements of a text: what stands between its semicolons."""

from __future__ import annotations

import re

_PIECES = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|/\*.*?\*/|;|.""", re.DOTALL)


def questions(text: str) -> tuple[str, ...]:
    """The statements of a text: between semicolons that stand in no quotes and no comment."""
    texts, held = [], ""
    for piece in [*_PIECES.findall(text), ";"]:
        if piece == ";":
            texts.append(held.strip())
            held = ""
        elif not piece.startswith(("--", "/*")):
            held += piece
        else:
            held += " "
    return tuple(each for each in texts if each)
