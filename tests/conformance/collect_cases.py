"""Every local protocol, as the conformance suite sees it: a new one joins by one entry in `CASES`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from tacit import collect
from tacit.collect.ratios import ratio_costing
from tacit.collect.texts.rappor import Rappor
from tacit.core import Bounds, Loss
from tacit.errors import InvalidParameter
from tacit.noise import Source

FIVE = Bounds(0, 5)
HALF = Fraction(1, 2)


@dataclass(frozen=True)
class Case:
    """How one protocol is put to the test.

    `costing(loss)` builds it; `values` are two that a report tells apart best, then a third; `frequency` says that it
    estimates the shares of all values, `mean` that it estimates a mean.
    """

    name: str
    costing: Callable[[Loss], Any]
    values: tuple[Any, Any, Any]
    frequency: bool = False
    mean: bool = False

    def encode(self, protocol: Any, value: Any, times: int, source: Source) -> Any:
        if isinstance(protocol, (collect.EveryAttribute, collect.OneAttribute)):
            return protocol.encode([[one] * times for one in value], source)
        if isinstance(protocol, Rappor):
            return protocol.encode([value] * times, source, cohorts=np.zeros(times, dtype=np.int64))
        return protocol.encode([value] * times, source)

    def price(self, protocol: Any) -> Loss:
        return protocol.report_loss() if isinstance(protocol, Rappor) else protocol.loss()

    def __str__(self) -> str:
        return self.name


def _uneven(loss: Loss) -> Rappor:
    """A single report whose ones and zeros fare differently, with nothing kept for good."""
    ratio = ratio_costing(loss)
    zero = Fraction(1, 5)
    odds = ratio * zero / (1 - zero)  # of a reported 1 where the filter has one
    return Rappor(4, 1, 2, forget=0, zero=zero, one=odds / (1 + odds))


def _rappor(loss: Loss) -> Rappor:
    """One report at this price: zero and one are placed around 1/2 so that it comes out just below."""
    flip = 1 / (1 + ratio_costing(loss, 2))
    forget = Fraction(1, 4)
    spread = (HALF - flip) / (1 - forget)
    if spread >= HALF:
        raise InvalidParameter("epsilon is too large for this much forgetting")
    return Rappor(4, 1, 2, forget=forget, zero=HALF - spread, one=HALF + spread)


CASES = (
    Case("direct", lambda loss: collect.Direct.costing(loss, domain=5), (1, 3, 0), frequency=True),
    Case("two values", lambda loss: collect.Direct.costing(loss, domain=2), (1, 0, 0), frequency=True),
    Case("unary, optimised", lambda loss: collect.Unary.optimised(loss, domain=5), (1, 3, 0), frequency=True),
    Case("unary, symmetric", lambda loss: collect.Unary.symmetric(loss, domain=9), (1, 8, 0), frequency=True),
    Case("local hash", lambda loss: collect.LocalHash.costing(loss, domain=6), (1, 3, 5), frequency=True),
    Case("Hadamard", lambda loss: collect.Hadamard.costing(loss, domain=6), (1, 3, 5), frequency=True),
    Case("subset selection", lambda loss: collect.SubsetSelection.costing(loss, domain=7), (1, 3, 6), frequency=True),
    Case("projective", lambda loss: collect.Projective.costing(loss, domain=13), (1, 7, 12), frequency=True),
    Case("one bit", lambda loss: collect.OneBit.costing(loss, bounds=FIVE), (0, 5, 2), mean=True),
    Case("piecewise", lambda loss: collect.Piecewise.costing(loss, bounds=FIVE), (0, 5, 2), mean=True),
    Case("hybrid", lambda loss: collect.Hybrid.costing(loss, bounds=FIVE), (0, 5, 2), mean=True),
    Case("square wave", lambda loss: collect.SquareWave.costing(loss, bounds=FIVE), (0, 5, 2), frequency=True),
    Case(
        "count-mean sketch",
        lambda loss: collect.CountMeanSketch.costing(loss, hashes=2, columns=4),
        ("a", "b", "c"),
    ),
    Case(
        "Hadamard sketch",
        lambda loss: collect.HadamardSketch.costing(loss, hashes=2, columns=4),
        ("a", "b", "c"),
    ),
    Case("RAPPOR", _rappor, ("a", "b", "c")),
    Case("RAPPOR, uneven", _uneven, ("a", "b", "c")),
    Case(
        "every attribute",
        lambda loss: collect.EveryAttribute(
            (
                collect.Direct.costing(Loss(loss.epsilon / 2), domain=3),
                collect.OneBit.costing(Loss(loss.epsilon / 2), bounds=FIVE),
            )
        ),
        ((0, 0), (1, 5), (2, 2)),
    ),
    Case(
        "one attribute",
        lambda loss: collect.OneAttribute(
            (collect.Direct.costing(loss, domain=300), collect.OneBit.costing(loss, bounds=FIVE))
        ),
        ((0, 0), (1, 5), (2, 2)),
    ),
)


def named(name: str) -> Case:
    return next(case for case in CASES if case.name == name)
