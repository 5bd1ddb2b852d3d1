"""One noisy bit of the value's Hadamard code."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tacit.collect.estimates import Estimate
from tacit.collect.frequencies.supports import Support
from tacit.collect.integers import bits_for, bytes_for, from_rows, to_rows
from tacit.collect.ratios import price, ratio_costing
from tacit.collect.reports import Bodies, Tally, Values, checked_rows, checked_weights
from tacit.core import Loss, Number
from tacit.errors import InvalidParameter
from tacit.mechanisms import RandomisedResponse
from tacit.mechanisms.limits import at_least
from tacit.mechanisms.response import answers
from tacit.noise import SYSTEM, IntArray, Source, bernoulli, uniform_integer

MOST_VALUES = 1 << 24


@dataclass(frozen=True, slots=True)
class Hadamard:
    """Report a random row of the Hadamard matrix and the value's bit in it, flipped with probability `flip`.

    Guarantee:    pure ε-DP with ε = ln((1 − flip) / flip) for neighbours that replace a person's value: the row is
                  drawn whatever the value, and the bit is randomised response.
    Sensitivity:  one report a person.
    Error:        n · variance of a share is at most ((e^ε + 1) / (e^ε − 1))²: 1.27 times the optimum at ε = 1.
    Exactness:    rational flip, exact coin; ε rounded up in the 24th digit.
    Reference:    Nguyên et al., arXiv 1606.05053; Acharya, Sun & Zhang, AISTATS 2019.
    """

    domain: int
    flip: Fraction

    def __init__(self, domain: int, flip: Number) -> None:
        object.__setattr__(self, "domain", at_least(domain, 2, what="the number of values"))
        if self.domain > MOST_VALUES:
            raise InvalidParameter(
                f"the domain is too large: at most {MOST_VALUES} values have a Hadamard code here",
                hint="find heavy values of larger domains with PrefixTree, or sketch them with CountMeanSketch",
            )
        object.__setattr__(self, "flip", RandomisedResponse(flip).flip)

    @classmethod
    def costing(cls, loss: Loss, *, domain: int) -> Hadamard:
        """The least flipping that costs no more than `loss`."""
        return cls(domain, 1 / (1 + ratio_costing(loss)))

    @property
    def rows(self) -> int:
        """The order of the matrix: a power of two."""
        return 1 << bits_for(self.domain)

    @property
    def width(self) -> int:
        """Bytes of a report."""
        return bytes_for(2 * self.rows)

    @property
    def bits(self) -> int:
        """Bits that a report needs."""
        return bits_for(2 * self.rows)

    @property
    def support(self) -> Support:
        """A report speaks for the values that have its bit in its row: all but surely half of them."""
        return Support(1 - self.flip, Fraction(1, 2))

    def loss(self) -> Loss:
        """What one report costs."""
        return Loss(price((1 - self.flip) / self.flip))

    def encode(self, values: Values, source: Source = SYSTEM) -> Bodies:
        """One report for each value: twice its row, plus the bit."""
        truth = answers(values, categories=self.domain).ravel()
        rows = uniform_integer(self.rows, truth.size, source=source)
        bits = parity(rows & truth) ^ bernoulli(self.flip, truth.size, source=source)
        return to_rows(2 * rows + bits, self.width)

    def tally(self, bodies: Bodies, weights: IntArray | None = None) -> Tally:
        """How many reports speak for each value, all at once by a fast Walsh–Hadamard transform."""
        numbers = from_rows(checked_rows(bodies, self.width))
        times = checked_weights(weights, numbers.size)
        good = numbers < 2 * self.rows
        seen = np.bincount(numbers[good], weights=times[good], minlength=2 * self.rows).astype(np.int64)
        n = int(seen.sum())
        agree = walsh_hadamard(seen[0::2] - seen[1::2])  # reports for a value, less reports against it
        return Tally((agree[: self.domain] + n) // 2, n, int(times[~good].sum()))

    def estimate(self, tally: Tally) -> Estimate:
        """Unbiased shares of each value."""
        return self.support.estimate(tally)


def parity(numbers: IntArray) -> IntArray:
    """Whether each number has an odd count of ones."""
    folded = numbers
    for shift in (32, 16, 8, 4, 2, 1):
        folded = folded ^ (folded >> shift)
    return folded & 1


def walsh_hadamard(values: IntArray) -> IntArray:
    """Σ over rows of values[row] · (−1)^parity(row & column), for every column; exact, in n log n additions."""
    sums = values.copy()
    half = 1
    while half < sums.size:
        pairs = sums.reshape(-1, 2, half)
        sums = np.concatenate((pairs[:, :1] + pairs[:, 1:], pairs[:, :1] - pairs[:, 1:]), axis=1).reshape(-1)
        half *= 2
    return sums
