"""What leaves of a job: rows with their error bars, what it cost, what is left, and a receipt."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from tacit.core import NOTHING, Budget, Loss
from tacit.curator.answer import AnswerTable, answer, cut_notes
from tacit.curator.answering import Answered, Given
from tacit.curator.computing.computing import Computing
from tacit.curator.explaining.explain import describe
from tacit.curator.explaining.job_notes import (
    counted,
    known_text,
    measured,
    mechanisms,
    plan_notes,
    sets_notes,
    strategies,
    units,
    workload_notes,
)
from tacit.curator.forms.batch_release import BatchRelease
from tacit.curator.forms.release import NOISE, Receipt, Release
from tacit.curator.forms.shape import plan_shapes, sets_shapes, shown_shapes
from tacit.curator.grouping_rows import one_table
from tacit.curator.jobs.job import Job
from tacit.curator.jobs.members import Member
from tacit.curator.jobs.pieces import Joint
from tacit.curator.measuring.bias import bias_notes, covered

_MOST_REMEMBERED = 500  # rows of an answer that is remembered beside its plan


def release(
    job: Job, answered: Answered, *, left: Budget | None, computing: Computing, pilot: Loss = NOTHING
) -> Release:
    """The answer to one statement. `pilot` is what finding its price cost."""
    shown = _remembered(job, answered)
    if shown is None:  # an answer without rows is false
        shown = _worked_out(job, answered, computing)
    notes = (f"the cost includes a pilot of {pilot} that found the price",) if pilot != NOTHING else ()
    return replace(
        shown, cost=shown.cost + pilot, left=left, notes=(*shown.notes, *answered.ages, *answered.notes, *notes)
    )


def _worked_out(job: Job, answered: Answered, computing: Computing) -> Release:
    (asked,) = job.statements
    shown = _one(job, answered)
    if asked.over is not None:
        shown = _computed(shown, computing.computed(job, asked, answered.members))
    if answered.reused and len(shown.rows) <= _MOST_REMEMBERED:
        job.given["shown"] = _entries(answered), shown
    return shown


def _remembered(job: Job, answered: Answered) -> Release | None:
    """How the same kept answers were shown before: what is shown follows from the job and from them."""
    known = job.given.get("shown")
    if answered.reused and isinstance(known, tuple) and known[0] == _entries(answered):
        return cast("Release", known[1])
    return None


def _entries(answered: Answered) -> tuple[object, ...]:
    return (answered.cost, answered.reused, answered.entry, *((each.entry, each.reused) for each in answered.given))


def _one(job: Job, answered: Answered) -> Release:
    """What is said of one statement, and its rows before anything is computed from them."""
    if job.sets is not None:
        return _sets(job, answered)
    return _question(answered.given[0], answered) if len(job.bounds) == 1 else _together(job, answered)


def _computed(shown: Release, computed: tuple[AnswerTable, tuple[str, ...]]) -> Release:
    """The answer with the rows that are computed from it."""
    table, notes = computed
    return replace(
        shown,
        columns=table.columns,
        rows=table.rows,
        errors=table.errors,
        keys=table.keys,
        shapes=table.shapes or shown_shapes(len(table.columns), table.rows, _noisy(table)),
        notes=(*notes, *shown.notes),
    )


def _noisy(table: AnswerTable) -> list[bool]:
    return [any(widths[index] is not None for widths in table.errors) for index in range(len(table.columns))]


def release_batch(
    job: Job, answered: Answered, *, left: Budget | None, computing: Computing, pilot: Loss = NOTHING
) -> BatchRelease:
    """The answers to several statements, in the order they were asked in."""
    answers = []
    for index, asked in enumerate(job.statements):
        shown = _of_batch(*_charged_with(job, index, answered))
        if asked.over is not None:
            shown = _computed(shown, computing.computed(job, asked, answered.members))
        answers.append(replace(shown, left=left, cost=answered.cost + pilot))
    charged = job if answered.rest is None else answered.rest.asked.job
    whole = Receipt(
        plan=charged.hash,
        policy=job.policy_version,
        entry=answered.entry,
        guarantee=f"{charged.loss} for {units(job)}, for {_all_of(charged, job)}",
        unit=units(job),
        mechanisms=mechanisms(charged),
    )
    said = strategies(charged)
    if charged is not job:
        said = (*said, known_text(len(job.statements) - len(charged.statements)))
    if pilot != NOTHING:
        said = (*said, f"the cost includes a pilot of {pilot} that found the price")
    return BatchRelease(tuple(answers), answered.cost + pilot, left, answered.reused, said, whole)


def _charged_with(job: Job, statement: int, answered: Answered) -> tuple[Job, int, Answered]:
    """The job that a statement of a batch was charged with, which of its questions it begins with, and its answers."""
    rest = answered.rest
    if rest is None or statement not in rest.asked.statements:
        return job, job.statements[statement].questions[0], answered
    again = rest.asked.job
    return again, again.statements[rest.asked.statements.index(statement)].questions[0], rest.answered


def _all_of(charged: Job, job: Job) -> str:
    """The words for what a price is of."""
    if charged is job:
        return "the whole batch"
    return f"{len(charged.statements)} of {len(job.statements)} questions"


def _question(given: Given, answered: Answered) -> Release:
    plan, noisy = given.member.plan, given.member.noisy
    receipt = Receipt(
        plan=plan.hash,
        policy=plan.policy_version,
        entry=given.entry,
        guarantee=plan.once("guarantee", lambda: f"{plan.loss} for {plan.unit}"),
        unit=plan.once("unit", lambda: str(plan.unit)),
        mechanisms=_mechanisms(given.member),
    )
    table = answer(plan, noisy)
    return Release(
        columns=table.columns,
        rows=table.rows,
        errors=table.errors,
        confidence=plan.confidence,
        cost=answered.cost,
        left=None,
        reused=given.reused,
        notes=(*plan.once("notes", lambda: plan_notes(plan)), *bias_notes(plan, noisy), *cut_notes(plan, noisy)),
        receipt=receipt,
        covers=covered(plan),
        keys=table.keys,
        shapes=plan.once("shapes", lambda: plan_shapes(plan)),
    )


def _of_batch(job: Job, index: int, answered: Answered) -> Release:
    """One answer of a batch: charged for with the others, or found among those that were given before."""
    given, piece = answered.given[index], job.pieces[job.piece_of[index][0]]
    shown = _question(given, answered)
    if given.age is not None:  # from the shelf, whoever paid for it; a repeated request is said as it was at first
        return replace(shown, notes=(*shown.notes, given.age))
    notes = (*given.member.plan.notes, *workload_notes(piece)) if isinstance(piece, Joint) else shown.notes
    count = len(job.statements)
    shared = f"one of {count} questions of a batch, which is charged once" if count > 1 else "charged alone"
    receipt = Receipt(
        plan=job.hash,
        policy=job.policy_version,
        entry=answered.entry,
        guarantee=f"{job.loss} for {piece.plan.unit}, for the whole batch",
        unit=str(piece.plan.unit),
        mechanisms=tuple(measured(piece)),
    )
    return replace(shown, notes=(*notes, shared), receipt=receipt)


def _together(job: Job, answered: Answered) -> Release:
    """Several questions of one statement: their notes, and no rows of its own."""
    first = _of_batch(job, 0, answered)
    notes = [note for index in range(len(job.piece_of)) for note in _of_batch(job, index, answered).notes[:-1]]
    shared = f"computed from {len(job.piece_of)} private questions, which are charged once"
    receipt = replace(
        first.receipt, guarantee=f"{job.loss} for {units(job)}", unit=units(job), mechanisms=mechanisms(job)
    )
    return replace(
        first, notes=(*dict.fromkeys(notes), *strategies(job), shared), receipt=receipt, reused=answered.reused
    )


def _sets(job: Job, answered: Answered) -> Release:
    """The rows of all grouping sets of a statement."""
    if job.sets is None:
        raise TypeError("the statement has no grouping sets")
    table = one_table(job.sets.whole, job.sets.sets, [(each.plan, each.noisy) for each in answered.members])
    receipt = Receipt(
        plan=job.hash,
        policy=job.policy_version,
        entry=answered.entry,
        guarantee=f"{job.loss} for {units(job)}",
        unit=units(job),
        mechanisms=mechanisms(job),
    )
    notes = (*sets_notes(job), f"counts {counted(job)}")
    shown = _shown(table, answered.members[0], answered=answered, notes=notes, receipt=receipt)
    return replace(shown, shapes=sets_shapes(job.sets.whole, [each.plan for each in answered.members]))


def _shown(
    table: AnswerTable, member: Member, *, answered: Answered, notes: tuple[str, ...], receipt: Receipt
) -> Release:
    return Release(
        columns=table.columns,
        rows=table.rows,
        errors=table.errors,
        confidence=member.plan.confidence,
        cost=answered.cost,
        left=None,
        reused=answered.reused,
        notes=notes,
        receipt=receipt,
        covers=NOISE,
        keys=table.keys,
    )


def _mechanisms(member: Member) -> tuple[str, ...]:
    """The measurements behind one answer; one that others were measured with has no noise of its own."""
    plan = member.plan
    said = plan.once("mechanisms", lambda: tuple(describe(m) for m in plan.measurements))
    return tuple(
        text if column.estimates is None else f"{m.measure.label}: estimated from several noisy numbers"
        for m, text, column in zip(plan.measurements, said, member.noisy.columns, strict=True)
    )
