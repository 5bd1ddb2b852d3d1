"""A value of an answer as text: for people, for JSON, for a terminal, for a spreadsheet."""

from __future__ import annotations

import math
import re
from datetime import date, datetime
from fractions import Fraction
from typing import Any

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]|\r(?!\n)")
_NUMBER = r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?"
_BLANK = "\t\n\v\f\r \x1c-\x1f\x85\xa0\u1680\u2000-\u200b\u2028\u2029\u202f\u205f\u3000\ufeff"
# what Excel, Calc or Sheets would begin to work out; spelled so that Python and the engines' RE2 read it alike
FORMULA = f"^[{_BLANK}]*[=+@＝＋－＠-]|^[\t\r\n]"
HARMLESS = rf"{_NUMBER}( to {_NUMBER})?"  # the whole of it: a number, or an interval as anonymised tables have them


def real(value: object) -> Any:
    """A value that data frames know: fractions are floats, dates stay dates."""
    if isinstance(value, Fraction):
        return _float(value)
    if isinstance(value, (list, tuple)):
        return [real(item) for item in value]
    if isinstance(value, dict):
        return {str(plain(name)): real(item) for name, item in value.items()}
    return value


def plain(value: object) -> Any:
    """A value that JSON and CSV know: as `real`, and dates are text."""
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {str(plain(name)): plain(item) for name, item in value.items()}
    return real(value)


def with_error(value: object, error: float | None) -> str:
    """A cell as a person reads it: the number, rounded as its error bar asks for, and the error bar."""
    if isinstance(value, float) and not error:
        return f"{value:,.4f}".rstrip("0").rstrip(".")
    if isinstance(value, float) and error is not None:
        decimals = max(0, min(6, 2 - len(str(int(abs(error))).lstrip("0"))))
        return f"{value:,.{decimals}f} ± {error:,.{decimals}f}"
    if isinstance(value, int) and not isinstance(value, bool) and error is not None:
        return f"{value:,} ± {error:,.0f}"
    if isinstance(value, date) and error is not None:  # counted in days, or in seconds where there is a time of day
        size, unit = (error / 86_400, "days") if isinstance(value, datetime) else (error, "days")
        if isinstance(value, datetime) and size < 1:
            size, unit = error / 3_600, "hours"
        return f"{plain(value)} ± {size:,.1f} {unit}"
    return "NULL" if value is None else str(plain(value))


def visible(text: str) -> str:
    """A text whose control characters, which a terminal would obey, are spelled out; line ends and tabs stay."""
    return _CONTROL.sub(lambda match: match[0].encode("unicode_escape").decode("ascii"), text)


def in_one_line(text: str) -> str:
    """The text on one line, control characters made visible: a cell must not move the cursor or start a new line."""
    return "".join(mark if mark.isprintable() else mark.encode("unicode_escape").decode() for mark in text)


def in_one_text(written: str) -> str:
    """JSON without the control characters that JSON lets pass: spelled as JSON spells the others."""
    return _CONTROL.sub(lambda match: f"\\u{ord(match[0]):04x}", written)


def in_json(value: object) -> object:
    """JSON has no word for a key that is NaN or infinite."""
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def neutral(text: str) -> str:
    """A text as it may stand in a spreadsheet: one that would be taken for a formula has an apostrophe before it."""
    return f"'{text}" if re.search(FORMULA, text) and not re.fullmatch(HARMLESS, text) else text


def in_csv(value: object) -> object:
    """A cell of a CSV file: its text is `neutral`, and `visible` to a terminal."""
    return visible(neutral(value)) if isinstance(value, str) else value


def _float(number: Fraction) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf
