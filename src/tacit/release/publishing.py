"""Publishing: priced in rho, charged before a row is read, kept, and given again for nothing."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Generic, Literal, Protocol, TypeVar

from tacit.core import Adjacency, Event, GaussianEvent, Loss, Number, decimal_text, positive, probability
from tacit.core.digests import digest
from tacit.curator.jobs.caps import caps
from tacit.curator.jobs.pricing import check_limit, concentrated
from tacit.curator.payment import Payment, pay
from tacit.curator.reusing.reuse import data_version, shelf_of
from tacit.engines import Engine, State, one_state
from tacit.errors import QueryRefused
from tacit.ledger import Answer, Charge, Inquiry, Keep, KeptAnswer, Ledger
from tacit.noise import SYSTEM, Source
from tacit.policy import Accounting, AnalystPolicy, Policy, TablePolicy

__all__ = [
    "OWNER", "Keeping", "PricedPlan", "Publication", "Publishable", "Publisher", "check_public_totals",
    "gaussian_price", "owner_of",
]  # fmt: skip

T = TypeVar("T")
OWNER = "curator"  # who is charged where the owner publishes: nobody's own budget, the dataset's total


@dataclass(frozen=True, slots=True)
class Keeping:
    """Where a release is kept, and which of those that are kept there will do in its place."""

    key: str  # the same for releases that count, cost and model alike
    family: str  # the same for all that might do
    facts: Mapping[str, object] = field(default_factory=dict)  # what is kept of it, beside rho
    serves: Callable[[Mapping[str, Any]], bool] = lambda _: True  # whether one with these facts will do


@dataclass(frozen=True, slots=True)
class PricedPlan(Generic[T]):
    """What will be counted and what that costs, and how it is read, packed and unpacked. Made without reading a row."""

    what: str  # in the words of an error: "the hierarchy"
    table: str
    said: str  # what is counted, in the words of the record
    shape: str  # a digest of all that shapes the numbers, but the price
    loss: Loss
    rho: Fraction
    read: Callable[[State, Source], T]
    pack: Callable[[T], bytes]
    unpack: Callable[[bytes], T]
    beside: tuple[str, ...] = ()  # other tables that are counted with it
    other: Event | None = None  # what happens, where that is no Gaussian noise; then rho is what it costs
    kind: Literal["publish", "synthesise"] = "publish"  # in the words of the ledger
    note: str | None = None  # in the list of its entries; else what is published, and of which table
    keeping: Keeping | None = None  # where it is kept; else under all of the above, and nothing else will do
    entered: Callable[[T, str], T] = lambda value, _: value  # it, once it has an entry in the ledger

    @property
    def event(self) -> Event:
        """What an accountant needs to know: all measurements together, which share out this rho."""
        return GaussianEvent(self.rho) if self.other is None else self.other

    def kept(self, policy: Policy) -> Keeping:
        """Where it is kept under a policy."""
        if self.keeping is not None:
            return self.keeping
        family = digest("published counts", policy.version, self.said, self.shape)
        return Keeping(digest(family, str(self.loss)), family)


class Publishable(Protocol[T]):
    """A wish for a release, which knows how it is planned."""

    @property
    def fresh(self) -> bool:
        """Whether what is kept will not do."""

    @property
    def request_id(self) -> str | None:
        """The id that its maker gave the request: the same when it is made twice."""

    def plan(self, policy: Policy, engine: Engine) -> PricedPlan[T]:
        """What would be counted and paid. Free; raises QueryRefused."""


@dataclass(frozen=True, slots=True)
class Publication(Generic[T]):
    """What was published, what it cost this time, and whether it was there already."""

    value: T
    cost: Loss
    entry: str
    reused: bool


@dataclass(frozen=True, slots=True)
class Publisher:
    """Publishes what is made of one dataset's tables: counts of every kind, responses, models."""

    policy: Policy
    engine: Engine
    ledger: Ledger
    source: Source = SYSTEM

    def plan(self, wish: Publishable[T]) -> PricedPlan[T]:
        """What would be counted and paid. Free; raises QueryRefused."""
        return wish.plan(self.policy, self.engine)

    def publish(self, wish: Publishable[T], who: AnalystPolicy) -> Publication[T]:
        """What is kept and no noisier, free; or anew: charged, counted and given noise, in this order."""
        plan = self.plan(wish)
        keeping = plan.kept(self.policy)
        version = data_version(self.policy, self.engine)
        reuse = self.policy.budget.reuse
        if reuse and not wish.fresh:
            for kept in self._kept(keeping, plan.rho, who, version):
                value = plan.entered(plan.unpack(self.ledger.answer(kept)), kept.hash)
                return Publication(value, Loss(0), kept.hash, reused=True)
        audience = None if self.policy.budget.share_answers else who.name
        facts = json.dumps({**keeping.facts, "rho": str(plan.rho)})
        keep = Keep(key=keeping.key, family=keeping.family, data_version=version, audience=audience, facts=facts)
        return self._paid(
            plan,
            _charge(plan, self.policy, who, key=keeping.key, request_id=wish.request_id),
            who,
            lambda value: Answer(plan.pack(value), keep if reuse else None),
        )

    def hold(self, plan: PricedPlan[T], who: AnalystPolicy) -> Publication[T]:
        """What is paid for and read once, and kept nowhere: whoever holds it lets out no more than was paid for."""
        data_version(self.policy, self.engine)  # raises, at no charge, where the tables are not those that were opened
        key = digest(plan.said, plan.shape, str(plan.loss))
        charge = _charge(plan, self.policy, who, key=key, request_id=None)
        opened = Answer(plan.said.encode(), None)  # what was opened, and nothing of what it holds
        return self._paid(plan, charge, who, lambda _: opened)

    def _paid(
        self, plan: PricedPlan[T], charge: Charge, who: AnalystPolicy, kept: Callable[[T], Answer]
    ) -> Publication[T]:
        payment: Payment[T] = Payment(
            charge=charge,
            caps=caps(self.policy, who),
            what=plan.what,
            read=lambda: self._read(plan),
            kept=lambda value: [kept(value)],
            restored=lambda bodies: plan.unpack(bodies[0]),
        )
        paid = pay(self.ledger, payment)
        value = plan.entered(paid.value, paid.entry)
        return Publication(value, Loss(0) if paid.replayed else plan.loss, paid.entry, reused=paid.replayed)

    def _read(self, plan: PricedPlan[T]) -> T:
        with one_state(self.engine) as state:
            return plan.read(state, self.source)

    def _kept(self, keeping: Keeping, rho: Fraction, who: AnalystPolicy, version: str) -> Iterator[KeptAnswer]:
        """What is on the shelf, will do, and is no noisier than a new one would be."""
        for kept in self.ledger.kept(shelf_of(self.policy, who.name, version), family=keeping.family):
            facts = json.loads(kept.keep.facts)
            if Fraction(facts["rho"]) >= rho and keeping.serves(facts):
                yield kept


def owner_of(policy: Policy) -> AnalystPolicy:
    """Whom the owner's own releases are charged to."""
    return AnalystPolicy(OWNER, policy.budget.epsilon)


def gaussian_price(policy: Policy, epsilon: Number, delta: Number | None, *, what: str) -> Loss:
    """What is asked for, with the policy's delta where none is named. Gaussian noise needs one."""
    asked = positive(epsilon, "epsilon")
    check_limit(asked, policy)
    chosen_delta = policy.budget.default_delta if delta is None else probability(delta, "delta")
    if policy.budget.accounting is Accounting.PURE:
        raise QueryRefused(
            f'{what} are refused under accounting = "pure": their noise is Gaussian, which needs a delta',
            hint="add delta = 1e-9 to [budget]",
        )
    if not chosen_delta:
        raise QueryRefused(
            f"{what} need a delta: their noise is Gaussian",
            hint="write DP-SELECT 1 DELTA 1e-9 …, give delta=1e-9, or set default_delta in [budget]",
        )
    return Loss(asked, chosen_delta)


def check_public_totals(table: TablePolicy, policy: Policy) -> None:
    """Refuse totals that are to leave exactly where neighbours could not agree in them, before anything is paid.

    Who replaces somebody brings as many rows only where the unit is the row. Where a column tells units apart, max_rows
    limits how many rows of one there are, and nothing says that there is one: it may have rows in other tables alone.
    """
    if policy.adjacency is not Adjacency.REPLACE:
        raise QueryRefused(
            "public_totals need replacement: with one more person, or one less, they would not be the same",
            hint='set adjacency = "replace" in [dataset], or take public_totals out',
        )
    if table.unit_column is not None:
        raise QueryRefused(
            f"public_totals count rows, and a unit of {table.name} may have several of them, or none",
            hint=f'they need unit = "row": take public_totals out of [tables.{table.name}]',
        )


def _charge(plan: PricedPlan[T], policy: Policy, who: AnalystPolicy, *, key: str, request_id: str | None) -> Charge:
    price = f"{decimal_text(plan.loss.epsilon)} DELTA {decimal_text(plan.loss.delta)}"
    note = f"publish {plan.what} of {plan.table[:60]}" if plan.note is None else plan.note
    return Charge(
        dataset=policy.dataset.name,
        analyst=who.name,
        groups=who.groups,
        loss=plan.loss,
        zcdp=concentrated(plan.event),
        plan_hash=key,
        policy_version=policy.version,
        kind=plan.kind,
        request_id=request_id,
        note="".join(character for character in note if character.isprintable()),
        asked=Inquiry(
            questions=(f"{plan.kind.upper()} {price} {plan.said}",),
            parameters=("{}",),
            tables=(plan.table, *plan.beside),
        ),
    )
