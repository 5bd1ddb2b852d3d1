"""Membership of a model's or a table's training rows, by shadows: the same training on data that the attacker chose."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.attack.people import shuffled
from tacit.attack.results import AttackResult, against_controls, enough
from tacit.core import Loss
from tacit.noise import SYSTEM, Source

Places = NDArray[np.int64]
Train = Callable[[Places], Any]  # rows, by their places → a model, a synthetic table, or whatever was published
Score = Callable[[Any, Places], NDArray[np.float64]]  # how well it fits each of these rows: minus the loss, say


def shadow_membership(
    train: Train,
    score: Score,
    population: int,
    *,
    shadows: int = 16,
    against: str = "a model",
    loss: Loss | None = None,
    source: Source = SYSTEM,
) -> AttackResult:
    """Tell who was trained on, by the likelihood ratio of each row's score (LiRA: Carlini et al. 2022).

    Each of `shadows` models is trained on a random half of the population; for each row its scores where it was in, and
    where it was out, have a mean each and share a spread. The model under attack is trained on another random half: a
    row is said to be in it where its score is likelier so than the score of 95 in 100 rows that are out of a model
    would be. `train` and `score` take any publisher: a model of `tacit.learn`, or a synthetic table and a distance.
    """
    enough(population // 2, "membership by shadows")
    everybody = np.arange(population)
    inside, scores = np.zeros((shadows, population), dtype=np.bool_), np.zeros((shadows, population))
    for number in range(shadows):
        half = shuffled(population, source)[: population // 2]
        inside[number, half] = True
        scores[number] = score(train(half), everybody)
    members = shuffled(population, source)[: population // 2]
    ratios = likelihood_ratios(np.asarray(score(train(members), everybody)), inside, scores)
    others = np.setdiff1d(everybody, members)
    reference, compared = others[::2], others[1::2]
    cut = np.quantile(ratios[reference], 0.95)
    return against_controls(
        "membership by shadows", against,
        (int(np.count_nonzero(ratios[members] > cut)), members.size),
        (int(np.count_nonzero(ratios[compared] > cut)), compared.size),
        loss=loss, note=f"the score is that of a training row, by {shadows} shadow models",
    )  # fmt: skip


def likelihood_ratios(
    seen: NDArray[np.float64], inside: NDArray[np.bool_], scores: NDArray[np.float64]
) -> NDArray[np.float64]:
    """For each row the logarithm of how much likelier its score is where it was trained on."""
    counts = [np.maximum(1, mask.sum(axis=0)) for mask in (inside, ~inside)]
    means = [(scores * mask).sum(axis=0) / count for mask, count in zip((inside, ~inside), counts, strict=True)]
    centred = scores - np.where(inside, means[0], means[1])
    spread = np.maximum(1e-9, centred.std(axis=0))
    spread = np.sqrt((spread**2 + np.mean(spread) ** 2) / 2)  # a row's own spread is known badly, from a few shadows
    ratios: NDArray[np.float64] = ((seen - means[1]) ** 2 - (seen - means[0]) ** 2) / (2 * spread**2)
    return ratios
