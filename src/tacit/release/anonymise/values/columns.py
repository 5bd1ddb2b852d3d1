"""A quasi-identifier in whole numbers: its values in order, where each lies on the scale of loss, how cells read."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from tacit.release.anonymise.values.grids import Grid
from tacit.release.anonymise.values.hierarchy import ANY, plain
from tacit.release.anonymise.values.tuples import Floats, Ints

COUNTED = 1 << 17
BETWEEN = "|"  # stands between the categories of an interval
_End = tuple[float, str, int]  # an end on the grid, how it reads, and the outermost code up to it


@dataclass(frozen=True, slots=True, eq=False)
class HierarchyLevel:
    """One level of a hierarchy over a column's values: the group of each value, and what a group is called.

    Groups are runs of neighbouring values, so a group's loss is the stretch of the scale it covers.
    """

    group: Ints  # of each value
    label: tuple[str, ...]  # of each group
    loss: Floats  # of each group
    first: Ints  # the codes a group runs from and to
    last: Ints


@dataclass(frozen=True, slots=True, eq=False)
class ClassLabels:
    """How the classes of a partition read in one column: the label, the loss, and the codes the label stands for."""

    names: tuple[str, ...]  # the different labels
    label: Ints  # of each class
    loss: Floats
    low: Ints
    high: Ints

    @classmethod
    def of(cls, labels: Sequence[str], *, loss: Floats, low: Ints, high: Ints) -> ClassLabels:
        """The labels that differ, and which of them each class has."""
        names, label = numbered_labels(labels)
        return cls(names, label, loss, low, high)

    @classmethod
    def at(cls, level: HierarchyLevel, group: Ints) -> ClassLabels:
        """The cells of these groups of a level."""
        labels = [level.label[code] for code in group.tolist()]
        return cls.of(labels, loss=level.loss[group], low=level.first[group], high=level.last[group])

    def text(self) -> list[str]:
        """The label of each class, in words."""
        return [self.names[index] for index in self.label.tolist()]


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """A quasi-identifier. A value's code is its place in `text`; `scale` runs from 0 to 1, or is 0 all over.

    What is not known lies 1 beyond the end of a scale of numbers: a cut between it and them gains most.
    """

    name: str
    text: tuple[str, ...]
    scale: Floats
    numeric: bool  # cells are ranges such as 180-190, not lists of categories
    levels: tuple[HierarchyLevel, ...]  # of its hierarchy, the finest first, the values themselves and `*` left out
    lowest: bool = False  # the first code stands for all values below it
    highest: bool = False  # and the last for all above
    points: Floats | None = None  # of numbers and dates: the values themselves, dates as days since 1970
    dates: bool = False
    climbs: bool = False  # cells are groups of its hierarchy, even where that has no level but `*`
    grid: Grid | None = None  # where the ends of its intervals may lie
    binned: bool = False  # its values are those of the grid already: one alone reads as an interval, too
    gapped: bool = False  # the last code stands for what is not known, which no interval of numbers holds

    @property
    def size(self) -> int:
        """How many different values there are."""
        return len(self.text)

    def cells(self, low: Ints, high: Ints) -> ClassLabels:
        """How each interval of codes is published: as itself, or as the smallest group of the hierarchy around it."""
        if self.climbs:
            return self._climbed(low, high)
        pairs, index = _distinct(low * self.size + high, self.size**2)
        ends = cache(self._begin), cache(self._end)  # there are far fewer ends than pairs of them
        cells = [self._cell(*divmod(pair, self.size), ends=ends) for pair in pairs.tolist()]
        names, label = numbered_labels([text for text, *_ in cells])  # two intervals may read alike
        loss = np.array([lost for _, lost, _, _ in cells], dtype=np.float64)
        first, last = (np.array([cell[end] for cell in cells], dtype=np.int64) for end in (2, 3))
        return ClassLabels(names, label[index], loss[index], first[index], last[index])

    def losses(self, low: Ints, high: Ints) -> Floats:
        """What each interval of codes loses: of its hierarchy's group, or, before its ends are rounded, of itself."""
        loss = np.minimum(self.scale[high] - self.scale[low], 1)
        if self.climbs:
            for level in reversed(self.ladder()):
                inside = level.group[low] == level.group[high]
                loss[inside] = level.loss[level.group[low[inside]]]
        return np.asarray(loss, dtype=np.float64)

    def means(self, codes: Ints, classes: Ints, *, weight: Ints) -> list[str]:
        """What stands for each class where one value shall: the mean of numbers, else the most frequent value."""
        number = int(classes.max()) + 1
        if self.points is None:
            seen = np.bincount(classes * self.size + codes, weights=weight, minlength=number * self.size)
            return [self.text[code] for code in seen.reshape(number, self.size).argmax(axis=1).tolist()]
        known = weight * ~np.isnan(self.points[codes])
        total = np.bincount(classes, weights=known, minlength=number)
        sums = np.bincount(classes, weights=known * np.nan_to_num(self.points[codes]), minlength=number)
        mean = sums / np.maximum(total, 1)
        read = [str(np.datetime64(round(day), "D")) if self.dates else _mean(day) for day in mean.tolist()]
        return [word if there else self.text[-1] for word, there in zip(read, total.tolist(), strict=True)]

    def ladder(self) -> list[HierarchyLevel]:
        """Every level there is: the values, the hierarchy's, and `*`."""
        values = np.arange(self.size)
        bottom = HierarchyLevel(values, self.text, np.zeros(self.size), values, values)
        span = np.minimum(self.scale[-1:] - self.scale[:1], 1)
        top = HierarchyLevel(np.zeros_like(values), (ANY,), span, values[:1], values[-1:])
        return [bottom, *self.levels, top] if self.size > 1 else [bottom]

    def _climbed(self, low: Ints, high: Ints) -> ClassLabels:
        labels = np.empty(low.size, dtype=object)
        loss, first, last = np.empty(low.size), np.empty_like(low), np.empty_like(low)
        for level in reversed(self.ladder()):
            inside = level.group[low] == level.group[high]
            group = level.group[low[inside]]
            labels[inside] = np.array(level.label, dtype=object)[group]
            loss[inside], first[inside], last[inside] = level.loss[group], level.first[group], level.last[group]
        return ClassLabels.of(labels.tolist(), loss=loss, low=first, high=last)

    def _cell(
        self, low: int, high: int, *, ends: tuple[Callable[[int], _End], Callable[[int], _End]]
    ) -> tuple[str, float, int, int]:
        """How an interval of codes reads, what it loses, and the codes it then stands for."""
        last = self.size - 1
        if low == high and not (self.binned and self._inside(low)):
            return self.text[low], 0.0, low, high
        if not self.numeric:
            text = ANY if low == 0 and high == last else BETWEEN.join(self.text[low : high + 1])
            return text, float(self.scale[high] - self.scale[low]), low, high
        if self.gapped and high == last:
            return ANY, 1.0, 0, last
        if self.grid is None or self.points is None:
            return self._between(self.text[low], self.text[high], low, high)
        (begin, begin_text, first), (end, end_text, final) = ends[0](low), ends[1](high)
        return self._between(begin_text, end_text, first, final, ends=(begin, end))

    def _begin(self, code: int) -> _End:
        """Where an interval from this code on begins, of a column with a grid."""
        if self.grid is None or self.points is None:
            raise TypeError("a column without a grid has no such ends")
        points = self.points[: self.size - self.gapped]
        begin = self.grid.begin(float(points[code]))
        first = int(np.searchsorted(points, begin))
        if code > 0:  # what lies beyond a bottom has a cell of its own, and this is not it
            first = max(min(first, code), int(self.lowest))
        return begin, self.grid.text(begin), first

    def _end(self, code: int) -> _End:
        """Where an interval up to this code ends, of a column with a grid."""
        if self.grid is None or self.points is None:
            raise TypeError("a column without a grid has no such ends")
        points = self.points[: self.size - self.gapped]
        end = self.grid.end(float(points[code]), full=self.binned)
        final = int(np.searchsorted(points, end, side="right")) - 1
        if code < points.size - 1:
            final = min(max(final, code), points.size - 1 - int(self.highest))
        return end, self.grid.text(end), final

    def _between(
        self, begin: str, end: str, low: int, high: int, *, ends: tuple[float, float] | None = None
    ) -> tuple[str, float, int, int]:
        """An interval in words. Of its range it loses what lies between its ends."""
        below, above = self.lowest and low == 0, self.highest and high == self.size - 1 - self.gapped
        loss = float(self.scale[high] - self.scale[low])
        if ends is not None and self.points is not None:
            least, most = float(self.points[0]), float(self.points[self.size - 1 - self.gapped])
            if most > least:
                loss = (min(ends[1], most) - max(ends[0], least)) / (most - least)
        if below or above:
            text = ANY if below and above else f"<={end}" if below else f"{begin}+"
            return text, loss, low, high
        if begin == end:  # one whole number is all that its step holds
            return begin, loss, low, high
        signed = begin.startswith("-") or end.startswith("-")
        apart = " to " if signed or "-" in begin else "-"  # dates have hyphens of their own
        return f"{begin}{apart}{end}", loss, low, high

    def _open(self, code: int) -> bool:
        """Whether a code stands for all beyond a top or a bottom."""
        return (self.lowest and code == 0) or (self.highest and code == self.size - 1 - self.gapped)

    def _inside(self, code: int) -> bool:
        return self.numeric and not self._open(code) and not (self.gapped and code == self.size - 1)


def _distinct(numbers: Ints, limit: int) -> tuple[Ints, Ints]:
    """The different numbers, all below `limit`, and the place of each one given: by counting where they are few."""
    if limit > COUNTED:
        values, index = np.unique(numbers, return_inverse=True)
        return values, index
    seen = np.zeros(limit, dtype=np.bool_)
    seen[numbers] = True
    return np.flatnonzero(seen), (np.cumsum(seen) - 1)[numbers]


def numbered_labels(labels: Sequence[str]) -> tuple[tuple[str, ...], Ints]:
    """The different labels, and the number of each one given."""
    index = {name: number for number, name in enumerate(dict.fromkeys(labels))}
    return tuple(index), np.array([index[label] for label in labels], dtype=np.int64)


def _mean(value: float) -> str:
    """Six digits, and all of those before the point."""
    if value == 0 or not math.isfinite(value):
        return plain(value)
    return plain(round(value, max(0, 5 - math.floor(math.log10(abs(value))))))
