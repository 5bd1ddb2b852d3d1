"""Whole numbers with noise added: held at the ends of 64 bits, or without end."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tacit.noise import IntArray, WideArray, is_wide, saturating_add, whole_numbers, wide_numbers


def noisy(
    values: int | Sequence[int] | IntArray | WideArray,
    draw: Callable[[int], IntArray],
    *,
    draw_wide: Callable[[int], WideArray],
) -> IntArray | WideArray:
    """The values with one draw added to each. Which kind of draw, the array's type says, never a value in it."""
    if is_wide(values):
        wide = wide_numbers(values)
        unbounded: WideArray = wide + draw_wide(wide.size).reshape(wide.shape)
        return unbounded
    exact = whole_numbers(values)
    return saturating_add(exact, draw(exact.size).reshape(exact.shape))
