"""Several questions priced together: which share a workload, which stand alone, and what each is given."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import TypeVar

import numpy as np

from tacit.accounting import group_rho, pure_rho, rho_for
from tacit.core import Loss
from tacit.curator.pricing import Session, check_limit, concentrated
from tacit.errors import QueryRefused
from tacit.ledger import Zcdp
from tacit.ledger.amounts import round_up
from tacit.mechanisms import Gaussian, Laplace
from tacit.mechanisms.strategy import GAUSSIAN, LAPLACE, StrategyNoise, choose, whole_grains
from tacit.policy import Accounting, Policy, Schema
from tacit.sql import BoundQuery, DefaultPrice, Parameters, Plan, bind, parse, plan
from tacit.sql.workload import Cells, Fitting, fitting, joined

MAX_QUESTIONS = 2_000
_BETTER = 0.999  # a workload is only made where it gains at least this
_GRAIN = 1 << 20

_T = TypeVar("_T")
_R = TypeVar("_R")
Question = str | tuple[str, Parameters]


@dataclass(frozen=True, slots=True)
class Lone:
    """A question that is answered on its own, at a price of its own."""

    plan: Plan


@dataclass(frozen=True, slots=True)
class Joint:
    """Questions answered from the same noised histograms. `plan` reads the cells; `noise` is what they are given."""

    plan: Plan
    cells: Cells
    noise: StrategyNoise
    loss: Loss
    rho: Fraction | None  # of Gaussian noise, between neighbours one step apart
    members: tuple[Plan, ...]  # each question as it would be answered alone: its columns, order and confidence


Piece = Lone | Joint


@dataclass(frozen=True, slots=True)
class BatchPlan:
    """What will run and be paid. `places`: for each question its piece, and which of the piece's members it is."""

    pieces: tuple[Piece, ...]
    places: tuple[tuple[int, int], ...]
    loss: Loss
    fresh: bool
    policy_version: str

    hash: str = field(init=False)  # the same for batches that run, charge and answer alike

    def __post_init__(self) -> None:
        parts = ["batch", self.policy_version, str(self.loss), str(self.places)]
        for piece in self.pieces:
            parts.append(piece.plan.hash)
            if isinstance(piece, Joint):
                parts += [str(piece.noise), *(member.hash for member in piece.members)]
        object.__setattr__(self, "hash", hashlib.sha256("\x1f".join(parts).encode()).hexdigest())

    def zcdp(self, policy: Policy) -> Zcdp:
        """The price in concentrated privacy: the pieces' prices added up."""
        prices = [_concentrated(piece, policy) for piece in self.pieces]
        rho, delta = (sum(amounts, Fraction(0)) for amounts in zip(*((p.rho, p.delta) for p in prices), strict=True))
        return Zcdp(round_up(rho), round_up(delta))


def _concentrated(piece: Piece, policy: Policy) -> Zcdp:
    if isinstance(piece, Lone):
        return concentrated(piece.plan, policy.adjacency)
    if piece.rho is None:
        return Zcdp(pure_rho(piece.loss.epsilon), 0)
    return Zcdp(group_rho(piece.rho, policy.adjacency.steps), 0)


def plan_batch(
    questions: Sequence[Question], policy: Policy, *, schema: Schema, session: Session, price: Loss
) -> BatchPlan:
    """Bind and plan every question; each of them has an equal share of the price. Touches no data.

    A workload has the shares of all its questions. Within one, and among questions that would have shared one but are
    better off alone, the budget is split for the least sum of squared errors.
    """
    if not 1 <= len(questions) <= MAX_QUESTIONS:
        raise QueryRefused(f"a batch has 1 to {MAX_QUESTIONS:,} questions: it has {len(questions):,}")
    check_limit(price.epsilon, policy)
    bounds = _numbered(questions, lambda question: _bound(question, policy, schema))
    private = any(not key.is_public for bound in bounds for key in bound.keys)
    if private and price.is_pure:
        price = Loss(price.epsilon, session.delta or policy.budget.default_delta or 0)
    whole = _numbered(bounds, lambda bound: plan(bound, policy, schema=schema, price=price))
    firsts: dict[str, int] = {}
    for place, made in enumerate(whole):
        firsts.setdefault(made.hash, place)
    maker = _Maker(bounds, whole, policy, schema, price, len(firsts))
    pieces, found = maker.made(list(firsts.values()))
    places = tuple(found[firsts[made.hash]] for made in whole)
    return BatchPlan(pieces, places, price, any(bound.query.fresh for bound in bounds), policy.version)


def _bound(question: Question, policy: Policy, schema: Schema) -> BoundQuery:
    text, parameters = (question, ()) if isinstance(question, str) else question
    query = parse(text, parameters)
    if query.explain or not isinstance(query.price, DefaultPrice) or query.delta is not None:
        raise QueryRefused(
            "a question of a batch has no price of its own: the batch has one", hint="write a plain SELECT …"
        )
    try:
        return bind(query, policy, schema=schema)
    except RecursionError:
        raise QueryRefused("the query is nested too deeply") from None


def _numbered(items: Sequence[_T], act: Callable[[_T], _R]) -> list[_R]:
    """`act` on every item; a refusal says which question it is of."""
    found = []
    for place, item in enumerate(items, 1):
        try:
            found.append(act(item))
        except QueryRefused as error:
            raise type(error)(f"question {place}: {error.message}", hint=error.hint) from None
    return found


@dataclass(frozen=True, slots=True)
class _Maker:
    """Makes the pieces of one batch."""

    bounds: Sequence[BoundQuery]
    whole: Sequence[Plan]  # each question at the price of all
    policy: Policy
    schema: Schema
    price: Loss
    count: int

    def made(self, places: Sequence[int]) -> tuple[tuple[Piece, ...], dict[int, tuple[int, int]]]:
        """The pieces, and for each question its piece and its place in that."""
        fits = {place: fit for place in places if (fit := fitting(self.bounds[place])) is not None}
        kinds: dict[str, list[int]] = {}
        for place, fit in fits.items():
            kinds.setdefault(fit.kind, []).append(place)
        made = [part for members in kinds.values() for part in self._grouped(members, fits)]
        for place in places:
            if place not in fits:
                made.append(([place], self._alone(place, Fraction(1, self.count))))
        found = {place: (i, j) for i, (members, _) in enumerate(made) for j, place in enumerate(members)}
        return tuple(piece for _, piece in made), found

    def _grouped(self, places: list[int], fits: Mapping[int, Fitting]) -> list[tuple[list[int], Piece]]:
        """One workload; else one for each set of questions that share columns, or name the same; else none at all."""
        joint = self._joint(places, fits) if len(places) > 1 else None
        if joint is not None:
            return [(places, joint)]
        for apart in (_components(places, fits), _alike(places, fits)):
            if len(apart) > 1:
                return [part for members in apart for part in self._grouped(members, fits)]
        shares = self._split(places)
        return [([place], self._alone(place, share)) for place, share in zip(places, shares, strict=True)]

    def _alone(self, place: int, share: Fraction) -> Lone:
        price = self.price * share
        return Lone(plan(self.bounds[place], self.policy, schema=self.schema, price=price))

    def _split(self, places: Sequence[int]) -> list[Fraction]:
        """For Laplace noise the least Σ v / s² is at s ∝ v^(1/3); for Gaussian noise, Σ v / s at s ∝ v^(1/2)."""
        errors = np.array([_variance(self.whole[place]) for place in places])
        inner = whole_grains(errors ** (1 / (1 + self._power(places))), _GRAIN)
        return [share * Fraction(len(places), self.count) for share in inner]

    def _power(self, places: Sequence[int]) -> int:
        gaussian = all(isinstance(self.whole[place].measurements[0].noise, Gaussian) for place in places)
        return GAUSSIAN if gaussian else LAPLACE

    def _lone_error(self, places: Sequence[int]) -> float:
        """The least sum of squared errors of these questions one by one, for their share of the price."""
        errors = np.array([_variance(self.whole[place]) for place in places])
        power = self._power(places)
        given = len(places) / self.count
        return float(np.sum(errors ** (1 / (1 + power))) ** (1 + power) / given**power)

    def _joint(self, places: list[int], fits: Mapping[int, Fitting]) -> Joint | None:
        cells = joined([fits[place] for place in places])
        if cells is None:
            return None
        loss = self.price * Fraction(len(places), self.count)
        try:  # with pure noise, so that the cells are bounded in L1: what a strategy makes of L2 bounds is not known
            made = plan(cells.histogram, self.policy, schema=self.schema, price=Loss(loss.epsilon))
        except QueryRefused:  # the caps of a single count are known, those of many groups are not
            return None
        noise, rho, error = self._best_noise(cells, made, loss)
        if error * float(made.measurements[0].step) ** 2 > _BETTER * self._lone_error(places):
            return None
        return Joint(made, cells, noise, loss, rho, tuple(self.whole[place] for place in places))

    def _best_noise(self, cells: Cells, made: Plan, loss: Loss) -> tuple[StrategyNoise, Fraction | None, float]:
        measured = made.measurements[0]
        if not isinstance(measured.noise, Laplace):
            raise TypeError("cells without a delta are given Laplace noise")
        found: list[tuple[StrategyNoise, Fraction | None, float]] = []
        concentrated_budget = self.policy.budget.accounting is Accounting.ZCDP
        if loss.is_pure or not concentrated_budget:
            choice = choose(cells.workload, power=LAPLACE)
            scale = measured.noise.scale
            found.append((StrategyNoise.laplace(choice.strategy, scale), None, choice.error * 2 * float(scale) ** 2))
        if not loss.is_pure:
            choice = choose(cells.workload, power=GAUSSIAN)
            rho = _rho_for(loss) / self.policy.adjacency.steps**2
            noise = StrategyNoise.concentrated(choice.strategy, rho, sensitivity=measured.l1, delta=loss.delta)
            found.append((noise, rho, choice.error * measured.l1**2 / (2 * float(rho))))
        return min(found, key=lambda each: each[2])


@lru_cache(maxsize=64)
def _rho_for(loss: Loss) -> Fraction:
    return rho_for(loss)


def _variance(made: Plan) -> float:
    """The sum of the variances of the answers to one counting question.

    Of the continuous law: the discrete one's vanishes at a large epsilon, and would say nothing of a smaller one.
    """
    measured = made.measurements[0]
    noise = measured.noise
    if not isinstance(noise, (Laplace, Gaussian)):
        raise TypeError("a count is given additive noise")
    variance = 2 * float(noise.scale) ** 2 if isinstance(noise, Laplace) else float(noise.sigma) ** 2
    groups = math.prod(len(key.values) for key in made.keys if isinstance(key.values, tuple))
    return variance * float(measured.step) ** 2 * groups


def _components(places: Sequence[int], fits: Mapping[int, Fitting]) -> list[list[int]]:
    """Questions that share a column, directly or through others, belong together."""
    found: list[tuple[set[str], list[int]]] = []
    for place in places:
        names, members = set(fits[place].lines), [place]
        apart = []
        for other, theirs in found:
            if other & names:
                names, members = names | other, [*theirs, *members]
            else:
                apart.append((other, theirs))
        found = [*apart, (names, members)]
    return [sorted(members) for _, members in found]


def _alike(places: Sequence[int], fits: Mapping[int, Fitting]) -> list[list[int]]:
    """Questions that name the same columns."""
    found: dict[frozenset[str], list[int]] = {}
    for place in places:
        found.setdefault(frozenset(fits[place].lines), []).append(place)
    return list(found.values())
