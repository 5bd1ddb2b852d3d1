"""The seven rooms of a question, in order: parse, bind, plan, reserve, execute, measure, release."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tacit.core import NOTHING, Budget, Loss, Number
from tacit.curator import reuse
from tacit.curator.answer import answer
from tacit.curator.batch import Desk, ask_batch, asked_price
from tacit.curator.batch_explain import BatchExplanation, explain_batch
from tacit.curator.batch_plan import Question, batch_maker, made_batch
from tacit.curator.batch_release import BatchRelease
from tacit.curator.bias import bias_notes, covered
from tacit.curator.caps import as_budget, caps
from tacit.curator.execute import execute
from tacit.curator.explain import Explanation, accuracy_notes, bounding_text, describe, explain, selection_text
from tacit.curator.grouping_sets import SetsPlan, ask_sets, explain_sets, plan_sets, refuse_within
from tacit.curator.inquiry import Replayed, asked_again, inquiry, is_batch
from tacit.curator.measure import PublicTables, listed, measure
from tacit.curator.noisy import Noisy
from tacit.curator.paid import paid
from tacit.curator.pricing import Session, concentrated, price
from tacit.curator.release import Receipt, Release
from tacit.curator.unexpected import planning, showing
from tacit.curator.within import Planned, least_price, needs_pilot, pilot_price, planner_of
from tacit.engines import Engine, Exact, one_state
from tacit.ledger import Balance, Charge, Entry, Ledger, Replay, Reservation, Shelf
from tacit.noise import SYSTEM, Source
from tacit.policy import AnalystPolicy, Policy, TableDomain
from tacit.sql import BoundQuery, Histogram, Mode, Parameters, Plan, Query, WithinError, bind, parse, plan
from tacit.sql.dialects import values_of
from tacit.sql.excess import refuse_bias
from tacit.sql.planning_work import check_work
from tacit.sql.relations import CountedSchema


@dataclass(frozen=True, slots=True)
class Asked:
    """A question that has been bound, and its plan. `planned` makes the plan at another epsilon, after a pilot."""

    bound: BoundQuery
    plan: Plan
    planned: Planned | None = None


@dataclass(frozen=True, slots=True)
class _Wish:
    """The question as it was read, the words it came in, and the id it goes by."""

    query: Query
    words: str
    request_id: str | None


@dataclass(frozen=True, slots=True)
class _Answered:
    """Noised columns, the plan they answer, and where the ledger says so."""

    plan: Plan
    noisy: Noisy
    entry: str
    reused: str | None
    age: str | None = None  # how old it is, if it is given again

    @property
    def cost(self) -> Loss:
        """What was charged for it now."""
        return NOTHING if self.reused else self.plan.loss


class Curator:
    """Stands between analysts and one dataset. Safe to use from many threads."""

    def __init__(self, policy: Policy, engine: Engine, ledger: Ledger, *, source: Source = SYSTEM) -> None:
        self.policy, self._engine, self._ledger, self._source = policy, engine, ledger, source
        self._schema = CountedSchema(engine.schema(), dialect=engine.dialect, count=self._count)

    def prepare(self, text: str, parameters: Parameters = (), *, session: Session) -> Asked | SetsPlan:
        """Parse, bind and plan. Data-free; raises QueryRefused."""
        with planning():
            query = parse(text, parameters)
            bound = bind(query, self.policy, schema=self._schema)
            refuse_within(bound)
            refuse_bias(bound)
            check_work(bound)
            if bound.sets is not None:
                return plan_sets(bound, self.policy, price=price(bound, self.policy, session))
            if not isinstance(query.price, WithinError):
                return Asked(bound, plan(bound, self.policy, price=price(bound, self.policy, session)))
            planned = planner_of(bound, self.policy, session=session)
            if needs_pilot(bound):
                return Asked(bound, planned(pilot_price(bound, self.policy, planned=planned)), planned)
            return Asked(bound, least_price(bound, self.policy, planned=planned))

    def explain(self, text: str, parameters: Parameters = (), *, session: Session) -> Explanation:
        """What the question would cost and run, free of charge."""
        return self._explained(self.prepare(text, parameters, session=session))

    def _explained(self, asked: Asked | SetsPlan) -> Explanation:
        with planning():
            if isinstance(asked, SetsPlan):
                return explain_sets(asked, self._engine.dialect)
            shown = explain(asked.plan, self._engine.dialect)
        if asked.planned is None:
            return shown
        note = "this is the pilot: it finds out, privately, what the accuracy costs; the answer is charged on top"
        return replace(shown, notes=(*shown.notes, note))

    def ask(
        self, text: str, parameters: Parameters = (), *, session: Session, request_id: str | None = None
    ) -> Release | Explanation:
        """Answer the question, or explain it where it says EXPLAIN."""
        analyst = self.policy.analyst(session.analyst)
        asked = self.prepare(text, parameters, session=session)
        if asked.bound.query.explain:
            return self._explained(asked)
        if isinstance(asked, SetsPlan):
            return ask_sets(self._desk(), asked, analyst, words=text, request_id=request_id)
        wish = _Wish(asked.bound.query, text, None if asked.planned else request_id)
        first = self._answered(asked.plan, analyst, wish)
        if asked.planned is None:
            return self._release(first, analyst)
        paid = first.cost.epsilon
        with planning():
            made = least_price(asked.bound, self.policy, planned=asked.planned, pilot=first.noisy, paid=paid)
        if made.loss.epsilon <= asked.plan.loss.epsilon:
            return self._release(first, analyst)
        second = self._answered(made, analyst, replace(wish, request_id=request_id))
        return self._release(second, analyst, pilot=first.cost)

    def batch(
        self,
        questions: Sequence[Question],
        *,
        session: Session,
        epsilon: Number,
        delta: Number | None = None,
        request_id: str | None = None,
    ) -> BatchRelease:
        """Answer several questions as a whole, for one price."""
        return ask_batch(self._desk(), questions, session=session, epsilon=epsilon, delta=delta, request_id=request_id)

    def explain_batch(
        self, questions: Sequence[Question], *, session: Session, epsilon: Number, delta: Number | None = None
    ) -> BatchExplanation:
        """What a batch would cost, how it would be answered, and what that gains: free of charge."""
        self.policy.analyst(session.analyst)
        asked = asked_price(epsilon, delta)
        with planning():
            maker = batch_maker(questions, self.policy, schema=self._schema, session=session, price=asked)
            return explain_batch(maker, questions, dialect=self._engine.dialect)

    def _desk(self) -> Desk:
        return Desk(
            self.policy, self._schema, self._engine, self._ledger, self._source, public=self._public, left=self._left
        )

    def _answered(self, made: Plan, analyst: AnalystPolicy, wish: _Wish) -> _Answered:
        version = reuse.data_version(self.policy, self._engine)
        if self.policy.budget.reuse and not wish.query.fresh:
            found = reuse.find(made, self._ledger, self._shelf(analyst, version))
            if found is not None:
                age = reuse.age_note(found.at, watched=version != self.policy.dataset.data_version)
                return _Answered(found.plan, found.noisy, found.entry, found.how, age)
        reserved = self._ledger.reserve(self._charge(made, analyst, wish), caps(self.policy, analyst))
        if isinstance(reserved, Replay):
            return _Answered(made, Noisy.from_bytes(reserved.answer), reserved.hash, "the same request")
        noisy = self._read(made, reserved)
        kept = reuse.keep(
            made,
            data_version=version,
            audience=None if self.policy.budget.share_answers else analyst.name,
        )
        entry = self._ledger.settle(reserved, noisy.to_bytes(), keep=kept if self.policy.budget.reuse else None)
        return _Answered(made, noisy, entry, None)

    def _read(self, made: Plan, reserved: Reservation) -> Noisy:
        """Execute and measure. Whatever fails here stays charged, and says nothing of the data."""

        def read() -> Noisy:
            with one_state(self._engine) as state:
                exact: list[Exact] = [execute(statement, state) for statement in made.runs]
            return measure(made, exact, public=self._public(made), source=self._source)

        return paid(self._ledger, reserved, read, what="the answer")

    def _public(self, made: Plan) -> PublicTables:
        """The values of public tables that serve as domains."""
        found: dict[TableDomain, tuple[object, ...]] = {}
        asked = (m.measure for m in made.measurements if isinstance(m.measure, (Mode, Histogram)))
        for domain in (*(key.values for key in made.keys), *(choice.values for choice in asked)):
            if isinstance(domain, TableDomain):
                found[domain] = self._public_values(domain)
        return found

    def _count(self, sql: str) -> int:
        """A number that public tables alone decide: it may be read before anything is charged."""
        return int(self._engine.execute(sql).integers("n")[0])

    def _public_values(self, domain: TableDomain) -> tuple[object, ...]:
        result = self._engine.execute(values_of(domain.table, domain.column, dialect=self._engine.dialect))
        return tuple(sorted(listed(result.keys("k")), key=str))

    def _charge(self, made: Plan, analyst: AnalystPolicy, wish: _Wish) -> Charge:
        return Charge(
            dataset=self.policy.dataset.name,
            analyst=analyst.name,
            groups=analyst.groups,
            loss=made.loss,
            zcdp=concentrated(made.event),
            plan_hash=made.hash,
            policy_version=self.policy.version,
            kind="query",
            request_id=wish.request_id,
            asked=inquiry([wish.query], self.policy, loss=made.loss, words=[wish.words]),
        )

    def _shelf(self, analyst: AnalystPolicy, version: str) -> Shelf:
        return Shelf(
            dataset=self.policy.dataset.name,
            policy_version=self.policy.version,
            data_version=version,
            analyst=analyst.name,
        )

    def _release(self, answered: _Answered, analyst: AnalystPolicy, *, pilot: Loss = NOTHING) -> Release:
        made = answered.plan
        with showing():
            table = answer(made, answered.noisy)
        notes = [*made.notes, *accuracy_notes(made), f"counts {bounding_text(made)}"]
        chosen = selection_text(made)
        if chosen is not None:
            notes.append(f"keys are {chosen}; keys below it are left out")
        notes += bias_notes(made, answered.noisy)
        if answered.age is not None:
            notes.append(answered.age)
        if pilot != NOTHING:
            notes.append(f"the cost includes a pilot of {pilot} that found the price")
        receipt = Receipt(
            plan=made.hash,
            policy=self.policy.version,
            entry=answered.entry,
            guarantee=f"{made.loss} for {made.unit}",
            unit=str(made.unit),
            mechanisms=tuple(describe(m) for m in made.measurements),
        )
        return Release(
            columns=table.columns,
            rows=table.rows,
            errors=table.errors,
            confidence=made.confidence,
            cost=answered.cost + pilot,
            left=self._left(analyst),
            reused=answered.reused,
            notes=tuple(notes),
            receipt=receipt,
            covers=covered(made),
        )

    def balance(self, analyst: str) -> Balance:
        """What is spent and left, for one analyst."""
        who = self.policy.analyst(analyst)
        return self._ledger.balance(self.policy.dataset.name, caps(self.policy, who), analyst=who.name)

    def _left(self, analyst: AnalystPolicy) -> Budget | None:
        """What the analyst can still spend: the least of every cap that binds."""
        balance = self.balance(analyst.name)
        limits = [line.left for line in (balance.total, balance.analyst, *(line for _, line in balance.groups))]
        budgets = [as_budget(limit, self.policy) for limit in limits if limit is not None]
        if not budgets:
            return None
        return Budget(min(b.epsilon for b in budgets), min(b.delta for b in budgets))

    def log(self, analyst: str, *, limit: int = 50) -> tuple[Entry, ...]:
        """The newest ledger entries of one analyst."""
        return self._ledger.entries(
            limit=limit, dataset=self.policy.dataset.name, analyst=self.policy.analyst(analyst).name
        )

    def replay(self, entry: Entry) -> Replayed:
        """Plan an entry's question anew, from what the log keeps of it, and price it. Reads no row, charges nothing."""
        questions, session = asked_again(entry)
        if is_batch(questions):
            price = Loss(entry.epsilon or 0, entry.delta or 0)
            maker = batch_maker(questions, self.policy, schema=self._schema, session=session, price=price)
            batch = made_batch(maker)
            return Replayed(entry, batch.hash, batch.loss, concentrated(batch.event))
        asked = self.prepare(*questions[0], session=session)
        if isinstance(asked, SetsPlan):
            return Replayed(entry, asked.hash, asked.loss, concentrated(asked.batch.event))
        return Replayed(entry, asked.plan.hash, asked.plan.loss, concentrated(asked.plan.event))

    def close(self) -> None:
        """Let go of the engine and the ledger."""
        self._engine.close()
        self._ledger.close()
