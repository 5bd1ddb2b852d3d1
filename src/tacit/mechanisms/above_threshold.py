"""Which of many questions have a large answer: pay for those that do, not for those that do not."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tacit.core import Adjacency, ComposedEvent, Loss, Number, PureEvent
from tacit.errors import QueryRefused
from tacit.mechanisms.limits import (
    MAX_COMPARED_SCALE,
    at_least,
    comparable,
    fitting_scale,
    movement,
    one_direction,
    one_number,
    spendable,
)
from tacit.mechanisms.tails import geometric_reach, share
from tacit.noise import SYSTEM, IntArray, Source, saturating_add, two_sided_geometric

_QUERY_SHARE = Fraction(8, 13)  # near 1 / (1 + 2^(−2/3)): the least variance of noise minus noise (Lyu et al.)


@dataclass(frozen=True, slots=True)
class AboveThreshold:
    """Answer a stream of questions with whether each exceeds a public threshold, until `hits` of them did.

    `value + noise ≥ threshold + noise′`, with fresh noise for every question and fresh noise′ after every hit. A run
    costs the whole from its start: how and when it stops depends on the data, so nothing is handed back.

    Guarantee:    pure ε-DP with ε = hits · (sensitivity / threshold_scale + 2 · sensitivity / query_scale), where 2
                  becomes 1 if a neighbour moves all answers one way (`monotone`, add/remove only). For one round, from
                  a threshold's noise to the next hit: compare data D with threshold noise r to a neighbour with r + Δ.
                  Every "below" of D is a "below" of the neighbour, for its answers rose by at most Δ; however many
                  there were, that costs only P(r + Δ) ≥ exp(−Δ / threshold_scale) P(r). The one "above" needs query
                  noise larger by at most 2Δ (the answer may have fallen by Δ while the threshold rose by Δ; Δ if
                  monotone), and P(noise ≥ t + 2Δ) ≥ exp(−2Δ / query_scale) P(noise ≥ t). If all answers can only have
                  fallen, r stays. Rounds are adaptive and compose; there are at most `hits`.
    Sensitivity:  the most that one unit moves any single answer.
    Error:        with k questions, all answers are right to within t with t the sum of the reaches of `hits` draws of
                  threshold noise and k draws of query noise.
    Exactness:    rational scales, whole answers, exact law; answers are first clamped to ±2^61.
    Reference:    Dwork & Roth 2014, section 3.6; Lyu, Su & Li, VLDB 2017 (which variants hold, and which leak).
    """

    threshold: int
    hits: int
    threshold_scale: Fraction
    query_scale: Fraction
    adjacency: Adjacency
    monotone: bool = False

    def __init__(
        self,
        threshold: int,
        hits: int,
        *,
        threshold_scale: Number,
        query_scale: Number,
        adjacency: Adjacency,
        monotone: bool = False,
    ) -> None:
        one_direction(adjacency, monotone=monotone)
        object.__setattr__(self, "threshold", one_number(threshold, "the threshold"))
        object.__setattr__(self, "hits", at_least(hits, 1, what="the number of hits"))
        compared = {"threshold_scale": threshold_scale, "query_scale": query_scale}
        for name, scale in compared.items():
            what = "the " + name.replace("_", "'s ")
            object.__setattr__(self, name, fitting_scale(scale, what, most=MAX_COMPARED_SCALE))
        object.__setattr__(self, "adjacency", adjacency)
        object.__setattr__(self, "monotone", monotone)

    @classmethod
    def costing(
        cls,
        loss: Loss,
        sensitivity: Number,
        *,
        threshold: int,
        hits: int,
        adjacency: Adjacency,
        monotone: bool = False,
    ) -> AboveThreshold:
        """The least noise in the comparison for which a whole run costs no more than `loss`."""
        moved = movement(sensitivity)
        a_round = spendable(loss) / at_least(hits, 1, what="the number of hits")
        to_queries = a_round * (Fraction(1, 2) if monotone else _QUERY_SHARE)
        return cls(
            threshold,
            hits,
            threshold_scale=moved / (a_round - to_queries),
            query_scale=moved * (1 if monotone else 2) / to_queries,
            adjacency=adjacency,
            monotone=monotone,
        )

    def loss(self, sensitivity: Number) -> Loss:
        """What a run costs, however it ends."""
        return Loss(self.hits * self._a_round(sensitivity))

    def event(self, sensitivity: Number) -> ComposedEvent:
        """What an accountant needs to know of a run: `hits` rounds, each pure."""
        return ComposedEvent(((PureEvent(self._a_round(sensitivity)), self.hits),))

    def _a_round(self, sensitivity: Number) -> Fraction:
        moved = movement(sensitivity)
        return moved / self.threshold_scale + moved * (1 if self.monotone else 2) / self.query_scale

    def error(self, confidence: Number, *, questions: int) -> int:
        """A t such that, with this confidence, no answer of a run is wrong about a value further than t from it."""
        half = 1 - share(confidence) / 2
        of_threshold = geometric_reach(self.threshold_scale, share(half, count=self.hits))
        return of_threshold + geometric_reach(self.query_scale, share(half, count=questions))

    def start(self, source: Source = SYSTEM) -> ThresholdRun:
        """Begin a run. It is paid for now."""
        return ThresholdRun(ThresholdLanes(self, 1, source=source))


class ThresholdLanes:
    """Independent runs of one mechanism, side by side on the same answers: one lane each.

    A single run is one lane; an audit takes many at once, so that it tests the very code that releases.
    """

    __slots__ = ("_left", "_mechanism", "_source", "_thresholds")

    def __init__(self, mechanism: AboveThreshold, lanes: int, *, source: Source = SYSTEM) -> None:
        self._mechanism, self._source = mechanism, source
        self._left = np.full(lanes, mechanism.hits, dtype=np.int64)
        self._thresholds = self._noisy_thresholds(lanes)

    def _noisy_thresholds(self, count: int) -> IntArray:
        noise = two_sided_geometric(self._mechanism.threshold_scale, size=count, source=self._source)
        return saturating_add(comparable(np.full(count, self._mechanism.threshold)), noise)

    @property
    def left(self) -> IntArray:
        """How many hits each lane may still have."""
        return self._left.copy()

    def ask(self, value: int) -> NDArray[np.bool_]:
        """Which lanes say that the value is above. One that has had its hits says no, of whatever value."""
        above = np.zeros(self._left.size, dtype=np.bool_)
        open_lanes = np.flatnonzero(self._left)
        noise = two_sided_geometric(self._mechanism.query_scale, size=open_lanes.size, source=self._source)
        noisy = saturating_add(comparable(np.full(1, one_number(value, "the value"))), noise)
        hit = open_lanes[noisy >= self._thresholds[open_lanes]]
        above[hit] = True
        self._left[hit] -= 1
        self._thresholds[hit] = self._noisy_thresholds(hit.size)
        return above


class ThresholdRun:
    """A run in progress. It holds secrets, so it shows none of them."""

    __slots__ = ("_lanes",)

    def __init__(self, lanes: ThresholdLanes) -> None:
        self._lanes = lanes

    @property
    def hits_left(self) -> int:
        """How many more questions may be found above the threshold."""
        return int(self._lanes.left[0])

    def ask(self, value: int) -> bool:
        """Whether the value is above the threshold, as far as anyone may know."""
        if not self.hits_left:
            raise QueryRefused(
                "the run is over: it has found as many answers above its threshold as it paid for",
                hint="start another run; it costs its whole price again",
            )
        return bool(self._lanes.ask(value)[0])

    def __repr__(self) -> str:
        return f"<threshold run, {self.hits_left} hits left>"
