"""An answer as a picture: where each bar, whisker, point and mark goes, as shares of the width. Templates draw it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from fractions import Fraction

from tacit.curator import Release
from tacit.curator.forms.cells import in_one_line, plain, with_error

MOST_BARS = 60
_LEAST_POINTS = 8  # over time a line is drawn for as many; fewer are bars
_HUGE = 1e300


@dataclass(frozen=True, slots=True)
class PlacedBar:
    """One row: from where to where its bar and its whisker go, as shares of the width; None where it has none."""

    label: str
    text: str
    start: float = 0.0
    width: float = 0.0
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class PlacedPoint:
    """One point of a line with its band, as shares of width and height; the height counts from above."""

    x: float
    y: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class AxisMark:
    """A round number on an axis, and where it stands."""

    at: float
    text: str


@dataclass(frozen=True, slots=True)
class AnswerFigure:
    """One aggregate, as bars or as a line over time."""

    title: str
    bars: tuple[PlacedBar, ...] = ()
    points: tuple[PlacedPoint, ...] = ()
    zero: float = 0.0
    marks: tuple[AxisMark, ...] = ()
    ends: tuple[str, str] = ("", "")  # of a line: its first and its last key
    left_out: int = 0

    @property
    def line(self) -> str:
        """The points as SVG wants them, in a box of 100 by 100."""
        return " ".join(f"{100 * point.x:.3f},{100 * point.y:.3f}" for point in self.points)

    @property
    def band(self) -> str:
        """The outline of the band between lows and highs, as SVG wants it, in the same box."""
        upper = [f"{100 * point.x:.3f},{100 * point.high:.3f}" for point in self.points]
        lower = [f"{100 * point.x:.3f},{100 * point.low:.3f}" for point in reversed(self.points)]
        return " ".join([*upper, *lower])


@dataclass(frozen=True, slots=True)
class _Row:
    label: str
    key: tuple[object, ...]
    value: float | None
    low: float
    high: float
    text: str


def figures(release: Release) -> tuple[AnswerFigure, ...]:
    """A figure of every noisy column that holds numbers; none of an answer without rows."""
    noisy = set(release.numbers)
    keys = release.keys
    if keys is None:
        keys = tuple(index for index in range(len(release.columns)) if index not in noisy)
    drawn = (_figure(release, column, keys) for column in sorted(noisy - set(keys)))
    return tuple(figure for figure in drawn if figure is not None)


def placed_bars(title: str, rows: Sequence[tuple[str, float, str]]) -> AnswerFigure:
    """Bars without whiskers: exact numbers, such as what was spent on each day."""
    placed = [_Row(label, (label,), value, value, value, text) for label, value, text in rows]
    return _bars(title, placed, whiskers=False)


def placed_intervals(title: str, rows: Sequence[tuple[str, float, tuple[float, float], str]]) -> AnswerFigure:
    """Bars with the interval that each is in."""
    return _bars(title, [_Row(label, (label,), value, *ends, text) for label, value, ends, text in rows])


def _figure(release: Release, column: int, keys: Sequence[int]) -> AnswerFigure | None:
    rows = list(_rows(release, column, keys))
    if not any(row.value is not None for row in rows):
        return None
    title = release.columns[column]
    if len(keys) == 1 and len(rows) >= _LEAST_POINTS and all(_ordinal(row.key[0]) is not None for row in rows):
        return _line(title, sorted(rows, key=lambda row: _ordinal(row.key[0]) or 0.0))
    return _bars(title, rows)


def _rows(release: Release, column: int, keys: Sequence[int]) -> Iterator[_Row]:
    for row, errors in zip(release.rows, release.errors, strict=True):
        key = tuple(row[index] for index in keys)
        label = " · ".join(in_one_line(with_error(cell, None)) for cell in key)
        error = errors[column]
        width = abs(error) if error is not None and math.isfinite(error) else 0.0
        value = _number(row[column])
        ends = (0.0, 0.0) if value is None else (value - width, value + width)
        yield _Row(label, key, value, *ends, in_one_line(with_error(row[column], error)))


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | Fraction):
        return None
    shown = plain(value)
    number = float(shown) if not isinstance(shown, int) or abs(shown) < _HUGE else math.inf
    return number if math.isfinite(number) and abs(number) < _HUGE else None


def _ordinal(key: object) -> float | None:
    """Where on a line of time a key stands; None where it is no time."""
    if isinstance(key, datetime):
        return key.replace(tzinfo=None).timestamp() if key.year > 1970 else None
    return float(key.toordinal()) if isinstance(key, date) else None


def _bars(title: str, rows: Sequence[_Row], *, whiskers: bool = True) -> AnswerFigure:
    shown = rows[:MOST_BARS]
    low, high = _ends(shown)

    def at(value: float) -> float:
        return (value - low) / (high - low)

    bars = []
    for row in shown:
        if row.value is None:
            bars.append(PlacedBar(row.label, row.text))
            continue
        start, end = sorted((at(0.0), at(row.value)))
        reach = (at(row.low), at(row.high)) if whiskers else (None, None)
        bars.append(PlacedBar(row.label, row.text, start, end - start, *reach))
    return AnswerFigure(title, bars=tuple(bars), zero=at(0.0), left_out=len(rows) - len(shown))


def _line(title: str, rows: Sequence[_Row]) -> AnswerFigure:
    known = [row for row in rows if row.value is not None]
    low, high = _ends(known)
    first, last = (_ordinal(row.key[0]) or 0.0 for row in (known[0], known[-1]))

    def y(value: float) -> float:
        return (high - value) / (high - low)

    points = tuple(
        PlacedPoint(
            ((_ordinal(row.key[0]) or 0.0) - first) / ((last - first) or 1.0),
            y(row.value or 0.0),
            y(row.low),
            y(row.high),
        )
        for row in known
    )
    marks = tuple(AxisMark(y(mark), f"{mark:,.10g}") for mark in round_marks(low, high))
    return AnswerFigure(title, points=points, marks=marks, zero=y(0.0), ends=(known[0].label, known[-1].label))


def _ends(rows: Sequence[_Row]) -> tuple[float, float]:
    """From where to where the axis goes: zero is always on it."""
    known = [row for row in rows if row.value is not None]
    low = min([0.0, *(row.low for row in known)])
    high = max([0.0, *(row.high for row in known)])
    return (low, high) if high > low else (0.0, 1.0)


def round_marks(low: float, high: float, *, about: int = 4) -> list[float]:
    """A few round numbers between two ends."""
    rough = (high - low) / about
    size = 10.0 ** math.floor(math.log10(rough))
    step = next((size * factor for factor in (1, 2, 5) if size * factor >= rough), size * 10)
    return [mark * step for mark in range(math.ceil(low / step), math.floor(high / step) + 1)]
