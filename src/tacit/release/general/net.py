"""The Net mechanism: a small multiset that answers every query of a class nearly as the data do, chosen privately."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tacit.core import Adjacency, BoundedRangeEvent, Loss, Number
from tacit.errors import InvalidParameter
from tacit.mechanisms import Exponential
from tacit.noise import SYSTEM, IntArray, Source
from tacit.release.general.queries import Queries, answers, checked_histogram, checked_queries

MOST_CANDIDATES = 2_000_000
_CHUNK = 1 << 16


@dataclass(frozen=True, slots=True)
class NetMechanism:
    """Choose, among all multisets of `size` elements of a universe, one whose answers are near those of the data.

    Guarantee:    pure ε-DP, and of bounded range ε: it is the exponential mechanism over all multisets y of m elements,
                  by the score −max_q |m·q(D) − |D|·q(y)|. One row more or less moves m·q(D) by 0 or m and |D|·q(y) by
                  q(y), which lies between 0 and m: each difference, and so the largest, by at most m. A row that is
                  replaced moves m·q(D) by at most m, and |D| not at all.
    Sensitivity:  m, the size of the multiset, in whole numbers; for add/remove and for replacement.
    Error:        some multiset errs by at most √(ln(2k) / 2m) of all rows in each of k queries: m rows drawn from the
                  data do with positive probability, by Hoeffding's inequality. The one chosen errs by what the
                  exponential mechanism adds to that: the usefulness theorem, `error`.
    Exactness:    whole scores, rational rate, every candidate enumerated: the law is exact.
    Reference:    Blum, Ligett & Roth, STOC 2008; Dwork & Roth 2014, section 4.1 (SmallDB).
    """

    noise: Exponential
    size: int

    @classmethod
    def costing(cls, loss: Loss, size: int) -> NetMechanism:
        """The sharpest choice of a multiset of so many elements that costs no more than `loss`."""
        if isinstance(size, bool) or not isinstance(size, int) or not 1 <= size <= 64:
            raise InvalidParameter("the size of a multiset is 1 to 64 elements")
        return cls(Exponential.costing(loss, size, adjacency=Adjacency.ADD_REMOVE), size)

    @staticmethod
    def size_for(error: float, queries: int) -> int:
        """The least size at which some multiset errs by no more than this share of the rows in every query."""
        if not 0 < error < 1 or queries < 1:
            raise InvalidParameter("the error is a share of the rows, between 0 and 1, in at least one query")
        return math.ceil(math.log(2 * queries) / (2 * error**2))

    def loss(self) -> Loss:
        """What one choice costs."""
        return self.noise.loss(self.size)

    def event(self) -> BoundedRangeEvent:
        """What an accountant needs to know of one choice."""
        return self.noise.event(self.size)

    def error(self, confidence: Number, *, universe: int, queries: int, rows: int) -> float:
        """The most that any query errs by with this confidence, as a share of so many rows: the usefulness bound."""
        added = self.noise.error(confidence, candidates=self.candidates(universe))
        return math.sqrt(math.log(2 * queries) / (2 * self.size)) + added / (self.size * max(1, rows))

    def candidates(self, universe: int) -> int:
        """How many multisets there are."""
        return math.comb(universe + self.size - 1, self.size)

    def release(self, histogram: object, queries: object, source: Source = SYSTEM) -> IntArray:
        """The chosen multiset: how often each element of the universe is in it."""
        data = checked_histogram(histogram)
        asked = checked_queries(queries, universe=data.size)
        if self.candidates(data.size) > MOST_CANDIDATES:
            raise InvalidParameter(
                f"there are {self.candidates(data.size):,} multisets: at most {MOST_CANDIDATES:,} are enumerated",
                hint="take a smaller size or universe, or multiplicative weights",
            )
        chosen = self.noise.release(self.scores(data, asked), source)
        multiset = next(itertools.islice(_multisets(data.size, self.size), chosen, None))
        return np.bincount(multiset, minlength=data.size)

    def scores(self, data: IntArray, asked: Queries) -> IntArray:
        """The score of every multiset, in the order that they are enumerated in."""
        rows, true = int(data.sum()), self.size * answers(asked, data)
        scores = []
        every = _multisets(data.size, self.size)
        while chunk := list(itertools.islice(every, _CHUNK)):
            counted = asked[:, np.array(chunk)].sum(axis=2, dtype=np.int64)  # (queries, multisets)
            scores.append(-np.abs(true[:, None] - rows * counted).max(axis=0))
        return np.concatenate(scores)


def _multisets(universe: int, size: int) -> Iterator[tuple[int, ...]]:
    return itertools.combinations_with_replacement(range(universe), size)
