"""A wish for linked synthetic tables: planned and priced as one release, and read table by table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction

from tacit.accounting import rho_for
from tacit.core import Budget, Loss, Number, sqrt_above
from tacit.core.digests import digest
from tacit.engines import Engine, State
from tacit.mechanisms import Gaussian
from tacit.mechanisms.limits import narrow
from tacit.noise import MAX_SIGMA, Source
from tacit.policy import Policy, resolve_types
from tacit.release.linked.children import ChildModel, ParentRows, fitted_child
from tacit.release.linked.counting import Family, columns_of_each, family_of, plan_child, plan_parent
from tacit.release.linked.model import LinkedModel, numbers_of
from tacit.release.publishing import PricedPlan, gaussian_price
from tacit.release.synthesise.counting import MarginalCounter, TablePlan
from tacit.release.synthesise.fitting.chance import Chance
from tacit.release.synthesise.fitting.choosing import AUTO, clarity, fit, settled
from tacit.release.synthesise.fitting.hybrid import Fitted, ModelSettings
from tacit.release.synthesise.fitting.measuring import Meter
from tacit.release.synthesise.model import SyntheticModel, model_of

Progress = Callable[[float], None]
_LEAST_SHARE = 10**7  # no measurement has less than one part in so many of rho: what needs more noise is refused here
_CHILD = 3  # times the parent's part of rho
_SINGLES = Fraction(3, 10)  # of a child's rho, for its columns alone: what it has in common with its parent is in pairs
_FEWEST, _MOST = 1_000, 50_000  # parents that are drawn to see what a child's row has for a parent


@dataclass(frozen=True, slots=True)
class LinkedRequest:
    """What is asked for: a table and others that are linked to it, or some of their columns, at one price."""

    tables: tuple[str, ...]
    epsilon: Number
    delta: Number | None = None
    columns: tuple[tuple[str, tuple[str, ...]], ...] = ()  # of a table, where they are not all
    method: str = AUTO  # of the parent's rows
    fresh: bool = False
    request_id: str | None = None
    progress: Progress | None = field(default=None, compare=False)  # is told what share of the work is done

    def plan(self, policy: Policy, engine: Engine) -> PricedPlan[LinkedModel]:
        """Bind the tables, settle the methods, and price it all. Reads public tables alone; raises QueryRefused."""
        plan = plan_linked(policy, engine, self)
        return PricedPlan(
            what="the linked synthetic tables",
            table=plan.family.parent.name,
            said=plan.said,
            shape=plan.shape,
            loss=plan.loss,
            rho=plan.rho,
            read=lambda state, source: _read(plan, state, source, self.progress or (lambda _: None)),
            pack=LinkedModel.to_bytes,
            unpack=LinkedModel.from_bytes,
            beside=tuple(child.name for child in plan.family.children),
        )


@dataclass(frozen=True, slots=True)
class CountedTable:
    """One table of several: what is counted of it, and how that is modelled."""

    counted: TablePlan
    own: int  # its own columns come first
    rho: Fraction  # of all, its part
    settings: ModelSettings

    def meter(self, plan: LinkedPlan, state: State, source: Source, progress: Progress) -> Meter:
        """What gives out its noisy marginals, at its part of rho.

        What a unit brings to a marginal is not negative and adds up to the table's sensitivity, in each of two
        neighbours: they are apart by √2 times that in L2 where a unit is replaced.
        """
        counted = self.counted
        return Meter(
            MarginalCounter(counted, state, progress), plan.steps * counted.sensitivity, self.rho,
            weight=counted.weight, delta=plan.loss.delta, source=source, l2=moved(counted, plan.steps),
        )  # fmt: skip


def moved(counted: TablePlan, steps: int) -> Fraction:
    """How far neighbours are apart in any one marginal, in L2."""
    return counted.sensitivity * sqrt_above(Fraction(steps))


@dataclass(frozen=True, slots=True)
class LinkedPlan:
    """What will be counted of each table, how it will be modelled, and what all of it costs."""

    family: Family
    parent: CountedTable
    children: tuple[CountedTable, ...]
    loss: Loss
    rho: Fraction
    method: str
    steps: int  # additions or removals that neighbours are apart
    policy_version: str

    @property
    def tables(self) -> tuple[CountedTable, ...]:
        """The parent, then its children."""
        return (self.parent, *self.children)

    @property
    def said(self) -> str:
        """What is made, in the words of the record."""
        tables = []
        for table in self.tables:
            columns = ", ".join(f'"{each.name}"' for each in table.counted.attributes[: table.own])
            tables.append(f'{columns} FROM "{table.counted.table}"')
        return f"SYNTHESISE LINKED {'; '.join(tables)} USING {self.method.upper()}"

    @property
    def shape(self) -> str:
        """The same for plans that count and model alike."""
        parts = [str(self.steps)]
        for table in self.tables:
            parts += [
                str(table.settings),
                str(table.rho / self.rho),
                *(plan.key for plan in table.counted.plans.values()),
            ]
        return digest(*parts)


def plan_linked(policy: Policy, engine: Engine, request: LinkedRequest) -> LinkedPlan:
    """What a request would count, charge and fit. Free; raises QueryRefused."""
    loss = gaussian_price(policy, request.epsilon, request.delta, what="synthetic rows")
    typed = resolve_types(policy, engine.schema())
    family = family_of(typed, request.tables)
    columns = columns_of_each(typed, family, dict(request.columns))
    rho, steps = rho_for(Budget(loss.epsilon, loss.delta)), policy.adjacency.steps
    first, other = shares(len(family.children))

    def settle(counted: TablePlan, part: Fraction, method: str) -> tuple[str, ModelSettings]:
        least = Gaussian.concentrated(part / _LEAST_SHARE, 2 * counted.sensitivity, delta=loss.delta)
        narrow(least.sigma, most=MAX_SIGMA)
        clear = clarity(part, steps * counted.sensitivity, weight=counted.weight, rows=counted.rows)
        return settled(method, clear=clear, columns=len(counted.attributes))

    counted = plan_parent(typed, engine, family, columns=columns)
    method, settings = settle(counted, rho * first, request.method)
    parent = CountedTable(counted, len(columns[family.parent.name]), rho * first, settings)
    children = []
    for child in family.children:
        counted = plan_child(typed, engine, family, child, columns=columns)
        settings = replace(settle(counted, rho * other, AUTO)[1], singles=_SINGLES)
        children.append(CountedTable(counted, len(columns[child.name]), rho * other, settings))
    return LinkedPlan(family, parent, tuple(children), loss, rho, method, steps, policy.version)


def shares(children: int) -> tuple[Fraction, Fraction]:
    """The parts of rho that the parent has, and each of so many children.

    A child has three times as much: a unit moves its counts by many rows, the parent's by one.
    """
    whole = 1 + _CHILD * children
    return Fraction(1, whole), Fraction(_CHILD, whole)


def _read(plan: LinkedPlan, state: State, source: Source, progress: Progress) -> LinkedModel:
    """The only place where exact marginals are: the parent's, then each child's, noisy before they are looked at."""
    whole = len(plan.tables)
    chance = Chance(source)
    meter = plan.parent.meter(plan, state, source, lambda done: progress(done / whole))
    counted = plan.parent.counted
    ordered = [each.ordered for each in counted.attributes]
    fitted = fit(plan.method, meter, counted.sizes, ordered, settings=plan.parent.settings, chance=chance)
    parent = model_of(
        fitted, counted, method=plan.method, loss=plan.loss, rho=plan.rho, policy_version=plan.policy_version,
        sweeps=plan.parent.settings.sweeps,
    )  # fmt: skip
    children = []
    for index, child in enumerate(plan.children):
        start = (index + 1) / whole
        meter = child.meter(plan, state, source, lambda done, start=start: progress(start + done / whole))  # type: ignore[misc]
        children.append(_child(plan, index, fitted, parent, meter))
    progress(1.0)
    model = LinkedModel(parent, plan.family.key, tuple(children))
    return LinkedModel.from_bytes(model.to_bytes())  # its numbers as they will be kept


def _child(plan: LinkedPlan, index: int, of_parent: Fitted, parent: SyntheticModel, meter: Meter) -> ChildModel:
    """The model of one child, given what is released of the parent."""
    child, declared = plan.children[index], plan.family.children[index]
    counted, own = child.counted, child.own
    context = (*range(plan.parent.own), plan.parent.own + index)
    drawn = parent.drawn(min(_MOST, max(_FEWEST, parent.rows)))
    parents = ParentRows(
        cells=tuple(drawn.codes[axis] for axis in context),
        numbers=numbers_of(drawn, context[-1]),
        sigmas=tuple(of_parent.singles.sigmas[axis] for axis in context),
    )
    fitted = fitted_child(meter, counted.attributes, own=own, parents=parents, settings=child.settings)
    return ChildModel(
        table=declared.name,
        column=declared.unit_column or "",
        attributes=counted.attributes[:own],
        context=context,
        bins=fitted.bins,
        laws=fitted.laws,
        rows=max(0, round(fitted.rows)),
        bound=counted.sensitivity // counted.weight,
        rules=counted.rules,
        errors=tuple(sorted(fitted.errors.items())),
    )
