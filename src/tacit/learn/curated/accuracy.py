"""Accuracy first behind a curator: the most that it could cost is charged first, and stays charged.

How far the tellings went is told with the model, and with it what they cost after the fact; both are covered by the
whole price. Nothing is handed back: what is left in the ledger would else depend on the data.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tacit.core import Event, Loss, PureEvent
from tacit.core.digests import digest
from tacit.engines import one_state
from tacit.errors import InvalidParameter
from tacit.learn.accuracy.first import AccuracyFirst
from tacit.learn.accuracy.problems import ridge_in_box
from tacit.learn.accuracy.telling import (
    FIRST,
    LOSS_STEPS,
    Reached,
    comparison_at,
    excess_moves,
    mistaken,
    rows_at_least,
    told_until_good,
    tried_prices,
)
from tacit.learn.curated.plans import FitPlan, FitRequest, PlansFits
from tacit.learn.regression.ridge import RidgeRegressor
from tacit.learn.sums.moments import GRID

_COUNTED, _COMPARED = Fraction(1, 100), Fraction(1, 4)  # of epsilon: for the number of rows, and for comparisons
_MOST_LOSS = 9.0  # of a row (`ridge_in_box`)


@dataclass(frozen=True, slots=True)
class TableAccuracy:
    """What will be told and compared, and the most that it costs. Made without reading a row."""

    loss: Loss
    alpha: Fraction
    ridge: float
    fit: FitPlan

    @property
    def event(self) -> Event:
        """What an accountant needs to know of all of it."""
        return PureEvent(self.loss.epsilon)

    @property
    def prices(self) -> list[Fraction]:
        """The prices of the tellings, which have what counting and comparing leave."""
        return tried_prices(self.loss.epsilon * (1 - _COUNTED - _COMPARED))

    @property
    def hash(self) -> str:
        """The same for what is told, compared and charged alike."""
        return digest("accuracy first", str(self.loss), str(self.alpha), repr(self.ridge), self.fit.hash)


def plan_of_accuracy(learner: PlansFits, model: AccuracyFirst, request: FitRequest) -> TableAccuracy:
    """What accuracy first would cost, at most. Free; raises QueryRefused and InvalidParameter."""
    estimator, alpha, most = model.checked()
    if not isinstance(estimator, RidgeRegressor):
        raise InvalidParameter(
            f"no engine adds up the loss of a {type(estimator).__name__}",
            hint="a RidgeRegressor is fitted accuracy first behind a curator",
        )
    loss = Loss(most if request.epsilon is None else request.epsilon)
    if loss.epsilon < 2 * FIRST or request.delta:
        raise InvalidParameter("accuracy first costs an epsilon of 0.1 at least, and no delta")
    fit = learner.planned(estimator, request, Loss(loss.epsilon, Fraction(1, 10**6)))
    return TableAccuracy(loss, alpha, estimator.ridge, fit)


def reached(learner: PlansFits, wanted: TableAccuracy) -> Reached:
    """Read the sums once; count, tell and compare."""
    with one_state(learner.engine) as state:
        exact = wanted.fit.rows(state.execute).products()
    fit, epsilon, times = wanted.fit, wanted.loss.epsilon, wanted.fit.times
    counted = round(int(exact[0]) / GRID**2)
    number = rows_at_least(counted, epsilon=epsilon * _COUNTED, times=times, source=learner.source)
    sensitivity, prices = excess_moves(_MOST_LOSS, times=times), wanted.prices
    off = mistaken(comparison_at(epsilon * _COMPARED, sensitivity, room=0), len(prices))
    room = math.floor(wanted.alpha * number * LOSS_STEPS) - off  # so that a yes is right, nineteen times in twenty
    width = 1 + sum(each.width for each in fit.study.columns)
    problem = ridge_in_box(exact, width=width, features=len(fit.names) + 1, times=times)
    comparing = comparison_at(epsilon * _COMPARED, sensitivity, room=room)
    told = told_until_good(problem, comparing, prices, ridge=1.0 + wanted.ridge, source=learner.source, times=times)
    return Reached(
        told.weights,
        told.spent + Loss(epsilon * _COUNTED),
        wanted.loss,
        told.comparing,
        told.tellings,
        is_good=told.is_good,
    )


def to_bytes(reached: Reached) -> bytes:
    """The outcome as the bytes that the ledger keeps."""
    losses = [str(each.epsilon) for each in (reached.spent, reached.reserved, reached.comparing)]
    kept = {
        "weights": reached.weights.tolist(),
        "losses": losses,
        "tellings": reached.tellings,
        "good": reached.is_good,
    }
    return json.dumps(kept).encode("ascii")


def from_bytes(body: bytes) -> Reached:
    """The outcome that `to_bytes` wrote."""
    kept = json.loads(body)
    spent, reserved, comparing = (Loss(Fraction(each)) for each in kept["losses"])
    weights = np.array(kept["weights"], dtype=np.float64)
    return Reached(weights, spent, reserved, comparing, int(kept["tellings"]), is_good=bool(kept["good"]))


def give(model: AccuracyFirst, wanted: TableAccuracy, reached: Reached) -> None:
    """Give the model what was reached."""
    model.hold(wanted.fit.study, reached, names=wanted.fit.names)
