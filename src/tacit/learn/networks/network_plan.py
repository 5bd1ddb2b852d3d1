"""What training a network by noisy gradients costs: made without touching the data."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from tacit.accounting import curve_of, numerical_delta, renyi_to_dp
from tacit.core import ComposedEvent, Event, Loss, SampledEvent
from tacit.core.enclosure import rounded_up
from tacit.errors import InvalidParameter
from tacit.mechanisms import Gaussian

CLIP = 1 << 14  # steps of one: the length that a row's gradient is clipped to
_COUNTED = Fraction(1, 100)  # of rho, for the number of rows
_HALVINGS = 14
_FINE = Fraction(1, 100)  # the most rho for the count, whose noise is then wide against whole numbers


@dataclass(frozen=True, slots=True)
class NetworkPlan:
    """One noisy count of the rows, then `rounds` of noisy sums of clipped gradients, each of a sample of the rows.

    With all rows in every round the noises cost what their joint law says (`gaussian_job`), and that gradients depend
    on what was released before changes nothing, as in `AdditivePlan`. Sampled rounds cost what their losses add up to
    (`fine_gaussian`), which holds whatever is chosen in view of earlier rounds; where a delta is too small for that, by
    their Rényi curves. The price is that of `event`, by whoever asks.
    """

    loss: Loss
    rounds: int
    sampling: Fraction
    count_noise: Gaussian
    noise: Gaussian

    @property
    def event(self) -> Event:
        """What an accountant needs to know of all of it."""
        return ComposedEvent(((self.count_noise.fine_event(1), 1), (self._round, self.rounds)))

    @property
    def _round(self) -> Event:
        each = self.noise.fine_event(CLIP)
        return each if self.sampling == 1 else SampledEvent(self.sampling, each)


def plan_network(loss: Loss, *, rounds: int, sampling: Fraction) -> NetworkPlan:
    """The least noise for which the whole training costs no more than `loss`."""
    if isinstance(rounds, bool) or not isinstance(rounds, int) or not 1 <= rounds <= 100_000:
        raise InvalidParameter("the number of rounds is a whole number from 1 to 100000")
    if not 0 < sampling <= 1:
        raise InvalidParameter("the sampling probability lies above 0, and is at most 1")
    if sampling == 1:
        share = (1 - _COUNTED) / rounds
        noises = Gaussian.jointly(loss, [(1, _COUNTED), *((CLIP, share) for _ in range(rounds))])
        return NetworkPlan(loss, rounds, sampling, noises[0], noises[1])
    counted, rho = _sampled(loss.epsilon, loss.delta, rounds, sampling)
    return _noises(loss, rounds, sampling, counted=counted, rho=rho)


def _noises(loss: Loss, rounds: int, sampling: Fraction, *, counted: Fraction, rho: Fraction) -> NetworkPlan:
    count_noise, noise = (
        Gaussian.concentrated(each, moved, delta=loss.delta) for each, moved in ((counted, 1), (rho, CLIP))
    )
    return NetworkPlan(loss, rounds, sampling, count_noise, noise)


@lru_cache(maxsize=64)
def _sampled(epsilon: Fraction, delta: Fraction, rounds: int, sampling: Fraction) -> tuple[Fraction, Fraction]:
    """The largest rho of a round, to a few digits, with which all of them stay within (epsilon, delta)."""
    counted = min(epsilon * epsilon / 2_000, _FINE)
    loss = Loss(epsilon, delta)

    def fits(rho: Fraction) -> bool:
        event = _noises(loss, rounds, sampling, counted=counted, rho=rho).event
        return numerical_delta([event], epsilon) <= delta or renyi_to_dp(curve_of(event), delta).epsilon <= epsilon

    low, high = Fraction(0), Fraction(1, 100)
    while high < 100 and fits(high):
        low, high = high, 2 * high
    for _ in range(_HALVINGS):
        middle = rounded_up((low + high) / 2, 9)
        low, high = (middle, high) if fits(middle) else (low, middle)
    if low == 0:
        raise InvalidParameter("so little epsilon pays for no training", hint="fewer rounds, or more epsilon")
    return counted, low
