"""What one unit is worth to a strategy, tried cell by cell."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from tacit.noise import IntArray


def worst(noise: Any, sensitivity: int, spent: Callable[[Any, IntArray], Fraction]) -> Fraction:
    """The most that units are worth whose rows move cells by `sensitivity` in all: in one cell, and in any two."""
    sizes = tuple(chain.values for chain in noise.strategy.chains)
    cells, most = int(np.prod(sizes)), Fraction(0)
    generator = np.random.default_rng(2)
    for cell in range(cells):
        for other in (cell, int(generator.integers(cells))):
            for sign in (1, -1):
                moves = np.zeros(cells, dtype=np.int64)
                moves[cell] += sensitivity - 2
                moves[other] += 2 * sign if other != cell else 2
                most = max(most, spent(noise, moves.reshape(sizes)))
    return most
