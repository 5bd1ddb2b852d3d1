"""Noise switched off, for tests alone: the mechanisms return what they were given, a choice the best there is."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.mechanisms import Exponential, Gaussian, Laplace, PermuteAndFlip
from tacit.noise import is_wide, whole_numbers


def switch_off(patch: pytest.MonkeyPatch) -> None:
    """No mechanism that a plan can name adds anything until the patch is undone."""
    for kind in (Laplace, Gaussian):
        patch.setattr(
            kind, "release", lambda self, values, source=None: values if is_wide(values) else whole_numbers(values)
        )
    for choice in (Exponential, PermuteAndFlip):
        patch.setattr(choice, "release", lambda self, scores, source=None: int(np.argmax(scores)))
