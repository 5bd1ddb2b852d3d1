"""What the rest of the house asks of a noise, whichever it is: its law, and four methods."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol, TypeGuard, overload

from tacit.core import Event, Number
from tacit.mechanisms.accuracy.moments import NoiseMoments
from tacit.noise import SYSTEM, IntArray, Source, WideArray

L1, L2 = 1, 2


@dataclass(frozen=True, slots=True)
class NoiseLaw:
    """What there is to know of a noise before it is drawn.

    `size` is its scale, σ or rate, in steps; with `name` and `delta` it makes the noise again (`kept_noise`).
    `norm` is the one that its sensitivity is measured in, `unit_variance` the variance of the continuous law of size 1;
    `moments` are what sums of it are bounded with, where theorems about its law are known.
    """

    name: str
    words: str  # before its size, in what people read
    size: Fraction
    norm: int
    delta: Fraction = Fraction(0)
    unit_variance: int = 1
    is_added: bool = True  # to a number; a choice adds nothing
    moments: NoiseMoments | None = None

    @property
    def power(self) -> int:
        """The power of its share of the budget that the variance falls with: ε adds up in L1, rho in squares of L2."""
        return 2 // self.norm

    @property
    def continuous_variance(self) -> float:
        """In steps², to compare noises whose share of the budget is yet to be settled.

        Of a choice, which has none, the square of what its rate divides by.
        """
        size = float(self.size)
        return self.unit_variance * size**2 if self.is_added else (1 / size) ** 2


class AddedNoise(Hashable, Protocol):
    """Noise that is added to whole numbers."""

    @property
    def law(self) -> NoiseLaw:
        """Which noise it is."""
        ...

    @property
    def variance(self) -> float:
        """The variance of the noise on each value, in steps²."""
        ...

    def event(self, sensitivity: Number) -> Event:
        """What an accountant needs to know of one release, of values that move by this much in the law's norm."""
        ...

    def error(self, confidence: Number, *, count: int = 1) -> int:
        """A t that, with this confidence, none of `count` released values strays beyond, in steps."""
        ...

    @overload
    def release(self, values: WideArray, source: Source = SYSTEM) -> WideArray: ...
    @overload
    def release(self, values: int | Sequence[int] | IntArray, source: Source = SYSTEM) -> IntArray: ...
    def release(
        self, values: int | Sequence[int] | IntArray | WideArray, source: Source = SYSTEM
    ) -> IntArray | WideArray:
        """The values with independent noise added to each."""
        ...


class NoisyChoice(Hashable, Protocol):
    """A private choice among candidates that have scores."""

    @property
    def law(self) -> NoiseLaw:
        """Which choice it is."""
        ...

    def event(self, sensitivity: Number) -> Event:
        """What an accountant needs to know of one choice, where one unit moves no score by more than this."""
        ...

    def error(self, confidence: Number, *, candidates: int) -> int:
        """A t that, with this confidence, the chosen score lies at most t below the best."""
        ...

    def release(self, scores: Sequence[int] | IntArray, source: Source = SYSTEM) -> int:
        """The index of the chosen candidate."""
        ...


Noise = AddedNoise | NoisyChoice


def is_added(noise: Noise) -> TypeGuard[AddedNoise]:
    """Whether it is added to numbers."""
    return noise.law.is_added


def is_choice(noise: Noise) -> TypeGuard[NoisyChoice]:
    """Whether it chooses."""
    return not noise.law.is_added
