"""A strategy: which histograms are measured in place of the questions, and with what share of the budget."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tacit.errors import InvalidParameter
from tacit.mechanisms.strategy.chain import Chain
from tacit.mechanisms.strategy.matrix import Matrix, spread_over
from tacit.mechanisms.strategy.picks import Floats
from tacit.mechanisms.strategy.workload import Block


@dataclass(frozen=True, slots=True)
class Part:
    """One histogram: each attribute cut as finely as its level says. Every cell is in exactly one of its bars.

    Of a residual each bar is measured less the bar that it is cut from (`blocks.residuals`): what coarser parts say
    already is not paid for again.
    """

    levels: tuple[int, ...]
    share: Fraction
    residual: bool = False


@dataclass(frozen=True, slots=True)
class Strategy:
    """Histograms of the same cells, coarse and fine; or weighted sums of all cells (`matrix`), in one part.

    The shares add up to one. The parts' matrices share their eigenvectors (each level's block means, less those of the
    level above), which is why errors and least squares have closed forms.
    """

    chains: tuple[Chain, ...]
    parts: tuple[Part, ...]
    matrix: Matrix | None = None

    def __post_init__(self) -> None:
        if sum((part.share for part in self.parts), Fraction(0)) != 1:
            raise InvalidParameter("the shares of a strategy must add up to one")
        if any(part.share <= 0 for part in self.parts):
            raise InvalidParameter("each part of a strategy needs a share")
        if self.matrix is not None and len(self.parts) != 1:
            raise InvalidParameter("weighted sums are the only part of their strategy")

    @property
    def answers(self) -> int:
        """How many numbers are measured."""
        if self.matrix is not None:
            return len(self.matrix.weights)
        return sum(math.prod(bars(self.chains, part.levels)) for part in self.parts)

    @property
    def only_bars(self) -> bool:
        """Whether a row counts once in each part."""
        return self.matrix is None and not any(part.residual for part in self.parts)

    def squared_norm(self, part: Part) -> int:
        """The largest squared L2 norm by which one row moves the numbers of a part, exactly.

        A row is in one bar of a histogram. Of a residual it moves, in each attribute that is cut into b, its own block
        by b − 1 and the b − 1 others of that parent by −1: (b − 1)² + (b − 1) = b (b − 1).
        """
        if self.matrix is not None:
            return self.matrix.squared_norm
        if not part.residual:
            return 1
        factors = [chain.branching[level - 1] for chain, level in zip(self.chains, part.levels, strict=True) if level]
        return math.prod(factor * (factor - 1) for factor in factors)

    def absolute_norm(self, part: Part) -> int:
        """The largest L1 norm by which one row moves the numbers of a part, exactly.

        Of a residual it moves, in each attribute that is cut into b, its own block by b − 1 and b − 1 others by −1.
        """
        if self.matrix is not None:
            return self.matrix.absolute_norm
        if not part.residual:
            return 1
        factors = [chain.branching[level - 1] for chain, level in zip(self.chains, part.levels, strict=True) if level]
        return math.prod(2 * (factor - 1) for factor in factors)

    @property
    def name(self) -> str:
        """What the strategy is called: identity, total, marginals, hierarchy or weighted sums."""
        if self.matrix is not None:
            return "weighted sums"
        tops = tuple(chain.levels - 1 for chain in self.chains)
        if len(self.parts) == 1:
            return {tops: "identity", (0,) * len(tops): "total"}.get(self.parts[0].levels, "marginals")
        deep = any(0 < level < top for part in self.parts for level, top in zip(part.levels, tops, strict=True))
        if deep or sum(top > 0 for top in tops) == 1:
            return "hierarchy"
        return "marginals"

    def __str__(self) -> str:
        if self.matrix is not None:
            return f"{self.name} ({self.answers:,} of all cells)"
        sizes = sorted((math.prod(bars(self.chains, part.levels)) for part in self.parts), reverse=True)
        shown = ", ".join(f"{size:,}" for size in sizes[:6]) + (", …" if len(sizes) > 6 else "")
        plural = "s" if len(sizes) > 1 else ""
        return f"{self.name} ({len(sizes)} histogram{plural} of {shown} bars)"


def bars(chains: Sequence[Chain], levels: Sequence[int]) -> tuple[int, ...]:
    """The shape of a part: how many blocks each attribute has at its level."""
    return tuple(chain.blocks[level] for chain, level in zip(chains, levels, strict=True))


def widths(chains: Sequence[Chain]) -> Floats:
    """For every tuple of levels, how many cells lie in one bar: the eigenvalue of its matrix."""
    return _product([np.array(chain.widths, dtype=np.float64) for chain in chains])


def residual_factors(chains: Sequence[Chain]) -> Floats:
    """For every tuple of levels the one eigenvalue of its residual: b² · width where it is cut into b."""
    factors = [
        np.array([chain.size, *(b * b * w for b, w in zip(chain.branching, chain.widths[1:], strict=True))])
        for chain in chains
    ]
    return _product([factor.astype(np.float64) for factor in factors])


def residual_norms(chains: Sequence[Chain]) -> Floats:
    """For every tuple of levels the squared norm by which one row moves its residual."""
    return _product([np.array([1.0, *(b * (b - 1.0) for b in chain.branching)]) for chain in chains])


def _product(factors: Sequence[Floats]) -> Floats:
    product = np.ones(())
    for factor in factors:
        product = np.multiply.outer(product, factor)
    return product


def eigenvalues(weights: Floats, sizes: Floats) -> Floats:
    """λ_T = Σ over parts at least as fine as T of weight · bar size: the precision with which T is known."""
    values = weights * sizes
    for axis in range(values.ndim):
        values = np.flip(np.cumsum(np.flip(values, axis), axis=axis), axis)
    return values


def precision(strategy: Strategy, variances: Sequence[float]) -> Floats:
    """λ_T where the bars of each part have these variances."""
    weights = np.zeros(tuple(chain.levels for chain in strategy.chains))
    alone = np.zeros_like(weights)
    for part, variance in zip(strategy.parts, variances, strict=True):
        (alone if part.residual else weights)[part.levels] += 1 / variance
    return eigenvalues(weights, widths(strategy.chains)) + alone * residual_factors(strategy.chains)


def inverse(values: Floats) -> Floats:
    """1 / λ where something is known, and 0 where nothing is."""
    return np.divide(1.0, values, out=np.zeros_like(values), where=values > 0)


def row_variances(block: Block, strategy: Strategy, variances: Sequence[float]) -> Floats:
    """The variance of every answer of a block after least squares: rowᵀ (AᵀΣ⁻¹A)⁺ row."""
    if strategy.matrix is not None:
        covariance = strategy.matrix.covariance() * variances[0]
        return np.maximum(spread_over(block, covariance, [chain.values for chain in strategy.chains]), 0.0)
    spread = inverse(precision(strategy, variances))
    for picks, chain in zip(block, strategy.chains, strict=True):
        spread = np.tensordot(spread, picks.energies(chain), axes=([0], [0]))
    return spread
