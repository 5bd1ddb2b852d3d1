"""The pieces of a batch: which questions share a workload, which stand alone, and what each is given."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tacit.core import ComposedEvent, Event, Loss
from tacit.errors import QueryRefused
from tacit.mechanisms import Gaussian, Laplace
from tacit.mechanisms.gaussian_job import rho_of_job
from tacit.mechanisms.strategy import GAUSSIAN, LAPLACE, Strategy, StrategyNoise, choose, whole_grains
from tacit.policy import Accounting, Policy
from tacit.sql import BoundQuery, Measurement, Plan, Planner, plan
from tacit.sql.keys import known_groups
from tacit.sql.workload import Cells

_BETTER = 0.999  # a workload is only made where it gains at least this
_GRAIN = 1 << 20

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Lone:
    """A question that is answered on its own, at a price of its own."""

    plan: Plan

    @property
    def loss(self) -> Loss:
        """What it costs."""
        return self.plan.loss

    @property
    def event(self) -> Event:
        """What an accountant needs to know of it."""
        return self.plan.event


@dataclass(frozen=True, slots=True)
class Joint:
    """Questions answered from the same noised histograms. `plan` reads the cells; `noises` is what they are given."""

    plan: Plan
    cells: Cells
    noises: tuple[StrategyNoise, ...]  # for each measurement of `plan`; all by one strategy
    loss: Loss
    rho: Fraction | None  # of Gaussian noise, between neighbours one step apart
    members: tuple[Plan, ...]  # each question as it would be answered alone: its columns, order and confidence
    gain: float  # how many times lower the mean squared error is than that of the best split one by one

    @property
    def event(self) -> Event:
        """What an accountant needs to know of it: every histogram, by every part of the strategy."""
        steps = self.plan.unit.adjacency.steps
        measured = zip(self.noises, self.plan.measurements, strict=True)
        return ComposedEvent(tuple((noise.event(steps * measurement.l1), 1) for noise, measurement in measured))

    @property
    def noise(self) -> StrategyNoise:
        """That of the first measurement."""
        return self.noises[0]

    @property
    def strategy(self) -> Strategy:
        """What is measured in place of the questions."""
        return self.noises[0].strategy


Piece = Lone | Joint
Made = tuple[tuple[Piece, ...], tuple[tuple[int, int], ...]]  # and for each question its piece and its place in that


@dataclass(frozen=True, slots=True)
class Fits:
    """Which questions can share a workload: those of one kind. `names` are the columns of the cells they add up."""

    kinds: Mapping[int, str]
    names: Mapping[int, frozenset[str]]
    joined: Callable[[Sequence[int]], Cells | None]


@dataclass(frozen=True, slots=True)
class Maker:
    """Makes the pieces of one batch.

    Every question has an equal share of the price; where all ask for the same numbers (`alike`), the share that makes
    the sum of squared errors least, were they asked one by one. A workload has the shares of all its questions.
    """

    planners: Sequence[Planner]
    whole: Sequence[Plan]  # each question at the price of all
    policy: Policy
    price: Loss
    fits: Fits
    alike: bool = False

    first: tuple[int, ...] = field(init=False)  # for each question the first that is the same: that one is asked
    given: Mapping[int, Fraction] = field(init=False)  # the share of each that is asked

    def __post_init__(self) -> None:
        seen: dict[str, int] = {}
        object.__setattr__(self, "first", tuple(seen.setdefault(made.hash, i) for i, made in enumerate(self.whole)))
        places = sorted(set(self.first))
        shares = self._least_errors(places) if self.alike else [Fraction(1, len(places))] * len(places)
        object.__setattr__(self, "given", dict(zip(places, shares, strict=True)))

    @property
    def bounds(self) -> list[BoundQuery]:
        """The questions."""
        return [planner.bound for planner in self.planners]

    def made(self) -> Made:
        """The pieces of all questions."""
        places = list(self.given)
        kinds: dict[str, list[int]] = {}
        for place in places:
            if place in self.fits.kinds:
                kinds.setdefault(self.fits.kinds[place], []).append(place)
        made = [part for members in kinds.values() for part in self._grouped(members)]
        others = [place for place in places if place not in self.fits.kinds]
        made += [([place], self._alone(place, self.given[place])) for place in others]
        found = {place: (i, j) for i, (members, _) in enumerate(made) for j, place in enumerate(members)}
        return tuple(piece for _, piece in made), tuple(found[place] for place in self.first)

    def _grouped(self, places: list[int]) -> list[tuple[list[int], Piece]]:
        """One workload; else one for each set of questions that share columns, or name the same; else none at all."""
        joint = self._joint(places) if len(places) > 1 else None
        if joint is not None:
            return [(places, joint)]
        for apart in (_components(places, self.fits.names), _same_names(places, self.fits.names)):
            if len(apart) > 1:
                return [part for members in apart for part in self._grouped(members)]
        shares = self.shares(places)
        return [([place], self._alone(place, share)) for place, share in zip(places, shares, strict=True)]

    def _alone(self, place: int, share: Fraction) -> Lone:
        return Lone(self.planners[place].at(self.price * share))

    def shares(self, places: Sequence[int]) -> list[Fraction]:
        """What these questions are given in all, split for the least sum of squared errors one by one."""
        return [share * self._given(places) for share in self._least_errors(places)]

    def _given(self, places: Sequence[int]) -> Fraction:
        return sum((self.given[place] for place in places), Fraction(0))

    def _least_errors(self, places: Sequence[int]) -> list[Fraction]:
        """For Laplace noise the least Σ v / s² is at s ∝ v^(1/3); for Gaussian noise, Σ v / s at s ∝ v^(1/2)."""
        return whole_grains(self._errors(places)[0] ** (1 / (1 + self._power(places))), _GRAIN)

    def _errors(self, places: Sequence[int]) -> tuple[Floats, Floats]:
        """Of each question the sum of squared errors at the price of all, and what each measurement weighs in it.

        A measurement weighs the inverse of its own mean over the questions, so that dollars do not outweigh heads.
        """
        count = len(self.planners[places[0]].bound.measures)
        found = np.array([[variance(m) for m in self.whole[place].measurements[:count]] for place in places])
        found *= np.array([[known_groups(self.whole[place].keys)] for place in places])
        means = found.mean(axis=0)
        weights = np.divide(1.0, means, out=np.ones_like(means), where=means > 0)
        return found @ weights, weights

    def _power(self, places: Sequence[int]) -> int:
        noises = [m.noise for place in places for m in self.whole[place].measurements]
        return GAUSSIAN if all(isinstance(noise, Gaussian) for noise in noises) else LAPLACE

    def _lone_error(self, places: Sequence[int]) -> float:
        """The least sum of squared errors of these questions one by one, for their share of the price."""
        errors, power = self._errors(places)[0], self._power(places)
        given = float(self._given(places))
        return float(np.sum(errors ** (1 / (1 + power))) ** (1 + power) / given**power)

    def _joint(self, places: list[int]) -> Joint | None:
        cells = self.fits.joined(places)
        if cells is None:
            return None
        loss = self.price * self._given(places)
        try:  # with pure noise, so that the cells are bounded in L1: what a strategy makes of L2 bounds is not known
            made = plan(cells.histogram, self.policy, price=Loss(loss.epsilon))
        except QueryRefused:  # the caps of a single count are known, those of many groups are not
            return None
        weights = self._errors(places)[1]
        noises, rho, error = self._best_noise(cells, made, loss, weights=weights)
        lone = self._lone_error(places)
        if error > _BETTER * lone:
            return None
        gain = lone / error if error else 1.0
        return Joint(made, cells, noises, loss, rho, tuple(self.whole[place] for place in places), gain)

    def _best_noise(
        self, cells: Cells, made: Plan, loss: Loss, *, weights: Floats
    ) -> tuple[tuple[StrategyNoise, ...], Fraction | None, float]:
        """The noise of each measurement, by the strategy with the least weighted sum of squared errors."""
        found: list[tuple[tuple[StrategyNoise, ...], Fraction | None, float]] = []
        steps = np.array([float(m.step) ** 2 for m in made.measurements])
        if loss.is_pure or self.policy.budget.accounting is not Accounting.ZCDP:
            choice = choose(cells.workload, power=LAPLACE)
            scales = [_scale(m) for m in made.measurements]
            noises = tuple(StrategyNoise.laplace(choice.strategy, scale) for scale in scales)
            errors = np.array([2 * float(scale) ** 2 for scale in scales])
            found.append((noises, None, choice.error * float(errors * steps @ weights)))
        if not loss.is_pure:
            choice = choose(cells.workload, power=GAUSSIAN)
            steps_apart, parts = self.policy.adjacency.steps, choice.strategy.parts
            moves = [(steps_apart * m.l1, m.share * part.share) for m in made.measurements for part in parts]
            rho = rho_of_job(loss, moves) / steps_apart**2
            noises = tuple(
                StrategyNoise.concentrated(choice.strategy, rho * m.share, sensitivity=m.l1, delta=loss.delta)
                for m in made.measurements
            )
            errors = np.array([m.l1**2 / (2 * float(rho * m.share)) for m in made.measurements])
            found.append((noises, rho, choice.error * float(errors * steps @ weights)))
        return min(found, key=lambda each: each[2])


def _scale(measurement: Measurement) -> Fraction:
    if not isinstance(measurement.noise, Laplace):
        raise TypeError("cells without a delta are given Laplace noise")
    return measurement.noise.scale


def variance(measurement: Measurement) -> float:
    """Of one number; of a choice, which has none, the square of what its rate divides by.

    Of the continuous law: the discrete one's vanishes at a large epsilon, and would say nothing of a smaller one.
    """
    noise, step = measurement.noise, float(measurement.step)
    if isinstance(noise, Laplace):
        return 2 * float(noise.scale) ** 2 * step**2
    return (float(noise.sigma) * step if isinstance(noise, Gaussian) else 1 / float(noise.rate)) ** 2


def _components(places: Sequence[int], names_of: Mapping[int, frozenset[str]]) -> list[list[int]]:
    """Questions that share a column, directly or through others, belong together."""
    found: list[tuple[frozenset[str], list[int]]] = []
    for place in places:
        names, members = names_of[place], [place]
        apart = []
        for other, theirs in found:
            if other & names:
                names, members = names | other, [*theirs, *members]
            else:
                apart.append((other, theirs))
        found = [*apart, (names, members)]
    return [sorted(members) for _, members in found]


def _same_names(places: Sequence[int], names_of: Mapping[int, frozenset[str]]) -> list[list[int]]:
    """Questions that name the same columns."""
    found: dict[frozenset[str], list[int]] = {}
    for place in places:
        found.setdefault(names_of[place], []).append(place)
    return list(found.values())
