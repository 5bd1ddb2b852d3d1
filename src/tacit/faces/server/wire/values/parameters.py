"""The values of $1, $2, … as a client sends them: text or binary, of a type that it names or that we told it."""

from __future__ import annotations

import re
import struct
import uuid
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import Decimal, InvalidOperation

from tacit.errors import QueryRefused
from tacit.faces.server.wire.faults import WireFault
from tacit.faces.server.wire.framing import CutOff, Fields
from tacit.faces.server.wire.values import oids
from tacit.faces.server.wire.values.codecs import EPOCH, EPOCH_DAYS
from tacit.faces.server.wire.values.numerics import numeric_value
from tacit.sql.parsing.lists import read_list

_TRUTHS = {"t": True, "true": True, "y": True, "yes": True, "on": True, "1": True}
_TRUTHS |= {"f": False, "false": False, "n": False, "no": False, "off": False, "0": False}
_OFFSET = re.compile(r"[+-]\d\d$")  # PostgreSQL writes a zone of whole hours shorter than ISO does
_FORMS = {oids.INT2: "!h", oids.INT4: "!i", oids.INT8: "!q", oids.OID: "!I", oids.FLOAT4: "!f", oids.FLOAT8: "!d"}


def decode(content: bytes | None, oid: int, *, binary: bool) -> object:
    """The value of one parameter. Raises WireFault where it is none of its type."""
    if content is None:
        return None
    if binary and oid not in _BINARY:
        raise WireFault("0A000", f"a parameter of type {oid} is refused in binary", hint="send it as text")
    read = _BINARY[oid] if binary else _TEXT.get(oid, _text)
    try:
        return read(content)
    except (struct.error, ValueError, OverflowError, InvalidOperation, KeyError, CutOff):
        kind = "22P03" if binary else "22P02"
        raise WireFault(kind, f"a parameter is not a value of its type ({oid})") from None


def _text(content: bytes) -> str:
    return content.decode()


def _truth(content: bytes) -> bool:
    return _TRUTHS[_text(content).strip().lower()]


def _number(content: bytes) -> int | Decimal:
    number = Decimal(_text(content).strip())
    if number.is_finite() and abs(number.adjusted()) > 400:
        raise ValueError("a number out of reach")
    return int(number) if number.is_finite() and number == number.to_integral_value() else number


def _day(content: bytes) -> date:
    return date.fromisoformat(_text(content).strip()[:10])


def _moment(content: bytes) -> datetime:
    written = _text(content).strip()
    return datetime.fromisoformat(written + ":00" if _OFFSET.search(written) and ":" in written else written)


def _day_binary(content: bytes) -> date:
    (days,) = struct.unpack("!i", content)
    return date.fromordinal(days + EPOCH_DAYS)


def _moment_binary(content: bytes) -> datetime:
    (microseconds,) = struct.unpack("!q", content)
    return EPOCH + timedelta(microseconds=microseconds)


def _time_binary(content: bytes) -> time:
    (microseconds,) = struct.unpack("!q", content)
    return (EPOCH + timedelta(microseconds=microseconds)).time()


def _struct(oid: int) -> Callable[[bytes], object]:
    return lambda content: struct.unpack(_FORMS[oid], content)[0]


def _bool_binary(content: bytes) -> bool:
    (value,) = struct.unpack("!?", content)
    return bool(value)


def _array_text(oid: int) -> Callable[[bytes], object]:
    """Reads a list of one type, as PostgreSQL writes it in text."""
    read = _TEXT.get(oids.ELEMENTS[oid], _text)

    def listed(content: bytes) -> list[object]:
        try:
            items = read_list(_text(content))
        except QueryRefused as error:
            raise ValueError(error.message) from None
        return [None if item is None else read(item.encode()) for item in items]

    return listed


def _array_binary(content: bytes) -> list[object]:
    fields = Fields(content)
    dimensions, _, element = fields.int32(), fields.int32(), fields.int32()
    if dimensions == 0:
        return []
    length, _ = fields.int32(), fields.int32()
    if dimensions != 1 or element not in _BINARY or element in oids.ELEMENTS:
        raise ValueError("an array of one dimension is read")
    values: list[object] = []
    for _ in range(length):
        size = fields.int32()
        values.append(None if size == -1 else _BINARY[element](fields.octets(size)))
    fields.ends()
    return values


_NUMBERS = (oids.INT2, oids.INT4, oids.INT8, oids.OID, oids.FLOAT4, oids.FLOAT8, oids.NUMERIC)
_TEXT: dict[int, Callable[[bytes], object]] = {
    oids.BOOL: _truth,
    oids.DATE: _day,
    oids.TIME: lambda content: time.fromisoformat(_text(content).strip()),
    oids.TIMESTAMP: _moment,
    oids.TIMESTAMPTZ: _moment,
    **dict.fromkeys(_NUMBERS, _number),
}
_TEXT |= {oid: _array_text(oid) for oid in oids.ELEMENTS}
_BINARY: dict[int, Callable[[bytes], object]] = {
    oids.BOOL: _bool_binary,
    oids.NUMERIC: numeric_value,
    oids.DATE: _day_binary,
    oids.TIME: _time_binary,
    oids.TIMESTAMP: _moment_binary,
    oids.TIMESTAMPTZ: _moment_binary,
    oids.UUID: lambda content: str(uuid.UUID(bytes=content)),
    oids.JSONB: lambda content: _text(content[1:]),
    **dict.fromkeys((0, oids.TEXT, oids.VARCHAR, oids.BPCHAR, oids.NAME, oids.UNKNOWN, oids.JSON), _text),
    **{oid: _struct(oid) for oid in _FORMS},
    **dict.fromkeys(oids.ELEMENTS, _array_binary),
}
