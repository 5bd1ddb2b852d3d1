"""DP-EBM, with its own defaults: cyclic boosting of noisy histograms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import judged
import numpy as np
from interpret.privacy import DPExplainableBoostingClassifier


def rows(task: Mapping[str, Any]) -> Any:
    return np.array(task["columns"], dtype=object).T


def fit(task: Mapping[str, Any], table: Any, truth: Any, epsilon: float) -> Any:
    declared = task["declared"]
    model = DPExplainableBoostingClassifier(
        epsilon=epsilon,
        delta=task["delta"],
        feature_types=["continuous" if each["bounds"] else "nominal" for each in declared],
        privacy_bounds={place: tuple(each["bounds"]) for place, each in enumerate(declared) if each["bounds"]},
        n_jobs=1,
    )
    return model.fit(table, truth)


if __name__ == "__main__":
    judged.main({"DP-EBM": (rows, fit)})
