"""One noisy bit for each value there is."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tacit.collect.bitmaps import column_sums, listed, packed, tidy
from tacit.collect.estimates import Estimate
from tacit.collect.frequencies.supports import Support
from tacit.collect.ratios import price, ratio_costing
from tacit.collect.reports import Bodies, Tally, Values, blocks, checked_rows, checked_weights
from tacit.core import Loss, Number, probability
from tacit.errors import InvalidParameter
from tacit.mechanisms.response import answers
from tacit.noise import SYSTEM, IntArray, Source, bernoulli


@dataclass(frozen=True, slots=True)
class Unary:
    """Report a bit for every value: a 1 with probability `keep` for the person's own, `stray` for any other (SUE, OUE).

    Guarantee:    pure ε-DP with ε = ln(keep / (1 − keep)) + ln((1 − stray) / stray) for neighbours that replace a
                  person's value: two values differ in two bits, and each changes a likelihood by one of these factors.
    Sensitivity:  one report a person.
    Error:        n · variance of a rare value's share is stray (1 − stray) / (keep − stray)²: optimised, with keep at
                  1/2, that is 4 e^ε / (e^ε − 1)², whatever the number of values.
    Exactness:    rational chances, exact coins; ε rounded up in the 24th digit.
    Reference:    Erlingsson, Pihur & Korolova, CCS 2014; Wang, Blocki, Li & Jha, USENIX Security 2017.
    """

    domain: int
    keep: Fraction
    stray: Fraction

    def __init__(self, domain: int, keep: Number, stray: Number) -> None:
        object.__setattr__(self, "domain", listed(domain))
        object.__setattr__(self, "keep", probability(keep, "the chance of keeping a bit"))
        object.__setattr__(self, "stray", probability(stray, "the chance of a stray bit"))
        if self.keep < Fraction(1, 2) or self.stray > Fraction(1, 2) or self.keep == self.stray:
            raise InvalidParameter("the bits say nothing of the truth: keep at least 1/2 and let at most 1/2 stray")

    @classmethod
    def optimised(cls, loss: Loss, *, domain: int) -> Unary:
        """The least variance of a rare value for this loss: the whole of it protects the zeros."""
        return cls(domain, Fraction(1, 2), 1 / (1 + ratio_costing(loss)))

    @classmethod
    def symmetric(cls, loss: Loss, *, domain: int) -> Unary:
        """Zeros and ones flipped alike, each for half of the loss."""
        flip = 1 / (1 + ratio_costing(loss, 2))
        return cls(domain, 1 - flip, flip)

    @property
    def width(self) -> int:
        """Bytes of a report."""
        return (self.domain + 7) // 8

    @property
    def bits(self) -> int:
        """Bits that a report needs."""
        return self.domain

    @property
    def support(self) -> Support:
        """A report speaks for every value whose bit it sets."""
        return Support(self.keep, self.stray)

    def loss(self) -> Loss:
        """What one report costs."""
        return Loss(price(self.keep / (1 - self.keep)) + price((1 - self.stray) / self.stray))

    def encode(self, values: Values, source: Source = SYSTEM) -> Bodies:
        """One report for each value."""
        truth = answers(values, categories=self.domain).ravel()
        kept = bernoulli(self.keep, truth.size, source=source)
        reports = np.empty((truth.size, self.width), dtype=np.uint8)
        for part in blocks(truth.size, cells=self.domain):
            rows = truth[part].size
            bits = bernoulli(self.stray, rows * self.domain, source=source).reshape(rows, self.domain)
            bits[np.arange(rows), truth[part]] = kept[part]
            reports[part] = packed(bits)
        return reports

    def tally(self, bodies: Bodies, weights: IntArray | None = None) -> Tally:
        """How many reports set each bit."""
        rows = checked_rows(bodies, self.width)
        times = checked_weights(weights, rows.shape[0])
        good = tidy(rows, self.domain)
        sums = column_sums(rows[good], self.domain, weights=None if weights is None else times[good])
        return Tally(sums, int(times[good].sum()), int(times[~good].sum()))

    def estimate(self, tally: Tally) -> Estimate:
        """Unbiased shares of each value."""
        return self.support.estimate(tally)
