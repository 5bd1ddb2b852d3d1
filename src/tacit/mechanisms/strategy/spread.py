"""How far estimates stray: half-widths from the law of the noise that is really in them."""

from __future__ import annotations

import math
from fractions import Fraction
from statistics import NormalDist

import numpy as np

from tacit.core import Number
from tacit.mechanisms.gaussian import Gaussian
from tacit.mechanisms.laplace import Laplace
from tacit.mechanisms.protocol import AddedNoise
from tacit.mechanisms.strategy.law import LEAST
from tacit.mechanisms.strategy.picks import Floats
from tacit.mechanisms.sums import sum_reach

_RAREST = 1e-300  # a chance that a double still holds
_SMOOTH = 2  # steps that an answer deviates by from which the lattice shows in half a step only
_COUNTED = 64  # sums up to this many draws have a law each; of more, every eighth of a doubling has


def half_width(variance: Floats, *, noise: AddedNoise, confidence: Number, step: float = 1.0) -> Floats:
    """How far an answer may stray, with this confidence, where nothing but its variance is known.

    A weighted sum of Laplace noises is a mixture of normal laws. Of all with one variance, its quantile is largest for
    a single summand or for very many, whichever is larger at this confidence (found numerically; the tests repeat it).
    Noise on a lattice strays half a `step` further; a whole one, but no further than Chebyshev says, where the answer
    itself strays by few steps; and an answer without noise not at all.
    """
    beyond = max(float(1 - Fraction(confidence)), _RAREST)
    reach = _deviations(noise, beyond)
    rough = variance < (_SMOOTH * step) ** 2
    straying = reach * np.sqrt(variance) + np.where(rough, step, step / 2)
    straying = np.where(rough, np.minimum(straying, np.sqrt(variance / beyond)), straying)
    return np.asarray(np.where(variance > 0, straying, 0.0))


def _deviations(noise: AddedNoise, beyond: float) -> float:
    """How many standard deviations a weighted sum of such noises strays with this chance.

    That depends on the law, and is known of two; of any other Chebyshev tells.
    """
    normal = -NormalDist().inv_cdf(beyond / 2)
    if isinstance(noise, Gaussian):
        return normal
    return max(normal, math.log(1 / beyond) / math.sqrt(2)) if isinstance(noise, Laplace) else 1 / math.sqrt(beyond)


def drawn_half_width(variance: Floats, *, noise: AddedNoise, confidence: Number, step: float = 1.0) -> Floats:
    """How far sums of independent draws of `noise`, in units of `step`, may stray, with this confidence.

    Their variance tells of how many each is a sum; the rest is the law of such sums (`sum_reach`), which for many is
    that of a few more.
    """
    counts = np.rint(variance / (max(noise.variance, LEAST) * step**2)).astype(np.int64)
    coarse = np.ceil(2 ** (np.ceil(8 * np.log2(np.maximum(counts, 1)) - 1e-9) / 8)).astype(np.int64)
    counts = np.where(counts > _COUNTED, np.maximum(coarse, counts), counts)
    listed, indices = np.unique(counts, return_inverse=True)
    reaches = [sum_reach(noise, count=count, confidence=confidence) if count else 0 for count in listed.tolist()]
    half_widths: Floats = np.array(reaches, dtype=np.float64)[indices].reshape(counts.shape) * step
    return half_widths
