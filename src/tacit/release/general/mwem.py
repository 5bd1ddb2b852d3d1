"""Multiplicative weights: a public hypothesis of the data, corrected by the few queries that it answers worst."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tacit.core import Adjacency, BoundedRangeEvent, ComposedEvent, LaplaceEvent, Loss
from tacit.errors import InvalidParameter
from tacit.mechanisms import Exponential, Laplace
from tacit.noise import SYSTEM, Source
from tacit.release.general.queries import Queries, answers, checked_histogram, checked_queries
from tacit.release.synthesise.fitting.arrays import FloatArray

_REPLAYS = 30  # passes over all that was measured, after each measurement: they cost nothing


@dataclass(frozen=True, slots=True)
class Mwem:
    """Choose the query that the hypothesis answers worst, measure it, correct the hypothesis: so many times.

    Guarantee:    pure ε-DP: each of T rounds makes a choice and a measurement at ε/2T, and ε adds up, also where one
                  depends on earlier ones. The hypothesis is made of noisy answers alone.
    Sensitivity:  1: one row moves a counting query by at most one, and so the distance of each from the hypothesis'
                  answer, which is a whole number that does not depend on the data. The number of rows is public.
    Error:        at most 2n √(ln|X| / T) + 10 T ln(k) / ε in all k queries, with probability 1 − 2T/k; mostly far less.
    Exactness:    whole scores, exact choice, discrete Laplace noise; the hypothesis is floating point, after the noise.
    Reference:    Hardt, Ligett & McSherry, NeurIPS 2012; Hardt & Rothblum, FOCS 2010.
    """

    choice: Exponential
    noise: Laplace
    rounds: int

    @classmethod
    def costing(cls, loss: Loss, rounds: int) -> Mwem:
        """So many rounds that cost no more than `loss` together."""
        if isinstance(rounds, bool) or not isinstance(rounds, int) or not 1 <= rounds <= 10_000:
            raise InvalidParameter("the number of rounds is 1 to 10,000")
        part = Loss(loss.epsilon / (2 * rounds))
        return cls(Exponential.costing(part, 1, adjacency=Adjacency.ADD_REMOVE), Laplace.costing(part, 1), rounds)

    def event(self) -> ComposedEvent:
        """What an accountant needs to know: every choice and every measurement."""
        chosen: BoundedRangeEvent = self.choice.event(1)
        measured: LaplaceEvent = self.noise.event(1)
        return ComposedEvent(((chosen, self.rounds), (measured, self.rounds)))

    def loss(self) -> Loss:
        """What all rounds cost."""
        return Loss(self.rounds * (self.choice.loss(1).epsilon + self.noise.loss(1).epsilon))

    def error(self, *, universe: int, queries: int, rows: int) -> float:
        """The theorem's bound on the largest error, in rows; it fails with probability at most 2 · rounds / queries."""
        epsilon = float(self.loss().epsilon)
        return 2 * rows * math.sqrt(math.log(universe) / self.rounds) + 10 * self.rounds * math.log(queries) / epsilon

    def release(self, histogram: object, queries: object, *, rows: int, source: Source = SYSTEM) -> FloatArray:
        """The hypothesis: about how many rows each element has. `rows` is how many there are in all, publicly."""
        data = checked_histogram(histogram)
        asked = checked_queries(queries, universe=data.size)
        if rows < 1:
            raise InvalidParameter("the public number of rows is at least 1")
        true = answers(asked, data)
        weights: FloatArray = np.full(data.size, rows / data.size)
        mean: FloatArray = np.zeros(data.size)
        measured: dict[int, list[int]] = {}
        for _ in range(self.rounds):
            guessed = np.rint(asked @ weights).astype(np.int64)
            chosen = self.choice.release(np.abs(true - guessed), source)
            measured.setdefault(chosen, []).append(int(self.noise.release(int(true[chosen]), source)[0]))
            weights = corrected(weights, asked, measured, rows)
            mean += weights / self.rounds
        return weights if self.rounds < 2 else _nearer(asked, measured, weights, mean)


def corrected(weights: FloatArray, asked: Queries, measured: dict[int, list[int]], rows: int) -> FloatArray:
    """The weights after a few passes of multiplicative updates towards all that was measured."""
    for _ in range(_REPLAYS):
        for index, noisy in measured.items():
            query = asked[index]
            gap = float(np.mean(noisy)) - float(query @ weights)
            weights = weights * np.exp(query * (gap / rows))
            weights *= rows / weights.sum()
    return weights


def _nearer(asked: Queries, measured: dict[int, list[int]], last: FloatArray, mean: FloatArray) -> FloatArray:
    """The last hypothesis or the mean of all, whichever is nearer to what was measured."""
    gaps = [sum(abs(float(np.mean(n)) - float(asked[q] @ each)) for q, n in measured.items()) for each in (last, mean)]
    return last if gaps[0] <= gaps[1] else mean
