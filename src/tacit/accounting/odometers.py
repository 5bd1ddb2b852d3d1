"""Odometers: what has been spent so far, with no limit set beforehand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from types import MappingProxyType

from tacit.accounting.event_loss import loss_of, tally
from tacit.accounting.filters.sums import summed
from tacit.accounting.loss_distribution import compose_numerically
from tacit.accounting.zcdp import zcdp_of
from tacit.accounting.zcdp_conversion import zcdp_to_dp
from tacit.core import NOTHING, ComposedEvent, Event, Loss, Number, Zcdp, probability
from tacit.core.rational import decimal_text
from tacit.core.running_sum import added
from tacit.errors import InvalidParameter

MARK = Fraction(1, 1000)  # rho: where the marks are cheapest
RATIO = Fraction(5, 4)


@dataclass(frozen=True, slots=True)
class BasicOdometer:
    """The exact sums of epsilons and deltas: true at every moment, whoever chose the events and the moment."""

    loss: Loss = NOTHING

    def charge(self, event: Event) -> BasicOdometer:
        """The odometer after the event."""
        return BasicOdometer(summed(self.loss, loss_of(event)))


@dataclass(frozen=True, slots=True)
class ZcdpOdometer:
    """The exact sum of rhos, and an (epsilon, delta) that is true at whatever moment one chooses to stop and read it.

    An adversary who stops when the reading suits them makes the plain conversion of the sum untrue, and some price for
    that is unavoidable (Rogers et al., NeurIPS 2016). So it is read as a row of filters would be (Lécuyer, arXiv
    2103.01379), at marks a quarter apart, up from 1/1000 and down from it without end: the f-th either way holds with a
    share 1 / (2 f (f + 1)) of delta, the shares add up to one, and the reading is that of the least filter which is not
    yet exceeded. So for every set S of transcripts, P(S) <= delta + the sum over S of e^(epsilon read there) Q.
    """

    delta: Fraction
    rho: Fraction = Fraction(0)

    def __init__(self, delta: Number, rho: Number = 0) -> None:
        object.__setattr__(self, "delta", probability(delta, "delta"))
        object.__setattr__(self, "rho", Zcdp(rho).rho)

    def charge(self, event: Event) -> ZcdpOdometer:
        """The odometer after the event, which must have no delta of its own."""
        cost = zcdp_of(event)
        if cost.delta:
            raise InvalidParameter(
                f"a zCDP odometer reads no event with a delta of its own: this one has {decimal_text(cost.delta)}",
                hint="use a BasicOdometer, or a ZcdpFilter with a delta",
            )
        return replace(self, rho=added(self.rho, cost.rho))

    @property
    def loss(self) -> Loss:
        """The reading: an epsilon at this odometer's delta."""
        if self.rho == 0:
            return NOTHING
        mark, number = MARK, 1
        while mark < self.rho:
            mark, number = mark * RATIO, number + 1
        if number == 1 and self.rho <= mark / RATIO:
            mark = mark / RATIO  # the first on the way down
            while self.rho <= mark / RATIO:
                mark, number = mark / RATIO, number + 1
        return Loss(zcdp_to_dp(mark, self.delta / (2 * number * (number + 1))).epsilon, self.delta)


@dataclass(frozen=True, slots=True)
class NumericalOdometer:
    """How often each event happened, and what a list of these events costs by numerical composition.

    The reading is that of the list as if it had been fixed beforehand; it is no stopping rule for an adversary who
    chooses the events. Equal events are counted, not listed, so a reading composes each kind n-fold.
    """

    counts: Mapping[Event, int] = field(default_factory=lambda: MappingProxyType({}))

    def charge(self, event: Event) -> NumericalOdometer:
        """The odometer after the event."""
        counts = dict(self.counts)
        for one, times in tally([event]).items():
            counts[one] = counts.get(one, 0) + times
        return NumericalOdometer(MappingProxyType(counts))

    def loss(self, delta: Number) -> Loss:
        """The reading at this delta."""
        if not self.counts:
            return NOTHING
        return compose_numerically([ComposedEvent(tuple(self.counts.items()))], delta)
