"""A minimum of a smooth function, the only one if it is convex: limited-memory BFGS, as small as it can be."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tacit.mechanisms.strategy.picks import Floats

Objective = Callable[[Floats], tuple[float, Floats]]
_MEMORY = 12


def minimised(objective: Objective, start: Floats, *, steps: int, tolerance: float = 1e-7) -> Floats:
    """Where the objective, which gives value and gradient, is least, as far as so many steps find it."""
    point = start.copy()
    value, gradient = objective(point)
    pairs: list[tuple[Floats, Floats, float]] = []
    for _ in range(steps):
        if float(np.abs(gradient).max(initial=0.0)) < tolerance:
            break
        direction = -_quasi_newton(gradient, pairs)
        slope = float(gradient @ direction)
        if slope >= 0:
            pairs, direction = [], -gradient
            slope = -float(gradient @ gradient)
        length = 1.0 if pairs else min(1.0, 1.0 / max(float(np.abs(gradient).sum()), 1e-12))
        step_taken = _searched(objective, point, value, direction, slope=slope, length=length)
        if step_taken is None:
            if not pairs:
                break
            pairs = []
            continue
        moved, new_value, new_gradient = step_taken
        step, change = moved - point, new_gradient - gradient
        curvature = float(step @ change)
        if curvature > 1e-12 * float(change @ change):
            pairs = [*pairs[-_MEMORY + 1 :], (step, change, 1.0 / curvature)]
        point, value, gradient = moved, new_value, new_gradient
    return point


def _quasi_newton(gradient: Floats, pairs: list[tuple[Floats, Floats, float]]) -> Floats:
    direction = gradient.copy()
    weights = []
    for step, change, inverse in reversed(pairs):
        weight = inverse * float(step @ direction)
        weights.append(weight)
        direction -= weight * change
    if pairs:
        step, change, inverse = pairs[-1]
        direction *= 1.0 / (inverse * float(change @ change))
    for (step, change, inverse), weight in zip(pairs, reversed(weights), strict=True):
        direction += step * (weight - inverse * float(change @ direction))
    return direction


def _searched(
    objective: Objective, point: Floats, value: float, direction: Floats, *, slope: float, length: float
) -> tuple[Floats, float, Floats] | None:
    """The first point on the way that is lower by enough, halving the way; None where none of them is."""
    for _ in range(25):
        moved = point + length * direction
        new_value, gradient = objective(moved)
        if np.isfinite(new_value) and new_value <= value + 1e-4 * length * slope:
            return moved, new_value, gradient
        length *= 0.5
    return None
