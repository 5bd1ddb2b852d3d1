"""Counts of texts from an unbounded domain, in a table of fixed size that reports are hashed into."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from tacit.collect.bitmaps import packed, sums_by_group
from tacit.collect.estimates import Estimate, nothing_to_estimate
from tacit.collect.frequencies.hadamard import parity, walsh_hadamard
from tacit.collect.frequencies.supports import Support
from tacit.collect.integers import bits_for, bytes_for, from_rows, to_rows
from tacit.collect.ratios import price, ratio_costing
from tacit.collect.reports import Bodies, Tally, blocks, checked_rows, checked_weights
from tacit.collect.texts.hashing import distinct, place, places, power_of_two
from tacit.core import Loss, Number
from tacit.errors import InvalidParameter
from tacit.mechanisms import RandomisedResponse
from tacit.mechanisms.limits import at_least
from tacit.noise import SYSTEM, IntArray, Source, bernoulli, uniform_integer

_MOST_CELLS = 1 << 26


@dataclass(frozen=True, slots=True)
class CountMeanSketch:
    """Hash the text into a row of `columns` bits by one of `hashes` functions; flip every bit with probability `flip`.

    Guarantee:    pure ε-DP with ε = 2 ln((1 − flip) / flip) for neighbours that replace a person's text: rows of two
                  texts differ in at most two bits. The function is drawn whatever the text.
    Sensitivity:  one report a person.
    Error:        n · variance of a rare share is about flip (1 − flip) / (1 − 2 flip)², and the luck of the hashes.
    Exactness:    rational flip, exact coins; ε rounded up in the 24th digit.
    Reference:    Apple's Differential Privacy Team, Learning with Privacy at Scale, 2017 (CMS).
    """

    hashes: int
    columns: int
    flip: Fraction

    def __init__(self, hashes: int, columns: int, flip: Number) -> None:
        object.__setattr__(self, "hashes", at_least(hashes, 1, what="the number of hash functions"))
        object.__setattr__(self, "columns", power_of_two(columns, "the number of columns"))
        object.__setattr__(self, "flip", RandomisedResponse(flip).flip)
        _fits(self.hashes, self.columns)

    @classmethod
    def costing(cls, loss: Loss, *, hashes: int, columns: int) -> CountMeanSketch:
        """The least flipping that costs no more than `loss`: 1 / (1 + e^(ε/2)), rounded up."""
        return cls(hashes, columns, 1 / (1 + ratio_costing(loss, 2)))

    @property
    def width(self) -> int:
        """Bytes of a report: the function's number, then the row."""
        return bytes_for(self.hashes) + (self.columns + 7) // 8

    @property
    def bits(self) -> int:
        """Bits that a report needs."""
        return bits_for(self.hashes) + self.columns

    def loss(self) -> Loss:
        """What one report costs."""
        return Loss(2 * price((1 - self.flip) / self.flip))

    def encode(self, values: Sequence[str], source: Source = SYSTEM) -> Bodies:
        """One report for each text."""
        functions = uniform_integer(self.hashes, len(values), source=source)
        own = places(values, functions, size=self.columns)
        first = bytes_for(self.hashes)
        reports = np.empty((own.size, self.width), dtype=np.uint8)
        reports[:, :first] = to_rows(functions, first)
        for part in blocks(own.size, cells=self.columns):
            rows = own[part].size
            bits = bernoulli(self.flip, rows * self.columns, source=source).reshape(rows, self.columns)
            bits[np.arange(rows), own[part]] ^= True
            reports[part, first:] = packed(bits)
        return reports

    def tally(self, bodies: Bodies, weights: IntArray | None = None) -> Tally:
        """Rows: functions; columns: how often each bit was set; the last column: how many reports there were."""
        rows = checked_rows(bodies, self.width)
        times = checked_weights(weights, rows.shape[0])
        first = bytes_for(self.hashes)
        functions = from_rows(rows[:, :first])
        good = functions < self.hashes
        if self.columns < 8:
            good &= rows[:, -1] < 1 << self.columns
        counted = None if weights is None else times[good]
        table = sums_by_group(
            rows[good][:, first:], functions[good], groups=self.hashes, bits=self.columns, weights=counted
        )
        return Tally(table, int(table[:, -1].sum()), int(times[~good].sum()))

    def estimate(self, tally: Tally, candidates: Sequence[str]) -> Estimate:
        """Shares of each candidate, unbiased over the choice of hash functions."""
        spoken = np.zeros(len(words := distinct(candidates)), dtype=np.int64)
        for number, word in enumerate(words):
            own = [place(word, function, self.columns) for function in range(self.hashes)]
            spoken[number] = tally.counts[np.arange(self.hashes), own].sum()
        if tally.reports < 1:
            raise nothing_to_estimate()
        other = self.flip + (1 - 2 * self.flip) / self.columns  # another text, in the same place by chance
        coins = Support(1 - self.flip, other).estimate(Tally(spoken, tally.reports, tally.dropped))
        return _with_luck_of_hashes(coins, self.hashes * self.columns)


@dataclass(frozen=True, slots=True)
class HadamardSketch:
    """Hash the text into a row of `columns`; report a bit of the row's Hadamard code, flipped with probability `flip`.

    Guarantee:    pure ε-DP with ε = ln((1 − flip) / flip) for neighbours that replace a person's text: function and bit
                  number are drawn whatever the text, and the bit is randomised response.
    Sensitivity:  one report a person.
    Error:        n · variance of a share is about ((e^ε + 1) / (e^ε − 1))², and the luck of the hashes.
    Exactness:    rational flip, exact coin; ε rounded up in the 24th digit.
    Reference:    Apple's Differential Privacy Team, Learning with Privacy at Scale, 2017 (HCMS).
    """

    hashes: int
    columns: int
    flip: Fraction

    def __init__(self, hashes: int, columns: int, flip: Number) -> None:
        object.__setattr__(self, "hashes", at_least(hashes, 1, what="the number of hash functions"))
        object.__setattr__(self, "columns", power_of_two(columns, "the number of columns"))
        object.__setattr__(self, "flip", RandomisedResponse(flip).flip)
        _fits(self.hashes, self.columns)

    @classmethod
    def costing(cls, loss: Loss, *, hashes: int, columns: int) -> HadamardSketch:
        """The least flipping that costs no more than `loss`: 1 / (1 + e^ε), rounded up."""
        return cls(hashes, columns, 1 / (1 + ratio_costing(loss)))

    @property
    def _codes(self) -> int:
        return 2 * self.hashes * self.columns

    @property
    def width(self) -> int:
        """Bytes of a report."""
        return bytes_for(self._codes)

    @property
    def bits(self) -> int:
        """Bits that a report needs."""
        return bits_for(self._codes)

    def loss(self) -> Loss:
        """What one report costs."""
        return Loss(price((1 - self.flip) / self.flip))

    def encode(self, values: Sequence[str], source: Source = SYSTEM) -> Bodies:
        """One report for each text: ((function · columns) + number of the bit) · 2 + bit."""
        functions = uniform_integer(self.hashes, len(values), source=source)
        own = places(values, functions, size=self.columns)
        numbers = uniform_integer(self.columns, own.size, source=source)
        bits = parity(numbers & own) ^ bernoulli(self.flip, own.size, source=source)
        return to_rows(2 * (functions * self.columns + numbers) + bits, self.width)

    def tally(self, bodies: Bodies, weights: IntArray | None = None) -> Tally:
        """Rows: functions; columns: reports for each place less reports against it; the last: how many reports."""
        numbers = from_rows(checked_rows(bodies, self.width))
        times = checked_weights(weights, numbers.size)
        good = numbers < self._codes
        seen = np.bincount(numbers[good], weights=times[good], minlength=self._codes).astype(np.int64)
        pairs = seen.reshape(self.hashes, self.columns, 2)
        agree = [walsh_hadamard(row) for row in pairs[..., 0] - pairs[..., 1]]
        table = np.column_stack((np.array(agree), pairs.sum(axis=(1, 2))))
        return Tally(table, int(seen.sum()), int(times[~good].sum()))

    def estimate(self, tally: Tally, candidates: Sequence[str]) -> Estimate:
        """Shares of each candidate, unbiased over the choice of hash functions."""
        if tally.reports < 1:
            raise nothing_to_estimate()
        words = distinct(candidates)
        agree = np.zeros(len(words), dtype=np.int64)
        for number, word in enumerate(words):
            own = [place(word, function, self.columns) for function in range(self.hashes)]
            agree[number] = tally.counts[np.arange(self.hashes), own].sum()
        spoken = (agree + tally.reports) // 2
        half, clash = Fraction(1, 2), Fraction(1, self.columns)
        own_chance = 1 - self.flip
        other = clash * own_chance + (1 - clash) * half
        coins = Support(own_chance, other).estimate(Tally(spoken, tally.reports, tally.dropped))
        return _with_luck_of_hashes(coins, self.hashes * self.columns)


def _fits(hashes: int, columns: int) -> None:
    if hashes * columns > _MOST_CELLS:
        raise InvalidParameter(f"the sketch is too large: {hashes} × {columns} cells, of at most {_MOST_CELLS}")


def _with_luck_of_hashes(estimate: Estimate, cells: int) -> Estimate:
    """Errors widened by texts that share a cell with a candidate: Σ share² / cells, as far as candidates show it."""
    others = max(0.0, float((estimate.values**2 - estimate.errors**2).sum())) / cells
    widened, sampled = np.sqrt(estimate.errors**2 + others), np.sqrt(estimate.sampled_errors**2 + others)
    return replace(estimate, errors=widened, sampled_errors=sampled)
