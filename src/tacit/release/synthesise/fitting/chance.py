"""Chance for what is made of noisy numbers: uniform doubles and orders, from the same source as all randomness."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.noise import SYSTEM, IntArray, Source, uniform_integer
from tacit.release.synthesise.fitting.arrays import FloatArray

_DIGITS = 53


@dataclass(frozen=True, slots=True)
class Chance:
    """Draws that protect nobody: whatever they are, what they act on is released already."""

    source: Source = SYSTEM

    def uniform(self, size: int) -> FloatArray:
        """Doubles in [0, 1)."""
        if size == 0:
            return np.zeros(0)
        return uniform_integer(1 << _DIGITS, size, source=self.source).astype(np.float64) * 2.0**-_DIGITS

    def order(self, size: int) -> IntArray:
        """Every order of so many things, each as likely as the next."""
        return np.argsort(self.uniform(size), kind="stable")
