"""What is left to learn of a row, from a public table of whole numbers."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

SCORE = 256  # steps of one in a score
RESIDUAL = 256  # steps of one in a residual
CLIP = RESIDUAL // 2
REACH = 16 * SCORE  # scores beyond are held there


@lru_cache(maxsize=1)
def clipped() -> NDArray[np.int64]:
    """Of each score u ≥ 0 what is left to learn, 1 / (1 + e^u) in steps; at 0 it is the clip, and so below.

    It is public and computed once, so that no row's number depends on how an engine rounds an exponential.
    """
    return np.array([round(RESIDUAL / (1 + math.exp(score / SCORE))) for score in range(REACH + 1)], dtype=np.int64)
