"""Pictures as SVG text, drawn by hand: bars with error bars and the truth beside them, a budget, two running means."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

WIDTH = 680
_ROW, _BAR, _LABEL, _TEXT = 26, 14, 120, 150  # heights of a row and a bar, widths of labels and numbers


@dataclass(frozen=True, slots=True)
class Bar:
    """One group: its private value, the half-width of its error bar, and the truth."""

    label: str
    value: float
    error: float
    truth: float
    text: str


def bars(series: Sequence[Bar], *, title: str) -> str:
    """Horizontal bars from zero, a whisker for the error, a line for the truth."""
    low = min(0.0, *(bar.value - bar.error for bar in series))
    high = max(0.0, *(max(bar.value + bar.error, bar.truth) for bar in series)) or 1.0
    left, right = _LABEL + 8, WIDTH - _TEXT

    def x(value: float) -> float:
        return left + (value - low) / (high - low) * (right - left)

    parts = [_text(left, 14, title, anchor="start", kind="axis")]
    for index, bar in enumerate(series):
        top = 24 + index * _ROW
        middle = top + _BAR / 2
        begin, end = sorted((x(0), x(bar.value)))
        parts.append(_text(_LABEL, middle + 4, bar.label, anchor="end"))
        parts.append(
            f'<rect class="private" x="{begin:.1f}" y="{top}" width="{end - begin:.1f}" height="{_BAR}" rx="2"/>'
        )
        parts.append(_whisker(x(bar.value - bar.error), x(bar.value + bar.error), middle))
        parts.append(_line(x(bar.truth), top - 3, x(bar.truth), top + _BAR + 3, kind="true"))
        parts.append(_text(right + 12, middle + 4, bar.text, anchor="start", kind="number"))
    return _svg(parts, 24 + len(series) * _ROW + 4, label=f"{title}, private and true")


def _whisker(begin: float, end: float, middle: float) -> str:
    ends = (_line(at, middle - 4, at, middle + 4, kind="error") for at in (begin, end))
    return _line(begin, middle, end, middle, kind="error") + "".join(ends)


def budget(segments: Sequence[tuple[str, float]], *, cap: float, name: str) -> str:
    """What each question took of a budget: numbered pieces of one bar, and what is left."""
    left, right, top, height = _LABEL + 8, WIDTH - _TEXT, 10, 24
    scale = (right - left) / cap
    parts = [
        _text(_LABEL, top + 16, name, anchor="end"),
        f'<rect class="left" x="{left}" y="{top}" width="{right - left}" height="{height}" rx="3"/>',
    ]
    at = float(left)
    for number, price in segments:
        width = price * scale
        parts.append(
            f'<rect class="spent" x="{at:.1f}" y="{top}" width="{max(0.5, width - 1):.1f}" height="{height}"/>'
        )
        if width > 14:
            parts.append(_text(at + width / 2, top + 16, number, anchor="middle", kind="inside"))
        at += width
    spent = sum(price for _, price in segments)
    parts.append(_text(right + 12, top + 16, f"{spent:.3g} of {cap:g} spent", anchor="start", kind="number"))
    return _svg(parts, 44, label=f"budget of {name}")


def running_means(ours: Sequence[float], theirs: Sequence[float], *, truth: float, reach: float, stop: str) -> str:
    """Two running means over the number of answers, on a logarithmic axis, and the truth they are after.

    `reach` is how far the last of ours may be off, and is drawn as its error bar.
    """
    height, left, right, top, bottom = 300, 56, WIDTH - 20, 16, 256
    span = max(abs(ours[-1] - truth) + reach, *(abs(mean - truth) for mean in (*ours, *theirs[4:]))) * 1.05
    most = math.log10(len(theirs))

    def x(count: int) -> float:
        return left + math.log10(count) / most * (right - left)

    def y(mean: float) -> float:
        inside = min(max(mean, truth - span), truth + span)
        return top + (truth + span - inside) / (2 * span) * (bottom - top)

    parts = []
    for power in range(int(most) + 1):
        parts.append(_line(x(10**power), top, x(10**power), bottom, kind="grid"))
        parts.append(_text(x(10**power), bottom + 18, f"{10**power:,}", anchor="middle", kind="axis"))
    for mean in _round_marks(truth - span, truth + span):
        parts.append(_line(left, y(mean), right, y(mean), kind="grid"))
        parts.append(_text(left - 8, y(mean) + 4, f"{mean:g}", anchor="end", kind="axis"))
    parts.append(_line(left, y(truth), right, y(truth), kind="true"))
    parts.append(_path([(x(i), y(mean)) for i, mean in _thinned(theirs)], kind="theirs"))
    parts.append(_path([(x(i + 1), y(mean)) for i, mean in enumerate(ours)], kind="ours"))
    end = (x(len(ours)), y(ours[-1]))
    parts.append(_line(end[0], y(ours[-1] - reach), end[0], y(ours[-1] + reach), kind="error"))
    parts.append(f'<circle class="end" cx="{end[0]:.1f}" cy="{end[1]:.1f}" r="5"/>')
    parts.append(_text(end[0] + 12, y(ours[-1] + reach) + 12, stop, anchor="start", kind="stop"))
    parts.append(_text((left + right) / 2, height - 6, "answers averaged", anchor="middle", kind="axis"))
    return _svg(parts, height, label="the averaging attack")


def _thinned(means: Sequence[float]) -> list[tuple[int, float]]:
    """Enough points for a logarithmic axis."""
    counts = sorted({round(10 ** (step / 60)) for step in range(int(60 * math.log10(len(means))) + 1)})
    return [(count, means[count - 1]) for count in counts if count <= len(means)]


def _round_marks(low: float, high: float) -> list[float]:
    size = 10 ** math.floor(math.log10((high - low) / 2))
    if (high - low) / size > 8:
        size *= 2.5 if size > 1 else 5
    return [mark * size for mark in range(math.ceil(low / size), math.floor(high / size) + 1)]


def _svg(parts: Sequence[str], height: float, *, label: str) -> str:
    box = f'viewBox="0 0 {WIDTH} {height:.0f}" role="img" aria-label="{escape(label)}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {box}>{"".join(parts)}</svg>'


def _line(x1: float, y1: float, x2: float, y2: float, *, kind: str) -> str:
    return f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def _path(points: Sequence[tuple[float, float]], *, kind: str) -> str:
    steps = " L".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<path class="{kind}" d="M{steps}"/>'


def _text(x: float, y: float, text: str, *, anchor: str, kind: str = "label") -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'
