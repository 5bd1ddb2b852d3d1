"""A law on a row of cells: a window that slides with the value is likelier than the rest."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tacit.collect.estimates import Floats
from tacit.collect.ratios import price
from tacit.core import Number, probability
from tacit.errors import InvalidParameter
from tacit.mechanisms.limits import at_least
from tacit.noise import IntArray, Source, bernoulli, uniform_integer


@dataclass(frozen=True, slots=True)
class Window:
    """Place x of 0 … `steps` reports a cell of x … x + `size` − 1, evenly; with probability `lie` any other.

    There are steps + size cells, `steps` of them outside the window, whatever x is. So the mean of a report is a
    straight line in x, and an unbiased guess is read off it.
    """

    steps: int
    size: int
    lie: Fraction

    def __init__(self, steps: int, size: int, lie: Number) -> None:
        object.__setattr__(self, "steps", at_least(steps, 1, what="the number of steps"))
        object.__setattr__(self, "size", at_least(size, 1, what="the size of the window"))
        object.__setattr__(self, "lie", probability(lie, "the chance of a lie"))
        if self.ratio <= 1:
            raise InvalidParameter("the chance of a lie is too large: the window is no likelier than the rest")

    @property
    def cells(self) -> int:
        """How many cells there are."""
        return self.steps + self.size

    @property
    def ratio(self) -> Fraction:
        """How much likelier a cell in the window is than one outside."""
        return (1 - self.lie) / self.lie * Fraction(self.steps, self.size)

    @property
    def epsilon(self) -> Fraction:
        """ln(ratio), rounded up."""
        return price(self.ratio)

    def draw(self, indices: IntArray, source: Source) -> IntArray:
        """A cell for each place. All coins are tossed whatever they show."""
        lies = bernoulli(self.lie, indices.size, source=source)
        inside = indices + uniform_integer(self.size, indices.size, source=source)
        outside = uniform_integer(self.steps, indices.size, source=source)
        outside += np.where(outside >= indices, self.size, 0)  # the window is stepped over
        return np.where(lies, outside, inside)

    def line(self) -> tuple[Fraction, Fraction]:
        """The mean report of place x is the first plus x times the second, exactly."""
        cells, size = self.cells, self.size
        slope = (1 - self.lie) - self.lie * Fraction(size, self.steps)
        everything, window = Fraction(cells * (cells - 1), 2), Fraction(size * (size - 1), 2)
        return (1 - self.lie) * Fraction(size - 1, 2) + self.lie * (everything - window) / self.steps, slope

    def guesses(self) -> Floats:
        """For each cell the unbiased guess of the place, which may lie beyond the ends."""
        start, slope = self.line()
        guesses: Floats = (np.arange(self.cells, dtype=np.float64) - float(start)) / float(slope)
        return guesses

    def chances(self) -> Floats:
        """Rows: cells, columns: places; the chance of a cell at a place."""
        cell, index = np.arange(self.cells)[:, np.newaxis], np.arange(self.steps + 1)[np.newaxis]
        inside = (cell >= index) & (cell < index + self.size)
        return np.where(inside, float((1 - self.lie) / self.size), float(self.lie / self.steps))


def lie_for(ratio: Fraction, *, steps: int, size: int) -> Fraction:
    """The chance of a lie that makes a window of `size` exactly `ratio` times likelier, cell for cell."""
    return steps / (steps + size * ratio)
