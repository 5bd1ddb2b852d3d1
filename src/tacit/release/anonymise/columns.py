"""A quasi-identifier in whole numbers: its values in order, where each lies on the scale of loss, how cells read."""

from __future__ import annotations

import datetime
import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np

from tacit.errors import InvalidParameter
from tacit.release.anonymise.hierarchy import ANY, Hierarchy, plain
from tacit.release.anonymise.tuples import Floats, Ints

COUNTED = 1 << 17
BETWEEN = "|"  # stands between the categories of an interval


@dataclass(frozen=True, slots=True, eq=False)
class Level:
    """One level of a hierarchy over a column's values: the group of each value, and what a group is called.

    Groups are runs of neighbouring values, so a group's loss is the stretch of the scale it covers.
    """

    group: Ints  # of each value
    label: tuple[str, ...]  # of each group
    loss: Floats  # of each group
    first: Ints  # the codes a group runs from and to
    last: Ints


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """How the classes of a partition read in one column: the label, the loss, and the codes the label stands for."""

    names: tuple[str, ...]  # the different labels
    label: Ints  # of each class
    loss: Floats
    low: Ints
    high: Ints

    @classmethod
    def of(cls, labels: Sequence[str], *, loss: Floats, low: Ints, high: Ints) -> Cells:
        """From the label of each class."""
        names, label = numbered_labels(labels)
        return cls(names, label, loss, low, high)

    @classmethod
    def at(cls, level: Level, group: Ints) -> Cells:
        """The cells of these groups of a level."""
        labels = [level.label[code] for code in group.tolist()]
        return cls.of(labels, loss=level.loss[group], low=level.first[group], high=level.last[group])

    def text(self) -> list[str]:
        """The label of each class, in words."""
        return [self.names[place] for place in self.label.tolist()]


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """A quasi-identifier. A value's code is its place in `text`; `scale` runs from 0 to 1, or is 0 all over."""

    name: str
    text: tuple[str, ...]
    scale: Floats
    numeric: bool  # cells are ranges such as 180-190, not lists of categories
    levels: tuple[Level, ...]  # of its hierarchy, the finest first, the values themselves and `*` left out
    lowest: bool = False  # the first code stands for all values below it
    highest: bool = False  # and the last for all above
    points: Floats | None = None  # of numbers and dates: the values themselves, dates as days since 1970
    dates: bool = False

    @property
    def size(self) -> int:
        """How many different values there are."""
        return len(self.text)

    def cells(self, low: Ints, high: Ints) -> Cells:
        """How each interval of codes is published: as itself, or as the smallest group of the hierarchy around it."""
        if self.levels:
            return self._climbed(low, high)
        pairs, place = _distinct(low * self.size + high, self.size**2)
        labels = [self._interval(int(pair) // self.size, int(pair) % self.size) for pair in pairs]
        names, label = numbered_labels(labels)  # two intervals may read alike
        return Cells(names, label[place], self.scale[high] - self.scale[low], low, high)

    def means(self, codes: Ints, classes: Ints, *, weight: Ints) -> list[str]:
        """What stands for each class where one value shall: the mean of numbers, else the most frequent value."""
        number = int(classes.max()) + 1
        if self.points is None:
            seen = np.bincount(classes * self.size + codes, weights=weight, minlength=number * self.size)
            return [self.text[code] for code in seen.reshape(number, self.size).argmax(axis=1).tolist()]
        total = np.bincount(classes, weights=weight, minlength=number)
        mean = np.bincount(classes, weights=weight * self.points[codes], minlength=number) / total
        if self.dates:
            return [str(np.datetime64(round(day), "D")) for day in mean.tolist()]
        return [_mean(value) for value in mean.tolist()]

    def ladder(self) -> list[Level]:
        """Every level there is: the values, the hierarchy's, and `*`."""
        values = np.arange(self.size)
        bottom = Level(values, self.text, np.zeros(self.size), values, values)
        span = np.array([self.scale[-1] - self.scale[0]])
        top = Level(np.zeros_like(values), (ANY,), span, values[:1], values[-1:])
        return [bottom, *self.levels, top] if self.size > 1 else [bottom]

    def _climbed(self, low: Ints, high: Ints) -> Cells:
        labels = np.empty(low.size, dtype=object)
        loss, first, last = np.empty(low.size), np.empty_like(low), np.empty_like(low)
        for level in reversed(self.ladder()):
            inside = level.group[low] == level.group[high]
            group = level.group[low[inside]]
            labels[inside] = np.array(level.label, dtype=object)[group]
            loss[inside], first[inside], last[inside] = level.loss[group], level.first[group], level.last[group]
        return Cells.of(labels.tolist(), loss=loss, low=first, high=last)

    def _interval(self, low: int, high: int) -> str:
        if low == high:
            return self.text[low]
        first, last = low == 0, high == self.size - 1
        if not self.numeric:
            return ANY if first and last else BETWEEN.join(self.text[low : high + 1])
        if self.lowest and first:
            return ANY if self.highest and last else f"<={self.text[high]}"
        if self.highest and last:
            return f"{self.text[low]}+"
        signed = self.text[low].startswith("-") or self.text[high].startswith("-")
        apart = " to " if signed or "-" in self.text[low] else "-"  # dates have hyphens of their own
        return f"{self.text[low]}{apart}{self.text[high]}"


def _distinct(numbers: Ints, limit: int) -> tuple[Ints, Ints]:
    """The different numbers, all below `limit`, and the place of each one given: by counting where they are few."""
    if limit > COUNTED:
        found, place = np.unique(numbers, return_inverse=True)
        return found, place
    seen = np.zeros(limit, dtype=np.bool_)
    seen[numbers] = True
    return np.flatnonzero(seen), (np.cumsum(seen) - 1)[numbers]


def numbered_labels(labels: Sequence[str]) -> tuple[tuple[str, ...], Ints]:
    """The different labels, and the number of each one given."""
    place = {name: number for number, name in enumerate(dict.fromkeys(labels))}
    return tuple(place), np.array([place[label] for label in labels], dtype=np.int64)


def column(
    name: str, values: Sequence[object], *, counts: Ints, hierarchy: Hierarchy | None, ends: tuple[object, object]
) -> tuple[Column, Ints]:
    """A column of these different values, and the code of each. Values at or beyond an end share its code.

    Numbers and dates are in their own order. Categories are in that of their hierarchy, and where there is none the
    most frequent comes first; either way the order is published with the table.
    """
    order = None if hierarchy is None else hierarchy.ordered(values)
    if ends != (None, None) and hierarchy is not None:  # a band of 80-90 would hold those above 90, too
        raise InvalidParameter(
            f"{name}: a top or a bottom does not go with a hierarchy", hint="write bands with an open edge: 60,80,+"
        )
    if order is None and all(map(_is_number, values)):
        return _ordered_numbers(name, values, hierarchy=hierarchy, ends=ends)
    if ends != (None, None):
        raise InvalidParameter(f"{name}: only numbers and dates have a top and a bottom")
    if order is None:
        order = sorted(range(len(values)), key=lambda place: (-int(counts[place]), str(values[place])))
    chosen = [values[place] for place in order]
    codes = np.empty(len(values), dtype=np.int64)
    codes[order] = np.arange(len(values))
    scale = np.arange(len(values)) / max(len(values) - 1, 1)
    levels = _levels(name, chosen, hierarchy, scale)
    return Column(name, tuple(map(str, chosen)), scale, False, levels), codes


def _ordered_numbers(
    name: str, values: Sequence[object], *, hierarchy: Hierarchy | None, ends: tuple[object, object]
) -> tuple[Column, Ints]:
    bottom, top = ends
    dates = isinstance(values[0], datetime.date)
    for end in ends:
        _refuse_end(name, end, dates=dates)
    places = np.array([_place(value) for value in values])
    lowest = _place(bottom) if bottom is not None else -np.inf
    highest = _place(top) if top is not None else np.inf
    if not lowest < highest:
        raise InvalidParameter(f"{name}: the bottom must lie below the top")
    held = np.clip(places, lowest, highest)
    points, first, codes = np.unique(held, return_index=True, return_inverse=True)
    if ends == (None, None) and points.size < len(values):
        raise InvalidParameter(f"{name}: it holds numbers too large to tell apart", hint="make it text")
    kept: list[object] = [values[int(place)] for place in first]
    low = bottom is not None and bool(points[0] == lowest) and bool((places <= lowest).any())
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
    return Column(name, tuple(text), scale, True, levels, low, high, points, dates), codes.astype(np.int64)


def _levels(name: str, values: Sequence[object], hierarchy: Hierarchy | None, scale: Floats) -> tuple[Level, ...]:
    if hierarchy is None:
        return ()
    made: list[Level] = []
    for labels in hierarchy.levels(values, name):
        begins = np.array([True, *(one != other for one, other in zip(labels[1:], labels, strict=False))])
        group = np.cumsum(begins) - 1
        names = tuple(np.array(labels, dtype=object)[begins])
        if len(set(names)) < len(names):
            raise InvalidParameter(f"{name}: a group of its hierarchy is not in one piece")
        if made and any(np.unique(group[made[-1].group == number]).size > 1 for number in range(len(made[-1].label))):
            raise InvalidParameter(f"{name}: a level of its hierarchy cuts through groups of the one below")
        first, last = np.flatnonzero(begins), np.append(np.flatnonzero(begins)[1:], len(labels)) - 1
        made.append(Level(group, names, scale[last] - scale[first], first, last))
    return tuple(made)


def _refuse_end(name: str, end: object, *, dates: bool) -> None:
    """A top or a bottom is of the column's own kind: 80 is no date, and a date is no age."""
    if end is None or (_is_number(end) and isinstance(end, datetime.date) == dates and math.isfinite(_place(end))):
        return
    kind = "dates, and its top and bottom are" if dates else "numbers, and its top and bottom are"
    raise InvalidParameter(f"{name}: it holds {kind}, too: got {end!r}")


def _mean(value: float) -> str:
    """Six digits, and all of those before the point."""
    if value == 0 or not math.isfinite(value):
        return plain(value)
    return plain(round(value, max(0, 5 - math.floor(math.log10(abs(value))))))


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
