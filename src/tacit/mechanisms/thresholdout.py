"""The test behind the reusable holdout: the holdout's mean only where the training mean is wrong."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.core import Adjacency, ComposedEvent, Loss, Number, probability
from tacit.errors import QueryRefused
from tacit.mechanisms.above_threshold import AboveThreshold, ThresholdLanes
from tacit.mechanisms.laplace import Laplace
from tacit.mechanisms.limits import MAX_COMPARED_SCALE, at_least, movement, one_number, spendable
from tacit.noise import MAX_SCALE, SYSTEM, IntArray, Source
from tacit.noise.scales import fitting_scale


@dataclass(frozen=True, slots=True)
class Thresholdout:
    """Answer with the training mean while it is near the holdout's; else with the holdout's, made noisy, and pay.

    Means are whole numbers of steps of a public grid. The holdout is what is protected; the training set is known to
    whoever asks.

    Guarantee:    pure ε-DP for the holdout: the loss of the test plus `hits` times the loss of an answer. The test is
                  AboveThreshold, renewed as in the paper, on |holdout − training|, which one unit of the holdout moves
                  no further than the mean itself; after each hit one Laplace release of the holdout's mean follows; the
                  rest of what is said is known without the holdout. The paper's scales 2s, 4s and s give
                  Δ/2s + 2Δ/4s + Δ/s = 2Δ/s a hit: with Δ = 1/n its own 2B / (s n).
    Sensitivity:  the most that one unit of the holdout moves the holdout's mean, in steps.
    Error:        with k questions, an answer of either kind is within threshold + t of the holdout's mean, t the test's
                  error, or within the reach of the answer's noise, whichever is larger.
    Exactness:    that of AboveThreshold and Laplace.
    Reference:    Dwork, Feldman, Hardt, Pitassi, Reingold & Roth, Science and NeurIPS 2015.
    """

    test: AboveThreshold
    answer: Laplace

    def __post_init__(self) -> None:
        fitting_scale(self.answer.scale, "the answer's scale", most=MAX_SCALE)  # answers are 64-bit numbers

    @classmethod
    def of_scale(cls, scale: Number, *, threshold: int, hits: int, adjacency: Adjacency) -> Thresholdout:
        """The paper's noise at tolerance `scale`: twice on the threshold, four times on questions, once on answers."""
        exact = fitting_scale(scale, most=MAX_COMPARED_SCALE)
        test = AboveThreshold(
            threshold, hits, threshold_scale=2 * exact, query_scale=4 * exact, adjacency=adjacency, renews=True
        )
        return cls(test, Laplace(exact))

    @classmethod
    def costing(
        cls, loss: Loss, sensitivity: Number, *, threshold: int, hits: int, adjacency: Adjacency
    ) -> Thresholdout:
        """The paper's noise, as little of it as a whole run can have for no more than `loss`."""
        scale = 2 * movement(sensitivity) * at_least(hits, 1, what="the number of hits") / spendable(loss)
        return cls.of_scale(scale, threshold=threshold, hits=hits, adjacency=adjacency)

    def loss(self, sensitivity: Number) -> Loss:
        """What a run costs, however it ends."""
        return self.test.loss(sensitivity) + self.test.hits * self.answer.loss(sensitivity)

    def event(self, sensitivity: Number) -> ComposedEvent:
        """What an accountant needs to know of a run: the test, and as many answers as there may be hits."""
        return ComposedEvent(((self.test.event(sensitivity), 1), (self.answer.event(sensitivity), self.test.hits)))

    def error(self, confidence: Number, *, questions: int) -> int:
        """How far, with this confidence, none of a run's answers strays from the holdout's mean."""
        half = (1 + probability(confidence, "the confidence")) / 2
        agreed = max(0, self.test.threshold) + self.test.error(half, questions=questions)
        return max(agreed, self.answer.error(half, count=self.test.hits))

    def start(self, source: Source = SYSTEM) -> HoldoutRun:
        """Begin a run. It is paid for now."""
        return HoldoutRun(HoldoutLanes(self, 1, source=source))


class HoldoutLanes:
    """Independent runs side by side on the same means, one lane each; a single run is one lane."""

    __slots__ = ("_mechanism", "_source", "_tests")

    def __init__(self, mechanism: Thresholdout, lanes: int, *, source: Source = SYSTEM) -> None:
        self._mechanism, self._source = mechanism, source
        self._tests = ThresholdLanes(mechanism.test, lanes, source=source)

    @property
    def left(self) -> IntArray:
        """How many hits each lane may still have."""
        return self._tests.left

    def ask(self, training: int, *, holdout: int) -> IntArray:
        """Each lane's answer. One that has had its hits repeats the training mean."""
        known, secret = one_number(training, "the training mean"), one_number(holdout, "the holdout's mean")
        wrong = self._tests.ask(abs(secret - known))
        answers = np.full(wrong.size, known, dtype=np.int64)
        answers[wrong] = self._mechanism.answer.release(np.full(int(wrong.sum()), secret), self._source)
        return answers


class HoldoutRun:
    """A run in progress. It holds secrets, so it shows none of them."""

    __slots__ = ("_lanes",)

    def __init__(self, lanes: HoldoutLanes) -> None:
        self._lanes = lanes

    @property
    def hits_left(self) -> int:
        """How many more times the holdout may contradict the training set."""
        return int(self._lanes.left[0])

    def ask(self, training: int, *, holdout: int) -> int:
        """The training mean where the holdout agrees with it, else the holdout's with noise."""
        if not self.hits_left:
            raise QueryRefused(
                "the holdout is used up: it has contradicted the training set as often as it paid for",
                hint="start another run; it costs its whole price again",
            )
        return int(self._lanes.ask(training, holdout=holdout)[0])

    def __repr__(self) -> str:
        return f"<holdout run, {self.hits_left} hits left>"
