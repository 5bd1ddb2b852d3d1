"""Times of day beside each other, as the seconds since midnight that they are: no engine's TIME is asked for."""

from __future__ import annotations

from datetime import time
from typing import TypeVar

from sqlglot import exp

from tacit.errors import QueryRefused
from tacit.sql.expressions.names.nodes import paren
from tacit.sql.expressions.names.printing import copied

T = TypeVar("T", bound=exp.Expr)
_TIMES = (exp.DType.TIME,)
_BESIDE = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Between, exp.In)
_PARTS = {"HOUR": 3_600, "MINUTE": 60, "SECOND": 1}


def in_seconds(tree: T) -> T:
    """The question, with `CAST(ts AS TIME) >= '22:00'` and its like written as a comparison of whole numbers."""
    for node in list(tree.find_all(*_BESIDE)):
        sides = list(node.iter_expressions())
        if any(_is_time(part) for part in sides):
            for part in sides:
                part.replace(_seconds(part))
    return tree


def _is_time(node: exp.Expr) -> bool:
    node = node.unnest()
    return isinstance(node, exp.Cast) and node.to.this in _TIMES


def _seconds(node: exp.Expr) -> exp.Expr:
    """The seconds since midnight of a time; what is none stays as it is, and is refused beside a number."""
    node = node.unnest()
    written = node.this if _is_time(node) else node
    if isinstance(written, exp.Literal) and written.is_string:
        return exp.Literal.number(_clock(str(written.this)))
    if not _is_time(node):
        return node
    parts = [
        exp.Mul(this=exp.Extract(this=exp.var(name), expression=copied(written)), expression=exp.Literal.number(width))
        for name, width in _PARTS.items()
    ]
    return paren(exp.Add(this=exp.Add(this=parts[0], expression=parts[1]), expression=parts[2]))


def _clock(text: str) -> int:
    try:
        moment = time.fromisoformat(text)
    except ValueError:
        raise QueryRefused(f"{text[:40]!r} is no time of day", hint="write TIME '22:30:00'") from None
    if moment.microsecond or moment.tzinfo is not None:
        raise QueryRefused(
            "a time of day finer than a second, or with a zone, is refused", hint="write TIME '22:30:00'"
        )
    return moment.hour * 3_600 + moment.minute * 60 + moment.second
