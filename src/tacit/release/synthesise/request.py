"""The door: a table and a price in, a model of it out, charged before a row is read."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction

from tacit.accounting import rho_for
from tacit.core import Budget, GaussianEvent, Loss, Number, decimal_text
from tacit.curator.jobs.caps import caps
from tacit.curator.jobs.pricing import concentrated
from tacit.curator.payment import Payment, pay
from tacit.curator.reusing.reuse import data_version
from tacit.engines import Engine, one_state
from tacit.ledger import Answer, Charge, Inquiry, Keep, KeptAnswer, Ledger, Shelf
from tacit.mechanisms import Gaussian
from tacit.mechanisms.limits import narrow
from tacit.noise import MAX_SIGMA, SYSTEM, Source
from tacit.policy import AnalystPolicy, Policy, fold, resolve_types
from tacit.release.publishing import check_public_totals, gaussian_price
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
    def event(self) -> GaussianEvent:
        """What an accountant needs to know: all choices and measurements together, which share out this rho."""
        return GaussianEvent(self.rho)

    @property
    def hash(self) -> str:
        """The same for plans that count, charge and model alike."""
        counted = [plan.key for plan in self.counted.plans.values()]
        return _digest(
            "synthesise",
            self.policy_version,
            str(self.loss),
            self.method,
            str(self.settings),
            str(self.public_rows is not None),
            *counted,
        )

    @property
    def family(self) -> str:
        """The same for all models of one table under one policy."""
        return model_family(self.counted.table, self.policy_version)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns, by their names."""
        return tuple(each.name for each in self.counted.attributes)


@dataclass(frozen=True, slots=True)
class Synthesised:
    """A model, what it cost this time, and whether it was there already."""

    model: SyntheticModel
    cost: Loss
    reused: bool


@dataclass(frozen=True, slots=True)
class Synthesiser:
    """Makes models of one dataset's tables."""

    policy: Policy
    engine: Engine
    ledger: Ledger
    source: Source = SYSTEM

    def plan(self, request: SynthesisRequest) -> SynthesisPlan:
        """What a request would count, charge and fit. Free; raises QueryRefused."""
        return plan_synthesis(self.policy, self.engine, request)

    def synthesise(
        self, request: SynthesisRequest, who: AnalystPolicy, *, progress: Progress = lambda _: None
    ) -> Synthesised:
        """A kept model that is at least as good, free; or a new one: charged, counted and fitted, in this order."""
        plan = self.plan(request)
        version = data_version(self.policy, self.engine)
        if self.policy.budget.reuse and not request.fresh:
            for kept in self._kept(plan, request.enough, who, version):
                model = SyntheticModel.from_bytes(self.ledger.answer(kept), entry=kept.hash)
                return Synthesised(model, Loss(0), reused=True)
        audience = None if self.policy.budget.share_answers else who.name
        facts = json.dumps({"columns": plan.names, "method": plan.method, "rho": str(plan.rho)})
        keep = Keep(key=plan.hash, family=plan.family, data_version=version, audience=audience, facts=facts)
        payment: Payment[SyntheticModel] = Payment(
            charge=_charge(plan, self.policy, who, request_id=request.request_id),
            caps=caps(self.policy, who),
            what="the synthetic table",
            read=lambda: _read(plan, self.engine, self.source, progress),
            kept=lambda model: [Answer(model.to_bytes(), keep if self.policy.budget.reuse else None)],
            restored=lambda bodies: SyntheticModel.from_bytes(bodies[0]),
        )
        paid = pay(self.ledger, payment)
        model = SyntheticModel.from_bytes(paid.value.to_bytes(), entry=paid.entry)
        return Synthesised(model, Loss(0) if paid.replayed else plan.loss, reused=paid.replayed)

    def _kept(
        self, plan: SynthesisPlan, enough: tuple[str, ...], who: AnalystPolicy, version: str
    ) -> Iterator[KeptAnswer]:
        """The models on the shelf with these columns, or with enough of them, at no lower a price: the best first."""
        shelf = Shelf(
            dataset=self.policy.dataset.name,
            policy_version=self.policy.version,
            data_version=version,
            analyst=who.name,
        )
        for kept in self.ledger.kept(shelf, family=plan.family):
            facts = json.loads(kept.keep.facts)
            good = Fraction(facts["rho"]) >= plan.rho  # no noisier than a new one would be
            fits = plan.asked == AUTO or facts["method"] == plan.method
            same = tuple(facts["columns"]) == plan.names
            serves = bool(enough) and set(map(fold, enough)) <= set(map(fold, facts["columns"]))
            if good and fits and (same or serves):
                yield kept


def model_family(table: str, policy_version: str) -> str:
    """What all models of one table under one policy are kept under."""
    return _digest("synthetic table", table.casefold(), policy_version)


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
        check_public_totals(declared, policy, sensitivity=counted.sensitivity)
        public = plan_all_rows(resolve_types(policy, engine.schema()), engine, declared.name)
    return SynthesisPlan(counted, loss, rho, method, request.method, settings, steps, policy.version, public)


def _charge(plan: SynthesisPlan, policy: Policy, who: AnalystPolicy, *, request_id: str | None) -> Charge:
    columns = ", ".join(f'"{name}"' for name in plan.names)
    said = (
        f"SYNTHESISE {decimal_text(plan.loss.epsilon)} DELTA {decimal_text(plan.loss.delta)} {columns}"
        f' FROM "{plan.counted.table}" USING {plan.method.upper()}'
    )
    note = f"synthesise {plan.counted.table[:60]}: {plan.method}, {len(plan.names)} columns"
    return Charge(
        dataset=policy.dataset.name,
        analyst=who.name,
        groups=who.groups,
        loss=plan.loss,
        zcdp=concentrated(plan.event),
        plan_hash=plan.hash,
        policy_version=policy.version,
        kind="synthesise",
        request_id=request_id,
        note="".join(character for character in note if character.isprintable()),
        asked=Inquiry(questions=(said,), parameters=("{}",), tables=(plan.counted.table,)),
    )


def _read(plan: SynthesisPlan, engine: Engine, source: Source, progress: Progress) -> SyntheticModel:
    """The only place where exact marginals are: each has noise before the next is looked at."""
    counted = plan.counted
    with one_state(engine) as state:
        counter = MarginalCounter(counted, state, lambda done: progress(_COUNTED * done))
        meter = Meter(
            counter, plan.steps * counted.sensitivity, plan.rho, weight=counted.weight, delta=plan.loss.delta,
            source=source,
        )  # fmt: skip
        ordered = [each.ordered for each in counted.attributes]
        rows = None if plan.public_rows is None else all_rows(plan.public_rows, state)
        found = fit(plan.method, meter, counted.sizes, ordered, settings=plan.settings, chance=Chance(source))
    progress(1.0)
    return model_of(
        found,
        counted,
        method=plan.method,
        loss=plan.loss,
        rho=plan.rho,
        policy_version=plan.policy_version,
        sweeps=plan.settings.sweeps,
        rows=rows,
    )


def _digest(*parts: str) -> str:
    return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()
