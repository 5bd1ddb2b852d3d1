"""RAPPOR: a Bloom filter of the text, randomised once for good and once more for every report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tacit.collect.bitmaps import packed, sums_by_group, tidy
from tacit.collect.integers import bits_for, bytes_for, from_rows, to_rows
from tacit.collect.ratios import price
from tacit.collect.reports import Bodies, Tally, blocks, checked_rows, checked_weights
from tacit.collect.texts.hashing import places, power_of_two
from tacit.core import Loss, Number, rational
from tacit.errors import InvalidParameter
from tacit.mechanisms.limits import at_least
from tacit.noise import SYSTEM, IntArray, Source, bernoulli

Bits = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Rappor:
    """Report a Bloom filter of `filter_bits` bits, `hashes` set, that a device in a cohort has randomised twice.

    Once for good: each bit is replaced by a fair coin with probability `forget`, and the outcome is kept for that text.
    Then for every report: a kept 1 is reported as 1 with probability `one`, a kept 0 with probability `zero`.

    Guarantee:    pure ε∞-DP for a text however often it is reported, ε∞ = 2 hashes ln((1 − forget/2) / (forget/2)),
                  and pure ε₁-DP of a single report, ε₁ = hashes ln(o (1 − z) / (z (1 − o))), o and z being the chances
                  of a 1 where the filter has a 1 or a 0; for neighbours that replace the text. Two filters differ in
                  at most `hashes` bits one way and as many the other; a bit each way gives the factor in ε₁.
    Sensitivity:  one text a person; every further text costs as much again.
    Error:        of the share of a filter's bit: z (1 − z) / (n (o − z)²); decoding is a regression on candidates.
    Exactness:    rational chances, exact coins; ε rounded up in the 24th digit.
    Reference:    Erlingsson, Pihur & Korolova, CCS 2014.
    """

    filter_bits: int
    hashes: int
    cohorts: int
    forget: Fraction
    zero: Fraction
    one: Fraction

    def __init__(
        self, filter_bits: int, hashes: int, cohorts: int, *, forget: Number, zero: Number, one: Number
    ) -> None:
        object.__setattr__(self, "filter_bits", power_of_two(filter_bits, "the size of the filter"))
        object.__setattr__(self, "hashes", at_least(hashes, 1, what="the number of hash functions"))
        object.__setattr__(self, "cohorts", at_least(cohorts, 1, what="the number of cohorts"))
        for name, value in (("forget", forget), ("zero", zero), ("one", one)):
            object.__setattr__(self, name, _chance(value, f"the chance `{name}`"))
        if self.hashes > self.filter_bits or self.cohorts > 1 << 16:
            raise InvalidParameter("the filter is impossible: more hashes than bits, or more than 65,536 cohorts")
        if not self.zero < self.one or self.forget == 1:
            raise InvalidParameter("the reports say nothing of the text: zero < one and forget < 1 are needed")
        if self.forget == 0 and (self.zero == 0 or self.one == 1):
            raise InvalidParameter("nothing is hidden: some bit would be reported as it is")

    @property
    def width(self) -> int:
        """Bytes of a report: the cohort, then the bits."""
        return bytes_for(self.cohorts) + (self.filter_bits + 7) // 8

    @property
    def bits(self) -> int:
        """Bits that a report needs."""
        return bits_for(self.cohorts) + self.filter_bits

    @property
    def chances(self) -> tuple[Fraction, Fraction]:
        """The chance that a bit is reported as 1, where the filter has a 0 and where it has a 1 (p* and q*)."""
        half = self.forget / 2
        coin = half * (self.zero + self.one)
        return coin + (1 - self.forget) * self.zero, coin + (1 - self.forget) * self.one

    def loss(self) -> Loss:
        """What a text costs, however often it is reported (ε∞). Needs `forget` > 0."""
        if self.forget == 0:
            raise InvalidParameter(
                "a text that is reported again and again costs without end: nothing is forgotten for good",
                hint="choose forget > 0, or use report_loss for a single report",
            )
        half = self.forget / 2
        return Loss(2 * self.hashes * price((1 - half) / half))

    def report_loss(self) -> Loss:
        """What a single report costs (ε₁)."""
        zero, one = self.chances
        return Loss(self.hashes * price(one * (1 - zero) / (zero * (1 - one))))

    def filters(self, values: Sequence[str], cohorts: IntArray) -> Bits:
        """The Bloom filter of each text in its cohort: a row of bits."""
        bits = np.zeros((len(values), self.filter_bits), dtype=np.bool_)
        rows = np.arange(len(values))
        for number in range(self.hashes):
            bits[rows, places(values, cohorts * self.hashes + number, size=self.filter_bits)] = True
        return bits

    def permanent(self, filters: Bits, source: Source = SYSTEM) -> Bits:
        """What a device keeps for good: draw it once for each text, and never again.

        To be replaced by a fair coin with probability `forget` is to be flipped with half of it.
        """
        return filters ^ bernoulli(self.forget / 2, filters.size, source=source).reshape(filters.shape)

    def instantaneous(self, kept: Bits, source: Source = SYSTEM) -> Bits:
        """A report from what was kept: drawn anew every time. Where ones and zeros fare alike one coin does both."""
        zeros = bernoulli(self.zero, kept.size, source=source).reshape(kept.shape)
        if self.zero + self.one == 1:
            return kept ^ zeros
        raised = bernoulli((self.one - self.zero) / (1 - self.zero), kept.size, source=source).reshape(kept.shape)
        return zeros | (kept & raised)

    def encode(self, values: Sequence[str], source: Source = SYSTEM, *, cohorts: IntArray | None = None) -> Bodies:
        """One report for each text, each from a device that had never seen it; cohorts go round if none are given."""
        group = np.arange(len(values)) % self.cohorts if cohorts is None else _cohorts(cohorts, self.cohorts)
        filters = self.filters(values, group)
        reported = np.empty_like(filters)
        for part in blocks(filters.shape[0], cells=self.filter_bits):
            reported[part] = self.instantaneous(self.permanent(filters[part], source), source)
        return self.bodies(reported, group)

    def bodies(self, reported: Bits, cohorts: IntArray) -> Bodies:
        """Reported bits as they travel."""
        return np.concatenate((to_rows(cohorts, bytes_for(self.cohorts)), packed(reported)), axis=1)

    def tally(self, bodies: Bodies, weights: IntArray | None = None) -> Tally:
        """Rows: cohorts; columns: how often each bit was reported; the last column: how many reports there were."""
        rows = checked_rows(bodies, self.width)
        times = checked_weights(weights, rows.shape[0])
        first = bytes_for(self.cohorts)
        group = from_rows(rows[:, :first])
        good = (group < self.cohorts) & tidy(rows, self.filter_bits)
        counted = None if weights is None else times[good]
        bits = self.filter_bits
        table = sums_by_group(rows[good][:, first:], group[good], groups=self.cohorts, bits=bits, weights=counted)
        return Tally(table, int(table[:, -1].sum()), int(times[~good].sum()))


def _chance(value: Number, what: str) -> Fraction:
    number = rational(value, what)
    if not 0 <= number <= 1:
        raise InvalidParameter(f"{what} must lie between 0 and 1")
    return number


def _cohorts(cohorts: IntArray, most: int) -> IntArray:
    group = np.asarray(cohorts)
    if group.dtype.kind not in "iu" or (group.size and not 0 <= int(group.min()) <= int(group.max()) < most):
        raise InvalidParameter(f"a cohort is not one of the {most} there are: they count from 0")
    return group.astype(np.int64)
