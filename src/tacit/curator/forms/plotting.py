"""Pictures of an answer: each aggregate with its error bars, over time where a key is a date, else over the keys."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeVar, cast

from tacit.curator.forms.cells import in_one_line, plain
from tacit.curator.forms.extras import needs
from tacit.errors import InvalidParameter

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

T = TypeVar("T")
COLOURS = ("#3b6ea8", "#c8553d", "#5a8f5a", "#8c6bb1", "#c99a2e", "#4f9da6", "#a05a7c", "#6b6b6b")
STYLES = ("-", "--", ":", "-.")  # of lines, once the colours are used up
_INK = "#333333"
_LONGEST_LABEL = 32
_MOST_LABELS = 40  # on one axis: of more than that every second, third … is written
_UPRIGHT = (8, 60)  # bars stand where there are at most so many labels, of so many letters together
_MOST_BESIDE = len(COLOURS)  # groups beside each other in one place, or lines in one picture


@dataclass(frozen=True, slots=True)
class Picture:
    """An answer, the indices of the columns that are keys, and a line that says what it cost.

    `exact` are those that are neither keys nor measured, as GROUPING() is: they are drawn where they are named.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]
    errors: tuple[tuple[float | None, ...], ...]
    keys: tuple[int, ...]
    caption: str
    exact: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class PlottedValue:
    """One number of one aggregate: over what it stands, in which series, and how far off it may be."""

    over: object
    series: str
    value: float
    error: float


def draw(picture: Picture, names: Sequence[str], *, ax: Axes | None = None) -> Figure:
    """The figure: one set of axes for each aggregate, those named or all of them."""
    pyplot = needs("matplotlib.pyplot", extra="plot")
    drawn = {index: marks for index in _aggregates(picture, names) if (marks := _marks(picture, index))}
    if not drawn:
        raise InvalidParameter("the answer has no number to draw", hint="print it, or take to_pandas()")
    if ax is not None and len(drawn) > 1:
        raise InvalidParameter(
            f"one set of axes does not hold {len(drawn)} aggregates",
            hint=f'name one: plot("{picture.columns[-1]}", ax=ax)',
        )
    lying = _lies(next(iter(drawn.values())))
    if ax is None:
        shape = (1, len(drawn)) if lying else (len(drawn), 1)
        figure, grid = pyplot.subplots(
            *shape, figsize=_size(drawn, lying=lying), layout="constrained", squeeze=False, sharey=lying
        )
        figure.suptitle(picture.caption, fontsize="small", color=_INK)
    else:
        figure, grid = ax.figure, [[ax]]
    for (index, marks), axes in zip(drawn.items(), (axes for row in grid for axes in row), strict=True):
        _panel(axes, marks, name=_label(picture.columns[index]), lying=lying)
        _name_keys(axes, picture, index, lying=lying)
    return cast("Figure", figure)


def _name_keys(axes: Axes, picture: Picture, index: int, *, lying: bool) -> None:
    """The names of the keys: on their axis, where it is an outer one, and above the legend."""
    over, others = _parts(picture, index)
    spec = axes.get_subplotspec()
    outer = spec is None or (spec.is_first_col() if lying else spec.is_last_row())
    if over is not None and outer:
        (axes.set_ylabel if lying else axes.set_xlabel)(_label(picture.columns[over]))
    legend = axes.get_legend()
    if legend is not None:
        legend.set_title(" · ".join(_label(picture.columns[key]) for key in others))


def _aggregates(picture: Picture, names: Sequence[str]) -> list[int]:
    for name in names:
        if name not in picture.columns:
            raise InvalidParameter(
                f"the answer has no column {name!r}", hint=f"it has {', '.join(map(in_one_line, picture.columns))}"
            )
    wanted = [index for index in range(len(picture.columns)) if index not in (*picture.keys, *picture.exact)]
    if names:
        return [picture.columns.index(name) for name in names]
    return wanted or [index for index in picture.keys[-1:] if _all_numbers([row[index] for row in picture.rows])]


# ── what is drawn ────────────────────────────────────────────────────────────────────────────────────────────────────


def _marks(picture: Picture, index: int) -> list[PlottedValue]:
    """The numbers of one column, over the date among the keys, the only number, or the first of them."""
    over, others = _parts(picture, index)
    timed = over is not None and _is_time([row[over] for row in picture.rows])
    marks = []
    for row, errors in zip(picture.rows, picture.errors, strict=True):
        if timed and row[over or 0] is None:  # a total: it is of no day
            continue
        series = " · ".join(_label(row[key]) for key in others)
        at = "all" if over is None else row[over]
        marks += _numbers(row[index], errors[index], over=at, series=series)
    if not timed and len({mark.series for mark in marks}) > _MOST_BESIDE:
        return [PlottedValue(f"{_label(mark.over)} · {mark.series}", "", mark.value, mark.error) for mark in marks]
    return marks


def _parts(picture: Picture, index: int) -> tuple[int | None, list[int]]:
    """What a column is drawn over: the first key that is a date, else the first; and the keys that make the series."""
    keys = [key for key in picture.keys if key != index]
    times = [key for key in keys if _is_time([row[key] for row in picture.rows])]
    over = next(iter(times or keys), None)
    return over, [key for key in keys if key != over]


def _numbers(value: object, error: float | None, *, over: object, series: str) -> list[PlottedValue]:
    """A number is one mark, a histogram has one for each of its values, and what is no number has none."""
    if isinstance(value, dict):
        lead = "" if over == "all" else f"{_label(over)} · "
        return [PlottedValue(f"{lead}{_label(key)}", series, _float(count), 0) for key, count in value.items()]
    if value is None or (isinstance(value, (int, float)) and not isinstance(value, bool)):
        return [PlottedValue(over, series, _float(value), _float(error or 0))]
    return []


def _float(value: object) -> float:
    try:
        number = math.nan if value is None else float(str(value))
    except (ValueError, OverflowError):
        return math.nan
    return number if math.isfinite(number) else math.nan


def _is_time(values: Sequence[object]) -> bool:
    there = [value for value in values if value is not None]
    return len(there) > 1 and all(isinstance(value, date) for value in there)


def _all_numbers(values: Sequence[object]) -> bool:
    return bool(values) and all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values)


def _label(value: object) -> str:
    """A key as a label: short, on one line, and no mathematics; that of a total is a dash."""
    text = "–" if value is None else in_one_line(str(plain(value)))
    if len(text) > _LONGEST_LABEL:  # long keys often differ at their end
        text = f"{text[: _LONGEST_LABEL // 2]}…{text[-_LONGEST_LABEL // 2 + 1 :]}"
    return text.replace("$", r"\$") or "''"


# ── how it is drawn ──────────────────────────────────────────────────────────────────────────────────────────────────


def _panel(axes: Axes, marks: Sequence[PlottedValue], *, name: str, lying: bool) -> None:
    if _is_time([mark.over for mark in marks]):
        _lines(axes, marks)
    else:
        _bars(axes, marks, lying=lying)
    (axes.set_xlabel if lying else axes.set_ylabel)(name)
    from matplotlib.ticker import FuncFormatter

    (axes.xaxis if lying else axes.yaxis).set_major_formatter(FuncFormatter(lambda number, _: f"{number:,.10g}"))
    axes.spines[["top", "right"]].set_visible(False)
    handles, labels = axes.get_legend_handles_labels()
    if labels:
        axes.legend(handles, labels, frameon=False, fontsize="small")


def _lines(axes: Axes, marks: Sequence[PlottedValue]) -> None:
    """A line for each series, and a band as wide as its error bars."""
    dates = needs("matplotlib.dates", extra="plot")
    for number, series in enumerate(_different([mark.series for mark in marks])):
        mine = sorted((mark for mark in marks if mark.series == series), key=lambda mark: str(plain(mark.over)))
        when, values = [mark.over for mark in mine], [mark.value for mark in mine]
        colour, style = COLOURS[number % len(COLOURS)], STYLES[number // len(COLOURS) % len(STYLES)]
        axes.plot(when, values, color=colour, linestyle=style, marker="o", markersize=3, label=_named(series))  # type: ignore[arg-type]  # dates
        low, high = ([mark.value + sign * mark.error for mark in mine] for sign in (-1, 1))
        axes.fill_between(when, low, high, color=colour, alpha=0.2, linewidth=0)  # type: ignore[arg-type]  # dates
    locator = dates.AutoDateLocator()
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(dates.ConciseDateFormatter(locator))


def _bars(axes: Axes, marks: Sequence[PlottedValue], *, lying: bool) -> None:
    """Bars over the keys, those of several series beside each other; lying where the labels need the room."""
    positions = _different([mark.over for mark in marks])
    series = _different([mark.series for mark in marks])
    numeric = len(series) == 1 and _all_numbers(positions) and len(positions) > _UPRIGHT[0]
    at: dict[object, float] = {value: _float(value) if numeric else index for index, value in enumerate(positions)}
    gap = min((b - a for a, b in pairwise(sorted(at.values()))), default=1)
    width = 0.8 * gap / len(series)
    for number, one in enumerate(series):
        mine = [mark for mark in marks if mark.series == one]
        where = [at[mark.over] + (number - (len(series) - 1) / 2) * width for mark in mine]
        values, errors = [mark.value for mark in mine], [mark.error for mark in mine]
        look: dict[str, Any] = {
            "color": COLOURS[number % len(COLOURS)],
            "label": _named(one),
            "capsize": 2,
            "ecolor": _INK,
        }
        if lying:
            axes.barh(where, values, height=width, xerr=errors, **look)
        else:
            axes.bar(where, values, width=width, yerr=errors, **look)
    if not numeric:
        step = -(-len(positions) // _MOST_LABELS)
        labels = [_label(value) for value in positions[::step]]
        room = max(0.0, 3 - len(positions)) / 2  # or a lone bar would fill the picture
        if lying:
            axes.set_yticks(range(0, len(positions), step), labels)
            axes.set_ylim(len(positions) - 0.4 + room, -0.6 - room)  # read from the top
        else:
            axes.set_xticks(range(0, len(positions), step), labels)
            axes.set_xlim(-0.6 - room, len(positions) - 0.4 + room)


def _named(series: str) -> str:
    """A name for the legend, which leaves out what has none and what begins with an underscore."""
    return f"\u200b{series}" if series.startswith("_") else series or "_"


def _different(values: Sequence[T]) -> list[T]:
    return list(dict.fromkeys(values))


def _lies(marks: Sequence[PlottedValue]) -> bool:
    """Whether bars lie: their labels would run into each other."""
    values = _different([mark.over for mark in marks])
    many, letters = _UPRIGHT
    if _is_time(values) or (_all_numbers(values) and len(_different([mark.series for mark in marks])) == 1):
        return False
    return len(values) > many or sum(len(_label(index)) for index in values) > letters


def _size(drawn: dict[int, list[PlottedValue]], *, lying: bool) -> tuple[float, float]:
    """Width and height in inches: lying bars need height for each of them."""
    if not lying:
        return 7.0, 0.8 + 3.0 * len(drawn)
    marks = next(iter(drawn.values()))
    return 2.5 + 3.5 * len(drawn), 1.2 + 0.26 * min(len(marks), 3 * _MOST_LABELS)
