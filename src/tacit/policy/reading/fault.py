"""A policy error that knows which key is wrong, so that whoever has the file can name the line."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import TypeVar

from tacit.errors import PolicyError

KeyPath = tuple[str | int, ...]  # ("tables", "visits", "columns", "amount", "domain", 3)
T = TypeVar("T")

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_SHOWN = 60  # characters of a name or value that a message repeats


class Fault(PolicyError):
    """What is wrong with one key. The reason is a predicate: the key's name is put before it.

    `rooted` says that the path starts at the top of the policy; a column made in Python knows only its own name.
    `line` is there where the text itself is at fault and no key can be named.
    """

    def __init__(
        self, reason: str, *, path: KeyPath = (), hint: str = "", rooted: bool = False, line: int | None = None
    ) -> None:
        super().__init__(place(path, reason, rooted=rooted), hint=hint)
        self.reason = reason
        self.path = path
        self.rooted = rooted
        self.line = line

    def under(self, *prefix: str) -> Fault:
        """The same fault, its path continued up to the top of the policy."""
        path = self.path if self.rooted else (*prefix, *self.path)
        return Fault(self.reason, path=path, hint=self.hint, rooted=True)

    def __reduce__(self) -> tuple[object, ...]:
        return (_plain, (self.message, self.hint))


def _plain(message: str, hint: str) -> PolicyError:
    return PolicyError(message, hint=hint)


def gathered(make: Callable[[], T], faults: list[Fault], *, under: tuple[str, ...]) -> T | None:
    """What `make` makes; or None, and its fault put with the others, so that one reading finds them all."""
    try:
        return make()
    except Fault as fault:
        faults.append(fault.under(*under))
        return None


def place(path: KeyPath, reason: str, *, rooted: bool) -> str:
    """`[tables.visits.columns] amount: lower 500 is not below upper 0`."""
    depth = _header_depth(path) if rooted else 0
    header = f"[{'.'.join(key_text(key) for key in path[:depth])}]" if depth else ""
    subject = key_text(path[depth]) if len(path) > depth else ""
    deeper = "".join(f" value {key + 1}" if isinstance(key, int) else f" {key_text(key)}" for key in path[depth + 1 :])
    where = " ".join(part for part in (header, subject) if part)
    return f"{where}:{deeper} {reason}" if where else reason


def _header_depth(path: KeyPath) -> int:
    """How many leading keys stand in the brackets of the table the path lies in."""
    if path[:1] == ("tables",):
        return 3 if path[2:3] == ("columns",) else min(2, len(path))
    if path[:1] in {("analysts",), ("groups",), ("views",)}:
        return min(2, len(path))
    return 1 if path[:1] in {("dataset",), ("budget",)} else 0


def key_text(key: str | int) -> str:
    """A key as TOML writes it, shortened: bare where that is allowed."""
    text = str(key)
    if _BARE.fullmatch(text) and len(text) <= _SHOWN:
        return text
    return json.dumps(_cut(text), ensure_ascii=not text.isprintable())


def shown(value: object) -> str:
    """A value as a message repeats it: text in quotes, never long, never a control character."""
    return repr(_cut(value)) if isinstance(value, str) else _cut(str(value))


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
