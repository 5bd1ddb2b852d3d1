"""What an event costs as (epsilon, delta), where it has such a price by itself."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from tacit.accounting.amplification import amplify
from tacit.core import (
    NOTHING,
    ApproximateEvent,
    BoundedRangeEvent,
    ComposedEvent,
    Event,
    FineGaussianEvent,
    GaussianEvent,
    LaplaceEvent,
    Loss,
    PureEvent,
    SampledEvent,
)
from tacit.errors import InvalidParameter


def loss_of(event: Event) -> Loss:
    """The (epsilon, delta) of an event. Gaussian noise has none until someone chooses a delta.

    A `LaplaceEvent` gets no discount over a `PureEvent`: two-sided geometric noise at a sensitivity of one step *is*
    randomised response, the least private of all epsilon-DP mechanisms.
    """
    match event:
        case PureEvent() | LaplaceEvent() | BoundedRangeEvent():
            return Loss(event.epsilon)
        case ApproximateEvent():
            return event.loss
        case SampledEvent():
            return amplify(loss_of(event.event), event.probability)
        case ComposedEvent():
            return sum((loss_of(part) * count for part, count in event.parts), NOTHING)
        case GaussianEvent() | FineGaussianEvent():
            raise InvalidParameter(
                "Gaussian noise has no (epsilon, delta) of its own: every delta gives another epsilon",
                hint="charge it to a zCDP or Rényi filter, or as an ApproximateEvent of the loss it was calibrated to",
            )


def has_loss(event: Event) -> bool:
    """Whether `loss_of` answers: whether nothing Gaussian is inside."""
    match event:
        case GaussianEvent() | FineGaussianEvent():
            return False
        case SampledEvent():
            return has_loss(event.event)
        case ComposedEvent():
            return all(has_loss(part) for part, _ in event.parts)
        case _:
            return True


def plain(event: SampledEvent) -> tuple[Fraction, Event]:
    """A sample of a sample is one sample: (how likely a unit is kept through all of them, what runs on it)."""
    probability, inner = event.probability, event.event
    while isinstance(inner, SampledEvent):
        probability, inner = probability * inner.probability, inner.event
    return probability, inner


def tally(events: Iterable[Event]) -> dict[Event, int]:
    """How often each event happened, compositions taken apart."""
    counts: dict[Event, int] = {}
    for event in events:
        parts = [(event, 1)]
        while parts:
            one, times = parts.pop()
            if isinstance(one, ComposedEvent):
                parts.extend((part, count * times) for part, count in one.parts)
            else:
                counts[one] = counts.get(one, 0) + times
    return counts
