"""How well models tell two classes apart, as JSON on the last line. Scripts beside it import it, and nothing of tacit.

The task is a JSON file: columns, what is declared of each (two bounds, or a list of values), truth, splits, epsilons.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

Fit = Callable[[Mapping[str, Any], Any, Any, float], Any]  # the task, rows, truth, epsilon: a fitted model


def main(kinds: Mapping[str, tuple[Callable[[Mapping[str, Any]], Any], Fit]]) -> None:
    """Fit every kind to every split at every epsilon: `rows` of a task, and how to fit."""
    warnings.simplefilter("ignore")  # a peer's own
    task = json.loads(Path(sys.argv[1]).read_text())
    truth = np.array(task["truth"])
    found: dict[str, dict[str, list[float]]] = {}
    for name, (rows_of, fit) in kinds.items():
        rows = rows_of(task)
        for epsilon in task["epsilons"]:
            print(f"  {name}, ε = {epsilon:g} …", file=sys.stderr, flush=True)
            scores = [_judged(fit, task, (rows, truth, split), epsilon) for split in task["splits"]]
            found.setdefault(name, {})[f"{epsilon:g}"] = np.mean(scores, axis=0).tolist()
    print(json.dumps(found))


def _judged(
    fit: Fit, task: Mapping[str, Any], data: tuple[Any, Any, Any], epsilon: float
) -> tuple[float, float, float]:
    rows, truth, (train, test) = data
    began = time.process_time()
    model = fit(task, rows[train], truth[train], epsilon)
    seconds = time.process_time() - began
    chance = model.predict_proba(rows[test])[:, 1]
    return float(roc_auc_score(truth[test], chance)), float(np.mean((chance > 0.5) == truth[test])), seconds
