"""Choosing among settings, and paying for it: the best of a random number of runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from tacit.accounting import renyi_to_dp, zcdp_of
from tacit.accounting.best_of import best_of_curve, stopping_chance
from tacit.core import ApproximateEvent, Event, Loss, Number, rational
from tacit.core.enclosure import rounded_up
from tacit.errors import InvalidParameter
from tacit.learn.conventions import Learner, column_names, columns_of, source_of, target_of
from tacit.learn.sums.cells import numbers_of
from tacit.learn.sums.studies import Declared, Study, SumsLearner, spendable
from tacit.learn.sums.units import UnitRows, rows_of_units
from tacit.mechanisms import Gaussian
from tacit.noise import IntArray, Source, bernoulli, uniform_integer

_STEPS = 1 << 10  # of one row's score
_HALVINGS = 18
_AT_ONCE = 32  # coins
_SCORING = Fraction(3, 20)  # of a run's rho, where fitting and scoring see the same rows
L = TypeVar("L", bound=SumsLearner)
Studied = Callable[[SumsLearner, Loss], Study]


@dataclass(frozen=True, slots=True)
class SearchPlan:
    """How many runs are likely, what each of them may cost, and the noise of its score."""

    loss: Loss
    chance: Fraction
    run: Loss  # what a candidate is fitted with
    rho: Fraction  # what it costs then, at most
    noise: Gaussian

    @property
    def event(self) -> Event:
        """What an accountant needs to know of all of it."""
        return ApproximateEvent(self.loss)


class PrivateSearch(Learner):
    """The best of several estimators, by its score on rows that were held back; trying and choosing are paid for.

    A number of runs is drawn, `runs` on average. Each takes one of the candidates at random, fits it to about seven
    tenths of the rows, and scores it on the others, with noise: how many it tells right, or how little of the squared
    error it leaves. The model with the best score is what is told, and `best_right_`, about how many rows those are.
    A row is in one part only, by a coin that nobody looks at, so that fitting and scoring cost what one of them does.

    Where `units` says whose each row is, the first `max_rows` of a unit count, whatever the candidates say, and all of
    them fall into one part, by one coin.

    Guarantee:    (ε, δ)-DP for one row added or removed, of the model, its score and which candidate it was; with
                  `units`, for all rows of one unit.
    Sensitivity:  that of each candidate's sums, for `max_rows` rows; as many for a score, which one row moves by 1.
    Exactness:    the number of runs has its exact law; scores and noise are whole numbers.
    Reference:    Papernot & Steinke, ICLR 2022; Liu & Talwar, STOC 2019.
    """

    best_estimator_: Any
    best_index_: int
    best_right_: float
    loss_: Loss
    event_: Event

    def __init__(
        self,
        candidates: Sequence[SumsLearner] = (),
        *,
        epsilon: Number = 1,
        delta: Number = "0.000001",
        runs: float | None = None,
        max_rows: int = 1,
        source: Source | None = None,
    ) -> None:
        self.candidates, self.epsilon, self.delta = candidates, epsilon, delta
        self.runs, self.max_rows, self.source = runs, max_rows, source

    def fit(self, X: Any, y: Any, units: Any = None) -> Self:  # noqa: N803 - scikit-learn's names
        """Learn from rows and their targets. It costs (epsilon, delta), each time, whatever the candidates say.

        `units` says whose each row is.
        """
        columns = columns_of(X)
        truth = target_of(y, rows=len(columns[0]))
        names = column_names(X, len(columns))
        candidates = self.checked()
        if candidates[0].kind == "regressor":
            truth = numbers_of(truth, "that is predicted")
        source = source_of(self.source)
        counted = rows_of_units(units, len(truth), self.max_rows)
        labelled = [each.labelled(truth) for each in candidates]  # refused here, whoever falls into which part
        loss = spendable(self.epsilon, self.delta)
        plan = plan_search(loss, self.chance(), candidates, tuple(names), rows=counted.most)
        fitted, held = _parts(counted, bernoulli(Fraction(7, 10), counted.units, source=source))
        tried = []
        for _ in range(number_of_runs(plan.chance, source)):
            which = int(uniform_integer(len(candidates), 1, source=source)[0])
            model = copy_at(candidates[which], plan.run, source)
            model.fit_columns(X, columns, labelled=labelled[which], counted=fitted)
            exact = int(_right(model, [column[held] for column in columns], truth[held]).sum())
            tried.append((int(plan.noise.release([exact], source)[0]), which, model))
        best = max(tried, key=lambda run: run[0])
        self.best_index_, self.best_estimator_, self.best_right_ = best[1], best[2], best[0] / _STEPS
        self.loss_, self.event_ = plan.loss, plan.event
        self._take_names(X, columns)
        return self

    def checked(self) -> list[SumsLearner]:
        """The candidates, if they can be held against each other."""
        candidates = list(self.candidates)
        kinds = {getattr(each, "kind", "") for each in candidates}
        if not candidates or not kinds <= {"classifier", "regressor"} or len(kinds) > 1:
            raise InvalidParameter(
                "the candidates are classifiers of this room, or regressors: one at least",
                hint="[LogisticClassifier(…), AdditiveClassifier(…)]",
            )
        for each in candidates:
            if each.kind == "classifier" and getattr(each, "classes", None) is None:
                raise InvalidParameter(
                    "a candidate has no classes: each part of the rows might have others",
                    hint="name them with classes=",
                )
        return candidates

    def chance(self) -> Fraction:
        """That a run is the last."""
        return stopping_chance(2.0 * len(self.candidates) if self.runs is None else float(self.runs))

    def hold(self, plan: SearchPlan, model: SumsLearner, *, index: int, right: float) -> Self:
        """Take what a search of a table found."""
        self.best_index_, self.best_estimator_, self.best_right_ = index, model, right
        self.loss_, self.event_ = plan.loss, plan.event
        self.n_features_in_, self.feature_names_in_ = model.n_features_in_, model.feature_names_in_
        return self

    def predict(self, X: Any) -> NDArray[Any]:  # noqa: N803
        """What the best model says of each row."""
        self._check_fitted()
        predicted: NDArray[Any] = self.best_estimator_.predict(X)
        return predicted

    def predict_proba(self, X: Any) -> NDArray[np.float64]:  # noqa: N803
        """The probability of each class, for each row, where the best model knows."""
        self._check_fitted()
        probabilities: NDArray[np.float64] = self.best_estimator_.predict_proba(X)
        return probabilities


def plan_search(
    loss: Loss, chance: Fraction, candidates: Sequence[SumsLearner], names: tuple[str, ...], *, rows: int = 1
) -> SearchPlan:
    """The most that each run may cost, so that all of it costs no more than `loss`: a unit is fitted to, or scored.

    `rows` of one unit count, at most.
    """

    def studied(candidate: SumsLearner, price: Loss) -> Study:
        classes = tuple(getattr(candidate, "classes", None) or ())
        return candidate.study(Declared(names, candidate.features, price, classes, rows))

    most = _rho_of_run(loss.epsilon, loss.delta, chance)
    run, rho = _run_within(most, loss, candidates, studied)
    return SearchPlan(loss, chance, run, max(rho, most), Gaussian.concentrated(most, rows * _STEPS, delta=loss.delta))


def plan_table_search(
    loss: Loss, chance: Fraction, candidates: Sequence[SumsLearner], *, studied: Studied, times: int
) -> SearchPlan:
    """A search where every run is fitted to all rows and scored on all of them: both together cost a run's price.

    `times` rows are the most by which neighbours differ in a score, which counts rows.
    """
    most = _rho_of_run(loss.epsilon, loss.delta, chance)
    run, rho = _run_within(most * (1 - _SCORING), loss, candidates, studied)
    noise = Gaussian.concentrated(most * _SCORING, times, delta=loss.delta)
    return SearchPlan(loss, chance, run, rho + most * _SCORING, noise)


def _run_within(
    most: Fraction, loss: Loss, candidates: Sequence[SumsLearner], studied: Studied
) -> tuple[Loss, Fraction]:
    """The largest price, to a few digits, at which no candidate costs more than rho `most`; and what that is of rho."""

    def dearest(epsilon: Fraction) -> Fraction:
        return max(_rho(studied(each, Loss(epsilon, loss.delta))) for each in candidates)

    low, high = Fraction(0), loss.epsilon
    for _ in range(_HALVINGS):
        middle = rounded_up((low + high) / 2, 6)
        low, high = (middle, high) if dearest(middle) <= most else (low, middle)
    if low == 0:
        raise InvalidParameter("so little epsilon pays for no search", hint="fewer runs, or more epsilon")
    return Loss(low, loss.delta), dearest(low)


def _rho(study: Study) -> Fraction:
    """What a fit costs in concentrated privacy."""
    price = zcdp_of(study.plan.event)
    if price.delta:  # the theorem is of Rényi divergences: a chance of failing would come back with every run
        raise InvalidParameter("a candidate may fail with a probability of its own, which no search can pay for")
    return price.rho


@lru_cache(maxsize=64)
def _rho_of_run(epsilon: Fraction, delta: Fraction, chance: Fraction) -> Fraction:
    """The largest rho of a run, to a few digits, with which the best of all runs stays within (epsilon, delta)."""
    low, high = Fraction(0), Fraction(1)
    while high < 10**4 and _fits(high, epsilon, delta, chance):
        low, high = high, 2 * high
    for _ in range(40):
        middle = rounded_up((low + high) / 2, 6)
        low, high = (middle, high) if _fits(middle, epsilon, delta, chance) else (low, middle)
    if low == 0:
        raise InvalidParameter("so little epsilon pays for no search", hint="fewer runs, or more epsilon")
    return low


def _fits(rho: Fraction, epsilon: Fraction, delta: Fraction, chance: Fraction) -> bool:
    return renyi_to_dp(best_of_curve(rho, chance), delta).epsilon <= epsilon


def number_of_runs(chance: Fraction, source: Source) -> int:
    """A draw of the logarithmic law: a geometric number k ≥ 1, kept with probability 1/k."""
    while True:
        tries = 1
        while not (heads := bernoulli(chance, _AT_ONCE, source=source)).any():
            tries += _AT_ONCE
        tries += int(heads.argmax())
        if bernoulli(Fraction(1, tries), source=source):
            return tries


def _parts(counted: UnitRows, inside: NDArray[np.bool_]) -> tuple[UnitRows, IntArray]:
    """The rows of those units, and the places of all others' rows that count."""
    rows, starts = counted.of(np.flatnonzero(inside))
    others, _ = counted.of(np.flatnonzero(~inside))
    return UnitRows(counted.kept[rows], starts, counted.most), counted.kept[others]


def copy_at(candidate: L, loss: Loss, source: Source | None) -> L:
    """The same estimator, at the price of a run; what was given stays as it is."""
    told = candidate.get_params() | {"epsilon": loss.epsilon, "delta": loss.delta, "source": source}
    return type(candidate)(**told)


def _right(model: Any, columns: Sequence[NDArray[Any]], truth: NDArray[Any]) -> IntArray:
    """Of each row how right the model is, in whole steps: at most one, whatever the row holds."""
    if not len(truth):
        return np.zeros(0, dtype=np.int64)  # nobody was held back: as likely as it is with so few
    rows = np.empty((len(truth), len(columns)), dtype=object)
    for index, column in enumerate(columns):
        rows[:, index] = column
    guess = model.predict(rows)
    if model.kind == "classifier":
        return _STEPS * np.asarray(guess == truth, dtype=np.int64)
    lower, upper = (float(rational(end)) for end in model.target)
    off = (np.clip(truth, lower, upper) - guess) / (upper - lower)
    result: IntArray = np.clip(np.floor(_STEPS * (1 - off**2)), 0, _STEPS).astype(np.int64)
    return result
