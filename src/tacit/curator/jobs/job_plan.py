"""Jobs, planned: one question, several for one price, or the grouping sets of a statement. Touches no data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypedDict, TypeVar

from tacit.core import Loss, Number, positive, probability
from tacit.core.rational import MAX_EXPONENT
from tacit.curator.jobs.job import Asked, Job, alone
from tacit.curator.jobs.pieces import Fits, Lone, Maker
from tacit.curator.jobs.pricing import Session, check_limit
from tacit.errors import InvalidParameter, QueryRefused
from tacit.policy import Policy, Schema
from tacit.sql import BoundQuery, BoundStatement, DefaultPrice, Parameters, Planner, bind_statement, parse
from tacit.sql.parsing.planning_budget import MOST_IN_BATCH, PlanningBudget
from tacit.sql.planning.stability import refuse_unbounded
from tacit.sql.planning.work import check_work
from tacit.sql.workloads.sets import SetQuestions, set_questions
from tacit.sql.workloads.workload import fitting, joined

MAX_QUESTIONS = 2_000

_T = TypeVar("_T")
_R = TypeVar("_R")
Question = str | tuple[str, Parameters]


class BatchPrice(TypedDict, total=False):
    """What a batch costs: `epsilon`, or the least whose errors are `within`; and the delta of it."""

    epsilon: Number | None
    within: Number | str | None
    delta: Number | None


class BatchOptions(BatchPrice, total=False):
    """What may be said of a batch beside its questions: its price or its accuracy, and how it is asked."""

    request_id: str | None
    fresh: bool


def plan_alone(planner: Planner, price: Loss) -> Job:
    """The job of one question."""
    return alone(planner.bound, Lone(planner.at(price)))


def plan_batch(questions: Sequence[Question], policy: Policy, *, schema: Schema, session: Session, price: Loss) -> Job:
    """Bind and plan every question; each of them has an equal share of the price.

    A workload has the shares of all its questions. Within one, and among questions that would have shared one but are
    better off alone, the budget is split for the least sum of squared errors.
    """
    return BatchPlanner(questions, policy, schema=schema, session=session).at(price)


class BatchPlanner:
    """Several statements, bound once, to be planned at any price of them all."""

    def __init__(self, questions: Sequence[Question], policy: Policy, *, schema: Schema, session: Session) -> None:
        check_questions(questions)
        if not 1 <= len(questions) <= MAX_QUESTIONS:
            raise QueryRefused(f"a batch has 1 to {MAX_QUESTIONS:,} questions: it has {len(questions):,}")
        budget = PlanningBudget(MOST_IN_BATCH)
        statements = _numbered(questions, lambda question: _bound(question, policy, schema, budget))
        self._policy, self._session, self._statements = policy, session, statements
        self._shared = SharedPlanner(statements, policy, session=session)
        self.bounds = self._shared.bounds

    def at(self, price: Loss) -> Job:
        """The job at one price."""
        return replace(self._shared.at(price), is_batch=True, narrower=self._some)

    def _some(self, statements: Sequence[int], price: Loss) -> Job:
        """The job of some of the statements."""
        some = [self._statements[index] for index in statements]
        return replace(SharedPlanner(some, self._policy, session=self._session).at(price), is_batch=True)


class SharedPlanner:
    """The questions of several statements, or of one, that share a price.

    Each has an equal share of it; a workload has the shares of all its questions. The same measurements are taken once.
    """

    def __init__(self, statements: Sequence[BoundStatement], policy: Policy, *, session: Session) -> None:
        self.bounds = [bound for statement in statements for bound in statement.questions]
        for bound in self.bounds:
            refuse_unbounded(bound, shared="a price that it shares with other questions")
        self._policy, self._statements = policy, statements
        self._planners = [Planner(bound, policy) for bound in self.bounds]
        private = any(not key.is_public for bound in self.bounds for key in bound.keys)
        self._delta = (session.delta or policy.budget.default_delta or 0) if private else 0
        self._fits = _fits(self.bounds)

    def at(self, price: Loss) -> Job:
        """The job at one price. Private keys need a delta: where none is given, that of the session or the policy."""
        check_limit(price.epsilon, self._policy)
        whole_price = Loss(price.epsilon, self._delta) if price.is_pure else price
        whole = _numbered(self._planners, lambda planner: planner.at(whole_price))
        job = _job(Maker(self._planners, whole, self._policy, whole_price, self._fits))
        return computing(job, self._statements)


def computing(job: Job, statements: Sequence[BoundStatement]) -> Job:
    """The same job, with what is computed from its answers, if anything is."""
    if all(statement.over is None for statement in statements):
        return job
    asked, start = [], 0
    for statement in statements:
        count = len(job.bounds) if job.sets is not None else len(statement.questions)
        asked.append(Asked(statement.query, tuple(range(start, start + count)), statement.over))
        start += count
    return replace(job, asked=tuple(asked))


class SetsPlanner:
    """The grouping sets of one statement, to be planned at any price.

    Each set is a measurement of its own, or one of a workload; their losses add up to the price. Sets over listed keys
    whose numbers are sums share one histogram of all their keys. The others have the split of the rest with the least
    sum of squared errors, each number counted in units of its own mean error.
    """

    def __init__(self, bound: BoundQuery, policy: Policy) -> None:
        refuse_unbounded(bound)
        self._policy = policy
        self._sets = questions = set_questions(bound)
        self._fits = Fits(
            kinds=questions.kinds,
            names={index: questions.names(index) for index in questions.kinds},
            joined=questions.joined,
        )
        self._planners = [Planner(each, policy) for each in questions.bounds]

    def at(self, price: Loss) -> Job:
        """The job at one price."""
        whole = [planner.at(price) for planner in self._planners]
        maker = Maker(self._planners, whole, self._policy, price, self._fits, alike=True)
        return _job(maker, sets=self._sets)


def _job(maker: Maker, *, sets: SetQuestions | None = None) -> Job:
    pieces, piece_of = maker.pieces()
    return Job(
        bounds=tuple(maker.bounds),
        pieces=pieces,
        piece_of=piece_of,
        loss=maker.price,
        policy_version=maker.policy.version,
        maker=maker,
        sets=sets,
    )


def asked_price(epsilon: Number, delta: Number | None) -> Loss:
    """The price of a batch, as it is named."""
    asked = positive(epsilon, "epsilon")
    if asked >= 10**MAX_EXPONENT:
        raise InvalidParameter("epsilon is too large a number", hint=f"stay below 1e{MAX_EXPONENT}")
    return Loss(asked, 0 if delta is None else probability(delta, "delta"))


def _fits(bounds: Sequence[BoundQuery]) -> Fits:
    fits = {index: fit for index, bound in enumerate(bounds) if (fit := fitting(bound)) is not None}
    return Fits(
        kinds={index: fit.kind for index, fit in fits.items()},
        names={index: frozenset(fit.lines) for index, fit in fits.items()},
        joined=lambda indices: joined([fits[index] for index in indices]),
    )


def check_questions(questions: object) -> None:
    """Refuse what is no list of questions: each is a text, or a text and its parameters."""
    hint = 'db.batch(["SELECT …", ("SELECT … WHERE age > ?", [30])], epsilon=1)'
    if not isinstance(questions, Sequence) or isinstance(questions, (str, bytes)):
        raise InvalidParameter("a batch is a list of questions", hint=hint)
    for index, question in enumerate(questions, 1):
        pair = isinstance(question, tuple) and len(question) == 2 and isinstance(question[0], str)
        if not pair and not isinstance(question, str):
            raise InvalidParameter(f"question {index} is neither a text nor a text and its parameters", hint=hint)


def _bound(question: Question, policy: Policy, schema: Schema, budget: PlanningBudget) -> BoundStatement:
    text, parameters = (question, ()) if isinstance(question, str) else question
    query = parse(text, parameters)
    if query.explain or not isinstance(query.price, DefaultPrice) or query.delta is not None:
        raise QueryRefused(
            "a question of a batch has no price of its own: the batch has one", hint="write a plain SELECT …"
        )
    try:
        statement = bind_statement(query, policy, schema=schema)
    except RecursionError:
        raise QueryRefused("the query is nested too deeply") from None
    if any(bound.sets is not None for bound in statement.questions):
        raise QueryRefused(
            "ROLLUP, CUBE and GROUPING SETS are refused in a batch: each of them is one already",
            hint="ask it on its own, or write a question for each set",
        )
    for bound in statement.questions:
        check_work(bound, budget)
    return statement


def _numbered(items: Sequence[_T], act: Callable[[_T], _R]) -> list[_R]:
    """`act` on every item; a refusal says which question it is of."""
    results = []
    for index, item in enumerate(items, 1):
        try:
            results.append(act(item))
        except QueryRefused as error:
            raise type(error)(f"question {index}: {error.message}", hint=error.hint) from None
    return results
