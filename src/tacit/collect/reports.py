"""What every local protocol offers: reports that leave a device, tallies that add up, estimates at home."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from typing import Protocol as Interface

import numpy as np
from numpy.typing import NDArray

from tacit.collect.estimates import Estimate
from tacit.core import Loss
from tacit.errors import InvalidParameter
from tacit.noise import SYSTEM, IntArray, Source

Bodies = NDArray[np.uint8]  # rows: one report each, of the protocol's width in bytes
Values = int | Sequence[int] | IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Tally:
    """What reports add up to: exact whole numbers, so tallies of parts add up to the tally of the whole.

    `counts` is the protocol's own; `reports` were counted in; `dropped` were malformed or out of range.
    """

    counts: NDArray[Any]  # 64-bit whole numbers, or Python's own where those would overflow
    reports: int
    dropped: int = 0

    def __add__(self, other: Tally) -> Tally:
        if self.counts.shape != other.counts.shape:
            raise InvalidParameter("the tallies do not fit together: they come from different protocols")
        return Tally(self.counts + other.counts, self.reports + other.reports, self.dropped + other.dropped)

    def with_dropped(self, more: int) -> Tally:
        """The same tally, with more reports known to have been dropped on the way."""
        return Tally(self.counts, self.reports, self.dropped + more)


class Protocol(Interface):
    """A local protocol: what leaves a device is private already, whoever collects it."""

    @property
    def width(self) -> int:
        """How many bytes the body of a report has."""

    def loss(self) -> Loss:
        """What one report costs the person who sends it; neighbours replace that person's value."""

    def encode(self, values: Values, source: Source = SYSTEM) -> Bodies:
        """One report for each value, as its device would send it."""

    def tally(self, bodies: Bodies, weights: IntArray | None = None) -> Tally:
        """Add up reports, each counted `weights` times where they are given; those that cannot be are dropped."""

    def estimate(self, tally: Tally) -> Estimate:
        """What the reports say of the people who sent them."""


def checked_rows(bodies: Bodies, width: int) -> Bodies:
    """Bodies as rows of the right width; the door in `messages` lets no others through."""
    rows = np.asarray(bodies)
    if rows.ndim != 2 or rows.shape[1] != width or rows.dtype != np.uint8:
        raise InvalidParameter(
            f"the reports do not fit the protocol: rows of {width} bytes are expected",
            hint="open messages with tacit.collect.open_messages, which drops and counts what does not fit",
        )
    return rows


def checked_weights(weights: IntArray | None, rows: int) -> IntArray:
    """How often each report counts: once, unless said otherwise."""
    if weights is None:
        return np.ones(rows, dtype=np.int64)
    counts = np.asarray(weights)
    if counts.shape != (rows,) or counts.dtype.kind not in "iu" or (counts.size and int(counts.min()) < 0):
        raise InvalidParameter("the weights do not fit: one whole number, not negative, is needed for each report")
    return counts.astype(np.int64, copy=False)


def blocks(rows: int, *, cells: int, most: int = 1 << 17) -> Iterator[slice]:
    """Slices of rows with about `most` cells each, so that what is worked on stays in cache."""
    step = max(1, most // max(1, cells))
    for start in range(0, rows, step):
        yield slice(start, min(rows, start + step))
