"""Private multiplicative weights, online: questions one by one, most of them answered free by a public hypothesis."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.core import Adjacency, ComposedEvent, Loss, Number, positive
from tacit.errors import InvalidParameter
from tacit.mechanisms import AboveThreshold, Laplace
from tacit.noise import SYSTEM, Source
from tacit.release.general.mwem import corrected
from tacit.release.general.queries import answers, checked_histogram, checked_queries
from tacit.release.synthesise.arrays import FloatArray


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

    Guarantee:    pure ε-DP however many queries are asked, each in view of all earlier answers: half of ε is one run of
                  the sparse vector technique, which tells of each query whether the hypothesis is far off, and stops
                  after `corrections` that are; the other half is their measurements, ε/2c each. What is answered
                  otherwise is the hypothesis', which is made of noisy answers alone.
    Sensitivity:  1: one row moves a counting query, and so its distance from the hypothesis' answer, by at most one.
    Error:        as long as corrections are left, an answer is off by at most the threshold and the error of the sparse
                  vector (`error`); a measured one by its Laplace noise.
    Exactness:    whole distances, discrete noise; the hypothesis is floating point, after the noise.
    Reference:    Hardt & Rothblum, FOCS 2010; Dwork & Roth 2014, section 4.2.
    """

    sparse: AboveThreshold
    noise: Laplace

    @classmethod
    def costing(cls, loss: Loss, *, threshold: int, corrections: int) -> OnlineWeights:
        """A whole life of so many corrections, each where the hypothesis is off by about `threshold` rows or more."""
        half = Loss(positive(loss.epsilon, "epsilon") / 2)
        sparse = AboveThreshold.costing(half, 1, threshold=threshold, hits=corrections, adjacency=Adjacency.REPLACE)
        return cls(sparse, Laplace.costing(Loss(half.epsilon / corrections), 1))

    def event(self) -> ComposedEvent:
        """What an accountant needs to know of a whole life."""
        return ComposedEvent(((self.sparse.event(1), 1), (self.noise.event(1), self.sparse.hits)))

    def loss(self) -> Loss:
        """What a whole life costs, however it is used."""
        return Loss(self.sparse.loss(1).epsilon + self.sparse.hits * self.noise.loss(1).epsilon)

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
        self._measured: dict[int, list[int]] = {}

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
        self._measured[len(self._queries)] = [noisy]
        self._queries = np.concatenate([self._queries, asked])
        self._weights = corrected(self._weights, self._queries, self._measured, self._rows)
        return OnlineAnswer(float(noisy), measured=True, left=self.left)

    def __repr__(self) -> str:
        return f"<online weights, {self.left} corrections left>"
