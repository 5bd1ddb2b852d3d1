"""diffprivlib: its logistic regression, of numbers between 0 and 1 and a column for each category; and naive Bayes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import judged
import numpy as np
from diffprivlib.models import GaussianNB, LogisticRegression


def rows(task: Mapping[str, Any]) -> Any:
    parts = []
    for column, each in zip(task["columns"], task["declared"], strict=True):
        if each["bounds"]:
            low, high = each["bounds"]
            known = np.nan_to_num(np.array(column, dtype=float), nan=(low + high) / 2)
            parts.append(np.clip((known - low) / (high - low), 0, 1)[:, None])
        else:
            parts.append(np.array([[cell == value for value in each["values"]] for cell in column], dtype=float))
    return np.hstack(parts)


def logistic(task: Mapping[str, Any], table: Any, truth: Any, epsilon: float) -> Any:
    reach = float(np.sqrt(len(task["declared"])))  # a row has at most a one for each column of the table
    return LogisticRegression(epsilon=epsilon, data_norm=reach, max_iter=500).fit(table, truth)


def bayes(_: Mapping[str, Any], table: Any, truth: Any, epsilon: float) -> Any:
    return GaussianNB(epsilon=epsilon, bounds=(0, 1)).fit(table, truth)


if __name__ == "__main__":
    judged.main({"diffprivlib, logistic": (rows, logistic), "diffprivlib, naive Bayes": (rows, bayes)})
