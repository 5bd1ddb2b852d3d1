"""Responses: a table whose every cell may be a lie, and what is estimated from it without bias."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from tacit.core import Loss, decimal_text
from tacit.errors import InvalidParameter, QueryRefused
from tacit.mechanisms import KaryResponse
from tacit.noise import IntArray
from tacit.noise.redrawing import RepeatableBits
from tacit.policy import fold
from tacit.release.packing import not_whole, packed, unpacked
from tacit.release.synthesise.columns import Attribute
from tacit.release.synthesise.fitting.chance import Chance
from tacit.release.synthesise.packed_columns import plain_attribute, read_attribute
from tacit.release.synthesise.table import SyntheticTable, made_table

FORMAT = 1
_WHAT = "table of responses"


@dataclass(frozen=True, slots=True)
class Count:
    """An estimate of how many rows there are of a kind, without bias, and its standard error."""

    value: float
    standard_error: float


@dataclass(frozen=True, slots=True, eq=False)
class PerturbedTable:
    """One response for each row, and for each of `padding` rows, about, that nobody is behind.

    `codes` are the cells of each column, in an order that the cells alone decide. `lies` are the chances of a lie: a
    column of k cells tells another one, each as likely, so often.
    """

    table: str
    attributes: tuple[Attribute, ...]
    lies: tuple[Fraction, ...]
    codes: tuple[IntArray, ...]
    padding: int  # rows that are made up, in the mean
    padding_variance: float
    loss: Loss
    limit: int | None = None  # of rows, where there were more of them, as far as noise lets tell: then none is here

    def refuse_untold(self) -> PerturbedTable:
        """The responses themselves; refused where there were too many rows to tell any."""
        if self.limit is not None:
            raise too_large(self.table, self.limit, columns=len(self.attributes))
        return self

    def __len__(self) -> int:
        return int(self.codes[0].size)

    def __repr__(self) -> str:
        return f"<responses of {self.table}: {len(self):,} rows, {len(self.attributes)} columns, {self.loss}>"

    @property
    def rows(self) -> SyntheticTable:
        """The responses as rows, in an order that is the same each time and tells nothing."""
        about = self.to_bytes()
        chance = Chance(RepeatableBits(about))
        cells = np.stack(self.codes, axis=1)[chance.order(len(self))]
        return made_table(self.table, self.attributes, cells, chance=chance)

    @property
    def size(self) -> Count:
        """How many rows the table has without its padding, estimated."""
        return Count(float(len(self) - self.padding), math.sqrt(self.padding_variance))

    def count(self, **cells: Iterable[int]) -> Count:
        """How many rows truly have, in each of these columns, one of these cells (numbers from 0).

        Column by column, T(y | x) is the chance of telling y where x is true: 1 − l for x itself, r = l / (k − 1) for
        any other. w(y) = (1[y ∈ A] − |A| r) / (1 − l − r) has the mean 1[x ∈ A] under it, and |A| / k where y is any
        cell, each as likely. Columns lie independently, so that products of such weights have products of such means:
        the sum of w over all responses, less what made-up rows bring in the mean, is an unbiased estimate. Its variance
        is that of the lies, estimated by Σ w² less what is true of it, and that of how many rows are made up.
        """
        known = {fold(each.name): index for index, each in enumerate(self.attributes)}
        weights, share = np.ones(len(self)), 1.0
        for name, chosen in cells.items():
            if fold(name) not in known:
                raise InvalidParameter(f"the responses have no column {name[:60]}")
            index = known[fold(name)]
            among = np.isin(self.codes[index], np.array(sorted(set(chosen)), dtype=np.int64))
            number = self.attributes[index].cells
            size = sum(0 <= cell < number for cell in set(chosen))
            stray = 0.0 if number == 1 else float(self.lies[index]) / (number - 1)
            weights *= (among - size * stray) / (1 - float(self.lies[index]) - stray)
            share *= size / number
        value = float(weights.sum()) - self.padding * share
        spread = float(np.square(weights).sum()) - value - self.padding * share**2 + self.padding_variance * share**2
        return Count(value, math.sqrt(max(spread, 0.0)))

    def to_bytes(self) -> bytes:
        """Arrays and JSON, with a hash."""
        about = {
            "format": FORMAT,
            "table": self.table,
            "columns": [plain_attribute(each) for each in self.attributes],
            "lies": [decimal_text(lie) if lie == 0 else str(lie) for lie in self.lies],
            "padding": self.padding,
            "padding_variance": self.padding_variance,
            "limit": self.limit,
            "epsilon": decimal_text(self.loss.epsilon),
            "delta": decimal_text(self.loss.delta),
        }
        return packed(about, {f"c{index}": column.astype(np.int32) for index, column in enumerate(self.codes)})

    @classmethod
    def from_bytes(cls, data: bytes) -> PerturbedTable:
        """The table that was packed so."""
        about, arrays = unpacked(data, what=_WHAT, form=FORMAT)
        try:
            return _read(about, arrays)
        except (KeyError, TypeError, ValueError):
            raise not_whole(_WHAT) from None


def _read(about: Mapping[str, Any], arrays: Mapping[str, Any]) -> PerturbedTable:
    attributes = tuple(map(read_attribute, about["columns"]))
    return PerturbedTable(
        table=about["table"],
        attributes=attributes,
        lies=tuple(map(Fraction, about["lies"])),
        codes=tuple(arrays[f"c{index}"].astype(np.int64) for index in range(len(attributes))),
        padding=about["padding"],
        padding_variance=about["padding_variance"],
        loss=Loss(about["epsilon"], about["delta"]),
        limit=about.get("limit"),  # what was kept before there was one has none
    )


def too_large(table: str, most: int, *, columns: int) -> QueryRefused:
    """The error about a table with more rows than are told."""
    return QueryRefused(
        f"{table} has too many rows to tell each of them: at most {most:,} are told of {columns} columns",
        hint="name fewer columns, or leave USING RANDOMISED RESPONSE out: synthetic rows are of any table",
    )


def lie_of(attribute: Attribute, epsilon: Fraction) -> Fraction:
    """The least chance of a lie about a column that costs no more than `epsilon`; a column of one cell has none."""
    return KaryResponse.costing(Loss(epsilon), categories=attribute.cells).lie if attribute.cells > 1 else Fraction(0)
