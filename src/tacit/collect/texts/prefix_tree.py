"""Heavy hitters of a domain too large to list: prefixes that are common grow, the others are given up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from tacit.collect.frequencies.hadamard import Hadamard
from tacit.collect.frequencies.local_hash import MOST_VALUES, LocalHash
from tacit.collect.reports import Bodies, Tally
from tacit.core import Loss, Number, probability
from tacit.errors import InvalidParameter
from tacit.mechanisms.limits import at_least
from tacit.noise import SYSTEM, IntArray, Source, uniform_integer

_LONGEST = 62


@dataclass(frozen=True, slots=True)
class Hitter:
    """A value that many have: its estimated share and standard error."""

    value: int
    share: float
    error: float


@dataclass(frozen=True, slots=True)
class Round:
    """One question: which of these prefixes, `step` bits longer, does your value start with; or none of them?

    It is asked of people who were not asked before. `protocol` answers over the extensions, and one answer for none.
    """

    tree: PrefixTree
    known: int  # bits of the prefixes
    prefixes: tuple[int, ...]

    @property
    def longer(self) -> int:
        """Bits of the prefixes that are asked about."""
        return min(self.tree.length, self.known + self.tree.step)

    @property
    def protocol(self) -> LocalHash | Hadamard:
        """How the people of this round answer."""
        answers = (len(self.prefixes) << (self.longer - self.known)) + 1
        make = LocalHash if answers <= MOST_VALUES else Hadamard
        return make.costing(self.tree.price, domain=answers)

    def encode(self, values: Sequence[int] | IntArray, source: Source = SYSTEM) -> Bodies:
        """One report for each value."""
        numbers = np.asarray(values, dtype=np.int64)
        if numbers.size and not 0 <= int(numbers.min()) <= int(numbers.max()) < 1 << self.tree.length:
            raise InvalidParameter(f"a value does not fit: it has more than {self.tree.length} bits")
        wider = self.longer - self.known
        start = numbers >> (self.tree.length - self.longer)
        known = np.array(self.prefixes, dtype=np.int64)  # in order
        index = np.minimum(np.searchsorted(known, start >> wider), known.size - 1)
        listed = known[index] == start >> wider
        answer = np.where(listed, (index << wider) | (start & ((1 << wider) - 1)), known.size << wider)
        return self.protocol.encode(answer, source)

    def common(self, tally: Tally) -> tuple[Hitter, ...]:
        """The extensions that stand out of the noise, commonest first, at most `keep` of them."""
        estimates = self.protocol.estimate(tally)
        wider = self.longer - self.known
        shares, errors = estimates.values[:-1], estimates.errors[:-1]
        reach = NormalDist().inv_cdf(1 - float(self.tree.level) / shares.size)
        order = np.argsort(-shares, kind="stable")[: self.tree.keep]
        chosen = [int(index) for index in order if shares[index] > reach * errors[index]]
        return tuple(
            Hitter(
                (self.prefixes[index >> wider] << wider) | (index & ((1 << wider) - 1)),
                float(shares[index]),
                float(errors[index]),
            )
            for index in chosen
        )


@dataclass(frozen=True, slots=True)
class PrefixTree:
    """Find the values of `length` bits that many people have, `step` bits a round, `keep` prefixes at most.

    Guarantee:    pure ε-DP with ε = price for neighbours that replace a person's value: everybody answers in one round
                  only, by a protocol of that price; what is asked in a round depends on earlier reports alone.
    Sensitivity:  one report a person.
    Error:        a value is found where in every round its share exceeds the noise of that round's people; one that no
                  one has comes up with probability at most `level` a round, by the normal approximation.
    Exactness:    the protocols'.
    Reference:    Bassily, Nissim, Stemmer & Thakurta, NeurIPS 2017; Wang, Li & Jha, IEEE TDSC 2021 (PEM).
    """

    length: int
    step: int
    keep: int
    price: Loss
    level: Number = "0.05"

    def __post_init__(self) -> None:
        at_least(self.step, 1, what="the bits of a round")
        at_least(self.keep, 1, what="the number of prefixes kept")
        probability(self.level, "the level")
        object.__setattr__(self, "level", probability(self.level, "the level"))
        if not self.step <= self.length <= _LONGEST or self.keep << self.step > 1 << 22:
            raise InvalidParameter(
                f"the tree does not fit: values have up to {_LONGEST} bits, and keep · 2^step is at most 2^22"
            )

    @property
    def rounds(self) -> int:
        """How many rounds there are, and groups of people needed."""
        return -(-self.length // self.step)

    def first(self) -> Round:
        """The first round: every prefix of `step` bits."""
        return Round(self, 0, (0,))

    def grow(self, asked: Round, tally: Tally) -> Round | tuple[Hitter, ...]:
        """The next round, or the heavy hitters themselves after the last; nothing at all if no prefix stood out."""
        hitters = asked.common(tally)
        if asked.longer == self.length or not hitters:
            return hitters
        return Round(self, asked.longer, tuple(sorted(hitter.value for hitter in hitters)))

    def find(self, values: Sequence[int] | IntArray, source: Source = SYSTEM) -> tuple[Hitter, ...]:
        """All rounds in one place, as a simulation: everybody is put into one round at random."""
        numbers = np.asarray(values, dtype=np.int64)
        group = uniform_integer(self.rounds, numbers.size, source=source)
        now: Round | tuple[Hitter, ...] = self.first()
        for number in range(self.rounds):
            if not isinstance(now, Round):
                break
            now = self.grow(now, now.protocol.tally(now.encode(numbers[group == number], source)))
        return now if isinstance(now, tuple) else ()


def text_to_number(text: str, length: int) -> int:
    """A text of at most `length` bits in UTF-8, padded with zeros, as a number; a longer one is cut."""
    size = length // 8
    return int.from_bytes(text.encode("utf-8")[:size].ljust(size, b"\0"))


def number_to_text(number: int, length: int) -> str:
    """The text back again."""
    return number.to_bytes(length // 8).rstrip(b"\0").decode("utf-8", "replace")
