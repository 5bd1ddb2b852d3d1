"""Pictures as SVG text: estimates with their intervals, and what an observer can learn."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from tacit.collect import Learnt
from tacit.collect.surveys.findings import Findings

_STYLE = (
    "<style>text{font:13px system-ui,'DejaVu Sans',sans-serif;fill:#1c2430}.soft{fill:#5b6675;font-size:12px}"
    ".grid{stroke:#dde3ea}.whisker{stroke:#1c2430;stroke-width:1.5}.bar{fill:#3b6ea8}.even{stroke:#5b6675;"
    "stroke-dasharray:4 4}.up{stroke:#c8541b;fill:none;stroke-width:2.5}.down{stroke:#3b6ea8;fill:none;"
    "stroke-width:2.5}.one{fill:#c8541b}.two{fill:#3b6ea8}</style>"
)


def estimates(estimated: Findings) -> str:
    """A bar for each answer, or for the mean, with a whisker for its interval."""
    width, label, right = 680, 150, 150
    ends = _ends(estimated)
    height = 60 + 30 * len(estimated.findings)

    def x(value: float) -> float:
        return label + 10 + (value - ends[0]) / (ends[1] - ends[0]) * (width - label - right - 20)

    parts = [_text(10, 20, estimated.survey.question, kind="")]
    for index, one in enumerate(estimated.findings):
        y = 50 + 30 * index
        begin, end = sorted((x(min(max(0.0, ends[0]), ends[1])), x(one.value)))
        shown = f"{one.value:,.4g}" if estimated.is_mean else f"{one.value:.1%}"
        parts += [
            _text(label, y + 5, one.label, anchor="end"),
            f'<rect class="bar" x="{begin:.1f}" y="{y - 8}" width="{max(1, end - begin):.1f}" height="16" rx="2"/>',
            _line(x(one.low), y, x(one.high), y, "whisker"),
            *(_line(x(edge), y - 5, x(edge), y + 5, "whisker") for edge in (one.low, one.high)),
            _text(width - right + 10, y + 5, shown),
        ]
    parts.append(
        _text(10, height - 8, f"{estimated.reports:,} reports, {estimated.confidence} confidence", kind="soft")
    )
    return _svg(parts, width, height)


def _ends(estimated: Findings) -> tuple[float, float]:
    bounds = estimated.survey.bounds
    low = min(one.low for one in estimated.findings)
    high = max(one.high for one in estimated.findings)
    if bounds is not None:
        return min(low, float(bounds.lower)), max(high, float(bounds.upper))
    return min(0.0, low), max(high, 0.1)


def beliefs(rows: Sequence[Learnt], *, title: str) -> str:
    """Prior against posterior: the upper curve after a report that speaks for it, the lower after one against."""
    size, margin = 420, 50

    def at(x: float, y: float) -> str:
        return f"{margin + x * (size - 2 * margin):.1f},{size - margin - y * (size - 2 * margin):.1f}"

    def curve(points: list[tuple[float, float]], kind: str) -> str:
        return f'<polyline class="{kind}" points="{" ".join(at(x, y) for x, y in points)}"/>'

    ordered = sorted(rows, key=lambda row: row.prior)
    parts = [_text(margin, 26, title)]
    for mark in (0, 0.25, 0.5, 0.75, 1):
        x, y = (float(part) for part in at(mark, mark).split(","))
        parts += [_line(margin, y, size - margin, y, "grid"), _line(x, margin, x, size - margin, "grid")]
        parts += [_text(x, size - margin + 18, f"{mark:.0%}", anchor="middle", kind="soft")]
        parts += [_text(margin - 6, y + 4, f"{mark:.0%}", anchor="end", kind="soft")]
    parts.append(curve([(0, 0), (1, 1)], "even"))
    parts.append(curve([(0, 0), *((float(r.prior), float(r.highest)) for r in ordered), (1, 1)], "up"))
    parts.append(curve([(0, 0), *((float(r.prior), float(r.lowest)) for r in ordered), (1, 1)], "down"))
    parts.append(_text(margin + 14, margin + 20, "after a report that speaks for it", kind="one"))
    parts.append(
        _text(size - margin - 8, size - margin - 12, "after one that speaks against it", anchor="end", kind="two")
    )
    parts.append(_text(size / 2, size - 10, "believed before", anchor="middle", kind="soft"))
    return _svg(parts, size, size)


def _svg(parts: Sequence[str], width: int, height: int) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">'
        f'{_STYLE}<rect width="100%" height="100%" fill="#fff"/>{"".join(parts)}</svg>\n'
    )


def _line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    return f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def _text(x: float, y: float, text: str, *, anchor: str = "start", kind: str = "") -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'
