"""Make a column of its values: in which order they stand, how far apart, and what is not known among them."""

from __future__ import annotations

import datetime
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

import numpy as np

from tacit.errors import InvalidParameter
from tacit.release.anonymise.values.columns import Column, HierarchyLevel
from tacit.release.anonymise.values.grids import grid_of
from tacit.release.anonymise.values.hierarchy import Hierarchy, Order, plain
from tacit.release.anonymise.values.tuples import Floats, Ints

MISSING = "(missing)"  # how a cell reads whose value is not known


@dataclass(frozen=True, slots=True)
class Ends:
    """How the owner wants intervals to end: beyond `bottom` and `top` in one cell, else on a grid.

    `apart`: cells must not overlap, so that values are put on the grid before they are cut, and not after.
    """

    bottom: object = None
    top: object = None
    grid: object = None
    apart: bool = False

    @property
    def open(self) -> bool:
        """Whether there is neither a bottom nor a top."""
        return self.bottom is None and self.top is None


FREE = Ends()


def column(
    name: str, values: Sequence[object], *, counts: Ints, hierarchy: Hierarchy | None, ends: Ends = FREE
) -> tuple[Column, Ints]:
    """A column of these different values, and the code of each. Values at or beyond an end share its code.

    Numbers and dates are in their own order. Categories are in that of their hierarchy, and where there is none the
    most frequent comes first; either way the order is published with the table. What is not known, nulls and what is
    no number, is one value more: a category of its own, in no interval of numbers and in no group of a hierarchy.
    """
    if not ends.open and hierarchy is not None:  # a band of 80-90 would hold those above 90, too
        raise InvalidParameter(
            f"{name}: a top or a bottom does not go with a hierarchy", hint="write bands with an open edge: 60,80,+"
        )
    if ends.grid is not None and hierarchy is not None:
        raise InvalidParameter(f"{name}: a grid does not go with a hierarchy, whose groups end where it says")
    known = [index for index, value in enumerate(values) if not is_missing(value)]
    coded, codes = _known(
        name, [values[index] for index in known], counts=counts[known], hierarchy=hierarchy, ends=ends
    )
    if len(known) == len(values):
        return coded, codes
    every = np.full(len(values), coded.size, dtype=np.int64)
    every[known] = codes
    lost = int(counts.sum() - counts[known].sum())
    if coded.numeric or coded.climbs or isinstance(hierarchy, Order):
        return _with_missing(coded), every
    return _among_categories(coded, every, lost=lost, weight=np.bincount(codes, weights=counts[known]).astype(float))


def is_missing(value: object) -> bool:
    """Whether a value is a null, or no number."""
    return value is None or value != value  # noqa: PLR0124 - NaN is what differs from itself


def _known(
    name: str, values: Sequence[object], *, counts: Ints, hierarchy: Hierarchy | None, ends: Ends
) -> tuple[Column, Ints]:
    if not values:
        empty: Ints = np.empty(0, dtype=np.int64)
        return Column(name, (), np.empty(0), False, (), climbs=hierarchy is not None), empty
    order = None if hierarchy is None else hierarchy.ordered(values)
    if order is None and all(map(_is_number, values)):
        return _ordered_numbers(name, values, hierarchy=hierarchy, ends=ends)
    if not ends.open:
        raise InvalidParameter(f"{name}: only numbers and dates have a top and a bottom")
    if ends.grid is not None:
        raise InvalidParameter(f"{name}: only numbers and dates have a grid")
    if order is None:
        order = sorted(range(len(values)), key=lambda index: (-int(counts[index]), str(values[index])))
    chosen = [values[index] for index in order]
    codes = np.empty(len(values), dtype=np.int64)
    codes[order] = np.arange(len(values))
    scale = np.arange(len(values)) / max(len(values) - 1, 1)
    levels = _levels(name, chosen, hierarchy, scale)
    climbs = hierarchy is not None and not isinstance(hierarchy, Order)
    return Column(name, tuple(map(str, chosen)), scale, False, levels, climbs=climbs), codes


def _with_missing(coded: Column) -> Column:
    """One code more, the last: as far from every value as the whole column reaches."""
    word = _word(coded.text)
    if coded.numeric:
        scale = np.append(coded.scale, coded.scale[-1] + 1)
        points = None if coded.points is None else np.append(coded.points, np.nan)
    else:
        scale, points = np.arange(coded.size + 1) / max(coded.size, 1), None
    levels = []
    for level in coded.levels:
        group = np.append(level.group, len(level.label))
        first, last = np.append(level.first, coded.size), np.append(level.last, coded.size)
        levels.append(
            HierarchyLevel(group, (*level.label, _word(level.label)), scale[last] - scale[first], first, last)
        )
    return replace(
        coded, text=(*coded.text, word), scale=scale, levels=tuple(levels), points=points, gapped=coded.numeric
    )


def _among_categories(coded: Column, codes: Ints, *, lost: int, weight: Floats) -> tuple[Column, Ints]:
    """What is not known is a category like the others: it stands where its frequency puts it."""
    index = int(np.count_nonzero(weight >= lost))
    moved = np.where(codes == coded.size, index, codes + (codes >= index))
    text = (*coded.text[:index], _word(coded.text), *coded.text[index:])
    scale = np.arange(len(text)) / max(len(text) - 1, 1)
    return Column(coded.name, text, scale, False, ()), moved


def _word(taken: Sequence[str]) -> str:
    """A word for what is not known, that no value reads like."""
    word = MISSING
    while word in taken:
        word = f"({word})"
    return word


def _ordered_numbers(
    name: str, values: Sequence[object], *, hierarchy: Hierarchy | None, ends: Ends
) -> tuple[Column, Ints]:
    bottom, top = ends.bottom, ends.top
    dates = isinstance(values[0], datetime.date)
    for end in (bottom, top):
        _refuse_end(name, end, dates=dates)
    positions = np.array([_place(value) for value in values])
    lowest = _place(bottom) if bottom is not None else -np.inf
    highest = _place(top) if top is not None else np.inf
    if not lowest < highest:
        raise InvalidParameter(f"{name}: the bottom must lie below the top")
    held = np.clip(positions, lowest, highest)
    reach = float(held.max() - held.min())
    grid = grid_of(name, values, span=reach, wanted=ends.grid) if hierarchy is None else None
    binned = ends.apart and grid is not None
    ends_at = (lowest, highest)  # one cell each already
    if grid is not None and binned:
        held = np.array([position if position in ends_at else grid.begin(position) for position in held.tolist()])
    points, first, codes = np.unique(held, return_index=True, return_inverse=True)
    if ends.open and not binned and points.size < len(values):
        raise InvalidParameter(f"{name}: it holds numbers too large to tell apart", hint="make it text")
    kept: list[object] = [values[int(position)] for position in first]
    low = bottom is not None and bool(points[0] == lowest) and bool((positions <= lowest).any())
    high = top is not None and bool(points[-1] == highest)
    if low:
        kept[0] = bottom
    if high:
        kept[-1] = top
    span = points[-1] - points[0]
    scale = (points - points[0]) / span if span > 0 else np.zeros(points.size)
    text = [_text(value) for value in kept]
    if low:
        text[0] = f"<={text[0]}"
    if high:
        text[-1] = f"{text[-1]}+"
    levels = _levels(name, kept, hierarchy, scale)
    coded = Column(
        name, tuple(text), scale, True, levels, low, high, points, dates, hierarchy is not None, grid, binned
    )
    if binned:
        alone = coded.cells(np.arange(coded.size), np.arange(coded.size))
        coded = replace(coded, text=tuple(alone.text()))
    return coded, codes.astype(np.int64)


def _levels(
    name: str, values: Sequence[object], hierarchy: Hierarchy | None, scale: Floats
) -> tuple[HierarchyLevel, ...]:
    if hierarchy is None:
        return ()
    levels: list[HierarchyLevel] = []
    for labels in hierarchy.levels(values, name):
        begins = np.array([True, *(one != other for one, other in zip(labels[1:], labels, strict=False))])
        group = np.cumsum(begins) - 1
        names = tuple(np.array(labels, dtype=object)[begins])
        if len(set(names)) < len(names):
            raise InvalidParameter(f"{name}: a group of its hierarchy is not in one piece")
        if levels and any(
            np.unique(group[levels[-1].group == number]).size > 1 for number in range(len(levels[-1].label))
        ):
            raise InvalidParameter(f"{name}: a level of its hierarchy cuts through groups of the one below")
        first, last = np.flatnonzero(begins), np.append(np.flatnonzero(begins)[1:], len(labels)) - 1
        levels.append(HierarchyLevel(group, names, scale[last] - scale[first], first, last))
    return tuple(levels)


def _refuse_end(name: str, end: object, *, dates: bool) -> None:
    """A top or a bottom is of the column's own kind: 80 is no date, and a date is no age."""
    if end is None or (_is_number(end) and isinstance(end, datetime.date) == dates and math.isfinite(_place(end))):
        return
    kind = "dates, and its top and bottom are" if dates else "numbers, and its top and bottom are"
    raise InvalidParameter(f"{name}: it holds {kind}, too: got {end!r}")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | Decimal | datetime.date) and not isinstance(value, bool)


def _place(value: object) -> float:
    if isinstance(value, datetime.datetime):
        return value.replace(tzinfo=value.tzinfo or datetime.UTC).timestamp() / 86_400
    if isinstance(value, datetime.date):
        return float(value.toordinal() - datetime.date(1970, 1, 1).toordinal())
    return float(value)  # type: ignore[arg-type]  # a number: the caller has looked


def _text(value: object) -> str:
    if isinstance(value, datetime.date):
        return value.isoformat()
    return plain(float(value)) if isinstance(value, float | Decimal) else str(value)
