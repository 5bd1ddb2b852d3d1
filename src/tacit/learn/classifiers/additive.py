"""A classifier that adds up what each feature says, learned from noisy histograms alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.core import Number
from tacit.learn.classifiers.additive_plan import ROUNDS, plan_additive
from tacit.learn.classifiers.additive_rounds import CellScores, CountsCells, in_steps, learn
from tacit.learn.conventions import two_labels_of
from tacit.learn.sums.cells import FeatureCells, cells_of, offsets
from tacit.learn.sums.studies import Declared, Learnt, Study, SumsClassifier, classes_cells
from tacit.noise import IntArray, Source


class AdditiveClassifier(SumsClassifier):
    """Two classes, told apart by the sum of one weight for each feature's cell: a logistic additive model.

    Every round measures one histogram of residuals over the cells of all features, with noise; they are clipped at
    one half, where the mean of what is clipped can be turned back into a probability, so that no budget is needed to
    calibrate: with p < ½ the logistic of the sum, the probability is p / (p + ½), and likewise from the other side.

    `features` declares what each column may hold (see `cells_of`); nothing declares numbers between −4 and 4. `classes`
    are the two labels, the second the one whose probability is learned; left out, they are those that occur in the
    target, which the model then tells.

    Guarantee:    (ε, δ)-DP for one row added or removed, of all that is learned together (`AdditivePlan`). Which
                  columns there are and what is declared of them is public.
    Sensitivity:  L2, ½ √k in a round for k features, whatever the row holds.
    Exactness:    residuals are whole numbers of 2^-8, from a public table; sums and noise are whole numbers of these.
    Reference:    Nori, Caruana, Bu, Shen & Kulkarni, ICML 2021 (additive models from noisy histograms); Dong, Roth &
                  Su, J. R. Statist. Soc. B 84 (2022).
    """

    cells_: tuple[FeatureCells, ...]
    weights_: tuple[NDArray[np.float64], ...]
    intercept_: float

    def __init__(
        self,
        *,
        epsilon: Number = 1,
        delta: Number = "0.000001",
        features: object = None,
        classes: Sequence[Any] | None = None,
        rounds: int = ROUNDS,
        max_rows: int = 1,
        source: Source | None = None,
    ) -> None:
        self.epsilon, self.delta, self.max_rows = epsilon, delta, max_rows
        self.features, self.classes, self.rounds, self.source = features, classes, rounds, source

    def study(self, declared: Declared) -> Study:
        """What a fit will measure and cost."""
        cells = cells_of(declared.features, declared.names)
        plan = plan_additive(cells, declared.loss, rounds=self.rounds, rows=declared.rows, adjacency=declared.adjacency)

        def learned(data: CountsCells, source: Source) -> Learnt:
            model = learn(plan, data, source)
            return {"weights": model.weights, "intercept": np.array(model.intercept)}

        return Study(cells, classes_cells(declared.classes), plan, learned)

    def _labelled(self, truth: NDArray[Any]) -> tuple[NDArray[Any], IntArray]:
        return two_labels_of(truth, self.classes)

    def _keep(self, study: Study, learnt: Learnt) -> None:
        self.cells_ = study.columns
        self.weights_ = tuple(np.split(learnt["weights"], offsets(self.cells_)[1:-1]))
        self.intercept_ = float(learnt["intercept"])

    def right_in(self, data: CellScores) -> int:
        """Of how many rows the model tells the class."""
        return data.right(*in_steps(np.concatenate(self.weights_), self.intercept_))

    def predict_proba(self, X: Any) -> NDArray[np.float64]:  # noqa: N803
        """The probability of each class, for each row."""
        columns = self._columns(X)
        score = np.full(len(columns[0]), self.intercept_)
        for cells, weights, column in zip(self.cells_, self.weights_, columns, strict=True):
            score += weights[cells.codes(column)]
        least = 1 / (1 + np.exp(np.minimum(np.abs(score), 500.0)))  # the smaller of p and 1 − p
        second = np.where(score > 0, 0.5 / (0.5 + least), least / (0.5 + least))
        return np.stack([1 - second, second], axis=1)
