"""How far estimates stray: half-widths from the law of the noise that is really in them."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from tacit.core import Number
from tacit.mechanisms.protocol import AddedNoise
from tacit.mechanisms.strategy.law import LEAST
from tacit.mechanisms.strategy.picks import Floats
from tacit.mechanisms.sums import sum_reach

_RAREST = 1e-300  # a chance that a double still holds
_SMOOTH = 2  # steps that an answer deviates by from which the lattice shows in half a step only
_COUNTED = 64  # sums up to this many draws have a law each; of more, every eighth of a doubling has


def half_width(variance: Floats, *, noise: AddedNoise, confidence: Number, step: float = 1.0) -> Floats:
    """How far an answer may stray, with this confidence, where nothing but its variance is known.

    So many standard deviations as the law says (`Smooth.deviations`); of a law that is not known, Chebyshev tells.
    Noise on a lattice strays half a `step` further; a whole one, but no further than Chebyshev says, where the answer
    itself strays by few steps; and an answer without noise not at all.
    """
    beyond = max(float(1 - Fraction(confidence)), _RAREST)
    moments = noise.law.moments
    reach = 1 / math.sqrt(beyond) if moments is None else moments.smooth.deviations(beyond)
    rough = variance < (_SMOOTH * step) ** 2
    straying = reach * np.sqrt(variance) + np.where(rough, step, step / 2)
    straying = np.where(rough, np.minimum(straying, np.sqrt(variance / beyond)), straying)
    return np.asarray(np.where(variance > 0, straying, 0.0))


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
