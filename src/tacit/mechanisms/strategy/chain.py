"""One attribute's values, cut into ever finer equal blocks: from all of them together to each one alone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import accumulate
from operator import mul

from tacit.errors import InvalidParameter


@dataclass(frozen=True, slots=True)
class Chain:
    """Nested partitions of `values` values. Level 0 is one block; each level cuts every block into `branching` more.

    The last level has a block for each value, and some for values that do not exist where the branching does not come
    out even: they are empty, and cost nothing.
    """

    values: int
    branching: tuple[int, ...]

    def __post_init__(self) -> None:
        if self.values < 1 or any(factor < 2 for factor in self.branching):
            raise InvalidParameter("a chain needs a value, and at least two branches at each level")
        if self.size < self.values:
            raise InvalidParameter(f"a chain of {self.size} blocks cannot tell {self.values} values apart")

    @property
    def size(self) -> int:
        """How many blocks the finest level has."""
        return math.prod(self.branching)

    @property
    def levels(self) -> int:
        """How many partitions there are."""
        return len(self.branching) + 1

    @property
    def blocks(self) -> tuple[int, ...]:
        """How many blocks each level has."""
        return tuple(accumulate(self.branching, mul, initial=1))

    @property
    def widths(self) -> tuple[int, ...]:
        """How many values lie in a block of each level."""
        return tuple(self.size // blocks for blocks in self.blocks)


def flat(values: int) -> Chain:
    """All together, and each alone: what marginals are made of."""
    return Chain(values, (values,) if values > 1 else ())


def chains(values: int) -> tuple[Chain, ...]:
    """One chain of every depth, from flat to binary, each with as few empty blocks as its depth allows."""
    by_branching = {flat(values).branching: flat(values)}
    for depth in range(2, max(2, math.ceil(math.log2(values)) + 1) if values > 2 else 2):
        factors = _factors(values, depth)
        if min(factors) >= 2:
            by_branching.setdefault(factors, Chain(values, factors))
    return tuple(by_branching.values())


def _factors(values: int, depth: int) -> tuple[int, ...]:
    """`depth` nearly equal factors whose product is just large enough, the larger ones at the finer levels."""
    root = math.ceil(values ** (1 / depth) - 1e-9)
    factors = [root] * depth
    for index in range(depth):
        smaller = [*factors[:index], root - 1, *factors[index + 1 :]]
        if math.prod(smaller) < values:
            break
        factors = smaller
    return tuple(factors)
