"""A small neural network whose every step sees clipped gradients, with noise: DP-SGD in numpy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tacit.core import Event, Loss, Number, rational
from tacit.errors import InvalidParameter
from tacit.learn.conventions import ClassLearner, column_names, columns_of, labels_of, source_of, target_of
from tacit.learn.networks.network_plan import NetworkPlan, plan_network
from tacit.learn.networks.noisy_descent import clip_rows, descended, shared
from tacit.learn.sums.moments import GRID, Scaled, design, scaled
from tacit.learn.sums.studies import spendable
from tacit.learn.sums.units import UnitRows, rows_of_units
from tacit.noise import IntArray, Source, uniform_integer

Floats = NDArray[np.float64]
_WEIGHT, _SEEN, _WRONG = 1 << 14, 1 << 16, 1 << 18  # steps of one: of weights, of hidden units, of errors
_MOST_CLASSES = 1 << 11  # of which a double holds every sum (`exact_product`)
_CHUNK = 1 << 21  # numbers held at once of the gradients of single rows


class NetworkClassifier(ClassLearner):
    """One hidden layer, or none, and any number of classes; trained by gradients clipped row by row.

    Each round takes every row with probability `sampling`, clips each row's own gradient to length 1, rounds it towards
    zero on a grid, adds them up and adds noise. The weights are the mean of the later half of the rounds. With all rows
    in every round, which few rows want, the price is exact; of samples it is their losses added up.

    Where `units` says whose each row is, the first `max_rows` of a unit count, and share one gradient: the mean of
    theirs. A unit is in a round with all of them, or not at all; the noise is the same however many there are.

    Guarantee:    (ε, δ)-DP for one row added or removed, all rounds together (`NetworkPlan`); with `units`, for all
                  rows of one unit.
    Sensitivity:  L2, 1 in a round: the length of one row's gradient, or of the mean of a unit's (`shared`), whatever
                  the rows hold and the weights are.
    Exactness:    a row's gradient is the same whoever else is there (`exact_product`), and clipped to whole numbers
                  of 2^-14; sums and noise are whole numbers of these.
    Reference:    Abadi and others, CCS 2016; Zhu, Dong & Wang, AISTATS 2022 (what samples lose).
    """

    _many_classes = True
    scaled_: tuple[Scaled, ...]
    inner_: NDArray[np.float64]
    outer_: NDArray[np.float64]
    loss_: Loss
    event_: Event

    def __init__(  # noqa: PLR0913 - the parameters of a network
        self,
        hidden: int = 32,
        *,
        epsilon: Number = 1,
        delta: Number = "0.000001",
        features: object = None,
        classes: Sequence[Any] | None = None,
        rounds: int = 60,
        step: float = 2.0,
        sampling: Number = 1,
        max_rows: int = 1,
        source: Source | None = None,
    ) -> None:
        self.hidden, self.epsilon, self.delta, self.features = hidden, epsilon, delta, features
        self.max_rows = max_rows
        self.classes, self.rounds, self.step, self.sampling, self.source = classes, rounds, step, sampling, source

    def fit(self, X: Any, y: Any, units: Any = None) -> Self:  # noqa: N803 - scikit-learn's names
        """Learn from rows and their classes. It costs (epsilon, delta), each time; `units` says whose each row is."""
        if isinstance(self.hidden, bool) or not isinstance(self.hidden, int) or not 0 <= self.hidden <= 4_096:
            raise InvalidParameter("the hidden layer has a whole number of units, from 0 to 4096")
        if not isinstance(self.step, int | float) or not 0 < self.step < 1e6:
            raise InvalidParameter("the step is a number above zero")
        columns = columns_of(X)
        classes, which = labels_of(target_of(y, rows=len(columns[0])), self.classes)
        if classes.size > _MOST_CLASSES:
            raise InvalidParameter(f"a network tells at most {_MOST_CLASSES} classes apart")
        counted = rows_of_units(units, len(which), self.max_rows)
        features = scaled(self.features, column_names(X, len(columns)))
        plan = plan_network(spendable(self.epsilon, self.delta), rounds=self.rounds, sampling=rational(self.sampling))
        rows = design(features, columns) / GRID
        network = self._train(plan, rows[counted.kept], which[counted.kept], counted=counted, classes=classes.size)
        self.scaled_, self.classes_ = features, classes
        self.inner_, self.outer_ = network.inner, network.outer
        self.loss_, self.event_ = plan.loss, plan.event
        self._take_names(X, columns)
        return self

    def _train(self, plan: NetworkPlan, rows: Floats, which: IntArray, *, counted: UnitRows, classes: int) -> Layers:
        source = source_of(self.source)
        layers = _drawn(rows.shape[1], self.hidden, classes, source)

        def sums_at(flat: Floats, taken: IntArray) -> IntArray:
            mine, starts = counted.of(taken)
            return gradient_sums(layers.moved(flat), rows[mine], which[mine], starts)

        return layers.moved(descended(plan, layers.flat, sums_at, units=counted.units, step=self.step, source=source))

    def predict_proba(self, X: Any) -> NDArray[np.float64]:  # noqa: N803
        """The probability of each class, for each row."""
        columns = self._columns(X)
        rows = design(self.scaled_, columns) / GRID
        return Layers(self.inner_, self.outer_).forward(rows)[1]


@dataclass(frozen=True, slots=True, eq=False)
class Layers:
    """The weights: `inner` has no columns where there is no hidden layer."""

    inner: Floats
    outer: Floats

    @property
    def flat(self) -> Floats:
        """All weights in one row."""
        return np.concatenate([self.inner.ravel(), self.outer.ravel()])

    def moved(self, flat: Floats) -> Layers:
        """The same layers with other weights."""
        split = self.inner.size
        return Layers(flat[:split].reshape(self.inner.shape), flat[split:].reshape(self.outer.shape))

    def forward(self, rows: Floats) -> tuple[Floats, Floats]:
        """What the last layer is given, and the probabilities it makes of it."""
        seen = rows
        if self.inner.size:
            hidden = np.tanh(exact_product(rows, self.inner))
            seen = np.hstack([np.ones((len(rows), 1)), np.rint(hidden * _SEEN) / _SEEN])
        score = exact_product(seen, self.outer)
        odds = np.exp(score - score.max(axis=1, keepdims=True))
        return seen, odds / odds.sum(axis=1, keepdims=True)


def exact_product(rows: Floats, weights: Floats) -> Floats:
    """The matrix product, with weights rounded to whole numbers of 2^-14: exact, and so the same in whatever order.

    Rows are whole numbers of 2^-18 or of larger steps, and no larger than one; weights no larger than a thousand. So
    every product and every sum of up to 2^11 of them is a whole number of 2^-32 that a double holds. A matrix product
    of doubles depends, in its last digits, on how many rows there are and where a row stands among them; then one row
    more would move the gradients of all the others a little, and with them, now and then, a step of the grid.
    """
    return rows @ (np.rint(weights * _WEIGHT) / _WEIGHT)


def gradient_sums(layers: Layers, rows: Floats, which: IntArray, starts: IntArray | None = None) -> IntArray:
    """The sum of each unit's own gradient, no longer than 1, rounded towards zero: whole numbers of 1 / CLIP.

    `starts` says where each unit's rows begin; without, each row is a unit.
    """
    total = np.zeros(layers.flat.size)
    firsts = np.arange(len(rows)) if starts is None else starts
    ends = np.append(firsts[1:], len(rows))
    at_once, unit = max(1, _CHUNK // max(1, total.size)), 0
    while unit < len(firsts):  # whole units, as many as there is room for, and one at least
        after = max(unit + 1, int(np.searchsorted(ends, firsts[unit] + at_once, side="right")))
        part = slice(firsts[unit], ends[after - 1])
        steps = clip_rows(_gradients(layers, rows[part], which[part]))
        total += shared(steps, firsts[unit:after] - firsts[unit]).sum(axis=0)
        unit = after
    return total.astype(np.int64)


def _gradients(layers: Layers, rows: Floats, which: IntArray) -> Floats:
    """One row of gradients for each row of the data."""
    seen, likely = layers.forward(rows)
    wrong = likely.copy()
    wrong[np.arange(len(rows)), which] -= 1.0
    outer = (seen[:, :, None] * wrong[:, None, :]).reshape(len(rows), -1)
    if not layers.inner.size:
        return outer
    back = exact_product(np.rint(wrong * _WRONG) / _WRONG, layers.outer[1:].T) * (1 - seen[:, 1:] ** 2)
    return np.hstack([(rows[:, :, None] * back[:, None, :]).reshape(len(rows), -1), outer])


def _drawn(width: int, hidden: int, classes: int, source: Source) -> Layers:
    """Where training begins: a public draw, which no row has a say in."""
    if not hidden:
        return Layers(np.zeros((width, 0)), np.zeros((width, classes)))
    coins = uniform_integer(2 * GRID + 1, width * hidden, source=source) / GRID - 1.0
    return Layers(coins.reshape(width, hidden) * (3 / width) ** 0.5, np.zeros((hidden + 1, classes)))
