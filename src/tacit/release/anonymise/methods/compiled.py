"""Greedy Mondrian one group at a time: for a compiler where there is one, and for k alone."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import TypeVar

import numpy as np

from tacit.release.anonymise.values.tuples import Codes, Floats, Ints, Tuples

F = TypeVar("F", bound=Callable[..., object])
FEW = 40


def compiled(function: F) -> F:
    """The function in machine code, kept beside its source; as it is where numba is not installed."""
    if find_spec("numba") is None:
        return function
    fast: F = import_module("numba").njit(cache=True)(function)
    return fast


def split(tuples: Tuples, scales: list[Floats], *, k: int, small: int) -> Ints:
    """The class of each tuple: the same cuts as `halving` and `refining` make."""
    table = np.zeros((len(scales), max(scale.size for scale in scales)))
    for index, scale in enumerate(scales):
        table[index, : scale.size] = scale
    points = np.stack([scale[codes] for scale, codes in zip(scales, tuples.codes, strict=True)], axis=1)
    codes = np.ascontiguousarray(tuples.codes)
    return _split(codes, tuples.size, np.ascontiguousarray(points), table, max(k, 1), small)


@compiled
def _split(codes: Codes, size: Ints, points: Floats, scales: Floats, k: int, small: int) -> Ints:
    number = size.size
    order, classes = np.arange(number), np.empty(number, dtype=np.int64)
    spare = np.empty(number, dtype=np.int64)
    begins, ends = np.empty(number + 1, dtype=np.int64), np.empty(number + 1, dtype=np.int64)
    begins[0], ends[0] = 0, number
    waiting, count = 1, 0
    while waiting > 0:
        waiting -= 1
        begin, end = begins[waiting], ends[waiting]
        ids = order[begin:end]
        column, last = -1, 0
        if size[ids].sum() >= 2 * k and ids.size > 1:
            if ids.size > small:
                column, last = _coarse(codes, size, scales, ids, k)
            if column < 0:
                column, last = _fine(codes, size, points, ids, k)
        if column < 0:
            classes[ids] = count
            count += 1
            continue
        middle = _parted(codes[column], order, spare, begin, end, last)
        begins[waiting], ends[waiting] = middle, end  # the left side is taken up first, and numbered first
        begins[waiting + 1], ends[waiting + 1] = begin, middle
        waiting += 2
    return classes


@compiled
def _parted(codes: Codes, order: Ints, spare: Ints, begin: int, end: int, last: int) -> int:
    """Put those up to `last` first; where the others begin."""
    left, right = begin, 0
    for index in range(begin, end):
        one = order[index]
        if codes[one] <= last:
            order[left] = one
            left += 1
        else:
            spare[right] = one
            right += 1
    order[left:end] = spare[:right]
    return left


@compiled
def _coarse(codes: Codes, size: Ints, scales: Floats, ids: Ints, k: int) -> tuple[int, int]:
    """The cut beside a median that shrinks its own column most: its column and the last code on the left."""
    best, cut, at = 0.0, -1, 0
    for column in range(codes.shape[0]):
        mine, scale = codes[column], scales[column]
        heights = np.zeros(scale.size, dtype=np.int64)
        low, high, total = scale.size, -1, 0
        for one in ids:
            code = mine[one]
            heights[code] += size[one]
            total += size[one]
            low, high = min(low, code), max(high, code)
        median, upto = low, heights[low]
        while 2 * upto < total:
            median += 1
            upto += heights[median]
        for left in (upto, upto - heights[median]):
            if left < k or total - left < k:
                continue
            inside, outside = median, median + 1
            if left < upto:
                inside, outside = median - 1, median
            while heights[inside] == 0:
                inside -= 1
            while heights[outside] == 0:
                outside += 1
            gain = total * (scale[high] - scale[low]) - left * (scale[inside] - scale[low])
            gain -= (total - left) * (scale[high] - scale[outside])
            if gain > best:
                best, cut, at = gain, column, inside
    return cut, at


@compiled
def _fine(codes: Codes, size: Ints, points: Floats, ids: Ints, k: int) -> tuple[int, int]:
    """The cut that leaves the least loss on all columns: its column and the last code on the left."""
    number = ids.size
    before, after = np.empty(number), np.empty(number)
    total = size[ids].sum()
    _widths(points, ids, before)
    best, cut, at = total * before[number - 1] * (1 - 1e-6), -1, 0
    for column in range(codes.shape[0]):
        mine = codes[column][ids]
        if mine.min() == mine.max():
            continue
        order = ids[_order(mine)]
        _widths(points, order, before)
        _widths(points, order[::-1], after)
        left = 0
        for index in range(number - 1):
            left += size[order[index]]
            code = codes[column, order[index]]
            if code == codes[column, order[index + 1]] or left < k or total - left < k:
                continue
            cost = left * before[index] + (total - left) * after[number - 2 - index]
            if cost < best:
                best, cut, at = cost, column, code
    return cut, at


@compiled
def _order(codes: Codes) -> Ints:
    """The places of these codes in rising order; few are sorted by insertion, which is what few are sorted best by."""
    if codes.size > FEW:
        return np.argsort(codes, kind="mergesort")
    order = np.arange(codes.size)
    for index in range(1, codes.size):
        one = order[index]
        back = index
        while back > 0 and codes[order[back - 1]] > codes[one]:
            order[back] = order[back - 1]
            back -= 1
        order[back] = one
    return order


@compiled
def _widths(points: Floats, ids: Ints, out: Floats) -> None:
    """The sum of the intervals of the first, the first two, … of these tuples."""
    low, high = points[ids[0]].copy(), points[ids[0]].copy()
    for index in range(ids.size):
        total = 0.0
        for column in range(points.shape[1]):
            point = points[ids[index], column]
            low[column] = min(low[column], point)
            high[column] = max(high[column], point)
            total += high[column] - low[column]
        out[index] = total
