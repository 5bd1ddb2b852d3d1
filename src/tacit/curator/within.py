"""DP-SELECT WITHIN: the least epsilon whose stated errors keep a bound, for a question or for several at one price."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from tacit.core import Loss
from tacit.curator.answer import possible, shown_values
from tacit.curator.explaining.expected import expected, outputs_of, widths
from tacit.curator.jobs.job import Job, Tellings
from tacit.curator.jobs.members import Member
from tacit.curator.jobs.pieces import Lone
from tacit.curator.jobs.pricing import Session, check_limit
from tacit.errors import BudgetExceeded, QueryRefused
from tacit.mechanisms.protocol import L1
from tacit.policy import Accounting, Policy
from tacit.sql import Additive, BoundQuery, Output, Plan, WithinError
from tacit.sql.binding import post
from tacit.sql.expressions.keys import known_groups
from tacit.sql.planning.bounding import NARROW_NOISE

PILOT = Fraction(1, 20)  # the most that a look costs, where the accuracy asked for depends on the answer
_CHEAPER = (512, 64, 8, 1)  # of that, one look after another, until an answer is clear
CLEAR = Fraction(1, 8)  # of an answer, the error at which its size is known well enough
_COARSEST, _FINEST = Fraction(100), Fraction(1, 10_000)
_FIRST, _RATIO = Fraction(1, 10**6), Fraction(11, 10)  # where tellings begin, and how their prices rise
_MOST_TOLD = 10_000  # numbers of an answer that is told in steps: each is drawn for every price
_STEPS = 40
_DIGITS = 3  # of the epsilon that is found, rounded up
UNKNOWN = float("inf")

Priced = Callable[[Fraction], Job]


def priced_at(at: Callable[[Loss], Job], bounds: Sequence[BoundQuery], policy: Policy, session: Session) -> Priced:
    """The job at each epsilon, with the delta that its private keys need."""
    private = any(not key.is_public for bound in bounds for key in bound.keys)
    typed = next((bound.query.delta for bound in bounds if bound.query.delta), None)
    delta = typed or ((session.delta or policy.budget.default_delta) if private else None) or Fraction(0)
    return lambda epsilon: at(Loss(epsilon, delta))


def needs_pilot(outputs: Sequence[Output], wanted: WithinError) -> bool:
    """Whether the price depends on the answer: a share of it, or an average over nobody knows how many rows."""
    return wanted.relative or not all(out.value is None or post.is_linear(out.value) for out in outputs)


def pilot_prices(
    bounds: Sequence[BoundQuery], policy: Policy, *, wanted: WithinError, priced: Priced
) -> tuple[Fraction, ...]:
    """What pilots cost, one after another until one is clear: together little more than the last of them.

    The last costs at most a fifth of what one job may, so that a sharper answer can follow it. A large answer is clear
    at the first, for five hundredth of that. Where the policy says about how many rows there are, one pilot for a
    quarter of what the accuracy would cost then is enough.
    """
    budget = policy.budget.max_epsilon
    most = PILOT if budget is None else min(PILOT, budget / 5)
    rising = tuple(sorted({max(min(_FINEST, most), most / part) for part in _CHEAPER}))
    if any(bound.table.rows is None for bound in bounds):
        return rising
    try:
        guess = least_price(policy, wanted=wanted, priced=priced).loss.epsilon
    except (QueryRefused, BudgetExceeded):  # at that size; the pilots may find another
        return rising
    return (min(most, max(_FINEST, _rounded_up(guess / 4))),)


def piloted(policy: Policy, *, wanted: WithinError, priced: Priced, prices: Sequence[Fraction], paid: Fraction) -> Job:
    """The first pilot of these prices: what follows it is the next, or the answer as soon as its price is clear.

    Each is a job of its own, charged before it reads; which comes next depends on what was released.
    """
    pilot = priced(prices[0])
    refuse_choices(pilot)

    def following(members: Sequence[Member], cost: Fraction) -> Job:
        whole = paid + cost
        if len(prices) > 1 and not _is_clear(pilot, members):
            return piloted(policy, wanted=wanted, priced=priced, prices=prices[1:], paid=whole)
        return least_price(policy, wanted=wanted, priced=priced, pilot=members, paid=whole)

    return replace(pilot, sharper=following)


def in_tellings(
    bounds: Sequence[BoundQuery], policy: Policy, *, wanted: WithinError, priced: Priced, analyst: str
) -> Job | None:
    """The first telling of a question whose price is found by telling it; None where pilots find it.

    Of sums with Laplace noise, over groups that are listed, a finer telling costs what it adds (`refined_charge`) where
    losses are simply added up, and none of them is ever given back.
    """
    plain = policy.budget.accounting in {Accounting.PURE, Accounting.APPROXIMATE}
    if not (wanted.relative and plain and policy.analyst(analyst).window is None):
        return None
    most = policy.budget.max_epsilon
    high = min(_COARSEST, policy.budget.epsilon) if most is None else most
    plan = _sums_alone(priced(high))
    if plan is None:
        return None
    (first, *_) = pilot_prices(bounds, policy, wanted=wanted, priced=priced)
    if any(bound.table.rows is None for bound in bounds):
        first = min(first, _FIRST)
    first = max(first, *(_rounded_up(m.noise.law.size * high / NARROW_NOISE) for m in plan.measurements))
    prices = _rising(first, high)
    job = priced(prices[0])
    if _sums_alone(job) is None:
        return None
    return replace(job, tellings=Tellings(prices, wanted, priced))


def _sums_alone(job: Job) -> Plan | None:
    """The plan of a question that can be told in steps: listed groups, sums with Laplace noise that 64 bits hold."""
    if len(job.pieces) > 1 or len(job.bounds) > 1 or not isinstance(job.pieces[0], Lone):
        return None
    plan = job.pieces[0].plan
    sums = all(
        isinstance(m.measure, Additive) and m.noise.law.is_added and m.noise.law.norm == L1 and not m.wide
        for m in plan.measurements
    )
    listed = all(isinstance(key.values, tuple) for key in plan.keys)
    few = known_groups(plan.keys) * len(plan.measurements) <= _MOST_TOLD
    plain = plan.loss.is_pure and plan.selection is None and plan.test is None and not plan.bias
    return plan if plain and sums and listed and few else None


def _rising(first: Fraction, last: Fraction) -> tuple[Fraction, ...]:
    """Prices that rise by a tenth, up to the last."""
    prices = [min(first, last)]
    while prices[-1] < last:
        prices.append(min(last, _rounded_up(prices[-1] * _RATIO)))
    return tuple(prices)


def _is_clear(pilot: Job, members: Sequence[Member]) -> bool:
    """Whether a pilot tells how large its answers are.

    That its error is within a wide bound would not do: noise alone is as large as half of its own error one time in
    five, and eight times as large never. What is NULL may be so by noise alone.
    """
    return _excess(pilot, WithinError(CLEAR, relative=True), members, missing=UNKNOWN) <= 1


def least_price(
    policy: Policy,
    *,
    wanted: WithinError,
    priced: Priced,
    pilot: Sequence[Member] | None = None,
    paid: Fraction = Fraction(0),
) -> Job:
    """The cheapest job whose every stated error is within the bound: from public numbers, or from a private pilot.

    `pilot` has the member that answers each question; `paid` is what it cost, which counts towards what one job may.
    An error is about inverse to epsilon, so that each job says about where the least one is.
    """
    most = policy.budget.max_epsilon
    low, high = _FINEST, min(_COARSEST, policy.budget.epsilon) if most is None else most - paid
    if high <= 0:
        check_limit(paid + _FINEST, policy)
    best = priced(high)
    refuse_choices(best)
    excess = _excess(best, wanted, pilot)
    if excess > 1:
        raise QueryRefused("no epsilon that may be spent reaches this accuracy", hint="ask for a wider bound")
    for _ in range(_STEPS):
        guess = _rounded_up(high * Fraction(max(excess, 1e-9)))
        if not low < guess < high:
            guess = _rounded_up(Fraction((float(low) * float(high)) ** 0.5))
        if not low < guess < high:
            break
        job = priced(guess)
        missing = _excess(job, wanted, pilot)
        if missing > 1:
            low = guess
            excess = 1.0  # from here on, halfway
            continue
        high, best, excess = guess, job, missing
    check_limit(high + paid, policy)
    return best


def refuse_choices(job: Job) -> None:
    """Refuse what has no half-width at any price, before anything is charged: what is chosen, and not added up."""
    for question, index in enumerate(job.answering):
        served = job.members[index]
        reaches = widths(served, served.plan.confidence)
        for out in outputs_of(job, question):
            if out.value is not None and not all(np.isfinite(reaches[ref]) for ref in post.refs(out.value)):
                raise QueryRefused(
                    f"WITHIN is refused for {out.name}: its error is not a half-width", hint="give an epsilon"
                )


def _excess(job: Job, wanted: WithinError, pilot: Sequence[Member] | None, *, missing: float = 0.0) -> float:
    """How many times larger than the bound the largest of its errors is."""
    worst = 0.0
    for question, index in enumerate(job.answering):
        served = job.members[index]
        member = None if pilot is None else pilot[question]
        values = None if member is None else shown_values(possible(member.plan, member.noisy))
        measured = expected(served, values)
        for out in outputs_of(job, question):
            if out.value is not None and post.refs(out.value):
                worst = max(worst, shortfall(measured.band(out.value), wanted, missing=missing))
    return worst


def shortfall(band: post.Band, wanted: WithinError, *, missing: float) -> float:
    """How many times larger than the bound the largest error of one output is; without end where none is known yet.

    A group that is empty has no average, and no error either: for it, and for what noise makes look like it, `missing`.
    """
    known = ~np.isnan(band.value)
    error = np.broadcast_to(band.error, band.value.shape)[known]
    error = np.where(np.isfinite(error), error, np.inf)
    allowed = float(wanted.bound) * (np.abs(band.value[known]) if wanted.relative else np.ones_like(error))
    ratios = np.divide(error, allowed, out=np.where(error > 0, UNKNOWN, 0.0), where=allowed > 0)
    return float(np.max(ratios, initial=0.0 if np.all(known) else missing))


def _rounded_up(value: Fraction) -> Fraction:
    """`value` with a few significant digits, never less."""
    digits = 0
    while value * 10**digits < 10 ** (_DIGITS - 1):
        digits += 1
    return Fraction(-(-value.numerator * 10**digits // value.denominator), 10**digits)
