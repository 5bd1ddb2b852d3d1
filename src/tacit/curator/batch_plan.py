"""Several questions priced together: bound, planned, and given their shares of one price."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from tacit.core import ComposedEvent, Event, Loss
from tacit.curator.batch_pieces import Fits, Joint, Maker, Piece
from tacit.curator.pricing import Session, check_limit
from tacit.errors import InvalidParameter, QueryRefused
from tacit.policy import Policy, Schema
from tacit.sql import BoundQuery, DefaultPrice, Parameters, Planner, bind, parse
from tacit.sql.planning_budget import MOST_IN_BATCH, PlanningBudget
from tacit.sql.planning_work import check_work
from tacit.sql.workload import fitting, joined

MAX_QUESTIONS = 2_000

_T = TypeVar("_T")
_R = TypeVar("_R")
Question = str | tuple[str, Parameters]


@dataclass(frozen=True, slots=True)
class BatchPlan:
    """What will run and be paid. `places`: for each question its piece, and which of the piece's members it is."""

    pieces: tuple[Piece, ...]
    places: tuple[tuple[int, int], ...]
    loss: Loss
    fresh: bool
    policy_version: str

    hash: str = field(init=False)  # the same for batches that run, charge and answer alike

    def __post_init__(self) -> None:
        parts = ["batch", self.policy_version, str(self.loss), str(self.places)]
        for piece in self.pieces:
            parts.append(piece.plan.hash)
            if isinstance(piece, Joint):
                parts += [str(piece.noises), *(member.hash for member in piece.members)]
        object.__setattr__(self, "hash", hashlib.sha256("\x1f".join(parts).encode()).hexdigest())

    @property
    def event(self) -> Event:
        """What an accountant needs to know of it: what all its pieces do."""
        return ComposedEvent(tuple((piece.event, 1) for piece in self.pieces))


def plan_batch(
    questions: Sequence[Question], policy: Policy, *, schema: Schema, session: Session, price: Loss
) -> BatchPlan:
    """Bind and plan every question; each of them has an equal share of the price. Touches no data.

    A workload has the shares of all its questions. Within one, and among questions that would have shared one but are
    better off alone, the budget is split for the least sum of squared errors.
    """
    return made_batch(batch_maker(questions, policy, schema=schema, session=session, price=price))


def batch_maker(
    questions: Sequence[Question], policy: Policy, *, schema: Schema, session: Session, price: Loss
) -> Maker:
    """The questions, bound, each of them planned at the price of all."""
    check_questions(questions)
    if not 1 <= len(questions) <= MAX_QUESTIONS:
        raise QueryRefused(f"a batch has 1 to {MAX_QUESTIONS:,} questions: it has {len(questions):,}")
    check_limit(price.epsilon, policy)
    budget = PlanningBudget(MOST_IN_BATCH)
    bounds = _numbered(questions, lambda question: _bound(question, policy, schema, budget))
    private = any(not key.is_public for bound in bounds for key in bound.keys)
    if private and price.is_pure:
        price = Loss(price.epsilon, session.delta or policy.budget.default_delta or 0)
    planners = [Planner(bound, policy) for bound in bounds]
    whole = _numbered(planners, lambda planner: planner.at(price))
    return Maker(planners, whole, policy, price, _fits(bounds))


def made_batch(maker: Maker) -> BatchPlan:
    """What will run and be paid."""
    pieces, places = maker.made()
    fresh = any(bound.query.fresh for bound in maker.bounds)
    return BatchPlan(pieces, places, maker.price, fresh, maker.policy.version)


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
