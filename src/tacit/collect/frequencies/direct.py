"""The value itself, or now and then another one."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tacit.collect.estimates import Estimate
from tacit.collect.frequencies.supports import Support
from tacit.collect.integers import bits_for, bytes_for, from_rows, to_rows
from tacit.collect.reports import Bodies, Tally, Values, checked_rows, checked_weights
from tacit.core import Loss, Number, probability
from tacit.errors import InvalidParameter
from tacit.mechanisms import KaryResponse
from tacit.noise import SYSTEM, IntArray, Source

MOST_VALUES = 1 << 24


@dataclass(frozen=True, slots=True)
class Direct:
    """Report one of `domain` values truthfully, except with probability `lie`: then any other, evenly (GRR).

    Guarantee:    pure ε-DP with ε = ln((1 − lie)(domain − 1) / lie) for neighbours that replace a person's value; who
                  took part is not hidden. The law is `KaryResponse`'s; with two values it is randomised response.
    Sensitivity:  one report a person.
    Error:        n · variance of a rare value's share is (domain − 2 + e^ε) / (e^ε − 1)²: the least of all protocols up
                  to 2 e^ε values. From there on `SubsetSelection` has less, and `Unary.optimised` from 3 e^ε + 2 on.
    Exactness:    rational lie, exact coins; ε rounded up in the 24th digit.
    Reference:    Warner, JASA 1965; Kairouz, Bonawitz & Ramage, ICML 2016; Wang et al., USENIX Security 2017.
    """

    domain: int
    lie: Fraction

    def __init__(self, domain: int, lie: Number) -> None:
        response = KaryResponse(domain, lie)
        if response.categories > MOST_VALUES:
            raise InvalidParameter(f"the domain is too large: at most {MOST_VALUES} values can be reported one by one")
        object.__setattr__(self, "domain", response.categories)
        object.__setattr__(self, "lie", response.lie)

    @classmethod
    def costing(cls, loss: Loss, *, domain: int) -> Direct:
        """The least lying that costs no more than `loss`."""
        return cls(domain, KaryResponse.costing(loss, categories=domain).lie)

    @classmethod
    def two_coin(cls, truth: Number = Fraction(1, 2)) -> Direct:
        """Yes or no: the truth if the first coin shows heads, else what a fair second coin says. Fair: ε = ln 3."""
        return cls(2, (1 - probability(truth, "the chance of telling the truth")) / 2)

    @property
    def width(self) -> int:
        """Bytes of a report."""
        return bytes_for(self.domain)

    @property
    def bits(self) -> int:
        """Bits that a report needs."""
        return bits_for(self.domain)

    @property
    def support(self) -> Support:
        """A report speaks for the value it names."""
        return Support(1 - self.lie, self.lie / (self.domain - 1))

    def loss(self) -> Loss:
        """What one report costs."""
        return KaryResponse(self.domain, self.lie).loss()

    def encode(self, values: Values, source: Source = SYSTEM) -> Bodies:
        """One report for each value."""
        return to_rows(KaryResponse(self.domain, self.lie).release(values, source).ravel(), self.width)

    def tally(self, bodies: Bodies, weights: IntArray | None = None) -> Tally:
        """How often each value was named."""
        numbers = from_rows(checked_rows(bodies, self.width))
        times = checked_weights(weights, numbers.size)
        good = numbers < self.domain
        counts = np.bincount(numbers[good], weights=times[good], minlength=self.domain).astype(np.int64)
        return Tally(counts, int(counts.sum()), int(times[~good].sum()))

    def estimate(self, tally: Tally) -> Estimate:
        """Unbiased shares of each value."""
        return self.support.estimate(tally)
