"""A batch through the rooms: planned as a whole, charged once, read, noised, made consistent."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from tacit.core import NOTHING, Budget, Loss, Number, positive, probability
from tacit.core.rational import MAX_EXPONENT
from tacit.curator.answer import answer
from tacit.curator.batch_pieces import Joint, Lone, Piece
from tacit.curator.batch_plan import BatchPlan, Question, batch_maker, made_batch
from tacit.curator.batch_release import BatchRelease
from tacit.curator.batch_shown import Answered, Noised, answers_of, mechanisms, notes_of, strategies, units
from tacit.curator.caps import caps
from tacit.curator.execute import execute
from tacit.curator.inquiry import inquiry
from tacit.curator.measure import PublicTables, encoded, listed, measure
from tacit.curator.noisy import Noisy, noisy_numbers
from tacit.curator.paid import paid
from tacit.curator.pricing import Session, concentrated
from tacit.curator.release import Receipt, Release
from tacit.curator.reuse import age_note, data_version
from tacit.curator.unexpected import planning, showing
from tacit.engines import Engine, Exact, State, one_state
from tacit.errors import InvalidParameter
from tacit.ledger import Charge, Inquiry, Keep, Ledger, Replay, Reservation, Shelf
from tacit.mechanisms.strategy.plan import bars
from tacit.noise import IntArray, Source, WideArray
from tacit.policy import AnalystPolicy, Policy, Schema
from tacit.sql import Plan
from tacit.sql.bounding import is_wide_noise


@dataclass(frozen=True, slots=True)
class Desk:
    """What a curator lends to a batch."""

    policy: Policy
    schema: Schema
    engine: Engine
    ledger: Ledger
    source: Source
    public: Callable[[Plan], PublicTables]
    left: Callable[[AnalystPolicy], Budget | None]


@dataclass(frozen=True, slots=True)
class Asking:
    """Under which key the answers are kept, what the ledger notes, and what it is called when they are used again."""

    key: str
    plan: str  # the hash of what runs, is charged and is shown
    note: str
    again: str
    request_id: str | None
    inquiry: Inquiry


def ask_batch(
    desk: Desk,
    questions: Sequence[Question],
    *,
    session: Session,
    epsilon: Number,
    delta: Number | None,
    request_id: str | None,
) -> BatchRelease:
    """Answer every question for one price. Raises QueryRefused and BudgetExceeded, at no charge."""
    analyst = desk.policy.analyst(session.analyst)
    price = asked_price(epsilon, delta)
    with planning():
        maker = batch_maker(questions, desk.policy, schema=desk.schema, session=session, price=price)
        made = made_batch(maker)
        words = [question if isinstance(question, str) else question[0] for question in questions]
        said = inquiry([bound.query for bound in maker.bounds], desk.policy, loss=None, words=words)
    note = f"a batch of {len(made.places)} questions"
    asked = Asking(f"batch {made.hash}", made.hash, note, "the same batch", request_id, said)
    answered = answered_batch(desk, made, analyst, asked=asked)
    with showing():
        return _released(desk, made, answered, left=desk.left(analyst))


def asked_price(epsilon: Number, delta: Number | None) -> Loss:
    """The price of a batch, as it is named."""
    asked = positive(epsilon, "epsilon")
    if asked >= 10**MAX_EXPONENT:
        raise InvalidParameter("epsilon is too large a number", hint=f"stay below 1e{MAX_EXPONENT}")
    return Loss(asked, 0 if delta is None else probability(delta, "delta"))


def answered_batch(desk: Desk, made: BatchPlan, analyst: AnalystPolicy, *, asked: Asking) -> Answered:
    """Kept answers, or new ones: charged, read and noised, in this order."""
    policy = desk.policy
    version = data_version(policy, desk.engine)
    if policy.budget.reuse and not made.fresh:
        shelf = Shelf(
            dataset=policy.dataset.name,
            policy_version=policy.version,
            data_version=version,
            analyst=analyst.name,
        )
        for kept in desk.ledger.kept(shelf, key=asked.key):
            age = age_note(kept.at, watched=version != policy.dataset.data_version)
            return Answered(_from_bytes(desk.ledger.answer(kept), made), kept.hash, asked.again, age)
    reserved = desk.ledger.reserve(_charge(made, policy, analyst, asked), caps(policy, analyst))
    if isinstance(reserved, Replay):
        return Answered(_from_bytes(reserved.answer, made), reserved.hash, "the same request")
    noised = _read(desk, made, reserved)
    keep = Keep(
        key=asked.key,
        family=asked.key,
        data_version=version,
        audience=None if policy.budget.share_answers else analyst.name,
        facts="{}",
    )
    entry = desk.ledger.settle(reserved, _to_bytes(noised), keep=keep if policy.budget.reuse else None)
    return Answered(noised, entry, None)


def _charge(made: BatchPlan, policy: Policy, analyst: AnalystPolicy, asked: Asking) -> Charge:
    return Charge(
        dataset=policy.dataset.name,
        analyst=analyst.name,
        groups=analyst.groups,
        loss=made.loss,
        zcdp=concentrated(made.event),
        plan_hash=asked.plan,
        policy_version=policy.version,
        kind="query",
        request_id=asked.request_id,
        note=asked.note,
        asked=asked.inquiry,
    )


def _read(desk: Desk, made: BatchPlan, reserved: Reservation) -> tuple[Noised, ...]:
    """Execute and measure. Whatever fails here stays charged, and says nothing of the data."""

    def read() -> tuple[Noised, ...]:
        with one_state(desk.engine) as state:
            return tuple(_measured(desk, piece, state) for piece in made.pieces)

    return paid(desk.ledger, reserved, read, what="the batch")


def _measured(desk: Desk, piece: Piece, state: State) -> Noised:
    exact = [execute(statement, state) for statement in piece.plan.statements]
    if isinstance(piece, Lone):
        return measure(piece.plan, exact, public=desk.public(piece.plan), source=desk.source)
    return tuple(
        noise.release(histogram, desk.source)
        for noise, histogram in zip(piece.noises, _histograms(piece, exact[0]), strict=True)
    )


def _histograms(joint: Joint, exact: Exact) -> list[IntArray | WideArray]:
    """Of each measurement the histogram over the classes that the questions tell apart."""
    known = np.ones(exact.rows, dtype=bool)
    places = []
    for axis, (key, classes) in enumerate(zip(joint.plan.keys, joint.cells.classes, strict=True)):
        found = dict(zip(encoded(key, {}), classes.tolist(), strict=True))
        place = np.array([found.get(value, -1) for value in listed(exact.keys(f"k{axis}"))], dtype=np.int64)
        known &= place >= 0
        places.append(place)
    histograms: list[IntArray | WideArray] = []
    for measurement, noise in zip(joint.plan.measurements, joint.noises, strict=True):
        wide = measurement.wide or any(map(is_wide_noise, noise.noises))
        column = exact.wide(measurement.column) if wide else exact.integers(measurement.column)
        cells: IntArray | WideArray
        cells = np.zeros(joint.cells.workload.sizes, dtype=object if wide else np.int64)
        np.add.at(cells, tuple(place[known] for place in places), column[known])
        histograms.append(cells)
    return histograms


def _to_bytes(noised: Sequence[Noised]) -> bytes:
    plain = [
        {"alone": each.to_bytes().decode("ascii")}
        if isinstance(each, Noisy)
        else {"parts": [[values.ravel().tolist() for values in parts] for parts in each]}
        for each in noised
    ]
    return json.dumps(plain).encode("ascii")


def _from_bytes(data: bytes, made: BatchPlan) -> tuple[Noised, ...]:
    found: list[Noised] = []
    for item, piece in zip(json.loads(data), made.pieces, strict=True):
        if isinstance(piece, Lone):
            found.append(Noisy.from_bytes(item["alone"].encode("ascii")))
            continue
        shapes = [bars(piece.strategy.chains, part.levels) for part in piece.strategy.parts]
        found.append(
            tuple(
                tuple(noisy_numbers(values).reshape(shape) for values, shape in zip(parts, shapes, strict=True))
                for parts in item["parts"]
            )
        )
    return tuple(found)


# ── what leaves ──────────────────────────────────────────────────────────────────────────────────────────────────────


def _released(desk: Desk, made: BatchPlan, answered: Answered, *, left: Budget | None) -> BatchRelease:
    cost = NOTHING if answered.reused else made.loss
    shared = f"one of {len(made.places)} questions of a batch, which is charged once"
    answers = []
    for (place, _), (shown, noisy) in zip(made.places, answers_of(made, answered), strict=True):
        piece = made.pieces[place]
        table = answer(shown, noisy)
        notes = (*notes_of(piece), shared, *answered.ages)
        if isinstance(piece, Joint):
            notes = (*shown.notes, *notes)
        receipt = _receipt(desk, made, piece, entry=answered.entry)
        answers.append(
            Release(
                table.columns, table.rows, table.errors, shown.confidence, cost, left, answered.reused, notes, receipt
            )
        )
    whole = Receipt(
        plan=made.hash,
        policy=desk.policy.version,
        entry=answered.entry,
        guarantee=f"{made.loss} for {units(made)}, for the whole batch",
        unit=units(made),
        mechanisms=tuple(text for piece in made.pieces for text in mechanisms(piece)),
    )
    return BatchRelease(tuple(answers), cost, left, answered.reused, strategies(made), whole)


def _receipt(desk: Desk, made: BatchPlan, piece: Piece, *, entry: str) -> Receipt:
    return Receipt(
        plan=made.hash,
        policy=desk.policy.version,
        entry=entry,
        guarantee=f"{made.loss} for {piece.plan.unit}, for the whole batch",
        unit=str(piece.plan.unit),
        mechanisms=tuple(mechanisms(piece)),
    )
