"""The seven rooms of a question, in order: parse, bind, plan, reserve, execute, measure, release."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction

from tacit.core import NOTHING, Budget, Loss, Number
from tacit.curator.answering import Answered, JobRunner, Requester
from tacit.curator.batch_release import BatchRelease
from tacit.curator.caps import as_budget, caps
from tacit.curator.explain import Explanation
from tacit.curator.inquiry import Replayed, asked_again, is_batch
from tacit.curator.job import Job
from tacit.curator.job_explain import explain_batch, explain_job
from tacit.curator.job_plan import BatchPlanner, Question, SetsPlanner, asked_price, plan_alone, plan_batch
from tacit.curator.measure import PublicTables, listed
from tacit.curator.members import Member
from tacit.curator.pricing import Session, concentrated, price
from tacit.curator.release import Release
from tacit.curator.releasing import release, release_batch
from tacit.curator.unexpected import planning, showing
from tacit.curator.within import Priced, least_price, needs_pilot, pilot_price, priced_at
from tacit.engines import Engine
from tacit.errors import InvalidParameter
from tacit.ledger import Balance, Entry, Ledger
from tacit.noise import SYSTEM, Source
from tacit.policy import AnalystPolicy, Policy, TableDomain
from tacit.sql import BoundQuery, Histogram, Mode, Output, Parameters, Plan, Planner, WithinError, bind, parse
from tacit.sql.emitting.dialects import values_of
from tacit.sql.parsing.price import read_bound
from tacit.sql.planning.excess import refuse_bias
from tacit.sql.planning.work import check_work
from tacit.sql.relations import CountedSchema


class Curator:
    """Stands between analysts and one dataset. Safe to use from many threads."""

    def __init__(self, policy: Policy, engine: Engine, ledger: Ledger, *, source: Source = SYSTEM) -> None:
        self.policy, self._engine, self._ledger, self._source = policy, engine, ledger, source
        self._schema = CountedSchema(engine.schema(), dialect=engine.dialect, count=self._count)

    def prepare(self, text: str, parameters: Parameters = (), *, session: Session) -> Job:
        """Parse, bind and plan. Data-free; raises QueryRefused."""
        with planning():
            bound = bind(parse(text, parameters), self.policy, schema=self._schema)
            refuse_bias(bound)
            check_work(bound)
            wanted = bound.query.price
            if not isinstance(wanted, WithinError):
                return self._priced(bound)(price(bound, self.policy, session))
            priced = priced_at(self._priced(bound), [bound], self.policy, session)
            return self._within(priced, [bound], wanted, outputs=bound.outputs)

    def _priced(self, bound: BoundQuery) -> Callable[[Loss], Job]:
        """The job of a statement, at any price."""
        if bound.sets is not None:
            return SetsPlanner(bound, self.policy).at
        planner = Planner(bound, self.policy)
        return lambda loss: plan_alone(planner, loss)

    def _within(
        self, priced: Priced, bounds: Sequence[BoundQuery], wanted: WithinError, *, outputs: Sequence[Output]
    ) -> Job:
        """The cheapest job that is as accurate as wanted; or the pilot that finds out what it costs."""
        if not needs_pilot(outputs, wanted):
            return least_price(self.policy, wanted=wanted, priced=priced)
        pilot = priced(pilot_price(bounds, self.policy, wanted=wanted, priced=priced))

        def answering(members: Sequence[Member], paid: Fraction) -> Job:
            return least_price(self.policy, wanted=wanted, priced=priced, pilot=members, paid=paid)

        return replace(pilot, sharper=answering)

    def explain(self, text: str, parameters: Parameters = (), *, session: Session) -> Explanation:
        """What the question would cost and run, free of charge."""
        return self._explained(self.prepare(text, parameters, session=session))

    def _explained(self, job: Job) -> Explanation:
        with planning():
            return explain_job(job, dialect=self._engine.dialect)

    def ask(
        self, text: str, parameters: Parameters = (), *, session: Session, request_id: str | None = None
    ) -> Release | Explanation:
        """Answer the question, or explain it where it says EXPLAIN."""
        analyst = self.policy.analyst(session.analyst)
        job = self.prepare(text, parameters, session=session)
        if job.queries[0].explain:
            return self._explained(job)
        job, answered, pilot = self._answered(job, Requester(analyst, [text], request_id))
        with showing():
            return release(job, answered, left=self._left(analyst), pilot=pilot)

    def batch(
        self,
        questions: Sequence[Question],
        *,
        session: Session,
        epsilon: Number | None = None,
        within: Number | str | None = None,
        delta: Number | None = None,
        request_id: str | None = None,
        fresh: bool = False,
    ) -> BatchRelease:
        """Answer several questions as a whole, for one price: `epsilon`, or the least whose errors are `within`.

        Where kept answers serve them all they are given again, free, unless they must be `fresh`.
        """
        analyst = self.policy.analyst(session.analyst)
        job = self._batch(questions, session=session, epsilon=epsilon, within=within, delta=delta)
        words = [question if isinstance(question, str) else question[0] for question in questions]
        job, answered, pilot = self._answered(job, Requester(analyst, words, request_id, fresh))
        with showing():
            return release_batch(job, answered, left=self._left(analyst), pilot=pilot)

    def explain_batch(
        self,
        questions: Sequence[Question],
        *,
        session: Session,
        epsilon: Number | None = None,
        within: Number | str | None = None,
        delta: Number | None = None,
    ) -> Explanation:
        """What a batch would cost, how it would be answered, and what that gains: free of charge."""
        self.policy.analyst(session.analyst)
        job = self._batch(questions, session=session, epsilon=epsilon, within=within, delta=delta)
        texts = [question if isinstance(question, str) else question[0] for question in questions]
        with planning():
            return explain_batch(job, texts, dialect=self._engine.dialect)

    def _batch(
        self,
        questions: Sequence[Question],
        *,
        session: Session,
        epsilon: Number | None,
        within: Number | str | None,
        delta: Number | None,
    ) -> Job:
        if (epsilon is None) == (within is None):
            raise InvalidParameter("a batch has one price: give epsilon, or within and the price is found")
        asked = asked_price(1 if epsilon is None else epsilon, delta)
        with planning():
            planner = BatchPlanner(questions, self.policy, schema=self._schema, session=session)
            if within is None:
                return planner.at(asked)
            outputs = [out for bound in planner.bounds for out in bound.outputs]
            return self._within(
                lambda found: planner.at(Loss(found, asked.delta)),
                planner.bounds,
                read_bound(str(within)),
                outputs=outputs,
            )

    def _answered(self, job: Job, wish: Requester) -> tuple[Job, Answered, Loss]:
        """The job that was answered, what answers it, and what a pilot cost, where one found its price."""
        office = JobRunner(self.policy, self._engine, self._ledger, self._source, self._public)
        if job.sharper is None:
            return job, office.answer(job, wish), NOTHING
        first = office.answer(job, replace(wish, request_id=None))
        with planning():
            sharper = job.sharper(first.members, first.cost.epsilon)
        if sharper.loss.epsilon <= job.loss.epsilon:
            return job, first, NOTHING
        return sharper, office.answer(sharper, wish), first.cost

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
            charged = Loss(entry.epsilon or 0, entry.delta or 0)
            job = plan_batch(questions, self.policy, schema=self._schema, session=session, price=charged)
        else:
            job = self.prepare(*questions[0], session=session)
        return Replayed(entry, job.hash, job.loss, concentrated(job.event))

    def close(self) -> None:
        """Let go of the engine and the ledger."""
        self._engine.close()
        self._ledger.close()
