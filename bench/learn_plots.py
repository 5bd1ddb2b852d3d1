"""Four pictures of learning: `python -m bench.learn_plots docs/how-to` draws them, in a minute or two.

A holdout asked directly and reused, without and with something to find; what accuracy first pays for accuracy; how
good models are at which epsilon.
"""

from __future__ import annotations

import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from bench.holdout import World, experiment
from bench.learn import _on_sphere, by_doubling, problem_of
from bench.settings import made
from tacit.learn import (
    AdditiveClassifier,
    LogisticClassifier,
    NaiveBayesClassifier,
    RidgeRegressor,
    TreeClassifier,
    accuracy_first,
)

SIZE, VOTERS = 4_000, (20, 50, 100, 200, 400)
ALPHAS = (0.02, 0.03, 0.05, 0.1, 0.2)
EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0)
TABLES = 3
WORLDS = 5  # drawn as dots, and their median as a line: now and then the noise lets a wrong answer through
BLUE, ORANGE, GREEN, GREY = "#1f5fa8", "#c27a00", "#2b7a3d", "#666666"


def holdout(axes: Any) -> None:
    """Features that know nothing, chosen by looking at the holdout, vote."""
    _votes(axes, biased=0, title="A holdout, on pure noise")


def signal(axes: Any) -> None:
    """The same, where twenty of the features do know something."""
    _votes(axes, biased=20, title="A holdout, where twenty features know something")


def _votes(axes: Any, *, biased: int, title: str) -> None:
    for reusable, colour, name in ((False, ORANGE, "asked directly"), (True, BLUE, "reused")):
        runs = [
            [experiment(World(seed, SIZE, SIZE, biased), reusable=reusable, chosen=voters) for seed in range(WORLDS)]
            for voters in VOTERS
        ]
        told, fresh = (
            np.array([[getattr(run, what) for run in each] for each in runs]) for what in ("holdout", "fresh")
        )
        axes.plot(VOTERS, np.median(told, axis=1), "o-", color=colour, label=f"holdout, {name}")
        axes.plot(np.repeat(VOTERS, WORLDS), told.ravel(), ".", color=colour, alpha=0.4, markersize=4)
        axes.plot(VOTERS, np.median(fresh, axis=1), ":", color=colour, label=f"fresh rows, {name}")
    axes.set(xscale="log", xlabel="features that vote", ylabel="accuracy", title=title)
    axes.set_xticks(VOTERS, [str(voters) for voters in VOTERS])
    axes.legend(fontsize=8)


def accuracy(axes: Any) -> None:
    """What is spent at each alpha, with what doubling would have."""
    rows, width = 10_000, 30
    box = [(-1, 1)] * width
    kinds: dict[str, Any] = {
        "ridge": RidgeRegressor(features=box, target=(-1, 1)),
        "logistic": LogisticClassifier(features=box, classes=[0, 1]),
    }
    for (name, estimator), colour in zip(kinds.items(), (BLUE, GREEN), strict=True):
        spent, doubled = [], []
        for alpha in ALPHAS:
            found = []
            for table in range(TABLES):
                points, truth = _on_sphere(rows, width, table)
                model = accuracy_first(estimator, alpha=alpha)
                model.fit(points, truth if name == "ridge" else (truth > 0).astype(int))
                doubling = by_doubling(problem_of(name, points, truth), rows, Fraction(str(alpha)))
                found.append((float(model.spent_.epsilon), doubling))
            middle = np.median(found, axis=0).tolist()  # a mean is that of the few tables where doubling goes far
            spent.append(middle[0])
            doubled.append(middle[1])
        axes.plot(ALPHAS, spent, "o-", color=colour, label=f"{name}, accuracy first")
        axes.plot(ALPHAS, doubled, "--", color=colour, label=f"{name}, doubling")
    axes.axhline(11.8, color=GREY, linewidth=0.8)
    axes.text(ALPHAS[-1], 12.3, "the lectures' link at α = .05", color=GREY, fontsize=8, ha="right")
    axes.set(xscale="log", yscale="log", xlabel="α", ylabel="ε spent", title="Accuracy first, n = 10,000, d = 30")
    axes.set_xticks(ALPHAS, [f"{alpha:g}" for alpha in ALPHAS])
    axes.legend(fontsize=8)


def learning(axes: Any) -> None:
    """Accuracy on rows that were held back, of tables of our own making."""
    kinds = {
        "additive": (AdditiveClassifier, BLUE),
        "logistic": (LogisticClassifier, GREEN),
        "naive Bayes": (NaiveBayesClassifier, ORANGE),
        "tree": (TreeClassifier, GREY),
    }
    count, width = 15_000, 12
    tables = [made(count + 8_000, width, seed) for seed in range(1, TABLES + 1)]
    for name, (kind, colour) in kinds.items():
        curve = []
        for epsilon in EPSILONS:
            scores = []
            for rows, truth, features in tables:
                model = kind(epsilon=epsilon, features=features, classes=[0, 1])
                scores.append(model.fit(rows[:count], truth[:count]).score(rows[count:], truth[count:]))
            curve.append(np.mean(scores))
        axes.plot(EPSILONS, curve, "o-", color=colour, label=name)
    common = np.mean([max(truth.mean(), 1 - truth.mean()) for _, truth, _ in tables])
    axes.axhline(common, color="black", linewidth=0.8, linestyle=":", label="the commoner class")
    axes.set(xscale="log", xlabel="ε", ylabel="accuracy", title="Models, 15,000 rows, 12 columns")
    axes.set_xticks(EPSILONS, [f"{epsilon:g}" for epsilon in EPSILONS])
    axes.legend(fontsize=8)


def main(folder: Path) -> None:
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "tacit"
    import matplotlib.pyplot as plt

    folder.mkdir(parents=True, exist_ok=True)
    drawn = {"holdout": holdout, "holdout-signal": signal, "accuracy-first": accuracy, "learning-curve": learning}
    for name, draw in drawn.items():
        figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
        draw(axes)
        axes.minorticks_off()
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
        for ending in ("svg", "png") if "--png" in sys.argv else ("svg",):
            extra = {"metadata": {"Date": None}} if ending == "svg" else {}
            figure.savefig(folder / f"{name}.{ending}", **extra)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
