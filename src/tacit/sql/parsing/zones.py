"""Constants with a time zone beside columns that have none: CAST(CURRENT_DATE AS TIMESTAMPTZ), as BI tools write it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TypeVar

from sqlglot import exp

T = TypeVar("T", bound=exp.Expr)
_COMPARED = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Between)
_VARIES = (exp.Column, exp.Placeholder, exp.Parameter, exp.AtTimeZone, exp.Query)


def without_zones(tree: T) -> T:
    """The question, in which a constant that is compared has no zone: columns have none, and are read as UTC.

    Nothing else is touched: before AT TIME ZONE it matters whether a moment has a zone.
    """
    for node in list(tree.find_all(exp.Cast)):
        if node.is_type("timestamptz") and _is_compared(node) and not node.this.find(*_VARIES):
            value = node.this
            if isinstance(value, exp.Literal):
                value = exp.Literal.string(_in_utc(str(value.this)))
            node.replace(exp.cast(value, "TIMESTAMP"))
    return tree


def _is_compared(node: exp.Expr) -> bool:
    parent = node.parent
    while isinstance(parent, exp.Paren):
        parent = parent.parent
    return isinstance(parent, _COMPARED)


def _in_utc(text: str) -> str:
    """A moment as UTC says it; what is none stays as it is, and is refused by its name."""
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        return text
    return text if moment.tzinfo is None else moment.astimezone(UTC).replace(tzinfo=None).isoformat(sep=" ")
