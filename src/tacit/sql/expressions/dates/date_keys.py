"""The public values of a date that is a key: every bin between its ends."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime

import numpy as np

from tacit.policy import ColumnType
from tacit.sql.expressions.dates.instants import Instant

_MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}


def bins_of(instant: Instant, *, most: int) -> tuple[date, ...] | None:
    """All that a bounded moment can be, in order; None where there are more than `most`."""
    if instant.unbounded is not None:
        return None
    if isinstance(instant.bins, str):
        bins = list(_months(instant, _MONTHS[instant.bins], most=most))
    else:
        if (instant.high - instant.low) // instant.bins >= most:
            return None
        bins = moments(instant.kind, instant.low, instant.high, apart=instant.bins)
    return tuple(bins) if len(bins) <= most else None


def _months(instant: Instant, width: int, *, most: int) -> Iterator[date]:
    first, last = instant.ends
    for index in range(first.year * 12 + first.month - 1, last.year * 12 + last.month, width):
        if index > first.year * 12 + first.month - 1 + width * most:
            return
        year, month = divmod(index, 12)
        if instant.kind is ColumnType.DATE:
            yield date(year, month + 1, 1)
        else:
            yield datetime(year, month + 1, 1)  # noqa: DTZ001 - zoneless, as columns are


def moments(kind: ColumnType, low: int, high: int, *, apart: int) -> list[date]:
    """Every moment so many days or seconds after the one before, all at once: there may be tens of thousands."""
    unit = "datetime64[D]" if kind is ColumnType.DATE else "datetime64[s]"
    listed: list[date] = np.arange(low, high + 1, apart).astype(unit).tolist()
    return listed
