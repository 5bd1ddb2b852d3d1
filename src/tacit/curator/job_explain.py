"""EXPLAIN of a job: its price and its noise, the strategy and what it gains, the errors to expect, the SQL."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from tacit.core import Loss, decimal_text
from tacit.curator.batch_pieces import Joint, Maker
from tacit.curator.expected import expected_bands, outputs_of
from tacit.curator.explain import Explanation, Priced, exact_outputs, expected_errors, explain, nominal_notes, running
from tacit.curator.job import Job
from tacit.curator.job_notes import (
    counted,
    gains,
    mechanisms,
    plan_notes,
    selections,
    sets_notes,
    strategies,
    units,
    workload_notes,
)
from tacit.curator.members import Served
from tacit.curator.release import in_one_text
from tacit.sql import post

_PILOT = "this is the pilot: it finds out, privately, what the accuracy costs; the answer is charged on top"


@dataclass(frozen=True, slots=True)
class BatchExplanation:
    """What a batch would cost and give. Touches no data and costs nothing."""

    loss: Loss
    unit: str
    strategies: tuple[str, ...]
    questions: tuple[Priced, ...]
    confidences: tuple[Fraction, ...]
    measurements: tuple[str, ...]
    notes: tuple[str, ...]
    sql: tuple[str, ...]
    pretty: tuple[str, ...]  # the same, laid out for a person
    plan: str

    def __len__(self) -> int:
        return len(self.questions)

    @property
    def errors(self) -> tuple[tuple[float | None, ...], ...]:
        """For each question the half-widths of its columns, None where a value is exact."""
        return tuple(question.errors for question in self.questions)

    def to_dict(self) -> dict[str, object]:
        """Plain values, as the command line prints them."""
        return {
            "epsilon": decimal_text(self.loss.epsilon),
            "delta": decimal_text(self.loss.delta),
            "questions": [
                {**question.to_dict(), "confidence": float(confidence)}
                for question, confidence in zip(self.questions, self.confidences, strict=True)
            ],
            "errors": [list(errors) for errors in self.errors],
            "strategies": list(self.strategies),
            "unit": self.unit,
            "measurements": list(self.measurements),
            "notes": list(self.notes),
            "sql": ";\n".join(self.sql),
            "plan": self.plan,
        }

    def to_json(self, *, indent: int | None = None) -> str:
        """One JSON object."""
        return in_one_text(json.dumps(self.to_dict(), indent=indent, ensure_ascii=False))

    def __str__(self) -> str:
        lines = [f"price        {self.loss} for {len(self)} questions", f"hides        {self.unit}"]
        lines += [f"answers      {text}" for text in self.strategies]
        lines += [f"measures     {text}" for text in self.measurements]
        lines += [f"question     {question}" for question in self.questions]
        lines += [f"note         {note}" for note in self.notes]
        return "\n".join([*lines, *running(self.pretty)])


def explain_job(job: Job, *, dialect: str) -> Explanation:
    """What one statement will do."""
    shown = explain(job.pieces[0].plan, dialect) if job.sets is None else _explain_sets(job, dialect)
    return shown if job.sharper is None else replace(shown, notes=(*shown.notes, _PILOT))


def explain_batch(job: Job, questions: Sequence[str], *, dialect: str) -> BatchExplanation:
    """What several questions at one price will do."""
    maker = _maker(job)
    texts = [" ".join(text.split()) for text in questions]
    notes = [note for place, _ in job.places for note in _piece_notes(job, place)]
    notes += [note for plan in maker.whole for note in nominal_notes([plan])]
    if job.sharper is not None:
        notes.append(_PILOT)
    statements = [statement for piece in job.pieces for statement in piece.plan.runs]
    return BatchExplanation(
        loss=job.loss,
        unit=units(job),
        strategies=(*strategies(job), *gains(job)),
        questions=_priced(job, texts),
        confidences=tuple(plan.confidence for plan in maker.whole),
        measurements=mechanisms(job),
        notes=tuple(dict.fromkeys(notes)),
        sql=tuple(statement.sql(dialect) for statement in statements),
        pretty=tuple(statement.sql(dialect, pretty=True) for statement in statements),
        plan=job.hash,
    )


def _piece_notes(job: Job, place: int) -> tuple[str, ...]:
    piece = job.pieces[place]
    return workload_notes(piece) if isinstance(piece, Joint) else plan_notes(piece.plan)


def _explain_sets(job: Job, dialect: str) -> Explanation:
    if job.sets is None:
        raise TypeError("the statement has no grouping sets")
    bound, maker = job.sets.whole, _maker(job)
    lines = _priced(job, [job.sets.label(place) for place in range(len(job.sets.sets))])
    statements = [statement for piece in job.pieces for statement in piece.plan.runs]
    return Explanation(
        loss=job.loss,
        outputs=tuple(out.name for out in bound.outputs),
        errors=tuple(_largest(column) for column in zip(*(line.errors for line in lines), strict=True)),
        confidence=maker.whole[0].confidence,
        unit=units(job),
        measurements=mechanisms(job),
        selection="; ".join(f"{whose}{text}" for whose, text in selections(job)) or None,
        bounding=counted(job),
        notes=(*sets_notes(job), *gains(job), *nominal_notes(maker.whole)),
        sql=tuple(statement.sql(dialect) for statement in statements),
        pretty=tuple(statement.sql(dialect, pretty=True) for statement in statements),
        plan=job.hash,
        sets=lines,
        exact=exact_outputs(bound.outputs),
    )


def _largest(errors: Sequence[float | None]) -> float | None:
    known = [error for error in errors if error is not None]
    return max(known) if known else None


def _maker(job: Job) -> Maker:
    if job.maker is None:
        raise TypeError("a question alone shares no price")
    return job.maker


def _priced(job: Job, names: Sequence[str]) -> tuple[Priced, ...]:
    """Each question with its share of the price, the errors to expect, and those it would have one by one."""
    maker = _maker(job)
    shares = _lone_shares(job, maker)
    singles: dict[int, Sequence[post.Band]] = {}
    lines = []
    for place, name in enumerate(names):
        piece = job.pieces[job.places[place][0]]
        first = maker.first[place]
        if first not in singles:
            single = maker.planners[first].at(job.loss * shares[first])
            singles[first] = expected_bands(Served(single, single))
        columns = outputs_of(job, place)
        alone = expected_errors(columns, singles[first])
        errors, how = alone, "alone"
        if isinstance(piece, Joint):
            errors = expected_errors(columns, expected_bands(job.members[job.answering[place]]))
            others = len(piece.members) - 1
            how = f"together with {others} other{'s' if others > 1 else ''} by {piece.strategy.name}"
        lines.append(Priced(name, how, piece.loss, tuple(out.name for out in columns), errors, alone))
    return tuple(lines)


def _lone_shares(job: Job, maker: Maker) -> dict[int, Fraction]:
    """Of each question the share it would have, were the questions of its piece asked one by one."""
    members: dict[int, list[int]] = {}
    for place in maker.given:
        members.setdefault(job.places[place][0], []).append(place)
    shares: dict[int, Fraction] = {}
    for piece, places in members.items():
        joint = isinstance(job.pieces[piece], Joint)
        given = maker.shares(places) if joint else [job.pieces[piece].loss.epsilon / job.loss.epsilon]
        shares.update(zip(places, given, strict=True))
    return shares
