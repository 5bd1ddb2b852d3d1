"""How long a generated expression has become: held to a limit while it is built, before it can double once more.

Some functions write an argument out several times, and what is nested in each other multiplies. Each of them sees to
that itself (`written_twice`); whatever they forget ends here, as soon as a part is too long: planning is free.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from sqlglot import exp

from tacit.errors import QueryRefused

MOST_WRITTEN = 50_000  # nodes of one expression
_SIZE = "tacit size"  # where a node that was counted before keeps its number

P = ParamSpec("P")
T = TypeVar("T")


def not_too_long(build: Callable[P, T]) -> Callable[P, T]:
    """The same function, whose result is refused where its SQL has more nodes than an expression may have."""

    @wraps(build)
    def held(*args: P.args, **named: P.kwargs) -> T:
        built = build(*args, **named)
        value: object = built  # an expression, or a number, a text or a moment that is made of some
        parts = [value, getattr(value, "sql", None), getattr(value, "typed", None)]
        for part in (*parts, getattr(getattr(value, "counted", None), "sql", None)):
            if isinstance(part, exp.Expression) and _size(part) > MOST_WRITTEN:
                raise QueryRefused(
                    "the question is too large to plan: an expression in it is written out again and again",
                    hint="nest fewer functions in each other, or compute a part of it in a subquery",
                )
        return built

    return held


def _size(sql: exp.Expression) -> int:
    """How many nodes it has. What was counted before is not counted again."""
    count, waiting = 0, [sql]
    while waiting:
        node = waiting.pop()
        meta = node._meta  # noqa: SLF001 - `meta` would make a dictionary for every node
        if meta and _SIZE in meta:
            count += meta[_SIZE]
            continue
        count += 1
        for value in node.args.values():
            if isinstance(value, exp.Expression):
                waiting.append(value)
            elif isinstance(value, list):
                waiting += [each for each in value if isinstance(each, exp.Expression)]
    sql.meta[_SIZE] = count
    return count
