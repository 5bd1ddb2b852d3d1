"""An answer as a small picture, drawn as SVG: a bar for each row, and a whisker for its error bar."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence

from tacit.curator.forms.cells import plain, real, visible, with_error

MOST = 30  # rows that a picture has
_WIDTH, _LABEL, _TEXT, _ROW, _BAR = 640, 150, 150, 22, 12
_LONGEST = 22  # letters of a label
_STYLE = "font:12px system-ui,sans-serif;max-width:100%;height:auto;color:inherit"  # a notebook may be light or dark


def chart(
    columns: Sequence[str],
    rows: Sequence[Sequence[object]],
    errors: Sequence[Sequence[float | None]],
    noisy: Sequence[int],
) -> str:
    """The first noisy number of each row as a bar, with its error bar; empty where there is none, or too many rows."""
    column = next((index for index in noisy if _all_numbers(rows, index)), None)
    if column is None or not 1 < len(rows) <= MOST:
        return ""
    keys = [index for index in range(len(columns)) if index not in noisy]
    marks = [_mark(row, widths, column, keys) for row, widths in zip(rows, errors, strict=True)]
    low = min(0.0, *(value - width for _, value, width, _ in marks))
    high = max(0.0, *(value + width for _, value, width, _ in marks))
    left, right, span = _LABEL + 8, _WIDTH - _TEXT, (high - low) or 1.0

    def x(value: float) -> float:
        return left + (value - low) / span * (right - left)

    parts = [_text(left, 14, columns[column], anchor="start")]
    for index, (label, value, width, said) in enumerate(marks):
        top = 22 + index * _ROW
        middle, (begin, end) = top + _BAR / 2, sorted((x(0), x(value)))
        parts.append(_text(_LABEL, middle + 4, label, anchor="end"))
        parts.append(
            f'<rect x="{begin:.1f}" y="{top}" width="{end - begin:.1f}" height="{_BAR}" rx="2" fill="#4c78a8"/>'
        )
        ends = x(value - width), x(value + width)
        lines = [(ends[0], middle, ends[1], middle), *((at, middle - 4, at, middle + 4) for at in ends)]
        parts += [
            f'<line x1="{a:.1f}" y1="{b:.1f}" x2="{c:.1f}" y2="{d:.1f}" stroke="currentColor"/>' for a, b, c, d in lines
        ]
        parts.append(_text(right + 10, middle + 4, said, anchor="start"))
    height = 22 + len(marks) * _ROW + 4
    return (
        f'<svg role="img" aria-label="{html.escape(columns[column])} with error bars" viewBox="0 0 {_WIDTH} {height}"'
        f' width="{_WIDTH}" style="{_STYLE}">{"".join(parts)}</svg>'
    )


def _mark(
    row: Sequence[object], widths: Sequence[float | None], index: int, keys: Sequence[int]
) -> tuple[str, float, float, str]:
    """A row's label, its number, the half-width of its error bar, and how a person reads them."""
    label = ", ".join("NULL" if row[key] is None else visible(str(plain(row[key]))) for key in keys)
    label = label if len(label) <= _LONGEST else label[: _LONGEST - 1] + "…"
    return label, float(real(row[index])), widths[index] or 0.0, with_error(row[index], widths[index])


def _all_numbers(rows: Sequence[Sequence[object]], index: int) -> bool:
    return all(
        isinstance(value := real(row[index]), (int, float)) and not isinstance(value, bool) and math.isfinite(value)
        for row in rows
    )


def _text(x: float, y: float, text: str, *, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="currentColor">{html.escape(text)}</text>'
