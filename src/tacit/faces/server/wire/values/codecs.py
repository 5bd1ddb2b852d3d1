"""Values of answers as PostgreSQL writes them: in text, and in binary."""

from __future__ import annotations

import json
import math
import struct
import uuid
from collections.abc import Callable
from datetime import UTC, date, datetime, time
from decimal import Decimal
from fractions import Fraction

from tacit.core import decimal_text
from tacit.curator.forms.cells import in_json, plain
from tacit.faces.server.wire.faults import WireFault
from tacit.faces.server.wire.values import oids
from tacit.faces.server.wire.values.numerics import numeric_binary

EPOCH_DAYS = date(2000, 1, 1).toordinal()
EPOCH = datetime(2000, 1, 1)  # noqa: DTZ001 - zoneless, as the protocol's own
_WHOLE = {oids.INT2: "!h", oids.INT4: "!i", oids.INT8: "!q", oids.OID: "!I"}


def encode(value: object, oid: int, *, binary: bool) -> bytes | None:
    """A value in the type it was announced in; None is NULL."""
    if value is None:
        return None
    try:
        return (_BINARY if binary else _TEXT).get(oid, _as_text)(value)
    except (struct.error, OverflowError, ValueError, TypeError, ArithmeticError):
        raise WireFault(
            "22003", "a value of the answer does not fit the type it was announced in", hint="the charge stands"
        ) from None


def _as_text(value: object) -> bytes:
    shown = plain(value)
    written = shown if isinstance(shown, str) else json.dumps(shown, ensure_ascii=False)
    return written.replace("\0", "\\0").encode("utf-8", "backslashreplace")


def _bool_text(value: object) -> bytes:
    return b"t" if _truth(value) else b"f"


def _truth(value: object) -> bool:
    if not isinstance(value, bool):
        raise TypeError
    return value


def _float(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float, Fraction, Decimal)):
        raise TypeError
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _float_text(value: object) -> bytes:
    number = _float(value)
    if not math.isfinite(number):
        return b"NaN" if math.isnan(number) else (b"Infinity" if number > 0 else b"-Infinity")
    return repr(number).removesuffix(".0").encode()


def _whole(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, float, Fraction, Decimal)) or value != int(value):
        raise TypeError
    return int(value)


def _whole_binary(oid: int) -> Callable[[object], bytes]:
    return lambda value: struct.pack(_WHOLE[oid], _whole(value))


def _whole_text(oid: int) -> Callable[[object], bytes]:
    def written(value: object) -> bytes:
        struct.pack(_WHOLE[oid], _whole(value))  # it must fit, as in binary
        return str(_whole(value)).encode()

    return written


def _numeric_text(value: object) -> bytes:
    if isinstance(value, float) and not math.isfinite(value):
        return _float_text(value)
    if isinstance(value, bool) or not isinstance(value, (int, float, Fraction, Decimal)):
        raise TypeError
    exact = Fraction(value)
    written = decimal_text(exact)
    decimal = Decimal(written if "/" not in written else repr(_float(value)))
    return format(decimal, "f").encode()  # never 1e-20, which PostgreSQL does not write


def _numeric_binary(value: object) -> bytes:
    return numeric_binary(_numeric_text(value).decode())


def _days(value: object) -> int:
    if not isinstance(value, date):
        raise TypeError
    return value.toordinal() - EPOCH_DAYS


def _microseconds(value: object) -> int:
    if not isinstance(value, date):
        raise TypeError
    moment = value if isinstance(value, datetime) else datetime(value.year, value.month, value.day)  # noqa: DTZ001
    if moment.tzinfo is not None:
        moment = moment.astimezone(UTC).replace(tzinfo=None)
    passed = moment - EPOCH
    return (passed.days * 86_400 + passed.seconds) * 1_000_000 + passed.microseconds


def _date_text(value: object) -> bytes:
    if not isinstance(value, date):
        raise TypeError
    day = value.date() if isinstance(value, datetime) else value
    return day.isoformat().encode()


def _moment_text(value: object) -> bytes:
    if not isinstance(value, date):
        raise TypeError
    moment = value if isinstance(value, datetime) else datetime(value.year, value.month, value.day)  # noqa: DTZ001
    return moment.replace(tzinfo=None).isoformat(sep=" ").encode()


def _time_binary(value: object) -> bytes:
    if not isinstance(value, time):
        raise TypeError
    seconds = (value.hour * 60 + value.minute) * 60 + value.second
    return struct.pack("!q", seconds * 1_000_000 + value.microsecond)


def _time_text(value: object) -> bytes:
    if not isinstance(value, time):
        raise TypeError
    return value.isoformat().encode()


def _json_text(value: object) -> bytes:
    shown = plain(value)
    if isinstance(shown, dict):
        shown = {name: in_json(item) for name, item in shown.items()}
    return json.dumps(shown, ensure_ascii=False).replace("\0", "").encode("utf-8", "backslashreplace")


def _items(value: object) -> list[bytes | None]:
    listed = value if isinstance(value, (list, tuple)) else [value]
    return [None if item is None else _as_text(item) for item in listed]


def _array_text(value: object) -> bytes:
    quoted = (
        b"NULL" if item is None else b'"' + item.replace(b"\\", b"\\\\").replace(b'"', b'\\"') + b'"'
        for item in _items(value)
    )
    return b"{" + b",".join(quoted) + b"}"


def _array_binary(value: object) -> bytes:
    items = _items(value)
    head = struct.pack("!iii", 1 if items else 0, int(None in items), oids.TEXT)
    if not items:
        return head
    cells = (b"\xff\xff\xff\xff" if item is None else struct.pack("!i", len(item)) + item for item in items)
    return head + struct.pack("!ii", len(items), 1) + b"".join(cells)


_TEXT: dict[int, Callable[[object], bytes]] = {
    oids.BOOL: _bool_text,
    oids.FLOAT4: _float_text,
    oids.FLOAT8: _float_text,
    oids.NUMERIC: _numeric_text,
    oids.DATE: _date_text,
    oids.TIME: _time_text,
    oids.TIMESTAMP: _moment_text,
    oids.TIMESTAMPTZ: lambda value: _moment_text(value) + b"+00",
    oids.JSON: _json_text,
    oids.JSONB: _json_text,
    oids.TEXT_ARRAY: _array_text,
    **{oid: _whole_text(oid) for oid in _WHOLE},
}
_BINARY: dict[int, Callable[[object], bytes]] = {
    oids.BOOL: lambda value: b"\x01" if _truth(value) else b"\x00",
    oids.FLOAT4: lambda value: struct.pack("!f", _float(value)),
    oids.FLOAT8: lambda value: struct.pack("!d", _float(value)),
    oids.NUMERIC: _numeric_binary,
    oids.DATE: lambda value: struct.pack("!i", _days(value)),
    oids.TIME: _time_binary,
    oids.TIMESTAMP: lambda value: struct.pack("!q", _microseconds(value)),
    oids.TIMESTAMPTZ: lambda value: struct.pack("!q", _microseconds(value)),
    oids.UUID: lambda value: uuid.UUID(str(value)).bytes,
    oids.JSON: _json_text,
    oids.JSONB: lambda value: b"\x01" + _json_text(value),
    oids.TEXT_ARRAY: _array_binary,
    **{oid: _whole_binary(oid) for oid in _WHOLE},
}
