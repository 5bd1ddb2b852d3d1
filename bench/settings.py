"""How the additive model's settings were chosen: on tables of our own making, by the mean of what is lost in log-loss.

No row of any table that the model is measured on has a say in them. `python -m bench.settings` repeats it, in some
minutes; what it prints last is what `additive_rounds` has for few rows over the noise. For many it has the
shrinkage, and the number of groups that was printed before numbers were smoothed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.core import Loss
from tacit.learn import AdditiveClassifier
from tacit.learn.classifiers.additive_plan import plan_additive
from tacit.learn.classifiers.additive_rounds import Pace, learn
from tacit.learn.sums.array_rows import ArrayCells
from tacit.learn.sums.cells import cells_of
from tacit.learn.sums.residuals import RESIDUAL
from tacit.learn.sums.studies import Declared
from tacit.noise import SYSTEM

DELTA = "0.000001"
EPSILONS = (0.1, 1.0, 10.0)
SHAPES = ((4_000, 6), (15_000, 12), (30_000, 14), (8_000, 20))  # rows and columns
TRIED = 46  # of all settings, drawn at random
HELD_BACK = 20_000
Column = tuple[NDArray[Any], Any, NDArray[np.float64]]  # its cells, what is declared of it, what it says of the odds


def made(count: int, width: int, seed: int) -> tuple[NDArray[Any], NDArray[np.int64], list[Any]]:
    """Numbers with straight and crooked effects, long tails, few categories and many: rows, classes, declarations."""
    rng = np.random.default_rng(seed)
    odds, columns, features = np.zeros(count), [], []
    for _ in range(width):
        cells, declared, effect = _column(int(rng.integers(0, 4)), count, rng)
        odds += (rng.normal(0, 0.9) if rng.random() < 0.7 else 0.0) * (effect - effect.mean())
        columns.append(cells)
        features.append(declared)
    odds = 1.6 * odds / odds.std() + rng.normal(-1.2, 0.4)
    return np.array(columns, dtype=object).T, (rng.random(count) < 1 / (1 + np.exp(-odds))).astype(np.int64), features


def _column(kind: int, count: int, rng: np.random.Generator) -> Column:
    if kind == 0:
        low, wide = rng.uniform(-50, 50), rng.uniform(5, 100)
        number = np.clip(rng.normal(low + wide / 2, wide / 5, count), low, low + wide)
        off = (number - low - wide / 2) / (wide / 5)
        shapes = [off, off**2 - 1, np.tanh(2 * off), np.sin(2 * off)]
        return number, (round(low, 2), round(low + wide, 2)), shapes[int(rng.integers(4))]
    if kind == 1:
        top = 10 ** int(rng.integers(3, 6))
        tail = np.minimum(top, rng.lognormal(np.log(top) / 2, 1.5, count))
        number = np.where(rng.random(count) < rng.uniform(0, 0.9), 0, tail)
        smooth = np.log1p(number)
        jump = 2.5 * (number > np.quantile(number, 0.93))
        return number, (0, top), (smooth - smooth.mean()) / smooth.std() if rng.random() < 0.5 else jump
    size = int(rng.integers(2, 9)) if kind == 2 else int(rng.integers(10, 40))
    shares = 1 / np.arange(1, size + 1) ** (1.0 if kind == 2 else 1.3)
    cells = rng.choice(size, count, p=shares / shares.sum())
    return cells, list(range(size)), rng.normal(0, 1, size)[cells]


def losses(pace: Pace, seeds: int = 1) -> dict[tuple[int, float], tuple[float, float]]:
    """For each table and epsilon: rows over the noise of one cell, and the log-loss on rows that were held back."""
    found = {}
    for place, (count, width) in enumerate(SHAPES, start=seeds):
        rows, truth, features = made(count + HELD_BACK, width, place)
        cells = cells_of(features, [f"x{column}" for column in range(width)])
        codes = [each.codes(rows[:count, column]) for column, each in enumerate(cells)]
        for epsilon in EPSILONS:
            model = AdditiveClassifier(epsilon=epsilon, features=features, classes=[0, 1])
            study = model.study(Declared(tuple(each.name for each in cells), features, Loss(epsilon, DELTA), (0, 1)))
            plan = plan_additive(cells, study.plan.loss)
            told = learn(plan, ArrayCells(cells, codes, truth[:count]), SYSTEM, pace=pace)
            learnt = {"weights": told.weights, "intercept": np.array(told.intercept)}
            model.hold(study, learnt, classes=[0, 1], names=[each.name for each in cells])
            likely = np.clip(model.predict_proba(rows[count:])[np.arange(HELD_BACK), truth[count:]], 1e-9, 1)
            noise = float(plan.residual_noise.sigma) / RESIDUAL
            found[place, epsilon] = (count / noise, -float(np.log(likely).mean()))
    return found


def main() -> None:
    """Try the settings, and say which lose least where there are few rows over the noise, and where there are many."""
    every = [
        Pace(step, shrinkage, groups)
        for step in (0.1, 0.15, 0.25, 0.4)
        for shrinkage in (0.4, 0.6, 1.0, 1.5, 2.5)
        for groups in (4, 6, 10, 16)
    ]
    chosen = np.random.default_rng(0).permutation(len(every))[:TRIED]
    found = {every[place]: losses(every[place]) for place in chosen}
    least = {key: min(each[key][1] for each in found.values()) for key in next(iter(found.values()))}
    for name, few in (("few", True), ("many", False)):
        lost = {
            pace: np.mean([loss - least[key] for key, (ratio, loss) in each.items() if (ratio < 100) == few])
            for pace, each in found.items()
        }
        best = min(lost, key=lambda pace: float(lost[pace]))
        print(f"{name} rows over the noise: {best}, which loses {lost[best]:.4f}")


if __name__ == "__main__":
    main()
