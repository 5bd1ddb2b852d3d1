"""Coins with a rational chance, or a chance of exp(−rate)."""

from __future__ import annotations

from typing import overload

import numpy as np
from numpy.typing import NDArray

from tacit.core import Number, rational
from tacit.errors import InvalidParameter
from tacit.noise.coins import flip
from tacit.noise.probability import Probability, Ratio, exp_minus
from tacit.noise.size import how_many
from tacit.noise.source import SYSTEM, Source


@overload
def bernoulli(chance: Number, size: None = None, *, source: Source = SYSTEM) -> bool: ...
@overload
def bernoulli(chance: Number, size: int, *, source: Source = SYSTEM) -> NDArray[np.bool_]: ...
def bernoulli(chance: Number, size: int | None = None, *, source: Source = SYSTEM) -> bool | NDArray[np.bool_]:
    """True with probability exactly `chance`, a rational in [0, 1]."""
    exact = rational(chance, "the chance")
    if not 0 <= exact <= 1:
        raise InvalidParameter(f"the chance must lie between 0 and 1: got {exact}")
    return _flip(Ratio(exact), size, source)


@overload
def bernoulli_exp(rate: Number, size: None = None, *, source: Source = SYSTEM) -> bool: ...
@overload
def bernoulli_exp(rate: Number, size: int, *, source: Source = SYSTEM) -> NDArray[np.bool_]: ...
def bernoulli_exp(rate: Number, size: int | None = None, *, source: Source = SYSTEM) -> bool | NDArray[np.bool_]:
    """True with probability exactly exp(−rate), for a rational rate ≥ 0."""
    exact = rational(rate, "the rate")
    if exact < 0:
        raise InvalidParameter(f"the rate must not be negative: got {exact}")
    return _flip(exp_minus(exact), size, source)


def _flip(probability: Probability, size: int | None, source: Source) -> bool | NDArray[np.bool_]:
    coins = flip(probability, how_many(size), source=source)
    return bool(coins[0]) if size is None else coins
