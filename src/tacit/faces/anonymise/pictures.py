"""Pictures as SVG text: how large the classes are, and what each column loses."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

WIDTH = 680
_LABEL, _NUMBER = 150, 120
MOST_BARS = 28


def class_sizes(sizes: Sequence[tuple[int, int]], *, k: int | None) -> str:
    """How many rows are in classes of each size; a line where k is."""
    bars = _gathered(sizes)
    height, left, bottom, top = 230, 52, 190, 26
    most = max(rows for _, _, rows in bars)
    step = (WIDTH - left - 12) / len(bars)
    parts = [_line(left, bottom, WIDTH - 12, bottom, kind="grid")]
    for share in (0.5, 1.0):
        y = bottom - share * (bottom - top)
        parts.append(_line(left, y, WIDTH - 12, y, kind="grid"))
        parts.append(_text(left - 6, y + 4, f"{most * share:,.0f}", anchor="end", kind="axis"))
    for index, (low, high, rows) in enumerate(bars):
        x, tall = left + index * step, rows / most * (bottom - top)
        title = f"<title>{rows:,} rows in classes of {low if low == high else f'{low} to {high}'}</title>"
        parts.append(
            f'<rect class="private" x="{x + 1:.1f}" y="{bottom - tall:.1f}" width="{max(step - 2, 1):.1f}"'
            f' height="{tall:.1f}" rx="1">{title}</rect>'
        )
        if index % max(1, len(bars) // 8) == 0:
            parts.append(_text(x + step / 2, bottom + 16, f"{low:,}", anchor="middle", kind="axis"))
    if k is not None:
        before = sum(high < k for _, high, _ in bars)
        x = left + before * step
        parts.append(_line(x, top - 18, x, bottom, kind="true"))
        parts.append(_text(x + 6, top - 10, f"k = {k}", anchor="start", kind="stop"))
    parts.append(_text((left + WIDTH) / 2, height - 8, "rows in the class", anchor="middle", kind="axis"))
    return _svg(parts, height, label="rows by the size of their class")


def losses(columns: Sequence[tuple[str, float, float]]) -> str:
    """For each column the mean loss of a cell, and beside it the share of its entropy that is gone."""
    left, right, row = _LABEL + 8, WIDTH - _NUMBER, 30
    scale = right - left
    parts = []
    for index, (name, ncp, entropy) in enumerate(columns):
        top = 8 + index * row
        parts.append(_text(_LABEL, top + 14, name, anchor="end"))
        parts.append(f'<rect class="left" x="{left}" y="{top}" width="{scale}" height="18" rx="2"/>')
        parts.append(f'<rect class="private" x="{left}" y="{top}" width="{ncp * scale:.1f}" height="10" rx="1"/>')
        parts.append(f'<rect class="gone" x="{left}" y="{top + 10}" width="{entropy * scale:.1f}" height="8" rx="1"/>')
        parts.append(_text(right + 10, top + 13, f"{ncp:.1%} / {entropy:.1%}", anchor="start", kind="number"))
    return _svg(parts, 14 + len(columns) * row, label="what each column loses")


def _gathered(sizes: Sequence[tuple[int, int]]) -> list[tuple[int, int, int]]:
    """(least size, largest size, rows), few enough to be drawn: each bar as wide a range as the next, in ratio."""
    if len(sizes) <= MOST_BARS:
        return [(size, size, size * number) for size, number in sizes]
    low, high = sizes[0][0], sizes[-1][0]
    ratio = (high / low) ** (1 / MOST_BARS)
    gathered: list[tuple[int, int, int]] = []
    edge = float(low)
    begin: int | None = None
    for size, number in sizes:
        if begin is None or size > edge:
            begin = size
            while edge <= size:
                edge *= ratio
            gathered.append((size, size, size * number))
        else:
            first, _, rows = gathered[-1]
            gathered[-1] = (first, size, rows + size * number)
    return gathered


def _svg(parts: Sequence[str], height: float, *, label: str) -> str:
    box = f'viewBox="0 0 {WIDTH} {height:.0f}" role="img" aria-label="{escape(label)}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {box}>{"".join(parts)}</svg>'


def _line(x1: float, y1: float, x2: float, y2: float, *, kind: str) -> str:
    return f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def _text(x: float, y: float, text: str, *, anchor: str, kind: str = "label") -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'
