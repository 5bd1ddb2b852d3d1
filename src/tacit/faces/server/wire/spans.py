"""Spans of time as PostgreSQL's settings spell them: `5000`, `5s`, `1min`, `2h`, `1d`."""

from __future__ import annotations

import re

_SPAN = re.compile(r"\s*(\d{1,12}(?:\.\d{0,6})?)\s*(us|ms|s|min|h|d)?\s*")
_SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86_400.0}
_MOST = 2**31 / 1000  # seconds: the setting is a whole number of milliseconds, of 32 bits


def seconds(written: str) -> float:
    """The seconds of a span; a bare number is of milliseconds. Raises ValueError where it is none."""
    if written == "0":
        return 0.0
    match = _SPAN.fullmatch(written.strip("'\""))
    span = -1.0 if match is None else float(match[1]) * _SECONDS[match[2] or "ms"]
    if not 0 <= span < _MOST:
        raise ValueError(written)
    return span


def spelled(span: float) -> str:
    """The span as SHOW writes it: in the largest unit of which it is a whole number."""
    milliseconds = round(span * 1000)
    if milliseconds == 0:
        return "0"
    for unit in ("d", "h", "min", "s"):
        size = round(_SECONDS[unit] * 1000)
        if milliseconds % size == 0:
            return f"{milliseconds // size}{unit}"
    return f"{milliseconds}ms"
