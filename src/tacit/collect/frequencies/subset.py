"""A random set of values that probably holds the true one."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tacit.collect.bitmaps import column_sums, listed, packed, tidy, unpacked
from tacit.collect.estimates import Estimate
from tacit.collect.frequencies.supports import Support
from tacit.collect.ratios import price, ratio_costing
from tacit.collect.reports import Bodies, Tally, Values, blocks, checked_rows, checked_weights
from tacit.core import Loss, Number, probability
from tacit.errors import InvalidParameter
from tacit.mechanisms.limits import at_least
from tacit.mechanisms.response import answers
from tacit.noise import SYSTEM, IntArray, Source, bernoulli, uniform_integer

_KEYS = 1 << 62  # so many that two equal ones at the edge of a subset are a rarity, drawn again


@dataclass(frozen=True, slots=True)
class SubsetSelection:
    """Report `size` of the `domain` values: a set that holds the true one with probability 1 − `lie`.

    Guarantee:    pure ε-DP with ε = ln((1 − lie) / lie · (domain − size) / size) for neighbours that replace a person's
                  value: every set with the value is so many times likelier than every set without it.
    Sensitivity:  one report a person.
    Error:        at size = domain / (e^ε + 1) the least variance of all protocols, to within rounding of the size.
    Exactness:    rational lie, exact coin; sets by sorting random keys, drawn again on a tie that would matter.
    Reference:    Ye & Barg, IEEE Trans. Inf. Theory 2018; Wang et al., arXiv 1607.08025.
    """

    domain: int
    size: int
    lie: Fraction

    def __init__(self, domain: int, size: int, lie: Number) -> None:
        object.__setattr__(self, "domain", listed(domain))
        object.__setattr__(self, "size", at_least(size, 1, what="the size of a set"))
        object.__setattr__(self, "lie", probability(lie, "the chance of a lie"))
        if self.size >= self.domain:
            raise InvalidParameter(f"the set is too large: {self.size} of {self.domain} values say nothing")
        if (1 - self.lie) * (self.domain - self.size) <= self.lie * self.size:
            raise InvalidParameter("the chance of a lie is too large: the sets would say nothing of the truth")

    @classmethod
    def costing(cls, loss: Loss, *, domain: int) -> SubsetSelection:
        """The size of least variance, and the least lying that costs no more than `loss`."""
        ratio = ratio_costing(loss)
        values = at_least(domain, 2, what="the number of values")
        nearest = int(values / (1 + ratio))
        sizes = [size for size in (nearest, nearest + 1) if 1 <= size < values]
        protocols = [cls(values, size, (values - size) / (values - size + size * ratio)) for size in sizes]
        return min(protocols, key=lambda one: one.support.variance(0, 1))

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
        """A report speaks for every value of its set."""
        with_own, without = 1 - self.lie, self.lie
        others = self.domain - 1
        return Support(with_own, with_own * Fraction(self.size - 1, others) + without * Fraction(self.size, others))

    def loss(self) -> Loss:
        """What one report costs."""
        return Loss(price((1 - self.lie) / self.lie * Fraction(self.domain - self.size, self.size)))

    def encode(self, values: Values, source: Source = SYSTEM) -> Bodies:
        """One report for each value."""
        truth = answers(values, categories=self.domain).ravel()
        held = ~bernoulli(self.lie, truth.size, source=source)
        reports = np.empty((truth.size, self.width), dtype=np.uint8)
        for part in blocks(truth.size, cells=self.domain):
            reports[part] = packed(self._sets(truth[part], held[part], source))
        return reports

    def _sets(self, truth: IntArray, held: NDArray[np.bool_], source: Source) -> NDArray[np.bool_]:
        """Sets of `size` values that hold the true one, or not; of those, each as likely as the next."""
        rows = np.arange(truth.size)
        keys = np.empty((truth.size, self.domain), dtype=np.int64)
        waiting = rows
        while waiting.size:
            drawn = uniform_integer(_KEYS, waiting.size * self.domain, source=source)
            keys[waiting] = drawn.reshape(waiting.size, self.domain)
            keys[waiting, truth[waiting]] = np.where(held[waiting], -1, _KEYS)  # first of all, or last
            edge = np.partition(keys[waiting], (self.size - 1, self.size), axis=1)
            waiting = waiting[edge[:, self.size - 1] == edge[:, self.size]]
        cut = np.partition(keys, self.size - 1, axis=1)[:, self.size - 1]
        return keys <= cut[:, np.newaxis]

    def tally(self, bodies: Bodies, weights: IntArray | None = None) -> Tally:
        """How many sets hold each value; a set of another size is dropped."""
        rows = checked_rows(bodies, self.width)
        times = checked_weights(weights, rows.shape[0])
        good = tidy(rows, self.domain)
        for part in blocks(rows.shape[0], cells=self.domain, most=1 << 20):
            good[part] &= unpacked(rows[part], self.domain).sum(axis=1, dtype=np.int64) == self.size
        sums = column_sums(rows[good], self.domain, weights=None if weights is None else times[good])
        return Tally(sums, int(times[good].sum()), int(times[~good].sum()))

    def estimate(self, tally: Tally) -> Estimate:
        """Unbiased shares of each value."""
        return self.support.estimate(tally)
