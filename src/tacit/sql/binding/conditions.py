"""HAVING: conditions on noisy numbers. They see what the analyst sees, so they cost nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from tacit.errors import QueryRefused
from tacit.sql.binding import post
from tacit.sql.binding.dated import held_against
from tacit.sql.expressions.names.scope import chain, name_of

_OPERATORS: dict[type[exp.Expression], str] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.LT: "<",
    exp.LTE: "<=",
}
_TRUE, _UNKNOWN = 1.0, 0.5


@dataclass(frozen=True, slots=True)
class Condition:
    """A comparison of two noisy expressions, or several conditions joined by AND, OR or NOT."""

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

    def holds(self, bands: post.Bands) -> NDArray[np.bool_]:
        """For which groups it holds; where a side is NULL nobody knows, and it does not."""
        known: NDArray[np.bool_] = self.truth(bands) == _TRUE
        return known

    def truth(self, bands: post.Bands) -> NDArray[np.float64]:
        """1 where it is true, 0 where it is false, halfway between where nobody knows: the logic of SQL."""
        if self.operator == "NOT":
            return _TRUE - self.parts[0].truth(bands)
        if self.parts:
            join = np.minimum if self.operator == "AND" else np.maximum
            joined: NDArray[np.float64] = join.reduce(np.broadcast_arrays(*(part.truth(bands) for part in self.parts)))
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
        return np.where(np.isnan(left) | np.isnan(right), _UNKNOWN, compare(left, right).astype(np.float64))


def condition(node: exp.Expression, build: Callable[[exp.Expression], post.Post]) -> Condition:
    """The condition behind HAVING; `build` makes the expressions in it."""
    if isinstance(node, exp.Paren):
        return condition(node.this, build)
    if isinstance(node, (exp.And, exp.Or)):
        return Condition(node.key.upper(), parts=tuple(condition(part, build) for part in chain(node)))
    if isinstance(node, exp.Not):
        return Condition("NOT", parts=(condition(node.this, build),))
    if isinstance(node, exp.Between):
        low = Condition(">=", held_against(build(node.this), build(node.args["low"])))
        high = Condition("<=", held_against(build(node.this), build(node.args["high"])))
        return Condition("AND", parts=(low, high))
    operator = _OPERATORS.get(type(node))
    if operator is None:
        raise QueryRefused(
            f"{name_of(node)} is refused in HAVING",
            hint="compare aggregates with numbers; conditions on keys go into WHERE",
        )
    return Condition(operator, held_against(build(node.this), build(node.expression)))
