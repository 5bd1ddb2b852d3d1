"""COPY (question) TO STDOUT: an answer as a stream, in text, CSV or binary."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tacit.faces.server.wire.faults import WireFault
from tacit.faces.server.wire.language.lexer import Lexed, Lexeme, Token
from tacit.faces.server.wire.outcome import Outcome, message
from tacit.faces.server.wire.values.codecs import encode

_SIGNATURE = b"PGCOPY\n\xff\r\n\0" + struct.pack("!ii", 0, 0)
_ESCAPED = {"\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v"}
_TRUE = {"true", "on", "1", ""}


@dataclass(frozen=True, slots=True)
class CopyOptions:
    """How a copy is written."""

    form: str = "text"
    delimiter: str = "\t"
    null: str = "\\N"
    quote: str = '"'
    header: bool = False


@dataclass(frozen=True, slots=True)
class Copied:
    """What is to be copied, and how."""

    query: Lexed
    options: CopyOptions


def read_copy(statement: Lexed) -> Copied:
    """The question in COPY (…) TO STDOUT. Raises WireFault for any other copy."""
    tokens = statement.tokens
    end = _closing(tokens)
    if end is None:
        raise WireFault(
            "42501", "COPY of a table is refused: only answers leave", hint="COPY (DP-SELECT 0.5 …) TO STDOUT"
        )
    if not (tokens[end + 1 : end + 2] and tokens[end + 1].says("to")) or statement.word(end + 2) != "stdout":
        raise WireFault("42501", "COPY is refused but to STDOUT", hint="COPY (DP-SELECT 0.5 …) TO STDOUT")
    return Copied(statement.before(end).after(2), _options(tokens[end + 3 :]))


def _closing(tokens: Sequence[Token]) -> int | None:
    """The index of the parenthesis that ends the question; None if there is none."""
    if len(tokens) < 2 or not tokens[1].says("("):
        return None
    depth = 0
    for index, token in enumerate(tokens):
        depth += 1 if token.says("(") else (-1 if token.says(")") else 0)
        if token.says(")") and depth == 0:
            return index
    return None


def _options(tokens: Sequence[Token]) -> CopyOptions:
    """Options in parentheses, or in the older form without them."""
    said: dict[str, str] = {}
    name = ""
    for token in tokens:
        if token.says("with", "(", ")", ",", "as"):
            name = "" if token.says(",") else name
        elif token.kind is Lexeme.WORD and token.value in {"binary", "csv", "text"} and name in {"", "format"}:
            said["format"], name = token.value, ""
        elif token.kind is Lexeme.WORD and (not name or token.value in _KNOWN):
            name = token.value
            said[name] = ""
        else:
            said[name] = token.value
    unknown = said.keys() - _KNOWN
    if unknown or said.get("format", "text") not in {"text", "csv", "binary"}:
        raise WireFault("42601", f'COPY option "{min(unknown or {"format"})[:40]}" is not known')
    form = said.get("format", "text")
    default = ("\t", "\\N") if form == "text" else (",", "")
    header = said.get("header", "false").lower() in _TRUE
    return CopyOptions(
        form, said.get("delimiter", default[0]), said.get("null", default[1]), said.get("quote", '"'), header
    )


_KNOWN = {"format", "delimiter", "null", "header", "quote", "escape", "force_quote", "encoding"}


def copied(answer: Outcome, options: CopyOptions) -> Outcome:
    """The answer as a copy: CopyOutResponse, its data, and the end of it."""
    columns = answer.columns or ()
    binary = options.form == "binary"
    head = struct.pack("!bH", int(binary), len(columns)) + struct.pack("!H", int(binary)) * len(columns)
    data = [message(b"d", line) for line in (_binary(answer) if binary else _lines(answer, options))]
    parts = (message(b"H", head), *data, message(b"c", b""))
    return Outcome(f"COPY {len(answer)}", notices=answer.notices, copy=parts)


def _binary(answer: Outcome) -> Iterator[bytes]:
    head = _SIGNATURE  # it travels with the first row, as PostgreSQL sends it: clients count on that
    types = [column.oid for column in answer.columns or ()]
    for row in answer.cells:
        cells = [encode(value, oid, binary=True) for value, oid in zip(row, types, strict=True)]
        parts = (b"\xff\xff\xff\xff" if cell is None else struct.pack("!i", len(cell)) + cell for cell in cells)
        yield head + struct.pack("!h", len(cells)) + b"".join(parts)
        head = b""
    yield head + struct.pack("!h", -1)


def _lines(answer: Outcome, options: CopyOptions) -> Iterator[bytes]:
    columns = answer.columns or ()
    if options.header:
        yield (options.delimiter.join(_written(column.name, options) for column in columns) + "\n").encode()
    for row in answer.cells:
        cells = (encode(value, column.oid, binary=False) for value, column in zip(row, columns, strict=True))
        shown = (options.null if cell is None else _written(cell.decode(), options) for cell in cells)
        yield (options.delimiter.join(shown) + "\n").encode()


def _written(cell: str, options: CopyOptions) -> str:
    if options.form == "text":
        escaped = "".join(_ESCAPED.get(letter, letter) for letter in cell)
        return (
            escaped if options.delimiter in _ESCAPED else escaped.replace(options.delimiter, "\\" + options.delimiter)
        )
    special = (options.delimiter, options.quote, "\n", "\r")
    if cell == options.null or any(mark in cell for mark in special):
        return options.quote + cell.replace(options.quote, options.quote * 2) + options.quote
    return cell
