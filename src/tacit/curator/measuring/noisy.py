"""Noisy columns: what may leave, before it is made into an answer."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.core import decimal_text
from tacit.curator.measuring.spreads import plain_spread, read_spread
from tacit.mechanisms.strategy import EstimateSpread
from tacit.noise import IntArray, WideArray

KeyTuple = tuple[object, ...]
_ENDS = 1 << 63


@dataclass(frozen=True, slots=True)
class Cut:
    """What bounds took from each group of a measurement, as far as noise lets it be known.

    `numbers` count parts of `part` each, with Laplace noise of `scale` parts; of a unit whose excess is larger than
    `level` in all, only a share is in them.
    """

    numbers: IntArray | WideArray
    part: Fraction
    scale: Fraction
    level: Fraction
    spare: Fraction  # what is added for the units above it


@dataclass(frozen=True, slots=True)
class NoisyColumn:
    """One measurement over all released groups: whole numbers in steps, or values chosen from a public set.

    Values that were estimated from several noisy numbers have beside them how they err.
    """

    signature: str
    step: Fraction
    numbers: IntArray | WideArray | None = None
    values: NDArray[np.float64] | None = None
    choices: tuple[tuple[object, ...], ...] | None = None
    estimates: EstimateSpread | None = None
    cells: int = 1  # how many noisy numbers were added up for each of these, at most
    cut: Cut | None = None  # what bounds took from it, where that was paid for

    def at(self, groups: NDArray[np.intp]) -> NoisyColumn:
        """The column over these groups alone, by their indices."""
        return replace(
            self,
            numbers=None if self.numbers is None else self.numbers[groups],
            values=None if self.values is None else self.values[groups],
            choices=None if self.choices is None else tuple(self.choices[index] for index in groups.tolist()),
            estimates=None if self.estimates is None else self.estimates.picked([[int(g)] for g in groups]),
            cut=None if self.cut is None else replace(self.cut, numbers=self.cut.numbers[groups]),
        )


@dataclass(frozen=True, slots=True)
class Noisy:
    """Released groups and their noisy columns. Post-processing of this is free."""

    keys: tuple[KeyTuple, ...]
    columns: tuple[NoisyColumn, ...]
    private_keys: bool

    def without(self, impossible: Sequence[Collection[object]]) -> Noisy:
        """The groups none of whose keys is among the values that are impossible for it, key by key."""
        if not any(impossible):
            return self
        return self.where(lambda key: not any(value in gone for value, gone in zip(key, impossible, strict=True)))

    def where(self, holds: Callable[[KeyTuple], bool]) -> Noisy:
        """The groups whose keys meet a public condition."""
        kept = [index for index, key in enumerate(self.keys) if holds(key)]
        groups = np.array(kept, dtype=np.intp)
        columns = tuple(column.at(groups) for column in self.columns)
        return replace(self, keys=tuple(self.keys[index] for index in kept), columns=columns)

    def to_bytes(self) -> bytes:
        """The numbers as the ledger keeps them."""
        columns = [
            {
                "signature": column.signature,
                "step": decimal_text(column.step),
                "numbers": None if column.numbers is None else column.numbers.tolist(),
                "values": None if column.values is None else column.values.tolist(),
                "choices": None if column.choices is None else [[_plain(v) for v in row] for row in column.choices],
                **({} if column.estimates is None else plain_spread(column.estimates)),
                **({} if column.cut is None else {"cut": _plain_cut(column.cut)}),
            }
            for column in self.columns
        ]
        keys = [[_plain(value) for value in key] for key in self.keys]
        return json.dumps({"keys": keys, "columns": columns, "private": self.private_keys}).encode("ascii")

    @classmethod
    def from_bytes(cls, data: bytes) -> Noisy:
        """The numbers that were kept so."""
        plain = json.loads(data)
        columns = tuple(
            NoisyColumn(
                item["signature"],
                Fraction(item["step"]),
                None if item["numbers"] is None else noisy_numbers(item["numbers"]),
                None if item["values"] is None else np.array(item["values"], dtype=np.float64),
                None if item["choices"] is None else tuple(tuple(_value(v) for v in row) for row in item["choices"]),
                estimates=read_spread(item),
                cut=None if "cut" not in item else _cut(item["cut"]),
            )
            for item in plain["columns"]
        )
        return cls(tuple(tuple(_value(v) for v in key) for key in plain["keys"]), columns, plain["private"])


def noisy_numbers(numbers: list[int]) -> IntArray | WideArray:
    """Noisy whole numbers as an array: of 64 bits if they fit, which is no secret once there is noise in them."""
    if all(-_ENDS <= number < _ENDS for number in numbers):
        return np.array(numbers, dtype=np.int64)
    return np.array(numbers, dtype=object)


def _plain_cut(cut: Cut) -> dict[str, object]:
    sizes = {"part": cut.part, "scale": cut.scale, "level": cut.level, "spare": cut.spare}
    return {"numbers": cut.numbers.tolist(), **{name: decimal_text(size) for name, size in sizes.items()}}


def _cut(plain: dict[str, Any]) -> Cut:
    sizes = (Fraction(plain[name]) for name in ("part", "scale", "level", "spare"))
    return Cut(noisy_numbers(plain["numbers"]), *sizes)


def _plain(value: object) -> object:
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, datetime):
        return {"timestamp": value.isoformat()}
    if isinstance(value, date):
        return {"date": value.isoformat()}
    if isinstance(value, Fraction):
        return {"ratio": decimal_text(value)}
    return value


def _value(plain: object) -> object:
    if isinstance(plain, list):
        return tuple(_value(item) for item in plain)
    if isinstance(plain, dict):
        ((kind, text),) = plain.items()
        if kind == "ratio":
            return Fraction(text)
        return datetime.fromisoformat(text) if kind == "timestamp" else date.fromisoformat(text)
    return plain
