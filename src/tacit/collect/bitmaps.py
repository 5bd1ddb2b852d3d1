"""Rows of bits packed into bytes, lowest bit first."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacit.collect.reports import Bodies, blocks
from tacit.errors import InvalidParameter
from tacit.mechanisms.limits import at_least
from tacit.noise import IntArray

MOST_VALUES = 1 << 20


def listed(domain: int) -> int:
    """How many values there are, each with a bit of its own: not more than a device would send."""
    if at_least(domain, 2, what="the number of values") > MOST_VALUES:
        raise InvalidParameter(
            f"the domain is too large: a report would have {domain} bits, of at most {MOST_VALUES}",
            hint="use LocalHash or Hadamard, whose reports are short",
        )
    return domain


def packed(bits: NDArray[np.bool_]) -> Bodies:
    """Rows of bits as rows of bytes; what is left of the last byte is zero."""
    return np.packbits(bits, axis=1, bitorder="little")


def unpacked(rows: Bodies, bits: int) -> NDArray[np.uint8]:
    """Rows of zeros and ones."""
    return np.unpackbits(rows, axis=1, count=bits, bitorder="little")


def tidy(rows: Bodies, bits: int) -> NDArray[np.bool_]:
    """Which rows have nothing but zeros after their last bit."""
    spare = -bits % 8
    return (rows[:, -1] >> np.uint8(8 - spare)) == 0 if spare else np.ones(rows.shape[0], dtype=np.bool_)


def column_sums(rows: Bodies, bits: int, *, weights: IntArray | None = None) -> IntArray:
    """How many rows have each bit, each row counted `weights` times."""
    total = np.zeros(bits, dtype=np.int64)
    for part in blocks(rows.shape[0], cells=bits, most=1 << 20):
        ones = unpacked(rows[part], bits)
        if weights is None:
            total += ones.sum(axis=0, dtype=np.uint16)
        else:
            total += weights[part] @ ones.astype(np.int64)
    return total


def sums_by_group(rows: Bodies, group: IntArray, *, groups: int, bits: int, weights: IntArray | None) -> IntArray:
    """Rows: groups; columns: how many of the group's reports have each bit; the last column: how many there are."""
    table = np.zeros((groups, bits + 1), dtype=np.int64)
    small = group.astype(np.uint16) if groups <= 1 << 16 else group  # small numbers are sorted by counting
    order = np.argsort(small, kind="stable")
    edges = np.concatenate(([0], np.cumsum(np.bincount(group, minlength=groups))))
    for number in np.flatnonzero(np.diff(edges)).tolist():
        mine = order[edges[number] : edges[number + 1]]
        times = None if weights is None else weights[mine]
        table[number, :-1] = column_sums(rows[mine], bits, weights=times)
        table[number, -1] = mine.size if times is None else times.sum()
    return table
