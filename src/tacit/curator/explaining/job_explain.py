"""EXPLAIN of a job: its price and its noise, the strategy and what it gains, the errors to expect, the SQL."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from tacit.curator.explaining.expected import expected, outputs_of
from tacit.curator.explaining.explain import Explanation, Priced, exact_outputs, expected_errors, explain, nominal_notes
from tacit.curator.explaining.job_notes import (
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
from tacit.curator.forms.shape import computed_shape, sets_shapes
from tacit.curator.jobs.job import Asked, Job
from tacit.curator.jobs.members import Served
from tacit.curator.jobs.pieces import Joint, Maker
from tacit.sql import BoundQuery, PostProcessing
from tacit.sql.parsing.question import question_text
from tacit.sql.planning.errors_expected import MeasuredColumns
from tacit.sql.postprocessing.splitting import answer_name, column_name
from tacit.sql.postprocessing.tracing import Trace

_COMPUTED = "what is computed from the answers is free, and its ± is simulated when they are there"
_PILOT = (
    "this is the pilot: it finds out, privately, what the accuracy costs; dearer ones, until the answer's size is "
    "clear, and the answer are charged on top"
)
_TELLING = (
    "this is the first telling: finer ones follow, each charged before it is told, until the answer is as accurate as "
    "asked for; all of them together cost what the last one does"
)


def explain_job(job: Job, *, dialect: str, columns: Sequence[Trace] | None = None) -> Explanation:
    """What one statement will do; `columns` are those of what is computed from its answers, if anything is."""
    (asked,) = job.statements
    if job.sets is not None:
        shown = _explain_sets(job, dialect)
    elif len(job.bounds) == 1:
        shown = explain(replace(job.pieces[0].plan, outputs=job.bounds[0].outputs), dialect)
    else:
        shown = explain_batch(job, [""], dialect=dialect)
    if asked.over is not None:
        bounds = job.bounds if job.sets is None else (job.sets.whole,)
        shown = _with_computed(shown, asked.over, columns or (), bounds)
    shown = replace(shown, plan=job.hash)
    if job.tellings is not None:
        return replace(shown, notes=(*shown.notes, _TELLING), piloted=True)
    return shown if job.sharper is None else replace(shown, notes=(*shown.notes, _PILOT), piloted=True)


def explain_batch(job: Job, questions: Sequence[str], *, dialect: str) -> Explanation:
    """The explanation of several questions at one price."""
    maker = _maker(job)
    pairs = zip(job.statements, questions, strict=True)
    texts = [name for asked, text in pairs for name in _names(job, asked, " ".join(text.split()))]
    notes = [note for index, _ in job.piece_of for note in _piece_notes(job, index)]
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
        piloted=job.sharper is not None,
    )


def _names(job: Job, asked: Asked, text: str) -> list[str]:
    """What the questions of a statement are called: as it is, or as they stand in it."""
    if asked.over is None:
        return [text]
    return [question_text(job.bounds[index].query, None) for index in asked.questions]


def _readable(over: PostProcessing, bounds: Sequence[BoundQuery]) -> str:
    """The query over the answers, with the names that people gave its columns."""
    text = over.text
    for index in reversed(range(len(bounds))):
        for column in reversed(range(len(bounds[index].outputs))):
            name = '"' + bounds[index].outputs[column].name.replace('"', '""') + '"'
            text = text.replace(f'"{answer_name(index)}"."{column_name(column)}"', f"answer_{index + 1}.{name}")
        text = text.replace(f'"{answer_name(index)}"', f"answer_{index + 1}")
    return text


def _with_computed(
    shown: Explanation, over: PostProcessing, columns: Sequence[Trace], bounds: Sequence[BoundQuery]
) -> Explanation:
    """The same, with the columns of what is computed from the answers."""
    errors = [shown.errors[each.cell[1]] if each.cell is not None and shown.errors else None for each in columns]
    return replace(
        shown,
        outputs=() if shown.questions else tuple(each.name for each in columns),
        errors=() if shown.questions else tuple(errors),
        exact=() if shown.questions else tuple(each.clean for each in columns),
        computed=tuple(each.name for each in columns),
        shapes=tuple(computed_shape(each.type, noisy=not each.clean) for each in columns),
        notes=(*shown.notes, _COMPUTED, f"computed from the released rows: {_readable(over, bounds)}"),
    )


def _piece_notes(job: Job, index: int) -> tuple[str, ...]:
    piece = job.pieces[index]
    return workload_notes(piece) if isinstance(piece, Joint) else plan_notes(piece.plan)


def _explain_sets(job: Job, dialect: str) -> Explanation:
    if job.sets is None:
        raise TypeError("the statement has no grouping sets")
    bound, maker = job.sets.whole, _maker(job)
    lines = _priced(job, [job.sets.label(index) for index in range(len(job.sets.sets))])
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
        shapes=sets_shapes(job.sets.whole, maker.whole),
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
    singles: dict[int, MeasuredColumns] = {}
    lines = []
    for index, name in enumerate(names):
        piece = job.pieces[job.piece_of[index][0]]
        first = maker.first[index]
        if first not in singles:
            single = maker.planners[first].at(job.loss * shares[first])
            singles[first] = expected(Served(single, single))
        columns = outputs_of(job, index)
        alone = expected_errors(columns, singles[first])
        errors, how = alone, "alone"
        if isinstance(piece, Joint):
            errors = expected_errors(columns, expected(job.members[job.answering[index]]))
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
                confidence=maker.whole[index].confidence,
            )
        )
    return tuple(lines)


def _lone_shares(job: Job, maker: Maker) -> dict[int, Fraction]:
    """Of each question the share it would have, were the questions of its piece asked one by one."""
    members: dict[int, list[int]] = {}
    for number in maker.given:
        members.setdefault(job.piece_of[number][0], []).append(number)
    shares: dict[int, Fraction] = {}
    for piece, numbers in members.items():
        joint = isinstance(job.pieces[piece], Joint)
        given = maker.shares(numbers) if joint else [job.pieces[piece].loss.epsilon / job.loss.epsilon]
        shares.update(zip(numbers, given, strict=True))
    return shares
