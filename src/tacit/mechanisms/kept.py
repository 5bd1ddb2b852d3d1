"""The noise of a kept answer, made again from what was written down of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction

from tacit.mechanisms.gaussian import Gaussian
from tacit.mechanisms.laplace import Laplace
from tacit.mechanisms.protocol import AddedNoise

_BY_NAME: Mapping[str, Callable[[Fraction, Fraction], AddedNoise]] = {
    "Laplace": lambda size, _: Laplace(size),
    "Gaussian": Gaussian,
}


def kept_noise(name: str, size: Fraction, *, delta: Fraction) -> AddedNoise | None:
    """The noise with a law of this name, size and delta; None where that is no noise of numbers."""
    return _BY_NAME[name](size, delta) if name in _BY_NAME else None
