"""The pieces of a batch: which questions share a workload, which stand alone, and what each is given."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tacit.core import ComposedEvent, Event, Loss, sqrt_above
from tacit.errors import QueryRefused
from tacit.mechanisms import Gaussian, Laplace
from tacit.mechanisms.calibration.gaussian_job import rho_of_job
from tacit.mechanisms.protocol import L1
from tacit.mechanisms.strategy import (
    GAUSSIAN,
    LAPLACE,
    Law,
    Strategy,
    StrategyChoice,
    StrategyNoise,
    choose,
    error_of,
    least_split,
    whole_grains,
)
from tacit.policy import Accounting, Policy
from tacit.sql import BoundQuery, Measurement, Plan, Planner, plan
from tacit.sql.expressions.keys import known_groups
from tacit.sql.workloads.workload import Cells

_BETTER = 0.999  # a workload is only made where it gains at least this
_GRAIN = 1 << 20
_CONTINUOUS = 1e6  # the size of noise that knows no lattice

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
    """Questions answered from the same noisy histograms. `plan` reads the cells; `noises` is what they are given."""

    plan: Plan
    cells: Cells
    noises: tuple[StrategyNoise, ...]  # for each measurement of `plan`; all by one strategy
    loss: Loss
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
        """The noise of the first measurement."""
        return self.noises[0]

    @property
    def strategy(self) -> Strategy:
        """The strategy: what is measured in place of the questions."""
        return self.noises[0].strategy


Piece = Lone | Joint
Pieces = tuple[tuple[Piece, ...], tuple[tuple[int, int], ...]]  # and for each question its piece and its index in that


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
        object.__setattr__(self, "first", tuple(seen.setdefault(one.hash, i) for i, one in enumerate(self.whole)))
        indices = sorted(set(self.first))
        object.__setattr__(self, "given", dict.fromkeys(indices, Fraction(1, len(indices))))
        if self.alike:
            object.__setattr__(self, "given", dict(zip(indices, self._least_errors(indices), strict=True)))

    @property
    def bounds(self) -> list[BoundQuery]:
        """The questions that are planned."""
        return [planner.bound for planner in self.planners]

    def pieces(self) -> Pieces:
        """The pieces of all questions."""
        indices = list(self.given)
        kinds: dict[str, list[int]] = {}
        for index in indices:
            if index in self.fits.kinds:
                kinds.setdefault(self.fits.kinds[index], []).append(index)
        pieces = [part for members in kinds.values() for part in self._grouped(members)]
        others = [index for index in indices if index not in self.fits.kinds]
        pieces += [([index], self._alone(index, self.given[index])) for index in others]
        answering = {index: (i, j) for i, (members, _) in enumerate(pieces) for j, index in enumerate(members)}
        return tuple(piece for _, piece in pieces), tuple(answering[index] for index in self.first)

    def _grouped(self, indices: list[int]) -> list[tuple[list[int], Piece]]:
        """One workload; else one for each set of questions that share columns, or name the same; else none at all."""
        joint = self._joint(indices) if len(indices) > 1 else None
        if joint is not None:
            return [(indices, joint)]
        for apart in (_components(indices, self.fits.names), _same_names(indices, self.fits.names)):
            if len(apart) > 1:
                return [part for members in apart for part in self._grouped(members)]
        shares = self.shares(indices)
        return [([index], self._alone(index, share)) for index, share in zip(indices, shares, strict=True)]

    def _alone(self, index: int, share: Fraction) -> Lone:
        return Lone(self.planners[index].at(self.price * share))

    def shares(self, indices: Sequence[int]) -> list[Fraction]:
        """What these questions are given in all, split for the least sum of squared errors one by one."""
        return [share * self._given(indices) for share in self._least_errors(indices)]

    def _given(self, indices: Sequence[int]) -> Fraction:
        return sum((self.given[index] for index in indices), Fraction(0))

    def _least_errors(self, indices: Sequence[int]) -> list[Fraction]:
        """The shares with the least sum of squared errors, as fractions that add up to one."""
        return whole_grains(self._split(indices), _GRAIN)

    def _split(self, indices: Sequence[int]) -> Floats:
        """Among several measurements of one question, the one that weighs the most says how errors fall."""
        variances, weights, power = self._variances(indices), self._weights(indices), self._power(indices)
        weighed = variances * weights
        sizes = []
        for index, which in zip(indices, np.argmax(weighed, axis=1).tolist(), strict=True):
            law = _law(self.whole[index].measurements[which], power)
            sizes.append(_CONTINUOUS if law is None else law.size)
        size = np.array(sizes) / float(self._given(indices))
        return least_split(weighed.sum(axis=1) / size**power, size, power=power)

    def _variances(self, indices: Sequence[int]) -> Floats:
        """Of each question, and each measurement that it asks for, the sum over groups at the price of all."""
        count = len(self.planners[indices[0]].bound.measures)
        variances = np.array([[variance(m) for m in self.whole[index].measurements[:count]] for index in indices])
        variances *= np.array([[known_groups(self.whole[index].keys)] for index in indices])
        return variances

    def _weights(self, indices: Sequence[int]) -> Floats:
        """What each measurement weighs: the inverse of its mean over the questions, lest dollars outweigh heads."""
        means = self._variances(indices).mean(axis=0)
        weights: Floats = np.divide(1.0, means, out=np.ones_like(means), where=means > 0)
        return weights

    def _power(self, indices: Sequence[int]) -> int:
        noises = [m.noise for index in indices for m in self.whole[index].measurements]
        return GAUSSIAN if all(noise.law.power == GAUSSIAN for noise in noises) else LAPLACE

    def _lone_error(self, indices: Sequence[int]) -> float:
        """The least sum of squared errors of these questions one by one, for their share of the price."""
        variances, weights, power = self._variances(indices), self._weights(indices), self._power(indices)
        shares = self._split(indices) * float(self._given(indices))
        total = 0.0
        for index, share, row in zip(indices, shares, variances, strict=True):
            for measurement, weight, whole in zip(self.whole[index].measurements, weights, row, strict=False):
                law = _law(measurement, power)
                if law is None:
                    total += weight * whole / share**power
                else:
                    groups, step = known_groups(self.whole[index].keys), float(measurement.step)
                    total += weight * groups * step**2 * float(law.variance(np.array(share)))
        return total

    def _joint(self, indices: list[int]) -> Joint | None:
        cells = self.fits.joined(indices)
        if cells is None:
            return None
        loss = self.price * self._given(indices)
        try:  # with pure noise, so that the cells are bounded in L1: what a strategy makes of L2 bounds is not known
            cells_plan = plan(cells.histogram, self.policy, price=Loss(loss.epsilon))
        except QueryRefused:  # the caps of a single count are known, those of many groups are not
            return None
        noises, error = self._best_noise(cells, cells_plan, loss, weights=self._weights(indices))
        lone = self._lone_error(indices)
        if error > _BETTER * lone:
            return None
        gain = lone / error if error else 1.0
        return Joint(cells_plan, cells, noises, loss, tuple(self.whole[index] for index in indices), gain)

    def _best_noise(
        self, cells: Cells, cells_plan: Plan, loss: Loss, *, weights: Floats
    ) -> tuple[tuple[StrategyNoise, ...], float]:
        """The noise of each measurement by the strategy with the least weighted sum of squared errors, and that sum."""
        candidates: list[tuple[tuple[StrategyNoise, ...], float]] = []
        worth = np.array([float(m.step) ** 2 for m in cells_plan.measurements]) * weights
        if loss.is_pure or self.policy.budget.accounting is not Accounting.ZCDP:
            scales = [_scale(m) for m in cells_plan.measurements]
            choice = _chosen(cells, [Laplace(scale) for scale in scales], worth)
            noises = tuple(StrategyNoise.laplace(choice.strategy, scale) for scale in scales)
            candidates.append((noises, _weighed_error(cells, choice, noises, worth)))
        if not loss.is_pure:
            noises = _gaussians(cells, cells_plan, loss, worth=worth, steps=self.policy.adjacency.steps)
            total = sum(error_of(cells.workload, noise) * each for noise, each in zip(noises, worth, strict=True))
            candidates.append((noises, float(total)))
        return min(candidates, key=lambda candidate: candidate[1])


def _gaussians(cells: Cells, cells_plan: Plan, loss: Loss, *, worth: Floats, steps: int) -> tuple[StrategyNoise, ...]:
    """The Gaussian noise of each measurement. Its rho is between neighbours one step apart."""
    whole = rho_of_job(loss, [(steps * m.l1, m.share) for m in cells_plan.measurements]) / steps**2
    singles = [Gaussian.concentrated(whole * m.share, m.l1, delta=loss.delta) for m in cells_plan.measurements]
    strategy = _chosen(cells, singles, worth).strategy
    norms = [(sqrt_above(Fraction(strategy.squared_norm(part))), part.share) for part in strategy.parts]
    moves = [(steps * m.l1 * norm, m.share * share) for m in cells_plan.measurements for norm, share in norms]
    rho = rho_of_job(loss, moves) / steps**2
    return tuple(
        StrategyNoise.concentrated(strategy, rho * m.share, sensitivity=m.l1, delta=loss.delta)
        for m in cells_plan.measurements
    )


def _chosen(cells: Cells, singles: Sequence[Laplace | Gaussian], worth: Floats) -> StrategyChoice:
    """The strategy for the measurement whose errors weigh the most; the others follow it."""
    errors = [noise.variance for noise in singles]
    return choose(cells.workload, noise=singles[int(np.argmax(np.array(errors) * worth))])


def _weighed_error(cells: Cells, choice: StrategyChoice, noises: Sequence[StrategyNoise], worth: Floats) -> float:
    if len(noises) == 1:
        return choice.error * float(worth[0])
    return float(sum(error_of(cells.workload, noise) * each for noise, each in zip(noises, worth, strict=True)))


def _scale(measurement: Measurement) -> Fraction:
    if measurement.added is None or measurement.added.law.norm != L1:
        raise TypeError("cells without a delta are given Laplace noise")
    return measurement.added.law.size


def variance(measurement: Measurement) -> float:
    """Of one number; of a choice, which has none, the square of what its rate divides by.

    Of the continuous law: this compares questions at a price that none of them will have. `_law` says what it is there.
    """
    law = measurement.noise.law
    return law.continuous_variance * (float(measurement.step) ** 2 if law.is_added else 1)


def _law(measurement: Measurement, power: int) -> Law | None:
    """How the variance of one number falls with its share; None where that is a mere power of it."""
    noise = measurement.added
    return Law.of(noise) if noise is not None and noise.law.power == power else None


def _components(indices: Sequence[int], names_of: Mapping[int, frozenset[str]]) -> list[list[int]]:
    """Questions that share a column, directly or through others, belong together."""
    components: list[tuple[frozenset[str], list[int]]] = []
    for index in indices:
        names, members = names_of[index], [index]
        apart = []
        for other, theirs in components:
            if other & names:
                names, members = names | other, [*theirs, *members]
            else:
                apart.append((other, theirs))
        components = [*apart, (names, members)]
    return [sorted(members) for _, members in components]


def _same_names(indices: Sequence[int], names_of: Mapping[int, frozenset[str]]) -> list[list[int]]:
    """Groups of questions that name the same columns."""
    by_names: dict[frozenset[str], list[int]] = {}
    for index in indices:
        by_names.setdefault(names_of[index], []).append(index)
    return list(by_names.values())
