"""What an observer learns about one person from a report, before anything is collected."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tacit.accounting import posterior
from tacit.collect.frequencies.direct import Direct
from tacit.core import Number, probability

PRIORS = tuple(Fraction(text) for text in ("0.01", "0.05", "0.1", "0.25", "0.5", "0.75", "0.9"))


@dataclass(frozen=True, slots=True)
class Learnt:
    """How sure an observer is that a person has a value: before, after a report that names it, after one that does not.

    `lowest` and `highest` bound what any report could do, whoever observes and whatever else they know.
    """

    prior: Fraction
    named: Fraction
    other: Fraction
    lowest: Fraction
    highest: Fraction


def learnt(protocol: Any, priors: Iterable[Number] = PRIORS) -> list[Learnt]:
    """A row for each prior. Exact for `Direct`; any other protocol is given by its bounds.

    With flip p and prior x: (1 − p) x / ((1 − p) x + p (1 − x)) after a yes.
    """
    rows = []
    for given in priors:
        prior = probability(given, "the prior")
        bound = posterior(prior, protocol.loss().epsilon)
        named, other = bound.high, bound.low
        if isinstance(protocol, Direct):
            own, stray = protocol.support.own, protocol.support.other
            named = own * prior / (own * prior + stray * (1 - prior))
            other = (1 - own) * prior / ((1 - own) * prior + (1 - stray) * (1 - prior))
        rows.append(Learnt(prior, named, other, bound.low, bound.high))
    return rows
