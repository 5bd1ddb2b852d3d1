"""Rows with two owners: a test before the answer, and how far one person then moves what is measured.

Neighbours differ by one person, with every row in which that person is either owner. Let c be the rows of a pair that
count (`max_rows`), m₀ the partners that nearly everybody has at most (`max_partners`), and f the least k ≥ 0 such that
at most k people have more than m₀ + k partners (`PairFacts.distance`).

f moves by at most one. Without person x nobody has more partners, so f does not rise. With x, everybody else has at
most one more: if at most k people had more than m₀ + k, at most those and x have more than m₀ + k + 1: f rises by one.

Rows move by at most R = c (m + t) where f ≤ t in the larger of the two, for m = m₀ + t. A pair is kept if it is among
the first m of both its people, by a hash of the pair alone. With x go at most m pairs that were kept. A pair {u, v} of
others moves up by at most one place for each of its ends, and nobody's goes down: none is lost. One comes back only
where u or v has more than m partners, and of each such person at most one does, the one at place m + 1. As f ≤ t, there
are at most t of them. So at most m pairs go and t come, over all groups together, and of each at most c rows count,
chosen by the pair's rows alone: taking x out is at most m + t additions or removals of one pair. Whatever a measurement
moves by for one pair, it moves by m + t times that (the triangle inequality; for choices, group privacy).

The test. f, with Laplace noise of scale 1/ε₁, must be at most t − τ, where P(noise ≤ −τ) ≤ δ; else nothing is released
but that it was not. Where f ≤ t in the larger, the test costs ε₁ and what is measured after it ε₂, each by the bound
above, in either direction: ε₁ + ε₂ in all. Where f > t there, f ≥ t in the smaller, so that both pass with probability
at most δ; given that they fail, they say the same. So the whole is δ-approximately as private as the Laplace event of
ε₁ and the measurements together: (ε₁ + ε₂, δ)-DP, and δ-approximate zCDP (Bun & Steinke, TCC 2016, Definition 8.1).
(Propose-test-release: Dwork & Lei, STOC 2009.)

t = τ + a + `max_hubs`, with P(noise > a) ≤ 1 %: where no more than `max_hubs` people have more than m₀ + `max_hubs`
partners, answers are withheld once in a hundred times, by chance.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache

from tacit.core import ApproximateEvent, Event, Loss, decimal_text
from tacit.errors import AnswerWithheld, QueryRefused
from tacit.mechanisms import Laplace
from tacit.policy.tables.two_owners import in_words, two_owners_refused
from tacit.sql.binding.bind import BoundQuery
from tacit.sql.expressions.measures import Additive, Counted, Quantile
from tacit.sql.parsing.query import TypedBounds, WithinError
from tacit.sql.planning.statement import Statement
from tacit.sql.relations.joining.two_owners import DISTANCE, PairFacts

CHANCE = Fraction(1, 100)  # of answers that are withheld by chance
_SHARES = tuple(Fraction(share, 40) for share in range(1, 40))  # of ε that the test may be given
_LARGEST = 1 << 31  # what m + t may be


@dataclass(frozen=True, slots=True)
class StabilityTest:
    """What must hold before anything is measured: noisy f ≤ `most`. See the head of this file for why."""

    units: tuple[str, ...]
    statement: Statement = field(repr=False)
    noise: Laplace
    delta: Fraction
    most: int  # t − τ
    hubs: int  # t: where f is at most that, what follows is bounded
    partners: int  # m
    max_rows: int  # c

    @property
    def pairs(self) -> int:
        """How many pairs one person adds or removes, at most: m + t."""
        return self.partners + self.hubs

    @property
    def rows(self) -> int:
        """How many rows that is, over all groups together: R."""
        return self.max_rows * self.pairs

    @property
    def epsilon(self) -> Fraction:
        """What the test costs."""
        return self.noise.loss(1).epsilon

    @property
    def note(self) -> str:
        """What the reader of an answer must know, and no error bar says."""
        return (
            "rows have two owners: a noisy test of how many partners people have comes first "
            f"(δ = {decimal_text(self.delta)}); where it passes, one person moves at most {self.rows:,} rows that count"
        )

    def events(self) -> tuple[Event, ...]:
        """What an accountant needs to know of it."""
        return self.noise.event(1), ApproximateEvent(Loss(0, self.delta))

    def refusal(self) -> AnswerWithheld:
        """What leaves in place of an answer: the same words whatever the data hold."""
        return AnswerWithheld(
            f"the answer is withheld: too many {in_words(self.units)} may have more partners than the policy allows "
            "for; the test of that is noisy, and stays charged",
            hint="ask the curator to raise max_partners or max_hubs; by chance it happens once in a hundred times",
        )


def refuse_unbounded(bound: BoundQuery, *, shared: str | None = None) -> None:
    """Refuse, before any charge, whatever is not made of sums or ranks of the kept rows; and a price that is `shared`.

    A key that is private, and a count of distinct values or people, are not bounded by pairs as they are by units; and
    what several questions share has one noise for all, but would need a test for each.
    """
    pairs = bound.relation.pairs
    if pairs is None:
        return
    sums = (Counted.ROWS, Counted.VALUES)
    kinds = [m for m in bound.measures if not isinstance(m, Quantile)]
    refused = {
        shared or "a histogram of several questions": shared is not None or bound.total_rows is not None,
        "ROLLUP, CUBE or GROUPING SETS": bound.sets is not None,
        "WITH BIAS": bound.query.bias,
        "WITHIN": isinstance(bound.query.price, WithinError),
        "a bound on contributions that a question sets itself": bound.query.caps != TypedBounds(),
        "GROUP BY a column without a public domain": any(not key.is_public for key in bound.keys),
        "counting distinct values, or choosing among them,": any(
            not isinstance(m, Additive) or m.counted not in sums for m in kinds
        ),
    }
    for what, is_asked in refused.items():
        if is_asked:
            raise two_owners_refused(pairs.table, pairs.units, what=what)


def refuse_pure(pairs: PairFacts, price: Loss) -> None:
    """Refuse a price without δ: the test errs with some probability, however small."""
    if price.is_pure:
        raise QueryRefused(
            f"rows of {pairs.table} have two owners, and need a delta: the test before an answer may err",
            hint="write DP-SELECT 1 DELTA 1e-6 …, or set default_delta in the policy",
        )


@lru_cache(maxsize=1024)
def _limits(epsilon: Fraction, delta: Fraction, hubs: int) -> tuple[int, int]:
    """What noisy f may be at most, and t. P(noise ≤ −τ) = P(|noise| > τ − 1) / 2 is at most δ: rounded outward."""
    noise = Laplace.costing(Loss(epsilon), 1)
    half = Fraction(1, 2)
    tail = 1 if delta >= half else noise.error(1 - 2 * delta) + 1  # P(noise ≤ −1) is below a half
    most = hubs + noise.error(1 - 2 * CHANCE)
    return most, most + tail


def test_of(pairs: PairFacts, loss: Loss, *, delta: Fraction) -> tuple[StabilityTest, Loss]:
    """The test, and what is left for the measurements: the split of ε for which R / ε₂, and so the error, is least."""

    def size(share: Fraction) -> Fraction:
        _, hubs = _limits(loss.epsilon * share, delta, pairs.max_hubs)
        return Fraction(pairs.max_partners + 2 * hubs) / (1 - share)

    share = min(_SHARES, key=size)
    epsilon = loss.epsilon * share
    most, hubs = _limits(epsilon, delta, pairs.max_hubs)
    if pairs.max_partners + 2 * hubs >= _LARGEST:
        raise QueryRefused("the price is too small for rows with two owners", hint="ask with a larger epsilon or delta")
    test = StabilityTest(
        units=pairs.units,
        statement=Statement(pairs.distance(), (DISTANCE,)),
        noise=Laplace.costing(Loss(epsilon), 1),
        delta=delta,
        most=most,
        hubs=hubs,
        partners=pairs.max_partners + hubs,
        max_rows=pairs.max_rows,
    )
    return test, Loss(loss.epsilon - epsilon, loss.delta - delta)
