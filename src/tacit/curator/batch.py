"""A batch through the rooms: planned as a whole, charged once, read, noised, made consistent."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from tacit.core import NOTHING, Budget, Loss, Number, positive, probability
from tacit.curator.answer import answer
from tacit.curator.batch_plan import BatchPlan, Joint, Lone, Piece, Question, plan_batch
from tacit.curator.batch_release import BatchRelease
from tacit.curator.caps import caps
from tacit.curator.execute import execute
from tacit.curator.explain import accuracy_notes, bounding_text, describe, selection_text
from tacit.curator.measure import PublicTables, measure
from tacit.curator.noisy import Noisy, NoisyColumn
from tacit.curator.pricing import Session
from tacit.curator.release import Receipt, Release
from tacit.engines import Engine, Exact
from tacit.errors import EngineError, TacitError
from tacit.ledger import Charge, Keep, Ledger, Replay, Reservation, Shelf
from tacit.mechanisms import Laplace
from tacit.mechanisms.strategy import apply, half_width, row_variances
from tacit.mechanisms.strategy.picks import Floats
from tacit.mechanisms.strategy.plan import bars
from tacit.noise import IntArray, Source
from tacit.policy import AnalystPolicy, Policy, Schema
from tacit.sql import Additive, Counted, Output, Plan, post

Noised = Noisy | tuple[IntArray, ...]  # of a lone question, or the bars of a strategy's parts


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
class _Answered:
    noised: tuple[Noised, ...]
    entry: str
    reused: str | None


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
    price = Loss(positive(epsilon, "epsilon"), 0 if delta is None else probability(delta, "delta"))
    made = plan_batch(questions, desk.policy, schema=desk.schema, session=session, price=price)
    answered = _answered(desk, made, analyst, request_id=request_id)
    return _released(desk, made, answered, left=desk.left(analyst))


def _answered(desk: Desk, made: BatchPlan, analyst: AnalystPolicy, *, request_id: str | None) -> _Answered:
    policy, key = desk.policy, f"batch {made.hash}"
    if policy.budget.reuse and not made.fresh:
        shelf = Shelf(
            dataset=policy.dataset.name,
            policy_version=policy.version,
            data_version=policy.dataset.data_version,
            analyst=analyst.name,
        )
        for kept in desk.ledger.kept(shelf, key=key):
            return _Answered(_from_bytes(desk.ledger.answer(kept), made), kept.hash, "the same batch")
    reserved = desk.ledger.reserve(_charge(made, policy, analyst, request_id), caps(policy, analyst))
    if isinstance(reserved, Replay):
        return _Answered(_from_bytes(reserved.answer, made), reserved.hash, "the same request")
    noised = _read(desk, made, reserved)
    keep = Keep(
        key=key,
        family=key,
        data_version=policy.dataset.data_version,
        audience=None if policy.budget.share_answers else analyst.name,
        facts="{}",
    )
    entry = desk.ledger.settle(reserved, _to_bytes(noised), keep=keep if policy.budget.reuse else None)
    return _Answered(noised, entry, None)


def _charge(made: BatchPlan, policy: Policy, analyst: AnalystPolicy, request_id: str | None) -> Charge:
    return Charge(
        dataset=policy.dataset.name,
        analyst=analyst.name,
        groups=analyst.groups,
        loss=made.loss,
        zcdp=made.zcdp(policy),
        plan_hash=made.hash,
        policy_version=policy.version,
        kind="query",
        request_id=request_id,
        note=f"a batch of {len(made.places)} questions",
    )


def _read(desk: Desk, made: BatchPlan, reserved: Reservation) -> tuple[Noised, ...]:
    """Execute and measure. Whatever fails here stays charged, and says nothing of the data."""
    try:
        return tuple(_measured(desk, piece) for piece in made.pieces)
    except BaseException as error:
        desk.ledger.fail(reserved)
        if isinstance(error, TacitError) or not isinstance(error, Exception):
            raise
    # outside the handler: what went wrong may hold a cell, and would hang on the error as its __context__
    raise EngineError("the batch could not be computed", hint="it stays charged; see the curator's log")


def _measured(desk: Desk, piece: Piece) -> Noised:
    exact = [execute(statement, desk.engine) for statement in piece.plan.statements]
    if isinstance(piece, Lone):
        return measure(piece.plan, exact, public=desk.public(piece.plan), source=desk.source)
    return piece.noise.release(_classes(piece, exact[0]), desk.source)


def _classes(joint: Joint, exact: Exact) -> IntArray:
    """The histogram over the classes that the questions tell apart."""
    counts = np.zeros(joint.cells.workload.sizes, dtype=np.int64)
    known = np.ones(exact.rows, dtype=bool)
    places = []
    for axis, (key, classes) in enumerate(zip(joint.plan.keys, joint.cells.classes, strict=True)):
        values: tuple[object, ...] = key.values if isinstance(key.values, tuple) else ()
        listed = dict(zip(values, classes.tolist(), strict=True))
        place = np.array([listed.get(value, -1) for value in exact.keys(f"k{axis}")], dtype=np.int64)
        known &= place >= 0
        places.append(place)
    column = exact.integers(joint.plan.measurements[0].column)
    np.add.at(counts, tuple(place[known] for place in places), column[known])
    return counts


def _to_bytes(noised: Sequence[Noised]) -> bytes:
    plain = [
        {"alone": each.to_bytes().decode("ascii")}
        if isinstance(each, Noisy)
        else {"parts": [values.ravel().tolist() for values in each]}
        for each in noised
    ]
    return json.dumps(plain).encode("ascii")


def _from_bytes(data: bytes, made: BatchPlan) -> tuple[Noised, ...]:
    found: list[Noised] = []
    for item, piece in zip(json.loads(data), made.pieces, strict=True):
        if isinstance(piece, Lone):
            found.append(Noisy.from_bytes(item["alone"].encode("ascii")))
            continue
        strategy = piece.noise.strategy
        shapes = [bars(strategy.chains, part.levels) for part in strategy.parts]
        found.append(
            tuple(
                np.array(values, dtype=np.int64).reshape(shape)
                for values, shape in zip(item["parts"], shapes, strict=True)
            )
        )
    return tuple(found)


# ── what leaves ──────────────────────────────────────────────────────────────────────────────────────────────────────


def _released(desk: Desk, made: BatchPlan, answered: _Answered, *, left: Budget | None) -> BatchRelease:
    cost = NOTHING if answered.reused else made.loss
    estimates = [
        piece.noise.cells(noised) if isinstance(piece, Joint) and not isinstance(noised, Noisy) else None
        for piece, noised in zip(made.pieces, answered.noised, strict=True)
    ]
    answers = []
    for place, member in made.places:
        piece, noised, cells = made.pieces[place], answered.noised[place], estimates[place]
        receipt = _receipt(desk, made, piece, entry=answered.entry)
        if isinstance(piece, Joint) and cells is not None:
            columns, rows, errors = _derived(piece, member, cells)
            notes = (*piece.members[member].notes, *_joint_notes(piece))
            confidence = piece.members[member].confidence
        elif isinstance(noised, Noisy):
            table = answer(piece.plan, noised)
            columns, rows, errors = table.columns, table.rows, table.errors
            notes, confidence = _lone_notes(piece.plan), piece.plan.confidence
        else:
            raise EngineError("an answer does not fit its plan")
        shared = f"one of {len(made.places)} questions of a batch, which is charged once"
        answers.append(
            Release(columns, rows, errors, confidence, cost, left, answered.reused, (*notes, shared), receipt)
        )
    whole = Receipt(
        plan=made.hash,
        policy=desk.policy.version,
        entry=answered.entry,
        guarantee=f"{made.loss} for {_units(made)}, for the whole batch",
        unit=_units(made),
        mechanisms=tuple(text for piece in made.pieces for text in _mechanisms(piece)),
    )
    return BatchRelease(tuple(answers), cost, left, answered.reused, strategies(made), whole)


def strategies(made: BatchPlan) -> tuple[str, ...]:
    """How the questions are answered, a line for each workload and one for all the others."""
    lines = [
        f"{len(piece.members)} questions together, by {piece.noise.strategy}, for {piece.loss}"
        for piece in made.pieces
        if isinstance(piece, Joint)
    ]
    alone = [piece.plan.loss for piece in made.pieces if isinstance(piece, Lone)]
    if alone:
        count = f"{len(alone)} question{'s' if len(alone) > 1 else ''} alone"
        lines.append(f"{count}, for {sum(alone, Loss(0))}")
    return tuple(lines)


def _derived(
    joint: Joint, member: int, cells: Floats
) -> tuple[tuple[str, ...], tuple[tuple[object, ...], ...], tuple[tuple[float | None, ...], ...]]:
    """One question's columns, rows and half-widths from the estimate of the cells.

    The half-widths travel as one more column, so that HAVING, ORDER BY and LIMIT treat them like the rows they are of.
    """
    made, noise, block = joint.members[member], joint.noise, joint.cells.workload.blocks[member]
    axes = joint.cells.keys[member]
    order = (*axes, *(axis for axis in range(len(block)) if axis not in axes))
    step = float(joint.plan.measurements[0].step)
    values = apply(block, cells).transpose(order).ravel() * step
    variances = row_variances(block, noise.strategy, noise.variances).transpose(order).ravel() * step**2
    widths = half_width(variances, noise=noise.noises[0], confidence=made.confidence)
    number = Additive("count", Counted.VALUES)  # a number with decimals: rounded, answers would no longer add up
    first = replace(made.measurements[0], measure=number)
    columns = tuple(NoisyColumn(number.signature, Fraction(1), values=column) for column in (values, widths))
    keys = [key.values for key in made.keys if isinstance(key.values, tuple)]
    shown = replace(made, measurements=(first, first), outputs=(*made.outputs, Output("half-width", value=post.Ref(1))))
    table = answer(shown, Noisy(tuple(itertools.product(*keys)), columns, private_keys=False))
    counted = [out.value is not None for out in made.outputs]
    errors = tuple(tuple(float(str(row[-1])) or None if noisy else None for noisy in counted) for row in table.rows)
    return table.columns[:-1], tuple(row[:-1] for row in table.rows), errors


def _joint_notes(joint: Joint) -> tuple[str, ...]:
    together = f"answered with {len(joint.members) - 1} other questions, by {joint.noise.strategy}"
    consistent = "made consistent by least squares: answers that should add up do"
    return (together, consistent, f"counts {bounding_text(joint.plan)}, a cell being a group")


def _lone_notes(made: Plan) -> tuple[str, ...]:
    notes = [*made.notes, *accuracy_notes(made), f"counts {bounding_text(made)}"]
    chosen = selection_text(made)
    return (*notes, f"keys are {chosen}; keys below it are left out") if chosen is not None else tuple(notes)


def _receipt(desk: Desk, made: BatchPlan, piece: Piece, *, entry: str) -> Receipt:
    return Receipt(
        plan=made.hash,
        policy=desk.policy.version,
        entry=entry,
        guarantee=f"{made.loss} for {piece.plan.unit}, for the whole batch",
        unit=str(piece.plan.unit),
        mechanisms=tuple(_mechanisms(piece)),
    )


def _mechanisms(piece: Piece) -> list[str]:
    if isinstance(piece, Lone):
        return [describe(measurement) for measurement in piece.plan.measurements]
    step = float(piece.plan.measurements[0].step)
    moved = f"sensitivity {piece.plan.measurements[0].l1 * step:,.6g} each"
    sizes = [float(n.scale if isinstance(n, Laplace) else n.sigma) * step for n in piece.noise.noises]
    law = "Laplace of scale" if isinstance(piece.noise.noises[0], Laplace) else "Gaussian of sigma"
    span = f"{min(sizes):,.6g}" if min(sizes) == max(sizes) else f"{min(sizes):,.6g} to {max(sizes):,.6g}"
    return [f"{piece.noise.strategy}: {law} {span}, {moved}"]


def _units(made: BatchPlan) -> str:
    return "; ".join(dict.fromkeys(str(piece.plan.unit) for piece in made.pieces))
