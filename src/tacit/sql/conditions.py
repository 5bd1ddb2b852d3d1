"""HAVING: conditions on noised numbers. They see what the analyst sees, so they cost nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from tacit.errors import QueryRefused
from tacit.sql import post
from tacit.sql.scope import chain, name_of

_OPERATORS: dict[type[exp.Expression], str] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.LT: "<",
    exp.LTE: "<=",
}


@dataclass(frozen=True, slots=True)
class Condition:
    """A comparison of two noised expressions, or several conditions joined by AND, OR or NOT."""

    operator: str
    sides: tuple[post.Post, ...] = ()
    parts: tuple[Condition, ...] = ()

    def posts(self) -> list[post.Post]:
        """Every expression in it, from left to right."""
        return [*self.sides, *(inner for part in self.parts for inner in part.posts())]

    def with_posts(self, posts: Iterator[post.Post]) -> Condition:
        """The same condition over other expressions, taken from left to right."""
        sides = tuple(next(posts) for _ in self.sides)
        return Condition(self.operator, sides, tuple(part.with_posts(posts) for part in self.parts))

    def holds(self, bands: Sequence[post.Band]) -> NDArray[np.bool_]:
        """For which groups it holds."""
        if self.operator == "NOT":
            return np.logical_not(self.parts[0].holds(bands))
        if self.parts:
            join = np.logical_and if self.operator == "AND" else np.logical_or
            joined: NDArray[np.bool_] = join.reduce(np.broadcast_arrays(*(part.holds(bands) for part in self.parts)))
            return joined
        left, right = (post.evaluate(side, bands).value for side in self.sides)
        compare = {
            "=": np.equal,
            "<>": np.not_equal,
            ">": np.greater,
            ">=": np.greater_equal,
            "<": np.less,
            "<=": np.less_equal,
        }[self.operator]
        result: NDArray[np.bool_] = compare(left, right)
        return result


def condition(node: exp.Expression, build: Callable[[exp.Expression], post.Post]) -> Condition:
    """The condition behind HAVING; `build` makes the expressions in it."""
    if isinstance(node, exp.Paren):
        return condition(node.this, build)
    if isinstance(node, (exp.And, exp.Or)):
        return Condition(node.key.upper(), parts=tuple(condition(part, build) for part in chain(node)))
    if isinstance(node, exp.Not):
        return Condition("NOT", parts=(condition(node.this, build),))
    if isinstance(node, exp.Between):
        low = Condition(">=", (build(node.this), build(node.args["low"])))
        return Condition("AND", parts=(low, Condition("<=", (build(node.this), build(node.args["high"])))))
    operator = _OPERATORS.get(type(node))
    if operator is None:
        raise QueryRefused(
            f"{name_of(node)} is refused in HAVING",
            hint="compare aggregates with numbers; conditions on keys go into WHERE",
        )
    return Condition(operator, (build(node.this), build(node.expression)))
