"""How the files of a table are read that are made of text: what the curator says, never what the rows look like."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from tacit.policy.reading.fault import Fault, KeyPath, shown
from tacit.policy.reading.names import meant
from tacit.policy.reading.readers import flag, hold
from tacit.policy.reading.types import kind_name

ENCODINGS = ("utf-8", "utf-16", "latin-1", "windows-1252")
_DIRECTIVE = re.compile(r"%(-?.|$)")
_DAY = ({"Y", "y"}, {"m", "b", "B", "-m"}, {"d", "-d"})
_TIME = {"H", "-H", "I", "-I", "M", "S", "f", "p", "z"}


@dataclass(frozen=True, slots=True, init=False)
class TextFormat:
    """The dialect of CSV and JSON files. Whatever is not said is a fixed default, the same for every file.

    Each line is one row unless `newlines` says that quoted cells may hold line breaks. `lines` says that a .json file
    holds one object a line. `date` and `timestamp` are patterns such as `%d/%m/%Y`; without one, dates are ISO 8601.
    """

    delimiter: str | None
    quote: str
    encoding: str
    decimal: str
    date: str | None
    timestamp: str | None
    newlines: bool
    lines: bool

    def __init__(
        self,
        *,
        delimiter: str | None = None,
        quote: str = '"',
        encoding: str = "utf-8",
        decimal: str = ".",
        date: str | None = None,
        timestamp: str | None = None,
        newlines: bool = False,
        lines: bool = False,
    ) -> None:
        hold(self, (), _READERS, delimiter=delimiter, quote=quote, encoding=encoding, decimal=decimal)
        hold(self, (), _READERS, date=date, timestamp=timestamp, newlines=newlines, lines=lines)
        if self.delimiter is not None and self.delimiter == self.quote:
            raise Fault("is the delimiter too", path=("quote",))

    def plain(self) -> dict[str, object]:
        """The keys that are not at their defaults."""
        usual = TextFormat()
        values = {key: getattr(self, key) for key in _READERS}
        return {key: value for key, value in values.items() if value != getattr(usual, key)}


def format_of(value: object, path: KeyPath) -> TextFormat | None:
    """A format from what was typed: { delimiter = ";", date = "%d/%m/%Y" }."""
    if value is None or isinstance(value, TextFormat):
        return value
    if not isinstance(value, Mapping):
        hint = 'write format = { delimiter = ";" }'
        raise Fault(f"must be a table: it is {kind_name(value)}", path=path, hint=hint)
    for key in value:
        if key not in _READERS:
            hint = meant(str(key), _READERS) or f"the keys here are {', '.join(_READERS)}"
            raise Fault("is not a key tacit knows", path=(*path, key), hint=hint)
    try:
        return TextFormat(**value)
    except Fault as fault:
        raise Fault(fault.reason, path=(*path, *fault.path), hint=fault.hint) from None


def _mark(value: object, path: KeyPath) -> str:
    """One character that can stand between cells, or around them."""
    if not isinstance(value, str) or len(value) != 1:
        raise Fault(f"must be one character: it is {_told(value)}", path=path)
    if value.isalnum() or value in "\\." or not (value.isprintable() or value == "\t"):
        raise Fault(f"cannot be {value!a}: it stands in numbers, names or line breaks", path=path)
    return value


def _delimiter(value: object, path: KeyPath) -> str | None:
    return None if value is None else _mark(value, path)


def _quote(value: object, path: KeyPath) -> str:
    return "" if value == "" else _mark(value, path)  # none: every mark is a part of its cell


def _encoding(value: object, path: KeyPath) -> str:
    if isinstance(value, str) and value.lower() in ENCODINGS:
        return value.lower()
    raise Fault(f"must be one of {', '.join(ENCODINGS)}: it is {_told(value)}", path=path)


def _decimal(value: object, path: KeyPath) -> str:
    if isinstance(value, str) and value in {".", ","}:
        return value
    raise Fault(f'must be "." or ",": it is {_told(value)}', path=path)


def _pattern(value: object, path: KeyPath, *, times: bool) -> str | None:
    if value is None:
        return None
    example = "%d/%m/%Y %H:%M" if times else "%d/%m/%Y"
    if not isinstance(value, str) or not value.isprintable() or len(value) > 60:
        raise Fault(f"must be a pattern: it is {_told(value)}", path=path, hint=f'write it as "{example}"')
    said = _DIRECTIVE.findall(value)
    unknown = set(said) - {"%"} - set().union(*_DAY) - (_TIME if times else set())
    if unknown:
        raise Fault(f"has %{min(unknown)}, which is not understood", path=path, hint=f'write it as "{example}"')
    for part, wanted in zip(("year", "month", "day"), _DAY, strict=True):
        if len(wanted.intersection(said)) != 1 or sum(each in wanted for each in said) != 1:
            raise Fault(f"must have the {part} once", path=path, hint=f'write it as "{example}"')
    return value


def _told(value: object) -> str:
    return shown(value) if isinstance(value, str) else kind_name(value)


_READERS = {
    "delimiter": _delimiter,
    "quote": _quote,
    "encoding": _encoding,
    "decimal": _decimal,
    "date": lambda value, path: _pattern(value, path, times=False),
    "timestamp": lambda value, path: _pattern(value, path, times=True),
    "newlines": flag,
    "lines": flag,
}
