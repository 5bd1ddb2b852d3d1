"""Numerical composition by privacy loss distributions, with Google's dp-accounting underneath.

What is known by its (epsilon, delta) has the loss distribution of randomised response; n equal ones are composed n-fold
at once. On a Poisson sample it has one for each direction (`sampled_profiles`). What is known by its moments (Gaussian
noise, sampled or not) is added up as one Rényi curve, and the curve becomes the distribution whose profile it implies.
The curve, not the profile of continuous noise: ours is discrete, and discrete noise of a small scale is *not* dominated
by continuous noise of that scale. All meet by convolution, since a dominating pair may stand in for its mechanism in
every adaptive composition of a fixed list of such pairs (Zhu, Dong & Wang, AISTATS 2022; the dots are connected as in
Doroshenko et al., PETS 2022).

Fine Gaussian noise alone needs no package and no curve: `fine_gaussian` adds up its own losses.

These numbers price a list of events that was fixed beforehand. To stop an interactive adversary use a filter: stopping
where a numerical total crosses a line is not private (arXiv 2602.06756 and 2602.15815).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from tacit.accounting.event_loss import has_loss, loss_of, plain, tally
from tacit.accounting.profiles import (
    Profile,
    Sampled,
    curve_profile,
    grid_step,
    response_profile,
    sampled_profiles,
)
from tacit.accounting.renyi import ORDERS, curve_of, flat_curve
from tacit.core import NOTHING, BoundedRangeEvent, Event, Loss, Number, SampledEvent, probability
from tacit.core.enclosure import Enclosure
from tacit.core.rational import decimal_text
from tacit.errors import InvalidParameter, TacitError

if TYPE_CHECKING:
    from tacit.accounting.fine_gaussian import FineProfile

_NEARLY_ALL = 1 - Fraction(1, 10**9)  # a sample of more than this counts as everybody


def compose_numerically(events: Iterable[Event], delta: Number) -> Loss:
    """The epsilon of all these events together at this delta, with an allowance for floating-point error."""
    asked = probability(delta, "delta")
    counts = _charged(events)
    if not counts:
        return NOTHING
    if (profile := _fine(counts)) is not None and (epsilon := profile.epsilon(float(asked))) < math.inf:
        return Loss(_up(epsilon * (1 + 1e-9)), asked)
    allowance = _allowance(counts)
    if asked < 100 * Fraction(allowance):
        raise InvalidParameter(
            f"a delta of {decimal_text(asked)} is too fine for numerical composition: "
            f"with so many events it resolves none below {100 * allowance:.0e}",
            hint="use compose_optimal, zcdp_to_dp or renyi_to_dp, which have no such limit",
        )
    wholes = _compositions(counts)
    epsilon = min(float(whole.get_epsilon_for_delta(float(asked) - allowance)) for whole in wholes)
    if not math.isfinite(epsilon):
        raise InvalidParameter(
            f"no useful epsilon goes with a delta of {decimal_text(asked)}: the events themselves cost more",
            hint="ask at a larger delta",
        )
    return Loss(_up(epsilon * (1 + 1e-9)), asked)


def numerical_delta(events: Iterable[Event], epsilon: Number) -> Fraction:
    """The delta of all these events together at this epsilon, with an allowance for floating-point error."""
    target = Loss(epsilon).epsilon
    counts = _charged(events)
    if not counts:
        return Fraction(0)
    if (profile := _fine(counts)) is not None:
        return _up(profile.delta(float(target)))
    delta = min(float(whole.get_delta_for_epsilon(float(target) * (1 - 1e-12))) for whole in _compositions(counts))
    return min(Fraction(1), _up(max(0.0, delta) * (1 + 1e-9) + _allowance(counts)))


def _fine(counts: dict[Event, int]) -> FineProfile | None:
    """The profile of fine Gaussian noises, where there is nothing else: added up here, with nobody's help."""
    from tacit.accounting.fine_gaussian import fine_profile, is_fine

    return fine_profile(counts) if all(map(is_fine, counts)) else None


def _up(value: float) -> Fraction:
    return Enclosure.of(Fraction(value)).above()


def _charged(events: Iterable[Event]) -> dict[Event, int]:
    return {event: times for event, times in tally(events).items() if not has_loss(event) or loss_of(event) != NOTHING}


def _allowance(counts: dict[Event, int]) -> float:
    """For the error of an n-fold Fourier convolution, which grows with n: up to 4e-17 n too little was seen."""
    return 1e-12 + 1e-15 * sum(counts.values())


def _compositions(counts: dict[Event, int]) -> list[Any]:
    """Loss distributions that dominate all the events: choices of bounded range read as pure ones, and as curves."""
    ways = [True, False] if any(isinstance(event, BoundedRangeEvent) for event in counts) else [True]
    return [_composed(counts, ranges_as_pure=way) for way in ways]


def _composed(counts: dict[Event, int], *, ranges_as_pure: bool) -> Any:
    """The loss distribution of all the events: a `PrivacyLossDistribution`."""
    losses: dict[Loss, int] = {}
    sampled: dict[Sampled, int] = {}
    curve = flat_curve(ORDERS)
    for event, times in counts.items():
        if isinstance(event, SampledEvent) and has_loss(event) and (rate := plain(event)[0]) < _NEARLY_ALL:
            kept = (rate, loss_of(plain(event)[1]))
            sampled[kept] = sampled.get(kept, 0) + times
        elif has_loss(event) and (ranges_as_pure or not isinstance(event, BoundedRangeEvent)):
            losses[loss_of(event)] = losses.get(loss_of(event), 0) + times
        else:
            curve += curve_of(event) * times
    step = grid_step(losses, sampled)
    parts = [_distribution(response_profile(loss, step), step=step).self_compose(n) for loss, n in losses.items()]
    for (q, loss), times in sampled.items():
        parts.append(_distribution(*sampled_profiles(loss, q, step=step), step=step).self_compose(times))
    if any(curve.values):
        parts.append(_distribution(curve_profile(curve, step), step=step))
    whole = parts[0]
    for part in parts[1:]:
        whole = whole.compose(part)
    return whole


def _distribution(*profiles: Profile, step: float) -> Any:
    """The loss distribution with this profile, or these two, a straight line in e^epsilon between their dots."""
    try:
        from dp_accounting.pld import pld_pmf, privacy_loss_distribution
    except ImportError:
        raise TacitError(
            "numerical composition needs the package dp-accounting: it is not installed",
            hint="pip install 'tacit[accounting]'",
        ) from None
    masses = [
        pld_pmf.create_pmf_pessimistic_connect_dots(step, [dot for dot, _ in profile], [delta for _, delta in profile])
        for profile in profiles
    ]
    return privacy_loss_distribution.PrivacyLossDistribution(*masses)
