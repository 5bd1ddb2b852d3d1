"""Private multiplicative weights, online: questions one by one, most of them answered free by a public hypothesis."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tacit.core import Adjacency, ComposedEvent, Loss, Number, positive
from tacit.errors import InvalidParameter
from tacit.mechanisms import AboveThreshold, Laplace
from tacit.noise import SYSTEM, Source
from tacit.release.general.queries import answers, checked_histogram, checked_queries
from tacit.release.synthesise.fitting.arrays import FloatArray

_FOR_COMPARING = Fraction(4, 5)  # of ε: what is measured errs far less than whether it should be
_PASSES = 10  # over all that was measured, after each measurement: they cost nothing


@dataclass(frozen=True, slots=True)
class OnlineAnswer:
    """What was answered, and whether the data were asked for it: `left` is how many times they may be again."""

    value: float
    measured: bool
    left: int

    def __float__(self) -> float:
        return self.value


@dataclass(frozen=True, slots=True)
class OnlineWeights:
    """Answer counting queries as they come, from a hypothesis that is corrected where it is far off.

    Guarantee:    pure ε-DP however many queries are asked, each in view of all earlier answers: four fifths of ε are
                  one run of the sparse vector technique, which tells of each query whether the hypothesis is far off,
                  and stops after `corrections` that are; the rest is their measurements, ε/5c each. What is answered
                  otherwise is the hypothesis', which is made of noisy answers alone.
    Sensitivity:  the most that one unit moves a counting query, and so its distance from the hypothesis' answer: 1
                  where a unit is a row, added, removed or replaced.
    Error:        as long as corrections are left, an answer is off by at most the threshold and the error of the sparse
                  vector (`error`); a measured one by its Laplace noise.
    Exactness:    whole distances, discrete noise; the hypothesis is floating point, after the noise.
    Reference:    Hardt & Rothblum, FOCS 2010; Dwork & Roth 2014, section 4.2.
    """

    sparse: AboveThreshold
    noise: Laplace
    sensitivity: int = 1

    @classmethod
    def costing(cls, loss: Loss, *, threshold: int, corrections: int, sensitivity: int = 1) -> OnlineWeights:
        """A whole life of so many corrections, each where the hypothesis is off by about `threshold` rows or more."""
        epsilon = positive(loss.epsilon, "epsilon")
        sparse = AboveThreshold.costing(
            Loss(epsilon * _FOR_COMPARING),
            sensitivity,
            threshold=threshold,
            hits=corrections,
            adjacency=Adjacency.REPLACE,
        )
        each = Loss(epsilon * (1 - _FOR_COMPARING) / corrections)
        return cls(sparse, Laplace.costing(each, sensitivity), sensitivity)

    def event(self) -> ComposedEvent:
        """What an accountant needs to know of a whole life."""
        moved = self.sensitivity
        return ComposedEvent(((self.sparse.event(moved), 1), (self.noise.event(moved), self.sparse.hits)))

    def loss(self) -> Loss:
        """What a whole life costs, however it is used."""
        moved = self.sensitivity
        return Loss(self.sparse.loss(moved).epsilon + self.sparse.hits * self.noise.loss(moved).epsilon)

    def error(self, confidence: Number, *, questions: int) -> int:
        """How far, with this confidence, no answer of so many strays, in rows, while corrections are left."""
        return self.sparse.threshold + self.sparse.error(confidence, questions=questions)

    def start(self, histogram: object, *, rows: int, source: Source = SYSTEM) -> OnlineRun:
        """Begin. It is paid for now. `rows` is how many there are in all, publicly."""
        return OnlineRun(self, histogram, rows=rows, source=source)


class OnlineRun:
    """A life in progress. It holds the data, so it shows nothing of them but its answers."""

    __slots__ = ("_data", "_measured", "_mechanism", "_queries", "_rows", "_run", "_source", "_weights")

    def __init__(self, mechanism: OnlineWeights, histogram: object, *, rows: int, source: Source) -> None:
        if rows < 1:
            raise InvalidParameter("the public number of rows is at least 1")
        self._mechanism, self._source, self._rows = mechanism, source, rows
        self._data = checked_histogram(histogram)
        self._weights: FloatArray = np.full(self._data.size, rows / self._data.size)
        self._run = mechanism.sparse.start(source)
        self._queries = np.zeros((0, self._data.size), dtype=np.int8)
        self._measured: list[int] = []

    @property
    def left(self) -> int:
        """How many more corrections are paid for."""
        return self._run.hits_left

    @property
    def hypothesis(self) -> FloatArray:
        """About how many rows each element has, as far as is known publicly."""
        return self._weights.copy()

    def ask(self, query: object) -> OnlineAnswer:
        """The answer to one query, a 0 or 1 for each element. With no corrections left the hypothesis answers alone."""
        asked = checked_queries(np.asarray(query)[None, :], universe=self._data.size)
        guess = float(asked[0] @ self._weights)
        if not self.left:
            return OnlineAnswer(guess, measured=False, left=0)
        true = int(answers(asked, self._data)[0])
        if not self._run.ask(abs(true - round(guess))):
            return OnlineAnswer(guess, measured=False, left=self.left)
        noisy = int(self._mechanism.noise.release(true, self._source)[0])
        self._measured.append(noisy)
        self._queries = np.concatenate([self._queries, asked])
        self._weights = _fitted(self._weights, self._queries.astype(bool), self._measured, rows=self._rows)
        return OnlineAnswer(float(noisy), measured=True, left=self.left)

    def __repr__(self) -> str:
        return f"<online weights, {self.left} corrections left>"


def _fitted(weights: FloatArray, asked: NDArray[np.bool_], noisy: list[int], *, rows: int) -> FloatArray:
    """The weights after a few passes of multiplicative updates, each of which meets one measurement.

    What a query counts is multiplied by one factor and all else by another (iterative proportional fitting): of all
    weights that meet a measurement these are the nearest, and a far-off hypothesis is corrected at once.
    """
    edge = min(1.0, rows / 2)  # nobody is left out for good: of a single row there are two halves
    for _ in range(_PASSES):
        for query, measured in zip(asked, noisy, strict=True):
            wanted = min(max(float(measured), edge), rows - edge)
            counted = min(max(float(weights[query].sum()), 1e-6), rows - 1e-6)
            weights = weights * np.where(query, wanted / counted, (rows - wanted) / (rows - counted))
            weights *= rows / weights.sum()
    return weights
