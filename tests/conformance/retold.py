"""What one unit really moves, in a job of any number of steps: the job is run, and told again over a neighbour.

The second run is given the answers of the first, one after the other, so that whatever is computed from noisy numbers
comes out the same, and each step asks the neighbour what it asked the first table. What the exact numbers of a step
differ by is then one unit's doing alone, and the law of the noise turns it into a loss: that is adaptive composition,
played. It is a lower bound of the price of a job, whatever plans, meters and accountants say of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from tacit.mechanisms import Gaussian, Laplace


@dataclass(frozen=True)
class Step:
    """One release: the mechanism, the exact numbers it was given, and what it told."""

    mechanism: Gaussian | Laplace
    exact: list[int]
    told: Any


def _numbers(values: Any) -> list[int]:
    return [int(value) for value in np.ravel(np.asarray(values, dtype=object))]


@contextmanager
def _releases(instead: Callable[[Any, Any, Callable[[], Any]], Any]) -> Iterator[None]:
    """Every release of additive noise goes through `instead(mechanism, values, drawn)`."""
    kept = [(kind, kind.release) for kind in (Gaussian, Laplace)]

    def through(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda self, values, *rest, **named: instead(
            self, values, lambda: original(self, values, *rest, **named)
        )

    for kind, original in kept:
        kind.release = through(original)  # type: ignore[method-assign]
    try:
        yield
    finally:
        for kind, original in kept:
            kind.release = original  # type: ignore[method-assign]


def told(job: Callable[[], Any]) -> list[Step]:
    """The releases of a job, in order."""
    steps: list[Step] = []

    def noted(mechanism: Any, values: Any, drawn: Callable[[], Any]) -> Any:
        answer = drawn()
        steps.append(Step(mechanism, _numbers(values), answer))
        return answer

    with _releases(noted):
        job()
    return steps


def retold(steps: list[Step], job: Callable[[], Any]) -> list[Step]:
    """The releases of the same job over a neighbour that gives the same answers. They must be as many, of one law."""
    again: list[Step] = []

    def same(mechanism: Any, values: Any, drawn: Callable[[], Any]) -> Any:
        step = steps[len(again)]
        assert mechanism == step.mechanism
        drawn()  # as much of the source is used up, for what else is drawn from it
        again.append(Step(mechanism, _numbers(values), step.told))
        return step.told

    with _releases(same):
        job()
    assert len(again) == len(steps)
    return again


def rho_between(steps: list[Step], again: list[Step]) -> Fraction:
    """What the two runs are apart in concentrated privacy: of Gaussian noise, and of Laplace noise by its epsilon."""
    rho = Fraction(0)
    for one, other in zip(steps, again, strict=True):
        apart = [abs(a - b) for a, b in zip(one.exact, other.exact, strict=True)]
        if isinstance(one.mechanism, Gaussian):
            rho += Fraction(sum(each**2 for each in apart)) / (2 * one.mechanism.sigma**2)
        else:
            rho += (Fraction(sum(apart)) / one.mechanism.scale) ** 2 / 2
    return rho
