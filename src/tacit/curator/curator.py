"""The seven rooms of a question, in order: parse, bind, plan, reserve, execute, measure, release."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Unpack

from tacit.core import NOTHING, Budget, Loss, Number
from tacit.curator.answering import Answered, JobRunner, Requester
from tacit.curator.computing.computing import Computing
from tacit.curator.computing.public import public_table
from tacit.curator.computing.public_answers import PublicAnswers
from tacit.curator.explaining.explain import Explanation
from tacit.curator.explaining.job_explain import explain_batch, explain_job
from tacit.curator.explaining.job_notes import known_notes
from tacit.curator.forms.batch_release import BatchRelease
from tacit.curator.forms.release import Release
from tacit.curator.given import settled_entries, stored
from tacit.curator.jobs.caps import caps, least_left
from tacit.curator.jobs.inquiry import Replayed, asked_again, is_batch, replayed
from tacit.curator.jobs.job import Job
from tacit.curator.jobs.job_plan import (
    BatchPlanner,
    BatchPrice,
    Question,
    SetsPlanner,
    SharedPlanner,
    asked_price,
    computing,
    plan_alone,
    plan_batch,
)
from tacit.curator.jobs.plan_cache import PlanCache, plan_key
from tacit.curator.jobs.pricing import Session, concentrated, price
from tacit.curator.measuring.measure import PublicTables, listed, listed_groups, more_groups
from tacit.curator.releasing import release, release_batch
from tacit.curator.reusing.reuse import data_version
from tacit.curator.tellings import told
from tacit.curator.unexpected import planning, showing
from tacit.curator.unplanned import AnswersRows, Unplanned, UnplannedAnswers
from tacit.curator.within import Priced, in_tellings, least_price, needs_pilot, pilot_prices, piloted, priced_at
from tacit.engines import Engine
from tacit.engines.answers.process import SHARED, HeldTable
from tacit.errors import InvalidParameter, QueryRefused
from tacit.ledger import Balance, Entry, Ledger
from tacit.noise import SYSTEM, Source
from tacit.policy import AnalystPolicy, Policy, TableDomain
from tacit.sql import (
    BoundQuery,
    BoundStatement,
    Histogram,
    Mode,
    Output,
    Parameters,
    Plan,
    Planner,
    WithinError,
    bind_statement,
    parse,
)
from tacit.sql.emitting.dialects import combinations_of, values_of
from tacit.sql.expressions.listed_keys import domains_of, in_one_row
from tacit.sql.parsing.price import read_bound
from tacit.sql.relations import CountedSchema


class Curator:
    """Stands between analysts and one dataset. Safe to use from many threads."""

    def __init__(
        self,
        policy: Policy,
        engine: Engine,
        ledger: Ledger,
        *,
        source: Source = SYSTEM,
        rows: AnswersRows | None = None,
    ) -> None:
        self.policy, self._engine, self._ledger, self._source = policy, engine, ledger, source
        self._schema = CountedSchema(
            engine.schema(),
            dialect=engine.dialect,
            count=self._count,
            version=lambda: data_version(self.policy, self._engine),
        )
        self._plans = PlanCache()
        self._held: dict[tuple[str, str], HeldTable] = {}  # public tables, by the version of the data
        self._computing = Computing(SHARED, self._public_table)
        self._unplanned = UnplannedAnswers(PublicAnswers(policy, SHARED, self._public_table), rows)

    def prepare(self, text: str, parameters: Parameters = (), *, session: Session) -> Job:
        """Parse, bind and plan, and rehearse what is computed from answers; or the plan of a question asked before.

        Reads nobody's rows; raises QueryRefused.
        """
        key = plan_key(text, parameters, session=session, policy=self.policy)
        key = None if key is None else (*key, self._schema.state())
        return self._plans.get(session.analyst, key, lambda: self._rehearsed(text, parameters, session))

    def _rehearsed(self, text: str, parameters: Parameters, session: Session) -> Job:
        with planning():
            job = self._planned(text, parameters, session)
            self._rehearse(job)
            return job

    def _rehearse(self, job: Job) -> None:
        """Refuse, before anything is charged, what this engine has no words for, and what could not be computed."""
        for piece in job.pieces:
            for statement in piece.plan.runs:
                statement.sql(self._engine.dialect)
        self._computing.rehearse(job)

    def _planned(self, text: str, parameters: Parameters, session: Session) -> Job:
        statement = bind_statement(parse(text, parameters), self.policy, schema=self._schema.current())
        bounds = statement.questions
        wanted = statement.query.price
        if not isinstance(wanted, WithinError):
            return self._priced(statement, session)(price(bounds, self.policy, session))
        priced = priced_at(self._priced(statement, session), bounds, self.policy, session)
        outputs = [out for bound in bounds for out in bound.outputs]
        return self._within(priced, bounds, wanted, outputs=outputs, session=session)

    def _priced(self, statement: BoundStatement, session: Session) -> Callable[[Loss], Job]:
        """The job of a statement, at any price."""
        bound, *others = statement.questions
        if others:
            return SharedPlanner([statement], self.policy, session=session).at
        if bound.sets is not None:
            sets = SetsPlanner(bound, self.policy)
            return lambda loss: computing(sets.at(loss), [statement])
        planner = Planner(bound, self.policy)
        return lambda loss: computing(plan_alone(planner, loss), [statement])

    def _within(
        self,
        priced: Priced,
        bounds: Sequence[BoundQuery],
        wanted: WithinError,
        *,
        outputs: Sequence[Output],
        session: Session,
    ) -> Job:
        """The cheapest job that is as accurate as wanted; or the first telling, or pilot, that finds out its price."""
        if not needs_pilot(outputs, wanted):
            return least_price(self.policy, wanted=wanted, priced=priced)
        first = in_tellings(bounds, self.policy, wanted=wanted, priced=priced, analyst=session.analyst)
        if first is not None:
            return first
        prices = pilot_prices(bounds, self.policy, wanted=wanted, priced=priced)
        return piloted(self.policy, wanted=wanted, priced=priced, prices=prices, paid=Fraction(0))

    def explain(self, text: str, parameters: Parameters = (), *, session: Session) -> Explanation:
        """What the question would cost and run, free of charge."""
        asked = self._job_or_unplanned(text, parameters, session)
        if not isinstance(asked, Job):
            return self._unplanned.explain(asked, session=session)
        return self._explained(asked)

    def _job_or_unplanned(self, text: str, parameters: Parameters, session: Session) -> Job | Unplanned:
        """The plan of a question; or what is asked that no plan answers."""
        try:
            return self.prepare(text, parameters, session=session)
        except QueryRefused:
            with planning():
                query = parse(text, parameters)
                asked = self._unplanned.asked(query, self.policy, schema=self._schema.current())
            if asked is None:
                raise
            return asked

    def _explained(self, job: Job) -> Explanation:
        with planning():
            (columns,) = self._computing.columns(job)
            return explain_job(job, dialect=self._engine.dialect, columns=columns)

    def ask(
        self, text: str, parameters: Parameters = (), *, session: Session, request_id: str | None = None
    ) -> Release | Explanation:
        """Answer the question, or explain it where it says EXPLAIN."""
        analyst = self.policy.analyst(session.analyst)
        job = self._job_or_unplanned(text, parameters, session)
        if not isinstance(job, Job):
            if job.query.explain:
                return self._unplanned.explain(job, session=session)
            shown = self._unplanned.ask(job, session=session, request_id=request_id)
            return replace(shown, left=self._left(analyst))
        if job.queries[0].explain:
            return self._explained(job)
        job, answered, pilot = self._answered(job, Requester(analyst, [text], request_id))
        with showing():
            left = self._left(analyst, answered.balance)
            return release(job, answered, left=left, computing=self._computing, pilot=pilot)

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

        What kept answers serve is given again, free, and the rest alone is charged, unless all must be `fresh`.
        """
        analyst = self.policy.analyst(session.analyst)
        job = self._batch(questions, session=session, epsilon=epsilon, within=within, delta=delta)
        words = [question if isinstance(question, str) else question[0] for question in questions]
        job, answered, pilot = self._answered(job, Requester(analyst, words, request_id, fresh))
        with showing():
            left = self._left(analyst, answered.balance)
            return release_batch(job, answered, left=left, computing=self._computing, pilot=pilot)

    def explain_batch(
        self,
        questions: Sequence[Question],
        *,
        session: Session,
        **price: Unpack[BatchPrice],
    ) -> Explanation:
        """What a batch would cost, how it would be answered, and what that gains: free of charge."""
        analyst = self.policy.analyst(session.analyst)
        job = self._batch(questions, session=session, **price)
        texts = [question if isinstance(question, str) else question[0] for question in questions]
        with planning():
            shown = explain_batch(job, texts, dialect=self._engine.dialect)
            known, rest = self._runner().known(job, analyst)
            return shown if not known else replace(shown, notes=(*shown.notes, *known_notes(known, rest)))

    def _batch(
        self,
        questions: Sequence[Question],
        *,
        session: Session,
        epsilon: Number | None = None,
        within: Number | str | None = None,
        delta: Number | None = None,
    ) -> Job:
        if (epsilon is None) == (within is None):
            raise InvalidParameter("a batch has one price: give epsilon, or within and the price is found")
        asked = asked_price(1 if epsilon is None else epsilon, delta)
        with planning():
            planner = BatchPlanner(questions, self.policy, schema=self._schema.current(), session=session)
            if within is None:
                job = planner.at(asked)
            else:
                outputs = [out for bound in planner.bounds for out in bound.outputs]
                job = self._within(
                    lambda price: planner.at(Loss(price, asked.delta)),
                    planner.bounds,
                    read_bound(str(within)),
                    outputs=outputs,
                    session=session,
                )
            self._rehearse(job)
            return job

    def _answered(self, job: Job, wish: Requester) -> tuple[Job, Answered, Loss]:
        """The job that was answered, what answers it, and what pilots cost, where they found its price.

        A request with an id has its own pilots: sent again, it is given the same, finds the same price, and is free.
        """
        office, paid = self._runner(), NOTHING
        if job.tellings is not None:
            return (*told(office, job, wish), NOTHING)
        for number in itertools.count(1):
            if job.sharper is None:
                break
            its_id = None if wish.request_id is None else f"{wish.request_id} (pilot{f' {number}' * (number > 1)})"
            first = office.answer(job, replace(wish, request_id=its_id))
            with planning():
                sharper = job.sharper(first.members, job.loss.epsilon)  # as if it were paid for now, whenever it was
            if sharper.sharper is None and sharper.loss.epsilon <= job.loss.epsilon:
                office.record(job, wish, first.entry)
                return job, first, paid
            job, paid = sharper, paid + first.cost
        return job, office.answer(job, wish), paid

    def _runner(self) -> JobRunner:
        return JobRunner(self.policy, self._engine, self._ledger, self._source, self._public)

    def _public(self, plan: Plan) -> PublicTables:
        """The values of public tables that serve as domains."""
        values: dict[TableDomain | tuple[TableDomain, ...], tuple[object, ...]] = {}
        asked = (m.measure for m in plan.measurements if isinstance(m.measure, (Mode, Histogram)))
        for domain in (*(key.values for key in plan.keys), *(choice.values for choice in asked)):
            if isinstance(domain, TableDomain):
                values[domain] = self._public_values(domain)
        for block in in_one_row(plan.keys):
            domains = domains_of([plan.keys[index] for index in block])
            if len(block) > 1 and len({domain.table for domain in domains}) == 1:
                values[domains] = self._combinations(domains)
        if plan.groups is not None and listed_groups(plan.keys, values) > plan.groups:
            self._schema.forget()  # nobody has told that the data changed: what was counted in them is of no use
            self._plans = PlanCache()
            raise more_groups()
        return values

    def _count(self, sql: str) -> int:
        """A number that public tables alone decide: it may be read before anything is charged."""
        return int(self._engine.execute(sql).integers("n")[0])

    def _public_values(self, domain: TableDomain) -> tuple[object, ...]:
        result = self._engine.execute(values_of(domain, dialect=self._engine.dialect))
        return tuple(sorted(listed(result.keys("k")), key=str))

    def _combinations(self, domains: tuple[TableDomain, ...]) -> tuple[object, ...]:
        result = self._engine.execute(combinations_of(domains, dialect=self._engine.dialect))
        rows = zip(*(listed(result.keys(f"k{index}")) for index in range(len(domains))), strict=True)
        return tuple(sorted(rows, key=str))

    def _public_table(self, name: str) -> HeldTable:
        """The rows of a public table, to compute with; read once while the data stay as they are."""
        version = data_version(self.policy, self._engine)
        if (name, version) not in self._held:
            self._held = {key: table for key, table in self._held.items() if key[1] == version}
            self._held[name, version] = public_table(self.policy.table(name), self._schema, self._engine)
        return self._held[name, version]

    def balance(self, analyst: str) -> Balance:
        """What is spent and left, for one analyst."""
        who = self.policy.analyst(analyst)
        return self._ledger.balance(self.policy.dataset.name, caps(self.policy, who), analyst=who.name)

    def _left(self, analyst: AnalystPolicy, balance: Balance | None = None) -> Budget | None:
        """What the analyst can still spend: the least of every cap that binds; as the last charge left it, if known."""
        return least_left(balance or self.balance(analyst.name), self.policy)

    def log(self, analyst: str, *, limit: int = 50) -> tuple[Entry, ...]:
        """The newest ledger entries of one analyst."""
        return self._ledger.entries(
            limit=limit, dataset=self.policy.dataset.name, analyst=self.policy.analyst(analyst).name
        )

    def replay(self, entry: Entry) -> Replayed:
        """Plan an entry's question anew, from what the log keeps of it, and price it. Reads no row, charges nothing."""
        job = self._planned_again(entry)
        return replayed(entry, job.hash, job.loss, concentrated(job.event))

    def _planned_again(self, entry: Entry) -> Job:
        questions, session = asked_again(entry)
        if not is_batch(questions):
            with planning():
                return self._planned(*questions[0], session)
        charged = Loss(entry.epsilon or 0, entry.delta or 0)
        return plan_batch(questions, self.policy, schema=self._schema.current(), session=session, price=charged)

    def given(self, entry: str, *, session: Session) -> Release | BatchRelease | None:
        """The answer that one of the analyst's own entries settled, shown again; None where there is no such entry."""
        analyst = self.policy.analyst(session.analyst)
        entries = settled_entries(self._ledger, entry, dataset=self.policy.dataset.name, analyst=analyst.name)
        if entries is None:
            return None
        charged, settled = entries
        job = self._planned_again(charged)
        with showing():
            answered = stored(job, self._ledger, charged=charged, settled=settled)
            show = release_batch if job.is_batch else release
            return show(job, answered, left=self._left(analyst), computing=self._computing)

    def close(self) -> None:
        """Let go of the engine and the ledger."""
        self._engine.close()
        self._ledger.close()
