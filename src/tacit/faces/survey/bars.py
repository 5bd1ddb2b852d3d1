"""An interval as a small picture in text."""

from __future__ import annotations

from tacit.collect.surveys import EstimatedShare

_CELLS = 40


def bar(one: EstimatedShare, *, lowest: float, highest: float) -> str:
    """A small picture in text: the interval as a line, the estimate as a dot."""

    def cell(value: float) -> int:
        inside = min(max(value, lowest), highest)
        return round((inside - lowest) / (highest - lowest) * (_CELLS - 1))

    marks = [" "] * _CELLS
    for index in range(cell(one.low), cell(one.high) + 1):
        marks[index] = "─"
    marks[cell(one.value)] = "●"
    return "│" + "".join(marks) + "│"
