"""A small neural network whose every step sees clipped gradients, with noise: DP-SGD in numpy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tacit.core import Event, Loss, Number, rational
from tacit.errors import InvalidParameter
from tacit.learn.conventions import Learner, columns_of, labels_of, target_of
from tacit.learn.moments import GRID, Scaled, design, scaled
from tacit.learn.network_plan import CLIP, NetworkPlan, plan_network
from tacit.learn.studies import spendable
from tacit.noise import SYSTEM, IntArray, Source, bernoulli, uniform_integer

Floats = NDArray[np.float64]
_CHUNK = 1 << 21  # numbers held at once of the gradients of single rows
_SAFE = 1 - 1e-9  # so that no rounding of doubles makes a clipped gradient too long
_FAR = 1e3  # weights are held there
_MOMENTUM = 0.5


class NetworkClassifier(Learner):
    """One hidden layer, or none, and any number of classes; trained by gradients clipped row by row.

    Each round takes every row with probability `sampling`, clips each row's own gradient to length 1, rounds it towards
    zero on a grid, adds them up and adds noise. The weights are the mean of the later half of the rounds. With all rows
    in every round, which few rows want, the price is exact; of samples it is their losses added up.

    Guarantee:    (ε, δ)-DP for one row added or removed, all rounds together (`NetworkPlan`).
    Sensitivity:  L2, 1 in a round: the length of one row's gradient, whatever the row holds and the weights are.
    Exactness:    gradients are whole numbers of 2^-14; sums and noise are whole numbers of these.
    Reference:    Abadi and others, CCS 2016; Zhu, Dong & Wang, AISTATS 2022 (what samples lose).
    """

    _many_classes = True
    scaled_: tuple[Scaled, ...]
    classes_: NDArray[Any]
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
        source: Source | None = None,
    ) -> None:
        self.hidden, self.epsilon, self.delta, self.features = hidden, epsilon, delta, features
        self.classes, self.rounds, self.step, self.sampling, self.source = classes, rounds, step, sampling, source

    def fit(self, X: Any, y: Any) -> Self:  # noqa: N803 - scikit-learn's names
        """Learn from rows and their classes. It costs (epsilon, delta), each time."""
        if isinstance(self.hidden, bool) or not isinstance(self.hidden, int) or not 0 <= self.hidden <= 4_096:
            raise InvalidParameter("the hidden layer has a whole number of units, from 0 to 4096")
        if not isinstance(self.step, int | float) or not 0 < self.step < 1e6:
            raise InvalidParameter("the step is a number above zero")
        columns = columns_of(X)
        classes, which = labels_of(target_of(y, rows=len(columns[0])), self.classes)
        features = scaled(self.features, self._take_names(X, columns))
        plan = plan_network(spendable(self.epsilon, self.delta), rounds=self.rounds, sampling=rational(self.sampling))
        rows = design(features, columns) / GRID
        found = self._train(plan, rows, which, classes=classes.size, source=self.source or SYSTEM)
        self.scaled_, self.classes_ = features, classes
        self.inner_, self.outer_ = found.inner, found.outer
        self.loss_, self.event_ = plan.loss, plan.event
        return self

    def _train(self, plan: NetworkPlan, rows: Floats, which: IntArray, *, classes: int, source: Source) -> Layers:
        layers = _drawn(rows.shape[1], self.hidden, classes, source)
        noisy = float(plan.count_noise.release(np.array([len(rows)]), source)[0])  # the true number is never used
        batch = max(1.0, noisy * float(plan.sampling))
        speed, later = np.zeros(layers.flat.size), np.zeros(layers.flat.size)
        for turn in range(plan.rounds):
            taken = np.arange(len(rows))
            if plan.sampling < 1:
                taken = np.flatnonzero(bernoulli(plan.sampling, len(rows), source=source))
            sums = gradient_sums(layers, rows[taken], which[taken])
            speed = _MOMENTUM * speed + plan.noise.release(sums, source) / CLIP / batch
            layers = layers.moved(np.clip(layers.flat - self.step * speed, -_FAR, _FAR))
            if turn >= plan.rounds // 2:
                later += layers.flat
        return layers.moved(later / (plan.rounds - plan.rounds // 2))

    def predict_proba(self, X: Any) -> NDArray[np.float64]:  # noqa: N803
        """The probability of each class, for each row."""
        columns = self._columns(X)
        rows = design(self.scaled_, columns) / GRID
        return Layers(self.inner_, self.outer_).forward(rows)[1]

    def predict(self, X: Any) -> NDArray[Any]:  # noqa: N803
        """The likeliest class of each row."""
        best = self.predict_proba(X).argmax(axis=1)
        likely: NDArray[Any] = self.classes_[best]
        return likely

    def score(self, X: Any, y: Any) -> float:  # noqa: N803
        """How often the likeliest class is the true one: exact, and so not private."""
        return float(np.mean(self.predict(X) == np.asarray(y)))


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
            seen = np.hstack([np.ones((len(rows), 1)), np.tanh(rows @ self.inner)])
        score = seen @ self.outer
        odds = np.exp(score - score.max(axis=1, keepdims=True))
        return seen, odds / odds.sum(axis=1, keepdims=True)


def gradient_sums(layers: Layers, rows: Floats, which: IntArray) -> IntArray:
    """The sum of each row's own gradient, clipped to length 1 and rounded towards zero: whole numbers of 1 / CLIP."""
    total = np.zeros(layers.flat.size)
    at_once = max(1, _CHUNK // max(1, total.size))
    for start in range(0, len(rows), at_once):
        part = slice(start, start + at_once)
        total += _clipped(_gradients(layers, rows[part], which[part])).sum(axis=0)
    return total.astype(np.int64)


def _gradients(layers: Layers, rows: Floats, which: IntArray) -> Floats:
    """One row of gradients for each row of the data."""
    seen, likely = layers.forward(rows)
    wrong = likely.copy()
    wrong[np.arange(len(rows)), which] -= 1.0
    outer = (seen[:, :, None] * wrong[:, None, :]).reshape(len(rows), -1)
    if not layers.inner.size:
        return outer
    back = (wrong @ layers.outer[1:].T) * (1 - seen[:, 1:] ** 2)
    return np.hstack([(rows[:, :, None] * back[:, None, :]).reshape(len(rows), -1), outer])


def _clipped(gradients: Floats) -> Floats:
    """Each row held to length CLIP in whole numbers; one that is not a number at all counts as nothing."""
    known = np.nan_to_num(gradients, nan=0.0, posinf=0.0, neginf=0.0)
    lengths = np.sqrt((known**2).sum(axis=1, keepdims=True))
    steps: Floats = np.trunc(known * (CLIP * _SAFE / np.maximum(lengths, 1.0)))
    steps[(steps**2).sum(axis=1) > CLIP**2] = 0.0  # cannot be; if it were, nothing would leave
    return steps


def _drawn(width: int, hidden: int, classes: int, source: Source) -> Layers:
    """Where training begins: a public draw, which no row has a say in."""
    if not hidden:
        return Layers(np.zeros((width, 0)), np.zeros((width, classes)))
    coins = uniform_integer(2 * GRID + 1, width * hidden, source=source) / GRID - 1.0
    return Layers(coins.reshape(width, hidden) * (3 / width) ** 0.5, np.zeros((hidden + 1, classes)))
