"""Cells that come as text, as Python values of the policy's kinds. None of these can fail on a cell."""

from __future__ import annotations

from datetime import UTC, date, datetime
from fractions import Fraction


def number(text: str) -> int | float | Fraction:
    """An exact number; one that is none (NaN, Infinity) is a float."""
    try:
        exact = Fraction(text)
    except ValueError:
        return float(text)
    return exact.numerator if exact.denominator == 1 else exact


def day(text: str) -> date | str:
    """A date; one that Python cannot hold (BC, after 9999, infinity) stays text."""
    try:
        return date.fromisoformat(text)
    except ValueError:
        return text


def moment(text: str) -> datetime | str:
    """A timestamp without a zone, in UTC if it had one; one that Python cannot hold stays text."""
    if len(text.partition(".")[2].partition("+")[0]) > 6:  # Python would cut nanoseconds off and make two keys one
        return text
    try:
        found = datetime.fromisoformat(text)
        return found if found.tzinfo is None else found.astimezone(UTC).replace(tzinfo=None)
    except (ValueError, OverflowError):
        return text
