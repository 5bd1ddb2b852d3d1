"""Thresholdout with Gaussian noise and a threshold that is never renewed, as it is often taught; and labelled so."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from tacit.core import Loss, Number
from tacit.errors import QueryRefused
from tacit.learn.holdout.reusable import ReusableHoldout
from tacit.noise import SYSTEM, Source, discrete_gaussian


class GaussianHoldout(ReusableHoldout):
    """What is often taught as Thresholdout: both noises Gaussian, of one size, and the threshold as it is.

    It is here to be compared with. It answers, warns and stops like `ReusableHoldout`. But nothing is proved of it:
    every question that the training set answers tells a little of the holdout, and no budget counts those. So it has
    no price, and `loss` and `generalises` refuse to name one.

    Guarantee:    none.
    Sensitivity:  a row moves the mean by at most one part in n of the bounds' width; n is public.
    Error:        an answer from the training set may be off by the threshold and its noise.
    Exactness:    that of `ReusableHoldout`, with exact Gaussian noise.
    Reference:    the published code beside Dwork and others, Science 2015, in the form that is often taught.
    """

    def __init__(
        self,
        train: Any,
        holdout: Any,
        *,
        threshold: Number = Fraction(1, 25),
        noise: Number = Fraction(1, 100),
        budget: int | None = None,
        bounds: tuple[Number, Number] = (0, 1),
        source: Source = SYSTEM,
    ) -> None:
        super().__init__(train, holdout, threshold=threshold, noise=noise, budget=budget, bounds=bounds, source=source)
        test = self._mechanism.test
        self._run = _GaussianRun(test.threshold, self._mechanism.answer.scale, self.budget, source)

    @property
    def loss(self) -> Loss:
        """Refused: it has none."""
        raise QueryRefused(
            "the Gaussian holdout has no price: nothing is proved of it", hint="a ReusableHoldout has one"
        )


@dataclass(slots=True)
class _GaussianRun:
    """Answers questions one after another; counts down those that cost a hit."""

    threshold: int
    sigma: Fraction
    hits_left: int
    source: Source = field(repr=False)

    def ask(self, guess: int, *, holdout: int) -> int:
        first, second = (discrete_gaussian(self.sigma, source=self.source) for _ in range(2))
        if abs(holdout - guess) <= self.threshold + first:
            return guess
        self.hits_left -= 1
        return holdout + second
