"""Regular expressions: read, bounded and written anew by us, so that what runs is an automaton of a known size.

A pattern that says what stands at fixed places becomes comparisons of those places, which every engine makes. Any other
is left to DuckDB's automaton, whose work on a text is linear whatever the text; engines that backtrack take longer for
some texts than for others, without bound, and so would tell of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from tacit.errors import QueryRefused

MAX_PATTERN = 500  # characters
MAX_TIMES = 100  # in {m,n}
MAX_STATES = 2_000  # once repetitions are written out
MAX_STEPS = 200_000  # of the automaton's program, in which every range of letters is several
MAX_NESTED = 1_000  # times, of repetitions within each other: DuckDB's automaton has no more
MAX_LISTED = 70  # characters of a class that is listed in a comparison
_DEEPEST = 20
_LAST = 0x10FFFF
_CLASSES = {
    "d": ((48, 57),),
    "w": ((48, 57), (65, 90), (95, 95), (97, 122)),
    "s": ((9, 10), (12, 13), (32, 32)),
}
_NAMED = {
    "digit": _CLASSES["d"],
    "alpha": ((65, 90), (97, 122)),
    "upper": ((65, 90),),
    "lower": ((97, 122),),
    "alnum": ((48, 57), (65, 90), (97, 122)),
    "space": ((9, 13), (32, 32)),
    "punct": ((33, 47), (58, 64), (91, 96), (123, 126)),
}
_ESCAPED = {"n": 10, "t": 9, "r": 13}
Ranges = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Letters:
    """One character out of some; with `but`, out of all others."""

    ranges: Ranges
    but: bool = False

    def listed(self) -> list[str] | None:
        """Its characters, or those it leaves out; None where they are too many to list."""
        if sum(high - low + 1 for low, high in self.ranges) > MAX_LISTED:
            return None
        return [chr(code) for low, high in self.ranges for code in range(low, high + 1)]


@dataclass(frozen=True, slots=True)
class Anchor:
    """The start of the text, or its end."""

    start: bool


@dataclass(frozen=True)
class InTurn:
    """A node whose parts match one after another."""

    parts: tuple[Node, ...]


@dataclass(frozen=True)
class Either:
    """A node that matches in any of several ways: a|b."""

    ways: tuple[Node, ...]


@dataclass(frozen=True)
class Repeat:
    """A part so many times; `most` None is without end."""

    part: Node
    least: int
    most: int | None
    lazy: bool = False  # as few as will do


@dataclass(frozen=True)
class Group:
    """A part that is taken out, or put in again, by its number."""

    part: Node


Node = Letters | Anchor | InTurn | Either | Repeat | Group
ANY = Letters(((10, 10),), but=True)  # the dot: any character but the end of a line
EVERY = Letters((), but=True)
_SIGNS: dict[str, Node] = {"^": Anchor(True), "$": Anchor(False), ".": ANY}
_SIMILAR: dict[str, Node] = {"%": Repeat(EVERY, 0, None), "_": EVERY}


@dataclass(frozen=True)
class Pattern:
    """A regular expression as a tree of nodes."""

    node: Node

    @cached_property
    def states(self) -> int:
        """How many states its automaton has, about."""
        return _written_out(self.node, lambda letters: 1)


def read(text: str, *, blind: bool = False, whole: bool = False, parts: bool = False) -> Pattern:
    """The pattern behind a text. `blind` takes capital for small letters; `whole` holds for the whole text only.

    `parts` keeps what tells one match from another: groups, and repetitions of as few as will do.
    """
    if text.startswith("(?i)"):
        text, blind = text[4:], True
    return _bounded(text, _Reader(text, blind=blind, wild=False, parts=parts).all(), whole=whole)


def groups(node: Node) -> int:
    """How many groups a pattern has."""
    if isinstance(node, (Letters, Anchor)):
        return 0
    if isinstance(node, Group):
        return 1 + groups(node.part)
    if isinstance(node, Repeat):
        return groups(node.part)
    return sum(map(groups, node.parts if isinstance(node, InTurn) else node.ways))


def read_similar(text: str) -> Pattern:
    """The pattern after SIMILAR TO, which holds for the whole text: % is any text and _ any character.

    With neither of them it is a regular expression, as for DuckDB: `'C(18|20).*'` is written by nobody who means dots.
    """
    wild = any(sign in text.replace("\\\\", "").replace(f"\\{sign}", "") for sign in "%_")
    return _bounded(text, _Reader(text, blind=False, wild=wild).all(), whole=True)


def _bounded(text: str, node: Node, *, whole: bool) -> Pattern:
    pattern = Pattern(InTurn((Anchor(True), node, Anchor(False))) if whole else node)
    too_long = len(text) > MAX_PATTERN or pattern.states > MAX_STATES or _written_out(node, _steps) > MAX_STEPS
    if too_long or _nested(node) > MAX_NESTED:
        raise QueryRefused(
            "a regular expression is too large: its automaton could have more than"
            f" {MAX_STATES:,} states, a part of it is repeated more than {MAX_NESTED:,} times, or it has more than"
            f" {MAX_PATTERN} characters",
            hint="repeat less, or write several conditions with OR",
        )
    return pattern


def _written_out(node: Node, size: Callable[[Letters], int]) -> int:
    """How large a pattern is once its repetitions are written out, if a character's place has a size."""
    if isinstance(node, Anchor):
        return 1
    if isinstance(node, Letters):
        return size(node)
    if isinstance(node, Group):
        return 2 + _written_out(node.part, size)
    if isinstance(node, Repeat):
        times = node.least + 1 if node.most is None else node.most
        return 1 + max(times, 1) * _written_out(node.part, size)
    parts = node.parts if isinstance(node, InTurn) else node.ways
    return 1 + sum(_written_out(part, size) for part in parts)


def _steps(letters: Letters) -> int:
    """How many steps a program needs at most to tell these letters, byte by byte."""
    return 10 + 4 * len(letters.ranges)


def _nested(node: Node) -> int:
    """How often the part of it that is repeated most often is."""
    if isinstance(node, (Letters, Anchor)):
        return 1
    if isinstance(node, Group):
        return _nested(node.part)
    if isinstance(node, Repeat):
        return max(node.least if node.most is None else node.most, 1) * _nested(node.part)
    parts = node.parts if isinstance(node, InTurn) else node.ways
    return max(map(_nested, parts), default=1)


class _Reader:
    """Reads a pattern from left to right."""

    def __init__(self, text: str, *, blind: bool, wild: bool, parts: bool = False) -> None:
        self.text, self.index, self.blind, self.wild, self.depth = text, 0, blind, wild, 0
        self.parts = parts

    def all(self) -> Node:
        node = self.either()
        if self.index < len(self.text):
            raise _unread("a parenthesis is closed that was not opened")
        return node

    def peek(self) -> str:
        return self.text[self.index : self.index + 1]

    def take(self) -> str:
        self.index += 1
        return self.text[self.index - 1 : self.index]

    def either(self) -> Node:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise _unread("it is nested too deeply")
        ways = [self.sequence()]
        while self.peek() == "|":
            self.take()
            ways.append(self.sequence())
        self.depth -= 1
        return ways[0] if len(ways) == 1 else Either(tuple(ways))

    def sequence(self) -> Node:
        parts: list[Node] = []
        while self.peek() not in ("", "|", ")"):
            parts.append(self.repeated(self.atom()))
        return parts[0] if len(parts) == 1 else InTurn(tuple(parts))

    def repeated(self, part: Node) -> Node:
        sign = self.peek()
        if sign not in ("*", "+", "?", "{") or (sign == "{" and not self.counts()):
            return part
        if isinstance(part, Anchor):
            raise _unread("what is repeated is no character")
        if sign == "{":
            least, most = self.counted()
        else:
            self.take()
            least, most = {"*": (0, None), "+": (1, None), "?": (0, 1)}[sign]
        lazy = self.peek() == "?" and not self.wild  # as few as will do: whether it matches is the same
        if lazy:
            self.take()
        if self.peek() in ("*", "+", "?") or (self.peek() == "{" and self.counts()):
            raise _unread("a repetition is repeated")
        return Repeat(part, least, most, lazy and self.parts)

    def counts(self) -> bool:
        inside, closed, _ = self.text[self.index + 1 :].partition("}")
        return bool(closed) and inside.replace(",", "", 1).isdigit() and not inside.startswith(",")

    def counted(self) -> tuple[int, int | None]:
        inside, _, _ = self.text[self.index + 1 :].partition("}")
        self.index += len(inside) + 2
        first, comma, last = inside.partition(",")
        if len(inside) > 9 or max(int(first), int(last or 0)) > MAX_TIMES or (last and int(last) < int(first)):
            raise _unread(f"a part is repeated {{m,n}} times with m above n, or above {MAX_TIMES}")
        return int(first), int(last) if last else None if comma else int(first)

    def atom(self) -> Node:
        letter = self.take()
        begun = {"(": self.group, "[": self.letters, "\\": self.escaped}.get(letter)
        if begun is not None:
            return begun()
        if letter in "*+?{":
            raise _unread("there is nothing to repeat")
        known: dict[str, Node] = _SIMILAR if self.wild else _SIGNS
        return known.get(letter) or self.one(ord(letter))

    def group(self) -> Node:
        kept = self.parts and self.peek() != "?"
        if self.peek() == "?":
            self.take()
            if self.take() != ":":
                raise _unread("only (?:…) and, at the start, (?i) may begin with (?")
        node = self.either()
        if self.take() != ")":
            raise _unread("a parenthesis is not closed")
        return Group(node) if kept else node

    def one(self, code: int) -> Letters:
        return Letters(self.folded(((code, code),)))

    def folded(self, ranges: Ranges) -> Ranges:
        """With the letters' other case, if that is to be overlooked: one character for one."""
        if not self.blind:
            return ranges
        codes = {code for low, high in ranges if high - low < 1_000 for code in range(low, high + 1)}
        others = {ord(each) for code in codes for each in (chr(code).lower(), chr(code).upper()) if len(each) == 1}
        return _united([*ranges, *((code, code) for code in others)])

    def escaped(self) -> Node:
        letter = self.take()
        if letter.lower() in _CLASSES:
            return Letters(_CLASSES[letter.lower()], but=letter.isupper())
        if letter in _ESCAPED:
            return self.one(_ESCAPED[letter])
        if not letter or letter.isalnum():
            raise _unread(f"\\{letter} is not known")
        return self.one(ord(letter))

    def letters(self) -> Node:
        but = self.peek() == "^"
        if but:
            self.take()
        ranges: list[tuple[int, int]] = []
        while True:
            letter = self.take()
            if letter == "]" and ranges:
                return Letters(self.folded(_united(ranges)), but=but)
            ranges += self.member(letter)

    def member(self, letter: str) -> Ranges:
        if not letter:
            raise _unread("a bracket is not closed")
        if letter == "[" and self.peek() == ":":
            name, closed, _ = self.text[self.index + 1 :].partition(":]")
            if not closed or name not in _NAMED:
                raise _unread("a class between [: and :] is not known")
            self.index += len(name) + 3
            return _NAMED[name]
        if letter == "\\" and self.peek().lower() in _CLASSES:
            if self.peek().isupper():
                raise _unread("a class of other characters stands in brackets")
            return _CLASSES[self.take()]
        low = self.code(letter)
        if self.peek() != "-" or self.text[self.index + 1 : self.index + 2] in ("]", ""):
            return ((low, low),)
        self.take()
        high = self.code(self.take())
        if high < low:
            raise _unread("a range in brackets ends before it begins")
        return ((low, high),)

    def code(self, letter: str) -> int:
        if letter != "\\":
            return ord(letter) if letter else -1
        escaped = self.take()
        if not escaped or (escaped.isalnum() and escaped not in _ESCAPED):
            raise _unread(f"\\{escaped} is not known in brackets")
        return _ESCAPED.get(escaped, ord(escaped))


def _united(ranges: Sequence[tuple[int, int]]) -> Ranges:
    """The same characters, in order and apart."""
    held: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if held and low <= held[-1][1] + 1:
            held[-1] = held[-1][0], max(held[-1][1], high)
        else:
            held.append((low, high))
    return tuple(held)


def _unread(why: str) -> QueryRefused:
    return QueryRefused(
        f"a regular expression cannot be read: {why}",
        hint="characters, [a-z], ., (a|b), *, +, ?, {2,5}, ^, $ and \\d are known, as in '^J4[0-7]'",
    )


# ── as an automaton ──────────────────────────────────────────────────────────────────────────────────────────────────


def written(node: Node) -> str:
    """The pattern in the words of RE2, which mean the same whatever its options are."""
    if isinstance(node, Anchor):
        return r"\A" if node.start else r"\z"
    if isinstance(node, Letters):
        return _letters(node)
    if isinstance(node, Repeat):
        most = "" if node.most is None else str(node.most)
        return f"(?:{written(node.part)}){{{node.least},{most}}}{'?' if node.lazy else ''}"
    if isinstance(node, Group):
        return f"({written(node.part)})"
    if isinstance(node, Either):
        return "(?:" + "|".join(map(written, node.ways)) + ")"
    return "".join(map(written, node.parts))


def _letters(node: Letters) -> str:
    if not node.ranges:
        return rf"[\x{{0}}-\x{{{_LAST:x}}}]"
    inside = "".join(f"{_code(low)}-{_code(high)}" if low < high else _code(low) for low, high in node.ranges)
    return f"[{'^' if node.but else ''}{inside}]"


def _code(code: int) -> str:
    letter = chr(code)
    return letter if letter.isascii() and letter.isalnum() else rf"\x{{{code:x}}}"
