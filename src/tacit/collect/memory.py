"""What a device remembers, so that asking again and again teaches nobody more."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tacit.collect.messages import HEAD, head
from tacit.collect.rappor import Rappor
from tacit.core import NOTHING, Loss
from tacit.errors import InvalidParameter
from tacit.noise import SYSTEM, Source

Value = int | float | str
Memory = dict[str, str]  # value → what was drawn for it, in hexadecimal; to be kept on the device and nowhere else


class Device:
    """One person's device under a protocol: the first report for a value is drawn, and told again ever after.

    Fresh noise every day could be averaged away. A report told again adds nothing, so the price is that of the
    *different* values ever reported. What it does not hide: on which days the value changed.
    """

    __slots__ = ("_memory", "_protocol")

    def __init__(self, protocol: Any, memory: Mapping[str, str] | None = None) -> None:
        self._protocol = protocol
        self._memory = _read(memory or {}, length=HEAD + protocol.width)

    def report(self, value: Value | tuple[Value, ...], source: Source = SYSTEM) -> bytes:
        """The message for a value, or for a record of several attributes: the same every time."""
        key = _key(value)
        if key not in self._memory:
            values = [[part] for part in value] if isinstance(value, tuple) else [value]
            self._memory[key] = (head(self._protocol) + self._protocol.encode(values, source)[0].tobytes()).hex()
        return bytes.fromhex(self._memory[key])

    def loss(self) -> Loss:
        """What all reports so far cost together, however many there were."""
        each: Loss = self._protocol.loss()
        return each * len(self._memory) if self._memory else NOTHING

    def memory(self) -> Memory:
        """What must be stored on the device; lose it, and the next report is paid for again."""
        return dict(self._memory)


class RapporDevice:
    """One person's device under RAPPOR: the permanent response is remembered, the instantaneous one drawn each time."""

    __slots__ = ("_cohort", "_memory", "_protocol")

    def __init__(self, protocol: Rappor, cohort: int, *, memory: Mapping[str, str] | None = None) -> None:
        if not 0 <= cohort < protocol.cohorts:
            raise InvalidParameter(f"the cohort is not one of the {protocol.cohorts} there are: they count from 0")
        self._protocol, self._cohort = protocol, cohort
        self._memory = _read(memory or {}, length=(protocol.filter_bits + 7) // 8)

    def report(self, text: str, source: Source = SYSTEM) -> bytes:
        """A message for the text, drawn from what is kept for it."""
        group = np.array([self._cohort])
        key = _key(text)
        if key not in self._memory:
            kept = self._protocol.permanent(self._protocol.filters([text], group), source)
            self._memory[key] = np.packbits(kept, axis=1, bitorder="little").tobytes().hex()
        row = np.frombuffer(bytes.fromhex(self._memory[key]), dtype=np.uint8)[np.newaxis]
        bits = np.unpackbits(row, axis=1, count=self._protocol.filter_bits, bitorder="little").astype(np.bool_)
        reported = self._protocol.instantaneous(bits, source)
        body: bytes = self._protocol.bodies(reported, group)[0].tobytes()
        return head(self._protocol) + body

    def loss(self) -> Loss:
        """What all reports so far can cost together: ε∞ for each different text."""
        return self._protocol.loss() * len(self._memory) if self._memory else NOTHING

    def memory(self) -> Memory:
        """What must be stored on the device."""
        return dict(self._memory)


def _key(value: Value | tuple[Value, ...]) -> str:
    return f"t:{value}" if isinstance(value, str) else f"n:{value!r}"


def _read(memory: Mapping[str, str], *, length: int) -> Memory:
    for kept in memory.values():
        try:
            fits = len(bytes.fromhex(kept)) == length
        except (ValueError, TypeError):
            fits = False
        if not fits:
            raise InvalidParameter("the device's memory does not fit its protocol: it was made for another")
    return dict(memory)
