"""The errors of estimates: their variances and, where these are few, the very laws of their noise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from tacit.core import Number
from tacit.mechanisms.protocol import AddedNoise
from tacit.mechanisms.strategy.blocks import block_sums, less_parents, scaled
from tacit.mechanisms.strategy.measure import StrategyNoise, branchings
from tacit.mechanisms.strategy.picks import Floats
from tacit.mechanisms.strategy.plan import bars, inverse, precision, row_variances
from tacit.mechanisms.strategy.spread import drawn_half_width, half_width
from tacit.mechanisms.strategy.workload import Block
from tacit.mechanisms.weighted import Term, WeightedNoise
from tacit.noise import IntArray

_MOST_WRITTEN = 1 << 19  # numbers: the rows of a block times the cells, or what is measured
_MOST_LAWS, _MOST_TERMS = 64, 2048  # of one block: each takes a millisecond or two, and is kept with the answer
_SMOOTH = 100.0  # variance, in steps², of a noise whose lattice hardly shows: there the bound is as good
_DIGITS = 12  # of a weight: those that agree in them are one, ...
_UP = 1 + 1e-6  # ... and this is above what that loses


@dataclass(frozen=True, slots=True, eq=False)
class EstimateSpread:
    """How the estimates of one measurement err: the variance of each, and what else is known of their laws.

    Where each is a plain sum of noisy numbers, `lattice` is the step of these. `laws` are those of weighted sums, and
    `indices` says which each has; −1 stands for no noise.
    """

    variances: Floats
    lattice: Fraction | None = None
    laws: tuple[WeightedNoise, ...] = ()
    indices: IntArray | None = None

    def half_widths(self, noise: AddedNoise, confidence: Number, *, step: float) -> Floats:
        """How far each estimate may stray, with this confidence: by its law, or by a bound where that is too long."""
        if self.lattice is not None:
            return drawn_half_width(self.variances, noise=noise, confidence=confidence, step=float(self.lattice))
        bound = half_width(self.variances, noise=noise, confidence=confidence, step=step)
        if self.indices is None:
            return bound
        reaches = [law.reach(confidence) for law in self.laws]
        known = np.array([*(math.nan if reach is None else reach * _UP for reach in reaches), 0.0])  # the last: −1
        widths = known[self.indices]
        return np.where(np.isnan(widths), bound, widths)

    def picked(self, rows: Sequence[Sequence[int]]) -> EstimateSpread:
        """That of the estimates in these rows: one of them each, or none at all."""
        picks = np.array([each[0] if each else -1 for each in rows], dtype=np.int64)
        some = picks >= 0
        variances = np.where(some, self.variances[picks], 0.0)
        indices = None if self.indices is None else np.where(some, self.indices[picks], -1)
        return replace(self, variances=variances, indices=indices)


def estimate_spread(block: Block, noise: StrategyNoise, *, step: Fraction, order: Sequence[int]) -> EstimateSpread:
    """How the answers to a block err, in units of `step`, its attributes in this order."""
    counts = tuple(picks.count for picks in block)
    variances = row_variances(block, noise.strategy, noise.variances).transpose(order).ravel() * float(step) ** 2
    if noise.is_drawn:
        return EstimateSpread(variances, step)
    weights = _weights(block, noise)
    laws = None if weights is None else _laws(weights, noise, float(step))
    if laws is None:
        return EstimateSpread(variances)
    return EstimateSpread(variances, None, laws[0], laws[1].reshape(counts).transpose(order).ravel())


def _weights(block: Block, noise: StrategyNoise) -> list[Floats] | None:
    """What every noisy number of each part counts for in each answer, (number, answer); None where these are too many.

    The estimate of the cells is G Σ Aᵀ z / v over the parts, with G = (AᵀΣ⁻¹A)⁺; so an answer q counts A G q / v.
    """
    strategy, rows = noise.strategy, math.prod(picks.count for picks in block)
    cells = math.prod(chain.size for chain in strategy.chains)
    if strategy.matrix is not None or rows * max(cells, strategy.answers) > _MOST_WRITTEN:
        return None
    if min(noise.variances) > _SMOOTH:
        return None
    asked = np.ones((1,))  # asked: 1 where an answer counts a cell, (attribute, …, answer)
    for picks, chain in zip(block, strategy.chains, strict=True):
        masks = np.zeros((chain.size, picks.count))
        masks[: chain.values] = picks.applied(np.eye(chain.values), 0).T
        asked = np.einsum("...a,vb->...vab", asked, masks).reshape(*asked.shape[:-1], chain.size, -1)
    spread = scaled(asked, strategy.chains, by=inverse(precision(strategy, noise.variances)))
    weights = []
    for variance, part in zip(noise.variances, strategy.parts, strict=True):
        counted = block_sums(spread, bars(strategy.chains, part.levels)) / variance
        counted = less_parents(counted, branchings(strategy, part)) if part.residual else counted
        weights.append(counted.reshape(-1, rows))
    return weights


def _laws(
    weights: Sequence[Floats], noise: StrategyNoise, step: float
) -> tuple[tuple[WeightedNoise, ...], IntArray] | None:
    """The laws that differ, and which of them each answer has; −1 for none, where it counts nothing."""
    largest = max(float(np.abs(part).max(initial=0.0)) for part in weights)
    if largest == 0:
        return (), np.full(weights[0].shape[1], -1)
    sizes = [np.sort(np.round(np.abs(part) / largest, _DIGITS), axis=0) for part in weights]
    listed, indices = np.unique(np.concatenate(sizes), axis=1, return_inverse=True)
    if listed.shape[1] > _MOST_LAWS:
        return None
    ends = np.cumsum([part.shape[0] for part in weights])[:-1]
    laws = []
    for column in listed.T:
        terms = []
        for part, drawn in zip(np.split(column, ends), noise.noises, strict=True):
            values, counts = np.unique(part, return_counts=True)
            pairs = zip(values.tolist(), counts.tolist(), strict=True)
            terms += [Term(value * largest * step, drawn, count) for value, count in pairs if value]
        laws.append(WeightedNoise.of(terms))
    if sum(len(law.terms) for law in laws) > _MOST_TERMS:
        return None
    which = indices.reshape(-1).astype(np.int64)
    empty = [index for index, law in enumerate(laws) if not law.terms]
    return tuple(laws), np.where(np.isin(which, empty), -1, which)
