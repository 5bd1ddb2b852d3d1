"""How a tree parts its rows: a question at each node, and the node that each row reaches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tacit.learn.sums.cells import Codes, FeatureCells
from tacit.noise import IntArray


@dataclass(frozen=True, slots=True)
class Split:
    """A question about one feature: those in the cells with a 1 go right."""

    feature: int
    right: tuple[int, ...]

    def in_words(self, cells: FeatureCells) -> list[str]:
        """The cells that go right: ranges of numbers, or categories; those without either are unknown."""
        if cells.values:
            return [str(value) for value, goes in zip((*cells.values, "unknown"), self.right, strict=True) if goes]
        edges = [None, *cells.edges, None]
        ranges, index = [], 0
        while index < len(self.right) - 1:
            if self.right[index]:
                last = index
                while last + 1 < len(self.right) - 1 and self.right[last + 1]:
                    last += 1
                low, high = edges[index], edges[last + 1]
                ends = [
                    f"from {float(low):g}" if low is not None else "",
                    f"below {float(high):g}" if high is not None else "",
                ]
                ranges.append(" ".join(end for end in ends if end) or "any number")
                index = last
            index += 1
        return ranges + ["unknown"] * bool(self.right[-1])


Level = list[Split]  # of its nodes, from left to right


def node_of(levels: Sequence[Level], codes: Sequence[Codes]) -> IntArray:
    """The node that each row reaches, numbered from the left."""
    node = np.zeros(len(codes[0]), dtype=np.int64)
    for level in levels:
        right = np.zeros(node.size, dtype=np.int64)
        for index, split in enumerate(level):
            here = node == index
            right[here] = np.array(split.right)[codes[split.feature][here]]
        node = 2 * node + right
    return node
