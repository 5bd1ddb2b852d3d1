"""What a statement comes to: rows of ours or of the catalogue's server, a copy, or a word; and its messages."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field

from tacit.faces.server.wire.framing import text
from tacit.faces.server.wire.values import oids
from tacit.faces.server.wire.values.codecs import encode
from tacit.faces.server.wire.values.oids import WireColumn

Cells = Sequence[Sequence[object]]


@dataclass(frozen=True, slots=True)
class Outcome:
    """One statement's result. `columns` is None where there are no rows to come; `raw` are rows passed through.

    `tag` is what the client is told at the end; {} in it is the number of rows.
    """

    tag: str
    columns: tuple[WireColumn, ...] | None = None
    cells: Cells = ()
    description: bytes | None = None  # of `raw`: its RowDescription, whole
    raw: tuple[bytes, ...] | None = None
    notices: tuple[bytes, ...] = field(default=())
    reports: tuple[tuple[str, str], ...] = ()  # settings that changed, of which clients are told
    copy: tuple[bytes, ...] = ()  # whole messages of a copy

    def __len__(self) -> int:
        return len(self.cells) if self.raw is None else len(self.raw)

    def __bool__(self) -> bool:
        return True  # one without rows is an outcome too

    @property
    def has_rows(self) -> bool:
        """Whether it has columns, even if there is no row."""
        return self.columns is not None or self.description is not None

    def described(self, formats: Sequence[int]) -> bytes:
        """RowDescription, or NoData."""
        if self.description is not None:
            return self.description
        return NO_DATA if self.columns is None else row_description(self.columns, formats)

    def rows(self, formats: Sequence[int], start: int, end: int) -> list[bytes]:
        """DataRow messages of the rows from `start` up to `end`."""
        if self.raw is not None:
            return list(self.raw[start:end])
        binary = wanted_formats(formats, len(self.columns or ()))
        types = [column.oid for column in self.columns or ()]
        return [data_row(row, types, binary) for row in self.cells[start:end]]


NO_DATA = b"n\0\0\0\4"


def message(kind: bytes, body: bytes) -> bytes:
    """A message of the wire: its letter, its length and its content."""
    return kind + struct.pack("!I", len(body) + 4) + body


def wanted_formats(formats: Sequence[int], count: int) -> list[bool]:
    """For each column whether it is wanted in binary: none said, one for all, or one each."""
    if len(formats) <= 1:
        return [bool(formats and formats[0])] * count
    return [bool(each) for each in formats[:count]] + [False] * (count - len(formats))


def row_description(columns: Sequence[WireColumn], formats: Sequence[int]) -> bytes:
    """The names and types of columns that are of no table."""
    binary = wanted_formats(formats, len(columns))
    parts = [struct.pack("!H", len(columns))]
    for column, form in zip(columns, binary, strict=True):
        size = oids.SIZES.get(column.oid, -1)
        parts.append(text(column.name) + struct.pack("!IHIhih", 0, 0, column.oid, size, -1, int(form)))
    return message(b"T", b"".join(parts))


def data_row(row: Sequence[object], types: Sequence[int], binary: Sequence[bool]) -> bytes:
    """One row, each value in its column's type and format."""
    parts = [struct.pack("!H", len(row))]
    for value, oid, form in zip(row, types, binary, strict=True):
        cell = encode(value, oid, binary=form)
        parts.append(b"\xff\xff\xff\xff" if cell is None else struct.pack("!i", len(cell)) + cell)
    return message(b"D", b"".join(parts))


def complete(tag: str, count: int) -> bytes:
    """CommandComplete with the tag, which may say how many rows there were."""
    return message(b"C", text(tag.format(count)))


def word(tag: str, **more: object) -> Outcome:
    """An outcome that is a word alone."""
    return Outcome(tag, **more)  # type: ignore[arg-type]  # its other fields, by name


def table(tag: str, names: Sequence[str], rows: Cells) -> Outcome:
    """An outcome whose columns, all of them text, have these names."""
    return Outcome(tag, tuple(WireColumn(name, oids.TEXT) for name in names), rows)
