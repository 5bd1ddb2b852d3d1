"""Counting questions over the cells of a joint domain, without ever writing the matrix down."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tacit.errors import InvalidParameter
from tacit.mechanisms.strategy.chain import Chain
from tacit.mechanisms.strategy.picks import Floats, Picks

Block = tuple[Picks, ...]  # a row for each combination of its attributes' rows: their Kronecker product


@dataclass(frozen=True, slots=True)
class Workload:
    """All the rows of all the blocks. `sizes` is how many values each attribute has."""

    sizes: tuple[int, ...]
    blocks: tuple[Block, ...]

    def __post_init__(self) -> None:
        if not self.blocks or any(len(block) != len(self.sizes) for block in self.blocks):
            raise InvalidParameter("a workload needs a question, and each of its questions every attribute")

    @property
    def cells(self) -> int:
        """How many cells the joint domain has."""
        return math.prod(self.sizes)

    @property
    def rows(self) -> int:
        """How many numbers are asked for."""
        return sum(math.prod(picks.count for picks in block) for block in self.blocks)


class Energies:
    """How much of a workload lies in each subspace of given chains. Remembers what it has worked out."""

    def __init__(self, workload: Workload) -> None:
        self._workload = workload
        self._known: dict[tuple[int, Chain], Floats] = {}

    def of(self, chains: Sequence[Chain]) -> Floats:
        """Σ over rows of ‖Π_T row‖², for every tuple of levels T."""
        total = np.zeros(tuple(chain.levels for chain in chains))
        for block in self._workload.blocks:
            product = np.ones(())
            for picks, chain in zip(block, chains, strict=True):
                product = np.multiply.outer(product, self._summed(picks, chain))
            total += product
        return total

    def _summed(self, picks: Picks, chain: Chain) -> Floats:
        key = (id(picks), chain)  # the workload holds the picks, so that their ids stay theirs
        if key not in self._known:
            self._known[key] = picks.energies(chain).sum(axis=1)
        return self._known[key]


def apply(block: Block, cells: Floats) -> Floats:
    """The answers to one block, given a number for every cell."""
    answers = cells
    for axis, picks in sorted(enumerate(block), key=lambda pair: pair[1].count):  # what shrinks the most, first
        answers = picks.applied(answers, axis)
    return answers
