"""Principal components from noisy sums of products."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.core import Number
from tacit.errors import InvalidParameter
from tacit.learn.sums.moments import GRID, Moments, Scaled, design, plan_moments, scaled
from tacit.learn.sums.studies import Declared, Learnt, Study, SumsLearner
from tacit.noise import Source


class PrincipalComponents(SumsLearner):
    """The directions in which rows differ most, of columns scaled by their declared bounds into [−1, 1].

    Guarantee:    (ε, δ)-DP for one row added or removed: the mean, the number of rows and all directions together.
    Sensitivity:  L2 of a row's products, from the declared bounds alone (`moments`).
    Exactness:    rows are rounded to 2^-10 of half their bounds; sums and noise are whole numbers.
    Reference:    Dwork, Talwar, Thakurta & Zhang, "Analyze Gauss", STOC 2014.
    """

    _kind = "transformer"
    scaled_: tuple[Scaled, ...]
    mean_: NDArray[np.float64]
    components_: NDArray[np.float64]
    explained_variance_: NDArray[np.float64]

    def __init__(
        self,
        n_components: int = 2,
        *,
        epsilon: Number = 1,
        delta: Number = "0.000001",
        features: object = None,
        max_rows: int = 1,
        source: Source | None = None,
    ) -> None:
        self.n_components, self.epsilon, self.delta = n_components, epsilon, delta
        self.features, self.max_rows, self.source = features, max_rows, source

    def study(self, declared: Declared) -> Study:
        """What a fit will measure and cost."""
        if isinstance(self.n_components, bool) or not isinstance(self.n_components, int) or self.n_components < 1:
            raise InvalidParameter("the number of components is a whole number, at least 1")
        features = scaled(declared.features, declared.names)
        plan = plan_moments(features, declared.loss, times=declared.times, with_target=False)
        return Study(features, None, plan, lambda data, source: self._directions(plan.measure(data, source)))

    def _directions(self, moments: Moments) -> Learnt:
        rows = max(1.0, float(moments.products[0, 0]))
        mean = np.clip(moments.products[0, 1:] / rows, -1, 1)
        values, vectors = np.linalg.eigh(moments.products[1:, 1:] / rows - np.outer(mean, mean))
        kept = np.argsort(-values, kind="stable")[: min(self.n_components, len(values))]
        directions = vectors[:, kept].T
        largest = np.abs(directions).argmax(axis=1)
        signs = np.sign(directions[np.arange(len(kept)), largest])
        along = directions * np.where(signs == 0, 1, signs)[:, None]
        return {"mean": mean, "components": along, "variance": np.maximum(values[kept], 0.0)}

    def _keep(self, study: Study, learnt: Learnt) -> None:
        self.scaled_, self.mean_ = study.columns, learnt["mean"]
        self.components_, self.explained_variance_ = learnt["components"], learnt["variance"]

    def transform(self, X: Any) -> NDArray[np.float64]:  # noqa: N803
        """Where each row lies along the components."""
        columns = self._columns(X)
        result: NDArray[np.float64] = (design(self.scaled_, columns)[:, 1:] / GRID - self.mean_) @ self.components_.T
        return result

    def fit_transform(self, X: Any, y: Any = None) -> NDArray[np.float64]:  # noqa: N803
        """Both. Where the rows lie is exact, and so not private."""
        return self.fit(X, y).transform(X)
