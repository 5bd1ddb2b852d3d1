"""Files of text as batches of lines: decompressed and decoded, by what the policy says of them and nothing else."""

from __future__ import annotations

import codecs
import gzip
import itertools
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import IO

from tacit.errors import EngineError
from tacit.policy import TextFormat

BATCH = 4 << 20  # bytes that are read at once; a line may be longer
UNREADABLE = "\uffff"  # stands for bytes that are no letter; a cell with it in it is NULL. It is no letter either.
_CODECS = {"utf-8": "utf-8-sig", "utf-16": "utf-16", "latin-1": "latin-1", "windows-1252": "cp1252"}
_ERRORS = "tacit.unreadable"

codecs.register_error(_ERRORS, lambda error: (UNREADABLE, error.end))  # type: ignore[attr-defined] # every decoder's has one


@dataclass(frozen=True, slots=True)
class Batch:
    """Consecutive rows: one a line of `text`, or where a row may have several lines, one each in `rows`."""

    line: int  # the number of the first line in the file, from 1 on
    text: str = ""
    rows: tuple[tuple[int, str], ...] | None = None  # each with the number of its first line


def header_line(path: str, form: TextFormat) -> str:
    """The first line, which names the columns; empty where the file is."""
    return next((batch.text.partition("\n")[0] for batch in _batches(path, form)), "")


def whole_text(path: str, form: TextFormat) -> str:
    """The file in one piece."""
    return "\n".join(batch.text for batch in _batches(path, form))


def batches(path: str, form: TextFormat, *, header: bool) -> Iterator[Batch]:
    """All lines but the `header`. A line is what stands before a line feed; a carriage return before it is no part."""
    texts = _batches(path, form)
    if header:
        first = next(texts, None)
        if first is None:
            return
        _, more, rest = first.text.partition("\n")
        texts = itertools.chain([Batch(2, rest)] if more else [], texts)
    if header and form.newlines and form.quote:
        yield from _joined(texts, form.quote)
    else:
        yield from texts


def _batches(path: str, form: TextFormat) -> Iterator[Batch]:
    decode = codecs.getincrementaldecoder(_CODECS[form.encoding])(errors=_ERRORS).decode
    line, rest = 1, ""
    with closing(_opened(path)) as file:
        while read := file.read(BATCH):
            text = decode(read)
            whole, more, tail = text.rpartition("\n")
            if not more:
                rest += text
                continue
            text, rest = _plain(rest + whole), tail
            yield Batch(line, text)
            line += text.count("\n") + 1
    rest += decode(b"", True)
    if rest:
        yield Batch(line, _plain(rest))


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n").removesuffix("\r")


def _opened(path: str) -> IO[bytes]:
    name = path.lower()
    if name.endswith(".gz"):
        return gzip.open(path, "rb")  # type: ignore[return-value]  # which reads bytes as any other
    if not name.endswith(".zst"):
        return open(path, "rb")
    try:
        import pyarrow  # type: ignore[import-untyped]
    except ImportError:
        hint = "pip install 'tacit[frames]', or decompress it"
        raise EngineError("Zstandard files cannot be read here", hint=hint) from None
    stream: IO[bytes] = pyarrow.CompressedInputStream(pyarrow.OSFile(path, "rb"), "zstd")
    return stream


def _joined(batches: Iterator[Batch], quote: str) -> Iterator[Batch]:
    """Rows whose quoted cells may hold line breaks: lines are put together until their quotes come in pairs.

    A quote that is never closed spoils its own line alone.
    """
    held: list[tuple[int, str]] = []
    for batch in batches:
        lines = [*held, *enumerate(batch.text.split("\n"), batch.line)]
        rows, held = _paired(lines, quote)
        yield Batch(batch.line, rows=tuple(rows))
    if held:
        rows, held = _paired(held[1:], quote)
        yield Batch(0, rows=(*rows, *held))


def _paired(lines: list[tuple[int, str]], quote: str) -> tuple[list[tuple[int, str]], list[tuple[int, str]]]:
    rows: list[tuple[int, str]] = []
    start = None
    for index, (number, line) in enumerate(lines):
        if line.count(quote) % 2 == 0:
            if start is None:
                rows.append((number, line))
            continue
        if start is None:
            start = index
            continue
        rows.append((lines[start][0], "\n".join(text for _, text in lines[start : index + 1])))
        start = None
    return rows, [] if start is None else lines[start:]
