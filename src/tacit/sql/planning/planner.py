"""`BoundQuery` + price → `Plan`: the noise of every measurement, the threshold of private keys, the SQL."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache

import numpy as np

from tacit.accounting import replace_loss
from tacit.core import Adjacency, Loss, PrivacyUnit
from tacit.core.enclosure import exp_interval
from tacit.errors import QueryRefused
from tacit.mechanisms import Exponential, Gaussian, Laplace, PermuteAndFlip
from tacit.mechanisms.protocol import Noise
from tacit.policy import Accounting, Policy
from tacit.sql.binding import post
from tacit.sql.binding.bind import BoundQuery
from tacit.sql.binding.notes import notes_on
from tacit.sql.expressions.measures import Additive, Counted, Histogram, Measure, Mode, Quantile
from tacit.sql.planning.bounding import (
    MOST_GROUPS,
    Sensitivity,
    caps_of,
    is_wide,
    is_wide_noise,
    nominal_size,
    public_count,
    sensitivity_of,
    unit_total,
    weight_of,
)
from tacit.sql.planning.errors_expected import expected, nominal
from tacit.sql.planning.excess import SLIVER, can_be_biased, refuse_bias, with_bias
from tacit.sql.planning.picking import Where, where_of
from tacit.sql.planning.plan import ContributionBounds, Measurement, Plan, Selection
from tacit.sql.planning.split import split
from tacit.sql.planning.stability import StabilityTest, refuse_pure, refuse_unbounded, test_of
from tacit.sql.planning.statement import Statement
from tacit.sql.planning.statements import statement_indices, statements
from tacit.sql.rules import Spread

CONFIDENCE = Fraction(95, 100)
_ROUNDING = Fraction(1, 10**12)  # what the check of a replaced unit's loss may round up by


def plan(bound: BoundQuery, policy: Policy, *, price: Loss) -> Plan:
    """The best plan at this price; see `Planner`."""
    return Planner(bound, policy).at(price)


@dataclass(frozen=True, slots=True)
class Planner:
    """Plans one question at any price. What does not depend on the price, its SQL above all, is written once."""

    bound: BoundQuery
    policy: Policy
    _written: dict[object, tuple[Statement, ...]] = field(default_factory=dict, init=False, repr=False, compare=False)
    _planned: dict[Loss, Plan] = field(default_factory=dict, init=False, repr=False, compare=False)
    _bases: dict[bool, _Base] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        refuse_unbounded(self.bound)
        if self.bound.sets is not None:
            raise TypeError("grouping sets are planned one by one: see tacit.sql.workloads.sets")
        refuse_bias(self.bound)

    def at(self, price: Loss) -> Plan:
        """The best plan at this price. WITH BIAS a sliver of ε, and nothing of δ, pays for what the bounds cut."""
        if price not in self._planned:
            self._planned[price] = self._best(price)
        return self._planned[price]

    def _best(self, price: Loss) -> Plan:
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
        pairs = bound.relation.pairs
        if pairs is not None:
            refuse_pure(pairs, price)
        inner = _add_remove(price, policy.dataset.adjacency)
        gaussian = [False]
        if not inner.is_pure and all(isinstance(measure, Additive) for measure in bound.measures):
            gaussian.append(True)
        if policy.budget.accounting is Accounting.ZCDP:  # there Gaussian noise costs far less for the same epsilon
            gaussian = gaussian[-1:]
        plans = [_maker(bound, policy, price, inner, self._base(each)).plan() for each in gaussian]
        return self._with_statements(min(plans, key=_largest_error) if len(plans) > 1 else plans[0])

    def _base(self, gaussian: bool) -> _Base:
        if gaussian not in self._bases:
            self._bases[gaussian] = _base_of(self.bound, gaussian=gaussian)
        return self._bases[gaussian]

    def _with_statements(self, plan: Plan) -> Plan:
        """The plan that was chosen, and the SQL that it runs: of the others, none is written."""
        measures = [m.measure for m in plan.measurements]
        key = (plan.caps, len(measures))  # a count that chooses keys may be measured beside those that are asked for
        if key not in self._written:
            totals = [unit_total(measure, self.bound) for measure in measures]
            self._written[key] = statements(self.bound, plan.caps, measures=measures, totals=totals)
        return replace(plan, statements=self._written[key])


def _largest_error(candidate: Plan) -> tuple[int, float]:
    """How many answers have no finite ±, and the largest of the others as a part of its size: less is better."""
    measured = nominal(candidate.measurements, candidate.confidence, rows=candidate.size, roughly=True)
    sizes = [0.0]
    for out in candidate.outputs:
        if out.value is not None:
            band = measured.band(out.value)
            sizes.append(float(np.max(band.error / np.maximum(np.abs(band.value), 1e-9))))
    threshold = candidate.selection.threshold / candidate.size if candidate.selection else 0.0
    finite = [size for size in sizes if np.isfinite(size)]
    return len(sizes) - len(finite), max(finite) + threshold


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
class _Base:
    """What the plans of one noise family have in common at every price."""

    gaussian: bool
    caps: ContributionBounds
    measures: tuple[Measure, ...]
    selector: int | None  # the measure by which private keys are chosen
    sensitivities: tuple[Sensitivity, ...]
    shares: tuple[Fraction, ...]
    indices: tuple[int, ...]
    table: str
    where: Where
    notes: tuple[str, ...]
    size: int


def _base_of(bound: BoundQuery, *, gaussian: bool) -> _Base:
    caps = caps_of(bound, l2=gaussian)
    measures = list(bound.measures)
    selector = _selector(bound, measures, caps)
    totals = [unit_total(measure, bound) for measure in measures]
    sensitivities = [
        sensitivity_of(measure, caps, total=total) for measure, total in zip(measures, totals, strict=True)
    ]
    return _Base(
        gaussian,
        caps,
        tuple(measures),
        selector,
        tuple(sensitivities),
        tuple(_shares(bound, measures, sensitivities, selector=selector, caps=caps, gaussian=gaussian)),
        tuple(statement_indices(measures)),
        table=bound.relation.text,
        where=where_of(bound),
        notes=notes_on(bound),
        size=nominal_size(bound),
    )


def _selector(bound: BoundQuery, measures: list[Measure], caps: ContributionBounds) -> int | None:
    """Private keys are chosen by how many units they have; that count is measured, if it is not asked anyway."""
    if all(key.is_public for key in bound.keys):
        return None
    counted = Counted.ROWS if caps.max_rows == 1 else Counted.UNITS
    wanted = Additive("units per key", counted)
    for index, measure in enumerate(measures):
        if measure.signature == wanted.signature:
            return index
    measures.append(wanted)
    return len(measures) - 1


def _shares(
    bound: BoundQuery,
    measures: Sequence[Measure],
    sensitivities: Sequence[Sensitivity],
    *,
    selector: int | None,
    caps: ContributionBounds,
    gaussian: bool,
) -> list[Fraction]:
    """The split of the budget that keeps the largest relative error small, at a nominal size of the data."""
    if len(measures) == 1:
        return [Fraction(1)]
    size, weight = nominal_size(bound), weight_of(caps)
    scales = [
        float(r.l2 if gaussian else r.l1) * float(_step(m)) / weight
        for m, r in zip(measures, sensitivities, strict=True)
    ]
    rows = [_row(out.value, measures, scales, size=size) for out in bound.outputs if out.value is not None]
    for index, measure in enumerate(measures):
        if isinstance(measure, (Quantile, Mode, Histogram)) or index == selector:
            row = [0.0] * len(measures)
            row[index] = 5.0 * sensitivities[index].l1 / weight / size
            rows.append(row)
    if not rows:
        rows = [[1.0] * len(measures)]
    return list(_split(tuple(map(tuple, rows)), 0.5 if gaussian else 1.0))


def _row(value: post.Post, measures: Sequence[Measure], scales: Sequence[float], *, size: int) -> list[float]:
    """How much of one output's relative error is due to each measurement."""
    base, slopes = expected(value, measures, rows=size)
    return [slope * scale / max(abs(base), 1e-9) for slope, scale in zip(slopes, scales, strict=True)]


def _maker(bound: BoundQuery, policy: Policy, price: Loss, inner: Loss, base: _Base) -> _Maker:
    """Who makes the plan. Where rows have two owners, a test has its part of the price, and one person moves pairs."""
    if bound.relation.pairs is None:
        return _Maker(bound, policy, price, inner, base)
    delta = inner.delta / 2 if base.gaussian else inner.delta
    test, left = test_of(bound.relation.pairs, inner, delta=delta)
    moved = tuple(
        Sensitivity(r.in_group * test.pairs, r.l1 * test.pairs, r.l2 * test.pairs) for r in base.sensitivities
    )
    caps = replace(base.caps, partners=test.partners)
    return _Maker(bound, policy, price, left, replace(base, caps=caps, sensitivities=moved), test)


@dataclass(frozen=True, slots=True)
class _Maker:
    """Makes the plan of one noise family, without its SQL."""

    bound: BoundQuery
    policy: Policy
    price: Loss
    inner: Loss
    base: _Base
    test: StabilityTest | None = None

    def plan(self) -> Plan:
        bound, base = self.bound, self.base
        noises = self._noises()
        owner = bound.relation.owner
        facts = zip(base.measures, base.sensitivities, noises, base.shares, strict=True)
        measurements = tuple(
            Measurement(
                f"m{i}",
                measure,
                base.indices[i],
                _step(measure) / weight_of(base.caps),
                r.l1,
                r.l2,
                r.in_group,
                noise,
                share,
                wide=is_wide(measure, base.caps) or is_wide_noise(noise),
            )
            for i, (measure, r, noise, share) in enumerate(facts)
        )
        return Plan(
            table=base.table,
            where=base.where,
            unit=PrivacyUnit(owner.column if owner is not None else None, self.policy.dataset.adjacency),
            keys=bound.keys,
            statements=(),  # written for the plan that is chosen
            measurements=measurements,
            selection=self._selection(measurements),
            outputs=bound.outputs,
            having=bound.having,
            order=bound.order,
            limit=bound.limit,
            offset=bound.offset,
            loss=self.price,
            caps=base.caps,
            confidence=bound.query.confidence or CONFIDENCE,
            notes=base.notes if self.test is None else (*base.notes, self.test.note),
            policy_version=self.policy.version,
            size=base.size,
            rows_left_out=bound.rows_left_out,
            groups=public_count(bound) if bound.counted else None,
            test=self.test,
        )

    def _noises(self) -> list[Noise]:
        base = self.base
        if base.gaussian:
            return self._gaussians(base.sensitivities, base.shares)
        noises: list[Noise] = []
        for measure, r, share in zip(base.measures, base.sensitivities, base.shares, strict=True):
            cost = Loss(self.inner.epsilon * share)
            if isinstance(measure, Quantile):
                noises.append(Exponential.costing(cost, r.l1 * measure.weight, adjacency=Adjacency.ADD_REMOVE))
            elif isinstance(measure, Mode):
                one = Loss(cost.epsilon / measure.count)
                noises.append(PermuteAndFlip.costing(one, r.l1, adjacency=Adjacency.ADD_REMOVE, monotone=True))
            else:
                noises.append(Laplace.costing(cost, r.l1))
        return noises

    def _gaussians(self, sensitivities: Sequence[Sensitivity], shares: Sequence[Fraction]) -> list[Noise]:
        private = any(not key.is_public for key in self.bound.keys)
        loss = Loss(self.inner.epsilon, self.inner.delta / 2 if private else self.inner.delta)
        return list(Gaussian.jointly(loss, [(r.l2, share) for r, share in zip(sensitivities, shares, strict=True)]))

    def _selection(self, measurements: Sequence[Measurement]) -> Selection | None:
        """A key that one unit alone holds is shown with probability at most delta, over all the keys it may hold."""
        selector, caps = self.base.selector, self.base.caps
        if selector is None:
            return None
        delta = self.inner.delta / 2 if self.base.gaussian else self.inner.delta
        chances = caps.max_groups * (1 if caps.spread in {Spread.SAMPLE, Spread.NONE} else MOST_GROUPS)
        chosen = measurements[selector]
        if chosen.added is None:
            raise ArithmeticError("keys are chosen by a count")
        chance = delta / chances
        half = Fraction(1, 2)  # noise is above zero less often than that: so large a delta needs no more
        beyond = 0 if chance >= half else chosen.added.error(1 - 2 * chance)  # P(noise > t) is half of P(|noise| > t)
        return Selection(selector, chosen.in_group + int(beyond) + 1, delta)


@lru_cache(maxsize=256)
def _split(rows: tuple[tuple[float, ...], ...], power: float) -> tuple[Fraction, ...]:
    """The split of a price among measurements; grouping sets of a statement often share it."""
    return tuple(split(np.array(rows), power))


def _step(measure: Measure) -> Fraction:
    return measure.step if isinstance(measure, Additive) else Fraction(1)
