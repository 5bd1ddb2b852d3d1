"""DP-SGD: rounds of noisy sums of gradients, clipped row by row and shared by a unit's, whoever computes them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from tacit.learn.networks.network_plan import CLIP, NetworkPlan
from tacit.noise import IntArray, Source, bernoulli

Floats = NDArray[np.float64]
_SAFE = 1 - 1e-9  # so that no rounding of doubles makes a clipped gradient too long
_FAR = 1e3  # weights are held there
_MOMENTUM = 0.5


def descended(
    plan: NetworkPlan,
    start: Floats,
    sums_at: Callable[[Floats, IntArray], IntArray],
    *,
    units: int,
    step: float,
    source: Source,
) -> Floats:
    """The mean weights of the later half of the rounds.

    `sums_at` gives, at weights and for the units that are in the sample, the sum of their clipped gradients.
    """
    noisy = float(plan.count_noise.release(np.array([units]), source)[0])  # the true number is never used
    batch = max(1.0, noisy * float(plan.sampling))
    weights, speed, later = start, np.zeros(start.size), np.zeros(start.size)
    for turn in range(plan.rounds):
        taken = np.arange(units)
        if plan.sampling < 1:
            taken = np.flatnonzero(bernoulli(plan.sampling, units, source=source))
        speed = _MOMENTUM * speed + plan.noise.release(sums_at(weights, taken), source) / CLIP / batch
        weights = np.clip(weights - step * speed, -_FAR, _FAR)
        if turn >= plan.rounds // 2:
            later += weights
    return later / (plan.rounds - plan.rounds // 2)


def clip_rows(gradients: Floats) -> Floats:
    """Each row held to length CLIP in whole numbers; one that is not a number at all counts as nothing."""
    known = np.nan_to_num(gradients, nan=0.0, posinf=0.0, neginf=0.0)
    lengths = np.sqrt((known**2).sum(axis=1, keepdims=True))
    steps: Floats = np.trunc(known * (CLIP * _SAFE / np.maximum(lengths, 1.0)))
    steps[(steps**2).sum(axis=1) > CLIP**2] = 0.0  # cannot be; if it were, nothing would leave
    return steps


def shared(steps: Floats, starts: IntArray) -> Floats:
    """Of each unit the mean of its rows' clipped gradients, rounded towards zero; `starts` says where each begins.

    A mean of vectors that are no longer than CLIP is no longer than that, and rounding towards zero makes none longer:
    so a unit moves a sum by CLIP at most, however many rows it has. Sums of whole numbers are exact, in any order, and
    a unit's own: who else is there changes nothing in it.
    """
    if len(starts) == len(steps):
        return steps
    sizes = np.diff(np.append(starts, len(steps)))
    means: Floats = np.trunc(np.add.reduceat(steps, starts, axis=0) / sizes[:, None])
    means[(means**2).sum(axis=1) > CLIP**2] = 0.0  # cannot be; if it were, nothing would leave
    return means
