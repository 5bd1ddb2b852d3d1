"""What a device remembers, so that asking again and again teaches nobody more."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from tacit.collect.attributes import EveryAttribute, OneAttribute
from tacit.collect.messages import HEAD, head
from tacit.collect.numbers.scale import Scale
from tacit.collect.texts.hashing import utf8
from tacit.collect.texts.rappor import Rappor
from tacit.core import NOTHING, Loss
from tacit.errors import InvalidParameter
from tacit.noise import SYSTEM, Source, whole_numbers

Value = int | float | str
Memory = dict[str, str]  # value → what was drawn for it, in hexadecimal; to be kept on the device and nowhere else


class Device:
    """One person's device under a protocol: the first report for a value is drawn, and told again ever after.

    Fresh noise every day could be averaged away. A report told again adds nothing, so the price is that of the
    *different* values ever reported, as the protocol sees them: numbers with the same place on its grid are the same.
    Under `EveryAttribute` each attribute is remembered by itself, and one that did not change is not drawn anew.

    What it does not hide: on which days the value changed. And a memory that is lost (another device, storage that was
    cleared) is paid for again: all it held is drawn anew.
    """

    __slots__ = ("_head", "_memory", "_parts", "_protocol")

    def __init__(self, protocol: Any, memory: Mapping[str, str] | None = None, *, topic: str = "") -> None:
        self._protocol, self._head = protocol, head(protocol, topic)
        self._parts = protocol.parts if isinstance(protocol, EveryAttribute) else (protocol,)
        self._memory = dict(memory or {})
        for key, kept in self._memory.items():
            part = self._part_of(key)
            if part is None or not _fits(kept, start=self._head, length=HEAD + part.width):
                raise InvalidParameter("the device's memory does not fit its protocol: it was made for another")

    def report(self, value: Value | tuple[Value, ...], source: Source = SYSTEM) -> bytes:
        """The message for a value, or for a record of several attributes: the same every time."""
        values = _record(value, self._parts) if isinstance(self._protocol, EveryAttribute) else (value,)
        keys = [
            f"{number}:{_seen(part, one)}" for number, (part, one) in enumerate(zip(self._parts, values, strict=True))
        ]
        for key, part, one in zip(keys, self._parts, values, strict=True):
            if key not in self._memory:
                column = [[cell] for cell in one] if isinstance(one, tuple) else [one]
                self._memory[key] = (self._head + part.encode(column, source)[0].tobytes()).hex()
        return self._head + b"".join(bytes.fromhex(self._memory[key])[HEAD:] for key in keys)

    def loss(self) -> Loss:
        """What all reports so far cost together, however many there were."""
        return sum((self._parts[int(key.partition(":")[0])].loss() for key in self._memory), NOTHING)

    def memory(self) -> Memory:
        """What must be stored on the device; lose it, and the next report is paid for again."""
        return dict(self._memory)

    def _part_of(self, key: str) -> Any:
        number, colon, _ = key.partition(":")
        known = colon and number.isascii() and number.isdecimal() and int(number) < len(self._parts)
        return self._parts[int(number)] if known else None


class RapporDevice:
    """One person's device under RAPPOR: the permanent response is remembered, the instantaneous one drawn each time."""

    __slots__ = ("_cohort", "_head", "_memory", "_protocol")

    def __init__(
        self, protocol: Rappor, cohort: int, *, memory: Mapping[str, str] | None = None, topic: str = ""
    ) -> None:
        if not 0 <= cohort < protocol.cohorts:
            raise InvalidParameter(f"the cohort is not one of the {protocol.cohorts} there are: they count from 0")
        self._protocol, self._cohort = protocol, cohort
        self._head, self._memory = head(protocol, topic), dict(memory or {})
        if not all(_fits(kept, start=b"", length=(protocol.filter_bits + 7) // 8) for kept in self._memory.values()):
            raise InvalidParameter("the device's memory does not fit its protocol: it was made for another")

    def report(self, text: str, source: Source = SYSTEM) -> bytes:
        """A message for the text, drawn from what is kept for it."""
        group = np.array([self._cohort])
        key = _seen(self._protocol, text)
        if key not in self._memory:
            kept = self._protocol.permanent(self._protocol.filters([text], group), source)
            self._memory[key] = np.packbits(kept, axis=1, bitorder="little").tobytes().hex()
        row = np.frombuffer(bytes.fromhex(self._memory[key]), dtype=np.uint8)[np.newaxis]
        bits = np.unpackbits(row, axis=1, count=self._protocol.filter_bits, bitorder="little").astype(np.bool_)
        reported = self._protocol.instantaneous(bits, source)
        body: bytes = self._protocol.bodies(reported, group)[0].tobytes()
        return self._head + body

    def loss(self) -> Loss:
        """What all reports so far can cost together: ε∞ for each different text."""
        return self._protocol.loss() * len(self._memory) if self._memory else NOTHING

    def memory(self) -> Memory:
        """What must be stored on the device."""
        return dict(self._memory)


def _seen(protocol: Any, value: Any) -> str:
    """What the protocol sees of a value: two values that it cannot tell apart are one."""
    if isinstance(protocol, OneAttribute):
        values = _record(value, protocol.parts)
        return json.dumps([_seen(part, one) for part, one in zip(protocol.parts, values, strict=True)])
    if isinstance(scale := getattr(protocol, "scale", None), Scale):
        return f"n:{int(scale.places(value)[0])}"
    return f"t:{utf8(value).decode()}" if isinstance(value, str) else f"n:{int(whole_numbers(value)[0])}"


def _record(value: Any, parts: tuple[Any, ...]) -> tuple[Value, ...]:
    if not isinstance(value, tuple) or len(value) != len(parts):
        raise InvalidParameter(f"the record does not fit: a tuple of {len(parts)} values is expected")
    return value


def _fits(kept: Any, *, start: bytes, length: int) -> bool:
    try:
        message = bytes.fromhex(kept)
    except (ValueError, TypeError):
        return False
    return len(message) == length and message.startswith(start)
