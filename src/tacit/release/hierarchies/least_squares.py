"""Least squares on a tree: noisy counts of every level made to add up, with the least variance that any linear way has.

One pass upwards joins what a node says with what its children say together, each by its precision; one downwards gives
every node its share of what is left over. That is the generalised least-squares estimate of independent measurements,
in time linear in the nodes (Hay, Rastogi, Miklau & Suciu, VLDB 2010, here with a variance for each node).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tacit.noise import IntArray
from tacit.release.synthesise.fitting.arrays import FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class TreeEstimate:
    """Of each level the estimates, which add up, and the variance of each node's."""

    values: tuple[FloatArray, ...]  # (nodes, columns)
    variances: tuple[FloatArray, ...]  # (nodes,)


def fitted_levels(
    parents: Sequence[IntArray], measured: Sequence[FloatArray], variances: Sequence[float | FloatArray]
) -> TreeEstimate:
    """The estimates of all nodes from the noisy ones of each level; a variance may be 0 (exact) or infinite (not seen).

    It is that of a level, or of each node. A node without children, in whichever level, has a finite one: nothing else
    would say how a count is shared among leaves.
    """
    joined, spread = _upwards(parents, measured, variances)
    values, spreads = [joined[0]], [spread[0]]
    for level, above in enumerate(parents, start=1):
        size = len(joined[level - 1])
        total, variance = _added(joined[level], above, size), np.bincount(above, spread[level], minlength=size)
        part = np.divide(spread[level], variance[above], out=np.zeros_like(spread[level]), where=variance[above] > 0)
        values.append(joined[level] + (values[-1] - total)[above] * part[:, None])
        spreads.append(np.maximum(spread[level] - part**2 * (variance - spreads[-1])[above], 0.0))
    return TreeEstimate(tuple(values), tuple(spreads))


def _upwards(
    parents: Sequence[IntArray], measured: Sequence[FloatArray], variances: Sequence[float | FloatArray]
) -> tuple[list[FloatArray], list[FloatArray]]:
    """What each node and all that is below it say of it, and the variance of that."""
    joined = [measured[-1]]
    spread = [np.full(len(measured[-1]), variances[-1])]
    for above, own, noise in zip(reversed(parents), reversed(measured[:-1]), reversed(variances[:-1]), strict=True):
        variance = np.full(len(own), noise)
        below, summed = np.bincount(above, spread[0], minlength=len(own)), _added(joined[0], above, len(own))
        below[np.bincount(above, minlength=len(own)) == 0] = np.inf  # nothing below says anything
        weight: FloatArray = np.ones(len(own))  # of the node's own
        both = np.isfinite(below) & np.isfinite(variance) & (below + variance > 0)
        weight[both] = below[both] / (below + variance)[both]
        weight[np.isinf(variance)] = 0.0
        joined.insert(0, weight[:, None] * own + (1 - weight)[:, None] * summed)
        spread.insert(0, np.where(np.isinf(variance), below, weight * np.where(np.isinf(variance), 0.0, variance)))
    return joined, spread


def _added(values: FloatArray, above: IntArray, size: int) -> FloatArray:
    out: FloatArray = np.zeros((size, *values.shape[1:]))
    np.add.at(out, above, values)
    return out
