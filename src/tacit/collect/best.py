"""Which protocol to take: all of them side by side, by error and by size of message."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from tacit.collect.frequencies.direct import Direct
from tacit.collect.frequencies.hadamard import Hadamard
from tacit.collect.frequencies.local_hash import LocalHash
from tacit.collect.frequencies.projective import Projective
from tacit.collect.frequencies.subset import SubsetSelection
from tacit.collect.frequencies.unary import Unary
from tacit.core import Loss, Number, rational
from tacit.errors import InvalidParameter
from tacit.mechanisms.limits import at_least

Oracle = Direct | Unary | LocalHash | Hadamard | SubsetSelection | Projective
_ALIKE = 1.02  # variances this near are alike; then the shorter message wins
_MAKERS: dict[str, Callable[..., Oracle]] = {
    "direct": Direct.costing,
    "unary, symmetric": Unary.symmetric,
    "unary, optimised": Unary.optimised,
    "local hash": LocalHash.costing,
    "Hadamard": Hadamard.costing,
    "subset selection": SubsetSelection.costing,
    "projective": Projective.costing,
}


@dataclass(frozen=True, slots=True)
class Option:
    """One protocol: the standard deviation of an average value's share, the bits of a report, and whether they fit."""

    name: str
    protocol: Oracle
    deviation: float
    bits: int
    fits: bool


@dataclass(frozen=True, slots=True)
class ProtocolChoice:
    """Every option, least error first, and the one to take."""

    options: tuple[Option, ...]
    best: Option

    @property
    def protocol(self) -> Oracle:
        """The protocol of the best option."""
        return self.best.protocol

    def __str__(self) -> str:
        lines = [f"  {'protocol':<18}{'sd of a share':>14}{'bits':>8}"]
        for option in self.options:
            mark = "→" if option is self.best else " "
            note = "" if option.fits else "  too long"
            lines.append(f"{mark} {option.name:<18}{option.deviation:>14.3g}{option.bits:>8,}{note}")
        return "\n".join(lines)


def best(domain: int, epsilon: Number, *, n: Number, bits: int | None = None) -> ProtocolChoice:
    """Compare all protocols for `n` people with one of `domain` values each, at this price, in at most so many bits."""
    values = at_least(domain, 2, what="the number of values")
    people = rational(n, "the number of people")
    if people < 1 or people.denominator != 1:
        raise InvalidParameter("the number of people must be a whole number, at least 1")
    most = math.inf if bits is None else at_least(bits, 1, what="the number of bits")
    options = []
    for name, make in _MAKERS.items():
        try:
            protocol = make(Loss(epsilon), domain=values)
        except InvalidParameter:
            if name == "direct":  # it fits wherever anything does, so the fault lies with what was asked
                raise
            continue
        deviation = math.sqrt(protocol.support.variance(Fraction(1, values), int(people)))
        options.append(Option(name, protocol, deviation, protocol.bits, protocol.bits <= most))
    options.sort(key=lambda option: (option.deviation, option.bits))
    fitting = [option for option in options if option.fits]
    if not fitting:
        least = min(option.bits for option in options)
        raise InvalidParameter(f"no protocol fits into {bits} bits: the shortest report has {least}")
    alike = [option for option in fitting if option.deviation**2 <= _ALIKE * fitting[0].deviation ** 2]
    return ProtocolChoice(tuple(options), min(alike, key=lambda option: (option.bits, option.deviation)))
