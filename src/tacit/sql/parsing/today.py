"""CURRENT_DATE and NOW(): when a question is asked, written into it before anything else reads it."""

from __future__ import annotations

import re
from datetime import date, datetime
from typing import TypeVar

from sqlglot import exp

T = TypeVar("T", bound=exp.Expression)

_NOW = frozenset(
    {"NOW", "GETDATE", "GETUTCDATE", "SYSDATETIME", "SYSUTCDATETIME", "GET_CURRENT_TIMESTAMP", "TRANSACTION_TIMESTAMP"}
)
_CALLED_NOW = (exp.CurrentTimestamp, exp.CurrentDatetime, exp.Localtimestamp)
_WORDS = re.compile(rf"{'|'.join(sorted(_NOW))}|CURRENT_|LOCALTIME", re.IGNORECASE)


def asked_at(text: str, now: datetime) -> date | datetime:
    """What of the clock a question can depend on: the day, and the minute where it may ask for the time."""
    return now.replace(second=0, microsecond=0) if _WORDS.search(text) else now.date()


def dated(select: T, now: datetime) -> T:
    """The question with its day and minute (UTC) in it: whoever asks again within the minute asks the same.

    An answer that is kept is kept for that day or minute, and no plan spans midnight.
    """
    today = now.date()
    for node in list(select.find_all(exp.CurrentDate, *_CALLED_NOW, exp.ToChar, exp.Anonymous)):
        if isinstance(node, exp.CurrentDate):
            if not node.this:  # in another time zone: refused later, by its name
                node.replace(_day(today))
        elif isinstance(node, exp.ToChar):  # whose format sqlglot would leave out: two of them would look alike
            parts = [part for part in (node.this, node.args.get("format")) if isinstance(part, exp.Expression)]
            node.replace(exp.Anonymous(this="TO_CHAR", expressions=parts))
        elif _is_now(node):
            node.replace(_minute(now))
        elif str(node.this).upper() == "AGE" and len(node.expressions) == 1:
            node.set("expressions", [_day(today), *node.expressions])
    return select


def _is_now(node: exp.Expr) -> bool:
    if isinstance(node, _CALLED_NOW):
        return not node.this or isinstance(node.this, exp.Literal)  # CURRENT_TIMESTAMP(3): how many digits
    return str(node.this).upper() in _NOW and not node.expressions


def _day(today: date) -> exp.Expression:
    return exp.cast(exp.Literal.string(today.isoformat()), "DATE")


def _minute(now: datetime) -> exp.Expression:
    return exp.cast(exp.Literal.string(f"{now:%Y-%m-%d %H:%M}:00"), "TIMESTAMP")
