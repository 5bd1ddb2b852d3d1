"""What a job is charged beside what it did: every draw of noise is overheard, and priced by hand.

Nothing here is read off a plan. How far one unit moves each number is written down with the question, what noise it is
given is seen as it is drawn, and the price follows from these two by the textbook formula of each mechanism.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from tacit.accounting import pure_rho, range_rho
from tacit.core import Loss, sqrt_above
from tacit.curator.computing import redrawing
from tacit.ledger import Charge, SqliteLedger
from tacit.mechanisms import Exponential, Gaussian, Laplace, PermuteAndFlip
from tacit.mechanisms.strategy import StrategyNoise

MECHANISMS = (Laplace, Gaussian, Exponential, PermuteAndFlip)


@dataclass(frozen=True)
class Moves:
    """How far one unit moves a measurement: in all its groups together, and in how many it can be.

    `longest` is the squared length of the longest column of what is measured of them, where it is not they themselves;
    `heaviest` the largest sum of a column's sizes.
    """

    far: int
    groups: int = 1
    longest: int = 1
    heaviest: int = 1

    @property
    def l2(self) -> Fraction:
        """Over all groups; the root is the house's own, which is never too small."""
        return self.far // self.groups * sqrt_above(Fraction(self.groups))


@dataclass
class Paid:
    """One charge, and the noise that was drawn for it: each mechanism once for every group it was used in."""

    charge: Charge
    drawn: list[Any] = field(default_factory=list)


@contextmanager
def overheard() -> Iterator[list[Paid]]:
    """Every charge and every draw from here on."""
    heard: list[Paid] = []
    kept: list[tuple[type, str, Callable[..., Any]]] = [
        (SqliteLedger, "reserve", SqliteLedger.reserve),
        *((mechanism, "release", mechanism.release) for mechanism in MECHANISMS),
    ]

    def listening(original: Callable[..., Any], hear: Callable[..., None]) -> Callable[..., Any]:
        def called(self: Any, *args: Any, **named: Any) -> Any:
            hear(self, *args)
            return original(self, *args, **named)

        return called

    again = 0

    def drawn(mechanism: Any, *_: Any) -> None:
        if not again:
            heard[-1].drawn.append(mechanism)

    def drawn_again(*args: Any) -> Any:
        """Noise for error bars, which is added to zeros: no row has a say in it."""
        nonlocal again
        again += 1
        try:
            return redraw(*args)
        finally:
            again -= 1

    def charged(_: Any, charge: Charge, *__: Any) -> None:
        heard.append(Paid(charge))

    redraw = redrawing._draw
    redrawing._draw = drawn_again
    for owner, name, original in kept:
        setattr(owner, name, listening(original, charged if name == "reserve" else drawn))
    try:
        yield heard
    finally:
        redrawing._draw = redraw
        for owner, name, original in kept:
            setattr(owner, name, original)


@dataclass(frozen=True)
class Price:
    """What was drawn costs: the epsilons of pure noise added up, and rho of everything."""

    epsilon: Fraction
    rho: Fraction
    gaussian: bool


def priced(paid: Paid, moves: list[Moves], *, steps: int, choices: int = 1) -> Price:
    """The price of what was drawn, where neighbours are `steps` additions or removals apart.

    `moves` in the order in which the mechanisms are first used; `choices` is how often each choice was made in a group.
    """
    epsilon = rho = Fraction(0)
    gaussian = False
    for mechanism, move in zip(_different(paid.drawn), moves, strict=True):
        if isinstance(mechanism, Gaussian):
            gaussian = True
            rho += (steps * move.l2) ** 2 * move.longest / (2 * mechanism.sigma**2)
            continue
        cost = _epsilon(mechanism, steps * move.far * move.heaviest)
        times = choices if isinstance(mechanism, PermuteAndFlip) else 1
        epsilon += cost * times
        rho += (range_rho if isinstance(mechanism, Exponential) else pure_rho)(cost) * times
    return Price(epsilon, rho, gaussian)


def columns_of(noise: StrategyNoise) -> list[tuple[int, int]]:
    """Of each part the squared length of the longest column and the size of the heaviest, as single cells show them."""
    sizes = tuple(chain.values for chain in noise.strategy.chains)
    cells = np.eye(int(np.prod(sizes)), dtype=np.int64)
    measured = [[part.astype(object) for part in noise.exact(cell.reshape(sizes))] for cell in cells]
    parts = range(len(noise.noises))
    return [
        (max(int(np.sum(one[part] ** 2)) for one in measured), max(int(np.sum(abs(one[part]))) for one in measured))
        for part in parts
    ]


def _epsilon(mechanism: Laplace | Exponential | PermuteAndFlip, far: int) -> Fraction:
    if isinstance(mechanism, Laplace):
        return Fraction(far) / mechanism.scale
    return mechanism.rate * far * (1 if mechanism.monotone else 2)


def _different(drawn: list[Any]) -> list[Any]:
    """The mechanisms as objects, each once: a choice is made anew in every group, at a price that covers them all."""
    found: dict[int, Any] = {}
    for mechanism in drawn:
        found.setdefault(id(mechanism), mechanism)
    return list(found.values())


def is_charged(paid: Paid, price: Price, *, typed: Loss, keys_delta: Fraction) -> None:
    """Assert that the ledger was told exactly this price: as it was typed, and in concentrated privacy."""
    assert paid.charge.loss == typed
    if not price.gaussian:
        assert price.epsilon == typed.epsilon
    assert paid.charge.zcdp is not None
    assert (paid.charge.zcdp.rho, paid.charge.zcdp.delta) == (price.rho, keys_delta)
