"""Rényi differential privacy: what each event costs at every order of a fixed grid."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from math import ceil, floor

from tacit.accounting.event_loss import has_loss, loss_of, plain
from tacit.accounting.zcdp import pure_rho, range_rho
from tacit.core import BoundedRangeEvent, ComposedEvent, Event, FineGaussianEvent, GaussianEvent, Loss, SampledEvent
from tacit.core.enclosure import UP, Enclosure, fraction_above
from tacit.core.rational import decimal_text
from tacit.errors import InvalidParameter

_FRACTIONAL = "1.1 1.25 1.5 1.75 2 2.25 2.5 2.75 3 3.5 4 4.5"
_WHOLE = "5 6 7 8 9 10 12 14 16 20 24 28 32 40 48 56 64 80 96 128 192 256 512 1024"
FILTER_ORDERS: tuple[Fraction, ...] = tuple(Fraction(text) for text in f"{_FRACTIONAL} {_WHOLE}".split())
ORDERS = (*FILTER_ORDERS, *(Fraction(1 << power) for power in range(11, 25)))  # the last for a rho of 1e-14
_SAMPLED_UP_TO = FILTER_ORDERS[-1]  # the binomial sum has as many terms as its order


@dataclass(frozen=True, slots=True)
class RenyiCurve:
    """At each order, a bound on the Rényi divergence between neighbours, in both directions."""

    orders: tuple[Fraction, ...]
    values: tuple[Fraction, ...]

    def __post_init__(self) -> None:
        if len(self.orders) != len(self.values) or any(order <= 1 for order in self.orders):
            raise InvalidParameter("a Rényi curve needs one value for each order, and orders above 1")
        if any(value < 0 for value in self.values):
            raise InvalidParameter("a Rényi divergence must not be negative")

    def __add__(self, other: RenyiCurve) -> RenyiCurve:
        if self.orders != other.orders:
            raise InvalidParameter("two Rényi curves over different orders cannot be added")
        return RenyiCurve(self.orders, tuple(a + b for a, b in zip(self.values, other.values, strict=True)))

    def __mul__(self, times: int) -> RenyiCurve:
        return RenyiCurve(self.orders, tuple(value * times for value in self.values))

    def __str__(self) -> str:
        pairs = zip(self.orders, self.values, strict=True)
        return ", ".join(f"{decimal_text(order)}: {float(value):.6g}" for order, value in pairs)


def flat_curve(orders: tuple[Fraction, ...]) -> RenyiCurve:
    """The curve of nothing at all."""
    return RenyiCurve(orders, (Fraction(0),) * len(orders))


@lru_cache(maxsize=1024)
def curve_of(event: Event, orders: tuple[Fraction, ...] = ORDERS) -> RenyiCurve:
    """The curve of an event, each value rounded up to a few digits, so that sums stay short.

    Pure: that of randomised response, which every epsilon-DP mechanism is a processing of. Gaussian: a rho, for the
    discrete Gaussian on integers too. Bounded range: a `range_rho`, or the pure curve where that is less. Poisson
    sampled: amplified where the inside is pure, the binomial formula where it is Gaussian, and otherwise the inside's
    own curve, since sampling can only help.
    """
    match event:
        case GaussianEvent() | FineGaussianEvent():
            return RenyiCurve(orders, tuple(_up(order * event.rho) for order in orders))
        case BoundedRangeEvent():
            pure, rho = _pure_curve(Loss(event.epsilon), orders), range_rho(event.epsilon)
            return RenyiCurve(orders, tuple(min(v, _up(a * rho)) for a, v in zip(orders, pure.values, strict=True)))
        case SampledEvent() if not has_loss(event):
            probability, inner = plain(event)
            unsampled = curve_of(inner, orders)
            return (
                _sampled(inner, probability, unsampled)
                if isinstance(inner, GaussianEvent | FineGaussianEvent)
                else unsampled
            )
        case ComposedEvent():
            return sum((curve_of(part, orders) * count for part, count in event.parts), flat_curve(orders))
        case _:
            return _pure_curve(loss_of(event), orders)


def _pure_curve(loss: Loss, orders: tuple[Fraction, ...]) -> RenyiCurve:
    """(a - 1) epsilon + ln((1 + e^(-(2a - 1) epsilon)) / (1 + e^-epsilon)), over a - 1. Mironov, CSF 2017, Prop. 5."""
    if not loss.is_pure:
        raise InvalidParameter(
            f"an event with a delta has no Rényi divergence: it is {loss}",
            hint="a ZcdpFilter with a delta, or an ApproximateFilter, can charge it",
        )
    epsilon, rho = loss.epsilon, pure_rho(loss.epsilon)
    lower = Enclosure.of(-epsilon).exp() + 1

    def value(order: Fraction) -> Fraction:
        upper = Enclosure.of(-(2 * order - 1) * epsilon).exp() + 1
        exact = (upper / lower).log() / (order - 1) + epsilon
        return min(max(Fraction(0), exact.above()), _up(order * rho), _up(epsilon))

    return RenyiCurve(orders, tuple(value(order) for order in orders))


def _sampled(event: GaussianEvent | FineGaussianEvent, probability: Fraction, unsampled: RenyiCurve) -> RenyiCurve:
    """The curve of Gaussian noise on a Poisson sample, for add/remove neighbours.

    With P the law with the unit in the sample and Q without it, and m = (1 - q) Q + q P: at a whole order the moment
    E_Q[(m / Q)^a] is a binomial sum of the moments E_Q[(P / Q)^i] <= e^(i (i - 1) rho). The other direction is no
    worse, because a reflection swaps P and Q, on the integers as on the line (Mironov, Talwar & Zhang, arXiv
    1908.10530, Theorem 5). Between whole orders (a - 1) D_a is convex, so the chord is above it.
    """
    summed = [order for order in unsampled.orders if order <= _SAMPLED_UP_TO]
    wholes = {near for order in summed for near in (floor(order), ceil(order))}
    moments = {order: _log_moment(order, event.rho, probability) for order in wholes}

    def value(order: Fraction) -> Fraction:
        left, right = floor(order), ceil(order)
        share = order - left
        chord = moments[left] * (1 - share) + moments[right] * share
        return _up(chord / (order - 1))

    pairs = zip(unsampled.orders, unsampled.values, strict=True)
    values = (min(value(order), most) if order <= _SAMPLED_UP_TO else most for order, most in pairs)
    return RenyiCurve(unsampled.orders, tuple(values))


def _log_moment(order: int, rho: Fraction, probability: Fraction) -> Fraction:
    """An upper bound on ln of the sum over i of C(a, i) (1 - q)^(a - i) q^i e^(i (i - 1) rho)."""
    if order == 1 or rho == 0:
        return Fraction(0)
    if probability == 1:
        return order * (order - 1) * rho
    odds = Enclosure.of(probability / (1 - probability)).high
    step = Enclosure.of(2 * rho).exp().high
    term = (Enclosure.of(1 - probability).log() * order).exp().high  # i = 0
    total, growth = term, Decimal(1)
    for i in range(order):
        term = UP.divide(UP.multiply(UP.multiply(term, odds), Decimal(order - i)), Decimal(i + 1))
        term = UP.multiply(term, growth)  # e^(i (i + 1) rho) is e^(i (i - 1) rho) times e^(2 i rho)
        growth = UP.multiply(growth, step)
        total = UP.add(total, term)
    if not total.is_finite():
        return order * (order - 1) * rho
    return min(fraction_above(UP.next_plus(UP.ln(total))), order * (order - 1) * rho)


def _up(value: Fraction) -> Fraction:
    return Enclosure.of(value).above()
