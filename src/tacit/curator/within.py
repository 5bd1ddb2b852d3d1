"""DP-SELECT WITHIN: the least epsilon whose stated errors keep a bound."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np

from tacit.core import Loss
from tacit.curator.answer import bands_of
from tacit.curator.noisy import Noisy
from tacit.curator.pricing import Session, check_limit
from tacit.errors import BudgetExceeded, QueryRefused
from tacit.policy import Policy
from tacit.sql import BoundQuery, Plan, Planner, WithinError, post
from tacit.sql.errors_expected import half_width, nominal, shared_confidence

PILOT = Fraction(1, 20)  # what a first look costs, where the accuracy asked for depends on the answer
_COARSEST, _FINEST = Fraction(100), Fraction(1, 10_000)
_STEPS = 40
_DIGITS = 3  # of the epsilon that is found, rounded up

Planned = Callable[[Fraction], Plan]


def needs_pilot(bound: BoundQuery) -> bool:
    """Whether the price depends on the answer: a share of it, or an average over nobody knows how many rows."""
    wanted = bound.query.price
    linear = all(out.value is None or post.is_linear(out.value) for out in bound.outputs)
    return isinstance(wanted, WithinError) and (wanted.relative or not linear)


def pilot_price(bound: BoundQuery, policy: Policy, *, planned: Planned) -> Fraction:
    """What the pilot costs: at most a fifth of what one question may, so that a sharper answer can follow it.

    Where the policy says about how many rows there are, a quarter of what the accuracy would cost then is enough.
    """
    budget = policy.budget.max_epsilon
    most = PILOT if budget is None else min(PILOT, budget / 5)
    if bound.table.rows is None:
        return most
    try:
        guess = least_price(bound, policy, planned=planned).loss.epsilon
    except (QueryRefused, BudgetExceeded):  # at that size; the pilot may find another
        return most
    return min(most, max(_FINEST, _rounded_up(guess / 4)))


def planner_of(bound: BoundQuery, policy: Policy, *, session: Session) -> Planned:
    """The plan at each epsilon."""
    private = any(not key.is_public for key in bound.keys)
    delta = bound.query.delta or ((session.delta or policy.budget.default_delta) if private else None) or Fraction(0)

    planner = Planner(bound, policy)

    def planned(epsilon: Fraction) -> Plan:
        return planner.at(Loss(epsilon, delta))

    return planned


def least_price(
    bound: BoundQuery,
    policy: Policy,
    *,
    planned: Planned,
    pilot: Noisy | None = None,
    paid: Fraction = Fraction(0),
) -> Plan:
    """The cheapest plan whose every stated error is within the bound: from public numbers, or from a private pilot.

    `paid` is what the pilot cost: it counts towards what one question may.
    """
    wanted = bound.query.price
    if not isinstance(wanted, WithinError):
        raise QueryRefused("the query names no bound on its error")

    def fits(epsilon: Fraction) -> bool:
        return _fits(planned(epsilon), wanted, pilot)

    most = policy.budget.max_epsilon
    low, high = _FINEST, min(_COARSEST, policy.budget.epsilon) if most is None else most - paid
    if not fits(high):
        raise QueryRefused("no epsilon that may be spent reaches this accuracy", hint="ask for a wider bound")
    for _ in range(_STEPS):
        middle = _rounded_up(Fraction((float(low) * float(high)) ** 0.5))
        if middle >= high or middle <= low:
            break
        low, high = (low, middle) if fits(middle) else (middle, high)
    check_limit(high + paid, policy)
    return planned(high)


def _fits(made: Plan, wanted: WithinError, pilot: Noisy | None) -> bool:
    bands = nominal(made.measurements, made.confidence, rows=made.size) if pilot is None else _as_piloted(made, pilot)
    for out in made.outputs:
        if out.value is None:
            continue
        band = post.evaluate(out.value, bands)
        known = ~np.isnan(band.value)  # a group that is empty has no average, and no error either
        if not np.all(np.isfinite(band.error[known])):
            raise QueryRefused(
                f"WITHIN is refused for {out.name}: its error is not a half-width", hint="give an epsilon"
            )
        allowed = float(wanted.bound) * (np.abs(band.value) if wanted.relative else 1.0)
        if np.any((band.error > allowed)[known]):
            return False
    return True


def _as_piloted(made: Plan, pilot: Noisy) -> Sequence[post.Band]:
    """What was measured in the pilot, with the intervals this plan would have."""
    shared = shared_confidence(made.confidence, len(made.measurements))
    bands = []
    for band, measurement in zip(bands_of(made, pilot, 1), made.measurements, strict=True):
        width = half_width(measurement, shared)
        bands.append(post.Band(band.value, band.value - width, band.value + width))
    return bands


def _rounded_up(value: Fraction) -> Fraction:
    """`value` with a few significant digits, never less."""
    places = 0
    while value * 10**places < 10 ** (_DIGITS - 1):
        places += 1
    return Fraction(-(-value.numerator * 10**places // value.denominator), 10**places)
