"""Publishing counts: priced in rho, charged before a row is read, kept, and given again for nothing."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Generic, Protocol, TypeVar

from tacit.core import Adjacency, Event, GaussianEvent, Loss, Number, decimal_text, positive, probability
from tacit.curator.jobs.caps import caps
from tacit.curator.jobs.pricing import check_limit, concentrated
from tacit.curator.payment import Payment, pay
from tacit.curator.reusing.reuse import data_version
from tacit.engines import Engine, State, one_state
from tacit.errors import QueryRefused
from tacit.ledger import Answer, Charge, Inquiry, Keep, KeptAnswer, Ledger, Shelf
from tacit.noise import SYSTEM, Source
from tacit.policy import Accounting, AnalystPolicy, Policy, TablePolicy

T = TypeVar("T")
OWNER = "curator"  # who is charged where the owner publishes: nobody's own budget, the dataset's total


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
    other: Event | None = None  # what happens, where that is no Gaussian noise; then rho is what it costs

    @property
    def event(self) -> Event:
        """What an accountant needs to know: all measurements together, which share out this rho."""
        return GaussianEvent(self.rho) if self.other is None else self.other


class Publishable(Protocol[T]):
    """A wish for counts, which knows how it is planned."""

    @property
    def fresh(self) -> bool:
        """Whether what is kept will not do."""

    @property
    def request_id(self) -> str | None:
        """The same for the same request made twice."""

    def plan(self, policy: Policy, engine: Engine) -> PricedPlan[T]:
        """What would be counted and paid. Free; raises QueryRefused."""


@dataclass(frozen=True, slots=True)
class PublishedCounts(Generic[T]):
    """What was published, what it cost this time, and whether it was there already."""

    value: T
    cost: Loss
    entry: str
    reused: bool


@dataclass(frozen=True, slots=True)
class Publisher:
    """Publishes counts of one dataset's tables."""

    policy: Policy
    engine: Engine
    ledger: Ledger
    source: Source = SYSTEM

    def plan(self, wish: Publishable[T]) -> PricedPlan[T]:
        """What would be counted and paid. Free; raises QueryRefused."""
        return wish.plan(self.policy, self.engine)

    def publish(self, wish: Publishable[T], who: AnalystPolicy) -> PublishedCounts[T]:
        """What is kept and no noisier, free; or anew: charged, counted and given noise, in this order."""
        plan = self.plan(wish)
        version = data_version(self.policy, self.engine)
        family = _digest("published counts", self.policy.version, plan.said, plan.shape)
        if self.policy.budget.reuse and not wish.fresh:
            for kept in self._kept(family, plan.rho, who, version):
                return PublishedCounts(plan.unpack(self.ledger.answer(kept)), Loss(0), kept.hash, reused=True)
        audience = None if self.policy.budget.share_answers else who.name
        facts = json.dumps({"rho": str(plan.rho)})
        key = _digest(family, str(plan.loss))
        keep = Keep(key=key, family=family, data_version=version, audience=audience, facts=facts)
        payment: Payment[T] = Payment(
            charge=_charge(plan, self.policy, who, key=key, request_id=wish.request_id),
            caps=caps(self.policy, who),
            what=plan.what,
            read=lambda: self._read(plan),
            kept=lambda value: [Answer(plan.pack(value), keep if self.policy.budget.reuse else None)],
            restored=lambda bodies: plan.unpack(bodies[0]),
        )
        paid = pay(self.ledger, payment)
        return PublishedCounts(paid.value, Loss(0) if paid.replayed else plan.loss, paid.entry, reused=paid.replayed)

    def hold(self, plan: PricedPlan[T], who: AnalystPolicy) -> PublishedCounts[T]:
        """What is paid for and read once, and kept nowhere: whoever holds it lets out no more than was paid for."""
        payment: Payment[T] = Payment(
            charge=_charge(plan, self.policy, who, key=_digest(plan.said, plan.shape, str(plan.loss)), request_id=None),
            caps=caps(self.policy, who),
            what=plan.what,
            read=lambda: self._read(plan),
            kept=lambda _: [Answer(plan.said.encode(), None)],  # what was opened, and nothing of what it holds
            restored=lambda bodies: plan.unpack(bodies[0]),
        )
        paid = pay(self.ledger, payment)
        return PublishedCounts(paid.value, plan.loss, paid.entry, reused=False)

    def _read(self, plan: PricedPlan[T]) -> T:
        with one_state(self.engine) as state:
            return plan.read(state, self.source)

    def _kept(self, family: str, rho: Fraction, who: AnalystPolicy, version: str) -> Iterator[KeptAnswer]:
        """What is on the shelf and no noisier than a new one would be."""
        shelf = Shelf(
            dataset=self.policy.dataset.name,
            policy_version=self.policy.version,
            data_version=version,
            analyst=who.name,
        )
        for kept in self.ledger.kept(shelf, family=family):
            if Fraction(json.loads(kept.keep.facts)["rho"]) >= rho:
                yield kept


def owner_of(policy: Policy) -> AnalystPolicy:
    """Whom the owner's own releases are charged to."""
    return AnalystPolicy(OWNER, policy.budget.epsilon)


def gaussian_price(policy: Policy, epsilon: Number, delta: Number | None, *, what: str) -> Loss:
    """What is asked for, with the policy's delta where none is named. Gaussian noise needs one."""
    asked = positive(epsilon, "epsilon")
    check_limit(asked, policy)
    found = policy.budget.default_delta if delta is None else probability(delta, "delta")
    if policy.budget.accounting is Accounting.PURE:
        raise QueryRefused(
            f'{what} are refused under accounting = "pure": their noise is Gaussian, which needs a delta',
            hint="add delta = 1e-9 to [budget]",
        )
    if not found:
        raise QueryRefused(
            f"{what} need a delta: their noise is Gaussian",
            hint="write DP-SELECT 1 DELTA 1e-9 …, give delta=1e-9, or set default_delta in [budget]",
        )
    return Loss(asked, found)


def check_public_totals(table: TablePolicy, policy: Policy, *, sensitivity: int) -> None:
    """Refuse totals that are to leave exactly where neighbours could not agree in them, before anything is paid."""
    if policy.adjacency is not Adjacency.REPLACE:
        raise QueryRefused(
            "public_totals need replacement: with one more person, or one less, they would not be the same",
            hint='set adjacency = "replace" in [dataset], or take public_totals out',
        )
    if sensitivity != 1:
        raise QueryRefused(
            f"public_totals count rows, and a unit of {table.name} has several of them",
            hint='they need unit = "row", or max_rows = 1',
        )


def _charge(plan: PricedPlan[T], policy: Policy, who: AnalystPolicy, *, key: str, request_id: str | None) -> Charge:
    price = f"{decimal_text(plan.loss.epsilon)} DELTA {decimal_text(plan.loss.delta)}"
    note = f"publish {plan.what} of {plan.table[:60]}"
    return Charge(
        dataset=policy.dataset.name,
        analyst=who.name,
        groups=who.groups,
        loss=plan.loss,
        zcdp=concentrated(plan.event),
        plan_hash=key,
        policy_version=policy.version,
        kind="publish",
        request_id=request_id,
        note="".join(character for character in note if character.isprintable()),
        asked=Inquiry(questions=(f"PUBLISH {price} {plan.said}",), parameters=("{}",), tables=(plan.table,)),
    )


def _digest(*parts: str) -> str:
    return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()
