"""PostgreSQL's lexical rules: one message's text into statements, each a list of tokens."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeVar, cast

from tacit.faces.server.wire.faults import WireFault

T = TypeVar("T")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_DEPTH = {"(": 1, ")": -1}
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{1,2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-7]{1,3}|.)", re.DOTALL)


class Lexeme(Enum):
    """The kinds of tokens that PostgreSQL's language has."""

    WORD = "word"
    QUOTED = "quoted identifier"
    STRING = "string"
    NUMBER = "number"
    PARAMETER = "parameter"
    SIGN = "sign"


@dataclass(frozen=True, slots=True)
class Token:
    """A token, where it stands, and what it means: a word in small letters, a string without its quotes."""

    kind: Lexeme
    value: str
    start: int
    end: int

    def says(self, *words: str) -> bool:
        """Whether it is one of these bare words or signs."""
        return self.kind in (Lexeme.WORD, Lexeme.SIGN) and self.value in words

    @property
    def is_name(self) -> bool:
        """Whether it may be an identifier."""
        return self.kind in (Lexeme.WORD, Lexeme.QUOTED)


@dataclass(frozen=True, slots=True)
class Lexed:
    """One statement: the text of the whole message, and the statement's own tokens in it."""

    whole: str
    tokens: tuple[Token, ...]
    _derived: dict[Hashable, object] = field(default_factory=dict, init=False, repr=False, compare=False)  # by `once`

    def once(self, name: Hashable, derive: Callable[[], T]) -> T:
        """What `derive` gives, worked out once: it follows from the statement's words alone."""
        if name not in self._derived:
            self._derived[name] = derive()
        return cast("T", self._derived[name])

    @property
    def start(self) -> int:
        """Where it begins in the message."""
        return self.tokens[0].start if self.tokens else 0

    @property
    def text(self) -> str:
        """The statement as it was written."""
        return self.whole[self.tokens[0].start : self.tokens[-1].end] if self.tokens else ""

    def word(self, index: int) -> str:
        """The bare word at an index; empty where there is none."""
        within = -len(self.tokens) <= index < len(self.tokens)
        return self.tokens[index].value if within and self.tokens[index].kind is Lexeme.WORD else ""

    def after(self, index: int) -> Lexed:
        """The statement from the token at `index` on."""
        return Lexed(self.whole, self.tokens[index:])

    def before(self, index: int) -> Lexed:
        """The statement up to the token at `index`."""
        return Lexed(self.whole, self.tokens[:index])


_LEXEMES = re.compile(
    r"""
    (?P<space>\s+ | --[^\n\r]*)
  | (?P<comment>/\*)
  | (?P<escaped>[eE]'[^'\\]*(?:(?:''|\\.)[^'\\]*)*')
  | (?P<string>(?:[bBxXnN]|[uU]&)?'[^']*(?:''[^']*)*')
  | (?P<quoted>(?:[uU]&)?"[^"]*(?:""[^"]*)*")
  | (?P<dollar>\$(?:[^\W\d]\w*)?\$)
  | (?P<parameter>\$\d+)
  | (?P<number>(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)
  | (?P<word>[^\W\d][\w$]*)
  | (?P<sign>::|<=|>=|<>|!=|\|\||:=|.)
    """,
    re.VERBOSE | re.DOTALL,
)


def statements(text: str) -> list[Lexed]:
    """The statements of one message, without those that are empty. Raises WireFault where a quote is left open."""
    lexed: list[Lexed] = []
    tokens: list[Token] = []
    depth = 0
    for token in _tokens(text):
        sign = token.value if token.kind is Lexeme.SIGN else ""
        depth += _DEPTH.get(sign, 0)
        if sign == ";" and depth <= 0:
            lexed += [Lexed(text, tuple(tokens))] if tokens else []
            tokens, depth = [], 0
        else:
            tokens.append(token)
    return [*lexed, Lexed(text, tuple(tokens))] if tokens else lexed


def _tokens(text: str) -> list[Token]:
    tokens: list[Token] = []
    at = 0
    while at < len(text):
        match = _LEXEMES.match(text, at)
        if match is None:
            raise _open(at)
        if match["comment"] is not None:
            at = _comment_end(text, at)
            continue
        token = _dollar_string(text, match) if match["dollar"] is not None else None
        if match["space"] is None:
            token = token or _token(match)
            tokens.append(token)
        at = match.end() if token is None else token.end
    return tokens


def _dollar_string(text: str, opening: re.Match[str]) -> Token:
    end = text.find(opening[0], opening.end())
    if end < 0:
        raise _open(opening.start())
    return Token(Lexeme.STRING, text[opening.end() : end], opening.start(), end + len(opening[0]))


def _token(match: re.Match[str]) -> Token:
    written, start, end = match[0], match.start(), match.end()
    if match["word"] is not None:
        return Token(Lexeme.WORD, written.lower(), start, end)
    if match["escaped"] is not None:
        return Token(Lexeme.STRING, _unescaped(written[2:-1]), start, end)
    if match["string"] is not None:
        return Token(Lexeme.STRING, written[written.index("'") + 1 : -1].replace("''", "'"), start, end)
    if match["quoted"] is not None:
        return Token(Lexeme.QUOTED, written[written.index('"') + 1 : -1].replace('""', '"'), start, end)
    if match["parameter"] is not None or match["number"] is not None:
        kind = Lexeme.NUMBER if match["parameter"] is None else Lexeme.PARAMETER
        return Token(kind, written.lstrip("$"), start, end)
    if written in "'\"":
        raise _open(start)
    return Token(Lexeme.SIGN, written, start, end)


def _open(at: int) -> WireFault:
    return WireFault("42601", "unterminated quoted string", position=at + 1)


def _comment_end(text: str, start: int) -> int:
    """Where a comment ends, which may hold others."""
    depth, at = 0, start
    for mark in re.finditer(r"/\*|\*/", text[start:]):
        depth += 1 if mark[0] == "/*" else -1
        at = start + mark.end()
        if depth == 0:
            return at
    raise WireFault("42601", "unterminated /* comment", position=start + 1)


def _unescaped(written: str) -> str:
    def meant(match: re.Match[str]) -> str:
        code = match[1]
        if code[0] in "xuU":
            return chr(int(code[1:], 16)) if len(code) > 1 and int(code[1:], 16) < 0x110000 else code
        if code[0] in "01234567":
            return chr(int(code, 8) % 256)
        return _ESCAPES.get(code, code)

    return _ESCAPE.sub(meant, written.replace("''", "'"))
