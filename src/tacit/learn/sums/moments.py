"""Noisy sums of products: what least squares and principal components are made of.

Numbers are scaled by their declared bounds into [−1, 1] and rounded to a grid, categories become a 1 among zeros, and a
column of ones stands first. So a row x of f features, the ones among them, has |x|² ≤ f, whatever it holds, and its
products, each pair once, have the norm √((|x|⁴ + Σ xᵢ⁴) / 2) ≤ √((f² + f) / 2).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tacit.core import ComposedEvent, Event, Loss, rational, sqrt_above
from tacit.errors import InvalidParameter
from tacit.learn.conventions import is_hashable
from tacit.learn.sums.cells import STANDARD, code_of, numbers_of
from tacit.mechanisms import Gaussian
from tacit.noise import IntArray, Source

GRID = 1 << 10  # steps of one
_FAR = 10**150  # beyond which doubles run out of room
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Scaled:
    """What a column may hold: a number between bounds, or one of these values."""

    name: str
    lower: Fraction = Fraction(0)
    upper: Fraction = Fraction(0)
    values: tuple[Any, ...] = ()

    @property
    def width(self) -> int:
        """How many columns of the design it has."""
        return len(self.values) or 1

    @property
    def scale(self) -> tuple[float, float]:
        """The middle of its bounds, and half their width."""
        return float(self.lower + self.upper) / 2, float(self.upper - self.lower) / 2

    def steps(self, column: NDArray[Any]) -> Floats:
        """Whole numbers of steps in [−GRID, GRID]: clamped, NaN and what is unknown as the middle, which is 0.

        The same operations on doubles, in the same order, as engines do (`doubles.steps_between`).
        """
        if self.values:
            index = {value: place for place, value in enumerate(self.values)}  # a cell is one of them at most
            codes = np.array([code_of(index, cell) for cell in column.tolist()], dtype=np.int64)
            return GRID * np.eye(len(self.values) + 1)[codes, :-1]
        numbers = numbers_of(column, self.name)
        half = (self.upper - self.lower) / (4 * GRID)  # of a step
        low, high = float(self.lower + half), float(self.upper - half)
        inside = np.where((numbers >= low) & (numbers < high), numbers, float(self.lower))
        steps = np.floor((inside - float(self.lower)) * float(2 * GRID / (self.upper - self.lower)) + 0.5) - GRID
        held = np.where(numbers < low, -GRID, np.where(numbers >= high, GRID, np.clip(steps, -GRID, GRID)))
        return np.where(np.isnan(numbers), 0.0, held)[:, None]


def scaled(declared: object, names: Sequence[str]) -> tuple[Scaled, ...]:
    """What was declared of these columns: (lower, upper) or a list of values each; nothing: between −4 and 4."""
    if isinstance(declared, dict):
        entries = [declared.get(name) for name in names]
    elif declared is None:
        entries = [STANDARD] * len(names)
    else:
        entries = list(declared) if isinstance(declared, Sequence) else []
    if len(entries) != len(names) or any(entry is None for entry in entries):
        raise InvalidParameter("the features do not fit the columns", hint="(lower, upper) or a list for each")
    return tuple(_scaled(name, entry) for name, entry in zip(names, entries, strict=True))


def _scaled(name: str, entry: Any) -> Scaled:
    if isinstance(entry, list) and entry:
        if not all(map(is_hashable, entry)) or len(set(entry)) < len(entry):
            raise InvalidParameter(f"a category of {name} is named twice, or is none")
        return Scaled(name, values=tuple(entry))
    if isinstance(entry, tuple) and len(entry) == 2:
        lower, upper = (rational(end, f"a bound of {name}") for end in entry)
        if -_FAR < lower < upper < _FAR and (upper - lower) * _FAR > 1:
            return Scaled(name, lower, upper)
    raise InvalidParameter(
        f"nobody said what the column {name} may hold", hint="(lower, upper) for a number, a list of its categories"
    )


def design(features: Sequence[Scaled], columns: Sequence[NDArray[Any]]) -> Floats:
    """The rows in steps: a column of ones, then each feature's."""
    ones = np.full((len(columns[0]), 1), float(GRID))
    return np.hstack([ones, *(feature.steps(column) for feature, column in zip(features, columns, strict=True))])


def weighted(rows: Floats, weights: Floats) -> Floats:
    """Of each row the sum of its numbers times weights, column after column: its own, whoever else is there.

    A matrix product depends, in its last digits, on how many rows there are and where a row stands among them.
    """
    sums = np.zeros(len(rows))
    for column, weight in zip(rows.T, weights, strict=True):
        sums += column * weight
    return sums


class AddsProducts(Protocol):
    """Whoever can add the rows up: arrays, or an engine."""

    def products(self) -> IntArray:
        """Σ xxᵀ, each pair once; then Σ xy and Σ y², where there is a number to predict."""


@dataclass(frozen=True, slots=True, eq=False)
class Moments:
    """Σ xxᵀ and, where there is a target, Σ xy and Σ y²: noisy, in units of one; and how noisy they are."""

    products: Floats
    product_sigma: float
    cross: Floats
    cross_sigma: float
    square: float


@dataclass(frozen=True, slots=True)
class MomentsPlan:
    """Noises for the products and, where there is a target, for the cross products and the square."""

    width: int  # of the design, with the ones
    loss: Loss
    noises: tuple[Gaussian, ...]
    moves: tuple[Fraction, ...]

    @property
    def event(self) -> Event:
        """What an accountant needs to know of all of it."""
        return composed(self.noises, self.moves)

    def measure(self, data: AddsProducts, source: Source) -> Moments:
        """The noisy sums."""
        sums = data.products()
        pairs = self.width * (self.width + 1) // 2
        products = symmetric(self.noises[0].release(sums[:pairs], source) / GRID**2, self.width)
        sigmas = [float(noise.sigma) / GRID**2 for noise in self.noises]
        if len(self.noises) == 1:
            return Moments(products, sigmas[0], np.zeros(0), 0.0, 0.0)
        cross = self.noises[1].release(sums[pairs:-1], source) / GRID**2
        square = float(self.noises[2].release(sums[-1:], source)[0]) / GRID**2
        return Moments(products, sigmas[0], cross, sigmas[1], square)


def plan_moments(features: Sequence[Scaled], loss: Loss, *, times: int, with_target: bool) -> MomentsPlan:
    """The least noise for which the sums cost no more than `loss` together; `times` one row may differ."""
    count = len(features) + 1
    moves = [times * GRID * GRID * sqrt_above(Fraction(count * count + count, 2))]
    shares = [Fraction(1)]
    if with_target:
        moves += [times * GRID * GRID * sqrt_above(Fraction(count)), Fraction(times * GRID * GRID)]
        shares = [Fraction(1, 2), Fraction(2, 5), Fraction(1, 10)]
    noises = Gaussian.jointly(loss, list(zip(moves, shares, strict=True)))
    return MomentsPlan(1 + sum(each.width for each in features), loss, noises, tuple(moves))


def composed(noises: Sequence[Gaussian], moves: Sequence[Fraction]) -> Event:
    """The event of one release with each noise."""
    return ComposedEvent(tuple((noise.event(move), 1) for noise, move in zip(noises, moves, strict=True)))


def surely_inverted(matrix: Floats, *, sigma: float) -> Floats:
    """The inverse of a noisy matrix of sums, by less than its eigenvalues, as far as noise made them.

    Noise of this deviation in each product moves them by about its own times √width, τ, and the inverse of one that is
    v by a share (τ/v)² on average: as much is taken from v, to be on the safe side. One that is no larger than τ is
    taken for one row: what that says of a direction is that nothing can be told.
    """
    values, vectors = np.linalg.eigh(matrix)
    moved = sigma * math.sqrt(len(values))
    least = np.maximum(values - moved**2 / np.maximum(values, max(moved, 1.0)), 1.0)
    inverse: Floats = (vectors / least) @ vectors.T
    return inverse


def symmetric(upper: NDArray[Any], width: int) -> Floats:
    """The matrix whose upper triangle this is, row after row."""
    matrix = np.zeros((width, width))
    matrix[np.triu_indices(width)] = upper
    return matrix + np.triu(matrix, 1).T
