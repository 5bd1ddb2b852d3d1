"""Jobs, planned: one question, several for one price, or the grouping sets of a statement. Touches no data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from tacit.core import Loss, Number, positive, probability
from tacit.core.rational import MAX_EXPONENT
from tacit.curator.job import Job, alone
from tacit.curator.pieces import Fits, Lone, Maker
from tacit.curator.pricing import Session, check_limit
from tacit.errors import InvalidParameter, QueryRefused
from tacit.policy import Policy, Schema
from tacit.sql import BoundQuery, DefaultPrice, Parameters, Planner, bind, parse
from tacit.sql.parsing.planning_budget import MOST_IN_BATCH, PlanningBudget
from tacit.sql.planning.work import check_work
from tacit.sql.workloads.sets import SetQuestions, set_questions
from tacit.sql.workloads.workload import fitting, joined

MAX_QUESTIONS = 2_000

_T = TypeVar("_T")
_R = TypeVar("_R")
Question = str | tuple[str, Parameters]


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
    """Several questions, bound once, to be planned at any price of them all."""

    def __init__(self, questions: Sequence[Question], policy: Policy, *, schema: Schema, session: Session) -> None:
        check_questions(questions)
        if not 1 <= len(questions) <= MAX_QUESTIONS:
            raise QueryRefused(f"a batch has 1 to {MAX_QUESTIONS:,} questions: it has {len(questions):,}")
        budget = PlanningBudget(MOST_IN_BATCH)
        self.bounds = _numbered(questions, lambda question: _bound(question, policy, schema, budget))
        self._policy = policy
        self._planners = [Planner(bound, policy) for bound in self.bounds]
        private = any(not key.is_public for bound in self.bounds for key in bound.keys)
        self._delta = (session.delta or policy.budget.default_delta or 0) if private else 0
        self._fits = _fits(self.bounds)

    def at(self, price: Loss) -> Job:
        """The job at one price. Private keys need a delta: where none is given, that of the session or the policy."""
        check_limit(price.epsilon, self._policy)
        whole_price = Loss(price.epsilon, self._delta) if price.is_pure else price
        whole = _numbered(self._planners, lambda planner: planner.at(whole_price))
        return _made(Maker(self._planners, whole, self._policy, whole_price, self._fits))


class SetsPlanner:
    """The grouping sets of one statement, to be planned at any price.

    Each set is a measurement of its own, or one of a workload; their losses add up to the price. Sets over listed keys
    whose numbers are sums share one histogram of all their keys. The others have the split of the rest with the least
    sum of squared errors, each number counted in units of its own mean error.
    """

    def __init__(self, bound: BoundQuery, policy: Policy) -> None:
        self._policy = policy
        self._sets = questions = set_questions(bound)
        self._fits = Fits(
            kinds=questions.kinds,
            names={place: questions.names(place) for place in questions.kinds},
            joined=questions.joined,
        )
        self._planners = [Planner(each, policy) for each in questions.bounds]

    def at(self, price: Loss) -> Job:
        """The job at one price."""
        whole = [planner.at(price) for planner in self._planners]
        maker = Maker(self._planners, whole, self._policy, price, self._fits, alike=True)
        return _made(maker, sets=self._sets)


def plan_sets(bound: BoundQuery, policy: Policy, *, price: Loss) -> Job:
    """Plan every set of a statement."""
    return SetsPlanner(bound, policy).at(price)


def _made(maker: Maker, *, sets: SetQuestions | None = None) -> Job:
    pieces, places = maker.made()
    return Job(
        bounds=tuple(maker.bounds),
        pieces=pieces,
        places=places,
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
    found = {place: fit for place, bound in enumerate(bounds) if (fit := fitting(bound)) is not None}
    return Fits(
        kinds={place: fit.kind for place, fit in found.items()},
        names={place: frozenset(fit.lines) for place, fit in found.items()},
        joined=lambda places: joined([found[place] for place in places]),
    )


def check_questions(questions: object) -> None:
    """Refuse what is no list of questions: each is a text, or a text and its parameters."""
    hint = 'db.batch(["SELECT …", ("SELECT … WHERE age > ?", [30])], epsilon=1)'
    if not isinstance(questions, Sequence) or isinstance(questions, (str, bytes)):
        raise InvalidParameter("a batch is a list of questions", hint=hint)
    for place, question in enumerate(questions, 1):
        pair = isinstance(question, tuple) and len(question) == 2 and isinstance(question[0], str)
        if not pair and not isinstance(question, str):
            raise InvalidParameter(f"question {place} is neither a text nor a text and its parameters", hint=hint)


def _bound(question: Question, policy: Policy, schema: Schema, budget: PlanningBudget) -> BoundQuery:
    text, parameters = (question, ()) if isinstance(question, str) else question
    query = parse(text, parameters)
    if query.explain or not isinstance(query.price, DefaultPrice) or query.delta is not None:
        raise QueryRefused(
            "a question of a batch has no price of its own: the batch has one", hint="write a plain SELECT …"
        )
    try:
        bound = bind(query, policy, schema=schema)
    except RecursionError:
        raise QueryRefused("the query is nested too deeply") from None
    if bound.sets is not None:
        raise QueryRefused(
            "ROLLUP, CUBE and GROUPING SETS are refused in a batch: each of them is one already",
            hint="ask it on its own, or write a question for each set",
        )
    check_work(bound)
    check_work(bound, budget)
    return bound


def _numbered(items: Sequence[_T], act: Callable[[_T], _R]) -> list[_R]:
    """`act` on every item; a refusal says which question it is of."""
    found = []
    for place, item in enumerate(items, 1):
        try:
            found.append(act(item))
        except QueryRefused as error:
            raise type(error)(f"question {place}: {error.message}", hint=error.hint) from None
    return found
