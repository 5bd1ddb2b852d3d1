"""Whole steps shown as the numbers they stand for."""

from __future__ import annotations

from fractions import Fraction

from tacit.core import Number, positive
from tacit.noise import IntArray


def on_grid(steps: IntArray, step: Number) -> list[Fraction]:
    """The exact multiples of `step` that released steps stand for: post-processing, at no cost.

    Bring values onto the grid before summing them (clamp, round, add whole numbers); state the sensitivity in steps.
    """
    width = positive(step, "the step")
    return [width * int(number) for number in steps.ravel()]
