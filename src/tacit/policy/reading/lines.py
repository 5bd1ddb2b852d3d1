"""On which line of a TOML file each key stands. tomllib keeps no lines, and tomlkit no positions."""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_right
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

from tacit.errors import PolicyError
from tacit.policy.reading.fault import Fault, KeyPath

MAX_DEPTH = 16  # keys in one path: tomllib needs quadratic time for a deep one
MAX_NESTING = 64  # brackets in one value

_SPACE = re.compile(r"[ \t]*")
_BLANK = re.compile(r"(?:[ \t\n]+|#[^\n]*)*")
_KEY = re.compile(r"""[A-Za-z0-9_-]+|"(?:\\.|[^"\\\n])*"|'[^'\n]*'""")
_STRING = re.compile(
    r'"""(?:\\.|[^\\])*?"""(?:"{1,2})?' + r"|'''.*?'''(?:'{1,2})?" + r'|"(?:\\.|[^"\\\n])*"' + r"|'[^'\n]*'",
    re.DOTALL,
)
_ATOM = re.compile(r"[^,\]}\n#]+")


@dataclass(frozen=True, slots=True)
class Origin:
    """The file a policy came from: its name, and the line of each key."""

    name: str
    lines: Mapping[KeyPath, int]

    def line(self, path: KeyPath) -> int | None:
        """The line of a key; of what encloses it, if the key is not there."""
        for length in range(len(path), 0, -1):
            if path[:length] in self.lines:
                return self.lines[path[:length]]
        return None

    def place(self, path: KeyPath) -> str:
        """`tacit.toml:14`, or the name alone where nothing of the path is in the file."""
        return self._at(self.line(path))

    def refusal(self, fault: Fault) -> PolicyError:
        """The fault as the curator sees it, with its line."""
        return PolicyError(f"{self._at(fault.line or self.line(fault.path))}: {fault.message}", hint=fault.hint)

    def _at(self, line: int | None) -> str:
        return self.name if line is None else f"{self.name}:{line}"


class _Stop(Exception):
    """The text is no TOML from here on; tomllib will say why."""


def key_lines(text: str) -> dict[KeyPath, int]:
    """The line of every key, from the top down to the first thing that is not TOML.

    An array's elements are keys 0, 1, …, mentioned where they stand on a line of their own. Raises a fault for keys
    or values nested so deeply that reading them would take long.
    """
    scanner = _Scanner(text.replace("\r\n", "\n"))
    with suppress(_Stop):
        scanner.document()
    return scanner.lines


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.lines: dict[KeyPath, int] = {}
        self.starts = [0, *(newline.end() for newline in re.finditer("\n", text))]
        self.tables: dict[KeyPath, int] = {}  # arrays of tables → index of the last

    def document(self) -> None:
        prefix: KeyPath = ()
        while self.skip(_BLANK) < len(self.text):
            if self.text[self.at] == "[":
                prefix = self.header()
            else:
                self.pair(prefix, depth=0)

    def header(self) -> KeyPath:
        line = self.line()
        many = self.text.startswith("[[", self.at)
        self.at += 2 if many else 1
        keys = self.keys()
        self.expect("]]" if many else "]")
        path: KeyPath = ()
        for position, key in enumerate(keys):
            path = (*path, key)
            self.lines.setdefault(path, line)
            if many and position == len(keys) - 1:
                self.tables[path] = self.tables.get(path, -1) + 1
            if path in self.tables:
                path = (*path, self.tables[path])
                self.lines.setdefault(path, line)
        # an implicit parent is where its first child is, until it has a header of its own
        self.lines[path] = line
        return path

    def pair(self, prefix: KeyPath, *, depth: int) -> None:
        line = self.line()
        path = prefix
        for key in self.keys():
            path = (*path, key)
            self.lines.setdefault(path, line)
        self.expect("=")
        self.value(path, depth=depth)

    def keys(self) -> list[str]:
        keys: list[str] = []
        while True:
            self.skip(_SPACE)
            keys.append(_unquoted(self.take(_KEY)))
            if len(keys) > MAX_DEPTH:
                raise Fault(f"nested too deeply: a path of more than {MAX_DEPTH} keys", line=self.line())
            self.skip(_SPACE)
            if not self.text.startswith(".", self.at):
                return keys
            self.at += 1

    def value(self, path: KeyPath, *, depth: int) -> None:
        self.skip(_SPACE)
        opening = self.text[self.at : self.at + 1]
        if opening in {"[", "{"} and depth >= MAX_NESTING:
            raise Fault(f"nested too deeply: more than {MAX_NESTING} brackets", line=self.line())
        if opening == "[":
            self.array(path, depth=depth + 1)
        elif opening == "{":
            self.inline(path, depth=depth + 1)
        else:
            self.take(_STRING if opening in {'"', "'"} else _ATOM)

    def array(self, path: KeyPath, *, depth: int) -> None:
        own, index = self.line(), 0
        self.at += 1
        while not self.closed("]"):
            if self.line() != own:
                self.lines[(*path, index)] = self.line()
            self.value((*path, index), depth=depth)
            index += 1
            self.comma("]")

    def inline(self, path: KeyPath, *, depth: int) -> None:
        self.at += 1
        while not self.closed("}"):
            self.pair(path, depth=depth)
            self.comma("}")

    def closed(self, bracket: str) -> bool:
        self.skip(_BLANK)
        if not self.text.startswith(bracket, self.at):
            return False
        self.at += 1
        return True

    def comma(self, bracket: str) -> None:
        self.skip(_BLANK)
        if not self.text.startswith(bracket, self.at):
            self.expect(",")

    def expect(self, mark: str) -> None:
        self.skip(_SPACE)
        if not self.text.startswith(mark, self.at):
            raise _Stop
        self.at += len(mark)

    def take(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self.text, self.at)
        if match is None:
            raise _Stop
        self.at = match.end()
        return match[0]

    def skip(self, pattern: re.Pattern[str]) -> int:
        match = pattern.match(self.text, self.at)
        self.at = match.end() if match else self.at
        return self.at

    def line(self) -> int:
        return bisect_right(self.starts, self.at)


def _unquoted(key: str) -> str:
    if key[0] not in "\"'":
        return key
    try:
        return str(tomllib.loads(f"key = {key}")["key"])
    except tomllib.TOMLDecodeError:
        raise _Stop from None
