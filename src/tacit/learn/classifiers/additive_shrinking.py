"""Taking back what noise alone made of an additive model's weights. It sees what was released, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_SMOOTHS = np.concatenate([[0.0], np.geomspace(0.003, 30, 13)])  # how much neighbouring cells are drawn together
_THIN = 1e-4  # of all rows, that a cell is taken to hold at least


def drawn_back(weights: Floats, held: Floats, feature: NDArray[np.int64], *, ordered: Sequence[bool]) -> Floats:
    """The first row's weights, around 0 in each feature, less what the other rows, of noise alone, explain of them.

    `held` is about how many rows each cell holds, `feature` which feature it is of, and `ordered` which features are
    numbers, whose last cell is that of what is missing.
    """
    kept = np.zeros(weights.shape[1])
    for index, is_ordered in enumerate(ordered):
        mine = feature == index
        kept[mine] = _least_off(weights[:, mine], held[mine], _SMOOTHS if is_ordered else _SMOOTHS[:1])
    return kept


def _least_off(weights: Floats, held: Floats, smooths: Floats) -> Floats:
    """Of all the ways to smooth and to shrink, what is likely nearest to the weights without noise.

    With w what is there, s what smoothing makes of it, and n noise and m what smoothing makes of that, k · s is off by
    |w − k s|² + 2 k ⟨n, m⟩ on average, but for what is the same of all: Stein's estimate of risk, in which the noise is
    known here. Without smoothing, k is what James and Stein shrink by.
    """
    smoothed = _smoothed(weights, held, smooths)
    there, noise = smoothed[:, 0], smoothed[:, 1:]
    size = (held * there**2).sum(axis=1)
    alike = (held * weights[0] * there).sum(axis=1)
    doubt = (held * weights[1:] * noise).sum(axis=2).mean(axis=1)
    shares = np.clip((alike - doubt) / np.maximum(size, 1e-12), 0.0, 1.0)
    best = int((shares**2 * size - 2 * shares * (alike - doubt)).argmin())
    result: Floats = shares[best] * there[best]
    return result


def _smoothed(weights: Floats, held: Floats, smooths: Floats) -> Floats:
    """For each smoothing λ the v that is least in Σ held (v − w)² + λ Σ (v − its neighbour)²: (smoothing, row, cell).

    Neighbours are all cells but the last. It is one tridiagonal system for each, solved from both ends.
    """
    many = held.size - 1
    thick = held + _THIN * max(float(held.sum()), 1.0)
    pull = smooths * float(thick.sum()) / max(many, 1)
    result = np.repeat(weights[None], smooths.size, axis=0)
    if many < 2:
        return result
    ratios, tops = np.zeros((many, smooths.size)), np.zeros((many, smooths.size, len(weights)))
    for cell in range(many):
        neighbours = (cell > 0) + (cell < many - 1)
        before = pull * ratios[cell - 1] if cell else 0.0
        whole = thick[cell] + pull * neighbours - before
        ratios[cell] = pull / whole
        carried = pull[:, None] * tops[cell - 1] if cell else 0.0
        tops[cell] = (thick[cell] * weights[None, :, cell] + carried) / whole[:, None]
    result[:, :, many - 1] = tops[many - 1]
    for cell in range(many - 2, -1, -1):
        result[:, :, cell] = tops[cell] + ratios[cell][:, None] * result[:, :, cell + 1]
    return result
