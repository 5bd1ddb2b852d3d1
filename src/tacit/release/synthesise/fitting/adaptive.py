"""MST and AIM: a few pairs, chosen privately by how badly they are known, and the law of most entropy that has them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np

from tacit.release.synthesise.fitting.arrays import FloatArray, fitted_to, projected
from tacit.release.synthesise.fitting.chance import Chance
from tacit.release.synthesise.fitting.estimation import fitted_tree
from tacit.release.synthesise.fitting.hybrid import (
    Fitted,
    ModelSettings,
    Pair,
    Singles,
    expected_distance,
    measured_singles,
    single_errors,
)
from tacit.release.synthesise.fitting.junction_tree import pair_marginal, rows_from, summed, tree_of, tree_size
from tacit.release.synthesise.fitting.measuring import Meter, NoisyMarginal, averaged

_ROUNDS = 4  # times the number of columns: of AIM's first rounds, whose price grows where they find nothing new
_DRAWN = 30_000
_MEASURED = Fraction(9, 10)  # of the price of a round, for the measurement; the rest for the choice


def fitted_mst(meter: Meter, sizes: Sequence[int], ordered: Sequence[bool], *, settings: ModelSettings) -> Fitted:
    """A spanning tree of pairs (McKenna, Miklau & Sheldon, J. Privacy and Confidentiality 2021).

    A third of rho for single columns; a third to choose the pairs one by one, each by the exponential mechanism from
    those that join two parts of the tree, by the distance of its counts from independence; a third to measure them.
    """
    third = Fraction(1, 3)
    singles = measured_singles(meter, sizes, ordered, share=third, settings=settings)
    ones = _ones(singles)
    count = len(sizes) - 1
    chosen: list[Pair] = []
    part = list(range(len(sizes)))
    for _ in range(count):
        open_pairs = [pair for pair in itertools.combinations(range(len(sizes)), 2) if part[pair[0]] != part[pair[1]]]
        guesses = [np.outer(ones[a], ones[b]) * singles.rows for a, b in open_pairs]
        a, b = open_pairs[meter.choose(open_pairs, guesses, third / count, singles.bins)]
        part = [part[a] if each == part[b] else each for each in part]
        chosen.append((a, b))
    measured = [meter.measure(pair, third / count, singles.bins) for pair in chosen]
    return _with_pairs(singles, ones, measured, steps=settings.fit_steps)


def fitted_aim(
    meter: Meter, sizes: Sequence[int], ordered: Sequence[bool], *, settings: ModelSettings, chance: Chance
) -> Fitted:
    """Pairs chosen where the model is worst, as long as rho lasts (McKenna et al., VLDB 2022), within a tree's size.

    Each round chooses a pair by the exponential mechanism, by how far its counts are from the model's beyond what noise
    would do, measures it and fits the model anew. Where a measurement changes the model less than its own noise would,
    the next ones are twice as precise. Candidates are the pairs with which the junction tree keeps within its share of
    `settings.cells`, a share that grows as rho is spent.
    """
    singles = measured_singles(meter, sizes, ordered, share=settings.singles, settings=settings)
    ones, left = _ones(singles), 1 - settings.singles
    share = left / (_ROUNDS * max(1, len(sizes) - 1))
    measured: dict[Pair, NoisyMarginal] = {}
    model = _with_pairs(singles, ones, [], steps=settings.fit_steps)
    pairs = list(itertools.combinations(range(len(sizes)), 2))
    while left > 0 and pairs:
        share = left if left < 2 * share else share
        used = float(1 - left)
        sigma = meter.sigma(share * _MEASURED) / singles.rows
        open_pairs = [pair for pair in pairs if tree_size(singles.sizes, [*measured, pair]) <= settings.cells * used]
        if not open_pairs:
            break
        guessed = _Guesses(model, chance)
        tables = {pair: guessed.of(pair) for pair in open_pairs}
        noise = [math.sqrt(2 / math.pi) * sigma * tables[pair].size * singles.rows for pair in open_pairs]
        guesses = [tables[pair] * singles.rows for pair in open_pairs]
        pair = open_pairs[meter.choose(open_pairs, guesses, share * (1 - _MEASURED), singles.bins, less=noise)]
        new = meter.measure(pair, share * _MEASURED, singles.bins)
        measured[pair] = new if pair not in measured else averaged(measured[pair], new)
        left -= share
        before = tables[pair]
        model = _with_pairs(singles, ones, list(measured.values()), steps=settings.round_steps, start=model.parameters)
        home = model.tree.home(pair)
        after = summed(model.marginals[home], model.tree.cliques[home], pair)
        moved = float(np.abs(after - before).sum())
        if moved <= math.sqrt(2 / math.pi) * sigma * before.size:
            share = 2 * share
    return _with_pairs(singles, ones, list(measured.values()), steps=settings.fit_steps, start=model.parameters)


def _ones(singles: Singles) -> tuple[FloatArray, ...]:
    ones = [np.maximum(b.shrunk(c), 1e-9) for b, c in zip(singles.bins, singles.chances, strict=True)]
    return tuple(one / one.sum() for one in ones)


def _with_pairs(
    singles: Singles,
    ones: Sequence[FloatArray],
    measured: Sequence[NoisyMarginal],
    *,
    steps: int,
    start: Mapping[Pair, FloatArray] | None = None,
) -> Fitted:
    tables: dict[Pair, FloatArray] = {}
    sigmas: dict[Pair, float] = {}
    for each in measured:
        a, b = each.axes
        tables[a, b] = fitted_to(projected(each.counts / singles.rows), ones[a], ones[b])
        sigmas[a, b] = each.sigma / singles.rows
    tree = tree_of(singles.sizes, list(tables))
    marginals, parameters = fitted_tree(tree, ones, tables, sigmas=sigmas, rows=singles.rows, steps=steps, start=start)
    errors = single_errors(singles)
    for pair, sigma in sigmas.items():
        errors[pair] = expected_distance(sigma, tables[pair].size)
    return Fitted(singles, tree, tuple(marginals), {}, None, parameters, errors)


class _Guesses:
    """What a model says of every pair: exactly where a clique has both columns, else from rows drawn from it."""

    def __init__(self, model: Fitted, chance: Chance) -> None:
        self._model = model
        self._rows = rows_from(model.tree, model.marginals, number=_DRAWN, chance=chance)

    def of(self, pair: Pair) -> FloatArray:
        """The marginal of a pair."""
        return pair_marginal(self._model.tree, self._model.marginals, self._rows, pair)
