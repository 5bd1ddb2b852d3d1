"""`BoundQuery` + price → `Plan`: the noise of every measurement, the threshold of private keys, the SQL."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

from tacit.accounting import replace_loss
from tacit.core import Adjacency, Loss, PrivacyUnit
from tacit.core.enclosure import exp_interval
from tacit.errors import QueryRefused
from tacit.mechanisms import Exponential, Gaussian, Laplace, PermuteAndFlip
from tacit.policy import Accounting, Policy
from tacit.sql import post
from tacit.sql.bind import BoundQuery
from tacit.sql.bounding import (
    MOST_GROUPS,
    Reach,
    caps_of,
    is_wide,
    is_wide_noise,
    nominal_size,
    reach,
    unit_total,
    weight_of,
)
from tacit.sql.errors_expected import expected, nominal
from tacit.sql.excess import SLIVER, can_be_biased, refuse_bias, with_bias
from tacit.sql.measures import Additive, Counted, Histogram, Measure, Mode, Quantile
from tacit.sql.notes import notes_on
from tacit.sql.picking import where_of
from tacit.sql.plan import Caps, Measurement, Noise, Plan, Selection, Statement
from tacit.sql.rules import Spread
from tacit.sql.split import split
from tacit.sql.statements import places_of, statements

CONFIDENCE = Fraction(95, 100)
_ROUNDING = Fraction(1, 10**12)  # what the check of a replaced unit's loss may round up by


def plan(bound: BoundQuery, policy: Policy, *, price: Loss) -> Plan:
    """The best plan at this price; see `Planner`."""
    return Planner(bound, policy).at(price)


@dataclass(frozen=True, slots=True)
class Planner:
    """Plans one question at any price. Its SQL does not depend on the price, and is written once."""

    bound: BoundQuery
    policy: Policy
    _written: dict[object, tuple[Statement, ...]] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.bound.sets is not None:
            raise TypeError("grouping sets are planned one by one: see tacit.sql.workload_sets")
        refuse_bias(self.bound)

    def at(self, price: Loss) -> Plan:
        """The best plan at this price. WITH BIAS a sliver of ε, and nothing of δ, pays for what the bounds cut."""
        bound = self.bound
        if not bound.query.bias or not any(can_be_biased(bound, measure) for measure in bound.measures):
            return self._answer(price)
        answer = self._answer(Loss(price.epsilon * (1 - SLIVER), price.delta))
        return with_bias(answer, bound, whole=price)

    def _answer(self, price: Loss) -> Plan:
        """Laplace or Gaussian noise, whichever states the smaller error."""
        bound, policy = self.bound, self.policy
        private = any(not key.is_public for key in bound.keys)
        if private and price.is_pure:
            raise QueryRefused(
                "the group keys are private and need a delta: without one a rare key would give its owner away",
                hint="write DP-SELECT 1 DELTA 1e-6 …, set default_delta in the policy, or declare the column's domain",
            )
        inner = _add_remove(price, policy.dataset.adjacency)
        makers = [_Maker(bound, policy, price, inner, gaussian=False)]
        if not inner.is_pure and all(isinstance(measure, Additive) for measure in bound.measures):
            makers.append(_Maker(bound, policy, price, inner, gaussian=True))
        if policy.budget.accounting is Accounting.ZCDP:  # there Gaussian noise costs far less for the same epsilon
            makers = makers[-1:]
        return self._with_statements(min((maker.made() for maker in makers), key=_largest_error))

    def _with_statements(self, made: Plan) -> Plan:
        """The plan that was chosen, and the SQL that it runs: of the others, none is written."""
        measures = [m.measure for m in made.measurements]
        key = (made.caps, len(measures))  # a count that chooses keys may be measured beside those that are asked for
        if key not in self._written:
            totals = [unit_total(measure, self.bound) for measure in measures]
            self._written[key] = statements(self.bound, made.caps, measures=measures, totals=totals)
        return replace(made, statements=self._written[key])


def _largest_error(candidate: Plan) -> float:
    bands = nominal(candidate.measurements, candidate.confidence, rows=candidate.size)
    sizes = [0.0]
    for out in candidate.outputs:
        if out.value is not None:
            band = post.evaluate(out.value, bands)
            sizes.append(float(np.max(band.error / np.maximum(np.abs(band.value), 1e-9))))
    threshold = candidate.selection.threshold / candidate.size if candidate.selection else 0.0
    return max(size for size in sizes if np.isfinite(size)) + threshold


def _add_remove(price: Loss, adjacency: Adjacency) -> Loss:
    """What may be spent under add/remove. Replacing a unit is removing one and adding one."""
    if adjacency is Adjacency.ADD_REMOVE:
        return price
    half = price.epsilon / 2
    growth = (Fraction(exp_interval(half, 30)[1]) + 1) * (1 + _ROUNDING)
    inner = Loss(half, price.delta / growth)
    if not replace_loss(inner).within(price):
        raise ArithmeticError("half a loss, twice, exceeds it")
    return inner


@dataclass(frozen=True, slots=True)
class _Maker:
    """Makes the plan of one noise family, without its SQL."""

    bound: BoundQuery
    policy: Policy
    price: Loss
    inner: Loss
    gaussian: bool

    def made(self) -> Plan:
        caps = caps_of(self.bound, l2=self.gaussian)
        measures = list(self.bound.measures)
        selector = self._selector(measures, caps)
        totals = [unit_total(measure, self.bound) for measure in measures]
        reaches = [reach(measure, caps, total=total) for measure, total in zip(measures, totals, strict=True)]
        shares = self._shares(measures, reaches, selector=selector, caps=caps)
        noises, rho = self._noises(measures, reaches, shares)
        owner = self.bound.relation.owner
        places = places_of(measures)
        measurements = tuple(
            Measurement(
                f"m{i}",
                measure,
                places[i],
                _step(measure) / weight_of(caps),
                r.l1,
                r.l2,
                r.in_group,
                noise,
                share,
                wide=is_wide(measure, caps) or is_wide_noise(noise),
            )
            for i, (measure, r, noise, share) in enumerate(zip(measures, reaches, noises, shares, strict=True))
        )
        return Plan(
            table=self.bound.relation.text,
            where=where_of(self.bound),
            unit=PrivacyUnit(owner.column if owner is not None else None, self.policy.dataset.adjacency),
            keys=self.bound.keys,
            statements=(),  # written for the plan that is chosen
            measurements=measurements,
            selection=self._selection(measurements, selector, caps),
            outputs=self.bound.outputs,
            having=self.bound.having,
            order=self.bound.order,
            limit=self.bound.limit,
            offset=self.bound.offset,
            loss=self.price,
            rho=rho,
            caps=caps,
            confidence=self.bound.query.confidence or CONFIDENCE,
            notes=notes_on(self.bound),
            policy_version=self.policy.version,
            size=nominal_size(self.bound),
        )

    def _selector(self, measures: list[Measure], caps: Caps) -> int | None:
        """Private keys are chosen by how many units they have; that count is measured, if it is not asked anyway."""
        if all(key.is_public for key in self.bound.keys):
            return None
        counted = Counted.ROWS if caps.max_rows == 1 else Counted.UNITS
        wanted = Additive("units per key", counted)
        for place, measure in enumerate(measures):
            if measure.signature == wanted.signature:
                return place
        measures.append(wanted)
        return len(measures) - 1

    def _shares(
        self, measures: Sequence[Measure], reaches: Sequence[Reach], *, selector: int | None, caps: Caps
    ) -> list[Fraction]:
        """The split of the budget that keeps the largest relative error small, at a nominal size of the data."""
        rows = [
            row
            for out in self.bound.outputs
            if out.value is not None
            for row in [self._row(out.value, measures, reaches, caps)]
            if row
        ]
        for place, measure in enumerate(measures):
            if isinstance(measure, (Quantile, Mode, Histogram)) or place == selector:
                row = [0.0] * len(measures)
                row[place] = 5.0 * reaches[place].l1 / weight_of(caps) / nominal_size(self.bound)
                rows.append(row)
        if not rows:
            rows = [[1.0] * len(measures)]
        return split(np.array(rows), 0.5 if self.gaussian else 1.0)

    def _row(self, value: post.Post, measures: Sequence[Measure], reaches: Sequence[Reach], caps: Caps) -> list[float]:
        """How much of one output's relative error is due to each measurement."""
        scale = [
            float(r.l2 if self.gaussian else r.l1) * float(_step(m)) / weight_of(caps)
            for m, r in zip(measures, reaches, strict=True)
        ]
        base, slopes = expected(value, measures, rows=nominal_size(self.bound))
        return [slope * size / max(abs(base), 1e-9) for slope, size in zip(slopes, scale, strict=True)]

    def _noises(
        self, measures: Sequence[Measure], reaches: Sequence[Reach], shares: Sequence[Fraction]
    ) -> tuple[list[Noise], Fraction | None]:
        if self.gaussian:
            return self._gaussians(reaches, shares)
        noises: list[Noise] = []
        for measure, r, share in zip(measures, reaches, shares, strict=True):
            cost = Loss(self.inner.epsilon * share)
            if isinstance(measure, Quantile):
                noises.append(Exponential.costing(cost, r.l1 * measure.weight, adjacency=Adjacency.ADD_REMOVE))
            elif isinstance(measure, Mode):
                one = Loss(cost.epsilon / measure.count)
                noises.append(PermuteAndFlip.costing(one, r.l1, adjacency=Adjacency.ADD_REMOVE, monotone=True))
            else:
                noises.append(Laplace.costing(cost, r.l1))
        return noises, None

    def _gaussians(self, reaches: Sequence[Reach], shares: Sequence[Fraction]) -> tuple[list[Noise], Fraction | None]:
        private = any(not key.is_public for key in self.bound.keys)
        loss = Loss(self.inner.epsilon, self.inner.delta / 2 if private else self.inner.delta)
        noises = Gaussian.jointly(loss, [(r.l2, share) for r, share in zip(reaches, shares, strict=True)])
        return list(noises), sum((noise.rho(r.l2) for noise, r in zip(noises, reaches, strict=True)), Fraction(0))

    def _selection(self, measurements: Sequence[Measurement], selector: int | None, caps: Caps) -> Selection | None:
        """A key that one unit alone holds is shown with probability at most delta, over all the keys it may hold."""
        if selector is None:
            return None
        delta = self.inner.delta / 2 if self.gaussian else self.inner.delta
        chances = caps.max_groups * (1 if caps.spread in {Spread.SAMPLE, Spread.NONE} else MOST_GROUPS)
        chosen = measurements[selector]
        reach_of = chosen.noise.error if isinstance(chosen.noise, (Laplace, Gaussian)) else None
        if reach_of is None:
            raise ArithmeticError("keys are chosen by a count")
        chance = delta / chances
        half = Fraction(1, 2)  # noise is above zero less often than that: so large a delta needs no more
        beyond = 0 if chance >= half else reach_of(1 - 2 * chance)  # P(noise > t) is half of P(|noise| > t)
        return Selection(selector, chosen.in_group + int(beyond) + 1, delta)


def _step(measure: Measure) -> Fraction:
    return measure.step if isinstance(measure, Additive) else Fraction(1)
