"""Several answers from each person: all of them at a part of the price, or one of them at the whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.collect.integers import bytes_for, from_rows, to_rows
from tacit.collect.reports import Bodies, Tally, checked_rows, checked_weights
from tacit.core import Loss
from tacit.errors import InvalidParameter
from tacit.mechanisms.limits import at_least
from tacit.noise import SYSTEM, IntArray, Source, uniform_integer


@dataclass(frozen=True, slots=True)
class EveryAttribute:
    """Report every attribute, each by a protocol of its own.

    Guarantee:    pure ε-DP with ε the sum of the parts', for neighbours that replace a person's whole record
                  (sequential composition).
    Sensitivity:  one report of each attribute a person.
    Error:        each part's own, at its part of the price: k attributes cost about k² in variance.
    Exactness:    the parts'.
    Reference:    Dwork et al., TCC 2006; Nguyên et al., arXiv 1606.05053.
    """

    parts: tuple[Any, ...]

    def __post_init__(self) -> None:
        _some(self.parts)

    @property
    def width(self) -> int:
        """Bytes of a report: the parts' one after another."""
        return sum(part.width for part in self.parts)

    def loss(self) -> Loss:
        """What one report costs: all parts together."""
        return sum((part.loss() for part in self.parts), Loss(0))

    def encode(self, values: Sequence[Any], source: Source = SYSTEM) -> Bodies:
        """One report for each person; `values` has a column for each attribute."""
        columns = _columns(values, self.parts)
        return np.concatenate(
            [part.encode(column, source) for part, column in zip(self.parts, columns, strict=True)], axis=1
        )

    def tallies(self, bodies: Bodies, weights: IntArray | None = None) -> list[Tally]:
        """A tally for each attribute."""
        rows = checked_rows(bodies, self.width)
        ends = np.cumsum([part.width for part in self.parts])
        columns = np.split(rows, ends[:-1], axis=1)
        return [part.tally(column, weights) for part, column in zip(self.parts, columns, strict=True)]


@dataclass(frozen=True, slots=True)
class OneAttribute:
    """Report one attribute, drawn evenly, at the whole price.

    Guarantee:    pure ε-DP with ε the largest of the parts', for neighbours that replace a person's whole record: which
                  attribute it is does not depend on the record.
    Sensitivity:  one report a person.
    Error:        each part's own, from one k-th of the people: k attributes cost about k in variance.
    Exactness:    the parts'; the attribute is drawn evenly.
    Reference:    Wang et al., ICDE 2019; Nguyên et al., arXiv 1606.05053.
    """

    parts: tuple[Any, ...]

    def __post_init__(self) -> None:
        _some(self.parts)

    @property
    def width(self) -> int:
        """Bytes of a report: the attribute's number, then as many as the longest part needs."""
        longest: int = max(part.width for part in self.parts)
        return bytes_for(len(self.parts)) + longest

    def loss(self) -> Loss:
        """What one report costs: the dearest part."""
        return Loss(max(part.loss().epsilon for part in self.parts))

    def encode(self, values: Sequence[Any], source: Source = SYSTEM) -> Bodies:
        """One report for each person; `values` has a column for each attribute."""
        columns = [np.asarray(column) for column in _columns(values, self.parts)]
        people = int(columns[0].shape[0])
        chosen = uniform_integer(len(self.parts), people, source=source)
        first = bytes_for(len(self.parts))
        reports = np.zeros((people, self.width), dtype=np.uint8)
        reports[:, :first] = to_rows(chosen, first)
        for number, (part, column) in enumerate(zip(self.parts, columns, strict=True)):
            rows = np.flatnonzero(chosen == number)
            if rows.size:
                reports[rows, first : first + part.width] = part.encode(column[rows], source)
        return reports

    def tallies(self, bodies: Bodies, weights: IntArray | None = None) -> list[Tally]:
        """A tally for each attribute; a report of no attribute is counted as dropped by the first."""
        rows = checked_rows(bodies, self.width)
        times = checked_weights(weights, rows.shape[0])
        first = bytes_for(len(self.parts))
        chosen = from_rows(rows[:, :first])
        tallies = []
        for number, part in enumerate(self.parts):
            mine = chosen == number
            body, rest = rows[mine, first : first + part.width], rows[mine, first + part.width :]
            clean = ~rest.any(axis=1)
            spoilt = int(times[mine][~clean].sum())
            tallies.append(part.tally(body[clean], times[mine][clean]).with_dropped(spoilt))
        nowhere = int(times[chosen >= len(self.parts)].sum())
        return [tallies[0].with_dropped(nowhere), *tallies[1:]]


def _some(parts: tuple[Any, ...]) -> None:
    if not isinstance(parts, tuple) or not all(hasattr(part, "width") and hasattr(part, "tally") for part in parts):
        raise InvalidParameter("the attributes are not protocols: a tuple of them is expected")
    at_least(len(parts), 1, what="the number of attributes")


def _columns(values: Sequence[Any], parts: tuple[Any, ...]) -> list[Any]:
    columns = list(values)
    lengths = {len(column) for column in columns}
    if len(columns) != len(parts) or len(lengths) > 1:
        raise InvalidParameter(
            f"the records do not fit: {len(parts)} columns of the same length are expected",
            hint="give one column for each attribute, in the order of the parts",
        )
    return columns
