"""A wish for a model of a table: which columns, by what method, and which kept model would do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from tacit.accounting import rho_for
from tacit.core import Budget, Loss, Number
from tacit.core.digests import digest
from tacit.engines import Engine, State
from tacit.mechanisms import Gaussian
from tacit.mechanisms.limits import narrow
from tacit.noise import MAX_SIGMA, Source
from tacit.policy import Policy, fold, resolve_types
from tacit.release.publishing import Keeping, PricedPlan, check_public_totals, gaussian_price
from tacit.release.synthesise.counting import MarginalCounter, TablePlan, all_rows, plan_all_rows, plan_table
from tacit.release.synthesise.fitting.chance import Chance
from tacit.release.synthesise.fitting.choosing import AUTO, clarity, fit, settled
from tacit.release.synthesise.fitting.hybrid import ModelSettings
from tacit.release.synthesise.fitting.measuring import Meter
from tacit.release.synthesise.model import SyntheticModel, model_of
from tacit.sql import Plan

Progress = Callable[[float], None]
_LEAST_SHARE = 10**7  # no measurement has less than one part in so many of rho: what needs more noise is refused here
_COUNTED = 0.5  # of the time, about, that counting takes


@dataclass(frozen=True, slots=True)
class SynthesisRequest:
    """What is asked for: a table, or some of its columns, at a price."""

    table: str
    epsilon: Number
    delta: Number | None = None
    columns: tuple[str, ...] = ()
    method: str = AUTO
    fresh: bool = False  # a kept model will not do
    request_id: str | None = None
    enough: tuple[str, ...] = ()  # a kept model will do that has these columns, whatever others; empty: these alone
    progress: Progress | None = field(default=None, compare=False)  # is told what share of the work is done

    def plan(self, policy: Policy, engine: Engine) -> PricedPlan[SyntheticModel]:
        """Bind the table, settle the method, and price it. Reads public tables alone; raises QueryRefused."""
        plan = plan_synthesis(policy, engine, self)
        table, names = plan.counted.table, ", ".join(f'"{name}"' for name in plan.names)
        return PricedPlan(
            what="the synthetic table",
            table=table,
            said=f'{names} FROM "{table}" USING {plan.method.upper()}',
            shape=plan.hash,
            loss=plan.loss,
            rho=plan.rho,
            read=lambda state, source: _read(plan, state, source, self.progress or (lambda _: None)),
            pack=SyntheticModel.to_bytes,
            unpack=SyntheticModel.from_bytes,
            kind="synthesise",
            note=f"synthesise {table[:60]}: {plan.method}, {len(plan.names)} columns",
            keeping=plan.keeping(enough=self.enough),
            entered=lambda model, entry: replace(model, entry=entry),
        )


@dataclass(frozen=True, slots=True)
class SynthesisPlan:
    """What will be counted, how it will be modelled, and what that costs. Made without reading a row."""

    counted: TablePlan
    loss: Loss
    rho: Fraction
    method: str
    asked: str  # the method by the name it was asked for
    settings: ModelSettings
    steps: int  # additions or removals that neighbours are apart
    policy_version: str
    public_rows: Plan | None = None  # counts all rows, where the curator declared their number public

    @property
    def hash(self) -> str:
        """The same for plans that count, charge and model alike."""
        counted = [plan.key for plan in self.counted.plans.values()]
        return digest(
            "synthesise",
            self.policy_version,
            str(self.loss),
            self.method,
            str(self.settings),
            str(self.public_rows is not None),
            *counted,
        )

    @property
    def names(self) -> tuple[str, ...]:
        """The columns, by their names."""
        return tuple(each.name for each in self.counted.attributes)

    def keeping(self, *, enough: tuple[str, ...]) -> Keeping:
        """Kept with all models of the table: one with these columns, or with enough of them, will do."""

        def serves(facts: Mapping[str, Any]) -> bool:
            fits = self.asked == AUTO or facts["method"] == self.method
            same = tuple(facts["columns"]) == self.names
            holds = bool(enough) and set(map(fold, enough)) <= set(map(fold, facts["columns"]))
            return fits and (same or holds)

        facts = {"columns": self.names, "method": self.method}
        return Keeping(self.hash, model_family(self.counted.table, self.policy_version), facts, serves)


def model_family(table: str, policy_version: str) -> str:
    """What all models of one table under one policy are kept under."""
    return digest("synthetic table", table.casefold(), policy_version)


def plan_synthesis(policy: Policy, engine: Engine, request: SynthesisRequest) -> SynthesisPlan:
    """Bind the table, settle the method, and price it. Reads public tables alone; raises QueryRefused."""
    loss = gaussian_price(policy, request.epsilon, request.delta, what="synthetic rows")
    counted = plan_table(policy, engine, request.table, columns=request.columns)
    rho = rho_for(Budget(loss.epsilon, loss.delta))
    narrow(Gaussian.concentrated(rho / _LEAST_SHARE, 2 * counted.sensitivity, delta=loss.delta).sigma, most=MAX_SIGMA)
    steps = policy.adjacency.steps
    clear = clarity(rho, steps * counted.sensitivity, weight=counted.weight, rows=counted.rows)
    method, settings = settled(request.method, clear=clear, columns=len(counted.attributes))
    declared = policy.table(counted.table)
    public = None
    if declared.public_totals is not None:
        check_public_totals(declared, policy)
        public = plan_all_rows(resolve_types(policy, engine.schema()), engine, declared.name)
    return SynthesisPlan(counted, loss, rho, method, request.method, settings, steps, policy.version, public)


def _read(plan: SynthesisPlan, state: State, source: Source, progress: Progress) -> SyntheticModel:
    """The only place where exact marginals are: each has noise before the next is looked at."""
    counted = plan.counted
    counter = MarginalCounter(counted, state, lambda done: progress(_COUNTED * done))
    meter = Meter(
        counter, plan.steps * counted.sensitivity, plan.rho, weight=counted.weight, delta=plan.loss.delta,
        source=source,
    )  # fmt: skip
    ordered = [each.ordered for each in counted.attributes]
    rows = None if plan.public_rows is None else all_rows(plan.public_rows, state)
    fitted = fit(plan.method, meter, counted.sizes, ordered, settings=plan.settings, chance=Chance(source))
    progress(1.0)
    return model_of(
        fitted,
        counted,
        method=plan.method,
        loss=plan.loss,
        rho=plan.rho,
        policy_version=plan.policy_version,
        sweeps=plan.settings.sweeps,
        rows=rows,
    )
