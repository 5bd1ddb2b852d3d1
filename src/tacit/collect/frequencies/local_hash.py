"""A noisy bucket of a random hash of the value."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tacit.collect.estimates import Estimate
from tacit.collect.frequencies.linear_hash import MOST_BUCKETS, LinearHash, is_field_size
from tacit.collect.frequencies.supports import Support
from tacit.collect.integers import bits_for, bytes_for, from_rows, to_rows
from tacit.collect.ratios import ratio_costing
from tacit.collect.reports import Bodies, Tally, Values, checked_rows, checked_weights
from tacit.core import Loss, Number
from tacit.errors import InvalidParameter
from tacit.mechanisms import KaryResponse
from tacit.mechanisms.limits import at_least
from tacit.mechanisms.response import answers
from tacit.noise import SYSTEM, IntArray, Source, uniform_integer

MOST_VALUES = 1 << 20
_MOST_WORK = 1 << 32  # additions for one tally: some seconds


@dataclass(frozen=True, slots=True)
class LocalHash:
    """Hash the value into one of `buckets` by a random public function; report that function and a noisy bucket (OLH).

    Guarantee:    pure ε-DP with ε = ln((1 − lie)(buckets − 1) / lie) for neighbours that replace a person's value: the
                  function is drawn whatever the value, and the bucket is reported as by `KaryResponse`.
    Sensitivity:  one report a person.
    Error:        n · variance of a rare value's share is (e^ε − 1 + buckets)² / ((buckets − 1)(e^ε − 1)²): with about
                  e^ε + 1 buckets that is 4 e^ε / (e^ε − 1)². Any two values meet in a bucket exactly once in `buckets`
                  times (lines over a finite field), so the estimate is unbiased without an assumption on hashes.
    Exactness:    rational lie, exact coins; ε rounded up in the 24th digit.
    Reference:    Wang, Blocki, Li & Jha, USENIX Security 2017; Carter & Wegman, JCSS 1979 (universal hashing).
    """

    domain: int
    buckets: int
    lie: Fraction

    def __init__(self, domain: int, buckets: int, lie: Number) -> None:
        object.__setattr__(self, "domain", at_least(domain, 2, what="the number of values"))
        object.__setattr__(self, "buckets", at_least(buckets, 2, what="the number of buckets"))
        if self.domain > MOST_VALUES or self.hash.work > _MOST_WORK:
            raise InvalidParameter(
                "the domain is too large: the reports could not be added up",
                hint="choose fewer buckets, Hadamard, or PrefixTree for values that are not known beforehand",
            )
        object.__setattr__(self, "lie", KaryResponse(self.buckets, lie).lie)

    @classmethod
    def costing(cls, loss: Loss, *, domain: int) -> LocalHash:
        """The buckets of least variance, and the least lying that costs no more than `loss`."""
        ratio = ratio_costing(loss)
        values = at_least(domain, 2, what="the number of values")
        sizes = [size for size in range(2, MOST_BUCKETS + 1) if is_field_size(size)]
        possible = [size for size in sizes if LinearHash(values, size).work <= _MOST_WORK] or [2]
        best = min(possible, key=lambda size: (ratio - 1 + size) ** 2 / (size - 1))
        return cls(values, best, (best - 1) / (best - 1 + ratio))

    @property
    def hash(self) -> LinearHash:
        """The family of hash functions that a report chooses from."""
        return LinearHash(self.domain, self.buckets)

    @property
    def width(self) -> int:
        """Bytes of a report."""
        return bytes_for(self.hash.functions * self.buckets)

    @property
    def bits(self) -> int:
        """Bits that a report needs."""
        return bits_for(self.hash.functions * self.buckets)

    @property
    def support(self) -> Support:
        """A report speaks for the values that its function sends to its bucket."""
        return Support(1 - self.lie, Fraction(1, self.buckets))

    def loss(self) -> Loss:
        """What one report costs."""
        return KaryResponse(self.buckets, self.lie).loss()

    def encode(self, values: Values, source: Source = SYSTEM) -> Bodies:
        """One report for each value: `buckets` times the number of its function, plus the bucket."""
        truth = answers(values, categories=self.domain).ravel()
        functions = uniform_integer(self.hash.functions, truth.size, source=source)
        told = KaryResponse(self.buckets, self.lie).release(self.hash(functions, truth), source)
        return to_rows(self.buckets * functions + told, self.width)

    def tally(self, bodies: Bodies, weights: IntArray | None = None) -> Tally:
        """How many reports speak for each value."""
        numbers = from_rows(checked_rows(bodies, self.width))
        times = checked_weights(weights, numbers.size)
        most = self.hash.functions * self.buckets
        good = numbers < most
        seen = np.bincount(numbers[good], weights=times[good], minlength=most).astype(np.int64)
        agreeing = self.hash.agreeing(seen.reshape(-1, self.buckets))
        return Tally(agreeing, int(seen.sum()), int(times[~good].sum()))

    def estimate(self, tally: Tally) -> Estimate:
        """Unbiased shares of each value."""
        return self.support.estimate(tally)
