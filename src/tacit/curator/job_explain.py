"""EXPLAIN of a job: its price and its noise, the strategy and what it gains, the errors to expect, the SQL."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from tacit.curator.expected import expected_bands, outputs_of
from tacit.curator.explain import Explanation, Priced, exact_outputs, expected_errors, explain, nominal_notes
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
from tacit.curator.pieces import Joint, Maker
from tacit.sql.binding import post

_PILOT = "this is the pilot: it finds out, privately, what the accuracy costs; the answer is charged on top"


def explain_job(job: Job, *, dialect: str) -> Explanation:
    """What one statement will do."""
    shown = explain(job.pieces[0].plan, dialect) if job.sets is None else _explain_sets(job, dialect)
    return shown if job.sharper is None else replace(shown, notes=(*shown.notes, _PILOT))


def explain_batch(job: Job, questions: Sequence[str], *, dialect: str) -> Explanation:
    """What several questions at one price will do."""
    maker = _maker(job)
    texts = [" ".join(text.split()) for text in questions]
    notes = [note for place, _ in job.places for note in _piece_notes(job, place)]
    notes += [note for plan in maker.whole for note in nominal_notes([plan])]
    if job.sharper is not None:
        notes.append(_PILOT)
    statements = [statement for piece in job.pieces for statement in piece.plan.runs]
    return Explanation(
        loss=job.loss,
        unit=units(job),
        bounding=counted(job),
        strategies=(*strategies(job), *gains(job)),
        questions=_priced(job, texts),
        confidence=min(plan.confidence for plan in maker.whole),
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
        lines.append(
            Priced(
                name=name,
                how=how,
                loss=piece.loss,
                outputs=tuple(out.name for out in columns),
                errors=errors,
                alone=alone,
                confidence=maker.whole[place].confidence,
            )
        )
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
