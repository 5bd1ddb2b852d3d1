"""Accuracy first: say how good a model must be, and pay the least at which it is."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tacit.core import NOTHING, Loss, Number, rational
from tacit.errors import InvalidParameter
from tacit.learn.accuracy.problems import in_ball, logistic_in_ball, ridge_in_ball
from tacit.learn.accuracy.telling import (
    FIRST,
    Reached,
    cheapest_comparison,
    excess_moves,
    rows_at_least,
    told_until_good,
    tried_prices,
)
from tacit.learn.classifiers.logistic import LogisticClassifier
from tacit.learn.conventions import Learner, columns_of, source_of, target_of, two_labels_of
from tacit.learn.regression.ridge import RidgeRegressor
from tacit.learn.sums.moments import GRID, Scaled, design, scaled
from tacit.learn.sums.studies import Study

_MOST_LOSS = 4
_COUNTED = Fraction(1, 50)  # of epsilon, for the number of rows


class AccuracyFirst(Learner):
    """The cheapest ridge or logistic regression whose mean loss is within `alpha` of the best one in a ball.

    Columns are scaled by their bounds into [−1, 1], rows longer than 1 are shortened to it, and a target that is a
    number is scaled likewise; `alpha` is of squared errors in those units, or of the logarithmic loss. Noisy sums of
    products are told ever more precisely, each telling a noisier copy of the next, so that all of them cost what the
    last one does; after each, a comparison that pays once for all asks whether the model made of it is good enough.

    `spent_` depends on the data: it is a promise after the fact (ex-post privacy). Whoever keeps a ledger charges
    `reserved_`, for what is handed back would tell of the data. What comparisons cost follows from a noisy number of
    rows; it is never more than `most`.

    Guarantee:    pure ε-DP with ε = 2 · most + 1/50, for one row added or removed, and with ε = `reserved_` once the
                  noisy number of rows is told; ex post with ε = `spent_`. That it is within `alpha` where `is_good_`
                  holds with probability 19/20.
    Sensitivity:  L1 of a row's products, and of a loss, which is at most 4.02 for rows and weights in their balls.
    Exactness:    sums and comparisons are of whole numbers.
    Reference:    Ligett, Neel, Roth, Waggoner & Wu, NeurIPS 2017.
    """

    scaled_: tuple[Scaled, ...]
    target_: Scaled
    classes_: NDArray[Any]
    weights_: NDArray[np.float64]
    spent_: Loss
    reserved_: Loss
    comparing_: Loss
    tellings_: int
    is_good_: bool

    def __init__(
        self,
        estimator: RidgeRegressor | LogisticClassifier | None = None,
        *,
        alpha: Number = Fraction(1, 20),
        most: Number = 20,
    ) -> None:
        self.estimator, self.alpha, self.most = estimator, alpha, most

    def _sort(self) -> str:
        return "classifier" if isinstance(self.estimator, LogisticClassifier) else "regressor"

    def fit(self, X: Any, y: Any) -> Self:  # noqa: N803 - scikit-learn's names
        """Learn from rows and their targets. It costs `reserved_`, each time."""
        estimator, wanted, dearest = self.checked()
        columns = columns_of(X)
        truth = target_of(y, rows=len(columns[0]))
        source = source_of(estimator.source)
        features = scaled(estimator.features, self._take_names(X, columns))
        rows = in_ball(design(features, columns)[:, 1:])
        ridge = 1.0
        if isinstance(estimator, LogisticClassifier):
            classes, which = two_labels_of(truth, estimator.classes)
            problem = logistic_in_ball(rows, np.where(which == 1, 1.0, -1.0))
            self.classes_ = classes
        else:
            (goal,) = scaled([estimator.target], ["the target"])
            problem = ridge_in_ball(rows, goal.steps(truth)[:, 0])
            ridge += estimator.ridge
            self.target_ = goal
        number = rows_at_least(len(rows), epsilon=_COUNTED, times=1, source=source)
        prices = tried_prices(dearest)
        comparing = cheapest_comparison(
            wanted, number, sensitivity=excess_moves(problem.most_loss), questions=len(prices), most=dearest
        )
        self.scaled_ = features
        self._take(told_until_good(problem, comparing, prices, ridge=ridge, source=source), Loss(_COUNTED))
        return self

    def checked(self) -> tuple[RidgeRegressor | LogisticClassifier, Fraction, Fraction]:
        """The estimator, alpha, and the most that may be spent on sums; or a refusal."""
        estimator = self.estimator if self.estimator is not None else RidgeRegressor()
        wanted, dearest = rational(self.alpha, "alpha"), rational(self.most, "most")
        if not isinstance(estimator, RidgeRegressor | LogisticClassifier):
            raise InvalidParameter(
                f"no way to fit a {type(estimator).__name__} accuracy first",
                hint="a RidgeRegressor and a LogisticClassifier can be",
            )
        if not 0 < wanted < _MOST_LOSS or dearest < FIRST:
            raise InvalidParameter("alpha lies between 0 and 4, and at least 0.05 of epsilon may be spent")
        return estimator, wanted, dearest

    def _take(self, reached: Reached, counted: Loss = NOTHING) -> None:
        self.weights_, self.tellings_, self.is_good_ = reached.weights, reached.tellings, reached.is_good
        self.spent_, self.reserved_, self.comparing_ = (
            reached.spent + counted,
            reached.reserved + counted,
            reached.comparing,
        )

    def hold(self, study: Study, reached: Reached, *, names: Sequence[str]) -> None:
        """Take what was reached of a table."""
        self.scaled_, self.target_ = study.columns, study.target
        self.n_features_in_, self.feature_names_in_ = len(names), np.array(names, dtype=object)
        self._take(reached)

    def _scores(self, X: Any) -> NDArray[np.float64]:  # noqa: N803
        columns = self._columns(X)
        rows = design(self.scaled_, columns)
        ones = self.weights_.size - rows.shape[1] + 1  # whether the ones have a weight: those of a table do
        rows = rows if ones else in_ball(rows[:, 1:])
        result: NDArray[np.float64] = rows @ self.weights_ / GRID
        return result

    def predict(self, X: Any) -> NDArray[Any]:  # noqa: N803
        """What is expected of each row: a number, or the likelier class."""
        score = self._scores(X)
        if self._sort() == "classifier":
            likely: NDArray[Any] = self.classes_[(score > 0).astype(np.int64)]
            return likely
        middle, half = self.target_.scale
        expected: NDArray[np.float64] = middle + half * score
        return expected

    def predict_proba(self, X: Any) -> NDArray[np.float64]:  # noqa: N803
        """The probability of each class, for each row, of a logistic regression."""
        if self._sort() != "classifier":
            raise InvalidParameter("a ridge regression expects a number: it has no classes")
        second = 1 / (1 + np.exp(-self._scores(X)))
        return np.stack([1 - second, second], axis=1)


def accuracy_first(
    estimator: RidgeRegressor | LogisticClassifier, alpha: Number = Fraction(1, 20), *, most: Number = 20
) -> AccuracyFirst:
    """An estimator that pays the least at which it is within `alpha` of the best; at most `most` for sums, and for
    comparisons.
    """
    return AccuracyFirst(estimator, alpha=alpha, most=most)
