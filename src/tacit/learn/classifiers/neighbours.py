"""Nearest neighbours without neighbours: noisy votes of those who share a public cell of the box."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tacit.core import Event, Loss, Number, sqrt_above
from tacit.errors import InvalidParameter
from tacit.learn.sums.array_rows import nearest
from tacit.learn.sums.moments import GRID, Scaled, design, scaled
from tacit.learn.sums.studies import Declared, Learnt, Study, SumsClassifier, classes_cells
from tacit.mechanisms import Gaussian
from tacit.noise import IntArray, Source, uniform_integer


class CountsVotes(Protocol):
    """Whoever can count the rows: arrays, or an engine."""

    def votes(self, centres: IntArray) -> IntArray:
        """For each centre how many rows of each class are nearest to it."""


@dataclass(frozen=True, slots=True)
class VotesPlan:
    """One noisy histogram of votes, over all partitions at once."""

    loss: Loss
    noise: Gaussian
    moved: Fraction

    @property
    def event(self) -> Event:
        """What an accountant needs to know of it."""
        return self.noise.event(self.moved)


class NeighbourVotesClassifier(SumsClassifier):
    """Any number of classes, by the votes of those who fall into the same cells.

    The k nearest rows of a row cannot be told in private: who they are is what must not be told. So the declared box is
    divided `partitions` times, each by which of `places` random public points is nearest, and in every cell the rows of
    each class are counted, with noise. A new row asks the cells that it falls into. All predictions are paid for by the
    one fit; what is lost is that a cell does not move to where the row is. It wants few columns, and many rows.

    Guarantee:    (ε, δ)-DP for one row added or removed.
    Sensitivity:  L2, √p for p partitions: a row votes once in each.
    Exactness:    counts and noise are whole numbers; which point is nearest is worked out in whole numbers too.
    Reference:    the noise: `Gaussian`; cells around random points as neighbourhoods: Biau & Devroye, Lectures on the
                  Nearest Neighbor Method, 2015.
    """

    _many_classes = True
    scaled_: tuple[Scaled, ...]
    centres_: NDArray[np.float64]
    shares_: NDArray[np.float64]

    def __init__(
        self,
        *,
        epsilon: Number = 1,
        delta: Number = "0.000001",
        features: object = None,
        classes: Sequence[Any] | None = None,
        places: int = 32,
        partitions: int = 8,
        max_rows: int = 1,
        source: Source | None = None,
    ) -> None:
        self.epsilon, self.delta, self.max_rows = epsilon, delta, max_rows
        self.features, self.classes, self.source = features, classes, source
        self.places, self.partitions = places, partitions

    def study(self, declared: Declared) -> Study:
        """What a fit will measure and cost."""
        for number, name, most in ((self.places, "places", 1_000), (self.partitions, "partitions", 100)):
            if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= most:
                raise InvalidParameter(f"the number of {name} is a whole number from 1 to {most}")
        features = scaled(declared.features, declared.names)
        moved = declared.times * sqrt_above(Fraction(self.partitions))
        plan = VotesPlan(declared.loss, Gaussian.costing(declared.loss, moved), moved)
        width = sum(each.width for each in features)

        def learn(data: CountsVotes, source: Source) -> Learnt:
            size = self.partitions * self.places * width
            drawn = uniform_integer(2 * GRID + 1, size, source=source).astype(np.int64) - GRID
            centres = drawn.reshape(self.partitions, self.places, width)  # public: no row has a say
            exact = np.stack([data.votes(each) for each in centres])
            noisy = plan.noise.release(exact.ravel(), source).reshape(exact.shape)
            return {"centres": centres.astype(np.float64), "shares": _shares(noisy, float(plan.noise.sigma))}

        return Study(features, classes_cells(declared.classes), plan, learn)

    def _keep(self, study: Study, learnt: Learnt) -> None:
        self.scaled_, self.centres_, self.shares_ = study.columns, learnt["centres"], learnt["shares"]

    def predict_proba(self, X: Any) -> NDArray[np.float64]:  # noqa: N803 - scikit-learn's names
        """The probability of each class, for each row: the mean of what its cells say."""
        columns = self._columns(X)
        rows = design(self.scaled_, columns)[:, 1:]
        pairs = zip(self.centres_.astype(np.int64), self.shares_, strict=True)
        probabilities: NDArray[np.float64] = np.mean(
            [shares[nearest(rows, centres)] for centres, shares in pairs], axis=0
        )
        return probabilities


def _shares(noisy: IntArray, noise: float) -> NDArray[np.float64]:
    """The share of each class in each cell; of a cell that noise alone could have filled, about that of all cells."""
    votes = np.maximum(noisy.astype(np.float64), 0.0)
    everybody = noisy.sum(axis=(0, 1), dtype=np.float64).clip(min=1.0)
    prior = everybody / everybody.sum()
    result: NDArray[np.float64] = (votes + (1 + noise) * prior) / (votes.sum(axis=2, keepdims=True) + 1 + noise)
    return result
