"""A statement with ROLLUP, CUBE or GROUPING SETS: its sets are priced as a batch, and leave as one answer."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from tacit.core import NOTHING, Loss
from tacit.curator.batch import Asking, Desk, answered_batch
from tacit.curator.batch_explain import gains, priced
from tacit.curator.batch_pieces import Fits, Joint, Maker
from tacit.curator.batch_plan import BatchPlan, made_batch
from tacit.curator.batch_shown import answers_of, mechanisms, strategies, units
from tacit.curator.explain import (
    Explanation,
    accuracy_notes,
    bounding_text,
    exact_outputs,
    nominal_notes,
    selection_text,
)
from tacit.curator.grouping_rows import one_table, resolved
from tacit.curator.inquiry import inquiry
from tacit.curator.release import Receipt, Release
from tacit.curator.unexpected import showing
from tacit.errors import QueryRefused
from tacit.policy import AnalystPolicy, Policy
from tacit.sql import BoundQuery, Planner, WithinError
from tacit.sql.workload_sets import SetQuestions, set_questions

_SAME_ROWS = "every set counts the same rows: those with a value in the domain of each public key"


@dataclass(frozen=True, slots=True)
class SetsPlan:
    """What will run and be paid: each set, once, is a question of `batch`."""

    bound: BoundQuery
    questions: SetQuestions
    maker: Maker
    batch: BatchPlan

    @property
    def loss(self) -> Loss:
        """The price of the statement."""
        return self.batch.loss

    @property
    def hash(self) -> str:
        """The same for statements that run, charge and answer alike."""
        bound = self.bound
        order = [(item.output.name, item.output.key, item.output.value, item.descending) for item in bound.order]
        outputs = [(out.name, out.key, out.value) for out in bound.outputs]
        shown = map(str, (bound.sets, outputs, bound.having, order, bound.limit, bound.offset))
        return _digest(self.batch.hash, *shown)

    @property
    def key(self) -> str:
        """The same for statements with the same noised numbers, whatever they show, filter or order of them."""
        parts = [str(self.loss), self.batch.policy_version]
        for piece in self.batch.pieces:
            noise = piece.noises if isinstance(piece, Joint) else [m.noise for m in piece.plan.measurements]
            parts += [piece.plan.key, str(noise), str(piece.plan.selection)]
        parts += [str(self.batch.places), *(member.key for member in self.maker.whole)]
        return f"sets {_digest(*parts)}"


def _digest(*parts: str) -> str:
    return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()


def plan_sets(bound: BoundQuery, policy: Policy, *, price: Loss) -> SetsPlan:
    """Plan every set; touches no data.

    Each is a measurement of its own, or one of a workload; their losses add up to the price. Sets over listed keys
    whose numbers are sums share one histogram of all their keys. The others have the split of the rest with the least
    sum of squared errors, each number counted in units of its own mean error.
    """
    questions = set_questions(bound)
    fits = Fits(
        kinds=questions.kinds,
        names={place: questions.names(place) for place in questions.kinds},
        joined=questions.joined,
    )
    planners = [Planner(each, policy) for each in questions.bounds]
    whole = [planner.at(price) for planner in planners]
    maker = Maker(planners, whole, policy, price, fits, alike=True)
    return SetsPlan(bound, questions, maker, made_batch(maker))


def refuse_within(bound: BoundQuery) -> None:
    """The least price of several sets is not looked for."""
    if bound.sets is not None and isinstance(bound.query.price, WithinError):
        raise QueryRefused(
            "WITHIN is refused with ROLLUP, CUBE and GROUPING SETS: the sets share one price",
            hint="give an epsilon; EXPLAIN shows the error of each set",
        )


def ask_sets(desk: Desk, made: SetsPlan, analyst: AnalystPolicy, *, words: str, request_id: str | None) -> Release:
    """Answer all sets for one price. Raises BudgetExceeded, at no charge."""
    note = f"{len(made.questions.sets)} grouping sets"
    said = inquiry([made.bound.query], desk.policy, loss=made.loss, words=[words])
    asked = Asking(made.key, made.hash, note, "the same question", request_id, said)
    answered = answered_batch(desk, made.batch, analyst, asked=asked)
    with showing():
        table = one_table(made.bound, made.questions.sets, answers_of(made.batch, answered))
    receipt = Receipt(
        plan=made.hash,
        policy=desk.policy.version,
        entry=answered.entry,
        guarantee=f"{made.loss} for {units(made.batch)}",
        unit=units(made.batch),
        mechanisms=tuple(
            f"{_whose(made, i)}{text}" for i, piece in enumerate(made.batch.pieces) for text in mechanisms(piece)
        ),
    )
    return Release(
        columns=table.columns,
        rows=table.rows,
        errors=table.errors,
        confidence=made.maker.whole[0].confidence,
        cost=NOTHING if answered.reused else made.loss,
        left=desk.left(analyst),
        reused=answered.reused,
        notes=(*_notes(made), f"counts {_counted(made)}", *answered.ages),
        receipt=receipt,
    )


def explain_sets(made: SetsPlan, dialect: str) -> Explanation:
    """What the statement will do."""
    bound, questions = made.bound, made.questions
    outputs = [resolved(bound.outputs, keys) for keys in questions.sets]
    names = [questions.label(place) for place in range(len(questions.sets))]
    lines = priced(made.maker, made.batch, names, outputs=outputs)
    statements = [statement for piece in made.batch.pieces for statement in piece.plan.statements]
    measured = [f"{_whose(made, i)}{text}" for i, piece in enumerate(made.batch.pieces) for text in mechanisms(piece)]
    return Explanation(
        loss=made.loss,
        outputs=tuple(out.name for out in bound.outputs),
        errors=tuple(_largest(column) for column in zip(*(line.errors for line in lines), strict=True)),
        confidence=made.maker.whole[0].confidence,
        unit=units(made.batch),
        measurements=tuple(measured),
        selection="; ".join(f"{whose}{text}" for whose, text in _selections(made)) or None,
        bounding=_counted(made),
        notes=(*_notes(made), *gains(made.batch), *nominal_notes(made.maker.whole)),
        sql=tuple(statement.sql(dialect) for statement in statements),
        pretty=tuple(statement.sql(dialect, pretty=True) for statement in statements),
        plan=made.hash,
        sets=lines,
        exact=exact_outputs(bound.outputs),
    )


def _largest(errors: Sequence[float | None]) -> float | None:
    known = [error for error in errors if error is not None]
    return max(known) if known else None


def _notes(made: SetsPlan) -> tuple[str, ...]:
    pieces = made.batch.pieces
    notes = [note for piece in pieces for note in (*piece.plan.notes, *accuracy_notes(piece.plan))]
    notes += strategies(made.batch, noun="set")
    if any(isinstance(piece, Joint) for piece in pieces):
        notes.append("made consistent by least squares: a total is the sum of its cells")
    if any(key.is_public for key in made.bound.keys):
        notes.append(_SAME_ROWS)
    notes += [f"{whose}keys are {text}; keys below it are left out" for whose, text in _selections(made)]
    return tuple(dict.fromkeys(notes))


def _selections(made: SetsPlan) -> list[tuple[str, str]]:
    """How private keys qualify: for each set that has some, whose they are and what is said of them."""
    texts = [selection_text(piece.plan) for piece in made.batch.pieces]
    return [(_whose(made, place), text) for place, text in enumerate(texts) if text is not None]


def _whose(made: SetsPlan, piece: int) -> str:
    """The set that a piece answers, if it is one alone."""
    sets = [made.questions.label(place) for place, (found, _) in enumerate(made.batch.places) if found == piece]
    return f"{sets[0]}: " if len(sets) == 1 else ""


def _counted(made: SetsPlan) -> str:
    """How much of one unit counts, wherever that is said in different words."""
    found = []
    for piece in made.batch.pieces:
        cells = isinstance(piece, Joint) and not piece.plan.unit.is_row
        found.append(bounding_text(piece.plan) + (", a cell being a group" if cells else ""))
    return "; ".join(dict.fromkeys(found))
