"""The type numeric in binary: digits of base ten thousand."""

from __future__ import annotations

import struct
from decimal import Decimal

from tacit.faces.server.wire.framing import CutOff, Fields

_SIGNS = {"NaN": 0xC000, "Infinity": 0xD000, "-Infinity": 0xF000}
_NEGATIVE = 0x4000
_MOST_DIGITS = 4_000  # of base ten thousand: more than any number that the curator takes
_FARTHEST = 100  # digits of base ten thousand before or behind the point


def numeric_binary(written: str) -> bytes:
    """A number that is written in decimals, as binary."""
    if written in _SIGNS:
        return struct.pack("!hhHH", 0, 0, _SIGNS[written], 0)
    sign, digits, exponent = Decimal(written).as_tuple()
    if not isinstance(exponent, int):
        raise TypeError("a number is finite")
    scale = max(0, -exponent)
    whole = "".join(map(str, digits)) + "0" * max(0, exponent)
    integer, fraction = (whole[:-scale], whole[-scale:].rjust(scale, "0")) if scale else (whole, "")
    integer = integer.lstrip("0")
    integer = integer.rjust(-(-len(integer) // 4) * 4, "0")
    fraction = fraction.ljust(-(-len(fraction) // 4) * 4, "0")
    groups = [int((integer + fraction)[at : at + 4]) for at in range(0, len(integer) + len(fraction), 4)]
    weight = len(integer) // 4 - 1
    while groups and groups[0] == 0:
        groups.pop(0)
        weight -= 1
    while groups and groups[-1] == 0:
        groups.pop()
    head = struct.pack("!hhHH", len(groups), weight if groups else 0, _NEGATIVE if sign else 0, scale)
    return head + struct.pack(f"!{len(groups)}h", *groups)


def numeric_value(content: bytes) -> Decimal:
    """The number that binary means."""
    fields = Fields(content)
    count, weight, sign, _ = fields.int16(), fields.int16(), fields.int16(), fields.int16()
    named = next((name for name, known in _SIGNS.items() if known == sign), None)
    if named is not None:
        return Decimal(named)
    if count > _MOST_DIGITS or sign not in {0, _NEGATIVE}:
        raise CutOff("invalid numeric value")
    weight = weight - 0x10000 if weight >= 0x8000 else weight
    groups = [fields.int16() for _ in range(count)]
    if any(group >= 10_000 for group in groups):
        raise CutOff("invalid numeric value")
    fields.ends()
    digits = "".join(f"{group:04d}" for group in groups) or "0"
    if abs(weight) > _FARTHEST:
        raise CutOff("invalid numeric value")
    return Decimal(f"{'-' if sign else ''}{digits}E{4 * (weight - count + 1)}")
