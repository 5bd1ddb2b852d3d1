"""Which of many questions have a large answer: pay for those that do, not for those that do not."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tacit.core import Adjacency, ComposedEvent, Event, Loss, Number, PureEvent
from tacit.errors import QueryRefused
from tacit.mechanisms.accuracy.geometric import geometric_reach, share
from tacit.mechanisms.limits import (
    MAX_COMPARED_SCALE,
    at_least,
    comparable,
    movement,
    one_direction,
    one_number,
    spendable,
)
from tacit.noise import SYSTEM, IntArray, Source, saturating_add, two_sided_geometric
from tacit.noise.scales import fitting_scale

_SHARES = 1 << 10  # how finely the price is split between threshold and questions


@dataclass(frozen=True, slots=True)
class AboveThreshold:
    """Answer a stream of questions with whether each exceeds a public threshold, until `hits` of them did.

    `value + noise ≥ threshold + noise′`, with fresh noise for every question. noise′ is drawn once; where it `renews`,
    anew after every hit, which is dearer in ε and, for many hits, cheaper in zCDP. A run costs the whole once it
    starts, for how and when it stops depends on the data, so nothing is handed back.

    Guarantee:    pure ε-DP with ε = sensitivity / threshold_scale + hits · 2 · sensitivity / query_scale, where 2
                  becomes 1 if a neighbour moves all answers one way (`monotone`, add/remove only). Compare data D with
                  threshold noise r to a neighbour with r + Δ. Every "below" of D is a "below" of the neighbour, for its
                  answers rose by at most Δ; however many there were, that costs only
                  P(r + Δ) ≥ exp(−Δ / threshold_scale) P(r). Each "above" needs query noise larger by at most 2Δ (the
                  answer may have fallen by Δ while the threshold rose by Δ; Δ if monotone), and
                  P(noise ≥ t + 2Δ) ≥ exp(−2Δ / query_scale) P(noise ≥ t); there are at most `hits`. If all answers can
                  only have fallen, r stays. Noise larger by just as much leaves the distance above the noisy threshold
                  as it was, so a hit may tell it too, for the same price (`gap`). Renewed, each round from one hit to
                  the next pays for its own threshold, and rounds compose.
    Sensitivity:  the most that one unit moves any single answer.
    Error:        with k questions, all answers are right to within t with t the sum of the reaches of the draws of
                  threshold noise and k draws of query noise.
    Exactness:    rational scales, whole answers, exact law; answers are first clamped to ±2^61.
    Reference:    Lyu, Su & Li, VLDB 2017, Algorithm 1 (and which variants leak); Dwork & Roth 2014, section 3.6
                  (renewed); Ding, Wang, Zhang & Kifer, VLDB 2019 (the gap).
    """

    threshold: int
    hits: int
    threshold_scale: Fraction
    query_scale: Fraction
    adjacency: Adjacency
    monotone: bool = False
    renews: bool = False

    def __init__(
        self,
        threshold: int,
        hits: int,
        *,
        threshold_scale: Number,
        query_scale: Number,
        adjacency: Adjacency,
        monotone: bool = False,
        renews: bool = False,
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
        object.__setattr__(self, "renews", renews)

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
        renews: bool = False,
    ) -> AboveThreshold:
        """The least noise in the comparison for which a whole run costs no more than `loss`."""
        moved = movement(sensitivity)
        whole, count = spendable(loss), at_least(hits, 1, what="the number of hits")
        thresholds, questions = count if renews else 1, count * (1 if monotone else 2)
        to_queries = whole * _query_share(questions, thresholds)
        return cls(
            threshold,
            hits,
            threshold_scale=moved * thresholds / (whole - to_queries),
            query_scale=moved * questions / to_queries,
            adjacency=adjacency,
            monotone=monotone,
            renews=renews,
        )

    def loss(self, sensitivity: Number) -> Loss:
        """What a run costs, however it ends."""
        of_threshold, of_hit = self._prices(sensitivity)
        return Loss(self._thresholds * of_threshold + self.hits * of_hit)

    def event(self, sensitivity: Number) -> Event:
        """What an accountant needs to know of a run: pure as a whole, or round by round."""
        if not self.renews:
            return PureEvent(self.loss(sensitivity).epsilon)
        of_threshold, of_hit = self._prices(sensitivity)
        return ComposedEvent(((PureEvent(of_threshold + of_hit), self.hits),))

    @property
    def _thresholds(self) -> int:
        """How often the threshold is given noise, at the most."""
        return self.hits if self.renews else 1

    def _prices(self, sensitivity: Number) -> tuple[Fraction, Fraction]:
        """The prices of one noisy threshold, and of one hit."""
        moved = movement(sensitivity)
        return moved / self.threshold_scale, moved * (1 if self.monotone else 2) / self.query_scale

    def error(self, confidence: Number, *, questions: int) -> int:
        """A t such that, with this confidence, no answer of a run is wrong about a value further than t from it."""
        half = 1 - share(confidence) / 2
        of_threshold = geometric_reach(self.threshold_scale, share(half, count=self._thresholds))
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
        return self.gaps(value) >= 0

    def gaps(self, value: int) -> IntArray:
        """How far above the noisy threshold each lane finds the value, with noise; −1 where it is below."""
        gaps = np.full(self._left.size, -1, dtype=np.int64)
        open_lanes = np.flatnonzero(self._left)
        noise = two_sided_geometric(self._mechanism.query_scale, size=open_lanes.size, source=self._source)
        noisy = saturating_add(comparable(np.full(1, one_number(value, "the value"))), noise)
        thresholds = self._thresholds[open_lanes]
        above = noisy >= thresholds
        hit = open_lanes[above]
        gaps[hit] = noisy[above] - thresholds[above]  # both lie within ±2^62
        self._left[hit] -= 1
        if self._mechanism.renews:
            self._thresholds[hit] = self._noisy_thresholds(hit.size)
        return gaps


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
        return self.gap(value) is not None

    def gap(self, value: int) -> int | None:
        """How far above the noisy threshold the value is, with noise; None if it is below. It costs no more than `ask`.

        Threshold and value are noisy both, so it is off by both scales; and it is only told where it is not negative.
        """
        if not self.hits_left:
            raise QueryRefused(
                "the run is over: it has found as many answers above its threshold as it paid for",
                hint="start another run; it costs its whole price again",
            )
        gap = int(self._lanes.gaps(value)[0])
        return None if gap < 0 else gap

    def __repr__(self) -> str:
        return f"<threshold run, {self.hits_left} hits left>"


def _query_share(questions: int, thresholds: int) -> Fraction:
    """Of the price the share of the questions: the least variance of noise minus noise is at 1 : (ratio)^(2/3)."""
    weight = (questions / thresholds) ** (2 / 3)
    return Fraction(max(1, min(_SHARES - 1, round(_SHARES * weight / (1 + weight)))), _SHARES)
