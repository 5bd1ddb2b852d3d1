"""Which scales noise can be drawn at: the one place where a scale is refused."""

from __future__ import annotations

from fractions import Fraction

from tacit.core import Number, positive
from tacit.errors import InvalidParameter

MAX_SCALE = 1 << 56  # of geometric noise that fits 64-bit whole numbers
MAX_SIGMA = 1 << 46  # candidates beyond 2^53 would not be whole numbers as doubles
MAX_WIDE_SCALE = 1 << 128  # far beyond what 128-bit sums can need; doubles hold its powers


def fitting_scale(scale: Number, what: str = "the scale", *, most: int = MAX_WIDE_SCALE) -> Fraction:
    """A scale whose noise can be drawn; what is added to 64-bit numbers, or compared, has a nearer end."""
    exact = positive(scale, what)
    if exact > most:
        raise InvalidParameter(
            f"{what} is too large: noise would go beyond 2^{most.bit_length() - 1} steps",
            hint="use a coarser grid, tighter bounds or a larger epsilon",
        )
    return exact
