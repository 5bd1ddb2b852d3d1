"""A mixture of products that has, of all pairs of columns, nearly the wanted marginals: and so consistent ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.release.synthesise.fitting.arrays import FloatArray
from tacit.release.synthesise.fitting.chance import Chance

_Floats = NDArray[np.float32]
_RATE = 0.05
_FIRST, _SECOND = 0.9, 0.99


@dataclass(frozen=True, slots=True, eq=False)
class Mixture:
    """Weights of components, and for each of them the chances of every column's cells, side by side."""

    weights: FloatArray
    chances: FloatArray  # (components, all cells)
    starts: tuple[int, ...]

    def pair(self, one: int, other: int) -> FloatArray:
        """The marginal of two columns."""
        left = self.chances[:, self.starts[one] : self.starts[one + 1]]
        right = self.chances[:, self.starts[other] : self.starts[other + 1]]
        return (left * self.weights[:, None]).T @ right


def joined(mixtures: Sequence[Mixture]) -> Mixture:
    """The average of several mixtures, which is one."""
    return Mixture(
        np.concatenate([each.weights for each in mixtures]) / len(mixtures),
        np.concatenate([each.chances for each in mixtures]),
        mixtures[0].starts,
    )


def fitted_mixture(
    targets: Mapping[tuple[int, int], FloatArray],
    ones: Sequence[FloatArray],
    *,
    weights: Mapping[tuple[int, int], float],
    components: int,
    steps: int,
    chance: Chance,
) -> Mixture:
    """The mixture with the least weighted squared error over all targets, as far as so many steps of Adam find it."""
    sizes = [one.size for one in ones]
    starts = np.concatenate([[0], np.cumsum(sizes)])
    cells = int(starts[-1])
    wanted, scale = np.zeros((cells, cells), np.float32), np.zeros((cells, cells), np.float32)
    for (one, other), table in targets.items():
        first, second = slice(starts[one], starts[one + 1]), slice(starts[other], starts[other + 1])
        wanted[first, second], wanted[second, first] = table, table.T
        scale[first, second] = scale[second, first] = weights[one, other]
    start = np.log(np.concatenate(ones) + 1e-4)
    spread = 2.0 * chance.uniform(components * cells).reshape(components, cells) - 1.0
    logits = (start + spread).astype(np.float32)
    shares = np.zeros(components, np.float32)
    logits, shares = _descended(logits, shares, wanted, scale, starts=starts, steps=steps)
    return Mixture(
        _softmax(shares[None, :], np.array([0]), np.array([components]))[0].astype(np.float64),
        _softmax(logits, starts[:-1], np.array(sizes)).astype(np.float64),
        tuple(int(start) for start in starts),
    )


def _descended(
    logits: _Floats, shares: _Floats, wanted: _Floats, scale: _Floats, *, starts: NDArray[np.int64], steps: int
) -> tuple[_Floats, _Floats]:
    sizes = np.diff(starts)
    moments = [np.zeros_like(logits), np.zeros_like(logits), np.zeros_like(shares), np.zeros_like(shares)]
    for step in range(1, steps + 1):
        chances = _softmax(logits, starts[:-1], sizes)
        weights = _softmax(shares[None, :], np.array([0]), np.array([shares.size]))[0]
        error = (chances * weights[:, None]).T @ chances
        error -= wanted
        error *= scale
        pulled = chances @ error  # (components, cells)
        by_weight = np.einsum("kc,kc->k", pulled, chances)
        by_chance = 2.0 * pulled * weights[:, None]
        inner = np.add.reduceat(by_chance * chances, starts[:-1], axis=1)
        slope = chances * (by_chance - np.repeat(inner, sizes, axis=1))
        share_slope = weights * (by_weight - float(weights @ by_weight))
        rate = _RATE * min(1.0, 4.0 * (1.0 - (step - 1) / steps))
        logits = logits - rate * _adam(moments, 0, slope, step)
        shares = shares - rate * _adam(moments, 2, share_slope, step)
    return logits, shares


def _adam(moments: list[_Floats], index: int, slope: _Floats, step: int) -> _Floats:
    moments[index] = _FIRST * moments[index] + (1 - _FIRST) * slope
    moments[index + 1] = _SECOND * moments[index + 1] + (1 - _SECOND) * slope * slope
    first = moments[index] / (1 - _FIRST**step)
    second = np.sqrt(moments[index + 1] / (1 - _SECOND**step))
    out: _Floats = (first / (second + 1e-10)).astype(np.float32)
    return out


def _softmax(logits: _Floats, starts: NDArray[np.int64], sizes: NDArray[np.int64]) -> _Floats:
    tops = np.repeat(np.maximum.reduceat(logits, starts, axis=1), sizes, axis=1)
    powers = np.exp(logits - tops)
    out: _Floats = powers / np.repeat(np.add.reduceat(powers, starts, axis=1), sizes, axis=1)
    return out
